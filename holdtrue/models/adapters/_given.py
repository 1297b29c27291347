"""What people hand over as a model, as a classifier: raw boosters and functions too."""

import functools
import types
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from holdtrue._optional import need
from holdtrue._types import Estimator
from holdtrue.errors import CapabilityError
from holdtrue.models.adapters._onnx import from_onnx, is_onnx
from holdtrue.models.adapters._optbinning import ScorecardClassifier, is_scorecard_of_optbinning
from holdtrue.models.adapters._outputs import proba_from
from holdtrue.models.adapters._torch import from_torch
from holdtrue.schema import TableLike

FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial)
PROBABILITIES = ("binary:logistic", "multi:softprob", "multi:softmax")


def as_classifier(model: Estimator) -> Estimator:
    """An object with `predict_proba`: the model itself, or what reads it.

    Read are an ONNX model or its path, a raw booster of XGBoost, LightGBM or CatBoost, and a function of a table
    that gives probabilities. Anything else without `predict_proba` is refused, with what to do about it.
    """
    if isinstance(model, type):
        raise CapabilityError(
            f"recourse: `model` is a class and not a fitted model; got {model.__name__}. Give "
            f"{model.__name__}().fit(X, y)."
        )
    if is_onnx(model):
        return from_onnx(model)
    if type(model).__name__ == "ExportedProgram" and type(model).__module__.startswith("torch."):
        return from_torch(model)
    if is_scorecard_of_optbinning(model):
        return ScorecardClassifier(model)
    if callable(getattr(model, "predict_proba", None)):
        return model
    if type(model).__name__ == "VotingClassifier" and model.voting == "hard":
        return HardVotes(model)
    library, name = type(model).__module__.partition(".")[0], type(model).__name__
    if library == "xgboost" and name == "Booster":
        return from_xgboost(model)
    if library == "lightgbm" and name == "Booster":
        return LightGBMBooster(model)
    if library == "catboost" and name == "CatBoost":
        return from_catboost(model)
    if isinstance(model, FUNCTIONS):
        return FunctionClassifier(model)
    got = "None" if model is None else f"{_article(name)} of {library}"
    raise CapabilityError(f"recourse: the model needs `predict_proba`; got {got}. {_advice(model, library)}")


class FunctionClassifier:
    """A function of a dataframe that gives probabilities: a column per class, or the second class's alone."""

    takes_frames = True

    def __init__(self, function: Any) -> None:
        self.function = function

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Probabilities of shape (n, classes)."""
        out = np.asarray(self.function(X), np.float64)
        return proba_from(out[:, None] if out.ndim == 1 else out, "probabilities")


class HardVotes:
    """A `VotingClassifier` that counts decisions: the share of votes stands for a probability."""

    def __init__(self, estimator: Estimator) -> None:
        self.estimator = estimator
        self.classes_ = estimator.classes_
        for name in ("feature_names_in_", "n_features_in_"):
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Shares of shape (n, classes)."""
        votes, weights = self.estimator.transform(X), self.estimator._weights_not_none
        weights = np.ones(votes.shape[1]) if weights is None else np.asarray(weights, np.float64)
        return np.stack([((votes == k) @ weights) / weights.sum() for k in range(len(self.classes_))], axis=1)


class LightGBMBooster:
    """A raw LightGBM booster with what a classifier has."""

    def __init__(self, booster: Estimator) -> None:
        objective = str(booster.dump_model(num_iteration=1)["objective"]).split(" ")[0]
        if objective not in ("binary", "multiclass"):
            raise CapabilityError(
                f"recourse: a LightGBM booster must be trained for classes; got objective {objective!r}. Train it "
                "with 'binary' or 'multiclass', or give a function of a table that makes probabilities of it."
            )
        self.booster_ = booster
        self.classes_ = np.arange(max(2, booster.num_model_per_iteration()))
        self.n_features_in_ = booster.num_feature()
        names = booster.feature_name()
        if names != [f"Column_{i}" for i in range(len(names))]:  # what it calls columns without a name
            self.feature_names_in_ = np.asarray(names, object)

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Probabilities of shape (n, classes)."""
        out = np.asarray(self.booster_.predict(X), np.float64)
        return proba_from(out[:, None] if out.ndim == 1 else out, "probabilities")


def from_xgboost(booster: Estimator) -> Estimator:
    """XGBoost's own classifier about a raw booster."""
    import json

    import xgboost

    objective = json.loads(booster.save_config())["learner"]["objective"]["name"]
    if objective not in PROBABILITIES:
        raise CapabilityError(
            f"recourse: an XGBoost booster must be trained for classes; got objective {objective!r}. Train it "
            "with 'binary:logistic' or 'multi:softprob', or give a function of a table that makes probabilities."
        )
    model: Any = xgboost.XGBClassifier(enable_categorical=True)
    model.load_model(bytearray(booster.save_raw("ubj")))
    model._from_booster = True  # its parameters are not those that the booster was trained with
    return model


