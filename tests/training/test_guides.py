"""Guides: what each of them sees, and what recourse is worth that pleases them."""

from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from holdtrue.encoding import Encoder, Permits
from holdtrue.models import MLP, CounterNet, Data, fit_many
from holdtrue.schema import Feature, Schema
from holdtrue.training import Guides, HeadSettings, RoCourseNet, TrainingContext
from holdtrue.training.heads._codes import Renumbering, hidden
from holdtrue.training.heads._tally import Tally

SCHEMA = Schema([
    Feature(name="u", kind="numeric", bounds=(0.0, 1.0)),
    Feature(name="c", kind="categorical", levels=("a", "b", "c")),
    Feature(name="d", kind="categorical", levels=("p", "q")),
])  # fmt: skip
TABLE = pd.DataFrame({"u": [0.0, 1.0, 0.4], "c": ["a", "c", "b"], "d": ["p", "q", "q"]})


def context() -> TrainingContext:
    return TrainingContext(Permits.of(Encoder.fit(SCHEMA, TABLE)), 1)


@pytest.mark.parametrize(("blind", "told_c", "told_d"), [(0.0, 4, 4), (0.5, 2, 2), (1.0, 0, 0)])
def test_a_share_of_the_guides_never_sees_a_category(blind, told_c, told_d):
    guides = Guides(n_guides=4, n_held=0, blind=blind).panel(context(), RoCourseNet())
    predictor = MLP(widths=(8,)).build(6, 2, jax.random.key(0))
    scene: Any = SimpleNamespace(predictor=predictor, tally=Tally.begin(guides.permits))
    judges = jax.jit(guides.judges(guides.init(predictor), scene, jax.random.key(1)))
    person = jnp.asarray([0.3, 1, 0, 0, 1, 0.0])
    other_c, other_d = jnp.asarray([0.3, 0, 1, 0, 1, 0.0]), jnp.asarray([0.3, 1, 0, 0, 0, 1.0])
    other_u = jnp.asarray([0.9, 1, 0, 0, 1, 0.0])

    def differing(row):
        return int(np.sum(np.abs(np.asarray(judges(row) - judges(person))).max(axis=1) > 1e-6))

    assert (differing(other_c), differing(other_d), differing(other_u)) == (told_c, told_d, 4)


def test_guides_have_a_decay_of_their_own_and_judge_by_their_mean_weights():
    """Nothing to learn from, so that weights only shrink: by (1 - step size * decay) at every update."""
    predictor = MLP(widths=(8,)).build(6, 2, jax.random.key(0))
    nobody = Data(jnp.zeros((4, 6)), jnp.zeros(4, int), jnp.zeros(4))

    def factor(weight_decay: float | None = None, average: float = 0.0) -> np.ndarray:
        guides = Guides(n_guides=2, n_held=0, weight_decay=weight_decay)
        regime = RoCourseNet(attacker=guides, step_size=0.1, weight_decay=3.0, head=HeadSettings(average=average))
        step = regime.step(context())
        first = step.panel.init(predictor)
        tally = Tally.begin(step.context.permits)
        learn = eqx.filter_jit(lambda *state: step.panel.learn(*state, step.prediction_losses, jax.random.key(1)))
        after = learn(first, predictor, nobody, tally)
        return np.asarray([after[i].weights[0] / first[i].weights[0] for i in range(2)])

    assert factor() == pytest.approx(0.7, rel=1e-5)
    mean, latest = factor(weight_decay=1.0, average=1.0)
    assert latest == pytest.approx(0.9, rel=1e-5)
    assert mean == pytest.approx(0.95, rel=1e-5)


@pytest.mark.parametrize("scaling", ["minmax", "standard-all"])
def test_a_renumbering_moves_levels_and_nothing_else(scaling):
    """Every reader takes another level's meaning for each level, any other equally often; numbers stay."""
    encoder = Encoder.fit(SCHEMA, TABLE, scaling=scaling)
    permits, x = Permits.of(encoder), jnp.asarray(encoder.encode(TABLE), jnp.float32)
    codings = Renumbering.draw(permits, jnp.asarray(1.0), 400, jax.random.key(0))
    read = np.asarray(jax.jit(jax.vmap(codings.read))(x) * permits.scale + permits.offset)
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
    np.testing.assert_allclose(
        all_hidden, np.c_[[0.1, 0.2, 0.3], np.tile([0.25, 0.75, 0, 1, 0], (3, 1))], atol=1e-6
    )
    np.testing.assert_array_equal(hidden(batch, layout, jnp.asarray(0.0), jax.random.key(0)), x)


