"""What every architecture must keep."""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array

from holdtrue.classifier import RecourseClassifier
from holdtrue.models import AbstractArchitecture, AbstractModel, batch_logits, double_precision, fresh, in_double
from holdtrue.testing import _world as world
from holdtrue.training import StandardTraining

D, K = 7, 3
_FITTED: dict[tuple[type, str], RecourseClassifier] = {}


# Compiled as a whole: outside of a program, jax compiles every operation by itself.


@eqx.filter_jit
def _logits(model: AbstractModel, x: Any) -> Array:
    return model.logits(x)


@eqx.filter_jit
def _hidden(model: AbstractModel, x: Any) -> Array:
    return model.hidden(x)


@eqx.filter_jit
def _slope(model: AbstractModel, x: object) -> Array:
    return jax.grad(lambda at: model.logits(at)[1])(x)


def _draws(n: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, D)).astype(np.float32)


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
        logits = np.asarray(_logits(model, np.linspace(0, 1, D, dtype=np.float32)))
        assert logits.shape == (K,)
        assert model.n_classes == K
        assert np.isfinite(logits).all()

    def test_same_key_same_model(self, architecture: AbstractArchitecture) -> None:
        """Building is deterministic."""
        a, b = (jax.tree.flatten(architecture.build(D, K, jax.random.key(1))) for _ in range(2))
        assert a[1] == b[1]
        assert all(np.array_equal(one, other) for one, other in zip(a[0], b[0], strict=True))

    def test_batch_equals_one_by_one(self, architecture: AbstractArchitecture) -> None:
        """Many rows at once give what single rows give."""
        model = architecture.build(D, K, jax.random.key(0))
        x: Any = _draws(5)
        alone = np.stack([_logits(model, row) for row in x])
        np.testing.assert_allclose(batch_logits(model, x), alone, rtol=1e-5, atol=1e-5)

    def test_gradient_is_true(self, architecture: AbstractArchitecture) -> None:
        """Where gradients are promised, they agree with finite differences in double precision."""
        model = architecture.build(D, K, jax.random.key(0))
        if "differentiable" not in model.capabilities:
            return
        with double_precision():
            double = in_double(model)
            x = np.linspace(0.1, 0.9, D)
            slope = np.asarray(_slope(double, x))
            for i, step in enumerate(1e-6 * np.eye(D)):
                above, below = (np.asarray(_logits(double, at))[1] for at in (x + step, x - step))
                np.testing.assert_allclose(slope[i], (above - below) / 2e-6, rtol=1e-4, atol=1e-7)

    def test_linear_is_linear(self, architecture: AbstractArchitecture) -> None:
        """Where linearity is promised, the second difference is zero."""
        model = architecture.build(D, K, jax.random.key(0))
        if "linear" not in model.capabilities:
            return
        a, b = _draws(2)
        at_a, at_b, middle = (np.asarray(_logits(model, x)) for x in (a, b, (a + b) / 2))
        np.testing.assert_allclose(middle, (at_a + at_b) / 2, atol=1e-5)

    def test_top_layer_is_on_top(self, architecture: AbstractArchitecture) -> None:
        """Where there is an affine top layer, it makes the logits of what `hidden` gives it."""
        model = architecture.build(D, K, jax.random.key(0))
        if model.top is None:
            return
        x = _draws(1)[0]
        weight, bias = map(np.asarray, model.top)
        logits = weight @ np.asarray(_hidden(model, x)) + bias
        np.testing.assert_allclose(logits, _logits(model, x), rtol=1e-5, atol=1e-6)

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
        clf.save(tmp_path / "model.holdtrue")
        again = RecourseClassifier.load(tmp_path / "model.holdtrue")
        assert (again.predict_proba(table) == clf.predict_proba(table)).all()
