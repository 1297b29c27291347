"""The one place that turns logits into a decision."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdtrue.models import Decision, LinearModel


def decision(threshold, favourable=1, k=2):
    return Decision(LinearModel(jnp.zeros((k, 3)), jnp.zeros(k)), jnp.asarray(threshold), favourable)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    a=st.floats(-20, 20, width=32),
    b=st.floats(-20, 20, width=32),
    threshold=st.floats(0.05, 0.95),
    fav=st.integers(0, 1),
)
def test_margin_and_decision_agree(a, b, threshold, fav):
    d = decision(threshold, fav)
    logits = jnp.asarray([a, b])
    decided = int(d.decide_of(logits))
    assert float(d.margin_of(logits, jnp.asarray(fav))) == pytest.approx(
        -float(d.margin_of(logits, jnp.asarray(1 - fav)))
    )
    assert (decided == fav) == (float(d.margin_of(logits, jnp.asarray(fav))) >= 0)


def test_threshold_is_a_probability():
    d = decision(0.8)
    p = np.array([0.79, 0.81])
    logits = np.stack([np.zeros(2), np.log(p / (1 - p))], axis=1)
    assert [int(d.decide_of(jnp.asarray(row))) for row in logits] == [0, 1]


def test_more_classes_take_the_largest():
    d = decision(0.5, favourable=2, k=3)
    logits = jnp.asarray([1.0, 3.0, 2.5])
    assert int(d.decide_of(logits)) == 1
    assert float(d.margin_of(logits, jnp.asarray(2))) == pytest.approx(-0.5)
    assert float(d.margin_of(logits, jnp.asarray(1))) == pytest.approx(0.5)
