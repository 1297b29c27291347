"""What people hand over as a model: raw boosters, functions, and what is none."""

import sys
import types
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import holdtrue as ht
from holdtrue.batch import proba_of
from holdtrue.datasets import Dataset
from holdtrue.errors import ArgumentError, CapabilityError
from holdtrue.models.adapters import TreesModel, from_onnx, from_torch


@pytest.fixture(scope="module")
def bank() -> Dataset:
    return ht.datasets.load("loanapp")


def agrees(model: Any, p: np.ndarray, bank: Dataset) -> None:
    """The booster is read as trees, which say what it says itself."""
    predictor = ht.wrap(model, bank.schema, bank.X)
    assert isinstance(predictor.decision.model, TreesModel), predictor.foreign.note
    np.testing.assert_allclose(predictor.proba(predictor.encoder.schema.check(bank.X))[:, 1], p, atol=1e-7)
    encoded = predictor.encoder.encode(bank.X)
    np.testing.assert_allclose(proba_of(predictor.logits_of(encoded))[:, 1], p, atol=1e-6)


def test_a_raw_xgboost_booster(bank: Dataset) -> None:
    xgboost = pytest.importorskip("xgboost")
    rows = xgboost.DMatrix(bank.X, bank.y)
    booster = xgboost.train({"objective": "binary:logistic", "max_depth": 4, "nthread": 1}, rows, 20)
    agrees(booster, booster.predict(rows), bank)
    plan = ht.recourse(booster, bank.X[booster.predict(rows) < 0.5][:5], bank.schema, reference=bank.X)
    assert plan.valid.all()
    regressor = xgboost.train({"objective": "reg:squarederror", "nthread": 1}, rows, 2)
    with pytest.raises(CapabilityError, match=r"objective 'reg:squarederror'.*binary:logistic"):
        ht.wrap(regressor, bank.schema, bank.X)


def test_a_raw_lightgbm_booster(bank: Dataset) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    settings = {"objective": "binary", "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(settings, lightgbm.Dataset(bank.X, bank.y), 20)
    agrees(booster, booster.predict(bank.X), bank)
    nameless = lightgbm.train(settings, lightgbm.Dataset(bank.X.to_numpy(float), bank.y), 20)
    agrees(nameless, nameless.predict(bank.X.to_numpy(float)), bank)
    settings |= {"objective": "regression"}
    with pytest.raises(CapabilityError, match=r"objective 'regression'.*'binary'"):
        ht.wrap(lightgbm.train(settings, lightgbm.Dataset(bank.X, bank.y), 2), bank.schema, bank.X)


def test_a_function_of_a_table(bank: Dataset) -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(bank.X, bank.y)

    def score(X: Any) -> np.ndarray:
        assert list(X.columns) == bank.schema.names
        return model.predict_proba(X)[:, 1]

    refused = bank.X[model.predict(bank.X) == 0][:4]
    plan = ht.recourse(score, refused, bank.schema, "nearest_neighbour", reference=bank.X)
    assert plan.found.all()
    assert (model.predict(plan.to_frame()[bank.schema.names]) == 1).all()
    assert plan.predictor.classes.tolist() == [0, 1]


def stranger(module: str, name: str, **more: Any) -> Any:
    """An object of a library that need not be installed."""
    return type(name, (), {"__module__": f"{module}.sub", "predict": lambda self, X: X} | more)()


def statsmodels(kind: str, **more: Any) -> Any:
    """What its `fit` returns: it knows the model, and that the names of its columns."""
    return stranger("statsmodels", "BinaryResultsWrapper", model=stranger("statsmodels", kind, **more))


def keras(activation: str, units: int = 1) -> Any:
    """A network whose last layer has a function of its own, or none."""
    last = types.SimpleNamespace(activation=types.SimpleNamespace(__name__=activation), units=units)
    return stranger("keras", "Sequential", layers=[last])


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (statsmodels("Logit", exog_names=["const", "a"]), r"a BinaryResultsWrapper of statsmodels.*add_constant"),
        (statsmodels("Logit", exog_names=["a"]), r"probabilities: lambda X: results\.predict\(X\)"),
        (statsmodels("Logit", exog_names=["const"], formula="y ~ a"), r"lambda X: results\.predict\(X\)"),
        (statsmodels("OLS", exog_names=["const"]), "Recourse is about decisions"),
        (stranger("statsmodels", "Logit"), r"Fit it, results = model\.fit\(\), and give a function"),
        (keras("sigmoid"), r"a Sequential of keras\. Give a function .*lambda X: model\.predict\(.*, verbose=0\)"),
        (keras("linear"), r"scipy\.special\.expit\(model\.predict\(.*\)\)\."),
        (keras("linear", 3), r"scipy\.special\.softmax\(model\.predict\(.*\), axis=1\)\."),
        (stranger("torch", "Linear"), r"from_torch\(module\), with `reads`"),
        ({"0.weight": stranger("torch", "Tensor")}, r"from_torch\(weights, architecture="),
        (stranger("lightgbm", "LGBMRanker"), "an LGBMRanker of lightgbm.*Recourse is about decisions"),
        (None, r"got None\."),
        (LogisticRegression, r"a class and not a fitted model; got LogisticRegression\. Give .*\.fit\(X, y\)"),
        (stranger("acme", "Engine"), r"an Engine of acme\. Give a function of a table"),
        (LinearSVC(), "CalibratedClassifierCV"),
        (LinearRegression(), r"a LinearRegression of sklearn\. Recourse is about decisions"),
    ],
)
def test_advice_that_applies(model: Any, words: str, bank: Dataset) -> None:
    with pytest.raises(CapabilityError, match=words):
        ht.recourse(model, bank.X[:2], bank.schema, reference=bank.X)


