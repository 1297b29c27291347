"""The best permitted action against HiGHS, closed forms and brute force; and always within the limits."""

from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

import holdtrue as ht
from holdtrue.encoding import Encoder, Permits, broken_limits, decode_recourse
from holdtrue.errors import DataError
from holdtrue.models import batch_logits
from holdtrue.schema import as_table
from holdtrue.search import CandidateAction, Edits, GradientAction, LatticeAction, LinearisedAction, best_corner
from holdtrue.testing import _world as small_world

RADIUS = jnp.asarray(0.75)


@pytest.fixture(scope="module")
def box():
    """Two numbers that may change, one of them upwards only, one that may not, standardised."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 3)) * [2.0, 5.0, 1.0], columns=["up", "free", "fixed"])
    directions = {"up": "increase", "free": "free", "fixed": "fixed"}
    schema = ht.Schema(
        [ht.Feature(name=n, kind="numeric", bounds=(-90, 90), direction=d) for n, d in directions.items()]  # type: ignore
    )
    encoder = Encoder.fit(schema, table, "standard")
    return Permits.of(encoder), jnp.asarray(encoder.encode(table), jnp.float32)


def linear(x):
    return jnp.dot(jnp.asarray([-1.0, -2.0, 3.0]), x)


def test_the_corner_of_a_box_is_the_closed_form(box):
    permits, x = box
    moved = jax.jit(jax.vmap(lambda row: LinearisedAction(permits, RADIUS)(linear, row)))(x) - x
    # Up would lower the score, and down is not permitted; the free one goes down; the fixed one stays.
    np.testing.assert_allclose(moved, np.tile([0, -0.75, 0], (40, 1)), atol=1e-5)
    wrong = jax.jit(jax.vmap(lambda row: LinearisedAction(permits, RADIUS, "code")(linear, row)))(x) - x
    np.testing.assert_allclose(wrong, np.tile([0.75, 0.75, 0], (40, 1)), atol=1e-5)


def test_the_corner_of_a_polytope_is_that_of_highs():
    """People with linear constraints across columns and on changes: the optimum of every person's programme."""
    rng = np.random.default_rng(1)
    names = ["a", "b", "c", "d"]
    table = pd.DataFrame(rng.uniform(1, 9, size=(30, 4)), columns=names)
    table["b"] = np.minimum(table["b"], table["a"])
    schema = ht.Schema(
        [ht.Feature(name=n, kind="numeric", bounds=(0, 10), direction=d)  # type: ignore[arg-type]
         for n, d in zip(names, ("free", "increase", "decrease", "free"), strict=True)],
        [
            ht.LinearConstraint(coefficients={"b": 1.0, "a": -1.0}, bound=0.0),
            ht.LinearConstraint(coefficients={"a": 1.0, "b": 2.0, "d": 1.0}, bound=1.5, on="change"),
        ],
    )  # fmt: skip
    encoder = Encoder.fit(schema, table, "standard")
    permits, x = Permits.of(encoder), jnp.asarray(encoder.encode(table), jnp.float32)
    slopes = jnp.asarray(rng.normal(size=(30, 4)), jnp.float32)
    ours = np.asarray(jax.jit(jax.vmap(lambda row, s: best_corner(permits(row), s)))(x, slopes), np.float64)
    cut, feasible = 0, jax.jit(lambda row: permits(row))
    for row, slope, found in zip(np.asarray(x), np.asarray(slopes), ours, strict=True):
        f = feasible(row)
        exact = linprog(slope, A_ub=f.a, b_ub=f.b, bounds=np.c_[f.lower, f.upper])
        free = np.where(slope > 0, f.lower, f.upper)
        cut += bool((np.asarray(f.a) @ free > np.asarray(f.b) + 1e-6).any())
        assert slope @ found == pytest.approx(exact.fun, abs=2e-4)
        assert (np.asarray(f.a) @ found <= np.asarray(f.b) + 1e-3).all()
    assert cut > 5  # else only the closed form was tried


def bowl(x):
    """Highest inside the box of whoever is near, with a ridge that the slope at the factual does not show."""
    return -((x[0] - 0.4) ** 2) - 2 * (x[1] + 0.3) ** 2 + 0.1 * x[2]


def test_searches_find_a_maximum_inside_the_box(box):
    permits, x = box
    near = x.at[:, :2].set(x[:, :2] * 0.1)  # the top at (0.4, -0.3) is within everybody's reach
    fine = LatticeAction.of(permits, RADIUS, 21)
    climb = GradientAction(permits, RADIUS, 40, 1)
    value = jax.jit(jax.vmap(bowl))
    top = 0.1 * near[:, 2]
    for action, error in ((fine, 0.005), (climb, 0.005)):
        got = value(jax.jit(jax.vmap(lambda row, a=action: a(bowl, row)))(near))
        assert float(jnp.max(top - got)) < error
    corner = value(jax.jit(jax.vmap(lambda row: LinearisedAction(permits, RADIUS)(bowl, row)))(near))
    assert float(jnp.mean(top - corner)) > 0.2  # one linear step goes past it


