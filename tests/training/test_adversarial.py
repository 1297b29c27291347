"""Adversarial training against closed forms: the linear loss, the radius at which a linear model collapses."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from holdtrue.encoding import Encoder, Permits
from holdtrue.errors import DataError
from holdtrue.metrics import collapse_radius, robust_accuracy
from holdtrue.models import MLP, Data, Decision, Linear, LinearModel, fit, fit_many
from holdtrue.schema import Feature, Schema
from holdtrue.training import AdversarialStep, AdversarialTraining, CosineStep, CrossEntropyStep, TrainingContext

LOSS = eqx.filter_jit(lambda step, *args: step.loss(*args))
UPDATE = eqx.filter_jit(lambda step, *args: step.update(*args))


def blobs(n=300, d=4, apart=0.6, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    x = rng.normal(size=(n, d)) + apart * np.linspace(1, 0.2, d) * (2 * y[:, None] - 1)
    return Data(jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.int32), jnp.ones(n))


def context(d=4):
    schema = Schema([Feature(name=f"x{i}", kind="numeric", bounds=(-9, 9)) for i in range(d)])
    rows = {f"x{i}": np.array([-9.0, 9.0]) for i in range(d)}
    return TrainingContext(Permits.of(Encoder.fit(schema, rows)), 1)


def step(**options):
    return AdversarialTraining(decay=False, **options).step(context())


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_the_linear_loss_is_the_maximum_over_the_ball(norm):
    """Eq. 16 against the loss at the worst point, which projected gradient and one gradient step both find."""
    data = blobs(50)
    rng = np.random.default_rng(5)
    model = LinearModel(jnp.asarray(rng.normal(size=(2, 4)), jnp.float32), jnp.asarray([0.3, -0.4]))
    at = jnp.asarray(0)
    exact = LOSS(step(radius=0.2, norm=norm), model, data, None, at)
    for attack in ("pgd", "fgsm"):
        sought = LOSS(step(radius=0.2, norm=norm, attack=attack, n_steps=20), model, data, None, at)
        assert float(sought) == pytest.approx(float(exact), rel=1e-5)
    plain = LOSS(CrossEntropyStep(jnp.asarray(0.1), jnp.asarray(0.0)), model, data, None, at)
    assert float(exact) > float(plain) + 0.05
    none = LOSS(step(radius=0.0, norm=norm), model, data, None, at)
    assert float(none) == pytest.approx(float(plain), rel=1e-6)


def fitted(radius, *, norm="linf", data=None, n_epochs=400, columns="all"):
    data = blobs() if data is None else data
    rule = AdversarialTraining(radius=radius, norm=norm, n_epochs=n_epochs, step_size=0.05, columns=columns)
    start = Linear().build(data.x.shape[1], 2, jax.random.key(0))
    model, _ = fit(start, rule.step(context()), data, jax.random.key(1), n_epochs=n_epochs, batch_size=10**6)
    return np.asarray(model.weight[1] - model.weight[0])


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_a_linear_model_is_the_minimiser_and_collapses_where_the_closed_form_says(norm):
    data = blobs()
    x, y = np.asarray(data.x), np.asarray(data.y)
    edge = collapse_radius(x, y, norm=norm)
    sign = 2 * y - 1

    def objective(at, radius):
        dual = np.abs(at[1:]).sum() if norm == "linf" else np.linalg.norm(at[1:])
        return np.logaddexp(0, -sign * (x @ at[1:] + at[0]) + radius * dual).mean()

    for share in (0.0, 0.5, 0.9):
        best = minimize(objective, 0.1 * np.ones(5), (share * edge,), method="Powell", options={"xtol": 1e-7})
        best = minimize(objective, best.x, (share * edge,), method="Nelder-Mead",
                        options={"xatol": 1e-7, "fatol": 1e-12, "maxiter": 5000})  # fmt: skip
        np.testing.assert_allclose(fitted(share * edge, norm=norm), best.x[1:], atol=0.01)
        assert np.abs(best.x[1:]).max() > 0.05
    np.testing.assert_allclose(fitted(1.05 * edge, norm=norm), 0, atol=0.01)


def test_more_radius_more_robust_accuracy_less_accuracy():
    """An MLP, by projected gradient: what is promised is what is measured, and a ramp ends at the same place."""
    data = blobs(600, apart=0.5, d=8)
    shares = {}
    rules = {
        "plain": AdversarialTraining(radius=0.0, n_epochs=60, step_size=0.01),
        "robust": AdversarialTraining(radius=0.3, n_epochs=60, step_size=0.01),
        "ramped": AdversarialTraining(radius=0.3, n_epochs=60, step_size=0.01, ramp=0.5),
    }
    start = MLP(widths=(32,)).build(8, 2, jax.random.key(0))
    for name, rule in rules.items():
        model, _ = fit(start, rule.step(context(8)), data, jax.random.key(1), n_epochs=60, batch_size=64)
        decision = Decision(model, jnp.asarray(0.5), 1)
        shares[name] = [robust_accuracy(decision, np.asarray(data.x), np.asarray(data.y), r) for r in (0.0, 0.3)]
    assert shares["robust"][1] > shares["plain"][1] + 0.05
    assert shares["ramped"][1] > shares["plain"][1] + 0.05
    assert shares["plain"][0] > shares["robust"][0]


def test_the_radius_grows_along_the_ramp():
    data = blobs(50)
    model = LinearModel(jnp.ones((2, 4)) * jnp.asarray([[0.0], [1.0]]), jnp.zeros(2))
    rule = AdversarialTraining(radius=0.2, ramp=0.5, n_epochs=10, decay=False).step(context())
    key = jax.random.key(0)

    def at(epoch):
        return float(LOSS(rule, model, data, key, jnp.asarray(epoch)))

    def of(radius):
        return float(LOSS(step(radius=radius), model, data, key, jnp.asarray(0)))

    assert at(0) == pytest.approx(of(0.0))
    assert at(2) == pytest.approx(of(0.08))
    assert at(5) == at(9) == pytest.approx(of(0.2))
    # Early stopping must not prefer the first epochs: held-out rows always meet the full radius.
    assert float(rule.loss(model, data, None, jnp.asarray(0))) == pytest.approx(of(0.2))


def test_only_numbers_are_moved_where_asked():
    schema = Schema(
        [
            Feature(name="a", kind="categorical", levels=("u", "v")),
            Feature(name="b", kind="numeric", bounds=(0, 1)),
        ]
    )
    encoder = Encoder.fit(schema, {"a": np.array(["u", "v"]), "b": np.array([0.0, 1.0])})
    own = TrainingContext(Permits.of(encoder), 1)
    rule = AdversarialTraining(columns="numeric", decay=False).step(own)
    assert isinstance(rule, AdversarialStep)
    np.testing.assert_array_equal(rule.movable, [1, 0, 0])  # numbers come first
    every = AdversarialTraining(decay=False).step(own)
    assert isinstance(every, AdversarialStep)
    np.testing.assert_array_equal(every.movable, [1, 1, 1])


def test_a_cosine_step_is_a_shorter_step():
    data, key = blobs(50), jax.random.key(0)
    model = MLP(widths=(8,)).build(4, 2, jax.random.key(1))
    inner = CrossEntropyStep(jnp.asarray(0.01), jnp.asarray(0.1))
    outer = CosineStep(inner, jnp.asarray(10.0))
    full, *_ = UPDATE(inner, model, inner.init(model), data, key, jnp.asarray(5))
    for epoch, share in ((0, 1.0), (5, 0.5), (10, 0.0)):
        part, *_ = UPDATE(outer, model, outer.init(model), data, key, jnp.asarray(epoch))
        leaves = (map(np.asarray, jax.tree.leaves(tree)) for tree in (model, full, part))
        for start, whole, got in zip(*leaves, strict=True):
            np.testing.assert_allclose(got - start, share * (whole - start), atol=1e-7)


@pytest.mark.parametrize("strategy", ["threads", "vmap"])
def test_a_sweep_over_radii_in_one_call_is_the_fits_one_by_one(strategy):
    radii = (0.0, 0.1, 0.3)
    sets = [blobs(80, seed=i) for i in range(3)]
    starts = [MLP(widths=(8,)).build(4, 2, jax.random.key(i)) for i in range(3)]
    rules = [AdversarialTraining(radius=r, n_epochs=4, step_size=0.01).step(context()) for r in radii]
    keys = [jax.random.key(i) for i in range(3)]
    together = fit_many(starts, rules, sets, keys, n_epochs=4, batch_size=32, strategy=strategy)
    for start, rule, data, key, model in zip(starts, rules, sets, keys, together, strict=True):
        alone, _ = fit(start, rule, data, key, n_epochs=4, batch_size=32)
        for a, b in zip(*map(jax.tree.leaves, (alone, model)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert not eqx.tree_equal(together[0], together[1])


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ({"norm": "l1"}, "`norm` must be .*; got 'l1'"),
        ({"attack": "cw"}, "`attack` must be"),
        ({"columns": "none"}, "`columns` must be"),
        ({"radius": -0.1}, "`radius` must be a number of at least 0; got -0.1"),
        ({"ramp": 2.0}, "`ramp` must be a number from 0 to 1; got 2.0"),
        ({"n_steps": 0}, "`n_steps` must be a whole number of at least 1"),
    ],
)
def test_what_makes_no_sense_is_answered(options, answer):
    with pytest.raises(DataError, match=answer):
        AdversarialTraining(**options).step(context())
