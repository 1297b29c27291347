"""How long will it hold? The past replayed: promises of each period, asked of the models that really came."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pandas.util import hash_pandas_object
from sklearn.utils import check_random_state

from holdtrue._json import write_result
from holdtrue._registry import made
from holdtrue._types import Estimator, JsonObject, Label, NativeFrame
from holdtrue.batch import Predictor, predictor_of, wrap
from holdtrue.errors import CapabilityError, DataError
from holdtrue.hold._backtest_result import Backtest, Offer, Replayed
from holdtrue.hold._holding import Holding
from holdtrue.methods import AbstractMethod, Level, RecourseFrame, checked_level
from holdtrue.parameters import Count, Probability, require
from holdtrue.retraining import AbstractRetrained, retrain, seeded
from holdtrue.schema import Schema, TableLike, as_table, favourable_of, hinted, shown

LADDER = (-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)
FEWEST_ROWS, FEWEST_OF_A_CLASS = 50, 5  # of a single period that a guide may learn from
KEPT = "holdtrue-backtest-period"

Periods = Mapping[Any, tuple[TableLike, ArrayLike]] | Sequence[tuple[Any, ...]]


@dataclass(frozen=True)
class Period:
    """One period's people and what became of them."""

    label: str
    frame: NativeFrame
    y: np.ndarray

    @property
    def enough(self) -> bool:
        """Whether a guide can learn from this period alone."""
        counts = np.unique(self.y, return_counts=True)[1]
        return len(self.y) >= FEWEST_ROWS and len(counts) > 1 and bool(counts.min() >= FEWEST_OF_A_CLASS)

    def digest(self) -> str:
        """What tells this table from others."""
        columns = pd.DataFrame(as_table(self.frame).columns)
        hashed: Any = hash_pandas_object  # pandas gives it no type
        rows = hashed(columns, index=False).to_numpy()
        return hashlib.sha256(rows.tobytes() + json.dumps(self.y.tolist(), default=str).encode()).hexdigest()


