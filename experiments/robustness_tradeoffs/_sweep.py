"""Data of the experiment, and every model of a sweep trained in one compiled program."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np

from experiments._encoded import EncodedSpace
from experiments._task import Rows, Task
from experiments.robustness_tradeoffs._settings import N_JUDGED, N_TRAIN, SETTINGS, Kind, SweptDataset
from holdtrue.datasets import load
from holdtrue.encoding import Encoder, Permits
from holdtrue.models import AbstractModel, Strategy, fit_many
from holdtrue.retraining import start_keys
from holdtrue.schema import Schema
from holdtrue.training import TrainingContext as Told


@dataclass(frozen=True)
class Encoded:
    """One dataset, encoded once for all its splits, so that any model can be asked about any row.

    Attributes
    ----------
    encoder : Encoder
        Everything free to change, as in the paper.
    held : Encoder
        The same columns, with what nobody can change held (the dataset's own schema).
    """

    setting: SweptDataset
    encoder: Encoder
    held: Encoder
    X: Any
    rows: Rows

    @staticmethod
    def load(name: str) -> "Encoded":
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
        return Encoded(setting, encoder, held, X, Rows(encoder.encode(X).astype(np.float32), y))

    def task(self, seed: int, n_people: int | None = None) -> Task[SweptDataset]:
        """Four fifths to learn from, at most `N_TRAIN` rows; the rest is judged, and its first are asked about."""
        train, test = self._split(seed)
        learned, tested = (Rows(self.rows.x[part], self.rows.y[part]) for part in (train, test))
        asked = Rows(tested.x[:n_people], tested.y[:n_people])
        X = self.X.iloc[test[:n_people]]
        return Task(self.setting, self.encoder, learned, tested, asked, X, self.held, seed=seed)

    def left(self, seed: int) -> np.ndarray:
        """Encoded rows that the task of a seed does not learn from, in the order of the file."""
        return self.rows.x[np.setdiff1d(np.arange(len(self.rows.y)), self._split(seed)[0])]

    def _split(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        order = np.random.default_rng(seed).permutation(len(self.rows.y))
        cut = len(order) * 4 // 5
        return order[: min(cut, N_TRAIN)], order[cut:][:N_JUDGED]


def space(task: Task[SweptDataset], model: AbstractModel) -> EncodedSpace:
    """A model over its encoded columns, each free in [0, 1]."""
    return EncodedSpace.of(task.predictor(model), 0.0, 1.0)


def number_columns(task: Task[SweptDataset]) -> np.ndarray:
    """Which encoded columns hold a number."""
    return np.arange(task.encoder.n_columns) < len(task.encoder.layout.numbers)


def sweep(
    tasks: Sequence[Task[SweptDataset]],
    kind: Kind,
    radii: Sequence[float],
    *,
    strategy: Strategy = "auto",
    **options: Any,
) -> list[list[AbstractModel]]:
    """Train a model for every radius and task, one list per radius. Only numbers differ: one program serves."""
    told, d = Told(Permits.of(tasks[0].encoder), 1), tasks[0].encoder.n_columns
    jobs = [(radius, task) for radius in radii for task in tasks]
    regimes = [kind.regime(radius, len(task.learned.y), **options) for radius, task in jobs]
    build = kind.architecture(d).build
    starts = {task.seed: build(d, 2, start_keys(task.seed)[0]) for task in tasks}
    models = fit_many(
        [starts[task.seed] for _, task in jobs],
        [regime.step(told) for regime in regimes],
        [task.data for _, task in jobs],
        [start_keys(task.seed)[1] for _, task in jobs],
        n_epochs=regimes[0].n_epochs,
        batch_size=regimes[0].batch_size,
        strategy=strategy,
    )
    jax.block_until_ready(jax.tree.leaves(eqx.filter(models, eqx.is_array)))
    n = len(tasks)
    return [models[i : i + n] for i in range(0, len(models), n)]
