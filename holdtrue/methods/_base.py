"""What every recourse method shares: fit, ask, decode, check again."""

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import ClassVar, Self

import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError

from holdtrue.batch import FittedClassifier, Predictor, distances, predictor_of, proba_of, solve, trimmed
from holdtrue.encoding import Norm, broken_limits, decode_recourse, feasible_sets, norm_weights, told
from holdtrue.errors import CapabilityError, ContradictionError, DataError
from holdtrue.methods._deadline import within
from holdtrue.methods._final_check import check_statuses, only, put, with_more_digits
from holdtrue.methods._frame import RecourseFrame, concat, iter_rows
from holdtrue.methods._options import several
from holdtrue.methods._person_keys import person_keys
from holdtrue.models import fresh, spare_maps
from holdtrue.models.adapters import cause_of
from holdtrue.parameters import AbstractConfigured, Seed
from holdtrue.schema import Restrictions, RestrictionsLike, Table, TableLike, hinted, normalise_restrictions
from holdtrue.search import AbstractSolver, Problems, Solutions, Status, Trimmer, is_found

CHUNK = 16_384  # people whose arrays are held at once
CHECK_SHARE = 0.3  # of a deadline, kept for decoding and asking again
FEW = 4  # people who may be searched for before a model made elsewhere is asked about them
FIRST_PART = 64  # people checked first under a deadline; each further part is twice as large


