"""Data of the experiment, and every model of a sweep trained in one compiled program."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from experiments._relaxed import relaxed
from experiments.robustness_tradeoffs._settings import N_JUDGED, N_TRAIN, SETTINGS, Kind
from holdtrue.batch import Predictor
from holdtrue.datasets import load
from holdtrue.encoding import Encoder, Permits
from holdtrue.metrics import collapse_radius
from holdtrue.models import AbstractModel, Data, Decision, Strategy, fit_many
from holdtrue.retraining import start_keys
from holdtrue.schema import Schema
from holdtrue.training import Setting


@dataclass(frozen=True)
class Task:
    """One dataset, encoded once for all splits, so that any model can be asked about any row.

    Attributes
    ----------
    encoder : Encoder
        Everything free to change, as in the paper.
    held : Encoder
        The same columns, with what nobody can change held (the dataset's own schema).
    """

    encoder: Encoder
    held: Encoder
    X: Any
    x: np.ndarray
    y: np.ndarray

    @staticmethod
    def load(name: str) -> "Task":
        """Read a dataset of the paper."""
        setting = SETTINGS[name]
        data = load(setting.dataset)
        assert data.schema is not None
        kept = [f for f in data.schema if f.name not in setting.dropped]
        hot = [f.replace(kind="categorical") if f.name in setting.flags else f for f in kept]
        free = [f.replace(direction="free", transitions=None, cost_weight=1.0) for f in hot]
        fixed = [
            f.replace(direction="fixed" if own.direction == "fixed" else "free")
            for f, own in zip(free, kept, strict=True)
        ]
        X = data.X[[f.name for f in kept]]
        encoder, held = (Encoder.fit(Schema(features), X) for features in (free, fixed))
        y = (np.asarray(data.y) == data.favourable).astype(np.int32)
        return Task(encoder, held, X, encoder.encode(X).astype(np.float32), y)

    def split(self, seed: int) -> "Split":
        """Four fifths to learn from, at most `N_TRAIN` rows, the rest to be judged and asked about."""
        order = np.random.default_rng(seed).permutation(len(self.y))
        cut = len(order) * 4 // 5
        return Split(self, order[: min(cut, N_TRAIN)], order[cut:][:N_JUDGED], seed)

    @cached_property
    def fixed_columns(self) -> np.ndarray:
        """Encoded columns that nobody can change."""
        return self._columns(lambda f: self.held.schema[f].direction == "fixed")

    @cached_property
    def numbers(self) -> np.ndarray:
        """Encoded columns that hold a number."""
        return np.arange(self.x.shape[1]) < len(self.encoder.layout.numbers)

    def _columns(self, wanted: Any) -> np.ndarray:
        out = np.zeros(self.x.shape[1], bool)
        for slot in self.encoder.layout.slots:
            out[slot.start : slot.stop] = wanted(slot.name)
        return out

    def predictor(self, model: AbstractModel, encoder: Encoder | None = None) -> Predictor:
        """A model as methods see it."""
        decision = Decision(model, jnp.asarray(0.5), 1)
        return Predictor(encoder or self.encoder, decision, np.array([0, 1]))

    def relaxed(self, model: AbstractModel) -> Predictor:
        """The model over its encoded columns, each free in [0, 1]."""
        return relaxed(self.predictor(model), np.array([np.zeros(self.x.shape[1]), np.ones(self.x.shape[1])]))


@dataclass(frozen=True)
class Split:
    """Rows of one split."""

    task: Task
    train: np.ndarray
    test: np.ndarray
    seed: int

    @property
    def x(self) -> np.ndarray:
        """Encoded test rows."""
        return self.task.x[self.test]

    @property
    def y(self) -> np.ndarray:
        """Their labels, 1 for favourable."""
        return self.task.y[self.test]

    @cached_property
    def data(self) -> Data:
        """Training rows."""
        x, y = self.task.x[self.train], self.task.y[self.train]
        return Data(jnp.asarray(x), jnp.asarray(y), jnp.ones(len(x)))

    def collapse(self, norm: Any = "linf") -> float:
        """Radius from which a linear model has no weights left."""
        return collapse_radius(self.task.x[self.train], self.task.y[self.train], norm=norm)


def sweep(
    task: Task,
    splits: Sequence[Split],
    kind: Kind,
    radii: Sequence[float],
    *,
    strategy: Strategy = "auto",
    **options: Any,
) -> list[list[AbstractModel]]:
    """Train a model for every radius and split, one list per radius. Only numbers differ: one program serves."""
    setting = Setting(Permits.of(task.encoder), 1)
    jobs = [(radius, split) for radius in radii for split in splits]
    regimes = [kind.regime(radius, len(split.train), **options) for radius, split in jobs]
    build = kind.architecture(task.x.shape[1]).build
    starts = {split.seed: build(task.x.shape[1], 2, start_keys(split.seed)[0]) for split in splits}
    models = fit_many(
        [starts[split.seed] for _, split in jobs],
        [regime.step(setting) for regime in regimes],
        [split.data for _, split in jobs],
        [start_keys(split.seed)[1] for _, split in jobs],
        n_epochs=regimes[0].n_epochs,
        batch_size=regimes[0].batch_size,
        strategy=strategy,
    )
    jax.block_until_ready(jax.tree.leaves(eqx.filter(models, eqx.is_array)))
    n = len(splits)
    return [models[i : i + n] for i in range(0, len(models), n)]