def test_boosters_that_were_not_trained_for_classes(bank: Dataset) -> None:
    catboost, lightgbm = pytest.importorskip("catboost"), pytest.importorskip("lightgbm")
    options = {"loss_function": "RMSE", "iterations": 2, "verbose": 0, "allow_writing_files": False}
    theirs = [
        catboost.CatBoost(options).fit(bank.X, bank.y),
        lightgbm.train({"verbose": -1, "num_threads": 1}, lightgbm.Dataset(bank.X, bank.y), 2),
    ]
    for model, words in zip(
        theirs, ("got 'RMSE'.*'Logloss'", "got objective 'regression'.*'binary'"), strict=True
    ):
        with pytest.raises(CapabilityError, match=words):
            ht.recourse(model, bank.X[:2], bank.schema, reference=bank.X)


def test_a_classifier_of_ours_says_what_to_do_with_others(bank: Dataset) -> None:
    for model in (LogisticRegression(), "random_forest"):
        with pytest.raises(CapabilityError, match=r"holdtrue\.recourse\(model.*'linear'"):
            ht.RecourseClassifier(model=model).fit(bank.X, bank.y)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda d: ht.recourse(None, d.X, schma=d.schema),
            "recourse: has no such argument.*Did you mean 'schema'",
        ),
        (lambda d: ht.recourse(None, d.X, dedline=3), "'dedline'. Did you mean 'deadline'?"),
        (lambda d: ht.wrap(None, d.schema, d.X, favorable=1), "Did you mean 'favourable'?"),
        (lambda d: ht.compare("loanapp", method="wachter"), "compare: .* Did you mean 'methods'?"),
        (lambda d: ht.Feature(nme="a", kind="numeric"), "Feature: .* Did you mean 'name'?"),
        (lambda d: ht.Schema(feature=[]), "Schema: .* Did you mean 'features'?"),
    ],
)
def test_a_misspelt_keyword_is_told_the_right_one(call: Any, words: str, bank: Dataset) -> None:
    with pytest.raises(ArgumentError, match=words.replace("?", r"\?").replace("; got", ".*")):
        call(bank)
    assert issubclass(ArgumentError, TypeError)


def test_the_public_functions_hint() -> None:
    """Every public function of the package does; they are found, not listed."""
    silent = []
    public = {name: getattr(ht, name) for name in ht.__all__}
    public |= {"from_onnx": from_onnx, "from_torch": from_torch, "log": ht.tracking.log}
    for name, thing in public.items():
        home = sys.modules.get(getattr(thing, "__module__", ""))
        if isinstance(thing, types.FunctionType) and home is not None:
            try:
                thing(nobody_has_this=1)
            except ArgumentError:
                continue
            except TypeError:
                silent.append(name)
    assert not silent


def test_compare_with_text_labels(bank: Dataset) -> None:
    pytest.importorskip("xgboost")
    labels = np.where(bank.y == 1, "yes", "no")
    found = ht.compare(
        bank.X, labels, schema=bank.schema, model="xgboost", methods=["nearest_neighbour"], people=5,
        retrainings=1, favourable="yes",
    )  # fmt: skip
    assert found.to_frame()["valid"].tolist() == [1.0]


def test_nobody_is_a_table_too(bank: Dataset) -> None:
    """Scikit-learn refuses to be asked about no rows; a search that found nobody a way asks so."""
    numbers = bank.X.select_dtypes("number").fillna(0)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(numbers, bank.y)
    predictor = ht.wrap(model, None, numbers)
    assert predictor.foreign is not None
    table = predictor.encoder.schema.check(numbers).take(np.arange(0))
    assert predictor.foreign.log_proba(table).shape == (0, 2)
