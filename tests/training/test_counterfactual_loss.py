"""Losses of counterfactual training against sums and slopes worked out by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from holdtrue.metrics import implausibility
from holdtrue.models import MLP, LinearModel, batch_logits
from holdtrue.training import AdversarialTraining, Contrasts, CounterfactualTraining

from .blobs import FREE, TWO, blobs, context, contrasts

LOSS = eqx.filter_jit(lambda step, *args: step.loss(*args))
TERMS = eqx.filter_jit(lambda step, *args: step.terms(*args))


def contrasting(data, **options):
    weights = {"divergence_weight": 0.7, "adversarial_weight": 0.4, "ridge_weight": 0.2}
    step = CounterfactualTraining(**weights, **options).step(FREE)
    rng = np.random.default_rng(3)
    model = LinearModel(jnp.asarray(rng.normal(size=(2, 2)), jnp.float32), jnp.asarray([0.2, -0.1]))
    found, _ = contrasts(step, model, data, 20, jax.random.key(0))
    found = found._replace(mature=jnp.arange(20) % 3 > 0, weight=jnp.linspace(0.5, 2, 20))
    return step, model, data._replace(beside=found)


@pytest.mark.parametrize("immature", ["neighbour", "drop", "keep"])
def test_the_loss_is_equation_2(immature):
    step, model, batch = contrasting(blobs(TWO, 40), immature=immature)
    found = batch.beside

    def of(x, k):
        logits = np.asarray(x, np.float64) @ np.asarray(model.weight, np.float64).T + np.asarray(model.bias)
        logp = logits - np.logaddexp.reduce(logits, axis=1)[:, None]
        rows = np.arange(len(logits))
        return logits[rows, k], -logp[rows, k]

    k, w = np.asarray(found.target), np.asarray(found.weight) / np.asarray(found.weight).sum()
    ok = np.asarray(found.mature) if immature != "keep" else np.ones(20, bool)
    near, far = -of(found.neighbour, k)[0], -of(found.recourse, k)[0]
    divergence = (w * ok * (near - far)).sum()
    squares = np.where(ok, near**2 + far**2, 0 if immature == "drop" else 2 * near**2)
    adversarial = (w * of(found.nascent, np.asarray(found.label))[1]).sum()
    expected = of(batch.x, np.asarray(batch.y))[1].mean()
    expected += 0.7 * divergence + 0.4 * adversarial + 0.2 * (w * squares).sum()
    assert float(LOSS(step, model, batch, None, jnp.asarray(0))) == pytest.approx(expected, rel=1e-5)


def test_the_slopes_are_finite_differences():
    """The points stand still while the loss is differentiated."""
    step, model, batch = contrasting(blobs(TWO, 40))

    @eqx.filter_jit
    def loss(m):
        return step.loss(m, batch, None, jnp.asarray(0))

    slopes = eqx.filter_jit(eqx.filter_grad(loss))(model)
    h = 0.02
    for i in range(2):
        for j in range(2):
            way = np.zeros((2, 2), np.float32)
            way[i, j] = h
            weight = np.asarray(model.weight)
            up, down = (eqx.tree_at(lambda m: m.weight, model, moved) for moved in (weight + way, weight - way))
            secant = (float(loss(up)) - float(loss(down))) / (2 * h)
            assert float(slopes.weight[i, j]) == pytest.approx(secant, abs=2e-3)


def test_the_guard_forgives_what_was_held_only():
    step, model, batch = contrasting(blobs(TWO, 40))
    held = jnp.arange(20) % 2 == 0
    found = batch.beside._replace(mature=jnp.ones(20, bool), weight=jnp.ones(20), held=held)
    points = (found.neighbour, found.recourse)
    near, far = (-np.asarray(batch_logits(model, x))[np.arange(20), found.target] for x in points)
    farther = far < near
    assert (held & farther).any()
    assert (held & ~farther).any()
    stands = np.where(held & farther, near, far)
    divergence, _, ridge = TERMS(step, model, found, None)
    assert float(divergence) == pytest.approx((near - stands).mean(), rel=1e-4)
    assert float(ridge) == pytest.approx((near**2 + stands**2).mean(), rel=1e-4)
    divergence, _, ridge = TERMS(CounterfactualTraining(guard=False).step(FREE), model, found, None)
    assert float(divergence) == pytest.approx((near - far).mean(), rel=1e-4)
    assert float(ridge) == pytest.approx((near**2 + far**2).mean(), rel=1e-4)


def test_the_pull_is_the_distance_of_slopes_by_hand():
    where = context("free", "fixed", "free")
    data = blobs([(-1.0, -1.0, 0.5), (1.0, 1.0, -0.5)], n=40)
    step = CounterfactualTraining(pull_weight=1.0, pull=0.7).step(where)
    model = LinearModel(jnp.asarray([[0.3, -0.2, 0.5], [-0.1, 0.6, 0.2]]), jnp.asarray([0.0, 0.1]))
    found, _ = contrasts(step, model, data, 20, jax.random.key(0))
    at = (np.asarray(found.nascent) + np.asarray(found.recourse)) / 2
    mean = np.asarray(model.weight).mean(axis=0)
    off = (mean / 0.7 - np.sign(np.asarray(found.neighbour) - at)) ** 2
    off[:, 1] = (np.asarray(model.weight)[:, 1] ** 2).mean()
    assert float(eqx.filter_jit(step.misled)(model, found, None)) == pytest.approx(off.mean(), rel=1e-5)


def test_pulled_alone_the_mean_logit_falls_with_implausibility():
    """Told about points everywhere, its slope becomes that of -pull times eq. 6: at x, pull * (1 - 2 F(x))."""
    rng = np.random.default_rng(0)
    at, rows = jnp.asarray(rng.uniform(-3, 3, (2000, 1)), jnp.float32), rng.normal(size=(2000, 1))
    zeros, near = jnp.zeros(2000, jnp.int32), jnp.asarray(rows, jnp.float32)
    found = Contrasts(at, near, zeros + 1, at, zeros, zeros > 0, zeros > 0, jnp.ones(2000))
    step = CounterfactualTraining(pull_weight=1.0, pull=2.0).step(context("free"))
    model, adam = MLP(widths=(16,), activation="tanh").build(1, 2, jax.random.key(0)), optax.adam(0.01)

    @jax.jit
    def fitted(model):
        def one(carry, _):
            own, memory = carry
            slopes = jax.grad(lambda m: step.misled(m, found, None))(own)
            update, memory = adam.update(slopes, memory)
            return (optax.apply_updates(own, update), memory), None

        return jax.lax.scan(one, (model, adam.init(model)), None, length=1000)[0][0]

    model = fitted(model)
    at = np.linspace(-2.5, 2.5, 11)
    slope = jax.vmap(jax.grad(lambda z: jnp.mean(model.logits(z))))(jnp.asarray(at, jnp.float32)[:, None])[:, 0]
    away = [(implausibility([[a + 1e-2]], rows) - implausibility([[a - 1e-2]], rows))[0] / 2e-2 for a in at]
    np.testing.assert_allclose(slope, -2 * np.asarray(away), atol=0.4)
    assert np.corrcoef(slope, away)[0, 1] < -0.98


def test_the_adversary_is_that_of_adversarial_training():
    data = blobs(TWO, 40)
    ours = CounterfactualTraining(adversary="pgd", radius=0.3).step(FREE)
    theirs = AdversarialTraining(radius=0.3, attack="pgd", decay=False).step(FREE)
    model = MLP(widths=(8,)).build(2, 2, jax.random.key(0))
    expected = theirs.loss(model, data, None, jnp.asarray(0))
    assert float(ours.under_attack(model, data, None)) == pytest.approx(float(expected), rel=1e-6)
