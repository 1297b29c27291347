"""How sure each recourse of a plan is to survive a retraining, and what that rests on."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from holdtrue._types import Json, JsonObject
from holdtrue.errors import DataError

FORMAT = "holdtrue-level"
PER_ROW = ("survival", "lower", "upper", "holds", "cheapest")
COLUMNS = {
    "holdtrue_survival": "survival",
    "holdtrue_survival_lower": "lower",
    "holdtrue_survival_upper": "upper",
    "holdtrue_holds": "holds",
    "holdtrue_cheapest_cost": "cheapest",
}
"""What a table of answers calls them."""
UNMEASURED = "Not measured: "  # how the note of a level begins that says why
UNKNOWN = "How long it holds is not known"


@dataclass(frozen=True)
class Level:
    """By how much the model and its guides must say yes for a recourse to hold as often as wanted.

    Attributes
    ----------
    hold : float
        The wanted chance that a retraining accepts.
    slack : float
        By how much, in log-odds, the model and every guide must clear the threshold; below 0, how much a guide may
        lack.
    spared : int
        How many of the guides may refuse.
    vary : str
        The kind of retraining that it speaks of.
    method : str
        The search that it was measured with.
    kept : float or None
        Share of judges' answers that were a yes, at this slack; None where nothing was measured.
    lower : float or None
        Lower confidence bound of that share.
    confidence : float
    reached : bool
        Whether the bound reaches the wanted chance.
    people, judges, guides : int
        On how many this rests.
    found : float or None
        Share of the people for whom the guides could be brought to agree.
    price : float or None
        Mean cost, in multiples of the cheapest recourse's.
    threshold : float or None
        Of the decision it was measured at.
    term : int or None
        For how many periods it was kept, where that was asked of the past.
    periods : tuple of dict
        What was kept in each past period, where that was asked.
    note : str
        Why it is not reached, or what else should be known.
    """

    hold: float
    slack: float
    spared: int = 0
    vary: str = ""
    method: str = ""
    kept: float | None = None
    lower: float | None = None
    confidence: float = 0.95
    reached: bool = False
    people: int = 0
    judges: int = 0
    guides: int = 0
    found: float | None = None
    price: float | None = None
    threshold: float | None = None
    term: int | None = None
    periods: tuple[JsonObject, ...] = ()
    note: str = ""

    def __str__(self) -> str:
        if self.kept is None:
            return f"hold {100 * self.hold:g}%: not measured. {self.note.removeprefix(UNMEASURED)}".strip()
        bound = "" if self.lower is None else f" (at least {self.lower:.1%} with {self.confidence:.0%} confidence)"
        term = "" if self.term is None else f", {self.term} period{'s' if self.term > 1 else ''} ahead"
        whose = f"{self.people} people and {self.judges} judges" if self.judges else f"{self.people} people"
        text = f"hold {100 * self.hold:g}%{term}: {self.kept:.1%} kept{bound}, on {whose}"
        return f"{text}. {self.note}" if self.note else f"{text}."

    def to_dict(self) -> JsonObject:
        """As JSON has it."""
        return {"format": FORMAT, **asdict(self), "periods": list(self.periods)}

    @classmethod
    def from_dict(cls, raw: Json, where: str = "level") -> Self:
        """Read what `to_dict` wrote."""
        known = {field.name for field in fields(cls)}
        if not isinstance(raw, dict) or raw.get("format") != FORMAT or not {"hold", "slack"} <= raw.keys():
            raise DataError(f"{where}: is no level of holdtrue's. `holdtrue backtest` writes one.")
        odd = [name for name in raw if name not in known | {"format"}]
        if odd:
            raise DataError(f"{where}: has a key that is not known; got {odd[0]!r}. Upgrade holdtrue.")
        try:
            given: dict[str, Any] = {name: value for name, value in raw.items() if name in known}
            given["periods"] = tuple(raw.get("periods", ()))
            given["slack"] = float(raw["slack"])
            given["hold"] = checked_level(raw["hold"], where)
            return cls(**given)
        except (TypeError, ValueError) as error:
            raise DataError(f"{where}: cannot be read ({error}).") from error

    def save(self, path: str | Path) -> None:
        """Write a level file, to be given to ``recourse --hold``."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a level file."""
        try:
            raw = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(f"level: cannot be read; got {str(path)!r} ({error}).") from error
        return cls.from_dict(raw, f"level file {str(path)!r}")


