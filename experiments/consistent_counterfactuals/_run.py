"""One dataset: base models, retrainings, every method, and whether what it found survives."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np

from experiments._encoded import EncodedSpace
from experiments._report import Clock
from experiments._task import Rows, Task
from experiments.consistent_counterfactuals._result import (
    Bin,
    Figures,
    Hardened,
    OfBase,
    OfMethod,
    Result,
    ShelfLife,
    WithinSchema,
)
from experiments.consistent_counterfactuals._settings import SETTINGS, RetrainedDataset, front, methods
from holdtrue.batch import Predictor, distances
from holdtrue.classifier import RecourseClassifier
from holdtrue.datasets import load
from holdtrue.errors import DataError
from holdtrue.methods import SNS, AbstractMethod, ElasticNet, RecourseFrame, StableSearch
from holdtrue.models import MLP
from holdtrue.retraining import Retrained
from holdtrue.schema import LAST, Table
from holdtrue.training import StandardTraining

N_GUIDES = 20
QUICK = {"n_models": 10, "n_people": 50, "n_bases": 1, "n_guides": 8}
QUICK_CODER = (64, 32, 8)


def run(
    name: str,
    *,
    n_models: int = 100,
    n_people: int | None = None,
    n_bases: int = 3,
    quick: bool = False,
    parts: Collection[str] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Result:
    """Run one dataset and return its figures.

    Parameters
    ----------
    name : str
        One of `SETTINGS`.
    n_models : int, default=100
        Retrained models of each kind.
    n_people : int, optional
        The first so many test rows; all when omitted.
    n_bases : int, default=3
        Base models of other seeds. The models of new seeds, seen by no search, and the guides serve all of them;
        leave-one-out models belong to one base, and the first has them.
    quick : bool, default=False
        Ten models, fifty people, one base, eight guides, a small autoencoder, no fronts.
    parts : collection of str, optional
        Unused: all tables come from the same runs.
    say : callable, optional
        Told what is being done.
    """
    if name not in SETTINGS:
        raise DataError(f"papers: unknown dataset; got {name!r}. Known are {list(SETTINGS)!r}.")
    setting, clock, n_guides = SETTINGS[name], Clock(say), N_GUIDES
    if quick:
        n_models, n_people, n_bases, n_guides = QUICK.values()
        setting = replace(setting, coder=QUICK_CODER)
    clock("base models")
    bases = [base_model(setting, seed, n_people) for seed in range(n_bases)]
    first, task = bases[0]
    clock(f"{n_models} models of new seeds")
    unseen = first.retrain(n_models, random_state=1)
    clock(f"{n_guides} guides")
    guides = first.retrain(n_guides, random_state=2)
    clock(f"{n_models} leave-one-out models, same order of rows")
    same = first.retrain(n_models, vary="leave_one_out", random_state=3)
    clock(f"{n_models} leave-one-out models, new order of rows")
    new = first.retrain(n_models, vary="leave_one_out", new_order=True, random_state=4)
    groups = {"iv_rs": unseen, "iv_loo": same, "iv_loo_new_order": new}
    measured = []
    for clf, own in bases:
        against = groups if clf is first else {"iv_rs": unseen}
        asked = {} if quick else front(setting)
        measured.append(_measured(clf, own, asked, guides, against, clock))
    clock.stop()
    return Result(
        dataset=name,
        title=setting.title,
        n_models=n_models,
        n_people=len(task.asked.y),
        n_columns=task.encoder.n_columns,
        accuracy=[
            float((clf.predictor_.decide_of(clf.predictor_.logits_of(own.asked.x)) == own.asked.y).mean())
            for clf, own in bases
        ],
        bases=measured,
        seconds=clock.seconds,
    )


def base_model(
    setting: RetrainedDataset, seed: int, n_people: int | None, split: int = 0
) -> tuple[RecourseClassifier, Task[RetrainedDataset]]:
    """A base model, and the task that it learned from; all have one split, unless another is asked for."""
    data = load(setting.dataset, **setting.options)
    order = np.random.default_rng(split).permutation(len(data.X))
    train, test = order[: setting.n_train], order[setting.n_train : setting.n_train + setting.n_test]
    regime = StandardTraining(n_epochs=setting.n_epochs, batch_size=setting.batch_size)
    clf = RecourseClassifier(
        schema=data.schema,
        model=MLP(widths=setting.widths),
        regime=regime,
        scaling=setting.scaling,
        favourable=LAST if data.favourable is None else data.favourable,
        random_state=seed,
    )
    y = np.asarray(data.y)
    clf.fit(data.X.iloc[train], y[train])
    X = data.X.iloc[test[:n_people]]
    encoder = clf.predictor_.encoder
    asked = Rows(encoder.encode(X).astype(np.float32), np.searchsorted(clf.classes_, y[test[:n_people]]))
    assert clf.training_ is not None  # fitted here
    learned = Rows(np.asarray(clf.training_.data.x), np.asarray(clf.training_.data.y))
    return clf, Task(setting, encoder, learned, asked, asked, X, seed=seed)


def targets(predictor: Predictor, x: np.ndarray) -> np.ndarray:
    """The favourable class for who does not have it; for the others the likeliest class beside it."""
    favourable = predictor.decision.favourable
    logits = predictor.logits_of(x)
    decided = predictor.decide_of(logits)
    others = np.array(logits)
    others[:, favourable] = -np.inf
    return np.where(decided == favourable, others.argmax(axis=1), favourable)


def _measured(
    clf: RecourseClassifier,
    task: Task[RetrainedDataset],
    further: dict[str, AbstractMethod],
    guides: Retrained,
    groups: dict[str, Retrained],
    clock: Clock,
) -> OfBase:
    """Every method for one base model: relaxed as the paper, hardened, and searched within the schema."""
    predictor, learned, people = clf.predictor_, task.learned.x, task.asked.x
    # Each column free within the range of all training values (B.3's clamp).
    space = EncodedSpace.of(predictor, float(learned.min()), float(learned.max()))
    wanted = targets(predictor, people)
    favourable = wanted == predictor.decision.favourable
    first = methods(task.setting)
    found, points, survivals = {}, {}, {}
    for name, method in {**first, **further}.items():
        clock(name if name not in further else "other radii and aims")
        own = space.recourse(space.fitted(method, learned, guides), people, wanted)
        points[name] = (own.found & own.valid, own.x)
    clock("asking the retrained models")
    common = np.all([points[name][0] for name in first], axis=0)
    for name, (ok, x) in points.items():
        # With more than two classes, on the same side of favourable.
        yes = {
            key: (space.decided(models, x) == predictor.decision.favourable) == favourable[None]
            for key, models in groups.items()
        }
        survivals[name] = yes
        found[name] = OfMethod(
            **figures_of(people, ok, x, yes),
            common=Figures(**figures_of(people, common, x, yes)),
            favourable=Figures(**figures_of(people, ok & favourable, x, yes, among=favourable)),
            hardened=_hardened(predictor, people[ok], x[ok], favourable[ok], groups["iv_rs"]),
        )
    clock("within the schema")
    return OfBase(
        relaxed=found,
        n_common=int(common.sum()),
        r2=_r2({name: points[name] for name in first}, survivals, people),
        shelf_life=_shelf_life(points, survivals),
        within_schema=_within(clf, task, np.flatnonzero(favourable), guides, groups["iv_rs"]),
    )


def _fitted(method: AbstractMethod, model: Any, X: Any, guides: Retrained) -> AbstractMethod:
    if isinstance(method, StableSearch):
        return method.fit(model, X, guides=guides)
    return method.fit(model, X)


def figures_of(
    people: np.ndarray,
    ok: np.ndarray,
    x: np.ndarray,
    survived: dict[str, np.ndarray],
    among: np.ndarray | None = None,
) -> dict[str, Any]:
    """Success, cost and invalidation of some people's points."""
    asked = len(ok) if among is None else int(among.sum())
    change = x[ok] - people[ok]
    l1, l2 = np.abs(change).sum(axis=1), np.linalg.norm(change, axis=1)
    out: dict[str, Any] = {"n": int(ok.sum()), "success": float(ok.sum() / max(asked, 1))}
    for name, cost in (("l1", l1), ("l2", l2)):
        out[name], out[f"{name}_std"] = _mean(cost), float(cost.std()) if len(cost) else None
    for name, yes in survived.items():
        rates = 1 - yes[:, ok].mean(axis=1) if ok.any() else np.array([])
        out[name], out[f"{name}_std"] = _mean(rates), float(rates.std()) if len(rates) else None
    return out


