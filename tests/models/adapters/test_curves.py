"""Powers, quantiles, splines and bins before a model are read, and say what scikit-learn says."""

from typing import Any

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)

import holdtrue as ht
from holdtrue.models.adapters import BlackBoxModel, LayersModel, TreesModel
from holdtrue.testing._world import SCHEMA, people

from .conftest import CATEGORIES, labels, mixed, ours

NUMBERS = ["income", "debt", "tenure"]
CURVES = {
    "power": lambda: PowerTransformer(),
    "power, as it is": lambda: PowerTransformer(standardize=False),
    "quantiles": lambda: QuantileTransformer(n_quantiles=50),
    "normal quantiles": lambda: QuantileTransformer(n_quantiles=50, output_distribution="normal"),
    "splines": lambda: SplineTransformer(n_knots=4),
    "splines, linear outside": lambda: SplineTransformer(n_knots=4, extrapolation="linear", include_bias=False),
    "splines that go on": lambda: SplineTransformer(n_knots=5, degree=2, extrapolation="continue"),
}


def front(curve: Any) -> Any:
    before = make_pipeline(SimpleImputer(), StandardScaler(), curve)
    return make_column_transformer((before, NUMBERS), (OneHotEncoder(handle_unknown="ignore"), CATEGORIES))


def check(model: Any, kind: type, tol: float) -> ht.batch.Predictor:
    table, _ = people()
    predictor = ht.wrap(model, SCHEMA, table, favourable=model.classes_[-1])
    assert isinstance(predictor.decision.model, kind), predictor.foreign.note
    for rows in (table, mixed(table, 300, seed=3)):
        theirs = model.predict_proba(rows)
        np.testing.assert_allclose(ours(predictor, rows), theirs, atol=tol)
        assert (predictor.classes[predictor.decide(ht.schema.as_table(rows))] == model.predict(rows)).all()
    return predictor


@pytest.mark.parametrize("name", CURVES)
def test_curves_before_a_linear_model(name: str) -> None:
    table, _ = people()
    model = make_pipeline(front(CURVES[name]()), LogisticRegression(max_iter=1000)).fit(table, labels(2))
    predictor = check(model, LayersModel, 1e-5)
    assert "differentiable" in predictor.capabilities


def test_curves_before_a_network_and_trees() -> None:
    table, _ = people()
    network = MLPClassifier((6,), max_iter=40, tol=1e-2, random_state=0)
    check(make_pipeline(front(CURVES["power"]()), network).fit(table, labels(2)), LayersModel, 1e-5)
    for name in ("power", "quantiles", "normal quantiles"):
        forest = RandomForestClassifier(8, max_depth=5, random_state=0)
        check(make_pipeline(front(CURVES[name]()), forest).fit(table, labels(2)), TreesModel, 1e-6)
    # A spline's basis rises and falls: no threshold has one place among the raw values.
    forest = make_pipeline(front(CURVES["splines"]()), RandomForestClassifier(3)).fit(table, labels(2))
    assert isinstance(ht.wrap(forest, SCHEMA, table).decision.model, BlackBoxModel)


def bins(encode: str) -> Any:
    made = make_pipeline(
        SimpleImputer(), KBinsDiscretizer(5, encode=encode, quantile_method="averaged_inverted_cdf")
    )
    hot = OneHotEncoder(handle_unknown="ignore")
    return make_column_transformer((made, NUMBERS), (hot, CATEGORIES))


@pytest.mark.parametrize("encode", ["onehot-dense", "ordinal"])
@pytest.mark.parametrize("k", [2, 3])
def test_a_linear_model_of_bins_is_a_scorecard(encode: str, k: int) -> None:
    table, _ = people()
    model = make_pipeline(bins(encode), LogisticRegression(max_iter=1000)).fit(table, labels(k))
    predictor = check(model, TreesModel, 1e-6)
    assert "trees" in predictor.capabilities
    steps = model[0].named_transformers_["pipeline"][-1].bin_edges_[0][1:-1]
    # A number on an edge is in the upper bin, so that the largest raw value to go left is the one before it.
    np.testing.assert_array_equal(predictor.foreign.splits["income"], np.nextafter(steps, -np.inf))


def test_recourse_on_a_scorecard_is_proved_the_cheapest() -> None:
    table, _ = people()
    model = make_pipeline(bins("onehot-dense"), LogisticRegression(max_iter=1000)).fit(table, labels(2))
    refused = table[model.predict(table) == 0].head(10)
    plan = ht.recourse(model, refused, SCHEMA, "exact_search", reference=table)
    assert plan.found.any()
    assert (model.predict(plan.to_frame()[SCHEMA.names][plan.found]) == 1).all()
    assert all(s.name in ("OPTIMAL", "INFEASIBLE") for s in map(ht.Status, plan.status.tolist()))


def test_bins_beside_plain_numbers_are_asked_as_a_black_box() -> None:
    table, _ = people()
    made = make_column_transformer(
        (KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"), ["income"]), (StandardScaler(), ["debt"])
    )
    model = make_pipeline(made, LogisticRegression()).fit(table, labels(2))
    predictor = ht.wrap(model, SCHEMA, table)
    assert isinstance(predictor.decision.model, BlackBoxModel)
    assert "bins beside numbers" in predictor.foreign.note


@pytest.mark.parametrize("name", ["power", "normal quantiles", "splines"])
def test_a_file_holds_them(name: str, tmp_path: Any) -> None:
    pytest.importorskip("skops.io", reason="skops is not installed; pip install 'holdtrue[skops]' to run it")
    table, _ = people()
    model = make_pipeline(front(CURVES[name]()), LogisticRegression(max_iter=1000)).fit(table, labels(2))
    ht.adopt(model, SCHEMA, reference=table, method="nearest_neighbour").save(tmp_path / "bank.holdtrue")
    again = ht.load(tmp_path / "bank.holdtrue")
    assert isinstance(again.predictor_.decision.model, LayersModel)
    # Kept as logarithms, which costs the last bit.
    np.testing.assert_allclose(again.predict_proba(table), model.predict_proba(table), rtol=1e-14)
