"""ElliCE: the worst of all near-optimal layers, in closed form, by sampling, and by automatic derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.errors import CapabilityError
from holdtrue.methods._ellice import inverse_root
from holdtrue.models import MLP, Decision, EnsembleModel, stack

TOLERANCE, RIDGE = 0.02, 1e-3


def hessian(plane):
    """Of a logistic regression's mean loss, in weights and bias."""
    rows = np.column_stack([plane.rows.to_numpy(), np.ones(len(plane.rows))])
    p = expit(plane.margin(plane.rows.to_numpy()))
    return (rows * (p * (1 - p))[:, None]).T @ rows / len(rows) + RIDGE * np.eye(4)


def worst(plane, x):
    phi = np.append(x, 1.0)
    return plane.margin(x) - np.sqrt(2 * TOLERANCE * phi @ np.linalg.solve(hessian(plane), phi))


@pytest.fixture(scope="module")
def fitted(plane):
    return ht.ElliCE(base=ht.Wachter(norm="l2"), tolerance=TOLERANCE, ridge=RIDGE).fit(plane.predictor, plane.rows)


def test_the_answer_lies_where_the_worst_model_just_accepts(plane, fitted):
    plan = fitted.recourse(plane.people)
    left = np.array([worst(plane, x) for x in plane.points(plan)])
    assert (left >= 0).all()
    assert (left < 0.01).all()
    near = ht.Wachter(norm="l2").fit(plane.predictor).recourse(plane.people)
    assert (plan.cost > near.cost).all()


def test_no_layer_of_the_ellipsoid_is_worse(plane, fitted):
    """Layers drawn on its surface: none lowers the log-odds more, and the best of many comes close."""
    x = plane.points(fitted.recourse(plane.people.head(1)))[0]
    root = np.linalg.cholesky(np.linalg.inv(hessian(plane)))
    way = np.random.default_rng(0).normal(size=(20_000, 4))
    layers = np.sqrt(2 * TOLERANCE) * (way / np.linalg.norm(way, axis=1, keepdims=True)) @ root.T
    odds = plane.margin(x) + layers @ np.append(x, 1.0)
    assert odds.min() >= worst(plane, x) - 1e-9
    assert odds.min() == pytest.approx(worst(plane, x), abs=0.05)


def test_the_hessian_of_a_network_is_that_of_automatic_derivatives():
    model = MLP(widths=(5, 4), activation="tanh").build(3, 3, jax.random.key(0))
    x = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    inner = jnp.column_stack([jax.vmap(model.hidden)(x), jnp.ones(40)])

    def loss(layer):
        return jnp.mean(-jax.nn.log_softmax(inner @ layer.reshape(3, 5).T, axis=1)[:, 0])

    weight, bias = model.top
    wanted = jax.hessian(loss)(jnp.column_stack([weight, bias]).reshape(-1)) + 2 * RIDGE * np.eye(15)
    factor = inverse_root(model, x, RIDGE).astype(np.float64)
    np.testing.assert_allclose(factor.T @ factor @ np.asarray(wanted), np.eye(15), atol=2e-3)


def test_a_model_without_a_top_layer_is_refused(plane):
    model = plane.predictor.decision.model
    several: EnsembleModel = stack([model, model])
    predictor = Predictor(plane.predictor.encoder, Decision(several, np.float32(0.5), 1), np.array([0, 1]))
    with pytest.raises(CapabilityError, match="affine top layer"):
        ht.ElliCE().fit(predictor, plane.rows)
