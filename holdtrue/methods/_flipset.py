"""Flipsets: the provably cheapest action under a linear score."""

import copy
import time
from collections.abc import Callable
from dataclasses import field, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from holdtrue.encoding import Norm, norm_weights
from holdtrue.errors import DataError
from holdtrue.methods._base import AbstractMethod
from holdtrue.methods._frame import RecourseFrame, concat
from holdtrue.methods._local import BLOCK, Local, Surrogate, kind_of, neighbourhood, surrogate_statistics
from holdtrue.parameters import Count, OneOf, Positive, configured, require
from holdtrue.schema import RestrictionsLike, TableLike, normalise_restrictions
from holdtrue.search import (
    CLEARANCE,
    ActionCost,
    Percentiles,
    Problems,
    Solutions,
    Status,
    Support,
    cheapest,
    highest,
    is_found,
    menu,
    proposal,
    ranks,
)

NEED = 1.5 * CLEARANCE  # score a proposal must reach: the clearance, and room for float32
SumNorm = Annotated[Norm, OneOf(("l0", "l1", "mad"))]
"""Norms that add up over features."""


@configured
class Flipset(AbstractMethod):
    """The cheapest action that a linear score accepts, by integer programming, with a proof.

    Minimises ``distance(x, x')`` over everything the person may do, subject to ``w @ x' + b >= threshold``. On a
    linear model the answer is the cheapest there is (OPTIMAL) or a proof that there is none (INFEASIBLE). On any
    other model `w` and `b` are those of its tangent or of LIME at the person; the model itself is then asked
    about each proposal, and the surrogate is taken anew there, so the answer is FOUND or NOT_FOUND.

    Parameters
    ----------
    norm : {"l1", "mad", "l0"}, default="l1"
        Distance; one that adds up over features.
    cost : {"norm", "percentile", "log_percentile", "max_percentile"}, default="norm"
        What is least: the distance; or the change in the feature's percentile among the training rows, summed
        over features; or the sum of ``|log((1 - Q(x)) / (1 - Q(x')))|``; or the largest change in a percentile,
        and among those the least sum. The plan's `cost` is the distance in any case; `action_costs` gives these.
    surrogate : {"auto", "gradient", "lime"}, default="auto"
        Linear stand-in for a model that is not linear. ``auto`` is the gradient where there is one, else LIME.
    n_steps : int, default=8
        Proposals at most for a model that is not linear.
    n_samples : int, default=1000
        Neighbours LIME asks the model about, per person and proposal.
    spread : float, default=0.1
        Standard deviation of the neighbours' numbers, in encoded units.
    random_state : int, optional
        Seed of LIME's neighbours; each person has their own.

    Notes
    -----
    Serves every model; LIME needs training rows. Works on the host: without linear constraints or implications
    a person is a multiple-choice knapsack solved exactly by dynamic programming (hundreds of people a second on
    German Credit), otherwise a mixed-integer programme for HiGHS (tens). Differs from the paper in that a
    feature's grid is the schema's own `step`, and a feature without a step is a continuum rather than
    percentiles. With a percentile cost, which needs training rows, it is the paper's: a number without a step, or
    with more than 100, then takes the percentiles of the training rows. A percentile counts those below a value
    and half of those who have it, so that it is never 1 and the logarithm is finite. "Cheapest" is among points
    that clear the threshold by a log-odds of 1.5e-4.

    References
    ----------
    [1] Ustun, Spangher, Liu (2019), *Actionable recourse in linear classification*, eq. 2-3.
    [2] Ross, Lakkaraju, Bastani (2021), *Learning models for actionable recourse*, Section 3.2.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), hold=None, random_state=0)
    >>> clf = clf.set_params(method=ht.Flipset()).fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> {ht.Status(s).name for s in plan.status}
    {'OPTIMAL'}
    """

    _barred: list[list[Support]] | None = field(default=None, init=False)  # in `options`: what was offered before

    norm: SumNorm = "l1"
    cost: ActionCost = "norm"
    surrogate: Surrogate = "auto"
    n_steps: Count = 8
    n_samples: Count = 1000
    spread: Positive = 0.1
    random_state: int | None = None

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Frequencies and ranges of the columns, where LIME is used; ranks, where percentiles are the cost."""
        learned = surrogate_statistics(self, x)
        if self.cost == "norm":
            return learned
        if len(x) == 0:
            raise DataError(
                f"Flipset: cost={self.cost!r} needs training rows; got X=None. Pass the table the model learned "
                "from."
            )
        return learned | {"ranks": ranks(x)}

    def options(
        self, X: TableLike, n: int, *, target: ArrayLike | None = None, restrictions: RestrictionsLike = None
    ) -> RecourseFrame:
        """Up to `n` actions per person, the cheapest first, each changing another combination of features.

        On a linear model their order is exact, and who has fewer than `n` rows has no further combination. A
        number without a step must move by a hundredth of its range to count as changed in a further one.
        ``plan.person`` says whose each row is; somebody without recourse has one row, which says why.
        """
        require("Flipset", "n", n, Count)
        self._check_fitted()
        schema, layout = self.predictor_.encoder.schema, self.predictor_.encoder.layout
        table = schema.check(X, where="recourse")
        starts = np.array([layout.slot(name).start for name in schema.names])
        wanted = None if target is None else np.broadcast_to(np.asarray(target, object), (table.n_rows,))
        own = normalise_restrictions(restrictions, schema, table.n_rows, table.labels)
        barred: list[list[Support]] = [[] for _ in range(table.n_rows)]
        people, frames = np.arange(table.n_rows), []
        for option in range(n):
            run = copy.copy(self)  # not this object: it may be asked by several threads
            run._barred = [barred[i] for i in people]
            frame = run.recourse(
                table.take(people),
                target=None if wanted is None else wanted[people].tolist(),
                restrictions=own.take(people),
            )
            changes = [frozenset(starts[row].tolist()) for row in frame.changed()]
            fresh = np.array([c not in barred[i] for c, i in zip(changes, people, strict=True)])
            kept = np.flatnonzero(frame.found & fresh)
            shown = np.arange(len(people)) if option == 0 else kept
            frames.append(replace(frame.take(shown), person=people[shown]))
            for k in kept:
                barred[people[k]].append(changes[k])
            people = people[kept]
            if len(people) == 0:
                break
        joined = concat(frames, table)
        return joined.take(np.argsort(joined.person, kind="stable"))

    def action_costs(self, plan: RecourseFrame) -> np.ndarray:
        """What each row of a plan costs by `cost`; infinite where there is no action."""
        if self.cost == "norm":
            return plan.cost
        encoder = self.predictor_.encoder
        x, own = (encoder.encode(t).astype(np.float32) for t in (plan.recourse, plan.factual))
        favourable = plan.status == int(Status.ALREADY_FAVOURABLE)
        return np.where(plan.found | favourable, self._moved(x, own), np.inf)

    @property
    def _percentiles(self) -> Percentiles | None:
        if self.cost == "norm":
            return None
        # Half of each column of a category: its change counts once.
        return Percentiles(self.state_["ranks"], norm_weights(self.predictor_.encoder, "l0"), self.cost)

    def _moved(self, x: np.ndarray, own: np.ndarray) -> np.ndarray:
        percentiles = self._percentiles
        slots = [(slot.start, slot.stop) for slot in self.predictor_.encoder.layout.slots]
        return np.zeros(len(x)) if percentiles is None else percentiles.distance(x, own, slots)

    def search(
        self, problems: Problems, deadline: float | None, on_rows: Callable[[int], None] | None
    ) -> Solutions:
        """Answer people block by block."""
        n = len(problems)
        answer = Solutions.unreached(problems)
        if kind_of(self) == "linear":  # where it is solved as it is, which proves what it does not find
            answer = replace(answer, bound=np.full(n, np.nan))
        until = np.inf if deadline is None else deadline
        local = Local(self.predictor_.decision, neighbourhood(self), self.n_samples)
        barred: list[list[Support]] = [[] for _ in range(n)]
        if self._barred is not None:
            barred, self._barred = self._barred[:n], self._barred[n:]  # a large table comes in chunks
        for start in range(0, n, BLOCK):
            if time.monotonic() >= until:
                break
            rows = np.arange(start, min(n, start + BLOCK))
            self._block(local, problems, rows, answer, until, barred)
            if on_rows is not None:
                on_rows(len(rows))
        return answer

    def _block(
        self,
        local: "Local",
        problems: Problems,
        rows: np.ndarray,
        answer: Solutions,
        until: float,
        barred: list[list[Support]],
    ) -> None:
        """Proposals for some people until each is answered; writes into `answer`."""
        predictor = self.predictor_
        exact = kind_of(self) == "linear"
        own = problems.x[rows]
        target = problems.target[rows]
        favourable = None if problems.favourable is None else problems.favourable[rows]
        if favourable is None:
            favourable = predictor.decide_of(predictor.logits_of(own)) == target
        answer.status[rows[favourable]] = int(Status.ALREADY_FAVOURABLE)
        answer.cost[rows[favourable]] = 0.0
        weights = norm_weights(predictor.encoder, self.norm)
        percentiles = self._percentiles
        open_ = np.flatnonzero(~favourable)
        tailed = problems.feasible.tails is not None
        plain = {i: menu(problems.feasible, int(rows[i]), weights, self.norm, in_heights=False) for i in open_}
        menus = dict(plain)
        if percentiles is not None or tailed:
            menus = {i: menu(problems.feasible, int(rows[i]), weights, self.norm, percentiles) for i in open_}
        for i, person in list(menus.items()):
            if not person.features:
                answer.status[rows[i]] = int(Status.INFEASIBLE)
                del menus[i]
        proposals = own.copy()
        required = np.full(len(rows), NEED)
        best = np.full(len(rows), np.inf)
        for step in range(3 if exact else self.n_steps):
            if not menus:
                break
            scores, shift = local.scores(problems, rows, proposals)
            asked, beyond, proof = [], np.zeros(len(rows), bool), np.zeros(len(rows), bool)
            for i, person in list(menus.items()):
                left = until - time.monotonic()
                if left <= 0:
                    return
                known: Any = {"seconds": left, "barred": barred[rows[i]]}
                try:
                    found, proof[i] = proposal(person, scores[i], required[i] - shift[i], **known)
                    if found is None and (percentiles is not None or person.thinned):
                        # Percentiles are not all that a person can do.
                        found, _ = proposal(plain[i], scores[i], required[i] - shift[i], **known)
                        beyond[i] = found is not None
                    if found is None and not exact and not known["barred"]:
                        found = highest(plain[i], scores[i], seconds=left)
                    # What the clearance excluded is no proof: ask again for any score that would do.
                    loosely = known | {"inside": -1e-5}
                    proven = found is None and cheapest(plain[i], scores[i], -1e-5 - shift[i], **loosely) is None
                except TimeoutError:
                    if time.monotonic() >= until:
                        return
                    found, proven = None, False
                if found is not None:
                    asked.append(i)
                    proposals[i] = found
                    continue
                del menus[i]
                if not is_found(answer.status[rows[i]]):
                    none = proven and exact
                    answer.status[rows[i]] = int(Status.INFEASIBLE if none else Status.NOT_FOUND)
                    if none and answer.bound is not None and not known["barred"]:
                        answer.bound[rows[i]] = np.inf  # with changes barred, only of those that are left
            hardened, margin, cost = local.ask(problems, rows, proposals, weights, self.norm)
            value = cost if percentiles is None else self._moved(hardened, own)
            for i in asked:
                row, valid = rows[i], margin[i] >= CLEARANCE
                answer.n_steps[row] = step + 1
                if valid and value[i] < best[i]:
                    answer.x[row], answer.cost[row], best[i] = hardened[i], cost[i], value[i]
                    sure = exact and step == 0 and proof[i] and not beyond[i] and not menus[i].thinned
                    answer.status[row] = int(Status.OPTIMAL if sure else Status.FOUND)
                    if sure and answer.bound is not None and percentiles is None and not barred[row]:
                        answer.bound[row] = cost[i]
                    if not exact:
                        required[i] = NEED
                elif exact or not valid:
                    # The model is less convinced than its surrogate: ask for as much more.
                    required[i] += NEED if exact else 0.5 * np.clip(-margin[i], 0.01, 2.0)
                else:
                    del menus[i]  # no cheaper than what is there: the proposals have settled
                if exact and valid:
                    del menus[i]
            proposals = np.where(np.isfinite(hardened), hardened, proposals)
        for i in menus:
            if not is_found(answer.status[rows[i]]):
                answer.status[rows[i]] = int(Status.NOT_FOUND)