@hinted()
def backtest(
    recipe: Estimator,
    periods: Periods,
    schema: Schema | None = None,
    terms: Sequence[int] = (1, 2, 3),
    *,
    window: int = 3,
    hold: float = 0.95,
    slacks: Sequence[float] = LADDER,
    people: int = 60,
    n_guides: int = 30,
    n_judges: int = 10,
    past: int = 5,
    memory: int = 4,
    confidence: float | None = 0.95,
    method: AbstractMethod | str | None = None,
    threshold: float | None = None,
    favourable: Label | None = None,
    random_state: int = 0,
    bases: Sequence[object] | None = None,
    keep: str | Path | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Backtest:
    """Replay the past with rolling windows, and measure how long recourse would have held.

    In each period the recipe is trained on the last `window` periods, as one would have done. People of that
    period whom it refuses are offered recourse to which the model and its guides say yes by a slack, for several
    slacks. Then the models are asked that really came one, two, three periods later. Guides are resamples of the
    window and of single past periods, so that they differ as periods differed.

    Parameters
    ----------
    recipe : estimator
        Any classifier that scikit-learn can clone, or a RecourseClassifier; a clone is fitted to each window.
    periods : sequence of (label, X, y) or of (X, y), or mapping of label to (X, y)
        In order of time, with the same columns.
    schema : Schema, optional
        What people may change; guessed when omitted. Bounds and levels that it leaves open are those of all
        periods.
    terms : sequence of int, default=(1, 2, 3)
        How many periods later the models are asked.
    window : int, default=3
        Periods that a model learns from.
    hold : float, default=0.95
        The level that is printed and drawn. Other ones are asked of the result and need no new replay.
    slacks : sequence of float
        In log-odds: by how much the model and all guides must say yes. Below 0 guides may lack so much.
    people : int, default=60
        Refused people who are asked about in each period, drawn by the seed.
    n_guides : int, default=30
        Models that decide with the model, a third of them resamples of the window, the rest of single periods.
    n_judges : int, default=10
        Further resamples of the window, which only judge: what chance alone does.
    past : int, default=5
        Single periods that guides learn from, the period itself among them. One with few rows, or without a
        class, is left out.
    memory : int, default=4
        Judged periods that a slack is chosen by.
    confidence : float or None, default=0.95
        A slack is chosen whose lower bound over the people of these periods reaches the level; None: whose share
        does. Periods differ by more than chance, so that what was just kept is often not kept again.
    method : AbstractMethod or str, optional
        The search; see `Holding`.
    threshold, favourable
        Of a model made elsewhere: see `holdtrue.wrap`.
    random_state : int, default=0
        Seed of people, guides and judges, and of a recipe that has none.
    bases : sequence of labels, optional
        Only these periods are replayed, so that several processes with one `keep` can share the work.
    keep : path, optional
        A folder in which each period's results are kept as they come: the same call goes on where it was cut.
    progress : callable, optional
        Told ``(what, done, total)``.

    Returns
    -------
    Backtest
        ``print`` it; ``level(term=1, hold=0.95)`` is what to ask for now.

    Examples
    --------
    >>> import holdtrue as ht
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> periods = []
    >>> for year in range(2001, 2006):  # each year a little more income is asked for
    ...     X = pd.DataFrame({"income": rng.uniform(0, 1, 200).round(2)})
    ...     periods.append((year, X, (X.income > 0.4 + 0.05 * (year - 2001)).astype(int)))
    >>> schema = ht.Schema([ht.Feature(name="income", kind="numeric", bounds=(0, 1), direction="increase")])
    >>> past = ht.backtest(LogisticRegression(), periods, schema, (1,), window=1, people=20, n_guides=6,
    ...                    slacks=(0, 1, 2), method="sparse_search")
    >>> past.kept(term=1).choices[0].evidence
    ('2001',)
    """
    task = _Task(
        recipe=recipe, periods=_read(periods, schema), schema=schema, terms=_terms(terms), window=window,
        slacks=tuple(sorted({float(s) for s in slacks})), people=people, n_guides=n_guides, n_judges=n_judges,
        past=past, method=method, threshold=threshold, favourable=favourable, seed=random_state,
    )  # fmt: skip
    for name in ("window", "people", "n_guides", "n_judges", "past"):
        require("backtest", name, getattr(task, name), Count)
    require("backtest", "memory", memory, Count)
    if confidence is not None:
        require("backtest", "confidence", confidence, Probability)
    hold = checked_level(hold, "backtest")
    if getattr(recipe, "favourable", None) is None:
        name = getattr(_named(periods)[0][2], "name", None)
        every = np.concatenate([p.y for p in task.periods])
        task.favourable = favourable_of(every, favourable, name=name, where="backtest")
    task = task.prepared()
    chosen = task.bases if bases is None else [task.base(label) for label in bases]
    out = []
    for done, t in enumerate(chosen):
        if progress is not None:
            progress(task.periods[t].label, done, len(chosen))
        out.append(_kept(keep, task, t) or _keep(keep, task, t, task.replayed(t)))
    if progress is not None:
        progress("done", len(chosen), len(chosen))
    labels = tuple(p.label for p in task.periods)
    return Backtest(labels, tuple(out), task.terms, hold, memory, task.setup(), confidence)


@dataclass
class _Task:
    """What is replayed. Models of windows are fitted when they are first asked."""

    recipe: Any
    periods: list[Period]
    schema: Any
    terms: tuple[int, ...]
    window: int
    slacks: tuple[float, ...]
    people: int
    n_guides: int
    n_judges: int
    past: int
    method: AbstractMethod | str | None
    threshold: float | None
    favourable: Label | None
    seed: int
    models: dict[int, tuple[Any, Predictor]] = field(default_factory=dict)
    digests: list[str] = field(default_factory=list)

    def prepared(self) -> "_Task":
        """Everything that can be wrong without a model being trained."""
        n, needed = len(self.periods), self.window + min(self.terms)
        if n < needed:
            raise DataError(
                f"backtest: too few periods; got {n} for window={self.window} and a term of {min(self.terms)}, "
                f"which take {needed}. Give more, or a smaller window."
            )
        if not self.slacks or not np.isfinite(self.slacks).all():
            raise DataError(f"backtest: `slacks` must be finite numbers; got {list(self.slacks)!r}.")
        if not (hasattr(self.recipe, "get_params") and hasattr(self.recipe, "fit")):
            raise _not_cloned(self.recipe)
        self.schema = self._resolved()
        for t in range(self.window - 1, n):
            classes = np.unique(self._rows(t)[1])
            if len(classes) < 2:
                raise DataError(
                    f"backtest: the window that ends with period {self.periods[t].label!r} has one class; got "
                    f"{classes.tolist()[0]!r}. Leave such periods out, or take a larger window."
                )
        self.digests = [p.digest() for p in self.periods]
        return self

    @property
    def bases(self) -> list[int]:
        """Periods with a window before them and a model after them."""
        return list(range(self.window - 1, len(self.periods) - min(self.terms)))

    def base(self, label: object) -> int:
        """Place of a period that can be replayed."""
        known = {self.periods[t].label: t for t in self.bases}
        if str(label) not in known:
            raise DataError(f"backtest: `bases` has no such period; got {label!r}. Known are {list(known)!r}.")
        return known[str(label)]

    def _resolved(self) -> Schema:
        whole = _joined([p.frame for p in self.periods])
        schema = Schema.infer(whole) if self.schema is None else self.schema
        for period in self.periods:
            schema.check(period.frame, where=f"backtest, period {period.label!r}")
        return schema.resolve(whole)

    def _rows(self, t: int) -> tuple[NativeFrame, np.ndarray]:
        """What the model of a period learns from."""
        some = self.periods[t + 1 - self.window : t + 1]
        return _joined([p.frame for p in some]), np.concatenate([p.y for p in some])

    def model(self, t: int) -> tuple[Any, Predictor]:
        """The model that would have been trained at the end of a period, and how it is asked."""
        if t not in self.models:
            try:
                model = seeded(self.recipe, self.seed, only_unset=True)
            except (TypeError, RuntimeError) as error:
                raise _not_cloned(self.recipe) from error
            X, y = self._rows(t)
            given: JsonObject = {"schema": self.schema, "hold": None, "favourable": self.favourable}
            own = model.get_params(deep=False)
            if "schema" in own and "hold" in own:  # guides are drawn here, from single periods too
                given |= {"threshold": self.threshold}
                model.set_params(**{k: v for k, v in given.items() if k == "hold" or v is not None})
                model.fit(X, y)
            else:
                model.fit(X, y)
                model = wrap(model, self.schema, X, threshold=self.threshold, favourable=self.favourable)
            predictor = predictor_of(model)
            assert predictor is not None
            self.models[t] = (model, predictor)
        return self.models[t]

    def holding(self, t: int) -> tuple[Holding, AbstractRetrained]:
        """The search with its guides, and the models that only judge."""
        model, _ = self.model(t)
        X, y = self._rows(t)
        singles = [p for p in self.periods[max(0, t + 1 - self.past) : t + 1] if p.enough][::-1]
        holding = Holding(base=self._base(model), n_guides=self.n_guides, random_state=self.seed)
        tables = [(p.frame, p.y) for p in singles]
        guides = holding.drawn(model, X, y, self.n_guides, tables=tables)
        judges = retrain(model, X, y, n=self.n_judges, vary="anew", random_state=self.seed)
        # Not measured here: slacks are asked one by one.
        return holding.fit(model, X, y, guides=guides, judges=judges, level=Level(0.5, 0.0)), judges

    def _base(self, model: object) -> AbstractMethod | None:
        """The search that was asked for, or a classifier's own."""
        if self.method is not None:
            return made(AbstractMethod, self.method)
        own = getattr(model, "method", None)
        return None if own is None else made(AbstractMethod, own)

    def replayed(self, t: int) -> Replayed:
        """Offer recourse in a period, and ask the models that came."""
        _, predictor = self.model(t)
        period = self.periods[t]
        table = self.schema.check(period.frame)
        refused = np.flatnonzero(predictor.decide(table) != predictor.decision.favourable)
        asked = refused
        if len(refused) > self.people:
            # By the table and not by its place, so that earlier periods, added later, leave the people the same.
            rng = check_random_state((self.seed + int(self.digests[t][:8], 16)) % 2**32)
            asked = np.sort(rng.choice(refused, self.people, replace=False))
        if len(asked) == 0:
            nothing = (Offer(slack, 0, 0.0, None, None, None, {}) for slack in (None, *self.slacks))
            return Replayed(period.label, t, 0, 0, tuple(nothing))
        holding, judges = self.holding(t)
        offers, cheapest = [], None
        for slack, plan in holding.ladder(table.take(asked), self.slacks):
            cheapest = plan if cheapest is None else cheapest
            offers.append(self._offer(t, slack, plan, cheapest, judges))
        for old in [i for i in self.models if i < t]:
            del self.models[old]
        return Replayed(period.label, t, len(refused), len(asked), tuple(offers))

    def _offer(
        self, t: int, slack: float | None, plan: RecourseFrame, cheapest: RecourseFrame, judges: AbstractRetrained
    ) -> Offer:
        some = plan.found & cheapest.found
        n, anybody = int(some.sum()), max(int(cheapest.found.sum()), 1)
        later = [term for term in self.terms if t + term < len(self.periods)]
        if n == 0:
            return Offer(slack, 0, 0.0, None, None, None, dict.fromkeys(later, 0))
        people, target = plan.recourse.take(some), plan.target[some]
        cost = float(plan.cost[some].mean())
        kept = {}
        for term in later:
            # Asked in its own columns: another window has another encoder.
            judge = self.model(t + term)[1]
            decided = judge.classes[judge.decide(judge.encoder.schema.check(people))]
            kept[term] = int((decided == target).sum())
        price = cost / max(float(cheapest.cost[some].mean()), 1e-12)
        return Offer(slack, n, n / anybody, cost, price, float(judges.accepts(people, target).mean()), kept)

    def setup(self) -> JsonObject:
        """How it was measured, for whoever reads the result."""
        _, predictor = self.model(self.bases[-1])
        base = Holding(base=self._base(self.models[self.bases[-1]][0]))
        base.predictor_ = predictor
        return {
            "model": _name(self.recipe),
            "method": base.base_name,
            "window": self.window,
            "people": self.people,
            "guides": self.n_guides,
            "judges": self.n_judges,
            "vary": "anew and single periods",
            "past": self.past,
            "threshold": predictor.threshold,
            "seed": self.seed,
        }

    def key(self, t: int) -> str:
        """Digest of all that the results of a period follow from."""
        first = min(t + 1 - self.window, max(0, t + 1 - self.past))
        last = min(t + max(self.terms), len(self.periods) - 1)
        params = sorted((name, repr(value)) for name, value in self.recipe.get_params().items())
        settings = [
            _name(self.recipe), params, repr(self.method), self.schema.digest(), self.digests[first : last + 1],
            t - first, self.terms, self.window, self.slacks, self.people, self.n_guides, self.n_judges, self.past,
            self.threshold, self.favourable, self.seed,
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(settings, default=str).encode()).hexdigest()


def _terms(terms: Sequence[int]) -> tuple[int, ...]:
    out = tuple(sorted(set(terms)))
    if not out or any(isinstance(t, bool) or not isinstance(t, (int, np.integer)) or t < 1 for t in out):
        raise DataError(f"backtest: `terms` must be whole numbers of at least 1; got {terms!r}.")
    return tuple(int(t) for t in out)


def _not_cloned(recipe: object) -> CapabilityError:
    return CapabilityError(
        f"backtest: scikit-learn cannot clone a {type(recipe).__name__}, so it cannot be trained on past periods. "
        "Give an estimator with get_params and fit."
    )


def _name(recipe: Any) -> str:
    """An estimator's class; of a pipeline that of its last step."""
    last = recipe.steps[-1][1] if hasattr(recipe, "steps") else recipe
    return type(last).__name__


# ---- tables -----------------------------------------------------------------------------------------


def _read(periods: Periods, schema: Schema | None) -> list[Period]:
    """Periods with labels, the schema's columns, and the same categories in all."""
    out = []
    for label, X, y in _named(periods):
        where = f"backtest, period {label!r}"
        table = as_table(X, where=where)
        first = out[0].frame if out else None
        names = schema.names if schema is not None else table.names if first is None else list(first.columns)
        absent = [name for name in names if name not in table.columns]
        if absent:
            raise DataError(f"{where}: columns of the other periods are absent; got {absent[:5]!r}.")
        labels = np.asarray(y)
        if labels.shape != (table.n_rows,):
            raise DataError(f"{where}: has {table.n_rows} rows but {labels.size} labels.")
        if table.n_rows == 0:
            raise DataError(f"{where}: is empty; got 0 rows. Leave it out.")
        out.append(Period(label, _frame(table, names), labels))
    names = [p.label for p in out]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise DataError(f"backtest: two periods have the same label; got {twice[0]!r}.")
    frames = _same_categories([p.frame for p in out])
    return [Period(p.label, frame, p.y) for p, frame in zip(out, frames, strict=True)]


def _named(periods: Any) -> list[tuple[str, Any, Any]]:
    if isinstance(periods, Mapping):
        parts = [(k, *v) if isinstance(v, (tuple, list)) else v for k, v in periods.items()]
    elif isinstance(periods, Iterable) and not isinstance(periods, str):
        parts = list(periods)
    else:
        raise DataError(
            f"backtest: `periods` must be a list of (label, X, y) or (X, y), in order of time; got "
            f"{shown(periods)}. Give one table with labels for each period."
        )
    out = []
    for i, part in enumerate(parts, start=1):
        if not isinstance(part, (tuple, list)) or len(part) not in (2, 3):
            what = f"{len(part)} things" if isinstance(part, (tuple, list)) else type(part).__name__
            raise DataError(
                f"backtest: `periods` must be (label, X, y) or (X, y), in order of time; got {what} at place {i}. "
                "Give a table with its labels."
            )
        label, X, y = (i, *part) if len(part) == 2 else part
        out.append((str(label), X, y))
    return out


def _frame(table: Any, names: list[str]) -> NativeFrame:
    """What a model learns from: the user's own kind of dataframe, with the schema's columns alone."""
    if table.native is None:
        return pd.DataFrame({name: table.columns[name] for name in names})
    frame = nw.from_native(table.native, eager_only=True).select(names).to_native()
    return frame.reset_index(drop=True) if isinstance(frame, pd.DataFrame) else frame


def _same_categories(frames: list[Any]) -> list[Any]:
    """Categories of pandas that all periods share: a model reads their codes."""
    if not all(isinstance(frame, pd.DataFrame) for frame in frames):
        return frames
    for name in frames[0].columns:
        kinds = [frame[name].dtype for frame in frames]
        if any(isinstance(kind, pd.CategoricalDtype) for kind in kinds) and len(set(map(repr, kinds))) > 1:
            seen = pd.unique(np.concatenate([np.asarray(f[name].dropna().unique(), object) for f in frames]))
            kind = pd.CategoricalDtype(sorted(seen, key=lambda v: (str(type(v)), v)))
            frames = [frame.assign(**{name: frame[name].astype(kind)}) for frame in frames]
    return frames


def _joined(frames: Sequence[Any]) -> NativeFrame:
    if all(isinstance(frame, pd.DataFrame) for frame in frames):
        return pd.concat(frames, ignore_index=True)
    return nw.concat([nw.from_native(frame, eager_only=True) for frame in frames]).to_native()


# ---- files ------------------------------------------------------------------------------------------


def _place(keep: str | Path, task: _Task, t: int) -> Path:
    label = re.sub(r"[^\w.-]+", "_", task.periods[t].label)
    return Path(keep) / f"{label}-{task.key(t)[:16]}.json"


def _kept(keep: str | Path | None, task: _Task, t: int) -> Replayed | None:
    """What was kept of a period, where it was made from the same."""
    if keep is None or not _place(keep, task, t).exists():
        return None
    try:
        raw = json.loads(_place(keep, task, t).read_text(encoding="utf-8"))
        if raw["format"] != KEPT or raw["key"] != task.key(t):
            return None
        return Replayed.from_dict(raw["period"] | {"index": t, "period": task.periods[t].label})
    except (ValueError, KeyError, TypeError):  # not what was written: made again
        return None


def _keep(keep: str | Path | None, task: _Task, t: int, period: Replayed) -> Replayed:
    if keep is not None:
        try:
            Path(keep).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"backtest: `keep` is no folder; got {str(keep)!r} ({error}).") from error
        said = {"format": KEPT, "key": task.key(t), "period": period.to_dict()}
        write_result(_place(keep, task, t), said, "a period")
    return period
