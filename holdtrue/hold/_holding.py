"""Recourse that holds: another method's search, asked of the model and its guides, told by judges."""

import copy
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from holdtrue._registry import made
from holdtrue.batch import FittedClassifier, Predictor, predictor_of
from holdtrue.encoding import Norm
from holdtrue.errors import CapabilityError, DataError
from holdtrue.hold._draws import brought, dealt, refused_people, resampled
from holdtrue.hold._measure import measured
from holdtrue.hold._search import PanelSearch, as_cheapest
from holdtrue.methods import (
    AbstractBasedMethod,
    AbstractMethod,
    Held,
    Level,
    RecourseFrame,
    SparseSearch,
    Wachter,
    checked_level,
)
from holdtrue.metrics import clopper_pearson
from holdtrue.models import EnsembleModel, fresh, to_arrays, with_arrays
from holdtrue.parameters import Count, Probability, Seed, configured
from holdtrue.retraining import AbstractRetrained, Retrained, TrainedClassifier, Vary, retrain
from holdtrue.schema import Restrictions, Table, TableLike
from holdtrue.search import Problems, Solutions

GUIDE_SEED = 20_261_116
"""What is added to a seed for guides and judges, so that they are not the models which `retrain` draws from it."""
GUIDE, JUDGE, LEVELS = "guide/", "judge/", "levels"
AS_FITTED: Literal["as fitted"] = "as fitted"
FIRST_SHARE = 0.4  # of a deadline, for the cheapest recourse

Hold = float | Level | None | Literal["as fitted"]


