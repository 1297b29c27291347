"""What a model's decision is a cut-off of, in the form in which it can be shared out."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from holdtrue.attribution import _sampled
from holdtrue.attribution._networks import along_network
from holdtrue.attribution._players import Players
from holdtrue.attribution._sums import added, weighted
from holdtrue.attribution._trees import Paths, Shares, seen
from holdtrue.batch import Predictor
from holdtrue.models import LinearModel, PiecewiseModel, TreesModel
from holdtrue.models.adapters import Bent, LayersModel, Steps

Parts = tuple[np.ndarray, np.ndarray | None]
"""Of shape (rows, players): each one's share, and its standard error where it was sampled."""
Sharing = Callable[[np.ndarray], Parts]
"""Shares, for encoded rows, of the score less a reference's mean score."""


class AbstractScore:
    """A score of encoded rows whose cut-off is 0: from there on the answer is the wanted one.

    Attributes
    ----------
    unit : what a difference of scores is counted in.
    how : how shares come about.
    """

    unit: str = "log-odds"
    how: str = "exact"

    @abstractmethod
    def margins(self, x: np.ndarray) -> np.ndarray:
        """Scores of encoded rows."""

    @abstractmethod
    def against(self, reference: np.ndarray, weights: np.ndarray) -> Sharing:
        """How the score, less the mean score of weighted reference rows, is shared out between the players."""


def score_of(
    predictor: Predictor, players: Players, target: int, decided: int, random_state: int
) -> AbstractScore:
    """The score between two decisions: with two classes the favourable one's, against the threshold."""
    model = predictor.decision.model.alone
    if isinstance(model, TreesModel):
        return _tree_score(predictor, model, players, target, decided)
    if isinstance(model, PiecewiseModel) and "additive" in model.capabilities:
        return _summed_score(predictor, model, players, target, decided)
    if isinstance(model, LinearModel) or (
        isinstance(model, LayersModel) and len(model.layers) == 1 and model.head != "one_vs_rest"
    ):
        return _additive_score(predictor, model, players, target, decided)
    return SampledScore(predictor, players, target, decided, random_state)


def _level(threshold: float) -> float:
    return float(np.log(threshold) - np.log1p(-threshold))


# ---- trees -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TreeScore(AbstractScore):
    """A contrast of sums over trees, less a cut-off."""

    paths: Paths
    contrast: np.ndarray
    cut: float
    unit: str = "log-odds"
    how: str = "exact (trees)"

    def margins(self, x: np.ndarray) -> np.ndarray:
        """Scores of encoded rows."""
        return self.paths.margins(seen(self.paths.flat, x), self.contrast) - self.cut

    def against(self, reference: np.ndarray, weights: np.ndarray) -> Sharing:
        """By tables over the sets of conditions that rows do not meet, which are made here."""
        shares = Shares(self.paths, self.contrast, reference, weights)
        return lambda x: (shares.of(x), None)


def _tree_score(
    predictor: Predictor, model: TreesModel, players: Players, target: int, decided: int
) -> AbstractScore:
    decision, k = predictor.decision, model.n_classes
    paths = Paths(model, players)
    factor = float(model.factor)
    n_outputs = len(paths.boxes.base)
    contrast, cut, unit = np.zeros(n_outputs), 0.0, "log-odds"
    shares = model.head in ("mean", "share")
    if k == 2:
        favourable = decision.favourable
        if n_outputs == 1:  # the second class's log-odds, or share
            contrast[0] = factor if favourable == 1 else -factor
        else:
            contrast[favourable] = factor
            if not shares:
                contrast[1 - favourable] = -factor
        threshold = float(decision.threshold)
        if shares:
            # A share of the first class is 1 less that of the second.
            cut, unit = threshold - (1.0 if n_outputs == 1 and favourable == 0 else 0.0), "probability"
        else:
            cut = _level(threshold)
        if target != favourable:
            contrast, cut = -contrast, -cut
    else:
        contrast[target], contrast[decided] = factor, -factor
        unit = "probability" if shares else "log-odds"
    return TreeScore(paths, contrast, cut, unit)


# ---- linear and additive models ----------------------------------------------------------------------


@dataclass(frozen=True)
class AdditiveScore(AbstractScore):
    """A sum over columns: a weight each, for some ordinal features a value per level, for some numbers a curve."""

    players: Players
    weight: np.ndarray
    curves: tuple[tuple[int, Callable[[np.ndarray], np.ndarray]], ...]  # a column, and what it adds
    cut: float
    how: str = "exact (linear)"

    def _columns(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, np.float64)
        out = x * self.weight
        for column, adds in self.curves:
            out[:, column] += adds(x[:, column])
        return out

    def margins(self, x: np.ndarray) -> np.ndarray:
        """Scores of encoded rows."""
        return self._columns(x).sum(axis=1) - self.cut

    def against(self, reference: np.ndarray, weights: np.ndarray) -> Sharing:
        """What each column adds, less what it adds on average over the reference."""
        usual = weights @ self._columns(reference)
        groups = [np.flatnonzero(self.players.owner == i).tolist() for i in range(len(self.players.names))]
        return lambda x: (added(self._columns(x) - usual, groups), None)


