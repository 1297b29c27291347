"""What the gate found: numbers to keep as JSON, words to read."""

from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from holdtrue._json import plain, to_json, write_text
from holdtrue._types import JsonObject
from holdtrue.metrics import clopper_pearson
from holdtrue.reports import Summary, document, head, html, markdown, rich, summarise, text

__all__ = ["Expected", "GateReport", "Group", "Honour", "Instead", "Labelled", "Rate", "Said", "rate", "summarise"]
FORMAT = "holdtrue-gate"
VERSION = 1


class Rate(NamedTuple):
    """A share with its interval; NaN, 0 and 1 of nothing."""

    share: float
    lower: float
    upper: float


def rate(k: int, n: int, confidence: float) -> Rate:
    """`k` of `n`, with the exact (Clopper-Pearson) interval."""
    lower, upper = clopper_pearson(k, n, confidence, "both")
    return Rate(k / n if n else float("nan"), float(lower), float(upper))


@dataclass(frozen=True)
class Group:
    """How many promises break among some people: `n`, `broken`, their `share` and its interval."""

    label: str
    n: int
    broken: int
    share: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Instead:
    """What people whose promise breaks could do.

    Attributes
    ----------
    method, norm : str
    n_searched : int
    counts : dict
        By `Status`; NOT_ASKED where the new model cannot read the person's row, or their restrictions.
    cost, extra : Summary
        Of what was found, in the new model's units; `extra` is what it costs beyond the promise.
    """

    method: str
    norm: str
    n_searched: int
    counts: dict[str, int]
    cost: Summary
    extra: Summary


@dataclass(frozen=True)
class Labelled:
    """Rows of known class under today's threshold and under the one that breaks no promise (`_then`).

    `good` is the share of the favourable class among the `n_added` rows that only the latter approves.
    """

    n: int
    accuracy: float
    accuracy_then: float
    approved: float
    approved_then: float
    n_added: int
    n_added_good: int
    good: Rate


@dataclass(frozen=True)
class Honour:
    """What keeping every promise would take.

    Attributes
    ----------
    n_regardless : int
        People to approve regardless of the model: those in the file of cases.
    expected_wrong : float
        How many of them would turn out to be of another class, if the model's probabilities are right; those that
        it cannot be asked about are left out.
    threshold : float or None
        The highest, to six digits, that breaks no promise; `why` says why there is none.
    n_beyond : int
        Promises that no threshold saves, since the model cannot be asked about them.
    labelled : Labelled or None
        What that threshold does to rows of known class, where such were given.
    """

    n_regardless: int
    expected_wrong: float
    threshold: float | None
    why: str | None
    n_beyond: int
    labelled: Labelled | None


@dataclass(frozen=True)
class Expected:
    """How many promises were expected to break, by what each said of its chance to hold.

    Attributes
    ----------
    n : int
        Promises that said it.
    share, lower, upper : float
        Mean of the stated chances to break, and of the ends of their intervals.
    broken : int
        How many of them the new model would break, and `broken_share`, that share.
    """

    n: int
    share: float
    lower: float
    upper: float
    broken: int
    broken_share: float


@dataclass
class Said:
    """Sums of what promises said of themselves, beside what came of them."""

    n: int = 0
    broken: int = 0
    sums: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def see(self, stated: np.ndarray, broken: np.ndarray) -> None:
        """Add some promises.

        Parameters
        ----------
        stated : array of shape (n, 3)
            Chance to hold, and the ends of its interval; NaN where nothing was said.
        broken : array of bool
        """
        said = np.isfinite(stated).all(axis=1)
        self.n += int(said.sum())
        self.broken += int(broken[said].sum())
        self.sums = self.sums + stated[said].sum(axis=0)

    def expected(self) -> Expected | None:
        """The share that was expected to break; None where no promise said anything."""
        if not self.n:
            return None
        share, upper, lower = (1.0 - self.sums / self.n).tolist()
        return Expected(self.n, share, lower, upper, self.broken, self.broken / self.n)


@dataclass(frozen=True, eq=False, repr=False)
class GateReport:
    """What a new model would do to the promises of a ledger. Names no person.

    Attributes
    ----------
    ok : bool
        Whether no more break than may.
    max_broken : float
        The share that may.
    n_live, n_broken, n_unreadable : int
        Promises that bind; that the model would break; and among these, that it cannot be asked about.
    reasons : dict
        Why not, and how often.
    share, lower, upper : float
        Of broken promises, with the exact interval at `confidence`.
    expected : Expected or None
        The share that was expected to break; None where no promise said anything of its chance to hold.
    shortfall : Summary
        How far below the needed probability the broken ones are.
    group : str or None
    groups : list of Group
    instead, further : Instead or None
        What the people could do in place of what they were told, or on top of it; None where not searched.
    honour : Honour
    cases : list of dict
        Broken promises by id, the first thousand.
    threshold : float or None
        The model's.
    model : str or None
        Its digest.
    ledger : dict
        `ledger`, `seq` and `hash`: the end of the chain when the gate began.
    at : datetime
        The promises are those that bind at this time.
    seconds : float
    """

    ok: bool
    max_broken: float
    n_live: int
    n_broken: int
    n_unreadable: int
    reasons: dict[str, int]
    share: float
    lower: float
    upper: float
    confidence: float
    expected: Expected | None
    shortfall: Summary
    group: str | None
    groups: list[Group]
    instead: Instead | None
    further: Instead | None
    honour: Honour
    cases: list[JsonObject]
    threshold: float | None
    model: str | None
    ledger: JsonObject
    at: datetime
    seconds: float

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return f"<GateReport: {self.n_broken} of {self.n_live} promises break, {'ok' if self.ok else 'not ok'}>"

    def __str__(self) -> str:
        return text(self._page())

    def __rich__(self) -> Any:
        return rich(self._page())

    def _repr_html_(self) -> str:
        return html(self._page())

    def _page(self) -> Any:
        from holdtrue.promises._words import page

        return page(self)

    def to_dict(self) -> JsonObject:
        """Return plain types for JSON, None for what there was nothing to measure on."""
        parts = dict(vars(self))
        for name in ("expected", "instead", "further", "honour"):
            parts[name] = None if parts[name] is None else _dict(parts[name])
        parts["groups"] = [asdict(group) for group in self.groups]
        parts["at"] = self.at.isoformat()
        return {**head(FORMAT, VERSION), **plain(parts)}

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return to_json(self.to_dict())

    def to_markdown(self) -> str:
        """Return tables for a comment on a pull request."""
        return markdown(self._page())

    def to_html(self) -> str:
        """Return one page that loads nothing from elsewhere."""
        return document(self._page())

    def write(self, path: str | Path) -> None:
        """Write a file, by its ending JSON, Markdown (.md) or HTML (.html)."""
        ending = Path(path).suffix.lower()
        if ending in (".html", ".htm"):
            content = self.to_html()
        else:
            content = self.to_markdown() if ending == ".md" else self.to_json() + "\n"
        write_text(path, content, "the gate's report")


def _dict(value: object) -> JsonObject:
    """A dataclass with its parts; named tuples stay what `plain` knows."""
    return {k: _dict(v) if isinstance(v, Labelled) else v for k, v in vars(value).items()}
