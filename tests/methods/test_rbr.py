"""RBR: the boundary, the sample and its densities by hand; directions on a linear model."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder, feasible_sets
from holdtrue.errors import DataError
from holdtrue.methods import RBR
from holdtrue.models import Decision, LinearModel
from holdtrue.schema import as_table
from holdtrue.search import Problem, iterate

start = eqx.filter_jit(lambda solver, problem: solver.start(problem))
boundary = eqx.filter_jit(lambda solver, problem: solver.boundary(problem))
odds_at = eqx.filter_jit(lambda solver, own, at: jax.vmap(lambda x: solver.log_odds(own, x))(at))
run = eqx.filter_jit(iterate)
W, B = np.array([1.0, 0.0, 0.0], np.float32), 0.0


@pytest.fixture(scope="module")
def plane():
    """Three numbers, encoded as they are; accepted where the first is at least 0."""
    table = pd.DataFrame(np.random.default_rng(0).normal(0, 1, (200, 3)), columns=list("abc"))
    fitted = Encoder.fit(ht.Schema([ht.Feature(name=c, kind="numeric", bounds=(-9, 9)) for c in table]), table)
    ones = np.ones(3)
    encoder = Encoder(fitted.schema, "minmax", fitted.layout, ones, 0 * ones, ones, {})
    model = LinearModel(np.stack([0 * W, W]), np.array([0, B], np.float32))
    predictor = Predictor(encoder, Decision(model, np.float32(0.5), 1), np.array([0, 1]))
    refused = table[table["a"] < -0.1].head(16)
    return predictor, table, refused


def problem(predictor, X):
    one = feasible_sets(predictor.encoder, as_table(X.head(1))).one(0)
    return Problem(one.x, jnp.asarray(1), one, jax.random.key(3), one.x)


def rows(plan):
    return np.column_stack([plan.recourse.columns[c] for c in plan.recourse.columns])


@pytest.mark.parametrize("n_neighbours", [1, 10])
def test_the_boundary_is_the_nearest_crossing(plane, n_neighbours):
    predictor, table, X = plane
    own = problem(predictor, X)
    solver = RBR(n_neighbours=n_neighbours).fit(predictor, table).solver()
    before, after, crossed = boundary(solver, own)
    x, accepted = X.to_numpy()[0], table.to_numpy()[table["a"] >= 0]
    nearest = accepted[np.argsort(np.abs(accepted - x).sum(axis=1))[:n_neighbours]]
    shares = -x[0] / (nearest[:, 0] - x[0])
    away = np.abs(nearest - x).sum(axis=1)
    best = np.argmin(np.ceil(128 * shares) / 128 * away)  # rounded up to the end of the last interval
    assert bool(crossed)
    assert before[0] < 0 <= after[0]
    np.testing.assert_allclose(after, x + np.ceil(128 * shares[best]) / 128 * (nearest[best] - x), atol=1e-5)
    np.testing.assert_allclose(after - before, (nearest[best] - x) / 128, atol=1e-5)


def test_the_sample_fills_the_ball_and_is_labelled_by_the_model(plane):
    predictor, table, X = plane
    solver = RBR(n_samples=2000, spread=0.3).fit(predictor, table).solver()
    own = start(solver, problem(predictor, X))
    points, drawn = np.asarray(own.points), np.asarray(own.points)[:-2]
    np.testing.assert_array_equal(np.asarray(own.accepted), points[:, 0] >= 1e-4)
    radii = np.sort(np.linalg.norm(drawn - np.asarray(own.u), axis=1)) / 0.3
    assert radii[-1] <= 1 + 1e-5
    assert np.abs(radii**3 - np.linspace(0, 1, 2000)).max() < 0.05


def test_without_radii_the_odds_are_a_ratio_of_kernel_densities(plane):
    predictor, table, X = plane
    solver = RBR(sigma=0.4).fit(predictor, table).solver()
    own = start(solver, problem(predictor, X))
    points, accepted = np.asarray(own.points, float), np.asarray(own.accepted)
    asked = np.random.default_rng(0).normal(0, 0.5, (5, 3))
    ours = odds_at(solver, own, jnp.asarray(asked, jnp.float32))
    for at, got in zip(asked, ours, strict=True):
        logs = -np.sum((points - at) ** 2, axis=1) / (2 * 0.4**2)
        expected = logsumexp(logs[~accepted]) - logsumexp(logs[accepted])
        assert float(got) == pytest.approx(expected, abs=1e-3)


def test_the_recourse_goes_straight_across(plane):
    """The densities differ along w alone: from the person, the way of least odds is w to the edge of the ball."""
    predictor, table, X = plane
    X = X.head(6)
    method = RBR(norm="l2", slack=0.3, n_neighbours=50, n_samples=500, random_state=0)
    plan = method.fit(predictor, table).recourse(X)
    assert plan.found.all()
    change = rows(plan) - X.to_numpy()
    along = change @ W / np.linalg.norm(change, axis=1)
    assert (along > 0.98).all()
    assert (rows(plan)[:, 0] > 0.2).all()


def test_larger_radii_demand_a_larger_margin(plane):
    """How far inside the worst odds of a refusal first fall to what the plain odds are 0.1 inside."""
    predictor, table, X = plane
    own_problem = problem(predictor, X)
    line = jnp.asarray(np.linspace(0, 1.5, 301)[:, None] * W, jnp.float32)
    for name in ("refused_radius", "accepted_radius"):
        margins, odds = [], []
        for radius in (0.0, 0.02, 0.05):
            method = RBR(n_samples=2000, sigma=0.5, random_state=0, **{name: radius}).fit(predictor, table)
            own = start(method.solver(), own_problem)
            at = own.u * jnp.asarray([0.0, 1.0, 1.0]) + line
            worst = np.asarray(odds_at(method.solver(), own, at))
            odds.append(worst)
            reached = worst <= odds[0][20]
            assert reached.any()
            margins.append(int(np.argmax(reached)))
        assert margins[0] == 20
        assert margins[0] < margins[1] < margins[2]
        assert (odds[0] < odds[1]).all()
        assert (odds[1] < odds[2]).all()


def test_it_never_leaves_the_ball_and_lowers_the_odds(plane):
    predictor, table, X = plane
    for radius in (0.0, 0.3):
        solver = RBR(refused_radius=radius, accepted_radius=radius).fit(predictor, table).solver()
        own_problem = problem(predictor, X)
        own = start(solver, own_problem)
        end = run(solver, own_problem)
        assert float(jnp.sum(jnp.abs(end.x - own_problem.x))) <= float(own.radius) + 1e-4
        last, first = odds_at(solver, own, jnp.stack([end.x, own.u]))
        assert last < first


def test_what_makes_no_sense_is_refused(plane):
    predictor, table, _ = plane
    for options in ({"norm": "l0"}, {"slack": -1.0}, {"sigma": 0.0}, {"n_samples": 0}, {"accepted_radius": -0.1}):
        with pytest.raises(DataError, match=f"RBR: `{next(iter(options))}`"):
            RBR(**options).fit(predictor, table)
    with pytest.raises(DataError, match="needs training rows"):
        RBR().fit(predictor)