def people(seed=0):
    """A number that decides more than a category with two levels."""
    rng = np.random.default_rng(seed)
    u, good = rng.uniform(size=400), rng.integers(0, 2, 400)
    y = (u - 0.5 + 0.2 * (2 * good - 1) + 0.03 * rng.normal(size=400) > 0).astype(np.int32)
    return {"u": u, "d": np.where(good, "q", "p")}, y


def doubled():
    """The label is the category, and a number tells it three times in four."""
    rng = np.random.default_rng(2)
    good = rng.integers(0, 2, 400)
    told = np.where(rng.uniform(size=400) < 0.75, good, 1 - good)
    return {"u": 0.5 * told + rng.uniform(0, 0.5, 400), "d": np.where(good, "q", "p")}, good.astype(np.int32)


@pytest.fixture(scope="module")
def fitted():
    """Five models by one program: of `people` without and with guides that renumber, of other people whose two
    codes are exchanged, and of `doubled` by predictors that are always, and seldom, told the category."""
    schema = Schema([
        Feature(name="u", kind="numeric", bounds=(0.0, 1.0)),
        Feature(name="d", kind="categorical", levels=("p", "q"), cost_weight=0.02),
    ])  # fmt: skip
    swapped, swapped_y = people(seed=1)
    swapped["d"] = np.where(swapped["d"] == "q", "p", "q")
    encoder = Encoder.fit(schema, people()[0])
    tables = [
        Data(jnp.asarray(encoder.encode(columns), jnp.float32), jnp.asarray(y), jnp.ones(400))
        for columns, y in (people(), people(), (swapped, swapped_y), doubled(), doubled())
    ]
    where = TrainingContext(Permits.of(encoder), 1, n_rows=400)
    shares = ((0.0, 1e-9), (1.0, 1e-9), (0.0, 1e-9), (0.0, 1e-9), (0.0, 0.8))
    guides = [Guides(n_guides=2, n_held=0, tilt=1.0, renumber=renumber) for renumber, _ in shares]
    steps = [
        RoCourseNet(attacker=attacker, head=HeadSettings(cost_weight=2.0, hide=hide), step_size=0.01).step(where)
        for attacker, (_, hide) in zip(guides, shares, strict=True)
    ]
    network = CounterNet(encoder=(16,), predictor=(), generator=(16,), dropout=0.0)
    starts = [network.build(3, 2, jax.random.key(0))] * 5
    models = fit_many(starts, steps, tables, [jax.random.key(1)] * 5, n_epochs=75, batch_size=100)
    return models, where, tables[0].x, tables[3].x


def test_recourse_that_outweighs_a_renumbered_category_holds_under_the_other_coding(fitted):
    """A change of category is much the cheaper, and worth nothing under the other coding; with guides that read it
    otherwise the number is what changes, and both models accept."""
    (plain, renumbered, other, *_), where, x, _ = fitted

    def asked(model: Any) -> tuple[float, float, float]:
        wanted = 1 - jnp.argmax(jax.vmap(model.logits)(x), axis=1)

        def written(row: Any, aim: Any) -> Any:
            feasible = where.permits(row)
            return feasible.hard(model.generate(row, feasible, aim))[0]

        rows = jax.jit(jax.vmap(written))(x, wanted)
        own, there = (jnp.argmax(jax.vmap(m.logits)(rows), axis=1) == wanted for m in (model, other))
        return float(own.mean()), float(there.mean()), float(jnp.abs(rows - x)[:, 0].mean())

    own, there, moved = asked(plain)
    assert own > 0.95
    assert there < 0.5
    own, there, moved_more = asked(renumbered)
    assert own > 0.95
    assert there > 0.95
    assert moved_more > moved + 0.15


def test_a_predictor_that_is_seldom_told_a_category_knows_what_the_rest_tells(fitted):
    """Without the category the number is right three times in four, and so sure the predictor is."""
    (*_, always, seldom), _, _, x = fitted
    untold = x.at[:, 1:].set(x[:, 1:].mean(axis=0))
    chance = np.asarray(jax.vmap(lambda row: jax.nn.softmax(seldom.logits(row))[1])(untold))
    high = np.asarray(x[:, 0]) > 0.5
    assert 0.65 < chance[high].mean() < 0.85
    assert 0.15 < chance[~high].mean() < 0.35

    def by_level(model: Any) -> float:
        ends = (x.at[:, 1:].set(jnp.asarray(level)) for level in ([0.0, 1.0], [1.0, 0.0]))
        high, low = (jax.vmap(lambda row: jnp.diff(model.logits(row))[0])(end) for end in ends)
        return float((high - low).mean())

    assert 1.0 < by_level(seldom) < 0.8 * by_level(always)
