"""A stated shelf life beside what further retrainings said."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from holdtrue._json import plain, to_json, write_text
from holdtrue._types import JsonObject, NativeFrame
from holdtrue.metrics import Reliability
from holdtrue.reports import _render, _shelf_life_text
from holdtrue.reports._report import head

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

FORMAT = "holdtrue-calibration"
VERSION = 1


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """Whether recourse holds as often as was stated.

    Attributes
    ----------
    reliability : Reliability
        Bins, mean absolute error, bias; see `holdtrue.metrics.reliability`.
    bias_error : float
        Standard error of the bias, from the deviation over both sets of models; NaN where either is a single one.
    estimated, observed : array
        Per recourse: the stated survival, and the share of fresh models that say yes.
    """

    reliability: Reliability
    bias_error: float
    estimated: np.ndarray
    observed: np.ndarray

    def __repr__(self) -> str:
        r = self.reliability
        return f"<Calibration on {r.n_people} recourses: error {r.mae:.3f}, bias {r.bias:+.3f}>"

    def __str__(self) -> str:
        return _render.text(_shelf_life_text.calibration_page(self))

    def __rich__(self) -> "RenderableType":
        return _render.rich(_shelf_life_text.calibration_page(self))

    def _repr_html_(self) -> str:
        return _render.html(_shelf_life_text.calibration_page(self))

    def to_frame(self) -> NativeFrame:
        """Return a pandas dataframe of the bins: `low`, `high`, `n`, `estimated`, `observed`."""
        import pandas as pd

        return pd.DataFrame([b._asdict() for b in self.reliability.bins])

    def to_dict(self) -> JsonObject:
        """Return the figures in plain types, None for what there was nothing to measure on."""
        parts = self.reliability._asdict() | {"bias_error": self.bias_error}
        return {**head(FORMAT, VERSION), **plain(parts)}

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return to_json(self.to_dict())

    def write(self, path: str | Path) -> None:
        """Write JSON beside its place and move it there: an interrupted write loses nothing."""
        write_text(path, self.to_json() + "\n", "the calibration")

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw the reliability curve: observed against stated; needs matplotlib.

        Parameters
        ----------
        path : path, optional
            Where to write (PNG, SVG or PDF).

        Returns
        -------
        matplotlib.figure.Figure
        """
        from holdtrue.reports import _shelf_life_plot

        return _shelf_life_plot.reliability(self, path)
