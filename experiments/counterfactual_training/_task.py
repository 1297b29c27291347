"""A dataset of the experiment: encoded rows, what may change, and who is asked for recourse."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

from experiments.counterfactual_training._settings import N_TARGET_ROWS, SETTINGS, Setting
from holdtrue.datasets import load
from holdtrue.encoding import Encoder, Permits
from holdtrue.models import AbstractModel, Data, Decision
from holdtrue.schema import Schema

TEST_SHARE = 5  # one in so many rows


@dataclass(frozen=True)
class Task:
    """One dataset.

    Attributes
    ----------
    free, held : encoders that differ in whether the protected features may change. Numbers keep to the range of
        the data.
    train, test : (x, y) of the rows, `y` class indices.
    """

    setting: Setting
    free: Encoder
    held: Encoder
    train: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]

    @staticmethod
    def load(name: str, n_train: int | None = None) -> "Task":
        """Read a dataset of the paper; at most `n_train` rows to learn from."""
        setting = SETTINGS[name]
        if setting.is_image:
            return _digits(setting, n_train)
        X, y, free, train, test = _table(setting, n_train)
        encoder = _encoder(setting, free, X.iloc[train])
        x = encoder.encode(X).astype(np.float32)
        return Task(setting, encoder, _held(encoder, setting.protected), (x[train], y[train]), (x[test], y[test]))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.train[1].max()) + 1

    @cached_property
    def data(self) -> Data:
        """Training rows."""
        x, y = self.train
        return Data(jnp.asarray(x), jnp.asarray(y), jnp.ones(len(x)))

    @cached_property
    def protected(self) -> np.ndarray:
        """Encoded columns of the protected features."""
        return np.flatnonzero(np.asarray(Permits.of(self.held).fixed))

    def training_permits(self, held: bool, *, relaxed: bool) -> Permits:
        """What may change in training: numbers two deviations about the mean at least, as in the paper.

        `relaxed` takes the levels of categories for numbers too, as the paper does: a column of 0 and 1 then ends
        two deviations from its mean as well, where no person can be but where an attack goes.
        """
        encoder = self.held if held else self.free
        permits = Permits.of(encoder)
        if self.setting.is_image:
            return permits
        layout = encoder.layout
        n = layout.n_columns - len(layout.indicators) if relaxed else len(layout.numbers)
        x = self.train[0][:, :n].astype(np.float64)
        low, high = x.mean(axis=0) - 2 * x.std(axis=0), x.mean(axis=0) + 2 * x.std(axis=0)
        return replace(
            permits,
            lower=permits.lower.at[:n].min(jnp.asarray(low, jnp.float32)),
            upper=permits.upper.at[:n].max(jnp.asarray(high, jnp.float32)),
        )

    def permits(self, held: bool, wide: bool) -> Permits:
        """What may change in use; `wide` is the paper's domain."""
        if wide:
            return self.training_permits(held, relaxed=True)
        return Permits.of(self.held if held else self.free)

    def decision(self, model: AbstractModel) -> Decision:
        """The decision of a model."""
        return Decision(model, jnp.asarray(0.5), 1)

    def people(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Test rows and the class each is to be led to: `n` in each direction; with ten classes, `n` in all."""
        x, y = self.test
        if self.n_classes == 2:
            rows = np.concatenate([np.flatnonzero(y == k)[:n] for k in (0, 1)])
            return x[rows], 1 - y[rows]
        rng = np.random.default_rng(1)
        rows = np.arange(min(n, len(y)))
        return x[rows], (y[rows] + rng.integers(1, self.n_classes, len(rows))) % self.n_classes

    def rows_of(self, k: int, n: int = N_TARGET_ROWS) -> np.ndarray:
        """Test rows of a class."""
        x, y = self.test
        return x[y == k][:n]


def training_table(name: str) -> tuple[Any, np.ndarray, Schema]:
    """Rows that models learn from, as they were before encoding, with labels and a schema that leaves all free."""
    X, y, free, train, _ = _table(SETTINGS[name], None)
    return X.iloc[train], y[train], free


def _table(setting: Setting, n_train: int | None) -> tuple[Any, np.ndarray, Schema, np.ndarray, np.ndarray]:
    """A table's rows, labels and schema, and which rows are to learn from and to test on."""
    data = load(setting.dataset, **setting.options)
    assert data.schema is not None
    kept = [f for f in data.schema if f.name not in setting.dropped]
    free = Schema([f.replace(direction="free", transitions=None, cost_weight=1.0) for f in kept])
    y = (np.asarray(data.y) == data.favourable).astype(np.int32)
    order = np.random.default_rng(0).permutation(len(y))
    test, train = np.split(order, [len(order) // TEST_SHARE])
    return data.X[free.names], y, free, train[: n_train or setting.n_train], test


def _encoder(setting: Setting, schema: Schema, X: Any) -> Encoder:
    fitted = Encoder.fit(schema, X, "standard")
    return fitted if setting.scale == "standard" else _unscaled(fitted)


def _unscaled(encoder: Encoder) -> Encoder:
    """The same with every number as it is."""
    ones = np.ones(encoder.n_columns)
    return replace(encoder, scale=ones, offset=0 * ones, spread=encoder.spread * encoder.scale)


def _held(encoder: Encoder, names: Sequence[str]) -> Encoder:
    return replace(encoder, schema=encoder.schema.replace(**{name: {"direction": "fixed"} for name in names}))


def _digits(setting: Setting, n_train: int | None) -> Task:
    """The first images of either part, grey levels in [-1, 1]."""
    parts, held = {}, None
    for part, n in (("train", n_train or setting.n_train), ("test", 2000)):
        data = load(setting.dataset, **setting.options, part=part)
        parts[part] = (data.X.iloc[:n], np.asarray(data.y)[:n].astype(np.int32), data.schema)
    X, y, schema = parts["train"]
    free = _unscaled(Encoder.fit(schema, X, "standard"))
    protected = load(setting.dataset, **setting.options, part="test", protect=True).schema
    assert protected is not None
    held = _held(free, [f.name for f in protected if f.direction == "fixed"])
    tested = free.encode(parts["test"][0]).astype(np.float32)
    return Task(setting, free, held, (free.encode(X).astype(np.float32), y), (tested, parts["test"][1]))
