"""A linear model, a network of straight pieces, or a panel of such, as weights: what must not fall below 0."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np

from holdtrue.models import AbstractModel, Decision, LinearModel, MLPModel, PanelModel, SideBySide, Stacked
from holdtrue.models.adapters import LayersModel


@dataclass(frozen=True)
class Hidden:
    """Units ``max(z, slope * z)`` with ``z = weight @ h + bias``."""

    weight: np.ndarray
    bias: np.ndarray
    slope: float

    def __call__(self, h: np.ndarray) -> np.ndarray:
        """Units of many rows."""
        z = h @ self.weight.T + self.bias
        return np.maximum(z, self.slope * z)


@dataclass(frozen=True)
class Member:
    """One model: hidden layers, and scores that must not fall below 0 for a yes, one for each class to be beaten.

    Attributes
    ----------
    hidden : tuple of Hidden
    weight, bias : of the scores; a panel's slack and the decision's threshold are in the bias.
    """

    hidden: tuple[Hidden, ...]
    weight: np.ndarray
    bias: np.ndarray

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Scores of many rows, in double precision."""
        h = np.asarray(x, np.float64)
        for layer in self.hidden:
            h = layer(h)
        return h @ self.weight.T + self.bias

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weight and bias of the straight piece that one row lies on."""
        h = np.asarray(x, np.float64)
        weight, bias = np.eye(len(h)), np.zeros(len(h))
        for layer in self.hidden:
            z = layer.weight @ h + layer.bias
            on = np.where(z > 0, 1.0, layer.slope)
            weight, bias = on[:, None] * (layer.weight @ weight), on * (layer.weight @ bias + layer.bias)
            h = on * z
        return self.weight @ weight, self.weight @ bias + self.bias


@dataclass(frozen=True)
class Members:
    """The model itself first, then its guides.

    Attributes
    ----------
    each : tuple of Member
    spared : int
        How many guides may refuse; the model never may.
    """

    each: tuple[Member, ...]
    spared: int = 0

    @property
    def linear(self) -> bool:
        """Whether none has hidden units."""
        return not any(member.hidden for member in self.each)

    def margins(self, x: np.ndarray) -> np.ndarray:
        """What the least sure member that counts has, of many rows."""
        least = np.stack([member.scores(x).min(axis=1) for member in self.each])
        if not self.spared or len(least) == 1:
            return least.min(axis=0)
        guides = np.sort(least[1:], axis=0)[min(self.spared, len(least) - 2)]
        return np.minimum(least[0], guides)


def members_of(decision: Decision, target: int) -> Members:
    """What it takes that `decision` is `target`."""
    model = decision.model
    if not isinstance(model, PanelModel):
        return Members((_member(decision, model, target, 0.0),))
    slack = float(model.slack)
    each = [_member(decision, model.model, target, max(slack, 0.0))]
    for part in model.guides:
        if isinstance(part, Stacked):
            stacked = jax.tree.map(lambda a: np.asarray(a) if eqx.is_array(a) else a, part.ensemble)
            models = [stacked.member(i) for i in range(part.n_members)]
        else:
            assert isinstance(part, SideBySide)
            models = list(part.models)
        each += [_member(decision, guide, target, slack) for guide in models]
    return Members(tuple(each), min(model.spared, len(each) - 1))


def _member(decision: Decision, model: AbstractModel, target: int, slack: float) -> Member:
    """A model's layers, the last of them as gaps between the target's logit and the others'."""
    hidden, weight, bias = _layers(model)
    k = decision.n_classes
    gaps = np.zeros((k - 1, k))
    gaps[:, target] = 1.0
    gaps[np.arange(k - 1), [c for c in range(k) if c != target]] = -1.0
    least = np.full(k - 1, slack)
    if k == 2:
        threshold = float(decision.threshold)
        level = np.log(threshold) - np.log1p(-threshold)
        least += level if target == decision.favourable else -level
    return Member(tuple(hidden), gaps @ weight, gaps @ bias - least)


def _layers(model: AbstractModel) -> tuple[list[Hidden], np.ndarray, np.ndarray]:
    """Hidden layers, and weight and bias of the logits."""
    if isinstance(model, LinearModel):
        return [], _double(model.weight), _double(model.bias)
    if isinstance(model, MLPModel):
        slope = {"relu": 0.0, "leaky_relu": 0.01}[model.activation]
        layers = list(zip(map(_double, model.weights), map(_double, model.biases), strict=True))
        return [Hidden(*layer, slope) for layer in layers[:-1]], *layers[-1]
    assert isinstance(model, LayersModel)
    hidden: list[Hidden] = []
    weight, bias = _double(model.layers[0].weight), _double(model.layers[0].bias)
    for layer in model.layers[1:]:
        if hasattr(layer, "name"):
            slope = 0.0 if layer.name == "relu" else float(layer.slope)
            hidden.append(Hidden(weight, bias, slope))
            weight, bias = np.eye(len(bias)), np.zeros(len(bias))
        else:  # one affine layer after another is one
            own = _double(layer.weight)
            weight, bias = own @ weight, own @ bias + _double(layer.bias)
    if model.head == "binary":
        weight, bias = np.stack([np.zeros_like(weight[0]), weight[0]]), np.array([0.0, bias[0]])
    return hidden, weight, bias


def _double(values: Any) -> np.ndarray:
    return np.asarray(values, np.float64)
