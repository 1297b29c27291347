"""The bench on which the trials of a study are measured: the same rows and people for all."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split

from holdtrue._types import Keywords, Label
from holdtrue.classifier import RecourseClassifier, some_rows
from holdtrue.errors import DataError
from holdtrue.metrics import implausibility
from holdtrue.models import fresh
from holdtrue.schema import TableLike, favourable_of
from holdtrue.training import AbstractRegime

TARGET_ROWS = 1000  # of the wanted class, that recourse is held against


class Measured(NamedTuple):
    """A trained setting's figures; implausibility and cost are None where nobody has recourse."""

    accuracy: float
    implausibility: float | None
    cost: float | None
    found: float
    n_asked: int


@dataclass(frozen=True, eq=False)
class Bench:
    """Rows to learn from, rows to validate on, and whom recourse is sought for.

    Attributes
    ----------
    X, y : dataframe, array
        The rows that may be seen; those held out for a test are not among them.
    train, held : array of int
        Their split.
    asked : array of int
        Of the held ones, whom recourse is sought for where the model refuses them: those who were refused in
        truth, so that every setting is asked about the same people.
    favourable : label
    parts : mapping
        Further parameters of `RecourseClassifier`.
    seed : int
    """

    X: TableLike
    y: np.ndarray
    train: np.ndarray
    held: np.ndarray
    asked: np.ndarray
    favourable: Label | None
    parts: Mapping[str, Any]
    seed: int

    @classmethod
    def of(
        cls,
        X: TableLike,
        y: ArrayLike,
        size: float,
        people: int,
        favourable: Label | None,
        seed: int,
        **parts: object,
    ) -> "Bench":
        """Split rows."""
        good = favourable_of(y, favourable, name=getattr(y, "name", None), where="tune")
        y = np.asarray(y)
        try:
            train, held = train_test_split(np.arange(len(y)), test_size=size, random_state=seed, stratify=y)
        except ValueError as error:
            raise DataError(f"tune: too few rows to validate on; got {len(y)} ({error}).") from error
        train, held = np.sort(train), np.sort(held)
        asked = held[y[held] != good][:people]
        return cls(X, y, train, held, asked, good, parts, seed)

    def measure(self, rule: AbstractRegime) -> Measured:
        """Train under a regime, and measure."""
        parts: Keywords = {name: fresh(p) if isinstance(p, BaseEstimator) else p for name, p in self.parts.items()}
        # Not held against retrainings: a trial is about one training.
        how: Keywords = {"favourable": self.favourable, "hold": None, "random_state": self.seed}
        clf = RecourseClassifier(regime=rule, **how, **parts)
        clf.fit(some_rows(self.X, self.train), self.y[self.train])
        accuracy = float((clf.predict(some_rows(self.X, self.held)) == self.y[self.held]).mean())
        refused = self.asked[clf.predict(some_rows(self.X, self.asked)) != self.favourable]
        if len(refused) == 0:
            return Measured(accuracy, None, None, 0.0, 0)
        plan = clf.recourse(some_rows(self.X, refused))
        ok = np.asarray(plan.found & plan.valid)
        if not ok.any():
            return Measured(accuracy, None, None, 0.0, len(refused))
        encoder = clf.predictor_.encoder
        wanted = self.train[self.y[self.train] == self.favourable]
        wanted = np.random.default_rng(self.seed).permutation(wanted)[:TARGET_ROWS]
        far = implausibility(encoder.encode(plan.recourse.take(ok)), encoder.encode(some_rows(self.X, wanted)))
        return Measured(accuracy, float(far.mean()), float(plan.cost[ok].mean()), float(ok.mean()), len(refused))
