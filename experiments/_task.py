"""A task: encoder, split, people and models of an experiment, in one shape for all papers."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import jax.numpy as jnp
import numpy as np

from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder, Permits
from holdtrue.models import AbstractModel, Data, Decision

S = TypeVar("S")
"""What a paper says of one of its datasets."""


class Rows(NamedTuple):
    """Encoded rows and their class indices."""

    x: np.ndarray
    y: np.ndarray

    def evenly(self, n: int) -> "Rows":
        """So many of them, evenly spaced: neighbours in a file are often alike."""
        rows = spaced(len(self.y), n)
        return Rows(self.x[rows], self.y[rows])


def spaced(n_rows: int, n: int) -> np.ndarray:
    """So many of `n_rows` places, evenly spaced."""
    return np.linspace(0, n_rows - 1, n).astype(int)


@dataclass(frozen=True)
class Task(Generic[S]):
    """One split of one dataset under one encoder. Tasks that share an encoder can ask each other's models.

    Attributes
    ----------
    setting
        What the paper says of the dataset.
    encoder : Encoder
        What people may change, as the experiment has it.
    learned : Rows
        That models learn from.
    tested : Rows
        That are left, whose labels are predicted.
    asked : Rows
        Of those, the people for whom recourse is sought.
    X : dataframe, optional
        The same people in the table's own columns.
    held : Encoder, optional
        The same columns as `encoder` has, with what nobody can change held.
    name : str
        Of the year, place or version of the data, where it has several.
    seed : int
        That the split, or the model asked, was drawn by.
    """

    setting: S
    encoder: Encoder
    learned: Rows
    tested: Rows
    asked: Rows
    X: Any = None
    held: Encoder | None = None
    name: str = ""
    seed: int = 0

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.learned.y.max()) + 1

    @cached_property
    def data(self) -> Data:
        """Rows to learn from, as training takes them."""
        x, y = self.learned
        return Data(jnp.asarray(x), jnp.asarray(y), jnp.ones(len(x)))

    @cached_property
    def fixed_columns(self) -> np.ndarray:
        """Which encoded columns nobody can change."""
        return np.asarray(Permits.of(self.held or self.encoder).fixed)

    def decision(self, model: AbstractModel) -> Decision:
        """The decision of a model; class 1 is the favourable one."""
        return Decision(model, jnp.asarray(0.5), 1)

    def predictor(self, model: AbstractModel) -> Predictor:
        """A model as methods see it."""
        return Predictor(self.encoder, self.decision(model), np.array([0, 1]))

    def few(self, n: int | None) -> "Task[S]":
        """At most `n` people to be asked about, evenly spaced."""
        if n is None or len(self.asked.y) <= n:
            return self
        X = None if self.X is None else self.X.iloc[spaced(len(self.asked.y), n)]
        return replace(self, asked=self.asked.evenly(n), X=X)

    def share(self, fraction: float) -> "Task[S]":
        """The same people, fewer rows to learn from: evenly spaced ones."""
        return replace(self, learned=self.learned.evenly(max(2, round(fraction * len(self.learned.y)))))
