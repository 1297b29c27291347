"""What a step prepares for an epoch reaches its minibatches, each its own share, also through other steps."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from holdtrue.models import MLP, AbstractStep, Data, fit
from holdtrue.retraining import TopLayerStep
from holdtrue.training import CosineStep


class Telling(AbstractStep):
    """Learns nothing; its loss is what it was handed."""

    def init(self, model):
        return jnp.zeros(())

    def update(self, model, state, batch, key, epoch):
        return model, state, batch.beside["number"]

    def validate(self, model, data):
        assert data.beside is None
        return jnp.zeros(())

    @property
    def notes(self):
        return ("rows", "epoch")

    def begin_epoch(self, model, data, n_batches, key, epoch) -> tuple[Any, dict]:
        number = 10.0 * epoch + jnp.arange(n_batches)
        return {"number": number}, {"rows": jnp.sum(data.weight), "epoch": epoch.astype(jnp.float32)}


@pytest.mark.parametrize("wrap", [lambda s: s, TopLayerStep, lambda s: CosineStep(s, jnp.asarray(3.0))])
def test_each_minibatch_has_its_share_and_each_epoch_its_notes(wrap):
    rows = jnp.asarray(np.random.default_rng(0).normal(size=(50, 2)), jnp.float32)
    data = Data(rows, jnp.zeros(50, jnp.int32), jnp.ones(50))
    model = MLP(widths=(3,)).build(2, 2, jax.random.key(0))
    after, history = fit(model, wrap(Telling()), data, jax.random.key(1), n_epochs=3, batch_size=20)
    shares = np.array([20, 20, 10]) / 50  # the last minibatch is half empty
    np.testing.assert_allclose(history.loss, [10 * e + shares @ [0, 1, 2] for e in range(3)], rtol=1e-6)
    np.testing.assert_array_equal(history.notes["epoch"], [0, 1, 2])
    np.testing.assert_array_equal(history.notes["rows"], [50, 50, 50])
    assert eqx.tree_equal(after, model)


def test_notes_end_with_an_early_stop():
    data = Data(jnp.zeros((20, 2)), jnp.zeros(20, jnp.int32), jnp.ones(20))
    model = MLP(widths=(3,)).build(2, 2, jax.random.key(0))
    _, history = fit(
        model, Telling(), data, jax.random.key(1), n_epochs=5, batch_size=20, validation=data, patience=1
    )
    assert int(history.n_epochs) == 2  # the first is the best, the second no better
    assert np.isnan(history.notes["epoch"]).tolist() == [False, False, True, True, True]
