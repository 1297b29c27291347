"""What was tried for a regime's parameters, which of it nothing beats, and which was chosen."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from holdtrue._figure import PICTURES
from holdtrue._json import to_json, write_text
from holdtrue._types import Json, JsonObject
from holdtrue.errors import DataError
from holdtrue.studies.tradeoff._result import columns, dominates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = "holdtrue-tuning"
VERSION = 1
GOALS: dict[str, int] = {"accuracy": 1, "implausibility": -1, "cost": -1}
"""What is compared: 1 where more is better, -1 where less is."""


@dataclass(frozen=True)
class Trial:
    """One setting of the parameters, measured on validation rows.

    Attributes
    ----------
    number : int
        In the study.
    settings : dict
        Parameter to value.
    state : str
        ``done``, ``pruned`` (given up early) or ``failed``; the figures of the latter two are None.
    accuracy : float or None
        Share of the validation rows decided rightly.
    implausibility : float or None
        Mean distance of recourse to the rows of the class it leads to.
    cost : float or None
        Mean cost of recourse.
    found : float or None
        Share of those asked about who have recourse.
    n_asked : int
        People it was sought for.
    seconds : float
    """

    number: int
    settings: Mapping[str, Json]
    state: str
    accuracy: float | None = None
    implausibility: float | None = None
    cost: float | None = None
    found: float | None = None
    n_asked: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Tuning:
    """The trials of a study.

    Attributes
    ----------
    regime : str
        Registered name.
    trials : tuple of Trial
    setup : mapping
        How they were measured.
    min_found : float
        A trial that finds recourse for a smaller share takes no part in the front.
    slack : float
        How much accuracy the chosen trial may give away.
    """

    regime: str
    trials: tuple[Trial, ...]
    setup: Mapping[str, Json]
    min_found: float
    slack: float

    @property
    def front(self) -> tuple[Trial, ...]:
        """Trials that no other beats in accuracy, implausibility and cost at once, the most accurate first."""
        done = [t for t in self.trials if t.state == "done" and (t.found or 0.0) >= self.min_found]
        best = [t for t in done if not any(dominates(other, t, GOALS) for other in done)]
        return tuple(sorted(best, key=lambda t: (-(t.accuracy or 0.0), t.number)))

    @property
    def chosen(self) -> Trial:
        """Of the front, within `slack` of the best accuracy: least implausibility and cost, scaled to 0..1."""
        front = self.front
        if not front:
            raise DataError(
                f"tune: no trial has recourse for {self.min_found:.0%} of people; got {len(self.trials)} trials. "
                "Try more, or ask for a smaller share."
            )
        near = [t for t in front if (t.accuracy or 0.0) >= (front[0].accuracy or 0.0) - self.slack]

        def scaled(trial: Trial, name: str) -> float:
            values = [getattr(t, name) for t in near]
            return (getattr(trial, name) - min(values)) / ((max(values) - min(values)) or 1.0)

        return min(near, key=lambda t: (scaled(t, "implausibility") + scaled(t, "cost"), t.number))

    def config(self) -> JsonObject:
        """The chosen setting as `holdtrue fit --config` reads it."""
        trial = self.chosen
        return {
            "regime": self.regime,
            "set": {f"regime.{name.replace('__', '.')}": value for name, value in trial.settings.items()},
            "from": {"trial": trial.number, **{name: getattr(trial, name) for name in (*GOALS, "found")}},
        }

    def to_frame(self) -> pd.DataFrame:
        """A row a trial, a column a parameter."""
        best = {t.number for t in self.front}
        rows = [{**t.settings, **asdict(t), "not_dominated": t.number in best} for t in self.trials]
        return pd.DataFrame(rows).drop(columns="settings")

    def to_dict(self) -> JsonObject:
        """Plain types for JSON."""
        front = self.front
        return {
            "format": FORMAT, "version": VERSION, "regime": self.regime, "setup": dict(self.setup),
            "min_found": self.min_found, "slack": self.slack, "trials": [asdict(t) for t in self.trials],
            "front": [t.number for t in front], "chosen": self.chosen.number if front else None,
        }  # fmt: skip

    def write(self, path: str | Path) -> None:
        """Write every trial, the front and the choice as JSON, or a picture (``.png``, ``.svg``, ``.pdf``)."""
        if Path(path).suffix.lower() in PICTURES:
            self.plot(path)
            return
        write_text(path, to_json(self.to_dict()) + "\n", "the tuning")

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw what every trial's recourse costs against how plausible it is; write it where a path is given."""
        from holdtrue.studies.tune._plot import draw

        return draw(self, path)

    def write_config(self, path: str | Path) -> None:
        """Write the chosen setting as JSON."""
        write_text(path, to_json(self.config()) + "\n", "the setting")

    def __str__(self) -> str:
        front = self.front
        names = list(front[0].settings) if front else []
        heads = ("trial", "accuracy", "implausibility", "cost", "found", *names, "")
        best = self.chosen.number if front else None
        rows = [
            [
                str(t.number), *(f"{getattr(t, name):.4g}" for name in (*GOALS, "found")),
                *(_short(t.settings[name]) for name in names), "chosen" if t.number == best else "",
            ]
            for t in front
        ]  # fmt: skip
        counts = {state: sum(t.state == state for t in self.trials) for state in ("done", "pruned", "failed")}
        told = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
        head = f"{len(self.trials)} trials of {self.regime} ({told}); {len(front)} that no other beats:"
        return head if not front else f"{head}\n{columns(heads, rows)}"


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
