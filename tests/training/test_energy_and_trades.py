"""The baselines of counterfactual training: joint energy models and TRADES."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import entropy

from holdtrue.encoding import Encoder, Permits
from holdtrue.errors import DataError
from holdtrue.metrics import robust_accuracy
from holdtrue.models import MLP, Data, Decision, fit
from holdtrue.schema import Feature, Schema
from holdtrue.training import JEM, TRADES, StandardTraining, TrainingContext
from holdtrue.training.regimes._trades import divergence

SCHEMA = Schema([Feature(name=f"x{i}", kind="numeric", bounds=(-4, 4)) for i in range(3)])
CONTEXT = TrainingContext(Permits.of(Encoder.fit(SCHEMA, {f"x{i}": np.array([0.0, 1.0]) for i in range(3)})), 1)
SIZE = {"n_epochs": 40, "batch_size": 50, "step_size": 0.01}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    x = 0.7 * rng.normal(size=(300, 3)) + np.array([1.0, 0.3, 0.1]) * (2 * y[:, None] - 1)
    return Data(jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.int32), jnp.ones(300))


def fitted(regime, data):
    start = MLP(widths=(16,)).build(3, 2, jax.random.key(0))
    return fit(start, regime.step(CONTEXT), data, jax.random.key(1), n_epochs=40, batch_size=50)[0]


def test_a_joint_energy_model_holds_rows_for_likelier_than_its_own_draws(data):
    """A point's density under the model is exp(logsumexp): rows must rank above uniform points of the box."""
    uniform = jnp.asarray(np.random.default_rng(5).uniform(-4, 4, (500, 3)), jnp.float32)

    def ranked(model):
        rows, noise = (np.asarray(jax.nn.logsumexp(jax.vmap(model.logits)(x), axis=1)) for x in (data.x, uniform))
        return (rows[:, None] > noise[None]).mean()

    plain = fitted(StandardTraining(**SIZE), data)
    joint = fitted(JEM(n_samples=300, **SIZE), data)
    assert ranked(joint) > 0.8
    assert ranked(joint) > ranked(plain) + 0.3
    assert float((jnp.argmax(jax.vmap(joint.logits)(data.x), axis=1) == data.y).mean()) > 0.85


def test_trades_is_plain_where_its_weight_is_zero_and_robust_where_not(data):
    plain = fitted(StandardTraining(**SIZE), data)
    for a, b in zip(*map(jax.tree.leaves, (plain, fitted(TRADES(robust_weight=0.0, **SIZE), data))), strict=True):
        np.testing.assert_array_equal(a, b)
    robust = fitted(TRADES(radius=0.4, **SIZE), data)
    shares = [
        robust_accuracy(Decision(m, jnp.asarray(0.5), 1), np.asarray(data.x), np.asarray(data.y), 0.4)
        for m in (plain, robust)
    ]
    assert shares[1] > shares[0] + 0.02


def test_the_worst_point_is_in_the_ball_and_of_several_starts_as_bad_as_any_corner(data):
    """The divergence has a hill on either side of the row; one start climbs one of them."""
    model = fitted(StandardTraining(**SIZE), data)
    step = TRADES(radius=0.2, n_steps=20).step(CONTEXT)
    corners = 0.2 * (2.0 * jnp.asarray(list(np.ndindex(2, 2, 2)), jnp.float32) - 1.0)
    for row in data.x[:6]:
        here = model.logits(row)
        worst = jax.vmap(lambda key, row=row: step.worst(model, row, step.radius, key))(
            jax.random.split(jax.random.key(0), 8)
        )
        assert float(jnp.max(jnp.abs(worst - row))) <= 0.2 + 1e-6
        found, corner = (
            float(jnp.max(jax.vmap(lambda at, here=here: divergence(here, model.logits(at)))(points)))
            for points in (worst, row + corners)
        )
        assert found > 0.99 * corner


def test_the_radius_of_trades_grows_along_its_ramp(data):
    """At its start there is no ball and so no divergence; at its end, and for early stopping, the whole one."""
    model, key = fitted(StandardTraining(**SIZE), data), jax.random.key(1)
    ramped, whole, none = (
        TRADES(radius=radius, ramp=ramp, n_epochs=10).step(CONTEXT)
        for radius, ramp in ((0.4, 0.5), (0.4, 0.0), (0.0, 0.0))
    )
    at = lambda step, epoch, key=key: float(step.loss(model, data, key, jnp.asarray(epoch)))  # noqa: E731
    assert at(ramped, 0) == pytest.approx(at(none, 0), abs=1e-6)
    assert at(none, 0) < at(ramped, 3) < at(whole, 3)
    assert at(ramped, 5) == at(whole, 5)
    assert at(ramped, 0, None) == at(whole, 0, None)


def test_the_divergence_of_answers():
    a, b = np.array([0.2, -1.0, 0.5]), np.array([1.0, 0.3, -0.4])
    p, q = (np.exp(v) / np.exp(v).sum() for v in (a, b))
    assert float(divergence(jnp.asarray(a), jnp.asarray(b))) == pytest.approx(entropy(p, q), rel=1e-5)


@pytest.mark.parametrize(
    ("regime", "answer"),
    [
        (TRADES(radius=-1.0), "`radius` must be a number of at least 0; got -1.0"),
        (TRADES(norm="l1"), "`norm` must be"),  # type: ignore[arg-type]
        (TRADES(columns="some"), "`columns` must be"),
        (JEM(n_samples=0), "JEM: `n_samples` must be a whole number of at least 1"),
        (JEM(burn_in=-0.1), "`burn_in` must be a number from 0 to 1"),
    ],
)
def test_what_makes_no_sense_is_answered(regime, answer):
    with pytest.raises(DataError, match=answer):
        regime.step(CONTEXT)
