"""Searches of counterfactual training against descent worked out by hand: in rows, and among codes."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import softmax

from holdtrue.encoding import Encoder, Permits
from holdtrue.models import MLP, Decision, LinearModel, Rows, batch_logits, build_vae
from holdtrue.schema import Feature, Schema
from holdtrue.training import CounterfactualTraining, StandardTraining, reachable_part

from .blobs import FREE, TWO, UNIT, blobs, context, contrasts, run, walk


@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize("search", ["generic", "eccco"])
def test_the_search_is_descent_by_hand(search, target):
    """Every iterate of a linear model's search in plain numpy: where it matures, and the last one that is near."""
    w, b = np.array([[-0.5, 0.3], [0.6, -0.2]]), np.array([0.1, -0.1])
    model = LinearModel(jnp.asarray(w, jnp.float32), jnp.asarray(b, jnp.float32))
    step = CounterfactualTraining(
        search=search, cost_weight=0.0, maturity=0.7, search_step_size=0.1, radius=0.25
    ).step(FREE)
    for x in (np.array([2.0, -1.0]), np.array([-1.0, 0.4]), np.array([-6.0, 5.0])):
        u, near, mature, end = x.copy(), x.copy(), False, None
        for t in range(31):
            logits = w @ u + b
            p = np.exp(logits - np.logaddexp.reduce(logits))
            if np.abs(u - x).max() <= 0.25:
                near = u.copy()
            if p[target] >= 0.7:
                mature, end = True, u.copy()
                break
            slope = p @ w - w[target]
            if search == "eccco":
                energy = -logits[target]
                slope = slope - 5.0 * 0.1 * (1 + t + 1) ** -0.9 * (1 + 0.002 * energy) * w[target]
            if t < 30:
                u = np.clip(u - 0.1 * slope, -8, 8)
        decision = Decision(model, jnp.asarray(0.5), 1)
        if np.argmax(w @ x + b) == target:
            continue  # never asked for: targets are other than what is decided
        path = walk(step.sampler, decision, FREE.permits, x.astype(np.float32), jnp.asarray(target))
        assert bool(path.mature) == mature
        np.testing.assert_allclose(path.nascent, near, atol=1e-4)
        np.testing.assert_allclose(path.recourse, u if end is None else end, atol=1e-4)


def test_people_targets_and_neighbours_of_three_classes():
    """Targets are uniform over the classes that are not decided; neighbours are rows of the target's class; rows
    of weight 0 are nobody's neighbour; nothing leaves the domain or moves what is held."""
    where = context("fixed", "increase", bounds=(-3, 3))
    data = blobs([(-2.0, 0.0), (2.0, 0.0), (0.0, 2.0)], n=300)
    data = data._replace(weight=data.weight.at[:50].set(0.0), x=data.x.at[:50].set(1e3))
    start = MLP(widths=(8,)).build(2, 3, jax.random.key(0))
    model, _ = run(StandardTraining(n_epochs=20, batch_size=50, step_size=0.02), data, where, start)
    step = CounterfactualTraining(n_recourses=250).step(where)
    found, _ = contrasts(step, model, data, 250, jax.random.key(3))
    decided = np.argmax(batch_logits(model, data.x[50:]), axis=1)
    counts = np.bincount(np.asarray(found.target), minlength=3)
    owed = [(np.asarray(decided) != k).sum() / 2 for k in range(3)]
    np.testing.assert_allclose(counts, owed, atol=4 * np.sqrt(250 / 4))
    assert (np.asarray(found.weight) == 1).all()
    assert np.abs(found.recourse).max() < 5
    # The fixed column is nobody's: the neighbour has taken the recourse's own, which is the factual's.
    factual = {tuple(np.round(row, 4)) for row in np.asarray(data.x[50:])}
    firsts = {row[0] for row in factual}
    assert {np.round(v, 4) for v in np.asarray(found.recourse[:, 0])} <= firsts
    np.testing.assert_array_equal(found.neighbour[:, 0], found.recourse[:, 0])
    assert (np.asarray(found.neighbour[:, 1]) >= np.asarray(found.recourse[:, 1])).all()
    free = CounterfactualTraining(n_recourses=250).step(context("free", "free", bounds=(-3, 3)))
    found, _ = contrasts(free, model, data, 250, jax.random.key(3))
    by_row = {tuple(row): int(k) for row, k in zip(np.asarray(data.x[50:]), data.y[50:], strict=True)}
    assert [by_row[tuple(row)] for row in np.asarray(found.neighbour)] == found.target.tolist()
    assert len({tuple(row) for row in np.asarray(found.neighbour)}) > 60
    mature = softmax(batch_logits(model, found.recourse), axis=1)[np.arange(250), found.target]
    assert (mature[np.asarray(found.mature)] >= 0.5 - 1e-5).all()
    assert np.asarray(found.mature).mean() > 0.5


