"""Subsets of one dataset under one encoder: the first rows of each to learn from, its last to be asked about."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np

from experiments.rocoursenet._settings import SETTINGS, Setting
from holdtrue.batch import Predictor
from holdtrue.datasets import load
from holdtrue.encoding import Encoder
from holdtrue.models import AbstractModel, Data, Decision

LEARNED = 0.75
"""Share of a subset's rows, in the order of the file, that a model learns from."""
CHOSEN = 0.8
"""Share of those that it learns from while settings are being chosen; the rest then stands for the test rows."""


@dataclass(frozen=True)
class Subset:
    """One year, place or version of the data.

    Attributes
    ----------
    X : dataframe
        People who are asked about, in the table's own columns.
    x, y : arrays
        The same people encoded, and their labels.
    learned_x, learned_y : arrays
        Rows to learn from.
    tested_x, tested_y : arrays
        All rows that are left: whose labels are predicted. Those who are asked about recourse may be fewer.
    """

    name: str
    X: Any
    x: np.ndarray
    y: np.ndarray
    learned_x: np.ndarray
    learned_y: np.ndarray
    tested_x: np.ndarray
    tested_y: np.ndarray

    def few(self, n: int | None) -> "Subset":
        """At most `n` people to be asked about, evenly spaced: neighbours in a file are often alike."""
        if n is None or len(self.y) <= n:
            return self
        rows = np.linspace(0, len(self.y) - 1, n).astype(int)
        return replace(self, X=self.X.iloc[rows], x=self.x[rows], y=self.y[rows])

    def share(self, fraction: float) -> "Subset":
        """The same people, fewer rows to learn from: evenly spaced ones."""
        n = max(2, round(fraction * len(self.learned_y)))
        rows = np.linspace(0, len(self.learned_y) - 1, n).astype(int)
        return replace(self, learned_x=self.learned_x[rows], learned_y=self.learned_y[rows])


@dataclass(frozen=True)
class Task:
    """A dataset's subsets, encoded alike, so that any model can be asked about anybody."""

    setting: Setting
    encoder: Encoder
    subsets: tuple[Subset, ...]

    @staticmethod
    def load(
        name: str,
        *,
        n_people: int | None = None,
        subsets: tuple[str, ...] | None = None,
        scaled_on: Literal["all", "learned"] = "all",
        choosing: bool = False,
    ) -> "Task":
        """Read a dataset of the paper.

        Parameters
        ----------
        name : str
            One of `SETTINGS`.
        n_people : int, optional
            At most so many test rows of each subset.
        subsets : tuple of str, optional
            Some of the subsets; all when omitted.
        scaled_on : {"all", "learned"}
            Rows that the scaling of numbers is learned from: every row of every subset, as the paper's code does,
            or only those that models learn from.
        choosing : bool, default=False
            Leave every test row aside: the last fifth of the rows to learn from takes its place.
        """
        setting = SETTINGS[name]
        data = load(setting.dataset, **setting.options)
        assert data.schema is not None
        assert data.groups is not None
        group = data.groups[setting.group].astype(str).to_numpy()
        y = (np.asarray(data.y) == data.favourable).astype(np.int32)
        wanted = subsets or tuple(dict.fromkeys(group.tolist()))  # in the order of the file
        parts: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for own in sorted(wanted) if setting.sort else wanted:
            rows = np.flatnonzero(group == own)
            cut = round(LEARNED * len(rows))
            learned, asked = rows[:cut], rows[cut:]
            if choosing:
                cut = round(CHOSEN * len(learned))
                learned, asked = learned[:cut], learned[cut:]
            parts[own] = learned, asked
        seen = np.arange(len(y)) if scaled_on == "all" else np.concatenate([p[0] for p in parts.values()])
        encoder = Encoder.fit(data.schema, data.X.iloc[seen])
        made = []
        for own, (learned, asked) in parts.items():
            x, learned_x = (encoder.encode(data.X.iloc[rows]).astype(np.float32) for rows in (asked, learned))
            X = data.X.iloc[asked].reset_index(drop=True)
            made.append(Subset(own, X, x, y[asked], learned_x, y[learned], x, y[asked]).few(n_people))
        return Task(setting, encoder, tuple(made))

    def predictor(self, model: AbstractModel) -> Predictor:
        """A model as methods see it; class 1 is the favourable one."""
        return Predictor(self.encoder, Decision(model, jnp.asarray(0.5), 1), np.array([0, 1]))

    def rows(self) -> list[Data]:
        """Every subset's rows to learn from, repeated to the length of the longest.

        One shape serves all subsets with one compiled program, and all have the same number of updates. A row's
        copies share its weight, so that each row counts the same.
        """
        longest = max(len(s.learned_y) for s in self.subsets)
        out = []
        for s in self.subsets:
            order = np.arange(longest) % len(s.learned_y)
            weight = (longest / len(s.learned_y)) / np.bincount(order)[order]
            out.append(Data(jnp.asarray(s.learned_x[order]), jnp.asarray(s.learned_y[order]),
                            jnp.asarray(weight, jnp.float32)))  # fmt: skip
        return out
