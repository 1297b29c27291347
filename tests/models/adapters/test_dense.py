"""Linear models and networks: the library's own probabilities and slopes, over encoded rows."""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler

import holdtrue as ht
from holdtrue.models import LinearModel
from holdtrue.models.adapters import LayersModel
from holdtrue.models.adapters._layers import Steps
from holdtrue.testing._world import SCHEMA, people

from .conftest import encode_all, labels, mixed, ordinal, ours

MODELS = {
    "logistic": LogisticRegression(max_iter=2000),
    "sgd": SGDClassifier(loss="log_loss", random_state=0),
    "discriminant": LinearDiscriminantAnalysis(),
    "relu": MLPClassifier((8, 4), max_iter=40, random_state=0),
    "tanh": MLPClassifier((8,), activation="tanh", max_iter=40, random_state=0),
    "logistic units": MLPClassifier((8,), activation="logistic", max_iter=40, random_state=0),
    "identity": MLPClassifier((8,), activation="identity", max_iter=40, random_state=0),
}


def fitted(model: Any, k: int) -> Any:
    table, _ = people()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return make_pipeline(encode_all(), model).fit(table, labels(k))


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_probabilities_are_the_library_s(name: str, k: int) -> None:
    table, _ = people()
    pipeline = fitted(MODELS[name], k)
    predictor = ht.wrap(pipeline, SCHEMA, table, favourable="(last)")
    assert predictor.foreign is not None
    assert "differentiable" in predictor.capabilities, predictor.foreign.note
    rows = mixed(table, 300)
    np.testing.assert_allclose(ours(predictor, rows), pipeline.predict_proba(rows), atol=1e-5)


def test_a_linear_pipeline_is_a_linear_model() -> None:
    # Every ordinal feature has two levels or a line's values, so nothing but weights is left.
    bank = ht.datasets.load("loanapp")
    X = bank.X[bank.schema.names]
    for scaler in (MinMaxScaler(), MaxAbsScaler()):
        pipeline = make_pipeline(scaler, LogisticRegression(max_iter=2000)).fit(X, bank.y)
        predictor = ht.wrap(pipeline, bank.schema, X, favourable="(last)")
        assert isinstance(predictor.decision.model, LinearModel), predictor.foreign.note
        rows = mixed(X, 300)
        np.testing.assert_allclose(ours(predictor, rows), pipeline.predict_proba(rows), atol=1e-5)


def test_searches_over_parameters_are_looked_into() -> None:
    bank = ht.datasets.load("loanapp")
    X = bank.X[bank.schema.names]
    pipeline = make_pipeline(MinMaxScaler(), LogisticRegression(max_iter=2000))
    search = GridSearchCV(pipeline, {"logisticregression__C": [0.1, 1.0]}, cv=2).fit(X, bank.y)
    assert isinstance(ht.wrap(search, bank.schema, X).decision.model, LinearModel)


def test_an_array_without_names() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    model = LogisticRegression().fit(X, (X @ [1.0, -2.0, 0.5] > 0).astype(int))
    predictor = ht.wrap(model, None, X, favourable="(last)")
    found = predictor.decision.model
    assert isinstance(found, LinearModel)
    slope = np.asarray(found.weight[1] - found.weight[0]) / predictor.encoder.scale
    np.testing.assert_allclose(slope, model.coef_[0], rtol=1e-5)


@pytest.mark.parametrize("name", ["logistic", "tanh"])
def test_gradients_are_the_library_s_by_finite_differences(name: str) -> None:
    table, _ = people()
    pipeline = fitted(MODELS[name], 2)
    predictor = ht.wrap(pipeline, SCHEMA, table, favourable="(last)")
    rows = mixed(table, 20, seed=1).assign(tenure=5.0)  # a missing value has no slope
    encoder = predictor.encoder
    x = encoder.encode(rows).astype(np.float32)
    slopes = np.asarray(
        jax.vmap(jax.grad(lambda at: jax.nn.log_softmax(predictor.decision.model.logits(at))[1]))(x)
    )
    for column in ("income", "debt", "tenure"):
        at = encoder.layout.slot(column).start
        step = 1e-3 * encoder.scale[at]

        def log_p(moved: float, column: str = column) -> np.ndarray:
            return np.log(pipeline.predict_proba(rows.assign(**{column: rows[column] + moved}))[:, 1])

        expected = (log_p(step) - log_p(-step)) / 2e-3
        np.testing.assert_allclose(slopes[:, at], expected, atol=2e-4, rtol=2e-3)


