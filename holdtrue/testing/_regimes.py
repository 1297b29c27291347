"""What every training regime must keep."""

import inspect

import jax
import numpy as np

from holdtrue.classifier import RecourseClassifier
from holdtrue.encoding import Permits
from holdtrue.models import MLP, AbstractArchitecture, Additive, CounterNet, Data, fresh
from holdtrue.retraining import retrain
from holdtrue.schema import LAST
from holdtrue.testing import _world as world
from holdtrue.training import AbstractRegime, TrainingContext

_FITTED: dict[tuple[type, type, str], RecourseClassifier] = {}


class RegimeChecks:
    """Derive a test class from this and give it a fixture `regime` (few epochs, please)."""

    def small(self, regime: AbstractRegime) -> AbstractArchitecture:
        """A small model of the kind that the regime trains."""
        if "generator" in regime.needs:
            return CounterNet(encoder=(16,), predictor=(8,), generator=(16,), dropout=0.0)
        return Additive(n_pieces=3) if "additive" in regime.needs else MLP(widths=(16,))

    def fitted(self, regime: AbstractRegime) -> RecourseClassifier:
        """A small classifier trained by the regime, once for all the checks that look at it."""
        key = (type(self), type(regime), repr(sorted(regime.get_params().items())))
        if key not in _FITTED:
            _FITTED[key] = self.fit(regime)
        return _FITTED[key]

    def fit(self, regime: AbstractRegime, seed: int = 0) -> RecourseClassifier:
        """Train a small classifier by the regime."""
        table, y = world.people()
        clf = RecourseClassifier(
            schema=world.PLAIN if "generator" in regime.needs else world.SCHEMA,
            model=self.small(regime),
            regime=fresh(regime),
            favourable=LAST,
            random_state=seed,
        )
        return clf.fit(table, y)

    def test_learns(self, regime: AbstractRegime) -> None:
        """Beats the majority on what it was trained on."""
        table, y = world.people()
        assert self.fitted(regime).score(table, y) > max(y.mean(), 1 - y.mean()) + 0.05

    def test_same_seed_same_model(self, regime: AbstractRegime) -> None:
        """Training is deterministic, and another seed gives another model where the regime says so."""
        table, _ = world.people()
        models = self.fitted(regime), self.fit(regime), self.fit(regime, seed=1)
        a, b, c = (clf.predict_proba(table) for clf in models)
        assert (a == b).all()
        assert (a != c).any() == regime.uses_seed

    def test_weight_zero_is_absence(self, regime: AbstractRegime) -> None:
        """Rows of weight 0 leave no trace, wherever they stand and whatever they hold."""
        clf = self.fitted(regime)  # the same rows in the same number, so that its program serves
        assert clf.training_ is not None  # fitted here
        data, encoder = clf.training_.data, clf.predictor_.encoder
        context = TrainingContext(Permits.of(encoder), 1, clf.threshold, len(data.x))
        model_key, fit_key = jax.random.split(jax.random.key(0))
        model = clf.architecture().build(encoder.n_columns, 2, model_key)
        rows, weight = np.array(data.x), np.array(data.weight)
        absent = np.linspace(3, len(rows) - 4, 15).astype(int)
        weight[absent] = 0
        spoiled = rows.copy()
        spoiled[absent] = 1e3 * np.random.default_rng(0).normal(size=(15, rows.shape[1]))
        results = []
        for x in (rows, spoiled):
            part = Data(*jax.device_put((x, data.y, weight)))
            fitted, _ = regime.train(model, part, fit_key, context=context)
            results.append(fitted)
        untouched, _ = regime.train(model, data, fit_key, context=context)
        for a, b in zip(*map(jax.tree.leaves, results), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        assert any((a != b).any() for a, b in zip(*map(jax.tree.leaves, (results[0], untouched)), strict=True))

    def test_retrains(self, regime: AbstractRegime) -> None:
        """`retrain` works on what it trained, and its models agree with one another more often than not."""
        clf = self.fitted(regime)
        table, _ = world.people()
        again = retrain(clf, n=3)
        assert len(again) == 3
        assert (again.predict(table) == clf.predict(table)[None]).mean() > 0.7

    def test_scikit_learn_conventions(self, regime: AbstractRegime) -> None:
        """Keyword-only `__init__` that only assigns; fit changes no parameter."""
        parameters = list(inspect.signature(type(regime).__init__).parameters.values())[1:]
        assert all(p.kind is p.KEYWORD_ONLY for p in parameters)
        after = self.fitted(regime).regime_.get_params()
        assert {k: repr(v) for k, v in after.items()} == {k: repr(v) for k, v in regime.get_params().items()}
