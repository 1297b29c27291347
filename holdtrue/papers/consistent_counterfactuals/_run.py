"""One dataset: base models, retrainings, every method, and whether what it found survives."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdtrue.batch import distances
from holdtrue.classifier import RecourseClassifier
from holdtrue.datasets import load
from holdtrue.errors import DataError
from holdtrue.methods import SNS, AbstractMethod, ElasticNet, RecourseFrame, StableSearch
from holdtrue.models import MLP
from holdtrue.papers._relaxed import as_frame, relaxed
from holdtrue.papers._report import Clock
from holdtrue.papers.consistent_counterfactuals._settings import SETTINGS, Setting, front, methods
from holdtrue.retraining import Retrained, retrain
from holdtrue.schema import Table
from holdtrue.training import StandardTraining

N_GUIDES = 20
QUICK = {"n_models": 10, "n_people": 50, "n_bases": 1, "n_guides": 8}
QUICK_CODER = (64, 32, 8)


@dataclass(frozen=True)
class Case:
    """One base model and the people it is asked about."""

    clf: RecourseClassifier
    X: Any
    y: np.ndarray
    rows: np.ndarray
    target: np.ndarray
    favourable: np.ndarray


def run(
    name: str,
    *,
    n_models: int = 100,
    n_people: int | None = None,
    n_bases: int = 3,
    quick: bool = False,
    parts: Collection[str] = (),
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Run one dataset and return its figures as plain numbers.

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
    cases = [_case(setting, seed, n_people) for seed in range(n_bases)]
    first = cases[0]
    clock(f"{n_models} models of new seeds")
    unseen = retrain(first.clf, n_models, random_state=1)
    clock(f"{n_guides} guides")
    guides = retrain(first.clf, n_guides, random_state=2)
    clock(f"{n_models} leave-one-out models, same order of rows")
    same = retrain(first.clf, n_models, vary="leave_one_out", random_state=3)
    clock(f"{n_models} leave-one-out models, new order of rows")
    new = retrain(first.clf, n_models, vary="leave_one_out", new_order=True, random_state=4)
    groups = {"iv_rs": unseen, "iv_loo": same, "iv_loo_new_order": new}
    bases = []
    for number, case in enumerate(cases):
        against = groups if number == 0 else {"iv_rs": unseen}
        asked = {} if quick else front(setting)
        bases.append(_base(case, setting, asked, guides, against, clock))
    clock.stop()
    return {
        "dataset": name,
        "title": setting.title,
        "n_models": n_models,
        "n_people": len(first.target),
        "n_columns": int(first.rows.shape[1]),
        "accuracy": [float((c.clf.predict(c.X) == c.y).mean()) for c in cases],
        "bases": bases,
        "seconds": clock.seconds,
    }


def _case(setting: Setting, seed: int, n_people: int | None) -> Case:
    data = load(setting.dataset, **setting.options)
    order = np.random.default_rng(0).permutation(len(data.X))  # one split for all base models
    train, test = order[: setting.n_train], order[setting.n_train : setting.n_train + setting.n_test]
    regime = StandardTraining(n_epochs=setting.n_epochs, batch_size=setting.batch_size)
    clf = RecourseClassifier(
        schema=data.schema,
        model=MLP(widths=setting.widths),
        regime=regime,
        scaling=setting.scaling,
        favourable=data.favourable,
        random_state=seed,
    )
    y = np.asarray(data.y)
    clf.fit(data.X.iloc[train], y[train])
    X = data.X.iloc[test[:n_people]]
    decided = clf.predictor_.decide(clf.predictor_.encoder.schema.check(X))
    return Case(
        clf=clf,
        X=X,
        y=y[test[:n_people]],
        rows=clf.predictor_.encoder.encode(X).astype(np.float32),
        target=_targets(clf, X, decided),
        favourable=decided != clf.predictor_.decision.favourable,
    )


def _targets(clf: RecourseClassifier, X: Any, decided: np.ndarray) -> np.ndarray:
    """The favourable class for who does not have it; for the others the likeliest class beside it."""
    favourable = clf.predictor_.decision.favourable
    others = clf.predict_proba(X)
    others[:, favourable] = -1
    return np.where(decided == favourable, others.argmax(axis=1), favourable)


def _base(
    case: Case,
    setting: Setting,
    further: dict[str, AbstractMethod],
    guides: Retrained,
    groups: dict[str, Retrained],
    clock: Clock,
) -> dict[str, Any]:
    """Every method for one base model: relaxed as the paper, hardened, and searched within the schema."""
    predictor = case.clf.predictor_
    assert case.clf.training_ is not None  # fitted here
    encoded = np.asarray(case.clf.training_.data.x)
    view = relaxed(predictor, encoded)
    seen = {name: replace(models, predictor=view) for name, models in groups.items()}
    people, learned = as_frame(case.rows), as_frame(encoded)
    wanted = predictor.classes[case.target]
    found, points, survivals = {}, {}, {}
    for name, method in {**methods(setting), **further}.items():
        clock(name if name not in further else "other radii and aims")
        plan = _fitted(method, view, learned, replace(guides, predictor=view)).recourse(people, target=wanted)
        points[name] = (plan.found & plan.valid, np.stack(list(plan.recourse.columns.values()), axis=1))
    clock("asking the retrained models")
    common = np.all([points[name][0] for name in methods(setting)], axis=0)
    for name, (ok, x) in points.items():
        survivals[name] = {key: _survived(models, x, case) for key, models in seen.items()}
        found[name] = _figures(case, ok, x, survivals[name]) | {
            "common": _figures(case, common, x, survivals[name]),
            "favourable": _figures(case, ok & case.favourable, x, survivals[name], among=case.favourable),
            "hardened": _hardened(case, ok, x, groups),
        }
    clock("within the schema")
    return {
        "relaxed": found,
        "n_common": int(common.sum()),
        "r2": _r2({name: points[name] for name in methods(setting)}, survivals, case),
        "shelf_life": _shelf_life(points, survivals),
        "within_schema": _within(case, setting, guides, groups),
    }


def _fitted(method: AbstractMethod, model: Any, X: Any, guides: Retrained) -> AbstractMethod:
    if isinstance(method, StableSearch):
        return method.fit(model, X, guides=guides)
    return method.fit(model, X)


def _survived(models: Retrained, x: np.ndarray, case: Case) -> np.ndarray:
    """Boolean (models, people): decided as wanted; with more than two classes, on the same side of favourable."""
    favourable = models.predictor.decision.favourable
    return (models.decide(as_frame(x)) == favourable) == (case.target == favourable)[None]


def _figures(
    case: Case, ok: np.ndarray, x: np.ndarray, survived: dict[str, np.ndarray], among: np.ndarray | None = None
) -> dict[str, Any]:
    asked = len(ok) if among is None else int(among.sum())
    change = x[ok] - case.rows[ok]
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


def _hardened(case: Case, ok: np.ndarray, x: np.ndarray, groups: dict[str, Retrained]) -> dict[str, Any]:
    """One category each, whole numbers whole: does the point survive that, and then retraining?"""
    predictor = case.clf.predictor_
    encoder = predictor.encoder
    table = Table(encoder.decode(x[ok]), int(ok.sum()))
    again = encoder.encode(table)
    favourable = predictor.decision.favourable
    side = case.target[ok] == favourable
    valid = (predictor.decide(table) == favourable) == side
    unseen = (groups["iv_rs"].decide(table) == favourable) == side[None]
    cost = distances(encoder, case.rows[ok], again, "l2")
    return {
        "valid": _mean(valid),
        "l2": _mean(cost[valid]),
        "iv_rs": _mean(1 - unseen[:, valid].mean(axis=1)) if valid.any() else None,
        "accepted_by_unseen": _mean(unseen.ravel()),
    }


def _within(case: Case, setting: Setting, guides: Retrained, groups: dict[str, Retrained]) -> dict[str, Any]:
    """The searches themselves in hardened points, towards the favourable decision only."""
    rows = np.flatnonzero(case.favourable)
    if len(rows) == 0:
        return {}
    assert case.clf.training_ is not None  # fitted here
    X, encoded = case.X.iloc[rows], case.clf.predictor_.encoder.decode(np.asarray(case.clf.training_.data.x))
    base = ElasticNet(norm="l2")
    sns = SNS(base=base, radius=setting.sns_radius)
    asked = {
        "Min l2": base,
        "Min l2 + SNS": sns,
        "Stable, cost of SNS": StableSearch(base=sns, keep_cost=True, n_steps=200),
        "Stable": StableSearch(base=base),
        "Stable, aim 0.9": StableSearch(base=base, aim=0.9),
    }
    learned = Table(encoded, len(case.clf.training_.data.x))
    out = {}
    for name, method in asked.items():
        plan = _fitted(method, case.clf.predictor_, learned, guides).recourse(X)
        out[name] = _plan_figures(plan, groups)
    return out


def _plan_figures(plan: RecourseFrame, groups: dict[str, Retrained]) -> dict[str, Any]:
    ok = plan.found
    yes = groups["iv_rs"].accepts(plan.recourse, plan.target)[:, ok]
    cost = plan.cost[ok]
    return {
        "success": _mean(ok),
        "l2": _mean(cost),
        "iv_rs": _mean(1 - yes.mean(axis=1)) if ok.any() else None,
    }


def _r2(points: dict[str, Any], survivals: dict[str, Any], case: Case) -> dict[str, float | None]:
    """Squared correlation of a person's cost with their invalidation rate: within each method, and pooled."""
    cost, rate = {}, {}
    for name, (ok, x) in points.items():
        cost[name] = np.linalg.norm(x[ok] - case.rows[ok], axis=1)
        rate[name] = 1 - survivals[name]["iv_rs"][:, ok].mean(axis=0)
    out = {name: _squared_correlation(cost[name], rate[name]) for name in points}
    everyone = [np.concatenate(list(part.values())) for part in (cost, rate)]
    return out | {"all": _squared_correlation(*everyone)}


def _squared_correlation(a: np.ndarray, b: np.ndarray) -> float | None:
    if len(a) < 3 or a.std() == 0 or b.std() == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1] ** 2)


def _shelf_life(points: dict[str, Any], survivals: dict[str, Any]) -> dict[str, Any]:
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
    return {
        "mean_absolute_error": _mean(np.abs(told - held)),
        "bias": _mean(told - held),
        "held_where_all_accept": _mean(held[sure]),
        "bins": [
            {
                "from": float(edges[i]), "to": float(min(edges[i + 1], 1)), "n": int((which == i).sum()),
                "told": _mean(told[which == i]), "held": _mean(held[which == i]),
            }
            for i in range(len(edges) - 1)
        ],
    }  # fmt: skip
