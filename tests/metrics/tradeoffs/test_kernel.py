"""Lemma 2, Theorem 5 and Theorem 3 on random instances, and the NTK under adversarial training."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

import holdtrue as ht
from holdtrue.errors import DataError
from holdtrue.metrics import tradeoffs as t
from holdtrue.models import NTK, Data, Rows, build_vae, kernel_ridge, ntk_matrix
from holdtrue.testing import _world as world
from holdtrue.training import AdversarialTraining


def data(n: int = 40, d: int = 4, seed: int = 0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x, np.where(x[:, 0] + 0.4 * rng.normal(size=n) > 0, 1.0, -1.0), rng


def model(x, y, beta=0.5):
    rows = Data(jnp.asarray(x, jnp.float32), jnp.asarray(y > 0, jnp.int32), jnp.ones(len(x)))
    return NTK(beta=beta).build(x.shape[1], 2, jax.random.key(0)).solve(rows, jax.random.key(0))[0]


def test_lemma_2_is_about_the_dual_weights() -> None:
    x, y, rng = data()
    moved = x + 0.1 * rng.normal(size=x.shape)
    sides = t.lemma_2(x, moved, y, beta=0.5)
    duals = [kernel_ridge(ntk_matrix(z, z), y, 0.5) for z in (x, moved)]
    assert sides.left == pytest.approx(np.linalg.norm(duals[0] - duals[1]), rel=1e-9)
    between = np.linalg.inv(ntk_matrix(x, x) + 0.5 * np.eye(40)) - np.linalg.inv(
        ntk_matrix(moved, moved) + 0.5 * np.eye(40)
    )
    assert sides.right("printed") == pytest.approx(np.linalg.norm(between, 2) * np.sqrt(40), rel=1e-9)


def test_lemma_2_is_never_violated() -> None:
    rng = np.random.default_rng(1)
    n, m, d = 3000, 5, 3
    factor = rng.normal(size=(2, n, m, d)) * 10 ** rng.uniform(-1, 1, (1, n, 1, 1))
    factor[1] = factor[0] + factor[1] * 10 ** rng.uniform(-3, 1, (n, 1, 1))
    first, second = (f @ np.swapaxes(f, -1, -2) for f in factor)  # of lower rank than rows: singular
    y = np.where(rng.random((n, m)) < 0.5, 1.0, -1.0)
    sides = t.dual_gap(first, second, y, beta=10 ** rng.uniform(-2, 1, n))
    assert not sides.violated("printed").any()
    assert not sides.violated("direct").any()
    assert np.nanmax(sides.tightness("printed")) > 0.9
    assert np.nanmax(sides.tightness("direct")) > 0.9


def test_theorem_5_corrected_is_never_violated() -> None:
    rng = np.random.default_rng(2)
    k_n, k_r, a, b = rng.normal(size=(4, 20_000, 4))
    b = a + (b - a) * 10 ** rng.uniform(-2, 0, (20_000, 1))
    sides = t.validity_condition(k_n, k_r, a, b)
    assert not sides.violated("corrected").any()
    assert sides.applies("corrected").mean() > 0.05
    assert sides.violated("printed").mean() > 0.05


def test_theorem_5_on_models() -> None:
    x, y, rng = data()
    plain = model(x, y)
    moved = x - 0.2 * y[:, None] * np.sign(t.scores_of(plain, x).slope)
    robust = model(moved, y)
    people = rng.normal(size=(30, 4))
    scores = [t.scores_of(m, people) for m in (plain, robust)]
    points = [people + t.scfe(s, score=1.0, cost_weight=0.5) for s in scores]
    sides = t.theorem_5(plain, robust, *points)
    # In double precision with the weights as they are stored, the scores are the models' own.
    np.testing.assert_allclose(sides.non_robust, t.scores_of(plain, points[0]).value, atol=1e-9)
    np.testing.assert_allclose(sides.robust, t.scores_of(robust, points[1]).value, atol=1e-9)
    assert not sides.violated("corrected").any()
    gap = t.lemma_2(x, moved, y, beta=0.5).right("printed")
    wider = t.theorem_5(plain, robust, *points, gap=float(gap))
    assert not wider.violated("corrected").any()
    assert wider.applies("printed").mean() >= sides.applies("printed").mean()
    other = t.theorem_5(plain, robust, *points, favourable=0)
    np.testing.assert_allclose(other.non_robust, -sides.non_robust)
    with pytest.raises(DataError, match="as many rows"):
        t.theorem_5(plain, model(x[:20], y[:20]), *points)


def test_theorem_5_printed_has_a_counterexample() -> None:
    """One training row each: the condition is an equality of size, and the conclusion one of sign."""
    sides = t.validity_condition([0.0], [1.0], [1.0], [2.0])
    assert sides.applies("printed")
    assert sides.violated("printed")
    assert not sides.applies("corrected")


# ---- Theorem 3 -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def vae():
    table, y = world.people()
    clf = ht.RecourseClassifier(
        schema=world.SCHEMA, model=ht.Linear(), regime=ht.StandardTraining(n_epochs=1), random_state=0
    ).fit(table, y)
    method = ht.CCHVAE(widths=(12,), n_latent=3, n_epochs=15, random_state=0).fit(clf, table)
    return method.generator(), clf.predictor_.encoder.encode(table)


def test_the_lipschitz_constant_is_one(vae) -> None:
    """No slope anywhere is above it: not at random codes, not where a search makes the slope large."""
    generator, x = vae
    steep = t.decoder_lipschitz(generator)
    rng = np.random.default_rng(0)
    slope = jax.jit(lambda z, row: jnp.linalg.norm(jax.jacobian(generator.decode)(z, row), ord=2))
    seen = [float(slope(jnp.asarray(3 * rng.normal(size=3), jnp.float32), row)) for row in x[:60]]
    best = minimize(lambda z: -float(slope(jnp.asarray(z, jnp.float32), x[0])), np.zeros(3), method="Nelder-Mead",
                    options={"maxfev": 150})  # fmt: skip
    assert max(*seen, -best.fun) <= steep
    assert -best.fun > 0.02 * steep  # and it is no absurd number


def test_the_lipschitz_constant_of_one_layer_is_its_spectral_norm() -> None:
    """Numbers only and no hidden layer: the decoder is linear, and the bound is exact."""
    schema = ht.Schema([ht.Feature(name=f"x{i}", kind="numeric", bounds=(0, i + 1)) for i in range(4)])
    x = np.random.default_rng(0).random((50, 4))
    encoder = (
        ht.RecourseClassifier(schema=schema, model=ht.Linear(), regime=ht.StandardTraining(n_epochs=1))
        .fit(x * np.arange(1, 5), (x[:, 0] > 0.5).astype(int))
        .predictor_.encoder
    )
    generator = build_vae(Rows.of(encoder, x.astype(np.float32)), (), 2, (), jax.random.key(0))
    slope = np.asarray(jax.jacobian(generator.decode)(jnp.zeros(2), jnp.zeros(4)))
    assert t.decoder_lipschitz(generator) == pytest.approx(np.linalg.norm(slope, 2), rel=1e-5)


def test_theorem_3_is_never_violated(vae) -> None:
    generator, x = vae
    rng = np.random.default_rng(1)
    people = x[rng.integers(0, len(x), 3000)].astype(np.float32)
    own = np.asarray(jax.vmap(generator.encode)(jnp.asarray(people)))
    codes = [own + rng.normal(size=own.shape) * 10 ** rng.uniform(-2, 1, (3000, 1)) for _ in range(2)]
    sides = t.theorem_3(generator, people, *codes)
    assert not sides.violated("printed").any()
    assert not sides.violated("sharper").any()
    assert (sides.right("sharper") <= sides.right("printed") * (1 + 1e-9)).all()
    taxicab = [np.abs(code - own).sum(axis=1) for code in codes]
    by_radii = t.theorem_3(generator, people, *codes, radii=(taxicab[0], taxicab[1]))
    assert (by_radii.right("printed") >= sides.right("printed") * (1 - 1e-6)).all()


# ---- the robust NTK ------------------------------------------------------------------------------------


def test_adversarial_training_solves_for_attacked_rows() -> None:
    table, y = world.people()
    how = {"schema": world.SCHEMA, "model": NTK(beta=0.5), "random_state": 0}
    plain = ht.RecourseClassifier(**how).fit(table, y).predictor_.decision.model
    clf = ht.RecourseClassifier(**how, regime=AdversarialTraining(radius=0.1, n_steps=5)).fit(table, y)
    robust, before = clf.predictor_.decision.model, np.asarray(clf.training_.data.x)
    moved = np.asarray(robust.rows) - before
    assert np.abs(moved).max() <= 0.1 + 1e-6
    sign = 2 * np.asarray(clf.training_.data.y) - 1
    margins = [sign * t.scores_of(plain, rows).value for rows in (before, np.asarray(robust.rows))]
    assert (margins[1] < margins[0]).mean() > 0.99  # worse for the plain model
    alpha = kernel_ridge(robust.kernel(robust.rows), sign.astype(float), 0.5)
    np.testing.assert_allclose(robust.weights[:, 1] - robust.weights[:, 0], alpha, atol=1e-5)
    same = ht.RecourseClassifier(**how, regime=AdversarialTraining(radius=0.0)).fit(table, y)
    assert (same.predictor_.decision.model.weights == plain.weights).all()
