"""A recourse head keeps the schema's limits by construction, whatever its weights."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from holdtrue.encoding import Encoder, Feasible, Permits, broken_limits, decode_recourse, feasible_sets
from holdtrue.errors import DataError
from holdtrue.models import CounterNet, recourse_of
from holdtrue.schema import as_table
from holdtrue.testing import _world as world

SMALL = {"encoder": (8, 4), "predictor": (4,), "generator": (8,)}


@eqx.filter_jit
def hardened(feasible, rows):
    return feasible.each(Feasible.hard, rows)


@eqx.filter_jit
def generated(model, feasible, aim):
    return feasible.each(lambda own, target: model.generate(own.x, own, target), aim)


@pytest.fixture(scope="module")
def people():
    table, _ = world.people(120)
    encoder = Encoder.fit(world.PLAIN, as_table(table))
    return encoder, as_table(table), feasible_sets(encoder, as_table(table))


@pytest.mark.parametrize("head", ["residual", "codes", "row", "vae"])
@pytest.mark.parametrize("size", [1.0, 50.0])
def test_every_limit_holds_whatever_the_weights(people, head, size):
    encoder, table, feasible = people
    model = CounterNet(head=head, **SMALL).build(encoder.n_columns, 3, jax.random.key(5))
    model = jax.tree.map(lambda a: size * np.asarray(a) if eqx.is_inexact_array(a) else a, model)
    rows = np.asarray(generated(model, feasible, np.arange(120) % 3))
    x, movable = feasible.x, feasible.movable
    low = np.where(movable, np.minimum(feasible.lower, x), x)
    high = np.where(movable, np.maximum(feasible.upper, x), x)
    n = len(encoder.layout.numbers)
    assert (rows[:, :n] >= low[:, :n]).all()
    assert (rows[:, :n] <= high[:, :n]).all()
    for group in encoder.layout.groups:
        share = rows[:, group.start : group.stop]
        own = x[:, group.start : group.stop] > 0.5
        np.testing.assert_allclose(share.sum(axis=1), 1, atol=1e-5)
        assert (share[~(movable[:, group.start : group.stop] | own)] == 0).all()
    hard, ok = hardened(feasible, rows)
    assert bool(ok.all())
    got = decode_recourse(encoder, np.asarray(hard), table, None)
    assert [b for b in broken_limits(encoder, table, got, None) if b] == []
    assert (got.columns["age"] == table.columns["age"]).all()


def test_an_output_of_nothing_stays(people):
    """The change is what is written: an untrained generator's recourse is close to the person."""
    encoder, _, feasible = people

    def stays(f):
        return f.hard(recourse_of(jnp.full(encoder.n_columns, 0.04), f, residual=True))[0]

    np.testing.assert_array_equal(jax.jit(lambda sets: sets.each(stays))(feasible), feasible.x)


def test_limits_of_the_training_step_are_those_of_recourse(people):
    """`Permits`, which training asks, gives the same rows as `feasible_sets`, which people are answered by."""
    encoder, _, feasible = people
    permits = Permits.of(encoder)
    model = CounterNet(**SMALL).build(encoder.n_columns, 2, jax.random.key(1))
    x, aim = feasible.x, np.ones(120, int)
    one = generated(model, feasible, aim)
    other = jax.jit(jax.vmap(lambda row, t: model.generate(row, permits(row), t)))(x, aim)
    np.testing.assert_allclose(one, other, atol=2e-5)


def test_the_predictor_does_not_depend_on_the_head():
    models = [CounterNet(head=head, **SMALL).build(7, 2, jax.random.key(0)) for head in ("residual", "vae")]
    assert eqx.tree_equal(models[0].predictor, models[1].predictor)
    assert models[0].codes(jnp.ones(7)).shape == (8,)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(DataError, match="`head` must be"):
        CounterNet(head="both").build(3, 2, jax.random.key(0))  # type: ignore[arg-type]
    with pytest.raises(DataError, match="`encoder` needs"):
        CounterNet(encoder=()).build(3, 2, jax.random.key(0))
    with pytest.raises(DataError, match="`n_latent`"):
        CounterNet(head="vae", n_latent=0).build(3, 2, jax.random.key(0))