def from_catboost(model: Estimator) -> Estimator:
    """CatBoost's own classifier about a plain model."""
    catboost = need("catboost", extra="catboost", what="recourse: a CatBoost model")
    try:
        return catboost.to_classifier(model)
    except catboost.CatBoostError:
        loss = model.get_all_params()["loss_function"]
        raise CapabilityError(
            f"recourse: a CatBoost model must be trained for classes; got {loss!r}. Train it with 'Logloss' or "
            "'MultiClass', or give a function of a table that makes probabilities of it."
        ) from None


def _advice(model: Estimator, library: str) -> str:
    """What to do about a model without `predict_proba`, where that depends on where it comes from."""
    function = "Give a function of a table that returns probabilities"
    if library == "torch":
        return "Give holdtrue.models.adapters.from_torch(module), with `reads` where something makes its input."
    if isinstance(model, Mapping) and any(type(part).__module__.startswith("torch") for part in model.values()):
        return (
            "Weights alone are no model: give holdtrue.models.adapters.from_torch(weights, architecture=...), the "
            "layers in their order, such as 'Linear(6, 16), ReLU, Linear(16, 1)'."
        )
    if library in ("keras", "tensorflow", "tf_keras"):
        return f"{function}: {_of_keras(model)}."
    if library == "statsmodels":
        return _of_statsmodels(model, function)
    if callable(getattr(model, "decision_function", None)):
        return "Calibrate it: sklearn.calibration.CalibratedClassifierCV(model).fit(X, y)."
    if isinstance(model, RegressorMixin) or type(model).__name__.endswith(("Regressor", "Ranker")):
        return "Recourse is about decisions: train a classifier, or give a function that returns probabilities."
    return f"{function}, or an object that has it."


def _of_keras(model: Estimator) -> str:
    """How its probabilities are had; of a last layer without a function of its own, from log-odds."""
    asked = "model.predict(X.to_numpy('float32'), verbose=0)"
    layers = getattr(model, "layers", None) or [None]
    last, units = getattr(layers[-1], "activation", None), getattr(layers[-1], "units", 1)
    if getattr(last, "__name__", "") != "linear":
        return f"lambda X: {asked}"
    return f"lambda X: scipy.special.{f'expit({asked})' if units == 1 else f'softmax({asked}, axis=1)'}"


def _of_statsmodels(results: Estimator, function: str) -> str:
    """How its probabilities are had: with a constant where it was given one, by a formula as it is."""
    model = getattr(results, "model", None)
    if model is None:  # a model, and nothing fitted
        return f"Fit it, results = model.fit(), and give {function[5:]}: lambda X: results.predict(X)."
    kind, family = type(model).__name__, type(getattr(model, "family", None)).__name__
    if kind not in ("Logit", "Probit", "MNLogit") and family != "Binomial":
        return (
            "Recourse is about decisions: train a classifier (Logit, Probit), or give a function of a table that "
            "returns probabilities."
        )
    if hasattr(model, "formula") or "const" not in (getattr(model, "exog_names", None) or ()):
        return f"{function}: lambda X: results.predict(X)."
    return f"{function}: lambda X: results.predict(statsmodels.api.add_constant(X, has_constant='add'))."


def _article(name: str) -> str:
    spelt = len(name) > 1 and name[:2].isupper()  # an XGBRegressor, an SVC
    return f"{'an' if name[0] in ('AEFHILMNORSX' if spelt else 'AEIOU') else 'a'} {name}"