def test_what_a_person_cannot_change_is_no_divergence():
    schema = Schema(
        [
            Feature(name="fixed", kind="numeric", bounds=(-8, 8), direction="fixed"),
            Feature(name="up", kind="numeric", bounds=(-8, 8), direction="increase"),
            Feature(name="down", kind="numeric", bounds=(-8, 8), direction="decrease"),
            Feature(name="free", kind="numeric", bounds=(-8, 8)),
            Feature(name="c", kind="categorical", levels=("a", "b", "d"), transitions={"a": ("b",)}),
        ]
    )
    rows = {**dict.fromkeys(("fixed", "up", "down", "free"), UNIT), "c": np.array(["a", "b"])}
    permits = Permits.of(Encoder.fit(schema, rows))
    x = jnp.asarray([0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    recourse = jnp.asarray([0.0, 0.5, -0.5, 1.0, 0.3, 0.7, 0.0])

    @jax.jit
    def reach(neighbour):
        return reachable_part(permits, permits(x), recourse, neighbour)

    def part(*neighbour):
        return reach(np.array(neighbour, np.float32)).tolist()

    keep = pytest.approx
    assert part(2.0, 2.0, -2.0, 2.0, 0.0, 1.0, 0.0) == keep([0.0, 2.0, -2.0, 2.0, 0.0, 1.0, 0.0])
    # Downwards for what only rises, upwards for what only falls, a level out of reach: as the recourse has it.
    assert part(2.0, 0.2, -0.2, -2.0, 0.0, 0.0, 1.0) == keep([0.0, 0.5, -0.5, -2.0, 0.3, 0.7, 0.0])
    assert part(2.0, 0.2, -0.2, -2.0, 1.0, 0.0, 0.0) == keep([0.0, 0.5, -0.5, -2.0, 1.0, 0.0, 0.0])


def test_the_last_step_is_halved_back_to_the_threshold():
    """A steep line: one step goes far beyond it, halvings of that step end on it, in the same direction."""
    model = LinearModel(jnp.asarray([[0.0, 0.0], [30.0, 40.0]]), jnp.asarray([0.0, 0.0]))
    decision = Decision(model, jnp.asarray(0.5), 1)
    sampler = CounterfactualTraining(search="generic", cost_weight=0.0, search_step_size=1.0).step(FREE).sampler
    x = jnp.asarray([-1.0, -1.0])
    far = walk(sampler, decision, FREE.permits, x, jnp.asarray(1))
    near = walk(dataclasses.replace(sampler, n_halvings=20), decision, FREE.permits, x, jnp.asarray(1))
    assert bool(far.mature)
    assert bool(near.mature)
    assert float(decision.margin(far.recourse, jnp.asarray(1))) > 100
    assert 0 < float(decision.margin(near.recourse, jnp.asarray(1))) < 0.05
    # The first step is along the weights, clipped at the bounds of 8.
    way = np.asarray(near.recourse - x) / np.asarray(far.recourse - x)
    assert way[0] == pytest.approx(way[1], rel=1e-3)


def test_revise_is_descent_among_codes_by_hand():
    where = context("free", "fixed")
    rows = Rows.weighted(where.permits.layout, jnp.ones(2), jnp.zeros(2), blobs(TWO).x, jnp.ones(200))
    vae = build_vae(rows, (8,), 2, (), jax.random.key(4))
    model = LinearModel(jnp.asarray([[-0.5, 0.3], [0.9, -0.2]]), jnp.asarray([0.1, -0.1]))
    decision = Decision(model, jnp.asarray(0.5), 1)
    step = CounterfactualTraining(
        search="revise", maturity=0.6, n_steps=40, search_step_size=0.1, radius=0.4, cost_weight=0.01
    ).step(where)
    sampler = dataclasses.replace(step.sampler, autoencoder=vae)
    x = jnp.asarray([-1.0, -1.0])

    def objective(z):
        row = jnp.asarray([vae.decode(z, x)[0], x[1]])  # the second feature is held
        logits = model.logits(row)
        return -jax.nn.log_softmax(logits)[1] + 0.01 * jnp.sum(jnp.abs(row - x)), row

    z, near, mature = vae.encode(x), x, False
    slope = jax.jit(jax.value_and_grad(objective, has_aux=True))
    for _ in range(41):
        (_, row), g = slope(z)
        near = row if float(jnp.abs(row - x).max()) <= 0.4 else near
        if float(jax.nn.softmax(model.logits(row))[1]) >= 0.6:
            mature = True
            break
        z = z - 0.1 * g
    path = walk(sampler, decision, where.permits, x, jnp.asarray(1))
    assert bool(path.mature) == mature
    np.testing.assert_allclose(path.recourse, row, atol=1e-4)
    np.testing.assert_allclose(path.nascent, near, atol=1e-4)


def test_revise_learns_the_rows_before_the_first_epoch():
    """The autoencoder gives rows of positive weight back better than their mean; others leave no trace."""
    data = blobs([(-2.0, 1.0), (2.0, -1.0)])
    spoiled = data._replace(x=data.x.at[:20].set(1e3), weight=data.weight.at[:20].set(0.0))
    step = CounterfactualTraining(search="revise").step(FREE)
    ready = eqx.filter_jit(lambda d: step.prepare(d, jax.random.key(0)).sampler.autoencoder)(spoiled)
    back = jax.jit(jax.vmap(lambda row: ready.decode(ready.encode(row), row)))(data.x[20:])
    assert float(jnp.mean((back - data.x[20:]) ** 2)) < 0.5 * float(jnp.mean(jnp.var(data.x[20:], axis=0)))
