"""Knapsack and integer programme against trying everything."""

import itertools

import numpy as np
import pytest

from holdfast.search._knapsack import choose, pareto


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
