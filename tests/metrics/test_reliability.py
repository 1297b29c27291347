"""Reliability of a stated survival, by hand, against closed forms and by simulation."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from holdtrue import metrics
from holdtrue.errors import DataError


def test_by_hand() -> None:
    fresh = np.array([[1, 0, 1, 0], [1, 0, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0]], bool)
    table = metrics.reliability([10, 9, 6, 0], 10, fresh)
    observed = [0.75, 0.5, 0.75, 0.0]
    errors = np.array([1.0, 0.9, 0.6, 0.0]) - observed
    assert table.mae == pytest.approx(np.abs(errors).mean())
    assert table.bias == pytest.approx(errors.mean())
    assert table.bias_std == pytest.approx(np.std([0.5, 0.25, 0.75, 0.5], ddof=1))
    assert (table.n, table.n_fresh, table.n_people, table.n_always, table.always) == (10, 4, 4, 1, 0.75)
    filled = {(b.low, b.high): (b.n, b.estimated, b.observed) for b in table.bins if b.n}
    # 0.9 begins a bin; all ten is one of its own.
    assert filled == {
        (0, 0.25): (1, 0, 0),
        (0.5, 0.75): (1, 0.6, 0.75),
        (0.9, 1): (1, 0.9, 0.5),
        (1, 1): (1, 1, 0.75),
    }
    assert [math.isnan(b.observed) for b in table.bins] == [b.n == 0 for b in table.bins]


def test_every_share_has_one_bin() -> None:
    for n in (1, 7, 20, 100):
        table = metrics.reliability(np.arange(n + 1), n, np.ones((1, n + 1), bool))
        assert sum(b.n for b in table.bins) == n + 1
        assert table.bins[-1].n == 1
        for b in table.bins[:-1]:
            assert b.n == 0 or b.low <= b.estimated < b.high


def test_error_by_chance_counts_every_arrangement() -> None:
    n, m = 3, 2
    for total in range(n + m + 1):
        told = [np.isin(np.arange(n + m), at) for at in itertools.combinations(range(n + m), total)]
        brute = np.mean([abs(t[:n].mean() - t[n:].mean()) for t in told])
        k = min(total, n)
        fresh = np.arange(m)[:, None] < total - k
        assert metrics.reliability([k], n, fresh).mae_by_chance == pytest.approx(brute)


def test_known_probabilities_give_the_error_of_two_binomials() -> None:
    """Independent draws at known p: no bias, and the mean error is that of two binomial shares."""
    rng = np.random.default_rng(0)
    n, m, people = 20, 30, 40_000
    p = rng.choice([0.1, 0.5, 0.8, 0.97], people)
    k = rng.binomial(n, p)
    table = metrics.reliability(k, n, rng.random((m, people)) < p)
    i, j = np.arange(n + 1)[:, None], np.arange(m + 1)[None]
    exact = {
        q: float((binom.pmf(i, n, q) * binom.pmf(j, m, q) * np.abs(i / n - j / m)).sum()) for q in np.unique(p)
    }
    expected = np.mean([exact[q] for q in p])
    spread = np.sqrt(np.mean(p * (1 - p)) * (1 / n + 1 / m) / people)
    assert table.mae == pytest.approx(expected, abs=4 * spread)  # an error varies no more than a difference
    assert table.mae_by_chance == pytest.approx(expected, abs=4 * spread)
    assert abs(table.bias) < 4 * spread
    # Where all 20 said yes, the rest do as often as p does, weighted by p ** 20.
    assert table.always == pytest.approx((p ** (n + 1)).sum() / (p**n).sum(), abs=0.005)
    for b in table.bins:
        assert b.n > 0


def test_an_estimate_that_was_selected_shows() -> None:
    """The best of eight tries by the estimate promises too much; bias and error say so, and by how much."""
    rng = np.random.default_rng(1)
    n, m, people, p = 20, 30, 4_000, 0.8
    k = rng.binomial(n, p, (8, people)).max(axis=0)
    table = metrics.reliability(k, n, rng.random((m, people)) < p)
    i, j = np.arange(n + 1), np.arange(m + 1)
    best = np.diff(binom.cdf(i, n, p) ** 8, prepend=0.0)
    error = i[:, None] / n - j[None] / m
    weight = best[:, None] * binom.pmf(j, m, p)[None]
    assert table.bias == pytest.approx((weight * error).sum(), abs=0.005)
    assert table.mae == pytest.approx((weight * np.abs(error)).sum(), abs=0.005)
    assert table.bias > 10 * table.bias_std / math.sqrt(m)
    assert table.mae > table.mae_by_chance + 0.03
    assert table.always == pytest.approx(p, abs=0.01)


def test_nobody() -> None:
    table = metrics.reliability([], 5, np.zeros((3, 0), bool))
    assert table.n_people == 0
    assert all(math.isnan(v) for v in (table.mae, table.mae_by_chance, table.bias, table.bias_std, table.always))
    assert math.isnan(metrics.reliability([1], 2, [[True]]).bias_std)


@pytest.mark.parametrize(
    ("k", "n", "edges", "words"),
    [
        ([1, 1], 2, (0, 1), "one number per person; got shape"),
        ([3], 2, (0, 1), "whole numbers from 0 to `n`"),
        ([0.5], 2, (0, 1), "whole numbers from 0 to `n`"),
        ([1], 0, (0, 1), "`n` must be a positive whole number; got 0"),
        ([1], 2, (0.5, 1), "must rise from 0 to 1"),
    ],
)
def test_what_is_wrong_is_said(k, n, edges, words) -> None:
    with pytest.raises(DataError, match=words):
        metrics.reliability(k, n, [[True]], edges=edges)