def _mean(values: np.ndarray) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _hardened(
    predictor: Predictor, people: np.ndarray, x: np.ndarray, side: np.ndarray, models: Retrained
) -> Hardened:
    """One category each, whole numbers whole: does the point survive that, and then retraining?"""
    encoder, favourable = predictor.encoder, predictor.decision.favourable
    table = Table(encoder.decode(x), len(x))
    again = encoder.encode(table)
    valid = (predictor.decide(table) == favourable) == side
    unseen = (models.decide(table) == favourable) == side[None]
    cost = distances(encoder, people, again, "l2")
    return Hardened(
        valid=_mean(valid),
        l2=_mean(cost[valid]),
        iv_rs=_mean(1 - unseen[:, valid].mean(axis=1)) if valid.any() else None,
        accepted_by_unseen=_mean(unseen.ravel()),
    )


def _within(
    clf: RecourseClassifier, task: Task[RetrainedDataset], rows: np.ndarray, guides: Retrained, models: Retrained
) -> dict[str, WithinSchema]:
    """The searches themselves in hardened points, towards the favourable decision only."""
    if len(rows) == 0:
        return {}
    base = ElasticNet(norm="l2")
    sns = SNS(base=base, radius=task.setting.sns_radius)
    asked = {
        "Min l2": base,
        "Min l2 + SNS": sns,
        "Stable, cost of SNS": StableSearch(base=sns, keep_cost=True, n_steps=200),
        "Stable": StableSearch(base=base),
        "Stable, aim 0.9": StableSearch(base=base, aim=0.9),
    }
    learned = Table(task.encoder.decode(task.learned.x), len(task.learned.x))
    out = {}
    for name, method in asked.items():
        plan = _fitted(method, clf.predictor_, learned, guides).recourse(task.X.iloc[rows])
        out[name] = _plan_figures(plan, models)
    return out


