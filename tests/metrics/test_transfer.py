"""Attacks that are tried on another model, against what linear models must do."""

import jax
import jax.numpy as jnp
import numpy as np

from holdtrue.metrics import robust_accuracy, transfer_accuracy
from holdtrue.models import MLP, Decision, LinearModel


def linear(*weight):
    model = LinearModel(jnp.asarray([np.zeros(2), weight], jnp.float32), jnp.zeros(2))
    return Decision(model, jnp.asarray(0.5), 1)


X = np.random.default_rng(0).normal(size=(200, 2))
Y = (X[:, 0] > 0).astype(int)


def test_an_attack_across_moves_nothing_and_one_along_is_the_attack_itself():
    model = linear(1.0, 0.0)
    assert transfer_accuracy(model, linear(1.0, 0.0), X, Y, 0.3) == robust_accuracy(model, X, Y, 0.3) < 0.9
    mask = np.array([0.0, 1.0])
    assert transfer_accuracy(model, linear(0.0, 1.0), X, Y, 0.3, movable=mask) == 1.0
    assert transfer_accuracy(model, linear(-1.0, 0.0), X, Y, 0.3) == 1.0  # it pushes rows farther inside


def test_on_itself_it_is_robust_accuracy():
    model = Decision(MLP(widths=(8,)).build(2, 2, jax.random.key(0)), jnp.asarray(0.5), 1)
    assert transfer_accuracy(model, model, X, Y, 0.2) == robust_accuracy(model, X, Y, 0.2)
