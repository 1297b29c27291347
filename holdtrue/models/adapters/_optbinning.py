"""Scorecards of optbinning: each variable's bins and what stands for them, then a linear model."""

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from holdtrue._types import Cell, Estimator, JsonObject, NativeFrame
from holdtrue.errors import DataError
from holdtrue.models.adapters._columns import Column, Levels, NotUnderstood, is_missing
from holdtrue.models.adapters._curves import Bins
from holdtrue.schema import TableLike, plain

NOBODY = "\x00 no category has this name"


@dataclass(frozen=True)
class Variable:
    """One binned variable: edges between numbers, or categories; a value for each bin, and for what is missing.

    `otherwise` stands for a category that is in no bin.
    """

    name: str
    edges: np.ndarray | None
    categories: list[Cell]
    values: np.ndarray
    missing: float
    otherwise: float

    def __call__(self, raw: np.ndarray) -> np.ndarray:
        """What the linear model reads in the place of raw values."""
        absent = np.asarray(pd.isnull(raw))
        if self.edges is not None:
            numbers = np.where(absent, 0.0, raw).astype(np.float64)
            return np.where(absent, self.missing, self.values[np.digitize(numbers, self.edges)])
        known = dict(zip(self.categories, self.values.tolist(), strict=True))
        found = np.array([known.get(plain(value), self.otherwise) for value in raw.tolist()], np.float64)
        return np.where(absent, self.missing, found)

    def column(self, column: Column) -> Column:
        """The same for a column whose raw values are not known yet."""
        if isinstance(column, Levels):
            raw = np.empty(len(column.values), object)
            raw[:] = [np.nan if is_missing(value) else value for value in column.values]
            return Levels(column.name, self(column.numbers() if self.edges is not None else raw))
        if self.edges is None:
            raise NotUnderstood(f"categories of the number {column.name!r}")
        bent = column.then("curve", Bins(self.edges, self.values))
        return replace(bent, missing=self.missing) if np.isnan(column.missing) else bent


@dataclass(frozen=True)
class Binning:
    """What a fitted `BinningProcess` does: the variables that it reads, and those that it keeps."""

    reads: list[str]
    variables: list[Variable]

    @classmethod
    def of(cls, process: Estimator, special: Any = 0, missing: Any = 0) -> Self:
        """Ask a fitted process about a value of each bin, so that its numbers are the library's own."""
        reads = [str(name) for name in process.variable_names]
        kept = [str(name) for name in process.get_support(names=True)]
        asked: dict[str, list[Cell]] = {}
        edges: dict[str, np.ndarray | None] = {}
        for name in kept:
            binned = process.get_binned_variable(name)
            if type(binned).__name__ != "OptimalBinning" or getattr(binned, "special_codes", None) is not None:
                raise NotUnderstood(f"a {type(binned).__name__} of {name!r}, or one with special codes")
            if binned.dtype == "numerical":
                edges[name] = at = np.asarray(binned.splits, np.float64)
                first = np.nextafter(at[0], -np.inf) if len(at) else 0.0
                asked[name] = [first, *at.tolist(), np.nan]
            else:
                edges[name] = None
                asked[name] = [plain(value) for group in binned.splits for value in group] + [NOBODY, np.nan]
        most = max((len(values) for values in asked.values()), default=0)
        columns: dict[str, Cell] = dict.fromkeys(reads, np.zeros(most))
        for name, values in asked.items():
            padded = np.empty(most, object)
            padded[:] = values + values[-1:] * (most - len(values))
            columns[name] = padded if edges[name] is None else padded.astype(np.float64)
        frame = pd.DataFrame(columns)[reads]
        told = np.asarray(process.transform(frame, metric_special=special, metric_missing=missing), np.float64)
        variables = []
        for at, name in enumerate(kept):
            values, own = told[: len(asked[name]), at], edges[name]
            n_last = 1 if own is not None else 2
            categories = [] if own is not None else asked[name][:-2]
            otherwise = float("nan") if own is not None else float(values[-2])
            variables.append(Variable(name, own, categories, values[:-n_last], float(values[-1]), otherwise))
        return cls(reads, variables)

    def transform(self, X: TableLike) -> pd.DataFrame:
        """What the linear model reads."""
        frame: NativeFrame = X
        parts = [variable(np.asarray(frame[variable.name])) for variable in self.variables]
        return pd.DataFrame(np.column_stack(parts), columns=[variable.name for variable in self.variables])

    def columns(self, columns: Sequence[Column]) -> list[Column]:
        """Columns after the process."""
        if len(columns) != len(self.reads):
            raise NotUnderstood("a BinningProcess after a step that makes columns")
        place = dict(zip(self.reads, columns, strict=True))
        return [variable.column(place[variable.name]) for variable in self.variables]

    def to_dict(self) -> JsonObject:
        """As JSON has it."""
        variables = [
            {"name": v.name, "edges": None if v.edges is None else v.edges.tolist(), "categories": v.categories,
             "values": v.values.tolist(), "missing": v.missing,
             "otherwise": None if v.edges is not None else v.otherwise}
            for v in self.variables
        ]  # fmt: skip
        return {"reads": self.reads, "variables": variables}

    @classmethod
    def from_dict(cls, said: JsonObject) -> Self:
        """The inverse of `to_dict`."""
        variables = []
        for v in said["variables"]:
            edges = None if v["edges"] is None else np.asarray(v["edges"], np.float64)
            values, size = np.asarray(v["values"], np.float64), len(v["categories"] if edges is None else edges)
            if len(values) != size + (edges is not None):
                raise DataError(f"load: the bins of {v['name']!r} and their values are not of one number.")
            otherwise = float("nan") if v["otherwise"] is None else float(v["otherwise"])
            variables.append(Variable(v["name"], edges, v["categories"], values, float(v["missing"]), otherwise))
        return cls(said["reads"], variables)


