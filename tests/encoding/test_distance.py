"""The one distance, against numpy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from holdtrue.encoding import NORMS, Encoder, distance, norm_weights
from holdtrue.schema import Feature, Schema

SCHEMA = Schema(
    [
        Feature(name="x", kind="numeric", cost_weight=3.0, missing="mean"),
        Feature(name="n", kind="integer"),
        Feature(name="c", kind="categorical", cost_weight=2.0),
    ]
)
TABLE = {"x": [0.0, 1.0, 2.0, 10.0, None], "n": [0, 10, 20, 30, 40], "c": ["a", "b", "c", "a", "b"]}


def test_norms_are_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 6, 5)).astype(np.float32)
    x[:, 2] = y[:, 2]
    weights = rng.uniform(0.5, 2, 5).astype(np.float32)
    gap = np.abs(x - y)
    expected = {
        "l0": (weights * (gap > 0)).sum(-1),
        "l1": (weights * gap).sum(-1),
        "l2": np.sqrt(((weights * gap) ** 2).sum(-1)),
        "linf": (weights * gap).max(-1),
        "mad": (weights * gap).sum(-1),
    }
    for norm in NORMS:
        got = distance(jnp.asarray(x), jnp.asarray(y), norm, jnp.asarray(weights))
        np.testing.assert_allclose(got, expected[norm], rtol=1e-5)
        one = distance(jnp.asarray(x[0]), jnp.asarray(y[0]), norm, jnp.asarray(weights))
        np.testing.assert_allclose(one, expected[norm][0], rtol=1e-5)


@pytest.mark.parametrize("norm", NORMS)
def test_no_change_costs_nothing_and_has_a_finite_gradient(norm) -> None:
    x, weights = jnp.asarray([0.1, 0.7]), jnp.ones(2)
    value, gradient = jax.value_and_grad(lambda v: distance(v, x, norm, weights))(x)
    assert value == 0.0
    assert np.isfinite(gradient).all()


def test_weights_are_the_schemas() -> None:
    encoder = Encoder.fit(SCHEMA, TABLE)
    np.testing.assert_allclose(norm_weights(encoder, "l1"), [3, 1, 2, 2, 2, 0])
    np.testing.assert_allclose(norm_weights(encoder, "l0"), [3, 1, 1, 1, 1, 0])
    # x is 0, 1, 2, 10 and the mean 3.25: median 2, deviations 2, 1, 0, 8, 1.25; in units of 10.
    np.testing.assert_allclose(norm_weights(encoder, "mad"), [3 / 0.125, 1 / 0.25, 1, 1, 1, 0], rtol=1e-6)


def test_a_changed_category_counts_once_in_l0_and_mad_and_twice_in_l1() -> None:
    encoder = Encoder.fit(SCHEMA, TABLE)
    x = encoder.encode(TABLE)
    moved = x.copy()
    moved[0, 2:5] = [0, 1, 0]
    for norm, expected in {"l0": 2.0, "l1": 4.0, "mad": 2.0, "linf": 2.0}.items():
        cost = distance(jnp.asarray(moved[0]), jnp.asarray(x[0]), norm, jnp.asarray(norm_weights(encoder, norm)))
        assert float(cost) == pytest.approx(expected)
