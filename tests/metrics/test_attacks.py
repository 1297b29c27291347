"""Attacks against closed forms, and against a search over the whole ball."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from holdtrue.metrics import collapse_radius, fgsm, linear_rise, pgd, robust_accuracy, withstands
from holdtrue.models import MLP, Decision, LinearModel, MLPModel

RADIUS = 0.3


def linear_decision(seed=0, d=6, favourable=1):
    weight = np.random.default_rng(seed).normal(size=(2, d)).astype(np.float32)
    return Decision(LinearModel(jnp.asarray(weight), jnp.asarray([0.2, -0.1])), jnp.asarray(0.5), favourable)


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("held", [(), (0, 3)])
def test_on_a_linear_loss_both_attacks_reach_the_dual_norm(norm, held):
    rng = np.random.default_rng(1)
    w, x = (jnp.asarray(rng.normal(size=6), jnp.float32) for _ in range(2))
    mask = np.ones(6, np.float32)
    mask[list(held)] = 0
    moved = np.asarray(w) * mask
    truth = RADIUS * (np.abs(moved).sum() if norm == "linf" else np.linalg.norm(moved))
    options = {"norm": norm, "movable": jnp.asarray(mask)}
    assert float(linear_rise(w, RADIUS, **options)) == pytest.approx(truth, rel=1e-5)
    for attack, short in (
        (lambda x: fgsm(lambda at: w @ at, x, RADIUS, **options), 1e-4),
        (lambda x: pgd(lambda at: w @ at, x, RADIUS, **options), 1e-4),
        # On the sphere each step turns by a share of the angle that is left: exp(-2.5) of it, at most 0.13 in
        # radians, remains in the end, which costs 1 - cos(0.13) of the rise.
        (lambda x: pgd(lambda at: w @ at, x, RADIUS, jax.random.key(0), n_restarts=3, **options), 0.01),
    ):
        attacked = jax.jit(attack)(x)
        assert truth * (1 - short) <= float(w @ attacked - w @ x) <= truth * (1 + 1e-4)
        change = np.asarray(attacked - x)
        assert (change[list(held)] == 0).all()
        assert np.linalg.norm(change, ord=np.inf if norm == "linf" else 2) <= RADIUS * (1 + 1e-5)


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_pgd_finds_what_a_grid_over_the_ball_finds(norm):
    """Two columns, so that the whole ball can be asked; a curved loss with several local maxima."""
    model = MLP(widths=(16,)).build(2, 2, jax.random.key(3))
    model = jax.tree.map(lambda leaf: 3 * leaf, model)

    @jax.jit
    def loss(at):
        logits = model.logits(at)
        return logits[0] - logits[1] + jnp.sin(4 * at[0]) * jnp.cos(3 * at[1])

    x = jnp.asarray([0.1, -0.2])
    side = np.linspace(-1.0, 1.0, 401)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    if norm == "l2":
        grid = grid[np.sum(grid**2, axis=1) <= 1]
    truth = float(np.max(jax.jit(jax.vmap(loss))((np.asarray(x) + grid).astype(np.float32))))
    attack = jax.jit(lambda key: pgd(loss, x, 1.0, key, norm=norm, n_steps=100, n_restarts=20))
    found = attack(jax.random.key(0))
    assert float(loss(found)) >= truth - 0.01 * abs(truth)
    assert float(loss(found)) <= truth + 0.01 * abs(truth)
    assert float(loss(found)) >= float(loss(jax.jit(lambda at: fgsm(loss, at, 1.0, norm=norm))(x))) - 1e-5


def test_a_flat_loss_is_left_alone_and_differentiable():
    x = jnp.ones(3)
    for norm in ("linf", "l2"):
        np.testing.assert_array_equal(fgsm(lambda at: 0.0 * jnp.sum(at), x, RADIUS, norm=norm), x)
        slope = jax.grad(lambda w, norm=norm: linear_rise(w, RADIUS, norm=norm))(jnp.zeros(3))
        np.testing.assert_array_equal(slope, jnp.zeros(3))


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("favourable", [0, 1])
def test_robust_accuracy_of_a_linear_model_is_exact(norm, favourable):
    """By the distance to the boundary, and the same by attacking what is not known to be linear."""
    decision = linear_decision(favourable=favourable)
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 6)).astype(np.float32)
    y = rng.integers(0, 2, 300)
    w = np.asarray(decision.model.weight[1] - decision.model.weight[0])
    score = x @ w - 0.3
    distance = np.where(y == 1, score, -score) / (np.abs(w).sum() if norm == "linf" else np.linalg.norm(w))
    assert robust_accuracy(decision, x, y, RADIUS, norm=norm) == pytest.approx((distance > RADIUS).mean())
    assert robust_accuracy(decision, x, y, 0.0, norm=norm) == pytest.approx((distance > 0).mean())

    layered = MLPModel((decision.model.weight,), (decision.model.bias,), "relu", 0.0)
    hidden = Decision(layered, decision.threshold, favourable)
    held = withstands(hidden, jnp.asarray(x), jnp.asarray(y), RADIUS, jax.random.key(0), norm=norm, n_steps=80)
    np.testing.assert_array_equal(held, distance > RADIUS)


def test_robust_accuracy_falls_with_the_radius_and_with_effort():
    model = MLP(widths=(32,)).build(5, 2, jax.random.key(0))
    decision = Decision(jax.tree.map(lambda leaf: 2 * leaf, model), jnp.asarray(0.5), 1)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 5)).astype(np.float32)
    y = np.asarray(jax.vmap(lambda row: decision.decide_of(model.logits(row)))(jnp.asarray(x)))
    shares = [robust_accuracy(decision, x, y, r, n_restarts=2) for r in (0.0, 0.05, 0.1, 0.3)]
    assert shares[0] == pytest.approx(1.0)
    assert shares[0] > shares[1] > shares[2] > shares[3]
    assert robust_accuracy(decision, x, y, 0.3, n_steps=1) >= shares[3]


def test_collapse_radius_is_half_the_gap_of_the_means():
    rng = np.random.default_rng(0)
    y = np.array([0, 0, 0, 1, 1])
    x = rng.normal(size=(5, 3))
    gap = x[3:].mean(axis=0) - x[:3].mean(axis=0)
    assert collapse_radius(x, y) == pytest.approx(np.abs(gap).max() / 2)
    assert collapse_radius(x, y, norm="l2") == pytest.approx(np.linalg.norm(gap) / 2)
    assert collapse_radius(x, y, movable=np.array([1, 1, 0])) == np.inf
    twice = np.array([1.0, 2, 1, 1, 1])
    assert collapse_radius(x, y, weight=twice) == pytest.approx(
        collapse_radius(x[[0, 1, 1, 2, 3, 4]], y[[0, 1, 1, 2, 3, 4]])
    )
