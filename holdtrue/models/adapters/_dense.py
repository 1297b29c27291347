"""scikit-learn's linear models and its MLPClassifier."""

from typing import Any

import numpy as np

from holdtrue._types import Estimator
from holdtrue.models._base import AbstractModel
from holdtrue.models.adapters._columns import NotUnderstood
from holdtrue.models.adapters._layers import Activation, Front, Head, chain

LINEAR = ("LogisticRegression", "LogisticRegressionCV", "SGDClassifier", "LinearDiscriminantAnalysis")
SCORING = ("LinearSVC", "RidgeClassifier", "RidgeClassifierCV", "Perceptron", "PassiveAggressiveClassifier")
"""Linear models without probabilities, of which a calibration makes some."""

Layers = list[Any]
"""Pairs of weight and bias, and activations."""


def dense(estimator: Estimator, name: str, front: Front, *, scored: bool = False) -> AbstractModel:
    """Return a linear model or a network, with exact gradients; `scored`: its log-odds are all that is asked."""
    layers, head, n_classes = dense_layers(estimator, name, scored=scored)
    return chain(front, layers, head, n_classes)


def dense_layers(estimator: Estimator, name: str, *, scored: bool = False) -> tuple[Layers, Head, int]:
    """Layers of a linear model or a network, what the last of them gives, and the number of classes."""
    n_classes = len(estimator.classes_)
    if name == "MLPClassifier":
        return *_mlp(estimator), n_classes
    if name == "SGDClassifier" and estimator.loss != "log_loss" and not scored:
        raise NotUnderstood(f"an SGDClassifier with loss={estimator.loss!r}")
    one_vs_rest = name == "SGDClassifier" or "ovr" in (getattr(estimator, "multi_class", None),)
    one_vs_rest = one_vs_rest or getattr(estimator, "solver", None) == "liblinear"
    head: Head = "binary" if n_classes == 2 else "one_vs_rest" if one_vs_rest else "logits"
    weight = np.atleast_2d(np.asarray(estimator.coef_, np.float64))
    bias = np.broadcast_to(np.asarray(estimator.intercept_, np.float64), len(weight))
    return [(weight, bias)], head, n_classes


def _mlp(estimator: Estimator) -> tuple[Layers, Head]:
    layers: Layers = []
    for weight, bias in zip(estimator.coefs_, estimator.intercepts_, strict=True):
        layers.append((np.asarray(weight, np.float64).T, np.asarray(bias, np.float64)))
        if estimator.activation != "identity":
            layers.append(Activation(estimator.activation))
    if estimator.activation != "identity":
        layers.pop()
    head: Head = "binary" if estimator.out_activation_ == "logistic" else "logits"
    if head == "binary" and estimator.n_outputs_ != 1:
        raise NotUnderstood("an MLPClassifier of several labels")
    return layers, head
