"""Shares counted by hand."""

import math

import numpy as np
import pytest

from holdtrue import metrics
from holdtrue.errors import DataError
from holdtrue.search import Status

STATUS = np.array([Status.FOUND, Status.FOUND, Status.NOT_FOUND, Status.NOT_REACHED, Status.ALREADY_FAVOURABLE])


def test_validity_is_over_the_recourse_found() -> None:
    found = np.array([True, True, True, False, False])
    assert metrics.validity([True, False, True, True, False], found) == pytest.approx(2 / 3)
    assert math.isnan(metrics.validity(found, np.zeros(5, bool)))


def test_share_from_the_status_alone() -> None:
    shares = metrics.share_with_recourse(STATUS)
    assert shares == (pytest.approx(2 / 4), pytest.approx(3 / 5))


def test_recourse_that_is_not_valid_does_not_count() -> None:
    shares = metrics.share_with_recourse(STATUS, valid=[True, False, False, False, True])
    assert shares == (pytest.approx(1 / 4), pytest.approx(2 / 5))


def test_someone_not_reached_may_not_have_been_refused() -> None:
    shares = metrics.share_with_recourse(STATUS, refused=[True, True, True, False, False])
    assert shares == (pytest.approx(2 / 3), pytest.approx(4 / 5))


def test_nobody_refused_and_nobody_at_all() -> None:
    among_refused, among_all = metrics.share_with_recourse([Status.ALREADY_FAVOURABLE] * 3)
    assert math.isnan(among_refused)
    assert among_all == 1.0
    assert all(math.isnan(share) for share in metrics.share_with_recourse([]))


def test_lengths_must_agree() -> None:
    with pytest.raises(DataError, match="one value per person"):
        metrics.validity([True], [True, False])
    with pytest.raises(DataError, match="one value per person"):
        metrics.share_with_recourse(STATUS, valid=[True])
