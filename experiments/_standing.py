"""What stands of a paper: its items, ours beside the print; the weightiest of them at the head of its page."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from experiments._report import cell, table
from holdtrue.errors import DataError

Pair = tuple[float | None, float | None]
"""Ours and the printed figure."""
HEAD = ["item of the paper", "ours", "print", "seeds", "met?"]
OTHER = "not the paper's protocol"


@dataclass(frozen=True)
class Item:
    """One item of a paper, and whether it stands."""

    item: str
    ours: str
    printed: str
    seeds: str
    verdict: str


@dataclass(frozen=True)
class Standing:
    """How to read a paper's items, all of them, and the names, or their beginnings, of those that come first."""

    intro: str
    items: Sequence[Item]
    first: Sequence[str]

    def brief(self) -> str:
        """How to read it, how many items stand, and a table of those that come first."""
        told = (
            f"{self.intro} {_counted(self.items)} Here are {len(self.first)}; all are listed below, item by item."
        )
        return f"{_wrapped(told)}\n\n{_table([self._named(name) for name in self.first])}"

    def whole(self) -> str:
        """All of them as a table."""
        return _table(self.items)

    def _named(self, name: str) -> Item:
        same = [item for item in self.items if item.item == name]
        found = same or [item for item in self.items if item.item.startswith(name)]
        if len(found) != 1:
            raise DataError(
                f"papers: {len(found)} items of the table of what stands begin with a name that is to come first; "
                f"got {name!r}. Write more of the item's own words."
            )
        return found[0]


def _counted(items: Sequence[Item]) -> str:
    """How many items are met, and what became of the others."""
    kinds = {"met": "met", "met on": "met on some of the datasets", "missed": "missed", OTHER: OTHER}
    counts = dict.fromkeys(kinds, 0)
    for item in items:
        kind = next((k for k in kinds if item.verdict == k or (k != "met" and item.verdict.startswith(k))), None)
        if kind is not None:
            counts[kind] += 1
    told = [f"{n} {'is' if n == 1 else 'are'} {kinds[kind]}" for kind, n in counts.items() if n]
    rest = len(items) - sum(counts.values())
    told += [f"{rest} {'has' if rest == 1 else 'have'} nothing to be held against"] if rest else []
    return f"Of {len(items)} items " + ", ".join(told[:-1]) + (" and " if told[:-1] else "") + f"{told[-1]}."


def _table(items: Sequence[Item]) -> str:
    return table(HEAD, [[i.item, i.ours, i.printed, i.seeds, i.verdict] for i in items])


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def compared(
    item: str,
    pairs: Mapping[str, Pair],
    seeds: object,
    *,
    within: float,
    relative: bool = False,
    better: Literal["higher", "lower"] | None = None,
    digits: int = 2,
    other: str | None = None,
) -> Item:
    """An item of which the paper prints a figure for each of some datasets.

    Parameters
    ----------
    pairs : mapping
        Ours and the print by the dataset's name; what lacks either is shown and not judged.
    within : float
        How far ours may lie from the print to meet it; of the print where `relative`.
    better : {"higher", "lower"}, optional
        The way that the paper wants: beyond the print in it is met as well.
    other : str, optional
        Why the figures are not of the paper's protocol. They are shown beside each other and not judged.
    """

    def met(pair: tuple[float, float]) -> bool:
        ours, theirs = pair
        gain = {"higher": ours - theirs, "lower": theirs - ours, None: -abs(ours - theirs)}[better]
        return gain >= -within * (abs(theirs) if relative else 1) - 1e-9

    there = {n: (a, b) for n, (a, b) in pairs.items() if a is not None and b is not None}
    failed = [name for name, pair in there.items() if not met(pair)]
    if other is not None:
        verdict = f"{OTHER}: {other}"
    elif not there:
        verdict = "nothing to compare"
    else:
        verdict = verdict_of(len(there) - len(failed), len(there), failed)
    cells = [" · ".join(cell(pair[k], digits) for pair in pairs.values()) for k in (0, 1)]
    return Item(item, cells[0], cells[1], str(seeds), verdict)


def verdict_of(n_met: int, n: int, failed: Sequence[str] = ()) -> str:
    """Met, missed, or on how many of some datasets, and where not."""
    if n_met in (0, n):
        return "met" if n_met else "missed"
    return f"met on {n_met} of {n}" + (f", not on {', '.join(failed)}" if failed else "")


def claimed(item: str, ours: Mapping[str, str], claim: str, seeds: object, met: Callable[[str], bool]) -> Item:
    """An item of which the paper prints a finding without figures; `met` says on which datasets it is found."""
    failed = [name for name in ours if not met(name)]
    told = "; ".join(f"{name} {text}" if name else text for name, text in ours.items())
    return Item(item, told, claim, str(seeds), verdict_of(len(ours) - len(failed), len(ours), failed))
