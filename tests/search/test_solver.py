"""The search loop: what is kept, when it ends."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from holdtrue.encoding import feasible_sets
from holdtrue.methods import NearestNeighbour, Wachter
from holdtrue.schema import as_table
from holdtrue.search import CLEARANCE, Problem, Status, iterate
from holdtrue.testing import _world as world


def one_problem(fitted, person):
    predictor = fitted.predictor_
    table = as_table(person)
    one = feasible_sets(predictor.encoder, table).one(0)
    return Problem(one.x, jnp.asarray(1), one, jax.random.key(0), one.x)


@pytest.fixture(scope="module")
def search():
    fitted = Wachter(n_steps=80).fit(world.classifier(limits=False))
    person = world.refused(fitted.predictor_, 1)
    return fitted.solver(), one_problem(fitted, person)


def test_the_best_is_the_cheapest_valid_point_seen(search):
    """Follow the search step by step and compare with what it kept."""
    solver, problem = search
    advance = eqx.filter_jit(solver.advance)

    @eqx.filter_jit
    def look(u):
        x, ok = problem.feasible.hard(u)
        return solver.cost(x, problem), solver.decision.margin(x, problem.target), ok

    state = solver.begin(problem)
    seen = []
    while not bool(state.done):
        cost, margin, ok = look(state.own.u)
        if bool(ok) and float(margin) >= CLEARANCE:
            seen.append(float(cost))
        state = advance(problem, state)
    assert seen
    assert float(state.best_cost) == pytest.approx(min(seen), rel=1e-5)
    assert int(state.status) == int(Status.FOUND)


def test_a_finished_search_stands_still(search):
    solver, problem = search
    answer = iterate(solver, problem)
    state = solver.begin(problem)
    done = jax.tree.map(lambda leaf: leaf, state)
    done = eqx.tree_at(lambda s: s.done, done, jnp.asarray(True))
    after = solver.advance(problem, done)
    assert int(after.n_steps) == int(done.n_steps)
    assert bool((after.own.u == done.own.u).all())
    assert int(answer.n_steps) <= 80


def test_the_search_starts_where_it_is_told(search):
    solver, problem = search
    answer = iterate(solver, problem)
    elsewhere = eqx.tree_at(lambda p: p.start, problem, answer.x)
    state = solver.advance(elsewhere, solver.begin(elsewhere))
    assert int(state.status) == int(Status.FOUND)
    assert float(state.best_cost) == pytest.approx(float(answer.cost), rel=1e-5)


def test_candidates_are_asked_in_order_of_cost():
    fitted = NearestNeighbour(n_candidates=40).fit(world.classifier(limits=False), *world.people())
    solver = fitted.solver()
    problem = one_problem(fitted, world.refused(fitted.predictor_, 1))
    queue = solver.start(problem)
    rows = solver.candidates[queue.order]
    hardened, ok = jax.vmap(problem.feasible.hard)(rows)
    costs = np.where(ok, jax.vmap(lambda x: solver.cost(x, problem))(hardened), np.inf)
    assert (np.diff(costs[np.isfinite(costs)]) >= -1e-6).all()


def test_every_status_is_a_sentence():
    for status in Status:
        assert status.message.endswith(".")
        assert status.message[0].isupper()
