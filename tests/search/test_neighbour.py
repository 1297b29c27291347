"""A solver with a value of its own: what is kept is the best by that value, not the cheapest."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from holdtrue.encoding import feasible_sets
from holdtrue.methods import SNS, Wachter
from holdtrue.schema import as_table
from holdtrue.search import CLEARANCE, Problem, Status, iterate
from holdtrue.testing import _world as world


@pytest.fixture(scope="module")
def search():
    """A stable-neighbour search from the recourse of one person of the small world."""
    fitted = SNS(radius=1.0, n_steps=30, base=Wachter(n_steps=80)).fit(world.classifier(limits=False))
    person = world.refused(fitted.predictor_, 1)
    one = feasible_sets(fitted.predictor_.encoder, as_table(person)).one(0)
    problem = Problem(one.x, jnp.asarray(1), one, jax.random.key(0), one.x)
    base = eqx.filter_jit(iterate)(fitted._fitted_base().solver(), problem)  # type: ignore[attr-defined]
    return fitted.solver(), eqx.tree_at(lambda p: p.start, problem, base.x), base


def _hard(problem, u):
    return problem.feasible.hard(u)


def test_the_best_has_the_largest_area_seen(search):
    solver, problem, base = search
    advance, area_of, hard = eqx.filter_jit(solver.advance), eqx.filter_jit(solver.area), eqx.filter_jit(_hard)
    state = solver.begin(problem)
    seen = []
    while not bool(state.done):
        x, ok = hard(problem, state.own.u)
        area, margin = area_of(x, problem.target)
        if bool(ok) and float(margin) >= CLEARANCE:
            seen.append((float(area), float(solver.cost(x, problem))))
        state = advance(problem, state)
    assert int(state.status) == int(Status.FOUND)
    assert -float(state.best_value) == pytest.approx(max(seen)[0], rel=1e-5)
    assert float(state.best_cost) == pytest.approx(max(seen)[1], rel=1e-4)
    assert -float(state.best_value) >= seen[0][0]
    assert float(state.best_cost) > float(base.cost)


def test_the_relaxed_iterate_stays_in_the_ball(search):
    solver, problem, _ = search
    advance = eqx.filter_jit(solver.advance)
    state = solver.begin(problem)
    while not bool(state.done):
        state = advance(problem, state)
        assert float(jnp.linalg.norm(state.own.u - problem.start)) <= 1.0 + 1e-4
