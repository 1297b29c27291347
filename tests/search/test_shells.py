"""Shells: every draw is as far away as its shell says, and uniform in its radius."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from holdtrue.encoding import feasible_sets
from holdtrue.methods import GrowingSpheres
from holdtrue.schema import as_table
from holdtrue.search import Problem, RowSpace
from holdtrue.testing import _world as world


@pytest.fixture(scope="module")
def problem():
    fitted = GrowingSpheres().fit(world.classifier(limits=False))
    one = feasible_sets(fitted.predictor_.encoder, as_table(world.refused(fitted.predictor_, 1))).one(0)
    return Problem(one.x, jnp.asarray(1), one, jax.random.key(0), one.x)


DRAW = eqx.filter_jit(RowSpace().draw)


def drawn(problem, low, high, n=2000):
    return DRAW(problem, problem.x, jax.random.key(1), np.float32(low), np.float32(high), n)


def lengths(problem, rows):
    """Distance of each draw, a changed category counted as the two columns it moves."""
    layout = problem.feasible.layout
    n = len(layout.numbers)
    squares = np.sum(np.asarray(rows[:, :n] - problem.x[None, :n]) ** 2, axis=1)
    for group in layout.groups:
        squares += 2.0 * np.any(
            np.asarray(rows[:, group.start : group.stop] != problem.x[None, group.start : group.stop]), axis=1
        )
    return np.sqrt(squares)


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.3), (0.6, 0.8), (1.4, 1.6), (3.0, 3.5)])
def test_draws_lie_in_their_shell(problem, low, high):
    far = lengths(problem, drawn(problem, low, high))
    assert far.min() >= low - 1e-4
    assert far.max() <= high + 1e-4
    # Uniform in the radius: the middle of the shell is its median.
    assert np.median(far) == pytest.approx((low + high) / 2, abs=0.05 * (high - low))


def test_categories_change_more_often_farther_out(problem):
    def share(radius):
        rows = drawn(problem, radius, radius + 0.1)
        first = len(problem.feasible.layout.numbers)
        return float(np.mean(np.any(np.asarray(rows[:, first:] != problem.x[None, first:]), axis=1)))

    shares = [share(r) for r in (0.5, 1.5, 2.5)]
    assert shares[0] == 0.0
    assert shares[0] < shares[1] < shares[2]


def test_only_what_may_move_is_drawn(problem):
    rows = drawn(problem, 2.0, 3.0)
    hardened, _ = jax.jit(jax.vmap(problem.feasible.hard))(rows)
    still = ~np.asarray(problem.feasible.movable)
    numbers = np.arange(len(still)) < len(problem.feasible.layout.numbers)
    fixed = still & numbers
    np.testing.assert_array_equal(
        np.asarray(rows)[:, fixed], np.broadcast_to(problem.x[fixed], (len(rows), fixed.sum()))
    )
    assert np.isfinite(np.asarray(hardened)).all()


def test_a_number_at_its_limit_is_drawn_inwards(problem):
    income = problem.feasible.layout.slot("income").start
    assert (np.asarray(drawn(problem, 0.2, 0.4))[:, income] >= float(problem.x[income]) - 1e-6).all()


def test_beyond_the_reach_is_beyond_the_box(problem):
    feasible = problem.feasible
    corner = jnp.where(
        jnp.abs(feasible.upper - problem.x) > jnp.abs(feasible.lower - problem.x), feasible.upper, feasible.lower
    )
    numbers = slice(0, len(feasible.layout.numbers))
    far = float(jnp.linalg.norm(jnp.where(feasible.movable, corner - problem.x, 0.0)[numbers]))
    assert float(eqx.filter_jit(RowSpace().reach)(problem)) >= far