class AbstractMethod(AbstractConfigured):
    """A way to find recourse: a scikit-learn object outside, a search inside.

    A subclass has hyper-parameters in a keyword-only `__init__`, says in `needs` what a model must offer, may
    learn from training rows in `learn`, and answers many people's problems in `search`. The rest is here:
    people's feasible sets, decoding, and asking the model again about what the person would get. Most methods
    derive from `AbstractSolverMethod`, which needs only one person's solver.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    """Capabilities the model must have, such as ``differentiable``."""
    needs_one_of: ClassVar[frozenset[str]] = frozenset()
    """Capabilities of which the model must have one, where there are any."""
    needs_rows: ClassVar[bool] = False
    """Whether `learn` must be given training rows."""
    needs_guides: ClassVar[bool] = False
    """Whether `fit` must be given retrained models where it cannot train them itself."""
    trims: ClassVar[bool] = False
    """Whether changes without which the answer is the same are taken back: where the cheapest point is looked for,
    and not one that has something else besides."""
    offers_options: ClassVar[bool] = False
    """Whether `search` heeds ``problems.options``, so that a person can be given several ways that differ."""

    searches_first: ClassVar[bool] = False
    """Whether a few people are searched for before a model made elsewhere was asked about them: it is then asked
    once, about them and their recourse together. For searches that take no longer than such a question."""

    norm: Norm
    random_state: Seed
    predictor_: Predictor
    state_: dict[str, np.ndarray]
    _drawn: int

    @abstractmethod
    def search(
        self, problems: Problems, deadline: float | None, on_rows: Callable[[int], None] | None
    ) -> Solutions:
        """Answer every problem of a batch; see `holdtrue.batch.solve`."""

    def answers(
        self, problems: Problems, deadline: float | None, on_rows: Callable[[int], None] | None
    ) -> Solutions:
        """What `search` found, without needless changes where the method trims."""
        try:
            found = self.search(problems, deadline, on_rows)
        except RuntimeError as error:  # of a compiled program, which tells only the text of what a model raised
            cause = cause_of(error)
            if cause is error:
                raise
            raise cause from error
        return self.trimmed(problems, found, deadline)

    def trimmed(self, problems: Problems, solutions: Solutions, deadline: float | None = None) -> Solutions:
        """Answers, whoever found them, without needless changes; as they are where the method does not trim.

        So they are, too, where the deadline passes first: what was found in time is not lost.
        """
        if not self.trims:
            return solutions
        done = within(deadline, partial(trimmed, self.trimmer(), problems, solutions))
        return solutions if done is None else done

    def trimmer(self) -> Trimmer:
        """What a change is held against before it is taken back."""
        weights = jnp.asarray(norm_weights(self.predictor_.encoder, self.norm))
        return Trimmer(decision=self.predictor_.decision, cost_weights=weights, norm=self.norm)

    @classmethod
    def serves(cls, capabilities: frozenset[str]) -> bool:
        """Whether a model with these capabilities has what the method needs."""
        return cls.needs <= capabilities and (not cls.needs_one_of or bool(cls.needs_one_of & capabilities))

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Learn from encoded training rows; what is returned is kept in `state_` and in model files."""
        return {}

    def outcome(self, factual: Table, action: Table) -> tuple[Table, np.ndarray | None]:
        """What comes of everyone's action, and which features (n, features) changed as a consequence of it.

        The row that an action leads to is the recourse; its cost is the action's. Most methods know of no
        consequences: the action is the recourse.
        """
        return action, None

    @property
    def foresees(self) -> bool:
        """Whether `outcome` may be another row than the action: where it leads is then no point of the search."""
        return False

    def consulted(self) -> tuple[str, ...]:
        """Digests (`EnsembleModel.digests`) of further models that the search asks, to be guided or to stop.

        A recourse that was made to please a model holds under it, which says nothing about the next one. The plan
        carries these digests, so that whoever measures survival can leave such models out.
        """
        return ()

    def fit(
        self, model: FittedClassifier | Predictor, X: TableLike | None = None, y: ArrayLike | None = None
    ) -> Self:
        """Prepare for a fitted classifier; methods that need training rows learn from `X`.

        Parameters
        ----------
        model : RecourseClassifier or Predictor
        X : dataframe, optional
            Training rows.
        y : array, optional
            Their labels.
        """
        predictor = predictor_of(model)
        if predictor is None:
            raise CapabilityError(
                f"{type(self).__name__}: `model` must be a fitted RecourseClassifier; got {type(model).__name__}. "
                "For any other model use holdtrue.recourse(model, X, schema)."
            )
        rows = None if X is None else predictor.encoder.encode(X).astype(np.float32)
        return self.fit_encoded(predictor, rows, None if X is None or y is None else np.asarray(y))

    def fit_encoded(self, predictor: Predictor, x: np.ndarray | None, y: np.ndarray | None) -> Self:
        """`fit` on rows that are encoded already; a method that builds on another fits it by this."""
        self.check_parameters()
        spare_maps()
        lacking = " and ".join(sorted(self.needs - predictor.capabilities))
        if not self.serves(predictor.capabilities):
            name = type(predictor.foreign.estimator if predictor.foreign else predictor.decision.model).__name__
            kind = lacking or " or ".join(sorted(self.needs_one_of))
            raise CapabilityError(
                f"{type(self).__name__}: needs a {kind} model; got {name}. {self._alternatives(predictor)}"
            )
        if x is None and self.needs_rows:
            raise DataError(
                f"{type(self).__name__}: needs training rows; got X=None. Pass the table the model learned from."
            )
        self.predictor_ = predictor
        self.state_ = self.learn(np.zeros((0, predictor.encoder.n_columns), np.float32) if x is None else x, y)
        return self

    def restore(self, predictor: Predictor, state: dict[str, np.ndarray]) -> Self:
        """Put back what `fit` learned, as from a model file."""
        self.predictor_, self.state_ = predictor, state
        return self

    def rebind(self, predictor: Predictor) -> Self:
        """Return this method, fitted, for the same model at another threshold.

        What it learned from training rows stays; what the model decided about rows that it keeps is asked again.
        """
        self._check_fitted()
        return fresh(self).restore(predictor, self.state_at(predictor))

    def state_at(self, predictor: Predictor) -> dict[str, np.ndarray]:
        """`state_` as it is for the same model at another threshold: the same, unless it holds decisions."""
        return dict(self.state_)

    @hinted()
    def recourse(
        self,
        X: TableLike,
        *,
        target: ArrayLike | None = None,
        restrictions: RestrictionsLike = None,
        deadline: float | None = None,
        n_recourses: int = 1,
        on_rows: Callable[[int], None] | None = None,
    ) -> RecourseFrame:
        """Find recourse for every row.

        Parameters
        ----------
        X : dataframe
            People as they are.
        target : label or array of labels, optional
            The wanted class; the classifier's favourable one when omitted.
        restrictions : mapping or sequence, optional
            What single people may not change: row position to ``{"education": "fixed"}``.
        deadline : float, optional
            Seconds. Returns by then; rows not reached say so in their status.
        n_recourses : int, default=1
            Options per person, those that hold first, of these the cheapest first. Each is unlike those that were
            found before it: the cost of a further one grows with the share of its direction that they span, so
            that together they span a large volume (a determinantal penalty). One that asks for all that another
            asks for, and more, is left out unless it is surer to hold. Who has fewer gets fewer rows;
            ``plan.person`` says whose each row is.
        on_rows : callable, optional
            Told how many more people are done, for a progress bar.
        """
        began = time.monotonic()
        self._check_fitted()
        self.check_parameters()
        spare_maps()
        if deadline is not None and not (isinstance(deadline, (int, float)) and deadline > 0):
            raise DataError(f"recourse: `deadline` must be a positive number of seconds; got {deadline!r}.")
        self._check_options(n_recourses)
        predictor = self.predictor_
        table = predictor.encoder.schema.check(X, where="recourse")
        if table.n_rows == 0:
            raise DataError("recourse: the table is empty; got 0 rows. Give at least one person.")
        targets = self._targets(target, table.n_rows)
        individual = normalise_restrictions(restrictions, predictor.encoder.schema, table.n_rows, table.labels)
        until = None if deadline is None else began + deadline
        frames = []
        for rows in iter_rows(table.n_rows, CHUNK):
            chunk = table.take(rows) if len(rows) < table.n_rows else table
            frame = self._chunk(chunk, targets[rows], individual.take(rows), n_recourses, until, on_rows)
            frames.append(replace(frame, person=frame.person + rows[0]))
        return concat(frames, table)

    @property
    def search_seed(self) -> int:
        """What the search's randomness comes from: `random_state`, or a number drawn when it is first asked for.

        Plans carry it, so that an answer can be had again.
        """
        if self.random_state is not None:
            return self.random_state
        # In one step: several threads may ask.
        return self.__dict__.setdefault("_drawn", int(np.random.default_rng().integers(2**32)))

    def problems(self, table: Table, target: np.ndarray, restrictions: Restrictions) -> Problems:
        """What is asked for every row of a checked table; `target` holds class indices."""
        favourable = self.predictor_.decide_of(self._own_logits(table)) == target
        return self._problems(table, target, restrictions, favourable)

    def _problems(
        self, table: Table, target: np.ndarray, restrictions: Restrictions, favourable: np.ndarray
    ) -> Problems:
        feasible = feasible_sets(self.predictor_.encoder, table, restrictions)
        keys = self._keys(feasible.x)
        return Problems(
            feasible.x, target.astype(np.int32), feasible, keys, feasible.x, favourable=np.asarray(favourable)
        )

    def _own_logits(self, table: Table) -> np.ndarray:
        """What the model says of people as they are, in its own columns: asked once a call."""
        predictor = self.predictor_
        names = predictor.encoder.schema.names
        return table.remember_rows("own logits", predictor, names, lambda: predictor.logits(table))

    def _logits_of_both(self, table: Table, recourse: Table, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the model says of people as they are and of what was found, in one call where neither is known."""
        predictor, names = self.predictor_, self.predictor_.encoder.schema.names
        if predictor.foreign is None:
            return self._own_logits(table), predictor.logits(recourse)
        part = recourse if found.all() else recourse.take(found)  # rows cost time: those alone that changed
        if found.any() and not table.remembers("own logits", predictor, names):
            both = {name: np.concatenate([table.columns[name], part.columns[name]]) for name in names}
            asked = predictor.logits(Table(both, table.n_rows + part.n_rows))
            before = table.remember_rows("own logits", predictor, names, lambda: asked[: table.n_rows])
            new = asked[table.n_rows :]
        else:
            before = self._own_logits(table)
            new = predictor.logits(part) if found.any() else before[:0]
        after = before.copy()
        after[found] = new
        return before, after

    # ---- one chunk ----------------------------------------------------------------------------------

    def _chunk(
        self,
        table: Table,
        target: np.ndarray,
        restrictions: Restrictions,
        n_recourses: int,
        until: float | None,
        on_rows: Callable[[int], None] | None,
    ) -> RecourseFrame:
        began = time.monotonic()
        if until is not None and began >= until:
            return self._unreached(table, target, restrictions)
        encoder, predictor = self.predictor_.encoder, self.predictor_
        few = table.n_rows <= FEW and n_recourses == 1 and until is None
        if self.searches_first and few and predictor.foreign is not None and not predictor.decision.model.on_host:
            problems = self._problems(table, target, restrictions, np.zeros(table.n_rows, bool))
            try:
                return self._answer(problems, table, target, restrictions, None, on_rows)
            except ContradictionError:  # somebody has a yes already, as is known now: no search for them
                on_rows = None
        problems = within(until, partial(self.problems, table, target, restrictions))
        if problems is None:
            return self._unreached(table, target, restrictions)
        if n_recourses == 1:
            return self._answer(problems, table, target, restrictions, until, on_rows)
        times = (began, until)
        return several(self._answer, encoder, problems, table, target, restrictions, n_recourses, times, on_rows)

    def _answer(
        self,
        problems: Problems,
        table: Table,
        target: np.ndarray,
        restrictions: Restrictions,
        until: float | None,
        on_rows: Callable[[int], None] | None,
    ) -> RecourseFrame:
        """Search, then check: under a deadline part by part, so that what was found in time is not lost."""
        began = time.monotonic()
        stop = None if until is None else until - CHECK_SHARE * (until - began)
        solution = self.answers(problems, stop, on_rows)
        if until is None:
            return self._checked(solution, table, target, restrictions, began)
        frames, start, size = [], 0, FIRST_PART
        while start < table.n_rows:
            rows = np.arange(start, min(table.n_rows, start + size))
            part, wanted = table.take(rows), target[rows]
            own = restrictions.take(rows)
            checked = within(
                until, partial(self._checked, solution.take(rows), part, wanted, own, time.monotonic())
            )
            frame = self._unreached(part, wanted, own) if checked is None else checked
            frames.append(replace(frame, person=rows))
            start, size = start + size, 2 * size
        return replace(concat(frames, table), seconds=time.monotonic() - began)

    def _checked(
        self, solution: Solutions, table: Table, target: np.ndarray, restrictions: Restrictions, began: float
    ) -> RecourseFrame:
        """Decode, round to what is told, encode again, ask the model again, hold every limit against every row."""
        predictor = self.predictor_
        encoder = predictor.encoder
        columns = {name: table.columns[name] for name in encoder.schema.names}
        n = table.n_rows
        status = solution.status.copy()
        found = is_found(status)
        exact = decode_recourse(encoder, solution.x, table, restrictions).columns
        proposed, shortened = told(encoder, exact, table, restrictions)
        action = only(found, proposed, columns)
        recourse, consequences = self.outcome(table, action)
        logits_before, logits_after = self._logits_of_both(table, recourse, found)
        favourable = predictor.decide_of(logits_before) == target
        check_statuses(type(self).__name__, status, favourable)
        decided = predictor.decide_of(logits_after)
        valid = decided == target
        kept = np.array([not b for b in broken_limits(encoder, table, recourse, restrictions, consequences)])
        again = np.flatnonzero(found & shortened & ~(valid & kept))
        if len(again):
            longer, logits, accepted = with_more_digits(
                predictor,
                self.outcome,
                {name: values[again] for name, values in exact.items()},
                table.take(again),
                target[again],
                restrictions.take(again),
            )
            proposed = {name: put(values, again, longer[name]) for name, values in proposed.items()}
            logits_after = put(logits_after, again, logits)
            valid[again], kept[again] = accepted, accepted
            action = only(found, proposed, columns)
            recourse, consequences = self.outcome(table, action)
        status = np.where(found & ~(valid & kept), int(Status.NOT_FOUND), status)
        failed = found & ~is_found(status)
        if failed.any():
            action = only(is_found(status), proposed, columns)
            recourse, consequences = self.outcome(table, action)
            logits_after = np.where(failed[:, None], logits_before, logits_after)
            valid = valid & ~failed
        cost = distances(encoder, encoder.encode(table), encoder.encode(action), self.norm)
        has_answer = is_found(status) | (status == int(Status.ALREADY_FAVOURABLE))
        rows = np.arange(n)
        return RecourseFrame(
            factual=table,
            recourse=recourse,
            status=status,
            cost=np.where(has_answer, cost, np.nan),
            valid=valid,
            before=proba_of(logits_before)[rows, target],
            after=proba_of(logits_after)[rows, target],
            target=predictor.classes[target],
            predictor=predictor,
            method=type(self).__name__,
            norm=self.norm,
            n_steps=solution.n_steps,
            seconds=time.monotonic() - began,
            person=rows,
            restrictions=restrictions,
            consequences=consequences,
            consulted=self.consulted(),
            settings=self.get_params(deep=False),
            bound=solution.bound,
            seed=self.search_seed,
        )

    def _unreached(self, table: Table, target: np.ndarray, restrictions: Restrictions) -> RecourseFrame:
        n = table.n_rows
        columns = {name: table.columns[name] for name in self.predictor_.encoder.schema.names}
        return RecourseFrame(
            factual=table,
            recourse=Table(columns, n),
            status=np.full(n, int(Status.NOT_REACHED)),
            cost=np.full(n, np.nan),
            valid=np.zeros(n, bool),
            before=np.full(n, np.nan),
            after=np.full(n, np.nan),
            target=self.predictor_.classes[target],
            predictor=self.predictor_,
            method=type(self).__name__,
            norm=self.norm,
            n_steps=np.zeros(n, int),
            seconds=0.0,
            person=np.arange(n),
            restrictions=restrictions,
            consulted=self.consulted(),
            settings=self.get_params(deep=False),
            seed=self.search_seed,
        )

    def _keys(self, x: np.ndarray) -> np.ndarray:
        return person_keys(self.search_seed, x)

    def _targets(self, target: ArrayLike | None, n: int) -> np.ndarray:
        predictor = self.predictor_
        if target is None:
            return np.full(n, predictor.decision.favourable)
        labels = np.broadcast_to(np.asarray(target), (n,)) if np.ndim(target) == 0 else np.asarray(target)
        if labels.shape != (n,):
            raise DataError(
                f"recourse: `target` must be one label or one per row; got shape {labels.shape} for {n} rows."
            )
        index = {label: i for i, label in enumerate(predictor.classes.tolist())}
        unknown = [label for label in labels.tolist() if label not in index]
        if unknown:
            raise DataError(f"recourse: `target` is not a class; got {unknown[0]!r}. Classes are {list(index)!r}.")
        return np.array([index[label] for label in labels.tolist()])

    def _check_options(self, n_recourses: int) -> None:
        if not isinstance(n_recourses, (int, np.integer)) or n_recourses < 1:
            raise DataError(f"recourse: `n_recourses` must be a whole number of at least 1; got {n_recourses!r}.")
        if n_recourses > 1 and not self.offers_options:
            raise CapabilityError(
                f"{type(self).__name__}: gives one recourse per person; got n_recourses={n_recourses}. "
                "Use Wachter or SparseSearch for several."
            )

    def _check_fitted(self) -> None:
        if not hasattr(self, "predictor_"):
            raise NotFittedError(f"{type(self).__name__}: is not fitted yet. Call fit(model, X) first.")

    def _alternatives(self, predictor: Predictor) -> str:
        from holdtrue.methods._registry import fitting

        names = fitting(predictor.capabilities)
        return f"Use {' or '.join(names[:2])}." if names else "Use a holdtrue model instead."


class AbstractSolverMethod(AbstractMethod):
    """A method whose search is one person's solver, run for many by `holdtrue.batch`."""

    offers_options: ClassVar[bool] = True

    @abstractmethod
    def solver(self) -> AbstractSolver:
        """Return the search for one person, from hyper-parameters, `predictor_` and `state_`."""

    def search(
        self, problems: Problems, deadline: float | None, on_rows: Callable[[int], None] | None
    ) -> Solutions:
        """Run the solver for every person."""
        return solve(self.solver(), problems, deadline=deadline, on_rows=on_rows)