def _plan_figures(plan: RecourseFrame, models: Retrained) -> WithinSchema:
    ok = plan.found
    yes = models.accepts(plan.recourse, plan.target)[:, ok]
    cost = plan.cost[ok]
    return WithinSchema(
        success=_mean(ok),
        l2=_mean(cost),
        iv_rs=_mean(1 - yes.mean(axis=1)) if ok.any() else None,
    )


def _r2(points: dict[str, Any], survivals: dict[str, Any], people: np.ndarray) -> dict[str, float | None]:
    """Squared correlation of a person's cost with their invalidation rate: within each method, and pooled."""
    cost, rate = {}, {}
    for name, (ok, x) in points.items():
        cost[name] = np.linalg.norm(x[ok] - people[ok], axis=1)
        rate[name] = 1 - survivals[name]["iv_rs"][:, ok].mean(axis=0)
    out = {name: squared_correlation(cost[name], rate[name]) for name in points}
    everyone = [np.concatenate(list(part.values())) for part in (cost, rate)]
    return out | {"all": squared_correlation(*everyone)}


def squared_correlation(a: np.ndarray, b: np.ndarray) -> float | None:
    """R2 of one number in another; None where either does not vary."""
    if len(a) < 3 or a.std() == 0 or b.std() == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1] ** 2)


def _shelf_life(points: dict[str, Any], survivals: dict[str, Any]) -> ShelfLife:
    """Whether a fifth of the unseen models says what the rest will do, over all methods' points."""
    told, held = [], []
    for name, (ok, _) in points.items():
        yes = survivals[name]["iv_rs"][:, ok]
        gauge = max(1, len(yes) // 5)
        told.append(yes[:gauge].mean(axis=0))
        held.append(yes[gauge:].mean(axis=0))
    told, held = np.concatenate(told), np.concatenate(held)
    sure = told == 1
    edges = np.array([0, 0.25, 0.5, 0.75, 0.9, 1, 1.01])
    which = np.digitize(told, edges) - 1
    return ShelfLife(
        mean_absolute_error=_mean(np.abs(told - held)),
        bias=_mean(told - held),
        held_where_all_accept=_mean(held[sure]),
        bins=[
            Bin(
                low=float(edges[i]), high=float(min(edges[i + 1], 1)), n=int((which == i).sum()),
                told=_mean(told[which == i]), held=_mean(held[which == i]),
            )
            for i in range(len(edges) - 1)
        ],
    )  # fmt: skip
