"""Rows beside the generator's: where they come from, and what a generator finds by them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from holdtrue.encoding import Encoder, Permits
from holdtrue.models import CounterNet, CounterNetModel, Data, fit_many
from holdtrue.retraining import start_keys
from holdtrue.schema import Feature, Schema
from holdtrue.training import CounterNetTraining, HeadSettings, TrainingContext
from holdtrue.training.heads._proposals import mixtures, unlike

LEVELS = tuple("abcdefgh")
SCHEMA = Schema([
    Feature(name="u", kind="numeric", bounds=(0.0, 1.0)),
    Feature(name="c", kind="categorical", levels=LEVELS),
    Feature(name="d", kind="categorical", levels=("p", "q")),
])  # fmt: skip


def world(n: int = 600) -> tuple[Encoder, np.ndarray, np.ndarray]:
    """Level `h` is good and all others are bad, `a` to `g` alike; what else people have says nothing."""
    rng = np.random.default_rng(0)
    c = rng.choice(list(LEVELS), n, p=[0.22, *[0.1] * 6, 0.18])
    table = pd.DataFrame({"u": rng.uniform(size=n), "c": c, "d": rng.choice(["p", "q"], n)})
    encoder = Encoder.fit(SCHEMA, table)
    return encoder, np.asarray(encoder.encode(table), np.float32), (c == "h").astype(int)


def test_a_mixture_is_recourse_with_some_features_of_one_other_row():
    encoder, x, _ = world(40)
    layout, rows = encoder.layout, np.roll(x, 7, axis=0)
    target = np.arange(40) % 2
    wanted = jnp.asarray(target)
    tried = np.asarray(mixtures(jnp.asarray(rows), jnp.asarray(x), wanted, layout, 30, jax.random.key(0)))
    assert tried.shape == (30, *x.shape)
    others = 0
    for proposal in tried:
        for i, row in enumerate(proposal):
            peers = rows[target == target[i]]
            differing = [
                s for s in layout.slots if not np.array_equal(row[s.start : s.stop], rows[i, s.start : s.stop])
            ]
            columns = np.concatenate([np.arange(s.start, s.stop) for s in differing] or [np.zeros(0, int)])
            from_one = any(
                (pool[:, columns] == row[columns]).all(axis=1).any() for pool in (x[i : i + 1], peers, x)
            )
            assert from_one
            others += len(differing)
    assert 0.5 < others / (30 * 40) < 2.0  # a feature, sometimes more; some are the same in both rows


def test_unlike_is_cross_entropy_and_squares_and_has_slopes_where_the_level_has_no_share():
    encoder, x, _ = world(40)
    permits, wanted = Permits.of(encoder), jnp.asarray(x[:2])
    relaxed = wanted.at[:, 0].add(0.3).at[:, 1:9].set(1 / 8)
    far = jax.jit(unlike)
    got = np.asarray(far(relaxed, wanted, permits))
    np.testing.assert_allclose(got, 0.5 * 0.3**2 + np.log(8), rtol=1e-5)
    np.testing.assert_allclose(far(wanted, wanted, permits), 0.0, atol=1e-6)

    def of_scores(scores):
        share = jnp.concatenate([wanted[:1, :1], jax.nn.softmax(scores)[None], wanted[:1, 9:]], axis=1)
        return unlike(share, wanted[:1], permits)[0]

    level = int(np.argmax(x[0, 1:9]))
    scores = jnp.zeros(8).at[(level + 1) % 8].set(9.0)  # nearly all of the share is another level's
    assert float(jax.jit(jax.grad(of_scores))(scores)[level]) == pytest.approx(-1.0, abs=1e-2)


def test_with_proposals_a_generator_writes_the_cheapest_rows_that_brute_force_finds():
    encoder, x, y = world()
    permits, rows = Permits.of(encoder), Data(jnp.asarray(x), jnp.asarray(y), jnp.ones(len(y)))
    network = CounterNet(encoder=(8,), predictor=(), generator=(8,), dropout=0.0, head="codes")
    build_key, fit_key = start_keys(0)
    start, refused = network.build(encoder.n_columns, 2, build_key), x[y == 0][:100]
    # Sure at first of one level of each category, for everybody: slopes do not lead away from the needless change.
    last, sure = start.generator.network.biases[-1], jnp.asarray([1, 9])  # type: ignore[attr-defined]
    start = eqx.tree_at(lambda m: m.generator.network.biases[-1], start, last.at[sure].set(25.0))
    pairs = np.stack([np.concatenate([np.eye(8)[i], np.eye(2)[j]]) for i in range(8) for j in range(2)])
    context, cheapest = TrainingContext(permits, 1, n_rows=len(y)), {}
    for proposals in (0, 4):
        regime = CounterNetTraining(
            min_updates=400,
            n_epochs=1,
            batch_size=100,
            step_size=0.05,
            head=HeadSettings(wanted="favourable", proposals=proposals),
        )
        (model,) = fit_many(
            [start], [regime.step(context)], [rows], [fit_key], n_epochs=regime.epochs(len(y)), batch_size=100
        )
        assert isinstance(model, CounterNetModel)
        accepts = jax.jit(jax.vmap(lambda row, model=model: jnp.argmax(model.logits(row)) == 1))

        def hard(row, model=model):
            feasible = permits(row)
            return feasible.hard(model.generate(row, feasible, jnp.asarray(1)))[0]

        found = np.asarray(jax.jit(jax.vmap(hard))(jnp.asarray(refused)))
        assert np.asarray(accepts(jnp.asarray(found))).all()
        tried = np.concatenate([np.repeat(refused[:, None, :1], 16, 1), np.tile(pairs, (100, 1, 1))], axis=2)
        valid = np.asarray(accepts(jnp.asarray(tried.reshape(1600, -1), jnp.float32))).reshape(100, 16)
        changed = np.abs(tried[..., 1:] - refused[:, None, 1:]).sum(axis=2)
        least = np.where(valid, changed, np.inf).min(axis=1)
        cheapest[proposals] = np.mean(np.abs(found[:, 1:] - refused[:, 1:]).sum(axis=1) <= least + 1e-6)
    assert cheapest[4] > 0.95
    assert cheapest[0] < 0.8
