"""The linear programme against HiGHS, and the radius against its definition."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

import holdtrue as ht
from holdtrue.encoding import Encoder, feasible_sets
from holdtrue.schema import as_table
from holdtrue.search import minimise_linear, within


@pytest.mark.parametrize(("n", "m"), [(3, 1), (8, 3), (20, 4)])
def test_optimum_equals_highs(n, m):
    rng = np.random.default_rng(n)
    solve = jax.jit(minimise_linear)
    for trial in range(25):
        slope, a = rng.normal(size=n), rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.6)
        low, high = -2 * rng.random(n), 2 * rng.random(n)
        if trial % 5 == 0:
            high[:2] = low[:2]  # columns that cannot move
        b = a @ rng.uniform(low, high) + 0.3 * rng.random(m)
        best = linprog(slope, A_ub=a, b_ub=b, bounds=np.c_[low, high]).fun
        x = np.asarray(solve(*(jnp.asarray(v, jnp.float32) for v in (slope, a, b, low, high))))
        assert abs(slope @ x - best) < 1e-4 * np.abs(slope) @ (high - low)
        assert (a @ x - b).max() < 1e-3
        assert (x >= low - 1e-6).all()
        assert (x <= high + 1e-6).all()


def test_an_empty_polytope_gives_numbers_all_the_same():
    one = jnp.ones((1, 2))
    x = minimise_linear(jnp.ones(2), one, jnp.asarray([-5.0]), jnp.zeros(2), jnp.ones(2))
    assert bool(jnp.all(jnp.isfinite(x)))


def test_radius_ends_on_the_grid():
    table = pd.DataFrame({"a": [0.0, 10.0, 4.0], "b": [0.0, 1.0, 0.5], "c": ["x", "y", "x"]})
    schema = ht.Schema(
        [
            ht.Feature(name="a", kind="numeric", bounds=(0, 10), step=1.5),
            ht.Feature(name="b", kind="numeric", bounds=(0, 1)),
            ht.Feature(name="c", kind="categorical"),
        ]
    )
    encoder = Encoder.fit(schema, table)
    one = feasible_sets(encoder, as_table(table.iloc[[2]])).one(0)
    near = within(one, jnp.asarray(0.2))
    raw_low, raw_high = np.asarray(near.lower) * encoder.scale, np.asarray(near.upper) * encoder.scale
    # 4 +- 2 on a grid of 1.5 leaves 3, 4.5 and 6; 0.5 +- 0.2 is a continuum; a category is not limited.
    np.testing.assert_allclose([raw_low[0], raw_high[0]], [3.0, 6.0], atol=1e-5)
    np.testing.assert_allclose([raw_low[1], raw_high[1]], [0.3, 0.7], atol=1e-5)
    assert bool(near.movable[2:].all())
