"""Figures that a page's prose quotes from its own tables: ``experiments/<paper>/quoted.txt``, checked by a test.

A line has four parts between bars: a phrase of the prose with the quoted figure in brackets, and where the figure
stands: the beginning of a table's title, a row's first cells (``;`` between them), and the beginning of a column's
head. A fifth part says which number of that cell it is, from 1 on (1 when left out). Tables are made from
committed results, so that a phrase which no longer fits them fails. Lines that begin with ``#`` are remarks.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal
from pathlib import Path

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
TITLE = "### "


@dataclass(frozen=True)
class Quote:
    """A figure in a phrase, and the cell that it is from."""

    phrase: str
    title: str
    row: str
    column: str
    which: int

    @property
    def figure(self) -> str:
        """The figure as the phrase has it."""
        return self.phrase.partition("[")[2].partition("]")[0]


def read_quotes(place: Path) -> list[Quote]:
    """The quotes of a paper."""
    lines = [line for line in place.read_text("utf-8").splitlines() if line.strip() and line[0] != "#"]
    parts = [[part.strip() for part in line.split("|")] for line in lines]
    return [Quote(*part[:4], which=int(part[4]) if len(part) > 4 else 1) for part in parts]


def tables(page: str) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Every table under a title of its own: title, head and rows."""
    title, rows = "", []
    for line in [*page.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([part.strip() for part in line.strip().strip("|").split(" | ")])
            continue
        if rows:
            yield title, rows[0], rows[2:]
            rows = []
        if line.startswith("#"):
            title = line.lstrip("# ")


def wrong(page: str, quotes: list[Quote]) -> list[str]:
    """What does not fit: phrases that the page has not, cells that are not there, figures that differ."""
    prose, found, out = " ".join(page.split()), list(tables(page)), []
    for quote in quotes:
        said = quote.phrase.replace("[", "").replace("]", "")
        if said not in prose:
            out.append(f"not on the page: {said!r}")
        cells = [
            row[head.index(column)]
            for title, head, rows in found
            if title.startswith(quote.title)
            for row in rows
            if " ; ".join([*row, ""]).startswith(f"{quote.row} ; ")
            for column in head
            if column == quote.column or (quote.column not in head and column.startswith(quote.column))
        ]
        if len(cells) != 1:
            out.append(f"{len(cells)} cells for {said!r}")
            continue
        numbers = NUMBER.findall(cells[0])
        if len(numbers) < quote.which or not _fits(quote.figure, numbers[quote.which - 1]):
            out.append(f"{said!r}: the table has {cells[0]!r}")
    return out


def _fits(said: str, there: str) -> bool:
    """Whether a figure is another, rounded; a share may be told in percent."""
    told = Decimal(said.replace(",", "").rstrip("%"))
    value = Decimal(there.replace(",", "")) * (100 if said.endswith("%") and "." in there else 1)
    places = Decimal(1).scaleb(told.as_tuple().exponent)  # type: ignore[arg-type]
    # A cell is rounded already: one that ends in 5 may have come from either side.
    return abs(told) in {abs(value.quantize(places, way)) for way in (ROUND_HALF_UP, ROUND_HALF_DOWN)}