def test_slope_of_a_category_is_the_difference_that_it_makes() -> None:
    # In a linear model, moving all weight from one level to another adds the difference of their slopes.
    table, _ = people()
    pipeline = fitted(LogisticRegression(max_iter=2000), 2)
    predictor = ht.wrap(pipeline, SCHEMA, table, favourable="(last)")
    slot = predictor.encoder.layout.slot("job")
    rows = mixed(table, 5).assign(job="none")
    x = jnp.asarray(predictor.encoder.encode(rows)[0], jnp.float32)
    gap = lambda at: jnp.diff(predictor.decision.model.logits(at))[0]  # noqa: E731
    slope = np.asarray(jax.grad(gap)(x))[slot.start : slot.stop]
    levels = list(predictor.encoder.schema["job"].levels or ())
    expected = pipeline.decision_function(rows.assign(job="full")) - pipeline.decision_function(rows)
    assert slope[levels.index("full")] - slope[levels.index("none")] == pytest.approx(expected[0], rel=1e-4)


def test_steps_interpolate_and_see_both_neighbours() -> None:
    steps = Steps(jnp.asarray([[0.0, 1.0, 10.0, 4.0]]), jnp.asarray(3.0), jnp.asarray(0.0), 0)
    value = lambda at: steps(jnp.asarray([at / 3.0], jnp.float32))[0]  # noqa: E731
    for level, known in enumerate([0.0, 1.0, 10.0, 4.0]):
        assert value(float(level)) == pytest.approx(known)
    assert value(1.5) == pytest.approx(5.5)
    slopes = [float(jax.grad(value)(at)) for at in (0.0, 1.0, 2.0, 3.0, 1.5)]
    np.testing.assert_allclose(slopes, [1.0, 5.0, 1.5, -6.0, 9.0], rtol=1e-4)


def test_ordinal_features_off_the_line_keep_their_values() -> None:
    table, _ = people()
    table = table[table["job"].notna() & table["tenure"].notna()]
    schema = ht.Schema([f.replace(missing=None) for f in SCHEMA])
    pipeline = make_pipeline(ordinal(), MinMaxScaler(), LogisticRegression(max_iter=5000))
    pipeline.fit(table, labels(2)[table.index])
    predictor = ht.wrap(pipeline, schema, table, favourable="(last)")
    # Alphabetical codes of none < school < degree are 1, 2, 0: no line.
    assert isinstance(predictor.decision.model, LayersModel)
    assert predictor.decision.model.layers[0].steps
    rows = mixed(table, 300)
    np.testing.assert_allclose(ours(predictor, rows), pipeline.predict_proba(rows), atol=1e-5)


def test_recourse_in_the_raw_columns_of_a_pipeline() -> None:
    table, _ = people()
    pipeline = fitted(LogisticRegression(max_iter=2000), 2)
    refused = table[pipeline.predict(table) == 0].head(24)
    plan = ht.recourse(pipeline, refused, SCHEMA, "wachter", reference=table)
    assert plan.found.mean() > 0.9
    advised = pd.DataFrame({name: plan.recourse.columns[name] for name in table.columns}).astype(table.dtypes)
    assert (pipeline.predict(advised[plan.found]) == 1).all()
    # What nobody may change stayed, in the pipeline's own words.
    for name in ("age", "sex"):
        assert (advised[name].to_numpy() == refused[name].to_numpy()).all()