def checked_level(hold: object, where: str) -> float:
    """A wanted chance, or the reason why it is none."""
    if isinstance(hold, bool) or not isinstance(hold, (int, float, np.number)) or not 0 < hold < 1:
        raise DataError(f"{where}: `hold` must be a chance between 0 and 1; got {hold!r}. 95% is 0.95.")
    return float(hold)


@dataclass(frozen=True)
class Held:
    """How sure the recourse of each row is to survive a retraining.

    Attributes
    ----------
    survival : array
        Share of the judges, retrained models that took no part in the search, that accept the recourse; NaN
        without one.
    lower, upper : array
        Interval about it, at the level's confidence (Clopper and Pearson): of this one person, so it is wide.
    holds : array of bool
        Whether the share is at least what is wanted.
    cheapest : array
        Cost of the cheapest recourse that the search found for the model alone, whether it holds or not; NaN where
        there is none.
    level : Level
    n_models : int
        Judges that were asked.
    vary : str
        The kind of retraining that they are.
    guided : bool
        Whether guides took part in the search; without, it was only judged.
    """

    survival: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    holds: np.ndarray
    cheapest: np.ndarray
    level: Level
    n_models: int
    vary: str
    guided: bool = True

    @property
    def confidence(self) -> float:
        """Of each interval."""
        return self.level.confidence

    def take(self, rows: np.ndarray) -> "Held":
        """Some rows."""
        return replace(self, **{name: getattr(self, name)[rows] for name in PER_ROW})

    @staticmethod
    def join(parts: Sequence["Held | None"]) -> "Held | None":
        """Rows of several; None where any has none."""
        held = [part for part in parts if part is not None]
        if not held or len(held) < len(parts):
            return None
        return replace(held[0], **{name: np.concatenate([getattr(p, name) for p in held]) for name in PER_ROW})

    def summary(self, found: np.ndarray, cost: np.ndarray) -> str:
        """One sentence: how many hold, how sure they are, and what holding costs."""
        return str(self.tally(found, cost))

    def tally(self, found: np.ndarray, cost: np.ndarray) -> "Tally":
        """The same in numbers, which can be added up.

        Parameters
        ----------
        found : array of bool
            Rows that count.
        cost : array
            Of every row.
        """
        both = found & np.isfinite(self.cheapest) & (self.cheapest > 0)
        return Tally(
            n=int(found.sum()),
            holds=int(self.holds[found].sum()),
            survival=float(self.survival[found].sum()),
            n_priced=int(both.sum()) if self.guided else 0,
            cost=float(cost[both].sum()),
            cheapest=float(self.cheapest[both].sum()),
            hold=self.level.hold,
            judges=self.n_models,
            vary=self.vary,
        )


@dataclass(frozen=True)
class Tally:
    """How many recourses hold, as sums over people; printed, a sentence.

    Attributes
    ----------
    n, holds : int
        Recourses, and those that hold.
    survival : float
        Sum of the shares of judges that accept.
    n_priced : int
        Recourses whose price is known, with the sums of their `cost` and of that of their `cheapest`.
    hold : float
        The wanted chance.
    judges : int
        Models that were asked, and `vary`, their kind.
    """

    n: int
    holds: int
    survival: float
    n_priced: int
    cost: float
    cheapest: float
    hold: float
    judges: int
    vary: str

    def __add__(self, other: "Tally") -> "Tally":
        sums = {name: getattr(self, name) + getattr(other, name) for name in SUMS}
        return replace(self, **sums)

    def __str__(self) -> str:
        if self.n == 0:
            return "Nobody has a recourse that could hold."
        text = (
            f"{self.holds:,} of {self.n:,} hold at {100 * self.hold:g}%; on average "
            f"{self.survival / self.n:.0%} of {self.judges} models trained again ({self.vary}) accept"
        )
        if self.n_priced:
            cost, cheapest = self.cost / self.n_priced, self.cheapest / self.n_priced
            text += f", at a cost of {cost:.2f} instead of {cheapest:.2f}"
        return text + "."

    def to_dict(self) -> JsonObject:
        """Means for JSON; None where there is nobody."""
        return {
            "hold": self.hold,
            "vary": self.vary,
            "judges": self.judges,
            "recourses": self.n,
            "holds": self.holds,
            "mean_survival": self.survival / self.n if self.n else None,
            "mean_cost": self.cost / self.n_priced if self.n_priced else None,
            "mean_cheapest_cost": self.cheapest / self.n_priced if self.n_priced else None,
        }


SUMS = ("n", "holds", "survival", "n_priced", "cost", "cheapest")
