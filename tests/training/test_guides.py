"""Guides: what each of them sees, and what recourse is worth that pleases them."""

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from holdfast.encoding import Encoder, Permits
from holdfast.errors import DataError
from holdfast.models import MLP, CounterNet, Data, fit_many
from holdfast.schema import Feature, Schema
from holdfast.training import CounterNetTraining, RoCourseNet, Setting
from holdfast.training._codes import Renumbering, hidden

SCHEMA = Schema([
    Feature(name="u", kind="numeric", bounds=(0.0, 1.0)),
    Feature(name="c", kind="categorical", levels=("a", "b", "c")),
    Feature(name="d", kind="categorical", levels=("p", "q")),
])  # fmt: skip
TABLE = pd.DataFrame({"u": [0.0, 1.0, 0.4], "c": ["a", "c", "b"], "d": ["p", "q", "q"]})


def setting() -> Setting:
    return Setting(Permits.of(Encoder.fit(SCHEMA, TABLE)), 1)


@pytest.mark.parametrize(("blind", "told_c", "told_d"), [(0.0, 4, 4), (0.5, 2, 2), (1.0, 0, 0)])
def test_a_share_of_the_guides_never_sees_a_category(blind, told_c, told_d):
    guides: Any = RoCourseNet(attacker="guides", n_guides=4, n_held=0, blind=blind).step(setting()).attacker
    predictor = MLP(widths=(8,)).build(6, 2, jax.random.key(0))
    judges = guides.judges(guides.init(predictor), SimpleNamespace(predictor=predictor), jax.random.key(1))
    person = jnp.asarray([0.3, 1, 0, 0, 1, 0.0])
    other_c, other_d = jnp.asarray([0.3, 0, 1, 0, 1, 0.0]), jnp.asarray([0.3, 1, 0, 0, 0, 1.0])
    other_u = jnp.asarray([0.9, 1, 0, 0, 1, 0.0])

    def differing(row):
        return int(np.sum(np.abs(np.asarray(judges(row) - judges(person))).max(axis=1) > 1e-6))

    assert (differing(other_c), differing(other_d), differing(other_u)) == (told_c, told_d, 4)


def test_a_share_is_a_share():
    with pytest.raises(DataError, match=r"`blind` is a share from 0 to 1; got 1\.5"):
        RoCourseNet(attacker="guides", blind=1.5).step(setting())


@pytest.mark.parametrize("scaling", ["minmax", "standard-all"])
def test_a_renumbering_moves_levels_and_nothing_else(scaling):
    """Every reader takes another level's meaning for each level, any other equally often; numbers stay."""
    encoder = Encoder.fit(SCHEMA, TABLE, scaling=scaling)
    permits, x = Permits.of(encoder), jnp.asarray(encoder.encode(TABLE), jnp.float32)
    codings = Renumbering.draw(permits, jnp.asarray(1.0), 400, jax.random.key(0))
    read = np.asarray(jax.vmap(codings.read)(x) * permits.scale + permits.offset)
    raw = np.asarray(x * permits.scale + permits.offset)
    np.testing.assert_array_equal(read[..., 0], np.repeat(raw[:, :1], 400, axis=1))
    for group in permits.layout.groups:
        levels, own = read[..., group.start : group.stop], raw[:, group.start : group.stop]
        np.testing.assert_allclose(levels.max(axis=-1), 1.0, atol=1e-5)
        np.testing.assert_allclose(levels.sum(axis=-1), 1.0, atol=1e-5)
        kept = levels.argmax(axis=-1) == own.argmax(axis=-1)[:, None]
        assert not kept.any()
        counts = np.bincount(levels.argmax(axis=-1)[0], minlength=group.stop - group.start)
        others = np.delete(counts, own[0].argmax())
        assert others.min() > 0.85 * others.mean()
    none = Renumbering.draw(permits, jnp.asarray(0.0), 3, jax.random.key(0)).read(x[0])
    np.testing.assert_array_equal(none, np.repeat(x[:1], 3, axis=0))


def test_hidden_levels_are_shares():
    layout = Permits.of(Encoder.fit(SCHEMA, TABLE)).layout
    x = jnp.asarray([[0.1, 1, 0, 0, 1, 0], [0.2, 0, 1, 0, 1, 0], [0.3, 0, 0, 1, 0, 1]], jnp.float32)
    batch = Data(x, jnp.zeros(3, int), jnp.asarray([1.0, 3.0, 0.0]))
    all_hidden = np.asarray(hidden(batch, layout, jnp.asarray(1.0), jax.random.key(0)))
    np.testing.assert_allclose(all_hidden, np.c_[[0.1, 0.2, 0.3], np.tile([0.25, 0.75, 0, 1, 0], (3, 1))], atol=1e-6)
    np.testing.assert_array_equal(hidden(batch, layout, jnp.asarray(0.0), jax.random.key(0)), x)


