"""What an audit found: a table to read, frames to work on, JSON to keep."""

import importlib.metadata
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import narwhals.stable.v1 as nw
import numpy as np

from holdtrue._json import plain, to_json, write_text
from holdtrue._types import JsonObject, NativeFrame
from holdtrue.metrics import Shares
from holdtrue.reports import _render
from holdtrue.reports._parts import Summary, Survival
from holdtrue.reports._reach import ModelReach
from holdtrue.schema import Table

if TYPE_CHECKING:
    from rich.console import RenderableType

FORMAT = "holdtrue-report"
VERSION = 1


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """Measures of one plan. Print it, or take it as a frame, a dict or JSON.

    Attributes
    ----------
    method, norm : str
        Which search, and the norm it counts cost in.
    model : str or None
        Digest of the classifier that was asked; None for one made elsewhere.
    n_people, n_refused, n_found : int
        In the plan; refused by the model when asked again; with a recourse.
    counts : dict
        People by `Status`.
    share : Shares
        With a recourse that is valid and keeps every limit: `among_refused`, `among_all`.
    validity : float
        Share of the recourse found that the model accepts when asked again.
    n_at_odds : int
        People about whom the plan says one thing and the model, asked again, another. Should be 0.
    n_broken : int
        Recourse that breaks a limit of the schema. Should be 0; `broken` says which limits and how often.
    costs : dict
        Norm to `Summary`, over the recourse found.
    weighted : bool
        Whether features weigh differently in the costs.
    sparsity : Summary
        Features changed by a recourse.
    change_rates : dict
        Feature to the share of recourse that changes it; `titles` has their names in words.
    survival : Survival or None
        None where no models were given to hold it against.
    reach : ModelReach or None
        Of the refused: with recourse, proved without, undecided; None where nothing was to be proved.
    seconds : float
        Time the search took.
    people : dict
        One array per measure, one value per person; see `per_person`.
    """

    method: str
    norm: str
    model: str | None
    n_people: int
    n_refused: int
    n_found: int
    counts: dict[str, int]
    share: Shares
    validity: float
    n_at_odds: int
    n_broken: int
    broken: dict[str, int]
    costs: dict[str, Summary]
    weighted: bool
    sparsity: Summary
    change_rates: dict[str, float]
    titles: dict[str, str]
    survival: Survival | None
    reach: ModelReach | None
    seconds: float
    people: dict[str, np.ndarray]
    table: Table = field(
        metadata={"role": "the people's own table: its library and index are those of `per_person`"}
    )

    @property
    def seconds_per_person(self) -> float:
        """Time the search took, divided by everyone in the plan."""
        return self.seconds / self.n_people if self.n_people else math.nan

    def __repr__(self) -> str:
        recourse = f"{self.n_found} with recourse of {self.n_refused} refused"
        return f"<Report on {self.n_people} people by {self.method}: {recourse}>"

    def __str__(self) -> str:
        return _render.text(_render.page(self))

    def __rich__(self) -> "RenderableType":
        return _render.rich(_render.page(self))

    def _repr_html_(self) -> str:
        return _render.html(_render.page(self))

    # ---- frames -------------------------------------------------------------------------------------

    def to_frame(self) -> NativeFrame:
        """Return a tidy dataframe of the input's kind: `measure`, `value`, `note`."""
        measure, value, note = zip(*self._measures(), strict=True)
        return frame_like(
            self.table, {"measure": list(measure), "value": [float(v) for v in value], "note": list(note)}
        )

    def per_person(self) -> NativeFrame:
        """Return a dataframe of the input's kind, one row a person, with the input's index where it has one.

        `status`, `valid`, `limits_kept`, `n_changed`, a cost per norm and, with models to hold it against,
        `survival` and its lower bound; with proofs `reach`. Costs are 0 where nothing needs to change and NaN
        without a recourse.
        """
        return people_frame(self.table, self.people)

    def _measures(self) -> Iterator[tuple[str, float, str]]:
        yield "people", self.n_people, "in the plan"
        yield "refused", self.n_refused, "by the model, asked again"
        for status, count in self.counts.items():
            yield f"status_{status.lower()}", count, "people"
        yield "recourse_among_refused", self.share.among_refused, "share: valid and within every limit"
        yield "recourse_among_all", self.share.among_all, "share: already favourable counts"
        yield "validity", self.validity, "share of the recourse found"
        yield "at_odds", self.n_at_odds, "people; the model differs from the plan"
        yield "limits_broken", self.n_broken, "recourse; should be 0"
        for norm, summary in self.costs.items():
            for name, value in summary._asdict().items():
                yield f"cost_{norm}_{name}", value, "scaled units, over the recourse found"
        for name, value in self.sparsity._asdict().items():
            yield f"features_changed_{name}", value, "over the recourse found"
        for feature, rate in self.change_rates.items():
            yield f"changes_{feature}", rate, "share of the recourse found"
        if self.survival is not None:
            s = self.survival
            yield "models", s.n_models, "retrained, vary=" + s.vary if s.vary else "given one by one"
            yield "survival_mean", s.mean, "fraction of models, mean over people"
            yield "survival_worst", s.worst, "fraction of models, least over people"
            yield "survival_always", s.n_always, "people"
            yield "assured", s.n_assured, f"people; lower bound above {s.level:g} at {s.confidence:.4g} each"
            yield "invalidation_rate", s.invalidation, "mean over valid recourse and models"
            yield "invalidation_std", s.invalidation_std, "over models"
            yield "invalidation_worst", s.invalidation_worst, "largest over models"
        if self.reach is not None:
            for name, counted in (("", self.reach.everybody), *self.reach.groups.items()):
                of = f"_{name}" if name else ""
                for field_, value in counted._asdict().items():
                    kind = "people" if field_.startswith("n_") else f"share, at {self.reach.confidence:.4g}"
                    yield f"reach_{field_}{of}", value, kind
        yield "seconds", self.seconds, "search, all people"
        yield "seconds_per_person", self.seconds_per_person, "search"

    # ---- files --------------------------------------------------------------------------------------

    def to_dict(self, *, people: bool = False) -> JsonObject:
        """Return the report in plain types, None for what there was nothing to measure on.

        Parameters
        ----------
        people : bool, default=False
            Add one list per measure with a value for every person.
        """
        skipped = ("people", "table", "titles")
        parts = {name: value for name, value in self.__dict__.items() if name not in skipped}
        parts["seconds_per_person"] = self.seconds_per_person
        if people:
            parts["people"] = self.people
        return {**head(FORMAT, VERSION), **plain(parts)}

    def to_json(self, *, people: bool = False) -> str:
        """Return `to_dict` as JSON text."""
        return to_json(self.to_dict(people=people))

    def write(self, path: str | Path, *, people: bool = False) -> None:
        """Write JSON beside its place and move it there: an interrupted write loses nothing."""
        write_text(path, self.to_json(people=people) + "\n", "the report")


def people_frame(table: Table, columns: dict[str, np.ndarray]) -> NativeFrame:
    """One row a person, as a dataframe of the table's kind and with its index where it has one."""
    out = frame_like(table, {k: v.tolist() if v.dtype == object else v for k, v in columns.items()})
    native = table.native
    if (
        native is not None
        and len(native) == len(out)
        and nw.from_native(native, eager_only=True).implementation.is_pandas()
    ):
        out.index = native.index
    return out


def head(format_: str, version: int) -> JsonObject:
    """What a file begins with: its format and the software that wrote it."""
    software = f"holdtrue {importlib.metadata.version('holdtrue')}"
    return {"format": format_, "version": version, "software": software}


def frame_like(like: Table, columns: JsonObject) -> NativeFrame:
    """A dataframe of the library that a table came from; of pandas where it came from none."""
    if like.native is None:
        import pandas as pd

        return pd.DataFrame(columns)
    backend = nw.from_native(like.native, eager_only=True).implementation.to_native_namespace()
    return nw.from_dict(columns, backend=backend).to_native()
