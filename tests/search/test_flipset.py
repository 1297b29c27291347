"""Knapsack and integer programme against trying everything."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from holdtrue.encoding import Encoder
from holdtrue.schema import Feature, Schema
from holdtrue.search import Menu, Percentiles, options, ranks, support
from holdtrue.search._knapsack import choose, pareto
from holdtrue.search._menu import Choice, Range


@pytest.mark.parametrize("seed", range(30))
def test_knapsack_equals_trying_everything(seed):
    rng = np.random.default_rng(seed)
    options = []
    for size in rng.integers(1, 7, 4):
        cost, gain = np.r_[0.0, rng.random(size)], np.r_[0.0, rng.normal(0.3, 0.5, size)]
        options.append((cost, gain))
    slopes, room = rng.random(seed % 3) + 0.5, rng.random(seed % 3)
    need = 0.8 * (sum(max(g) for _, g in options) + room.sum())
    need *= 1.5 if seed % 10 == 9 else 1.0  # out of reach

    def smooth_cost(left):
        total = 0.0
        for j in np.argsort(slopes):
            take = min(max(left, 0.0), room[j])
            total, left = total + slopes[j] * take, left - take
        return total if left <= 1e-9 else np.inf

    best = np.inf
    for pick in itertools.product(*(range(len(c)) for c, _ in options)):
        cost = sum(options[i][0][k] for i, k in enumerate(pick))
        gain = sum(options[i][1][k] for i, k in enumerate(pick))
        best = min(best, cost + smooth_cost(need - gain))
    answer = choose(options, slopes, room, need)
    if answer is None:
        assert np.isinf(best)
        return
    taken, smooth = answer
    cost = sum(options[i][0][k] for i, k in enumerate(taken)) + slopes @ smooth
    gain = sum(options[i][1][k] for i, k in enumerate(taken)) + smooth.sum()
    assert gain >= need - 1e-8
    assert cost == pytest.approx(best, abs=1e-9)


def test_pareto_keeps_what_nothing_beats():
    cost, gain = np.array([0.0, 1.0, 1.0, 2.0, 3.0]), np.array([0.0, 2.0, 1.0, 2.0, 5.0])
    assert pareto(cost, gain).tolist() == [0, 1, 4]


def test_a_long_grid_is_looked_up():
    """18,000 steps of one feature and a coarse second one: still exact, and quick."""
    fine = (np.arange(18_001) * 1e-4, np.arange(18_001) * 3e-4)
    coarse = (np.array([0.0, 0.9]), np.array([0.0, 3.0]))
    taken, _ = choose([fine, coarse], np.zeros(0), np.zeros(0), 3.00031)
    assert taken.tolist() == [2, 1]


# ---- percentiles, and several options ------------------------------------------------------------------


def test_a_percentile_counts_half_of_those_who_have_the_value():
    rows = np.array([[0.0, 0], [0.1, 0], [0.1, 1], [0.1, 1], [0.5, 1], [0.9, 1]], np.float32)
    table = Percentiles(rows, np.ones(2), "percentile")
    found = table.height(0, np.array([-1.0, 0.0, 0.1, 0.3, 0.5, 0.9, 2.0]))
    np.testing.assert_allclose(found, np.array([0.5, 0.5, 2.5, 4, 4.5, 5.5, 5.5]) / 6)
    share = 4 / 6  # of ones: from 0 to 1 is half of everybody, and a rare value costs more logarithms
    assert table.costs(1, np.array([[1.0]]), np.zeros(1))[0] == pytest.approx(0.5)
    logs = Percentiles(rows, np.ones(2), "log_percentile")
    assert logs.costs(1, np.array([[1.0]]), np.zeros(1))[0] == pytest.approx(np.log((1 + share) / share))


def test_many_rows_are_kept_as_a_thousand():
    rows = np.random.default_rng(0).normal(size=(20_000, 1))
    few = ranks(rows)
    assert few.shape == (1000, 1)
    q = Percentiles(few, np.ones(1), "percentile").height(0, np.array([-1.0, 0.0, 1.5]))
    np.testing.assert_allclose(q, [(rows < v).mean() for v in (-1.0, 0.0, 1.5)], atol=1e-3)


# A layout without implications.
NO_CLAUSES = Encoder.fit(Schema([Feature(name="x", kind="numeric", bounds=(0, 1))]), {"x": [0.0, 1.0]}).layout


def plain_menu(features, x, norm="l1", largest=False):
    d = len(x)
    nothing = np.zeros((0, d)), np.zeros(0), np.zeros(0, bool)
    return Menu(np.asarray(x, np.float32), features, *nothing, NO_CLAUSES, np.ones(d), np.zeros(d), norm, largest)


def by_supports(features, x, w, need, norm, largest):
    """Least cost of each combination of features, over every point of the grids."""
    best = {}
    values = []
    for f in features:
        if isinstance(f, Choice):
            values.append(list(zip(f.values[:, 0], f.cost, strict=True)))
        else:
            grid = [f.own, *[v for v in f.lower + f.step * np.arange(f.count + 1) if abs(v - f.own) > 1e-6]]
            fixed = [f.weight * (v != f.own) if norm == "l0" else 0.0 for v in grid]
            unit = f.weight * (1e-4 if norm == "l0" else 1.0)
            values.append([(v, c + unit * abs(v - f.own)) for v, c in zip(grid, fixed, strict=True)])
    for pick in itertools.product(*(range(len(v)) for v in values)):
        point = np.array([values[i][k][0] for i, k in enumerate(pick)])
        if w @ point >= need - 1e-9:
            costs = [values[i][k][1] for i, k in enumerate(pick)]
            key = frozenset(i for i, k in enumerate(pick) if k)
            cost = max(costs) if largest else sum(costs)
            best[key] = min(best.get(key, np.inf), cost)
    return dict(sorted(best.items(), key=lambda item: item[1]))


@pytest.mark.parametrize("kind", ["l1", "l0", "largest"])
@pytest.mark.parametrize("seed", range(6))
def test_options_come_in_order_and_each_changes_other_features(seed, kind):
    rng = np.random.default_rng(seed)
    x = rng.random(4).round(1)
    norm, largest = ("l0", False) if kind == "l0" else ("l1", kind == "largest")
    features = []
    for c in range(4):
        if c % 2 and not largest:
            own = x[c] + (0.05 if seed % 2 else 0.0)  # also somebody who is off the grid
            x[c] = own
            features.append(Range(c, own, 0.0, 1.0, 0.1, 10, float(rng.random() + 0.5)))
        else:
            values = np.r_[x[c], rng.random(4)][:, None]
            weight = rng.random() + 0.5
            cost = weight * np.abs(values[:, 0] - x[c])
            cost = (weight * (np.arange(5) > 0) + 1e-4 * cost) if norm == "l0" else cost
            features.append(Choice(c, values.astype(np.float32), cost))
    person = plain_menu(features, x, norm, largest)
    x = person.x.astype(float)
    features = [replace(f, own=float(x[f.start])) if isinstance(f, Range) else f for f in features]
    person = replace(person, features=features)
    w = rng.normal(size=4)
    top = sum(
        max(w[f.start] * (f.values[:, 0] if isinstance(f, Choice) else np.array([f.own, f.lower, f.upper])))
        for f in features
    )
    need = 0.5 * top + 0.5 * w @ x
    expected = by_supports(features, x, w, need, norm, largest)
    found = list(options(person, w[None], np.array([need]), 20))
    assert len(found) == len(expected) <= 16  # all there are, and then a proof that there are no more
    assert len({support(person, point) for point in found}) == len(found)
    for point, cost in zip(found, expected.values(), strict=True):
        assert w @ point >= need - 1e-5
        assert expected[support(person, point)] == pytest.approx(cost, abs=1e-5)
