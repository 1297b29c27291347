"""The paper's data, what may change (A.2, A.3), and splits (4.1)."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from experiments._task import Rows
from holdtrue.datasets import load
from holdtrue.encoding import Encoder, Permits
from holdtrue.schema import Schema
from holdtrue.training import TrainingContext as Told

VARIANT = {"variant": "actionable-recourse"}
RADIUS = 0.75
FAVOURABLE = 1
WATCHED = 0.1  # share of the training part that chooses the epoch, so that the calibration part stays unseen
ROOM = 3.0  # bounds this many ranges beyond the data: the paper's box has none of its own


@dataclass(frozen=True)
class RecourseDataset:
    """One dataset's part of the experiment."""

    title: str
    dataset: str
    n_test: int
    n_epochs: int = 15
    batch_size: int = 15
    white: str | None = None
    cohort: tuple[int, int] | None = None  # of training and calibration, and of the test rows
    printed: str | None = None
    options: dict[str, Any] = field(default_factory=lambda: dict(VARIANT))


SETTINGS = {
    "adult": RecourseDataset("Adult", "adult", 500, white="isWhite", printed="adult"),
    "compas": RecourseDataset("Compas", "compas", 500, white="isCaucasian", printed="compas"),
    # Within one cohort: everybody was followed for about as long, and no record is on two sides.
    "bail": RecourseDataset(
        "Bail, original records", "bail", 500, white="WHITE", cohort=(1978, 1978), printed="bail"
    ),
    "bail-paper": RecourseDataset(
        "Bail, the paper's file", "bail_ross", 500, white="WHITE", cohort=(1978, 1980), printed="bail"
    ),
    "german": RecourseDataset("German", "german_credit", 100, n_epochs=50, batch_size=30, printed="german"),
}


@dataclass(frozen=True)
class Split:
    """Four parts of one random split, with what people may do.

    `learn` and `watch` make up the paper's training part (80%), `calibrate` and `test` its validation part.
    """

    learn: Rows
    watch: Rows
    calibrate: Rows
    test: Rows
    encoder: Encoder
    told: Told  # what training may know
    X: pd.DataFrame  # rows of the test part as they are
    white: np.ndarray | None

    @property
    def train(self) -> Rows:
        """Rows that the paper learns from."""
        return Rows(*(np.concatenate(pair) for pair in zip(self.learn, self.watch, strict=True)))


def split(name: str, seed: int) -> Split:
    """Draw one split afresh. Numbers are scaled by the training part alone."""
    setting = SETTINGS[name]
    data = load(setting.dataset, **setting.options)
    X, y = data.X, np.asarray(data.y)
    rng = np.random.default_rng([seed, 2021])
    if setting.cohort is None or setting.cohort[0] == setting.cohort[1]:
        rows = _once(X, y, data.groups, setting)
        order = rng.permutation(rows)
        n_train = round(0.8 * len(order))
        train, test, calibrate = np.split(order, [n_train, n_train + setting.n_test])
    else:
        groups: Any = data.groups
        cohort = groups["cohort"].to_numpy()
        order = rng.permutation(np.flatnonzero(cohort == setting.cohort[0]))
        train, calibrate = np.split(order, [round(0.8 * len(order))])
        test = rng.permutation(np.flatnonzero(cohort == setting.cohort[1]))[: setting.n_test]
    assert data.schema is not None  # tables have one
    encoder = Encoder.fit(open_box(data.schema, X), X.iloc[train], "standard")
    encoded = encoder.encode(X).astype(np.float32)
    n_watch = round(WATCHED * len(train))
    learn, watch, calibrated, tested = (
        Rows(encoded[part], y[part]) for part in (train[n_watch:], train[:n_watch], calibrate, test)
    )
    shown = X.iloc[test]
    white = None if setting.white is None else shown[setting.white].to_numpy() == 1
    told = Told(Permits.of(encoder), FAVOURABLE)
    return Split(learn, watch, calibrated, tested, encoder, told, shown, white)


def _once(X: pd.DataFrame, y: np.ndarray, groups: Any, setting: RecourseDataset) -> np.ndarray:
    """Rows to draw from: within a cohort, each record once."""
    if setting.cohort is None:
        return np.arange(len(X))
    within = groups["cohort"].to_numpy() == setting.cohort[0]
    again = X.assign(label=y).duplicated().to_numpy()
    return np.flatnonzero(within & ~again)


def open_box(schema: Schema, X: pd.DataFrame) -> Schema:
    """The paper's view: numbers are a continuum without bounds of their own; flags and categories stay."""
    features = []
    for feature in schema:
        if not feature.has_levels:
            column = np.asarray(X[feature.name], float)
            low, high = column.min(), column.max()
            wide = (low - ROOM * (high - low), high + ROOM * (high - low))
            feature = feature.replace(kind="numeric", bounds=wide, step=None)
        features.append(feature)
    return Schema(features)
