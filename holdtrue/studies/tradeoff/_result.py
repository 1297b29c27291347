"""Training settings side by side: what each gives in accuracy, robustness and recourse, and which none beats."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from holdtrue._figure import PICTURES
from holdtrue._json import to_json, write_text
from holdtrue._types import Json, JsonObject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = "holdtrue-tradeoff"
VERSION = 1
GOALS: dict[str, int] = {"accuracy": 1, "robust_accuracy": 1, "validity": 1, "cost": -1, "shelf_life": 1}
"""What is compared: 1 where more is better, -1 where less is."""


HEADS = (
    "setting", "accuracy", "under attack", "accepted", "refused", "with recourse", "cost", "cost, same people",
    "shelf life", "",
)  # fmt: skip
"""Of the table that `cells` fills."""


@dataclass(frozen=True)
class Choice:
    """One trained setting, measured on held-out rows. None stands for what there is nobody to measure on.

    Attributes
    ----------
    regime : str
        Registered name.
    parameter, value : str or None, float or None
        What was varied, and where it stands; None for a regime that is trained once.
    accuracy, robust_accuracy : float
        Share decided rightly; and still so under attack.
    favourable : float
        Share of the held-out rows that are accepted.
    n_refused, n_asked : int
        People refused, and those of them who were asked about.
    validity : float or None
        Share of those asked about for whom recourse was found and checked.
    cost : float or None
        Mean cost of the recourse found.
    cost_same_people : float or None
        The same over people who have recourse under every setting that is not constant.
    shelf_life : float or None
        Mean share of retrained models that still accept the recourse found.
    """

    regime: str
    parameter: str | None
    value: float | None
    accuracy: float
    robust_accuracy: float
    favourable: float
    n_refused: int
    n_asked: int
    validity: float | None = None
    cost: float | None = None
    cost_same_people: float | None = None
    shelf_life: float | None = None

    @property
    def name(self) -> str:
        """The setting in words."""
        return self.regime if self.parameter is None else f"{self.regime}, {self.parameter} = {self.value:g}"

    @property
    def constant(self) -> str | None:
        """What a model that decides the same for everybody amounts to; None for any other."""
        if self.favourable == 1:
            return "accepts everybody: none refused"
        return "refuses everybody" if self.favourable == 0 else None


def dominates(a: Any, b: Any, goals: Mapping[str, int] = GOALS) -> bool:
    """Whether `a` is at least as good as `b` in every goal that both have, and better in one."""
    gains = [
        sign * (getattr(a, key) - getattr(b, key))
        for key, sign in goals.items()
        if getattr(a, key) is not None and getattr(b, key) is not None
    ]
    # Who finds recourse for nobody has no cost to compare, which must not count in their favour.
    if a.cost is None and b.cost is not None:
        return False
    return all(g >= 0 for g in gains) and any(g > 0 for g in gains)


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """What training settings give and take.

    Attributes
    ----------
    choices : tuple of Choice
    setup : mapping
        How it was measured: rows, people, the attack, the method, retrainings, the seed.
    collapse : float or None
        Radius from which a linear model trained under this attack has no weights left.
    """

    choices: tuple[Choice, ...]
    setup: Mapping[str, Json] = field(default_factory=dict)
    collapse: float | None = None

    @property
    def front(self) -> np.ndarray:
        """Bool per setting: not constant, and dominated by no other setting that is not constant."""
        return np.array(
            [
                c.constant is None
                and not any(dominates(other, c) for other in self.choices if other.constant is None)
                for c in self.choices
            ],
            bool,
        )

    def to_frame(self) -> pd.DataFrame:
        """A row a setting."""
        rows = [asdict(c) | {"constant": c.constant, "not_dominated": bool(f)} for c, f in self._pairs()]
        return pd.DataFrame(rows)

    def to_dict(self) -> JsonObject:
        """Plain types for JSON."""
        rows = [asdict(c) | {"constant": c.constant, "not_dominated": bool(f)} for c, f in self._pairs()]
        return {
            "format": FORMAT, "version": VERSION, "setup": dict(self.setup), "collapse": self.collapse,
            "choices": rows,
        }  # fmt: skip

    def write(self, path: str | Path) -> None:
        """Write JSON, the page where the name ends in ``.html``, or a picture (``.png``, ``.svg``, ``.pdf``)."""
        if Path(path).suffix.lower() in PICTURES:
            self.plot(path)
            return
        ends = Path(path).suffix.lower() in (".html", ".htm")
        write_text(path, self.html() if ends else to_json(self.to_dict()) + "\n", "tradeoff")

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw every measure against the settings, a panel each; write it where a path is given."""
        from holdtrue.studies.tradeoff._picture import picture

        return picture(self, path)

    def html(self) -> str:
        """One page that needs nothing else: a picture of every measure, and the table."""
        from holdtrue.studies.tradeoff._plot import page

        return page(self)

    def __str__(self) -> str:
        return columns(HEADS, [cells(c, bool(f)) for c, f in self._pairs()])

    def _pairs(self) -> Sequence[tuple[Choice, Any]]:
        return list(zip(self.choices, self.front, strict=True))


def columns(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in plain text."""
    everything = [heads, *rows]
    widths = [max(len(row[i]) for row in everything) for i in range(len(heads))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in everything]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def cells(choice: Choice, best: bool) -> list[str]:
    """A setting as text, under `HEADS`: its name, what was measured and on how many, what is to be said of it."""

    def share(value: float | None) -> str:
        return "-" if value is None else f"{value:.3f}"

    remark = choice.constant or ("not dominated" if best else "")
    return [
        choice.name, share(choice.accuracy), share(choice.robust_accuracy), share(choice.favourable),
        f"{choice.n_refused:,}", share(choice.validity), share(choice.cost), share(choice.cost_same_people),
        share(choice.shelf_life), remark,
    ]  # fmt: skip
