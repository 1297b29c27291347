"""What every training regime must keep."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np

from holdfast.classifier import RecourseClassifier
from holdfast.encoding import Encoder, Permits
from holdfast.models import MLP, AbstractArchitecture, CounterNet, Data, fit, fresh
from holdfast.schema import Feature, Schema
from holdfast.testing import _world as world
from holdfast.training import AbstractRegime, Setting, retrain


class RegimeChecks:
    """Derive a test class from this and give it a fixture `regime` (few epochs, please)."""

    def small(self, regime: AbstractRegime) -> AbstractArchitecture:
        """A small model of the kind that the regime trains."""
        if "generator" in regime.needs:
            return CounterNet(encoder=(16,), predictor=(8,), generator=(16,), dropout=0.0)
        return MLP(widths=(16,))

    def fitted(self, regime: AbstractRegime, seed: int = 0) -> RecourseClassifier:
        """A small classifier trained by the regime."""
        table, y = world.people()
        clf = RecourseClassifier(
            schema=world.PLAIN if "generator" in regime.needs else world.SCHEMA,
            model=self.small(regime),
            regime=fresh(regime),
            random_state=seed,
        )
        return clf.fit(table, y)

    def test_learns(self, regime: AbstractRegime) -> None:
        """Beats the majority on what it was trained on."""
        table, y = world.people()
        assert self.fitted(regime).score(table, y) > max(y.mean(), 1 - y.mean()) + 0.05

    def test_same_seed_same_model(self, regime: AbstractRegime) -> None:
        """Training is deterministic, and another seed gives another model."""
        table, _ = world.people()
        a, b, c = (self.fitted(regime, seed).predict_proba(table) for seed in (0, 0, 1))
        assert (a == b).all()
        assert (a != c).any()

    def test_weight_zero_is_absence(self, regime: AbstractRegime) -> None:
        """Rows of weight 0 leave no trace, wherever they stand and whatever they hold."""
        rng = np.random.default_rng(0)
        x = rng.normal(size=(60, 4)).astype(np.float32)
        schema = Schema([Feature(name=f"x{i}", kind="numeric", bounds=(-5, 5)) for i in range(4)])
        encoder = Encoder.fit(schema, {f"x{i}": x[:, i] for i in range(4)})
        setting = Setting(Permits.of(encoder), 1)
        y = (x[:, 0] > 0).astype(np.int32)
        weight = np.ones(60, np.float32)
        weight[[3, 17, 40]] = 0
        model = self.small(regime).build(4, 2, jax.random.key(0))
        spoiled = x.copy()
        spoiled[[3, 17, 40]] = 1e3 * rng.normal(size=(3, 4))
        results = []
        for rows in (x, spoiled):
            data = Data(jnp.asarray(rows), jnp.asarray(y), jnp.asarray(weight))
            fitted, _ = fit(model, regime.step(setting), data, jax.random.key(1), n_epochs=5, batch_size=16)
            results.append(jax.tree.leaves(fitted)[0])
        np.testing.assert_allclose(results[0], results[1], rtol=1e-5, atol=1e-6)

    def test_retrains(self, regime: AbstractRegime) -> None:
        """`retrain` works on what it trained, and its models agree with one another more often than not."""
        clf = self.fitted(regime)
        table, _ = world.people()
        again = retrain(clf, n=3, vary="seed")
        assert len(again) == 3
        assert (again.predict(table) == clf.predict(table)[None]).mean() > 0.7

    def test_scikit_learn_conventions(self, regime: AbstractRegime) -> None:
        """Keyword-only `__init__` that only assigns; fit changes no parameter."""
        parameters = list(inspect.signature(type(regime).__init__).parameters.values())[1:]
        assert all(p.kind is p.KEYWORD_ONLY for p in parameters)
        before = {k: repr(v) for k, v in regime.get_params().items()}
        self.fitted(regime)
        assert {k: repr(v) for k, v in regime.get_params().items()} == before
