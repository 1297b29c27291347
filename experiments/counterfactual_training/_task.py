"""A dataset of the experiment: encoded rows, what may change, and who is asked for recourse."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from experiments._task import Rows, Task
from experiments.counterfactual_training._settings import N_TARGET_ROWS, SETTINGS, CounterfactualDataset
from holdtrue.datasets import load
from holdtrue.encoding import Encoder, Permits
from holdtrue.schema import Schema

TEST_SHARE = 5  # one in so many rows


def read_task(name: str, n_train: int | None = None) -> Task[CounterfactualDataset]:
    """A dataset of the paper; at most `n_train` rows to learn from. Numbers keep to the range of the data.

    `encoder` lets everything change, `held` all but the protected features.
    """
    setting = SETTINGS[name]
    if setting.is_image:
        return _digits(setting, n_train)
    X, y, free, train, test = _table(setting, n_train)
    encoder = _encoder(setting, free, X.iloc[train])
    x = encoder.encode(X).astype(np.float32)
    tested = Rows(x[test], y[test])
    held = _held(encoder, setting.protected)
    return Task(setting, encoder, Rows(x[train], y[train]), tested, tested, held=held)


def training_permits(task: Task[CounterfactualDataset], held: bool, *, relaxed: bool) -> Permits:
    """What may change in training: numbers two deviations about the mean at least, as in the paper.

    `relaxed` takes the levels of categories for numbers too, as the paper does: a column of 0 and 1 then ends
    two deviations from its mean as well, where no person can be but where an attack goes.
    """
    encoder = _of(task, held)
    permits = Permits.of(encoder)
    if task.setting.is_image:
        return permits
    layout = encoder.layout
    n = layout.n_columns - len(layout.indicators) if relaxed else len(layout.numbers)
    x = task.learned.x[:, :n].astype(np.float64)
    low, high = x.mean(axis=0) - 2 * x.std(axis=0), x.mean(axis=0) + 2 * x.std(axis=0)
    return replace(
        permits,
        lower=permits.lower.at[:n].min(jnp.asarray(low, jnp.float32)),
        upper=permits.upper.at[:n].max(jnp.asarray(high, jnp.float32)),
    )


def permits_in_use(task: Task[CounterfactualDataset], held: bool, wide: bool) -> Permits:
    """What may change in use; `wide` is the paper's domain."""
    return training_permits(task, held, relaxed=True) if wide else Permits.of(_of(task, held))


def people(task: Task[CounterfactualDataset], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Test rows and the class each is to be led to: `n` in each direction; with ten classes, `n` in all."""
    x, y = task.tested
    if task.n_classes == 2:
        rows = np.concatenate([np.flatnonzero(y == k)[:n] for k in (0, 1)])
        return x[rows], 1 - y[rows]
    rng = np.random.default_rng(1)
    rows = np.arange(min(n, len(y)))
    return x[rows], (y[rows] + rng.integers(1, task.n_classes, len(rows))) % task.n_classes


def rows_of(task: Task[CounterfactualDataset], k: int, n: int = N_TARGET_ROWS) -> np.ndarray:
    """Test rows of a class."""
    x, y = task.tested
    return x[y == k][:n]


def _of(task: Task[CounterfactualDataset], held: bool) -> Encoder:
    return (task.held if held else None) or task.encoder


def training_table(name: str) -> tuple[Any, np.ndarray, Schema]:
    """Rows that models learn from, as they were before encoding, with labels and a schema that leaves all free."""
    X, y, free, train, _ = _table(SETTINGS[name], None)
    return X.iloc[train], y[train], free


def _table(
    setting: CounterfactualDataset, n_train: int | None
) -> tuple[Any, np.ndarray, Schema, np.ndarray, np.ndarray]:
    """A table's rows, labels and schema, and which rows are to learn from and to test on."""
    data = load(setting.dataset, **setting.options)
    assert data.schema is not None
    kept = [f for f in data.schema if f.name not in setting.dropped]
    free = Schema([f.replace(direction="free", transitions=None, cost_weight=1.0) for f in kept])
    y = (np.asarray(data.y) == data.favourable).astype(np.int32)
    order = np.random.default_rng(0).permutation(len(y))
    test, train = np.split(order, [len(order) // TEST_SHARE])
    return data.X[free.names], y, free, train[: n_train or setting.n_train], test


def _encoder(setting: CounterfactualDataset, schema: Schema, X: Any) -> Encoder:
    fitted = Encoder.fit(schema, X, "standard")
    return fitted if setting.scale == "standard" else _unscaled(fitted)


def _unscaled(encoder: Encoder) -> Encoder:
    """The same with every number as it is."""
    ones = np.ones(encoder.n_columns)
    return replace(encoder, scale=ones, offset=0 * ones, spread=encoder.spread * encoder.scale)


def _held(encoder: Encoder, names: Sequence[str]) -> Encoder:
    return replace(encoder, schema=encoder.schema.replace(**{name: {"direction": "fixed"} for name in names}))


def _digits(setting: CounterfactualDataset, n_train: int | None) -> Task[CounterfactualDataset]:
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
    tested = Rows(free.encode(parts["test"][0]).astype(np.float32), parts["test"][1])
    return Task(setting, free, Rows(free.encode(X).astype(np.float32), y), tested, tested, held=held)