def _additive_score(
    predictor: Predictor, model: LinearModel | LayersModel, players: Players, target: int, decided: int
) -> AbstractScore:
    k = model.n_classes
    level, decided = _pair(predictor, target, decided)
    if isinstance(model, LinearModel):
        weight, bias = (np.asarray(part, np.float64) for part in (model.weight, model.bias))
        pick, curves = np.eye(k)[target] - np.eye(k)[decided], ()
    else:
        layer = model.layers[0]
        weight, bias = (np.asarray(part, np.float64) for part in (layer.weight, layer.bias))
        pick = np.array([1.0 if target == 1 else -1.0])
        if model.head != "binary":
            pick = np.eye(k)[target] - np.eye(k)[decided]
        curves = tuple((part.column, _adds(part, pick)) for part in layer.steps)
    cut = level - float(pick @ bias)
    return AdditiveScore(players, pick @ weight, curves, cut)


def _pair(predictor: Predictor, target: int, decided: int) -> tuple[float, int]:
    """The cut-off between two classes, and the class that is not wanted.

    With two classes the pair is the decision's, the other way round where the other class is wanted.
    """
    decision = predictor.decision
    if decision.n_classes > 2:
        return 0.0, decided
    return _level(float(decision.threshold)) * (1 if target == decision.favourable else -1), 1 - target


def _summed_score(
    predictor: Predictor, model: PiecewiseModel, players: Players, target: int, decided: int
) -> AbstractScore:
    """A curve of each number, and a weight of every other column: one layer on the pieces."""
    level, decided = _pair(predictor, target, decided)
    pick = np.eye(model.n_classes)[target] - np.eye(model.n_classes)[decided]
    each = pick @ np.asarray(model.network.weights[0], np.float64)
    knots = model.knots_seen
    d = len(each) - knots.shape[0] * (knots.shape[1] - 1)
    parts = each[d:].reshape(len(knots), -1)
    curves = tuple((j, _piecewise(knots[j], parts[j])) for j in range(len(knots)))
    cut = level - float(pick @ np.asarray(model.network.biases[0], np.float64))
    return AdditiveScore(players, each[:d], curves, cut, how="exact (columns add up)")


def _piecewise(knots: np.ndarray, weights: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """What the pieces of a number add to the score: see `PiecewiseModel.pieces`."""
    low, wide = knots[:-1], knots[1:] > knots[:-1]
    width = np.where(wide, knots[1:] - low, 1.0)
    return lambda x: weighted(np.where(wide, np.clip((x[:, None] - low) / width, 0.0, 1.0), 0.0), weights)


def _adds(part: Steps | Bent, pick: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """What an encoded column adds to the score."""
    scale, offset = float(part.scale), float(part.offset)
    if isinstance(part, Steps):
        values = pick @ np.asarray(part.table, np.float64)
        return lambda x: values[np.clip(np.round(x * scale + offset), 0, len(values) - 1).astype(int)]
    factor = float(pick @ np.asarray(part.weight, np.float64)) * float(part.slope)
    curve = part.curve
    return lambda x: factor * np.asarray(jax.vmap(curve)(jnp.asarray(x * scale + offset, jnp.float32)), np.float64)


# ---- any other model ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class SampledScore(AbstractScore):
    """The difference of two logits, asked of the model itself."""

    predictor: Predictor
    players: Players
    target: int
    decided: int
    random_state: int

    @property
    def how(self) -> str:  # type: ignore[override]
        """How shares come about."""
        return "exact (all sets of features)" if len(self.players.names) <= _sampled.FEW else "sampled"

    def margins(self, x: np.ndarray) -> np.ndarray:
        """Scores of encoded rows."""
        return self._of(np.asarray(self.predictor.logits_of(x), np.float64))

    def _of(self, logits: np.ndarray) -> np.ndarray:
        decision = self.predictor.decision
        if decision.n_classes > 2:
            return logits[:, self.target] - logits[:, self.decided]
        gap = logits[:, decision.favourable] - logits[:, 1 - decision.favourable]
        margin = gap - _level(float(decision.threshold))
        return margin if self.target == decision.favourable else -margin

    def against(self, reference: np.ndarray, weights: np.ndarray) -> Sharing:
        """By all sets of the players where these are few, else by random orders of them."""
        owner, n = self.players.owner, len(self.players.names)
        if n <= _sampled.FEW:
            return lambda x: (_sampled.enumerated(self.margins, x, reference, weights, owner, n), None)
        along = along_network(self.predictor.decision.model.alone, self.players, self._of)
        return lambda x: _sampled.sampled(self.margins, x, reference, weights, owner, n, self.random_state, along)
