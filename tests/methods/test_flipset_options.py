"""Flipset's percentile costs and its further options, against trying every action."""

import itertools

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.encoding import broken_limits
from holdtrue.errors import DataError
from holdtrue.methods import Flipset
from holdtrue.schema import as_table
from holdtrue.search import Status
from holdtrue.testing import _world as small_world

from .test_flipset import FEATURES, LEVELS, LIMITS, RULES, people, predictor_of

GRID = {"a": range(7), "b": np.arange(7) / 2, "o": ("low", "mid", "high"), "c": LEVELS}


def percentile(values: np.ndarray, at: float) -> float:
    n = len(values)
    return float(np.clip(((values < at).sum() + (values <= at).sum()) / (2 * n), 0.5 / n, 1 - 0.5 / n))


def height(training: pd.DataFrame, feature: str, cost: str, value: object) -> list[float]:
    """A column per number, a column per level of a category: what differences are taken of."""
    if feature == "c":
        columns = [((training["c"] == level).to_numpy(float), float(value == level)) for level in LEVELS]
    elif feature == "o":
        order = ["low", "mid", "high"]
        columns = [(training["o"].map(order.index).to_numpy(float), float(order.index(value)))]  # type: ignore[arg-type]
    else:
        columns = [(training[feature].to_numpy(float), float(value))]  # type: ignore[arg-type]
    q = [percentile(values, at) for values, at in columns]
    return [-np.log(1 - v) for v in q] if cost == "log_percentile" else q


def by_hand(predictor, training, row, cost):
    """Least cost of every combination of features that some action changes, by rising cost."""
    own = {name: row[name].iloc[0] for name in GRID}
    values = [[own[k], *[v for v in choices if v != own[k]]] for k, choices in GRID.items()]
    actions = pd.DataFrame(list(itertools.product(*values)), columns=list(GRID))
    before = as_table(pd.concat([row] * len(actions), ignore_index=True))
    after = as_table(actions.astype(row.dtypes.to_dict()))
    kept = np.array([not b for b in broken_limits(predictor.encoder, before, after)])
    x = predictor.encoder.encode(after)
    model = predictor.decision.model
    logits = x @ np.asarray(model.weight, float).T + np.asarray(model.bias, float)
    kept &= logits[:, 1] - logits[:, 0] >= 1.5e-4
    moved = {}
    for name, choices in zip(GRID, values, strict=True):
        weight = {"a": 2.0, "c": 0.5}.get(name, 1.0)
        start = np.array(height(training, name, cost, own[name]))
        moved[name] = {v: weight * np.abs(height(training, name, cost, v) - start).sum() for v in choices}
        if cost == "l1":
            encoded = predictor.encoder.layout.slot(name)
            part = slice(encoded.start, encoded.stop)
            weight = {"a": 2.0}.get(name, 1.0)
            rows = {v: int(np.flatnonzero((actions[name] == v).to_numpy())[0]) for v in choices}
            moved[name] = {v: weight * np.abs(x[r, part] - x[0, part]).sum() for v, r in rows.items()}
    best: dict[frozenset[str], float] = {}
    for action in actions[kept].itertuples(index=False):
        costs = [moved[name][value] for name, value in zip(GRID, action, strict=True)]
        changed = frozenset(name for name, value in zip(GRID, action, strict=True) if value != own[name])
        total = max(costs) if cost == "max_percentile" else sum(costs)
        best[changed] = min(best.get(changed, np.inf), total)
    return dict(sorted(best.items(), key=lambda item: item[1]))


@pytest.mark.parametrize("cost", ["l1", "percentile", "log_percentile", "max_percentile"])
@pytest.mark.parametrize("bound", [False, True], ids=["separable", "constrained"])
def test_options_equal_trying_everything(cost, bound):
    rng = np.random.default_rng(3)
    schema = ht.Schema(FEATURES, LIMITS if bound else [], RULES if bound else [])
    table = people(12, rng)
    training = people(50, np.random.default_rng(7))
    predictor = predictor_of(schema, table, rng)
    method = Flipset(cost="norm" if cost == "l1" else cost).fit(predictor, training)
    plan = method.options(table, 4)
    assert method._barred is None
    first = method.recourse(table)
    costs, changed = method.action_costs(plan), plan.changed()
    several = 0
    for i in range(len(table)):
        rows = np.flatnonzero(plan.person == i)
        assert plan.status[rows[0]] == first.status[i]
        if first.status[i] == int(Status.ALREADY_FAVOURABLE):
            assert len(rows) == 1
            continue
        best = by_hand(predictor, training, table.iloc[[i]], cost)
        if not best:
            assert (plan.status[rows] == int(Status.INFEASIBLE)).all()
            assert len(rows) == 1
            continue
        assert (plan.status[rows] == int(Status.OPTIMAL)).all()
        assert len(rows) == min(4, len(best))
        several += len(rows) > 1
        combinations = [frozenset(np.array(schema.names)[row].tolist()) for row in changed[rows]]
        assert len(set(combinations)) == len(rows)
        np.testing.assert_allclose(costs[rows], list(best.values())[: len(rows)], atol=1e-4)
        np.testing.assert_allclose(costs[rows], [best[c] for c in combinations], atol=1e-4)
    assert several >= 3


def test_percentiles_are_not_all_that_a_person_can_do():
    """A fine grid is thinned, but who is out of reach is so for every point of it."""
    clf = small_world.classifier("linear")
    X = small_world.refused(clf.predictor_, 12)
    rows = small_world.people()[0]
    plain = Flipset().fit(clf).recourse(X)
    for cost in ("percentile", "log_percentile", "max_percentile"):
        method = Flipset(cost=cost).fit(clf, rows)
        plan = method.recourse(X)
        assert (plan.found == plain.found).all()
        assert ((plan.status == int(Status.INFEASIBLE)) == (plain.status == int(Status.INFEASIBLE))).all()
        both = plan.status == int(Status.OPTIMAL)
        # Least by its own measure, up to the grid that is thinned.
        assert (method.action_costs(plan)[both] <= method.action_costs(plain)[both] + 0.02).all()


def test_options_of_a_network_are_checked_by_the_network():
    clf = small_world.classifier()
    X = small_world.refused(clf.predictor_, 6)
    plan = Flipset().fit(clf).options(X, 3)
    assert plan.valid[plan.found].all()
    assert len(plan) > len(X)
    for i in range(len(X)):
        rows = plan.changed()[(plan.person == i) & plan.found]
        assert len(np.unique(rows, axis=0)) == len(rows)
    assert "holdtrue_person" in plan.to_frame().columns


def test_restrictions_hold_in_every_option():
    clf = small_world.classifier("linear")
    X = small_world.refused(clf.predictor_, 4)
    name = next(f.name for f in clf.predictor_.encoder.schema if Flipset().fit(clf).recourse(X).changed()[1][
        clf.predictor_.encoder.schema.names.index(f.name)])  # fmt: skip
    plan = Flipset().fit(clf).options(X, 3, restrictions={1: {name: "fixed"}})
    at = clf.predictor_.encoder.schema.names.index(name)
    assert not plan.changed()[plan.person == 1, at].any()
    assert plan.changed()[:, at].any()


def test_what_is_refused():
    clf = small_world.classifier("linear")
    with pytest.raises(DataError, match="`cost` must be"):
        Flipset(cost="euro").fit(clf)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="needs training rows"):
        Flipset(cost="percentile").fit(clf)
    with pytest.raises(DataError, match="at least 1"):
        Flipset().fit(clf).options(small_world.people()[0], 0)