class ScorecardClassifier(ClassifierMixin, BaseEstimator):
    """A fitted `optbinning.Scorecard` with what a classifier has; it is asked itself."""

    def __init__(self, scorecard: Estimator = None) -> None:
        self.scorecard = scorecard
        if getattr(scorecard, "estimator_", None) is not None:
            self._take(scorecard)

    def _take(self, fitted: Estimator) -> None:
        self.scorecard_ = fitted
        self.classes_ = fitted.estimator_.classes_
        self.feature_names_in_ = np.asarray(fitted.binning_process_.variable_names, object)

    def fit(self, X: Any, y: Any) -> Self:
        """Fit a scorecard of the same parameters."""
        anew: Estimator = clone(self.scorecard)
        self._take(anew.fit(X, y))
        return self

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Probabilities as the scorecard has them."""
        return self.scorecard_.predict_proba(X)

    def binning(self) -> Binning:
        """Bins and what stands for them."""
        card = self.scorecard_
        return Binning.of(card.binning_process_, card._metric_special, card._metric_missing)

    @property
    def last(self) -> Estimator:
        """The linear model."""
        return self.scorecard_.estimator_


class StoredScorecard:
    """A scorecard as a file holds it: the same bins, and the linear model itself."""

    _from_booster = True  # how its bins were found is not in the file

    def __init__(self, binning: Binning, last: Estimator) -> None:
        self._binning, self.last = binning, last
        self.classes_ = last.classes_
        self.feature_names_in_ = np.asarray(binning.reads, object)

    def binning(self) -> Binning:
        """Bins and what stands for them."""
        return self._binning

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Probabilities of the linear model."""
        return self.last.predict_proba(self._binning.transform(X))


def is_scorecard_of_optbinning(model: Estimator) -> bool:
    """Whether it is a `Scorecard` of optbinning."""
    return type(model).__name__ == "Scorecard" and type(model).__module__.startswith("optbinning.")


def packed(binning: Binning, last: bytes) -> bytes:
    """Bins as JSON and the linear model's bytes in one."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("bins.json"), json.dumps(binning.to_dict(), sort_keys=True))
        archive.writestr(zipfile.ZipInfo("linear.skops"), last)
    return out.getvalue()


def unpacked(blob: bytes) -> tuple[Binning, bytes]:
    """The inverse of `packed`."""
    with zipfile.ZipFile(io.BytesIO(blob)) as archive:
        return Binning.from_dict(json.loads(archive.read("bins.json"))), archive.read("linear.skops")
