"""What every architecture must keep."""

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from holdfast.classifier import RecourseClassifier
from holdfast.models import AbstractArchitecture, batch_logits, double_precision, fresh, in_double
from holdfast.testing import _world as world
from holdfast.training import StandardTraining

D, K = 7, 3
_FITTED: dict[tuple[type, str], RecourseClassifier] = {}


class ModelChecks:
    """Derive a test class from this and give it a fixture `architecture`."""

    def fitted(self, architecture: AbstractArchitecture) -> RecourseClassifier:
        """A classifier of the small world, trained once for all the checks that look at it."""
        key = (type(architecture), repr(architecture.get_params()))
        if key not in _FITTED:
            regime = StandardTraining(n_epochs=30, step_size=0.01)
            model = fresh(architecture)
            clf = RecourseClassifier(schema=world.SCHEMA, model=model, regime=regime, random_state=0)
            _FITTED[key] = clf.fit(*world.people())
        return _FITTED[key]

    def test_logits_have_one_entry_per_class(self, architecture: AbstractArchitecture) -> None:
        """One row in, `k` finite logits out."""
        model = architecture.build(D, K, jax.random.key(0))
        logits = model.logits(jnp.linspace(0, 1, D))
        assert logits.shape == (K,)
        assert model.n_classes == K
        assert bool(jnp.isfinite(logits).all())

    def test_same_key_same_model(self, architecture: AbstractArchitecture) -> None:
        """Building is deterministic."""
        a, b = (architecture.build(D, K, jax.random.key(1)) for _ in range(2))
        assert eqx.tree_equal(a, b)

    def test_batch_equals_one_by_one(self, architecture: AbstractArchitecture) -> None:
        """Many rows at once give what single rows give."""
        model = architecture.build(D, K, jax.random.key(0))
        x = jax.random.normal(jax.random.key(2), (5, D))
        alone = jnp.stack([model.logits(row) for row in x])
        np.testing.assert_allclose(batch_logits(model, x), alone, rtol=1e-5, atol=1e-5)

    def test_gradient_is_true(self, architecture: AbstractArchitecture) -> None:
        """Where gradients are promised, they agree with finite differences in double precision."""
        model = architecture.build(D, K, jax.random.key(0))
        if "differentiable" not in model.capabilities:
            return
        with double_precision():
            double = in_double(model)
            x = jnp.asarray(np.linspace(0.1, 0.9, D))
            slope = jax.grad(lambda at: double.logits(at)[1])(x)
            for i in range(D):
                step = jnp.zeros(D).at[i].set(1e-6)
                secant = (double.logits(x + step)[1] - double.logits(x - step)[1]) / 2e-6
                np.testing.assert_allclose(slope[i], secant, rtol=1e-4, atol=1e-7)

    def test_linear_is_linear(self, architecture: AbstractArchitecture) -> None:
        """Where linearity is promised, the second difference is zero."""
        model = architecture.build(D, K, jax.random.key(0))
        if "linear" not in model.capabilities:
            return
        a, b = jax.random.normal(jax.random.key(3), (2, D))
        middle = model.logits((a + b) / 2)
        np.testing.assert_allclose(middle, (model.logits(a) + model.logits(b)) / 2, atol=1e-5)

    def test_top_layer_is_on_top(self, architecture: AbstractArchitecture) -> None:
        """Where there is an affine top layer, it makes the logits of what `hidden` gives it."""
        model = architecture.build(D, K, jax.random.key(0))
        if model.top is None:
            return
        x = jax.random.normal(jax.random.key(4), (D,))
        weight, bias = model.top
        np.testing.assert_allclose(weight @ model.hidden(x) + bias, model.logits(x), rtol=1e-5, atol=1e-6)

    def test_learns(self, architecture: AbstractArchitecture) -> None:
        """Fitting lowers the loss and beats the majority."""
        table, y = world.people()
        clf = self.fitted(architecture)
        assert clf.history_.loss[-1] < clf.history_.loss[0]
        assert clf.score(table, y) > max(y.mean(), 1 - y.mean()) + 0.1

    def test_survives_a_file(self, architecture: AbstractArchitecture, tmp_path: Path) -> None:
        """Saved and loaded, it answers the same to the last bit."""
        table, _ = world.people()
        clf = self.fitted(architecture)
        clf.save(tmp_path / "model.holdfast")
        again = RecourseClassifier.load(tmp_path / "model.holdfast")
        assert (again.predict_proba(table) == clf.predict_proba(table)).all()
