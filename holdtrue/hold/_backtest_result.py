"""The past replayed: what was offered in each period, what became of it, and what to offer now."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from holdtrue._json import plain, write_result
from holdtrue._types import Json, JsonObject
from holdtrue.errors import DataError
from holdtrue.methods import Level, checked_level
from holdtrue.metrics import clopper_pearson, models_needed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = "holdtrue-backtest"
VERSION = 1
FEWEST_FOUND = 0.5  # share of people without whom a slack says nothing about the rest
FEWEST_PERIODS = 2  # without which a level for today is not called reached: one period has no drift to show
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Offer:
    """What was offered to the people of one period at one slack, and what became of it.

    Attributes
    ----------
    slack : float or None
        None: the cheapest recourse, found without guides.
    people : int
        For whom a recourse was found.
    found : float
        Their share of those who have any recourse at all.
    cost, price : float or None
        Mean cost, and the same in multiples of the cheapest recourse of the same people.
    again : float or None
        Share of the answers that are a yes, of models trained again on resamples of the same rows.
    kept : dict of int to int
        Of these people, how many the model of each term accepts.
    """

    slack: float | None
    people: int
    found: float
    cost: float | None
    price: float | None
    again: float | None
    kept: Mapping[int, int]

    def share(self, term: int) -> float | None:
        """Share of the offers that were kept; None where nobody had one, or the model is not there yet."""
        return self.kept[term] / self.people if self.people and term in self.kept else None


@dataclass(frozen=True)
class Replayed:
    """One period, replayed.

    Attributes
    ----------
    period : str
    index : int
        Its place among all periods.
    refused, asked : int
        People whom the model of the time refused, and those of them who were asked about.
    offers : tuple of Offer
        The cheapest first, then by slack.
    """

    period: str
    index: int
    refused: int
    asked: int
    offers: tuple[Offer, ...]

    @property
    def cheapest(self) -> Offer:
        """What is offered without guides."""
        return self.offers[0]

    def at(self, slack: float | None) -> Offer:
        """What was offered at a slack."""
        return next(offer for offer in self.offers if offer.slack == slack)

    def to_dict(self) -> JsonObject:
        """Plain types for JSON."""
        offers = [asdict(o) | {"kept": {str(t): n for t, n in o.kept.items()}} for o in self.offers]
        return plain(vars(self) | {"offers": offers})

    @classmethod
    def from_dict(cls, raw: JsonObject) -> "Replayed":
        """Read what `to_dict` gave."""
        offers = (Offer(**o | {"kept": {int(t): n for t, n in o["kept"].items()}}) for o in raw["offers"])
        return cls(**{**raw, "offers": tuple(offers)})


@dataclass(frozen=True)
class Chosen:
    """The slack that would have been chosen in a period, by what was known then, and what became of it.

    Attributes
    ----------
    period : str
    slack : float
    known : float
        Share kept of the promises that it was chosen by.
    reached : bool
        Whether that share, or its lower bound, reaches the level; else it is the slack that kept most.
    evidence : tuple of str
        The periods that it was chosen by.
    kept : float or None
        Share kept of what was then offered.
    people : int
    found : float
    cost, price : float or None
    """

    period: str
    slack: float
    known: float
    reached: bool
    evidence: tuple[str, ...]
    kept: float | None
    people: int
    found: float
    cost: float | None
    price: float | None


@dataclass(frozen=True)
class Kept:
    """What the choices of all periods come to.

    Attributes
    ----------
    term : int
    hold : float
    choices : tuple of Chosen
        Those whose outcome is known.
    """

    term: int
    hold: float
    choices: tuple[Chosen, ...]

    @property
    def people(self) -> int:
        """People to whom something was offered."""
        return sum(c.people for c in self.choices)

    @property
    def mean(self) -> float | None:
        """Share kept, mean over periods."""
        return _mean([c.kept for c in self.choices])

    @property
    def price(self) -> float | None:
        """Cost in multiples of the cheapest, mean over periods."""
        return _mean([c.price for c in self.choices])

    @property
    def worst(self) -> Chosen | None:
        """The period in which least was kept."""
        told = [c for c in self.choices if c.kept is not None]
        return min(told, key=lambda c: c.kept or 0.0) if told else None


@dataclass(frozen=True, eq=False)
class Backtest:
    """The past replayed: what was offered in each period at each slack, and what later models said.

    Attributes
    ----------
    labels : tuple of str
        All periods, in order.
    periods : tuple of Replayed
        Those that have a window before them and a model after them.
    terms : tuple of int
    hold : float
        The level that is printed and drawn; `level` and `kept` take any.
    memory : int
        Judged periods that a slack is chosen by.
    setup : mapping
        How it was measured: window, people, guides, method, model, seed.
    confidence : float or None
        Of the lower bound by which a slack is chosen, over people; None: by the share itself.
    """

    labels: tuple[str, ...]
    periods: tuple[Replayed, ...]
    terms: tuple[int, ...]
    hold: float = 0.95
    memory: int = 4
    setup: Mapping[str, Json] = field(default_factory=dict)
    confidence: float | None = None

    @property
    def slacks(self) -> tuple[float, ...]:
        """Slacks that were tried."""
        return tuple(o.slack for o in self.periods[0].offers if o.slack is not None) if self.periods else ()

    def kept(self, term: int = 1, hold: float | None = None) -> Kept:
        """What would have been chosen period by period, by what was known then, and what became of it.

        Parameters
        ----------
        term : int, default=1
            For how many periods it is promised.
        hold : float, optional
            The wanted share; the result's own when omitted.
        """
        hold = self._checked(term, hold)
        choices = []
        for period in self.periods:
            evidence = self._evidence(period.index, term)
            if evidence and term in period.cheapest.kept:
                slack, known, reached = self._choice(evidence, term, hold)
                offer = period.at(slack)
                names = tuple(p.period for p in evidence)
                choices.append(
                    Chosen(period.period, slack, known, reached, names, offer.share(term), offer.people,
                           offer.found, offer.cost, offer.price)
                )  # fmt: skip
        return Kept(term, hold, tuple(choices))

    def level(self, term: int = 1, hold: float | None = None) -> Level:
        """The slack to ask for now, with what it rests on.

        Parameters
        ----------
        term : int, default=1
        hold : float, optional

        Returns
        -------
        Level
            ``reached`` is False, and ``note`` says why, where no slack kept it or there are too few periods.
        """
        hold = self._checked(term, hold)
        known = {k: self.setup[k] for k in ("method", "guides", "vary", "threshold") if k in self.setup}
        level = Level(hold, max(self.slacks), term=term, confidence=self._bounded, **known)
        evidence = self._evidence(len(self.labels) - 1, term)
        if not evidence:
            return replace(
                level, note=f"Not measured: no period has a model {term} later that was asked; give more periods."
            )
        slack, share, kept_it = self._choice(evidence, term, hold)
        offers = [(p.period, p.at(slack)) for p in evidence]
        people = sum(o.people for _, o in offers)
        yes = sum(o.kept[term] for _, o in offers)
        rows = tuple(
            {"period": name, "slack": slack, "kept": o.share(term), "people": o.people, "cost": o.cost}
            for name, o in offers
        )
        return replace(
            level, slack=slack, kept=share, lower=_bound(yes, people, self._bounded) if people else None,
            reached=kept_it and len(evidence) >= FEWEST_PERIODS, people=people,
            found=_mean([o.found for _, o in offers]), price=_mean([o.price for _, o in offers]), periods=rows,
            note=self._note(evidence, slack, term, hold),
        )  # fmt: skip

    def _note(self, evidence: Sequence[Replayed], slack: float, term: int, hold: float) -> str:
        """On how much it rests, the worst period, and why it is not reached where it is not."""
        told = [(share, p.period) for p in evidence if (share := p.at(slack).share(term)) is not None]
        if not told:
            return f"Hardly anybody could be brought to any slack that was tried, in {_periods(evidence)}."
        worst = min(told)
        text = f"Rests on {_periods(evidence)}; the worst, {worst[1]}, kept {worst[0]:.1%}."
        people = sum(p.at(slack).people for p in evidence)
        if self.confidence is not None and people < (least := models_needed(hold, self.confidence)):
            few = f"{people} people are too few to show {100 * hold:g}% with {self.confidence:.0%} confidence"
            return f"{few}, which takes {least}. {text}"
        if not self._choice(evidence, term, hold)[2]:
            sure = "" if self.confidence is None else f" with {self.confidence:.0%} confidence"
            return f"No slack that was tried kept {100 * hold:g}%{sure}; this one kept most. {text}"
        if len(evidence) < FEWEST_PERIODS:
            return f"Too few periods to call it reached, which takes {FEWEST_PERIODS}. {text}"
        replayed = self.kept(term, hold)
        if replayed.mean is None or replayed.worst is None:
            return text
        return (
            f"{text} Chosen like this before, {replayed.mean:.1%} was kept in the mean of "
            f"{len(replayed.choices)} periods, {replayed.worst.kept:.1%} in the worst ({replayed.worst.period})."
        )

    def _checked(self, term: int, hold: float | None) -> float:
        if term not in self.terms:
            raise DataError(f"backtest: `term` was not replayed; got {term!r}. Replayed are {list(self.terms)!r}.")
        return self.hold if hold is None else checked_level(hold, "backtest")

    def _evidence(self, now: int, term: int) -> list[Replayed]:
        """The latest periods whose promises of that term were judged by a model known now."""
        judged = [p for p in self.periods if p.index + term <= now and p.cheapest.people]
        return judged[-self.memory :]

    def _choice(self, evidence: Sequence[Replayed], term: int, hold: float) -> tuple[float, float, bool]:
        """The smallest slack that was kept, its share, and whether there is one; else the one that kept most."""
        shares, shown = {}, {}
        for slack in self.slacks:
            offers = [p.at(slack) for p in evidence]
            people, asked = sum(o.people for o in offers), sum(p.cheapest.people for p in evidence)
            if people and people >= FEWEST_FOUND * asked:
                yes = sum(o.kept[term] for o in offers)
                shares[slack] = yes / people
                shown[slack] = shares[slack] if self.confidence is None else _bound(yes, people, self.confidence)
        for slack, share in shares.items():
            if shown[slack] >= hold - 1e-12:
                return slack, share, True
        if not shares:  # hardly anybody was brought to any
            return min(self.slacks), 0.0, False
        best = max(shares, key=lambda slack: (shown[slack], -slack))
        return best, shares[best], False

    @property
    def _bounded(self) -> float:
        """The confidence of bounds that are told."""
        return CONFIDENCE if self.confidence is None else self.confidence

    # ---- as tables, text, files ---------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """A row for every period, slack and term."""
        rows = [
            {
                "period": p.period, "slack": o.slack, "term": term, "kept": o.share(term), "people": o.people,
                "found": o.found, "cost": o.cost, "price": o.price, "again": o.again,
            }
            for p in self.periods
            for o in p.offers
            for term in self.terms
            if term in o.kept
        ]  # fmt: skip
        return pd.DataFrame(rows)

    def to_dict(self) -> JsonObject:
        """Plain types for JSON: all that was measured, and what follows from it at the result's own level."""
        chosen = {
            str(term): {
                "level": self.level(term).to_dict(),
                "mean": self.kept(term).mean,
                "worst": None if (worst := self.kept(term).worst) is None else asdict(worst),
                "price": self.kept(term).price,
                "choices": [asdict(c) for c in self.kept(term).choices],
            }
            for term in self.terms
        }
        return plain(
            {
                "format": FORMAT, "version": VERSION, "setup": dict(self.setup), "labels": self.labels,
                "terms": self.terms, "hold": self.hold, "memory": self.memory, "confidence": self.confidence,
                "chosen": chosen,
                "periods": [p.to_dict() for p in self.periods],
            }
        )  # fmt: skip

    @classmethod
    def from_dict(cls, raw: Json) -> "Backtest":
        """Read what `to_dict` gave."""
        if not isinstance(raw, dict) or raw.get("format") != FORMAT or raw.get("version") != VERSION:
            raise DataError("backtest: is no backtest that can be read. Give what `Backtest.write` wrote.")
        periods = tuple(Replayed.from_dict(p) for p in raw["periods"])
        known = (raw["hold"], raw["memory"], raw["setup"], raw.get("confidence"))
        return cls(tuple(raw["labels"]), periods, tuple(raw["terms"]), *known)

    def write(self, path: str | Path) -> None:
        """Write all that was measured as JSON on one line."""
        write_result(path, self.to_dict(), "the backtest")

    @classmethod
    def read(cls, path: str | Path) -> "Backtest":
        """Read what `write` wrote."""
        try:
            return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"backtest: cannot be read; got {str(path)!r} ({error}).") from error

    def __str__(self) -> str:
        from holdtrue.hold._backtest_text import text

        return text(self)

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw the share kept against cost for each term, and period by period; needs matplotlib.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the picture; its ending says the format.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from holdtrue.hold._backtest_plot import draw

        return draw(self, path)


def _bound(yes: int, people: int, confidence: float) -> float:
    """Lower bound of a share; 0 where there is nobody."""
    return float(clopper_pearson(yes, people, confidence)[0]) if people else 0.0


def _mean(values: Sequence[float | None]) -> float | None:
    told = [v for v in values if v is not None]
    return float(np.mean(told)) if told else None


def _periods(evidence: Sequence[Replayed]) -> str:
    n = len(evidence)
    span = evidence[0].period if n == 1 else f"{evidence[0].period} to {evidence[-1].period}"
    return f"{n} period{'' if n == 1 else 's'} ({span})"
