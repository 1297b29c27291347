"""The kernel of a wide ReLU network against draws of its units, finite differences and a trained network."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import holdtrue as ht
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models import (
    NTK,
    Data,
    NTKModel,
    double_precision,
    in_double,
    kernel_ridge,
    ntk,
    ntk_matrix,
    nystroem,
)
from holdtrue.retraining import retrain
from holdtrue.testing import _world as world
from holdtrue.training import AbstractRegime, CrossEntropyStep, StandardTraining


def rows(n: int, d: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x, np.where(x[:, 0] + 0.5 * x[:, 1] ** 2 + 0.3 * rng.normal(size=n) > 0.3, 1.0, -1.0)


def solved(x: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None, **options) -> NTKModel:
    weight = np.ones(len(x)) if weight is None else weight
    data = Data(jnp.asarray(x, jnp.float32), jnp.asarray(y > 0, jnp.int32), jnp.asarray(weight, jnp.float32))
    return NTK(**options).build(x.shape[1], 2, jax.random.key(0)).solve(data, jax.random.key(1))[0]


def score(model: NTKModel, x: np.ndarray) -> np.ndarray:
    logits = np.asarray(jax.vmap(model.logits)(jnp.asarray(x, jnp.float32)), np.float64)
    return logits[:, 1] - logits[:, 0]


# ---- the kernel ----------------------------------------------------------------------------------------


def test_kernel_is_the_mean_over_random_units() -> None:
    """E[x'z 1{w'x > 0} 1{w'z > 0}] over normal w, within four standard errors."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 6, 4))
    z[0], z[1] = 2 * x[0], -x[1]  # the same direction, and the opposite one
    units = rng.normal(size=(400_000, 4))
    both = (units @ x.T > 0)[:, :, None] & (units @ z.T > 0)[:, None, :]
    share, product = both.mean(axis=0), x @ z.T
    error = np.abs(product) * np.sqrt(share * (1 - share) / len(units))
    assert (np.abs(ntk_matrix(x, z) - product * share) <= 4 * error + 1e-9).all()


def test_kernel_of_a_row_with_itself_is_half_its_square() -> None:
    x, _ = rows(7)
    np.testing.assert_allclose(np.diag(ntk_matrix(x, x)), np.sum(x**2, axis=1) / 2, rtol=1e-12)
    single = jax.vmap(lambda row: ntk(row, row[None])[0])(jnp.asarray(x, jnp.float32))
    np.testing.assert_allclose(single, np.sum(x**2, axis=1) / 2, rtol=1e-6)


def test_kernel_is_positive_semidefinite() -> None:
    x, _ = rows(60)
    assert np.linalg.eigvalsh(ntk_matrix(x, x)).min() > 0


def test_gradient_is_that_of_finite_differences() -> None:
    x, y = rows(50)
    model = solved(x, y, constant=0.7)
    with double_precision():
        double = in_double(model)
        f = jax.jit(lambda at: double.logits(at)[1])
        for at in rows(4, seed=1)[0]:
            secant = [(f(at + e) - f(at - e)) / 2e-6 for e in 1e-6 * np.eye(5)]
            np.testing.assert_allclose(jax.grad(f)(jnp.asarray(at)), secant, rtol=1e-6, atol=1e-8)


def test_on_a_training_row_the_gradient_is_the_mean_of_both_sides() -> None:
    with double_precision():
        z, side = jnp.asarray([1.0, 0.0, 2.0]), jnp.asarray([0.3, 1.0, 0.1])
        f = lambda t: ntk(z + t * side, z[None])[0]  # noqa: E731
        after, before = (f(1e-5) - f(0.0)) / 1e-5, (f(0.0) - f(-1e-5)) / 1e-5
        assert after < before - 0.1  # a kink
        assert float(jax.grad(f)(0.0)) == pytest.approx(float(after + before) / 2, abs=1e-4)
    zero = jax.grad(lambda at: ntk(at, jnp.eye(3))[0])(jnp.zeros(3))
    assert np.isfinite(zero).all()


# ---- the solution --------------------------------------------------------------------------------------


def test_dual_weights_solve_the_equations() -> None:
    x, y = rows(40)
    kernel = ntk_matrix(x, x)
    alpha = kernel_ridge(kernel, y, 0.3)
    np.testing.assert_allclose((kernel + 0.3 * np.eye(40)) @ alpha, y, atol=1e-10)
    model = solved(x.astype(np.float32), y, beta=0.3)
    f = ntk_matrix(rows(20, seed=2)[0], x) @ alpha
    np.testing.assert_allclose(score(model, rows(20, seed=2)[0]), f, atol=2e-4)


def test_a_weight_of_two_is_a_row_twice_and_of_zero_is_none() -> None:
    x, y = rows(30)
    weight = np.ones(30)
    weight[3], weight[7] = 2, 0
    some = np.repeat(np.arange(30), weight.astype(int))
    at = rows(10, seed=3)[0]
    np.testing.assert_allclose(score(solved(x, y, weight), at), score(solved(x[some], y[some]), at), atol=1e-4)
    spoiled = x.copy()
    spoiled[7] = 50
    np.testing.assert_allclose(score(solved(spoiled, y, weight), at), score(solved(x, y, weight), at), atol=1e-5)


def test_without_a_constant_the_score_is_homogeneous() -> None:
    x, y = rows(30)
    at = rows(5, seed=3)[0]
    np.testing.assert_allclose(score(solved(x, y), 3 * at), 3 * score(solved(x, y), at), atol=1e-4)
    assert (
        np.abs(score(solved(x, y, constant=1.0), 3 * at) - 3 * score(solved(x, y, constant=1.0), at)).max() > 0.1
    )


def test_people_on_one_ray_need_the_constant() -> None:
    x = np.linspace(0.1, 1, 40)[:, None] * np.ones((1, 3))
    y = np.where(x[:, 0] > 0.5, 1.0, -1.0)
    assert len(np.unique(np.sign(score(solved(x, y, beta=0.01), x)))) == 1
    assert (np.sign(score(solved(x, y, beta=0.001, constant=1.0), x)) == y).mean() > 0.9


def test_landmarks_that_are_all_rows_change_nothing() -> None:
    x, y = rows(40)
    at = rows(10, seed=4)[0]
    exact = ntk_matrix(at, x) @ kernel_ridge(ntk_matrix(x, x), y, 0.5)
    weights, left_out = nystroem(x, y, x, 0.5)
    np.testing.assert_allclose((ntk_matrix(at, x) @ weights)[:, 0], exact, atol=1e-6)
    assert left_out < 1e-8


def test_landmarks_minimise_the_same_loss_among_fewer_functions() -> None:
    x, y = rows(60)
    weight = np.linspace(0.5, 2, 60)
    ours, left_out = nystroem(x, y, x[:20], 0.5, weight)
    cross, own = ntk_matrix(x, x[:20]), ntk_matrix(x[:20], x[:20])
    truth = np.linalg.solve(cross.T @ (weight[:, None] * cross) + 0.5 * own, cross.T @ (weight * y))
    np.testing.assert_allclose(ours[:, 0], truth, rtol=1e-4, atol=1e-6)
    missed = ntk_matrix(x, x) - cross @ np.linalg.solve(own, cross.T)
    assert left_out == pytest.approx(np.trace(missed) / np.trace(ntk_matrix(x, x)), rel=1e-6)
    assert nystroem(x, y, x[:40], 0.5).left_out < left_out


def test_a_wide_trained_network_agrees() -> None:
    """First layer trained by momentum to the ridge about its start: the wider, the closer to the kernel."""
    x, y = rows(40)
    at = rows(100, seed=5)[0]
    exact = ntk_matrix(at, x) @ kernel_ridge(ntk_matrix(x, x), y, 1.0)
    gaps = []
    for width in (64, 2048):
        half = np.random.default_rng(6).normal(size=(width // 2, 5))
        # Every unit twice, with opposite signs on top: the network starts at zero.
        start = jnp.asarray(np.concatenate([half, half]), jnp.float32)
        top = jnp.asarray(np.repeat([1.0, -1.0], width // 2) / np.sqrt(width), jnp.float32)
        wide = trained(start, top, jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32))
        f = np.asarray(jax.nn.relu(at @ np.asarray(wide).T) @ top)
        gaps.append(np.sqrt(np.mean((f - exact) ** 2) / np.mean(exact**2)))
    assert gaps[1] < 0.1
    assert gaps[1] < gaps[0] / 2


@jax.jit
def trained(start: jax.Array, top: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    def loss(w: jax.Array) -> jax.Array:
        return 0.5 * jnp.sum((jax.nn.relu(x @ w.T) @ top - y) ** 2) + 0.5 * jnp.sum((w - start) ** 2)

    def step(_: int, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        w, speed = carry
        speed = 0.9 * speed - 0.01 * jax.grad(loss)(w)
        return w + speed, speed

    return jax.lax.fori_loop(0, 1000, step, (start, jnp.zeros_like(start)))[0]


# ---- in the classifier ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted() -> ht.RecourseClassifier:
    table, y = world.people()
    return ht.RecourseClassifier(schema=world.SCHEMA, model=NTK(beta=0.5), random_state=0).fit(table, y)


def test_the_classifier_is_the_formula(fitted) -> None:
    table, y = world.people()
    x = fitted.predictor_.encoder.encode(table).astype(np.float32)
    assert len(np.unique(x, axis=0)) == len(x)
    f = ntk_matrix(x, x) @ kernel_ridge(ntk_matrix(x, x), 2.0 * y - 1, 0.5)
    p = fitted.predict_proba(table)[:, 1]
    np.testing.assert_allclose(np.log(p / (1 - p)), f, atol=1e-3)


def test_recourse_is_found_on_it(fitted) -> None:
    plan = fitted.recourse(world.refused(fitted.predictor_, 5))
    assert plan.valid.any()


def test_retraining_leaves_one_out(fitted) -> None:
    again = retrain(fitted, n=2, vary="leave_one_out")
    data = fitted.training_.data
    x, y = np.asarray(data.x), 2.0 * np.asarray(data.y) - 1
    for i in range(2):
        model = again.ensemble.member(i)
        kept = np.abs(np.asarray(model.weights)).sum(axis=1) > 0
        assert kept.sum() == len(x) - 1
        alpha = kernel_ridge(ntk_matrix(x[kept], x[kept]), y[kept], 0.5)
        np.testing.assert_allclose((model.weights[:, 1] - model.weights[:, 0])[kept], alpha, atol=1e-5)


def test_what_it_cannot_is_refused(fitted) -> None:
    with pytest.raises(CapabilityError, match="fine-tuned"):
        retrain(fitted, n=2, vary="finetune", layers="all")
    with pytest.raises(DataError, match="`beta` must be a number above 0"):
        NTK(beta=0.0).build(3, 2, jax.random.key(0))
    with pytest.raises(DataError, match="`n_rows`"):
        NTK(n_rows=0).build(3, 2, jax.random.key(0))

    class ByBatches(AbstractRegime):
        n_epochs, batch_size, class_weight, validation_fraction, patience = 1, 32, None, 0.1, None

        def step(self, context) -> CrossEntropyStep:
            return StandardTraining().step(context)

    clf = ht.RecourseClassifier(schema=world.SCHEMA, model=NTK(), regime=ByBatches())
    with pytest.raises(CapabilityError, match="closed form"):
        clf.fit(*world.people())


def test_three_classes_have_a_column_each() -> None:
    x, y = rows(60)
    labels = np.where(x[:, 2] > 0.5, 2, y > 0).astype(np.int32)
    data = Data(jnp.asarray(x, jnp.float32), jnp.asarray(labels), jnp.ones(60))
    model, history = NTK(beta=0.1).build(5, 3, jax.random.key(0)).solve(data, jax.random.key(0))
    logits = np.asarray(jax.vmap(model.logits)(data.x))
    assert (logits.argmax(axis=1) == labels).mean() > 0.9
    np.testing.assert_allclose(logits.sum(axis=1), 0, atol=1e-3)
    assert history.loss[1] < 0.5 * history.loss[0]
