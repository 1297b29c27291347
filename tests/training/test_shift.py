"""Virtual data shift against closed forms and finite differences."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from holdtrue.models import MLP, LinearModel, double_precision, in_double
from holdtrue.training import cross_entropies, virtual_data_shift
from holdtrue.training.heads import _shift
from holdtrue.training.heads._shift import Follower

N, D = 6, 3


def rows(seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N, D))
    return x, (x[:, 0] + 0.3 * rng.normal(size=N) > 0).astype(np.int32), rng.normal(size=(4, D))


def losses(y, recourse):
    """What a shifted model learns from, and the harm it does to recourse towards class 1."""
    wanted = jnp.ones(len(recourse), jnp.int32)
    return (
        lambda model, at: jnp.mean(cross_entropies(model, at, y, None)),
        lambda model: jnp.mean(cross_entropies(model, recourse, wanted, None)),
    )


@pytest.mark.parametrize(("inner", "bound"), [("sgd", None), ("sgd", 0.01), ("adam", None)])
def test_the_gradient_through_the_unrolled_steps_is_true(inner, bound):
    """Against central differences in double precision, also where the change of the weights is at its bound."""
    x, y, recourse = rows()
    with double_precision():
        model = in_double(MLP(widths=(5,), activation="tanh").build(D, 2, jax.random.key(0)))
        learn, harm = losses(jnp.asarray(y), jnp.asarray(recourse))
        start, static = eqx.partition(model, eqx.is_inexact_array)
        follower = Follower(start, static, learn, _shift._inner(inner, 0.1), bound, 3)

        def after(shift):
            params, _ = follower(start, follower.descend.init(start), jnp.asarray(x) + shift)
            return harm(eqx.combine(params, static))

        shift = 0.1 * jnp.asarray(np.random.default_rng(1).normal(size=(N, D)))
        slope = jax.jit(jax.grad(after))(shift)
        after = jax.jit(after)
        for i in range(N):
            for j in range(D):
                step = jnp.zeros((N, D)).at[i, j].set(1e-6)
                secant = (after(shift + step) - after(shift - step)) / 2e-6
                np.testing.assert_allclose(slope[i, j], secant, rtol=1e-4, atol=1e-9)
        assert float(jnp.abs(slope).max()) > 1e-5


def test_one_step_of_a_linear_model_in_closed_form():
    """Squared loss, one inner step: ``w' = w - eta/n sum e_i z_i``, and the harm ``-w' r`` rises along
    ``eta/n (w (r z_i) + e_i r)``. One attack step of 2.5 radii ends in the corner of that sign."""
    x, y, recourse = rows(2)
    w, r, eta, eps = np.array([0.4, -0.7, 0.2]), recourse[0], 0.3, 0.05
    model = LinearModel(jnp.asarray(np.stack([0 * w, w]), jnp.float32), jnp.zeros(2))

    def learn(at_model, at):
        return jnp.mean(0.5 * (at @ at_model.weight[1] - y) ** 2)

    def harm(at_model):
        return -at_model.weight[1] @ jnp.asarray(r, jnp.float32)

    key = jax.random.key(3)
    options = {"eps": eps, "n_steps": 1, "n_inner": 1, "step_size": eta}
    shifted, shift = virtual_data_shift(model, jnp.asarray(x, jnp.float32), learn, harm, key, **options)
    # Where the attack began: the same with no stride left, which is what redrawing with other keys does not give.
    first = jax.random.split(jax.random.split(key)[0], N)
    z = x + np.stack([np.asarray(eps * jax.random.uniform(k, (D,), minval=-1.0, maxval=1.0)) for k in first])
    errors = z @ w - y
    np.testing.assert_allclose(shifted.weight[1], w - eta / N * (errors @ z), rtol=1e-5, atol=1e-6)
    slope = eta / N * ((z @ r)[:, None] * w + errors[:, None] * r)
    np.testing.assert_allclose(shift, eps * np.sign(slope), atol=1e-7)


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_shifts_stay_in_their_ball_and_do_more_harm_than_random_ones(norm):
    x, y, recourse = rows(4)
    model = MLP(widths=(16,)).build(D, 2, jax.random.key(0))
    learn, harm = losses(jnp.asarray(y), jnp.asarray(recourse, jnp.float32))
    mask = jnp.asarray([1.0, 0.0, 1.0])
    done = {}
    for redraw in (False, True):
        options = {"eps": 0.5, "norm": norm, "step_size": 0.3, "movable": mask, "redraw": redraw}
        run = jax.jit(
            lambda k, o=options: virtual_data_shift(model, jnp.asarray(x, jnp.float32), learn, harm, k, **o)
        )
        results = [run(jax.random.key(s)) for s in range(5)]
        done[redraw] = [float(harm(shifted)) for shifted, _ in results]
        for _, shift in results:
            size = jnp.abs(shift).max() if norm == "linf" else jnp.linalg.norm(shift, axis=1).max()
            assert float(size) <= 0.5 + 1e-5
            assert float(jnp.abs(shift[:, 1]).max()) == 0
    assert np.mean(done[False]) > np.mean(done[True])


def test_the_shifted_model_stays_within_its_bound():
    """Fourteen steps of Adam of 0.03 could move every weight by 0.42."""
    x, y, recourse = rows(5)
    model = MLP(widths=(16,)).build(D, 2, jax.random.key(0))
    learn, harm = losses(jnp.asarray(y), jnp.asarray(recourse, jnp.float32))
    for bound in (None, 0.05):
        shifted, _ = virtual_data_shift(
            model, jnp.asarray(x, jnp.float32), learn, harm, jax.random.key(0), eps=0.1, inner="adam", bound=bound
        )
        moved = [
            float(jnp.linalg.norm(a - b) / (jnp.linalg.norm(b) + _shift.LEAST))
            for a, b in zip(shifted.weights, model.weights, strict=True)
        ]
        assert (max(moved) > 0.2) if bound is None else (max(moved) <= bound * 1.001)


@pytest.mark.parametrize("inner", ["sgd", "adam"])
def test_saturated_logits_give_numbers(inner, monkeypatch):
    """Inner gradients that are exactly zero: their second moment is, too, and the slope of a root at zero is not a
    number unless something stands under it."""
    x, _, recourse = rows(6)
    w = 1e4 * np.array([1.0, 0, 0])
    model = LinearModel(jnp.asarray(np.stack([-w, w]), jnp.float32), jnp.zeros(2))
    learn, harm = losses(jnp.asarray((x[:, 0] > 0).astype(np.int32)), jnp.asarray(recourse, jnp.float32))

    def run():
        shifted, shift = virtual_data_shift(
            model, jnp.asarray(x, jnp.float32), learn, harm, jax.random.key(0), eps=1e-4, inner=inner, bound=0.1
        )
        return bool(jnp.isfinite(shift).all()) and all(
            bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves(shifted)
        )

    assert run()
    if inner == "adam":
        monkeypatch.setattr(_shift, "EPS_ROOT", 0.0)
        assert not run()
