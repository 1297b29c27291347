"""Disparity against its definition, and its interval against how often it holds the truth."""

import numpy as np
import pytest

from holdtrue.errors import DataError
from holdtrue.metrics import recourse_disparity


def test_difference_of_shares():
    has = np.array([1, 1, 1, 0, 1, 0, 0, 0], bool)
    group = np.array([1, 1, 1, 1, 0, 0, 0, 0], bool)
    found = recourse_disparity(has, group)
    assert (found.difference, found.share, found.other_share) == (0.5, 0.75, 0.25)
    assert (found.n, found.n_other) == (4, 4)
    assert found.low < 0.5 < found.high
    turned = recourse_disparity(has, ~group)
    assert turned.difference == -0.5


def test_the_interval_holds_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(0)
    group = np.arange(400) < 250
    hits = 0
    for draw in range(400):
        has = rng.random(400) < np.where(group, 0.7, 0.55)
        found = recourse_disparity(has, group, n_draws=400, random_state=draw)
        hits += found.low <= 0.15 <= found.high
    assert 0.92 <= hits / 400 <= 0.98  # 0.95 with a standard error of 0.011, and a percentile interval's own error


def test_people_are_needed_on_both_sides():
    with pytest.raises(DataError, match="leave out others"):
        recourse_disparity([True, False], [True, True])
    with pytest.raises(DataError, match="one value per person"):
        recourse_disparity([True, False], [True])
