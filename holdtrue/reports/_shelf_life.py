"""How long recourse holds: each person's chance that the next retraining still says yes."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from holdtrue import metrics
from holdtrue._json import plain, to_json, write_text
from holdtrue._types import JsonObject, NativeFrame
from holdtrue.errors import DataError
from holdtrue.methods import RecourseFrame
from holdtrue.reports import _render, _shelf_life_text
from holdtrue.reports._against import Against, Panel, answers, check_plan, check_shares, digests, panel
from holdtrue.reports._calibration import Calibration
from holdtrue.reports._parts import spread
from holdtrue.reports._report import head, people_frame
from holdtrue.retraining import AbstractRetrained, TrainedClassifier, Vary, retrain
from holdtrue.schema import hinted
from holdtrue.search import Status

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

FORMAT = "holdtrue-shelf-life"
VERSION = 1
STREAM = 5_081_202
"""Set before the seed, so that `shelf_life` and `retrain` draw other models from the same number."""


@dataclass(frozen=True, eq=False, repr=False)
class ShelfLife:
    """How many of the models trained again still say yes to each recourse, and what follows from it.

    Arrays have one value per row of the plan, NaN without a recourse.

    Attributes
    ----------
    plan : RecourseFrame
        The recourse that was asked about.
    vary : str or None
        What differs between the models; None for models given one by one.
    n_models : int
        Models that were asked.
    n_left_out : int
        Models drawn but not asked, since the search had asked them already.
    confidence, level : float
        Of each interval; what its lower end must reach for a recourse not to be fragile.
    survival : array
        Share of the models that say yes: the estimated chance that a recourse holds after a retraining.
    lower, upper : array
        Two-sided Clopper-Pearson interval of that chance.
    per_model : array (models,)
        Share of the recourse that each model accepts.
    digests : tuple
        What tells the models from others; None for one made elsewhere.
    """

    plan: RecourseFrame
    vary: str | None
    n_models: int
    n_left_out: int
    confidence: float
    level: float
    survival: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    per_model: np.ndarray
    digests: tuple[str | None, ...]

    @property
    def fragile(self) -> np.ndarray:
        """Bool per row: a recourse whose lower bound is below `level`; False without a recourse."""
        return self.lower < self.level

    @property
    def short(self) -> np.ndarray:
        """Bool per row: a recourse whose upper bound is below `level` too; False without a recourse."""
        return self.upper < self.level

    @property
    def n_found(self) -> int:
        """Recourse that was asked about."""
        return int(self.plan.found.sum())

    def summary(self) -> JsonObject:
        """The figures over all recourse; NaN where there is none."""
        share = self.survival[self.plan.found]
        std = float(self.per_model.std(ddof=1)) if self.n_models > 1 and len(share) else math.nan
        return {
            "n_rows": len(self.plan),
            "n_found": len(share),
            "mean": float(share.mean()) if len(share) else math.nan,
            "std_over_models": std,
            "worst": float(share.min()) if len(share) else math.nan,
            "n_always": int((share == 1).sum()),
            "n_fragile": int(self.fragile.sum()),
            "n_short": int(self.short.sum()),
        }

    def __repr__(self) -> str:
        fragile = int(self.fragile.sum())
        return f"<ShelfLife of {self.n_found} recourses by {self.plan.method}: {fragile} fragile>"

    def __str__(self) -> str:
        return _render.text(_shelf_life_text.page(self))

    def __rich__(self) -> "RenderableType":
        return _render.rich(_shelf_life_text.page(self))

    def _repr_html_(self) -> str:
        return _render.html(_shelf_life_text.page(self))

    # ---- against further models -----------------------------------------------------------------------

    def calibration(self, fresh: Against) -> Calibration:
        """Hold the stated survival against models that had no part in it.

        Parameters
        ----------
        fresh : Retrained, or a sequence of classifiers
            Such as ``holdtrue.retrain(clf, n=100, random_state=7)``, of the same `vary`.
        """
        models = panel(fresh, "calibration")
        _refuse(models, {*self.plan.consulted, *self.digests}, "calibration", "fresh")
        told = answers(models, self.plan, "calibration")
        yes = np.rint(self.survival[self.plan.found] * self.n_models).astype(int)
        found = metrics.reliability(yes, self.n_models, told)
        # Both sets of models move the bias: the deviation over models is that of either.
        variance = self.summary()["std_over_models"] ** 2 / self.n_models + found.bias_std**2 / found.n_fresh
        return Calibration(found, math.sqrt(variance), self.survival[self.plan.found], told.mean(axis=0))

    # ---- frames and files -----------------------------------------------------------------------------

    def to_frame(self) -> NativeFrame:
        """Return a dataframe of the input's kind, one row per row of the plan, with the input's index.

        `status`, `survival`, `lower`, `upper`, `fragile`; with several options per person also whose each is.
        """
        return people_frame(self.plan.factual, self._people())

    def to_dict(self, *, people: bool = False) -> JsonObject:
        """Return the figures in plain types, None for what there was nothing to measure on.

        Parameters
        ----------
        people : bool, default=False
            Add one list per column of `to_frame`.
        """
        plan = self.plan
        about = {
            "method": plan.method,
            "model": plan.predictor.digest(),
        }
        own = {name: getattr(self, name) for name in ("vary", "n_models", "n_left_out", "confidence", "level")}
        bins = [
            {"low": low, "high": high, "n": int(who.sum())}
            for low, high, who in metrics.binned(self.survival[plan.found])
        ]
        parts = {**about, **own, **self.summary(), "per_model": self.per_model, "bins": bins}
        return {**head(FORMAT, VERSION), **plain(parts | ({"people": self._people()} if people else {}))}

    def to_json(self, *, people: bool = False) -> str:
        """Return `to_dict` as JSON text."""
        return to_json(self.to_dict(people=people))

    def write(self, path: str | Path, *, people: bool = False) -> None:
        """Write JSON beside its place and move it there: an interrupted write loses nothing."""
        write_text(path, self.to_json(people=people) + "\n", "the shelf life")

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw every recourse's survival with its interval, the shortest-lived first; needs matplotlib.

        Parameters
        ----------
        path : path, optional
            Where to write (PNG, SVG or PDF).

        Returns
        -------
        matplotlib.figure.Figure
        """
        from holdtrue.reports import _shelf_life_plot

        return _shelf_life_plot.draw(self, path)

    def _people(self) -> dict[str, np.ndarray]:
        plan = self.plan
        whose = {} if plan.single else {"person": plan.person, "option": plan.option}
        return whose | {
            "status": np.array([Status(s).name for s in plan.status], object),
            "survival": self.survival,
            "lower": self.lower,
            "upper": self.upper,
            "fragile": self.fragile,
        }


