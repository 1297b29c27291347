"""Options that differ: the penalty is a ratio of determinants, and repetition is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.encoding import Encoder
from holdtrue.search import add_option, by_feature, repetition
from holdtrue.search._options import DIVERSITY, SAME, surcharged


def basis_of(changes: np.ndarray) -> np.ndarray:
    options = np.zeros((1, len(changes), changes.shape[1]), np.float32)
    for at, change in enumerate(changes):
        options = add_option(options, at, change[None])
    return options[0]


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_left_multiplies_the_determinant(seed):
    rng = np.random.default_rng(seed)
    before, change = rng.normal(size=(3, 6)), rng.normal(size=6)
    gram = unit(before) @ unit(before).T
    both = unit(np.vstack([before, change]))
    ratio = np.linalg.det(both @ both.T) / np.linalg.det(gram)
    share = repetition(jnp.asarray(basis_of(before)), jnp.asarray(change, jnp.float32))
    assert float(1 - share) == pytest.approx(ratio, abs=1e-5)


def test_rows_not_yet_used_count_for_nothing():
    options = np.zeros((2, 4), np.float32)
    options[0, 1] = 1.0
    change = jnp.array([3.0, 4.0, 0.0, 0.0])
    assert float(repetition(jnp.asarray(options), change)) == pytest.approx(16 / 25)
    assert float(repetition(jnp.zeros((2, 4)), change)) == 0.0


def test_the_same_way_again_is_no_option():
    options = jnp.asarray(basis_of(np.array([[1.0, 0.0]])))
    cost = jnp.asarray(2.0)
    assert float(surcharged(cost, options, jnp.array([0.0, 5.0]))) == pytest.approx(2.0, rel=1e-4)
    assert np.isinf(surcharged(cost, options, jnp.array([7.0, 0.0])))
    half = float(surcharged(cost, options, jnp.array([1.0, 1.0001])))
    assert half == pytest.approx(2.0 * (1 + DIVERSITY * SAME**0.5), rel=1e-3)  # half repeats: just allowed
    slope = jax.grad(lambda c: surcharged(jnp.sum(jnp.abs(c)), options, c))(jnp.array([7.0, 0.01]))
    assert np.isfinite(slope).all()  # a search may pass through what it may not end at


def test_a_repeated_change_adds_no_direction():
    options = basis_of(np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 3.0]]))
    np.testing.assert_allclose(np.linalg.norm(options, axis=1), [1, 0, 1], atol=1e-6)


def test_the_same_category_elsewhere_is_the_same_option():
    schema = ht.Schema(
        [
            ht.Feature(name="income", kind="numeric", bounds=(0, 1)),
            ht.Feature(name="home", kind="categorical", levels=["own", "rent", "other"]),
        ]
    )
    layout = Encoder.fit(schema, pd.DataFrame({"income": [0.0, 1.0], "home": ["own", "rent"]})).layout
    first, second = by_feature(layout, jnp.array([[0.0, -1, 1, 0], [0.0, -1, 0, 1]]))
    offered = jnp.asarray(basis_of(np.asarray(first)[None]))
    assert float(repetition(offered, second)) == pytest.approx(1.0, abs=1e-5)
    other = by_feature(layout, jnp.array([0.3, 0, 0, 0]))
    assert float(repetition(offered, other)) < 1e-4
