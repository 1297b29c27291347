"""Proofs held against trying everything, in a few random worlds; `benchmarks.attack.brute` takes hundreds."""

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from benchmarks.attack.brute import WRONG, attack
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.models import Decision, LinearModel
from holdtrue.search import Status


@pytest.mark.parametrize("seed", [8, 21, 17])
def test_no_proof_is_contradicted(seed: int) -> None:
    """Worlds in which optima lie exactly on a linear constraint."""
    told = [line for name in ("flipset", "sparse_search") for line in attack(seed, f"{name}, linear")]
    told += attack(seed, "exact_search, trees")
    assert len(told) >= 2
    for counts in told:
        assert {what: counts.get(what, 0) for what in WRONG} == dict.fromkeys(WRONG, 0)
        assert counts["missed"] == 0
        assert counts["OPTIMAL"] > 3


def test_the_edge_of_a_constraint_can_be_reached() -> None:
    """Savings may go up to 3, and the yes begins at 3."""
    table = pd.DataFrame({"savings": np.arange(40) % 3 * 1.0, "other": np.linspace(0, 10, 40)})
    features = [ht.Feature(name=n, kind="integer", bounds=(0, 10)) for n in ("savings",)]
    features.append(ht.Feature(name="other", kind="numeric", direction="fixed"))
    schema = ht.Schema(features, constraints=[ht.LinearConstraint(coefficients={"savings": 1}, bound=3)])
    encoder = Encoder.fit(schema, table)
    weight = np.array([[0, 0], [encoder.scale[0], 0]], np.float32)
    bias = np.array([0, encoder.offset[0] - 2.9], np.float32)
    predictor = Predictor(encoder, Decision(LinearModel(weight, bias), np.float32(0.5), 1), np.arange(2))
    plan = ht.Flipset().fit(predictor).recourse(table)
    assert set(plan.status) == {int(Status.OPTIMAL)}
    assert set(plan.recourse.columns["savings"]) == {3}