@hinted(retrain)
def shelf_life(
    plan: RecourseFrame,
    clf: TrainedClassifier | None = None,
    n: int = 100,
    vary: Vary | None = None,
    *,
    random_state: int | None = 0,
    against: Against | None = None,
    confidence: float = 0.95,
    fragile: float = 0.9,
    **retraining: Any,
) -> ShelfLife:
    """Estimate for each person the chance that their recourse still holds after a retraining.

    The classifier is trained again `n` times, and each model is asked about every recourse. Of the answers about
    one person, the number that say yes is binomial, so that the interval is exact.

    Parameters
    ----------
    plan : RecourseFrame
        What ``clf.recourse(X)`` returned; people may have several options.
    clf : RecourseClassifier, optional
        Fitted in this process. Not needed with `against`.
    n : int, default=100
        Retrainings. To call anything but fragile at the defaults takes 36.
    vary : {"seed", "bootstrap", "leave_one_out", ...}, optional
        What differs between retrainings, and what does by default; see `holdtrue.retrain`.
    random_state : int, default=0
        Chooses the retrainings; the same number gives other models here than in `retrain`.
    against : Retrained, or a sequence of classifiers, optional
        Models to ask in place of new ones.
    confidence : float, default=0.95
        Of each person's two-sided interval.
    fragile : float, default=0.9
        A recourse is fragile unless the lower end of its interval reaches this.
    **retraining
        Further arguments of `holdtrue.retrain`.

    Returns
    -------
    ShelfLife
        Prints as a table; `survival`, `lower`, `upper`, `fragile` per row of the plan; `to_frame`, `to_dict`,
        `write`, `plot`, `calibration`.

    Notes
    -----
    Fragile is judged by the lower bound and not by the estimate, because the two errors weigh differently: who is
    told that a recourse holds may act on it, and who is told that it may not loses a promise. With few models
    everyone is fragile, which is what is known then. `ShelfLife.short` has those of whom the opposite is shown.

    A search that asks retrained models, to be guided or to stop, makes recourse that pleases them; their yes says
    nothing about the next model. The plan knows which they were (`plan.consulted`): of the models drawn here they
    are left out, and in `against` they are refused.

    What is estimated is the chance under retrainings *like these*. A shift of the data, another architecture or
    another threshold is not among them.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> quick = ht.StandardTraining(n_epochs=5)
    >>> clf = ht.RecourseClassifier(
    ...     schema=bank.schema, model=ht.Linear(), regime=quick, threshold=0.8, random_state=0
    ... )
    >>> plan = clf.fit(bank.X, bank.y).recourse(bank.X[:50])
    >>> life = ht.shelf_life(plan, clf, n=10)
    >>> bool((life.lower <= life.survival)[plan.found].all())
    True
    """
    check_plan(plan, "shelf_life")
    check_shares("shelf_life", confidence=confidence, fragile=fragile)
    if against is None:
        if clf is None:
            raise DataError(
                "shelf_life: needs models to ask; got neither `clf` nor `against`. Give the classifier."
            )
        if isinstance(clf, (AbstractRetrained, list, tuple)):
            raise DataError(
                f"shelf_life: `clf` must be the classifier that is trained again; got a {type(clf).__name__}. "
                "Give models that were trained already as `against`."
            )
        # Another stream than that of `retrain`, where a user is likely to use the same number twice.
        rng = None if random_state is None else np.random.RandomState([STREAM, random_state])
        models: Panel = retrain(clf, n=n, vary=vary, random_state=rng, **retraining)
        drawn = len(models)
        models = models.take(~_known(models, set(plan.consulted)))
        if len(models) == 0:
            raise DataError(
                f"shelf_life: the search had asked all {drawn} models that were drawn. Draw more, or use "
                "vary='seed'."
            )
    else:
        models = panel(against, "shelf_life")
        drawn = len(models)
        _refuse(models, set(plan.consulted), "shelf_life", "against")
    told = answers(models, plan, "shelf_life")
    lower, upper = metrics.clopper_pearson(told.sum(axis=0), len(models), confidence, "both")
    return ShelfLife(
        plan=plan,
        vary=models.vary if isinstance(models, AbstractRetrained) else None,
        n_models=len(models),
        n_left_out=drawn - len(models),
        confidence=confidence,
        level=fragile,
        survival=spread(metrics.survival(told), plan.found),
        lower=spread(lower, plan.found),
        upper=spread(upper, plan.found),
        per_model=told.mean(axis=1) if told.shape[1] else np.full(len(models), np.nan),
        digests=tuple(digests(models)),
    )


def _known(models: Panel, known: set[str | None]) -> np.ndarray:
    known = known - {None}
    if not known:
        return np.zeros(len(models), bool)
    return np.array([digest in known for digest in digests(models)])


def _refuse(models: Panel, known: set[str | None], where: str, name: str) -> None:
    count = int(_known(models, known).sum())
    if count:
        raise DataError(
            f"{where}: `{name}` must be models that neither the search nor the estimate has asked; got {count} of "
            f"{len(models)} that were. Train others, with another random_state."
        )
