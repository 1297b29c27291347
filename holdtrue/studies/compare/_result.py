"""What a comparison of methods found: a row a method, as a table to read, a frame, JSON to keep or a picture."""

import importlib.metadata
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from holdtrue._json import plain, to_json, write_result
from holdtrue._types import JsonObject, Keywords, NativeFrame
from holdtrue.errors import DataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

FORMAT = "holdtrue-comparison"
VERSION = 1
MEASURES = ("l0", "l1", "l2", "plausibility", "survival")
"""What is kept for every person: costs, distance to accepted people, share of retrained models that say yes."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Row:
    """One method's figures.

    Attributes
    ----------
    name, method : str
        What it is called here, and its class.
    settings : dict
        Its parameters.
    reason : str or None
        Why it could not be run; everything below is then empty.
    n_people : int
        Asked for.
    counts : dict
        People by `Status`.
    validity : float
        Share of the recourse found that the model accepts, asked again about the decoded row. Should be 1.
    n_broken : int
        Recourse that breaks a limit of the schema. Should be 0.
    seconds, first_seconds, learn_seconds : float
        The whole second call; the first, which may compile; learning from training rows.
    people : dict
        One value per person for each of `MEASURES`; NaN without a recourse.
    """

    name: str
    method: str
    settings: Keywords
    reason: str | None = None
    n_people: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    validity: float = math.nan
    n_broken: int = 0
    seconds: float = math.nan
    first_seconds: float = math.nan
    learn_seconds: float = math.nan
    people: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def has_recourse(self) -> np.ndarray:
        """Who was given a recourse."""
        return ~np.isnan(self.people.get("l1", np.full(self.n_people, np.nan)))

    @property
    def n_found(self) -> int:
        """People with a recourse."""
        return int(self.has_recourse.sum())

    @property
    def found(self) -> float:
        """Share of people with a recourse."""
        return self.n_found / self.n_people if self.n_people else math.nan

    @property
    def seconds_per_person(self) -> float:
        """Search and check, without compilation."""
        return self.seconds / self.n_people if self.n_people else math.nan

    @property
    def compile_seconds(self) -> float:
        """What the first call took longer than the second."""
        return max(self.first_seconds - self.seconds, 0.0)

    def mean(self, measure: str, who: np.ndarray | None = None) -> float:
        """Mean of a measure over the recourse found, or over some of it."""
        values = self.people.get(measure)
        if values is None:
            return math.nan
        values = values[self.has_recourse if who is None else self.has_recourse & who]
        return float(values.mean()) if len(values) else math.nan


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Methods side by side, on the same people, model and retrained models.

    Attributes
    ----------
    job : dict
        What was compared on: data, model, people, retrainings, seed.
    rows : list of Row
        In the order they were asked for.

    Notes
    -----
    A method that finds recourse only for the easy cases looks cheap. Each measure is therefore also given over the
    people for whom every method found one (methods that found none at all are left out of that "every").
    """

    job: Keywords
    rows: list[Row]

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.ran)} methods on {self.n_people} people>"

    def __str__(self) -> str:
        from holdtrue.studies.compare import _text as _comparison_text

        return _comparison_text.text(self)

    def __rich__(self) -> "RenderableType":
        from holdtrue.studies.compare import _text as _comparison_text

        return _comparison_text.rich(self)

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(name)

    @property
    def ran(self) -> list[Row]:
        """Rows of the methods that could be run."""
        return [row for row in self.rows if row.reason is None]

    @property
    def n_people(self) -> int:
        """People asked for."""
        return max((row.n_people for row in self.rows), default=0)

    @property
    def common(self) -> np.ndarray:
        """For whom every method that found anything found a recourse."""
        each = [row.has_recourse for row in self.ran if row.n_found]
        return np.logical_and.reduce(each) if each else np.zeros(self.n_people, bool)

    # ---- frames and files ---------------------------------------------------------------------------

    def records(self) -> list[JsonObject]:
        """One flat mapping per method: what `to_frame` shows; NaN where there was nothing to measure on."""
        common = self.common
        out = []
        for row in self.rows:
            record: JsonObject = {
                "method": row.name,
                "found": row.found,
                "valid": row.validity,
                "limits_broken": row.n_broken if row.reason is None else math.nan,
            }
            record |= {measure: row.mean(measure) for measure in MEASURES}
            record |= {f"{measure}_common": row.mean(measure, common) for measure in MEASURES if row.people}
            record |= {
                "seconds_per_person": row.seconds_per_person,
                "compile_seconds": row.compile_seconds,
                "learn_seconds": row.learn_seconds,
                "statuses": ", ".join(f"{name} {count}" for name, count in row.counts.items()),
                "not_run": row.reason or "",
            }
            out.append(record)
        return out

    def to_frame(self) -> NativeFrame:
        """Return a pandas dataframe, one row a method."""
        import pandas as pd

        return pd.DataFrame(self.records())

    def to_dict(self, *, people: bool = False) -> JsonObject:
        """Return the comparison in plain types, None for what there was nothing to measure on.

        Parameters
        ----------
        people : bool, default=False
            Add one list per measure with a value for every person; needed to go on with it later.
        """
        rows = []
        for row, record in zip(self.rows, self.records(), strict=True):
            parts = {name: value for name, value in vars(row).items() if name != "people"}
            parts |= {k: v for k, v in record.items() if k not in ("method", "valid", "statuses", "not_run")}
            rows.append(parts | ({"people": row.people} if people else {}))
        software = f"holdtrue {importlib.metadata.version('holdtrue')}"
        head = {"format": FORMAT, "version": VERSION, "software": software, "job": self.job}
        return plain({**head, "n_people": self.n_people, "n_common": int(self.common.sum()), "rows": rows})

    def to_json(self, *, people: bool = False) -> str:
        """Return `to_dict` as JSON text."""
        return to_json(self.to_dict(people=people))

    def write(self, path: str | Path) -> None:
        """Write JSON on one line, every person's figures included, beside its place and move it there."""
        write_result(path, self.to_dict(people=True), "the comparison")

    @classmethod
    def read(cls, path: str | Path) -> "Comparison":
        """Read what `write` wrote."""
        try:
            raw = json.loads(Path(path).read_text(encoding="utf-8"))
            if raw["format"] != FORMAT or raw["version"] != VERSION:
                raise KeyError("format")
            return cls(raw["job"], [_row(part) for part in raw["rows"]])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"compare: is not a comparison that can be read; got {str(path)!r} ({type(error).__name__}: "
                f"{error}). Give a file that `holdtrue compare --output` wrote."
            ) from error

    def _repr_html_(self) -> str:
        """What a notebook shows: the tables that it prints."""
        from holdtrue.studies.compare import _text

        return _text.html(self)

    def plot(self, path: str | Path | None = None, *, cost: str = "l1") -> "Figure":
        """Draw cost against survival, a labelled point per method; needs matplotlib.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the picture; its ending says the format.
        cost : {"l0", "l1", "l2"}, default="l1"
            Which cost.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from holdtrue.studies.compare import _plot as _comparison_plot

        return _comparison_plot.draw(self, path, cost)


def _row(raw: JsonObject) -> Row:
    names = ("name", "method", "settings", "reason", "n_people", "counts", "n_broken")
    numbers = ("validity", "seconds", "first_seconds", "learn_seconds")
    parts = {name: raw[name] for name in names}
    parts |= {name: _number(raw[name]) for name in numbers}
    people = {name: np.array([_number(v) for v in values]) for name, values in raw["people"].items()}
    if any(len(values) != raw["n_people"] for values in people.values()):
        raise ValueError(f"figures of {raw['name']!r} are not one per person")
    return Row(**parts, people=people)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def same_settings(a: JsonObject, b: JsonObject) -> bool:
    """Whether two sets of parameters are equal once written to JSON."""
    return json.dumps(plain(a), sort_keys=True) == json.dumps(plain(b), sort_keys=True)


def merged(rows: Sequence[Row], order: Sequence[str]) -> list[Row]:
    """Rows in the order of the names."""
    return sorted(rows, key=lambda row: list(order).index(row.name))