def waves(x):
    return jnp.sin(9 * x[0]) * jnp.cos(7 * x[1]) + 0.2 * x[2]


def test_a_lattice_is_the_best_of_its_points(box):
    permits, x = box
    lattice = LatticeAction.of(permits, RADIUS, 7)
    found = np.asarray(jax.jit(jax.vmap(lambda row: lattice(waves, row)))(x))
    ways = np.array(list(product(np.linspace(0, 0.75, 7), np.linspace(-0.75, 0.75, 7), [0.0])), np.float32)
    values = jax.jit(jax.vmap(waves))
    for row, point in zip(np.asarray(x), found, strict=True):
        assert values(point[None])[0] >= np.max(values(row + ways)) - 1e-4
        assert (np.abs(point - row) <= 0.75 + 1e-5).all()


def test_more_starts_are_never_worse(box):
    permits, x = box
    best = [
        jax.vmap(waves)(jax.jit(jax.vmap(lambda row, n=n: GradientAction(permits, RADIUS, 20, n)(waves, row)))(x))
        for n in (1, 2, 6)
    ]
    assert bool(jnp.all(best[1] >= best[0]) & jnp.all(best[2] >= best[1]))
    assert float(jnp.mean(best[2] - best[0])) > 0.05


def test_edits_are_what_they_say():
    clf, (table, _) = small_world.classifier(), small_world.people()
    encoder = clf.predictor_.encoder
    permits = Permits.of(encoder)
    edits = Edits.of(permits, [{"income": 7.5}, {"accounts": -2.0, "housing=own": 1}, {"age": 3}])
    x = jnp.asarray(encoder.encode(table), jnp.float32)
    rows = np.asarray(jax.jit(jax.vmap(edits))(x))
    raw = [encoder.decode(rows[:, i]) for i in range(3)]
    room = np.asarray(table["income"]) <= 92.5
    np.testing.assert_allclose((raw[0]["income"] - table["income"])[room], 7.5, atol=1e-4)
    took = raw[1]["housing"] == "own"
    assert took.mean() > 0.8  # whose limits across columns forbid it stay as they are
    assert (np.asarray(raw[1]["accounts"])[took] <= np.asarray(table["accounts"])[took]).all()
    assert (raw[2]["age"] == table["age"]).all()
    with pytest.raises(DataError, match=r"unknown column; got 'incom'.*'income'"):
        Edits.of(permits, [{"incom": 1.0}])


def test_the_best_candidate_may_be_to_stay():
    stay = CandidateAction(lambda x: jnp.stack([x - 1, x * jnp.nan]))
    better = CandidateAction(lambda x: jnp.stack([x - 1, x + 2, x + 1]))
    x = jnp.zeros(3)
    assert bool((stay(jnp.sum, x) == x).all())
    assert bool((better(jnp.sum, x) == x + 2).all())


def test_whatever_is_found_keeps_every_limit():
    clf, (table, _) = small_world.classifier(), small_world.people()
    encoder, model = clf.predictor_.encoder, clf.predictor_.decision.model
    permits, x = Permits.of(encoder), jnp.asarray(encoder.encode(table), jnp.float32)
    radius = jnp.asarray(0.3)
    actions = [LinearisedAction(permits, radius), GradientAction(permits, radius, 5, 3)]

    @eqx.filter_jit
    def ask(action, x):
        return jax.vmap(lambda row: action(lambda at: model.logits(at)[1] - model.logits(at)[0], row))(x)

    gains = []
    for action in actions:
        after = ask(action, x)
        rows = decode_recourse(encoder, np.asarray(after), as_table(table))
        broken = broken_limits(encoder, as_table(table), rows)
        assert [b for b in broken if b] == []
        before, now = (np.asarray(batch_logits(model, rows)) for rows in (x, after))
        gains.append(now[:, 1] - now[:, 0] - before[:, 1] + before[:, 0])
    assert gains[0].mean() > 0.5
    assert (gains[1] >= 0).all()
    assert gains[1].mean() >= gains[0].mean() - 0.05


def test_a_lattice_over_too_much_is_refused():
    permits = Permits.of(small_world.classifier().predictor_.encoder)
    with pytest.raises(DataError, match="few numbers that may change"):
        LatticeAction.of(permits, RADIUS, 21)
