"""Costs against closed forms on rows made by hand."""

import numpy as np
import pandas as pd
import pytest

from holdtrue import metrics
from holdtrue.encoding import NORMS, Encoder
from holdtrue.errors import DataError
from holdtrue.schema import Feature, Schema


@pytest.fixture
def encoder() -> Encoder:
    """Two numbers of range 10 with a median absolute deviation of 0.25 and 0.2, and a category."""
    schema = Schema(
        [
            Feature(name="a", kind="numeric", bounds=(0, 10)),
            Feature(name="b", kind="numeric", bounds=(0, 10), cost_weight=2.0),
            Feature(name="c", kind="categorical", levels=("x", "y", "z")),
        ]
    )
    table = pd.DataFrame({"a": [0, 2.5, 5, 7.5, 10], "b": [0, 4, 5, 7, 10], "c": ["x", "y", "z", "x", "y"]})
    return Encoder.fit(schema, table)


def _costs(encoder: Encoder, before: tuple, after: tuple) -> dict[str, float]:
    tables = [pd.DataFrame([row], columns=["a", "b", "c"]) for row in (before, after)]
    encoded = [encoder.encode(t) for t in tables]
    return {norm: float(cost[0]) for norm, cost in metrics.costs(encoder, *encoded).items()}


def test_one_number(encoder: Encoder) -> None:
    costs = _costs(encoder, (2.0, 5.0, "x"), (5.0, 5.0, "x"))
    assert costs == pytest.approx({"l0": 1, "l1": 0.3, "l2": 0.3, "linf": 0.3, "mad": 0.3 / 0.25})


def test_a_changed_category_counts_two_in_l1_and_one_in_l0_and_mad(encoder: Encoder) -> None:
    costs = _costs(encoder, (2.0, 5.0, "x"), (2.0, 5.0, "z"))
    assert costs == pytest.approx({"l0": 1, "l1": 2, "l2": np.sqrt(2), "linf": 1, "mad": 1})


def test_weights_and_sums(encoder: Encoder) -> None:
    costs = _costs(encoder, (2.0, 5.0, "x"), (5.0, 1.0, "y"))
    expected = {
        "l0": 1 + 2 + 1,
        "l1": 0.3 + 2 * 0.4 + 2,
        "l2": np.sqrt(0.3**2 + (2 * 0.4) ** 2 + 2),
        "linf": 1.0,
        "mad": 0.3 / 0.25 + 2 * 0.4 / 0.2 + 1,
    }
    assert costs == pytest.approx(expected)


def test_nothing_changed_costs_nothing(encoder: Encoder) -> None:
    assert _costs(encoder, (2.0, 5.0, "x"), (2.0, 5.0, "x")) == dict.fromkeys(NORMS, 0.0)


def test_nobody(encoder: Encoder) -> None:
    none = np.zeros((0, encoder.n_columns))
    assert {norm: cost.shape for norm, cost in metrics.costs(encoder, none, none).items()} == dict.fromkeys(
        NORMS, (0,)
    )


def test_rows_of_another_encoder_are_refused(encoder: Encoder) -> None:
    with pytest.raises(DataError, match=r"shape \(people, 5\); got \(1, 4\)"):
        metrics.costs(encoder, np.zeros((1, 4)), np.zeros((1, 4)))
    with pytest.raises(DataError):
        metrics.costs(encoder, np.zeros((1, 5)), np.zeros((2, 5)))


def test_sparsity_and_change_rates() -> None:
    changed = np.array([[True, False, True], [False, False, True], [False, False, False], [True, False, True]])
    assert metrics.sparsity(changed).tolist() == [2, 1, 0, 2]
    assert metrics.change_rates(changed).tolist() == [0.5, 0.0, 0.75]
    assert np.isnan(metrics.change_rates(changed[:0])).tolist() == [True] * 3
    with pytest.raises(DataError, match="people, features"):
        metrics.sparsity([True, False])