def people(n=400, seed=0):
    """A number that decides more than a category with two levels; a change of category is much the cheaper."""
    rng = np.random.default_rng(seed)
    u, good = rng.uniform(size=n), rng.integers(0, 2, n)
    y = (u - 0.5 + 0.2 * (2 * good - 1) + 0.03 * rng.normal(size=n) > 0).astype(np.int32)
    return {"u": u, "d": np.where(good, "q", "p")}, y


@pytest.fixture(scope="module")
def codings():
    """Models of the table, without and with guides that renumber, and of the same with the two codes exchanged."""
    schema = Schema([
        Feature(name="u", kind="numeric", bounds=(0.0, 1.0)),
        Feature(name="d", kind="categorical", levels=("p", "q"), cost_weight=0.02),
    ])  # fmt: skip
    columns, y = people()
    swapped, other_y = people(seed=1)
    swapped["d"] = np.where(swapped["d"] == "q", "p", "q")
    encoder = Encoder.fit(schema, columns)
    own, other = (
        Data(jnp.asarray(encoder.encode(c), jnp.float32), jnp.asarray(t), jnp.ones(len(t)))
        for c, t in ((columns, y), (swapped, other_y))
    )
    where = Setting(Permits.of(encoder), 1, n_rows=len(y))
    options = {"attacker": "guides", "n_guides": 3, "n_held": 0, "min_updates": 400, "n_epochs": 1,
               "batch_size": 100, "step_size": 0.01, "margin": 2.0, "cost_weight": 0.1}  # fmt: skip
    steps = [RoCourseNet(**options, renumber=share).step(where) for share in (0.0, 1.0, 0.0)]  # type: ignore[arg-type]
    net = CounterNet(encoder=(16, 8), predictor=(8,), generator=(16,), dropout=0.0)
    starts = [net.build(3, 2, jax.random.key(0))] * 3
    keys = [jax.random.key(1)] * 3
    return fit_many(starts, steps, [own, own, other], keys, n_epochs=100, batch_size=100), where, own


def test_recourse_that_outweighs_a_renumbered_category_holds_under_the_other_coding(codings):
    """Whoever can be helped by the category alone is, cheaply, and refused under the other coding; with guides that
    read it both ways the number is what changes, and both models accept."""
    (plain, renumbered, other), where, data = codings

    def asked(model: Any) -> tuple[float, float, float]:
        wanted = 1 - jnp.argmax(jax.vmap(model.logits)(data.x), axis=1)

        def written(row: Any, aim: Any) -> Any:
            feasible = where.permits(row)
            return feasible.hard(model.generate(row, feasible, aim))[0]

        rows = jax.vmap(written)(data.x, wanted)
        own, there = (jnp.argmax(jax.vmap(m.logits)(rows), axis=1) == wanted for m in (model, other))
        return float(own.mean()), float(there.mean()), float(jnp.abs(rows - data.x)[:, 0].mean())

    own, there, moved = asked(plain)
    assert own > 0.98
    assert there < 0.6
    own, there, moved_more = asked(renumbered)
    assert own > 0.98
    assert there > 0.95
    assert moved_more > moved + 0.15


def test_a_predictor_that_is_told_a_category_less_often_leans_on_it_less():
    """The label is the category, but for a number that tells it three times in four."""
    rng = np.random.default_rng(0)
    good = rng.integers(0, 2, 400)
    u = np.where(rng.uniform(size=400) < 0.75, good, 1 - good) * 0.5 + rng.uniform(0, 0.5, 400)
    schema = Schema([
        Feature(name="u", kind="numeric", bounds=(0.0, 1.0)), Feature(name="d", kind="categorical", levels=("p", "q")),
    ])  # fmt: skip
    columns = {"u": u, "d": np.where(good, "q", "p")}
    encoder = Encoder.fit(schema, columns)
    x = jnp.asarray(encoder.encode(columns), jnp.float32)
    data, where = Data(x, jnp.asarray(good), jnp.ones(400)), Setting(Permits.of(encoder), 1, n_rows=400)
    leaning = {}
    for hide in (0.0, 0.8):
        start = CounterNet(encoder=(8,), predictor=(), generator=(8,), dropout=0.0).build(3, 2, jax.random.key(0))
        regime = CounterNetTraining(hide=hide, n_epochs=40, min_updates=0, batch_size=100, step_size=0.02)
        model, _ = regime.train(start, data, jax.random.key(1), setting=where)
        gap = jax.vmap(lambda row, m=model: m.logits(row)[1] - m.logits(row)[0])
        by_number = gap(x.at[:, 0].set(1.0)) - gap(x.at[:, 0].set(0.0))
        by_level = gap(x.at[:, 1:].set(jnp.asarray([0.0, 1.0]))) - gap(x.at[:, 1:].set(jnp.asarray([1.0, 0.0])))
        leaning[hide] = float(by_number.mean() / by_level.mean())
    assert leaning[0.8] > 2 * leaning[0.0] > 0