@configured
class Holding(AbstractBasedMethod):
    """Recourse that models trained again accept too, at the lowest price, with a stated chance.

    The model is trained again several times. Some of these models, the guides, decide together with the model
    itself: another method's search, whatever it is, then finds the cheapest recourse to which all of them say yes
    by a margin. The others, the judges, take no part in the search. By them the margin is chosen, once, when it is
    fitted: the smallest whose lower confidence bound, over judges and over people, reaches the wanted chance. And
    by them every recourse is told how sure it is to hold.

    Parameters
    ----------
    base : AbstractMethod or str, optional
        The method that searches; the cost is counted in its norm. When omitted ``Wachter()`` where the model has
        gradients and ``SparseSearch()`` elsewhere.
    hold : float, default=0.95
        The wanted chance that a retraining accepts.
    n_guides : int, default=20
        Retrained models that decide with the model.
    n_judges : int, default=20
        Retrained models that tell how sure a recourse is.
    vary : {"anew", "bootstrap", "seed", ...}, default="anew"
        What a retraining is: see `holdtrue.retrain`. Of past periods, given to `fit`, it is one period's rows.
    confidence : float, default=0.95
        Of the bound that the margin is chosen by, and of the interval told with each recourse.
    random_state : int, optional
        Seed of guides, judges, the people that the margin is measured by, and the base's randomness.

    Attributes
    ----------
    guides_, judges_ : AbstractRetrained
    level_ : Level
        The margin, and what it rests on.

    Notes
    -----
    A base that cannot be asked of several models at once, such as one that needs a linear model or has a causal
    one, searches for the model alone; its recourse is judged all the same. Who cannot be brought to where all
    guides agree is given the recourse to which they agree by most; ``plan.held.holds`` says whether the judges do.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), hold=None, random_state=0)
    >>> clf = clf.fit(bank.X, bank.y)
    >>> method = ht.Holding(n_guides=5, n_judges=5, random_state=0).fit(clf, bank.X, bank.y)
    >>> plan = method.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.held.survival.mean() > 0.9)
    True
    """

    needs_guides: ClassVar[bool] = True

    hold: Probability = 0.95
    n_guides: Count = 20
    n_judges: Count = 20
    vary: Vary = "anew"
    confidence: Probability = 0.95
    random_state: Seed = None

    # ---- fitting ------------------------------------------------------------------------------------

    def fit(
        self,
        model: FittedClassifier | Predictor,
        X: TableLike | None = None,
        y: ArrayLike | None = None,
        *,
        guides: AbstractRetrained | None = None,
        judges: AbstractRetrained | None = None,
        tables: Sequence[tuple[TableLike, ArrayLike]] | None = None,
        level: Level | None = None,
        also: Sequence[float] = (),
        on_model: Callable[[int], None] | None = None,
        keep: str | Path | None = None,
    ) -> Self:
        """Train guides and judges, and measure the margin.

        Parameters
        ----------
        model : RecourseClassifier or Predictor
        X, y : dataframe, array
            What the model learned from. A RecourseClassifier fitted in this process knows its own rows.
        guides, judges : AbstractRetrained, optional
            What `holdtrue.retrain` returned, in place of models of their own. Given together, or `guides` alone,
            which are then shared out between the two.
        tables : sequence of (X, y), optional
            Past periods, each by itself. A third of the models are then resamples of `X`, the rest resamples of
            single periods, so that they differ as periods differed.
        level : Level, optional
            A margin that was measured elsewhere, by `holdtrue.backtest` for instance; none is measured then.
        also : sequence of float
            Further levels to measure, for ``recourse(X, hold=...)``. Where none reaches one, the surest margin for
            everybody is asked, as for `hold`.
        on_model : callable, optional
            Told how many models are trained.
        keep : path, optional
            A folder in which every model is kept as it is trained: the same call goes on where it was cut. See
            `holdtrue.retrain`.
        """
        self.check_parameters()
        if keep is not None and guides is not None:
            raise DataError("Holding: `keep` is for models that are trained here; got `guides`. Leave one out.")
        super().fit(model, X, y)
        if guides is None:
            try:
                n = self.n_guides + self.n_judges
                drawn = self.drawn(model, X, y, n, tables=tables, on_model=on_model, keep=keep)
            except CapabilityError as error:
                where = "Use another method to go without, or fit(..., guides=...) what holdtrue.retrain returned."
                raise CapabilityError(f"Holding: needs models trained again. {error} {where}") from error
            guides, judges = dealt(drawn, self.n_guides)
        elif judges is None:
            guides, judges = dealt(guides, (len(guides) + 1) // 2)
        for models in (guides, judges):
            self._check_alike(models)
        self.guides_, self.judges_ = guides, judges
        self._searching = None
        if level is None:
            how = (self.hold, self.confidence, self.random_state)
            self.levels_ = measured(self, refused_people(self.predictor_, model, X, *how), also)
        else:
            self.levels_ = [level]
        self.state_ |= self._stored()
        return self

    def _check_alike(self, models: AbstractRetrained) -> None:
        """Refuse models that read a table in another way than the classifier."""
        own, other = self.predictor_.encoder.schema, models.predictor.encoder.schema
        if own.digest() != other.digest():
            raise DataError(
                "Holding: guides and judges were trained with another schema than the model's; their columns do "
                "not agree. Call holdtrue.retrain with the same `schema`."
            )

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Fit the base."""
        return self._learn_base(x, y)

    def drawn(
        self,
        model: object,
        X: TableLike | None,
        y: ArrayLike | None,
        n: int,
        *,
        tables: Sequence[tuple[TableLike, ArrayLike]] | None = None,
        on_model: Callable[[int], None] | None = None,
        keep: str | Path | None = None,
    ) -> AbstractRetrained:
        """`n` models as `fit` trains them, to be shared out between guides and judges."""
        seed = (GUIDE_SEED + (0 if self.random_state is None else self.random_state)) % 2**32
        own = isinstance(model, TrainedClassifier) and model.training_ is not None
        rows: dict[str, Any] = {"keep": keep} | ({} if own else {"X": X, "y": y})
        if not own and (X is None or y is None):
            raise DataError(
                f"Holding: a {type(model).__name__} does not know what it learned from; got no X and y. Give "
                "them, or `guides`: what holdtrue.retrain returned."
            )
        if not tables:
            return retrain(model, **rows, n=n, vary=self.vary, random_state=seed, on_model=on_model)
        alike = max(2, n // 3)
        # Before the first is trained: a period may be one of which none can be.
        singles = resampled(tables, n - alike, check_random_state(seed), predictor_of(model))
        first = retrain(model, **rows, n=alike, vary=self.vary, random_state=seed, on_model=on_model)
        told = None if on_model is None else lambda done: on_model(alike + done)
        later = retrain(model, n=1, tables=singles, random_state=seed, on_model=told, keep=keep)
        return first.join(later.of_kinds(1, len(tables)))

    # ---- asking -------------------------------------------------------------------------------------

    @property
    def level_(self) -> Level:
        """The margin that is asked, and what it rests on."""
        return self.levels_[0]

    def at(self, hold: Hold) -> "Holding":
        """This method, fitted, for another level; None: the cheapest recourse, judged.

        Raises
        ------
        DataError
            Where no margin was measured that keeps it.
        """
        self._check_fitted()
        if isinstance(hold, str):
            if hold != AS_FITTED:
                raise DataError(f"recourse: `hold` must be a chance, a Level or None; got {hold!r}. 95% is 0.95.")
            return self
        out = copy.copy(self)
        out._searching = self.panel_search  # made here if need be, so that what it makes serves the next copy too
        if hold is None:
            out._cheapest = True
            return out
        if isinstance(hold, Level):
            out.levels_ = [hold, *self.levels_]
            return out
        wanted = checked_level(hold, "recourse")
        if wanted == self.level_.hold:
            return out
        for level in self.levels_:
            if level.hold == wanted:  # asked for when it was fitted
                out.levels_ = [level, *self.levels_]
                return out
        usable = [level for level in self.levels_ if level.lower is not None]
        enough: dict[int, Level] = {}  # by how many guides are spared, the smallest slack
        for level in sorted(usable, key=lambda known: -known.slack):
            if level.lower is not None and level.lower >= wanted:
                enough[level.spared] = level
        if not enough:
            shown = max((level.lower or 0.0 for level in usable), default=0.0)
            raise DataError(
                f"recourse: no margin was measured that keeps hold={wanted!r}; the surest is known to keep "
                f"{shown:.1%}. Fit with hold={wanted!r}."
            )
        best = min(enough.values(), key=lambda one: (math.inf if one.price is None else one.price, one.slack))
        out.levels_ = [replace(best, hold=wanted, reached=True, note=brought(best.found)), *self.levels_]
        return out

    def around(self, base: AbstractMethod) -> "Holding":
        """These guides, judges and levels about another base, which was fitted to the same classifier."""
        out = copy.copy(self)
        out.base, out._searching = base, None
        kept = {name: value for name, value in self.state_.items() if not name.startswith("base/")}
        out.state_ = kept | {f"base/{name}": value for name, value in base.state_.items()}
        return out

    def recourse(self, X: TableLike, *, hold: Hold = AS_FITTED, **options: Any) -> RecourseFrame:
        """Find recourse that holds for every row.

        Parameters
        ----------
        X : dataframe
            People as they are.
        hold : float, Level or None, optional
            Another level than the fitted one, as far as it was measured; None: the cheapest recourse, judged all
            the same.
        options
            `target`, `restrictions`, `deadline`, `n_recourses`, `on_rows`: see `AbstractMethod.recourse`.
        """
        method = self if isinstance(hold, str) and hold == AS_FITTED else self.at(hold)
        return super(Holding, method).recourse(X, **options)

    def search(
        self, problems: Problems, deadline: float | None, on_rows: Callable[[int], None] | None
    ) -> Solutions:
        """Let the base answer for the model alone, then for the panel whom it would refuse."""
        now = time.monotonic()
        guided = self.panel_search.guidable and not self._cheapest
        until = deadline if deadline is None or not guided else now + FIRST_SHARE * (deadline - now)
        first = self.panel_search.cheapest(problems, until, None if guided else on_rows, self.level_.spared)
        if not guided:
            return as_cheapest(first, self.panel_search.cost(problems.x, first.x))
        level = self.level_
        return self.panel_search.guided(
            problems, first, level.slack, spared=level.spared, deadline=deadline, on_rows=on_rows
        )

    def ladder(self, X: TableLike, slacks: Sequence[float]) -> Iterator[tuple[float | None, RecourseFrame]]:
        """Recourse for the same people at one slack after another, the cheapest without guides (None) first.

        A recourse that clears the next slack too is kept, so that only the others are searched for again. Who is
        not brought to a slack has none there and beyond: nobody is given what a smaller one found.

        Parameters
        ----------
        X : dataframe
            People as they are.
        slacks : sequence of float
            Asked in ascending order.
        """
        self._check_fitted()
        if not self.panel_search.guidable:
            raise CapabilityError(
                f"Holding: {self.base_name} cannot be guided by several models. Use SparseSearch, or Wachter."
            )
        table = self.predictor_.encoder.schema.check(X, where="Holding")
        target = np.full(table.n_rows, self.predictor_.decision.favourable)
        problems = self.problems(table, target, Restrictions())
        solution = self._fitted_base().answers(problems, None, None)
        yield None, self.unjudged(solution, table, target)
        for slack in sorted(slacks):
            solution = self.panel_search.guided(problems, solution, slack, fallback=False)
            yield slack, self.unjudged(solution, table, target)

    def unjudged(self, solution: Solutions, table: Table, target: np.ndarray) -> RecourseFrame:
        """Answers checked as any method's are, without the judges."""
        return super()._checked(solution, table, target, Restrictions(), time.monotonic())

    def _checked(
        self, solution: Solutions, table: Table, target: np.ndarray, restrictions: Restrictions, began: float
    ) -> RecourseFrame:
        """What every method's answers go through; then the judges are asked."""
        frame = super()._checked(solution, table, target, restrictions, began)
        return self.judged(frame, None if self._cheapest else solution.cheapest)

    def _unreached(self, table: Table, target: np.ndarray, restrictions: Restrictions) -> RecourseFrame:
        return self.judged(super()._unreached(table, target, restrictions), None)

    def judged(self, plan: RecourseFrame, cheapest: np.ndarray | None = None) -> RecourseFrame:
        """A plan, whoever made it, with what the judges say of it."""
        found, n = plan.found, len(self.judges_)
        yes = np.zeros(len(plan), int)
        if found.any():
            yes[found] = self.judges_.accepts(plan.recourse.take(found), plan.target[found]).sum(axis=0)
        share = np.where(found, yes / n, np.nan)
        lower, upper = clopper_pearson(yes, n, self.level_.confidence, side="both")
        held = Held(
            survival=share,
            lower=np.where(found, lower, np.nan),
            upper=np.where(found, upper, np.nan),
            holds=found & (yes >= self.level_.hold * n - 1e-9),
            cheapest=plan.cost.copy() if cheapest is None else np.where(found, cheapest, np.nan),
            level=self.level_,
            n_models=n,
            vary=self.judges_.vary,
            guided=self.panel_search.guidable and not self._cheapest and cheapest is not None,
        )
        return replace(plan, held=held, guides=self.guides_)

    def outcome(self, factual: Table, action: Table) -> tuple[Table, np.ndarray | None]:
        """What the base says comes of it."""
        return self._fitted_base().outcome(factual, action)

    def consulted(self) -> tuple[str, ...]:
        """The guides, and what the base asked."""
        return (*(d for d in self.guides_.digests() if d is not None), *super().consulted())

    # ---- parts --------------------------------------------------------------------------------------

    _cheapest = False
    _searching: PanelSearch | None = field(default=None, init=False)

    @property
    def panel_search(self) -> PanelSearch:
        """The base's search for the model and its guides; what it has made is shared with `at`'s copies."""
        if self._searching is None or self._searching.base.predictor_ is not self.predictor_:
            self._searching = PanelSearch(super()._fitted_base(), self.guides_)
        return self._searching

    @property
    def offers_options(self) -> bool:  # type: ignore[override]
        """Whether the base does."""
        return self._fresh_base().offers_options

    def _fitted_base(self) -> AbstractMethod:
        """The base as it was fitted, put together once."""
        return self.panel_search.base

    @property
    def norm(self) -> Norm:
        """The base's norm."""
        return super().norm if self._searching is None else self._searching.base.norm

    def unfitted_base(self) -> AbstractMethod:
        """The method that searches, with its parameters and not fitted."""
        return self._fresh_base()

    @property
    def base_name(self) -> str:
        """What the method that searches is called."""
        return type(self._fresh_base()).__name__

    def _fresh_base(self) -> AbstractMethod:
        base = fresh(made(AbstractMethod, self._default_base() if self.base is None else self.base))
        return base if base.random_state is not None else base.set_params(random_state=self.random_state)

    def _default_base(self) -> AbstractMethod:
        predictor = getattr(self, "predictor_", None)
        differentiable = predictor is None or "differentiable" in predictor.capabilities
        return Wachter() if differentiable else SparseSearch()

    # ---- files --------------------------------------------------------------------------------------

    def _stored(self) -> dict[str, np.ndarray]:
        """Guides, judges and levels as arrays, for a model file; of models made elsewhere the levels alone."""
        levels = json.dumps([level.to_dict() for level in self.levels_])
        out = {LEVELS: np.asarray(levels), "vary": np.asarray(self.judges_.vary)}
        for prefix, models in ((GUIDE, self.guides_), (JUDGE, self.judges_)):
            if isinstance(models, Retrained):
                out |= to_arrays(models.ensemble.members, prefix)
        return out

    def restore(self, predictor: Predictor, state: dict[str, np.ndarray]) -> Self:
        """Put back what `fit` learned, as from a model file."""
        super().restore(predictor, state)
        self._searching = None
        vary = str(state["vary"])
        model = predictor.decision.model.alone
        if any(name.startswith(GUIDE) for name in state):
            self.guides_, self.judges_ = (
                Retrained(predictor, EnsembleModel(with_arrays(model, state, prefix, stacked=True)), vary)
                for prefix in (GUIDE, JUDGE)
            )
        self.levels_ = [Level.from_dict(raw) for raw in json.loads(str(state[LEVELS]))]
        return self

    def rebind(self, predictor: Predictor) -> Self:
        """Return this method, fitted, for the same model at another threshold; the margin stays as measured."""
        out = super().rebind(predictor)
        out.guides_, out.judges_ = self.guides_.bind(predictor), self.judges_.bind(predictor)
        return out
