"""Flipsets: the provably cheapest action under a linear score."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from holdfast.encoding import Norm, norm_weights
from holdfast.errors import DataError
from holdfast.methods._base import AbstractMethod
from holdfast.methods._local import BLOCK, Local, Surrogate, kind_of, neighbourhood, surrogate_statistics
from holdfast.search import CLEARANCE, Problem, Solution, Status, cheapest, highest, is_found, menu

NEED = 1.5 * CLEARANCE  # score a proposal must reach: the clearance, and room for float32


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
    percentiles; the cost is the method's norm rather than a percentile shift; one action per person is given.
    "Cheapest" is among points that clear the threshold by a log-odds of 1.5e-4.

    References
    ----------
    [1] Ustun, Spangher, Liu (2019), *Actionable recourse in linear classification*, eq. 2-3.
    [2] Ross, Lakkaraju, Bastani (2021), *Learning models for actionable recourse*, Section 3.2.

    Examples
    --------
    >>> import holdfast as hf
    >>> bank = hf.datasets.load("loanapp")
    >>> clf = hf.RecourseClassifier(schema=bank.schema, model=hf.Linear(), method=hf.Flipset())
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> {hf.Status(s).name for s in plan.status}
    {'OPTIMAL'}
    """

    def __init__(
        self,
        *,
        norm: Norm = "l1",
        surrogate: Surrogate = "auto",
        n_steps: int = 8,
        n_samples: int = 1000,
        spread: float = 0.1,
        random_state: int | None = None,
    ) -> None:
        self.norm: Norm = norm
        self.surrogate: Surrogate = surrogate
        self.n_steps = n_steps
        self.n_samples = n_samples
        self.spread = spread
        self.random_state = random_state

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Frequencies and ranges of the columns, where LIME is used."""
        if self.norm not in ("l0", "l1", "mad"):
            raise DataError(
                f"Flipset: `norm` must add up over features; got {self.norm!r}. Use 'l1', 'l0' or 'mad'."
            )
        return surrogate_statistics(self, x)

    def search(self, problems: Problem, deadline: float | None, on_rows: Callable[[int], None] | None) -> Solution:
        """Answer people block by block."""
        n = len(problems.x)
        answer = Solution(
            x=np.array(problems.x, np.float32),  # type: ignore[arg-type]
            status=np.full(n, int(Status.NOT_REACHED), np.int32),  # type: ignore[arg-type]
            cost=np.full(n, np.inf, np.float32),  # type: ignore[arg-type]
            n_steps=np.zeros(n, np.int32),  # type: ignore[arg-type]
        )
        until = np.inf if deadline is None else deadline
        local = Local(self.predictor_.decision, neighbourhood(self), self.n_samples)
        for start in range(0, n, BLOCK):
            if time.monotonic() >= until:
                break
            rows = np.arange(start, min(n, start + BLOCK))
            self._block(local, problems, rows, answer, until)
            if on_rows is not None:
                on_rows(len(rows))
        return answer

    def _block(self, local: "Local", problems: Problem, rows: np.ndarray, answer: Any, until: float) -> None:
        """Proposals for some people until each is answered; writes into `answer`."""
        predictor = self.predictor_
        exact = kind_of(self) == "linear"
        own = np.asarray(problems.x)[rows]
        target = np.asarray(problems.target)[rows]
        favourable = predictor.decide_of(predictor.logits_of(own)) == target
        answer.status[rows[favourable]] = int(Status.ALREADY_FAVOURABLE)
        answer.cost[rows[favourable]] = 0.0
        weights = norm_weights(predictor.encoder, self.norm)
        menus = {i: menu(problems.feasible, rows[i], weights, self.norm) for i in np.flatnonzero(~favourable)}
        for i, person in list(menus.items()):
            if not person.features:
                answer.status[rows[i]] = int(Status.INFEASIBLE)
                del menus[i]
        proposals = own.copy()
        required = np.full(len(rows), NEED)
        for step in range(3 if exact else self.n_steps):
            if not menus:
                break
            scores, shift = local.scores(problems, rows, proposals)
            asked = []
            for i, person in list(menus.items()):
                left = until - time.monotonic()
                if left <= 0:
                    return
                try:
                    found = cheapest(person, scores[i], required[i] - shift[i], seconds=left)
                    if found is None and not exact:
                        found = highest(person, scores[i], seconds=left)
                    # What the clearance excluded is no proof: ask again for any score that would do.
                    loosely = {"inside": -1e-5, "seconds": left}
                    proven = found is None and cheapest(person, scores[i], -1e-5 - shift[i], **loosely) is None
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
                    answer.status[rows[i]] = int(Status.INFEASIBLE if proven and exact else Status.NOT_FOUND)
            hardened, margin, cost = local.ask(problems, rows, proposals, weights, self.norm)
            for i in asked:
                row, valid = rows[i], margin[i] >= CLEARANCE
                answer.n_steps[row] = step + 1
                if valid and cost[i] < answer.cost[row]:
                    answer.x[row], answer.cost[row] = hardened[i], cost[i]
                    answer.status[row] = int(Status.OPTIMAL if exact and step == 0 else Status.FOUND)
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
