"""A comparison as text: what was found, what it costs, and what a reader must know before quoting it."""

import io
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from holdtrue._html import paragraph, table
from holdtrue.reports import number, percent, short, shown_seconds
from holdtrue.search import Status, is_found

if TYPE_CHECKING:
    from rich.console import RenderableType

    from holdtrue.studies.compare._result import Comparison, Row

WIDTH = 86


class Part(NamedTuple):
    """One table: headings, and a row of cells per method."""

    heads: tuple[str, ...]
    rows: list[tuple[str, ...]]


def text(comparison: "Comparison") -> str:
    """Plain text within 86 columns."""
    from rich.console import Console

    out = io.StringIO()
    Console(file=out, width=WIDTH, highlight=False, color_system=None).print(rich(comparison))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def rich(comparison: "Comparison") -> "RenderableType":
    """A rich renderable."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    shown: list[Any] = [Text(title(comparison), style="bold")]
    for part in parts(comparison):
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold cyan")
        for i, head in enumerate(part.heads):
            table.add_column(Text(head), justify="right" if i else "left", no_wrap=True, min_width=0 if i else 17)
        for row in part.rows:
            table.add_row(*(Text(cell) for cell in row))
        shown += [Text(""), table]
    shown.append(Text(""))
    shown += [Text(line) for line in [*without_recourse(comparison), *not_run(comparison)]]
    return Group(*shown, *(Text(line, style="dim") for line in notes(comparison)))


def html(comparison: "Comparison") -> str:
    """Tables for a notebook."""
    shown = [paragraph(title(comparison)), *(table(part.heads, part.rows) for part in parts(comparison))]
    lines = [*without_recourse(comparison), *not_run(comparison), *notes(comparison)]
    return "".join([*shown, *(paragraph(line.strip()) for line in lines if line)])


def title(comparison: "Comparison") -> str:
    """The first line."""
    job, n = comparison.job, len(comparison.ran)
    people = f"{comparison.n_people:,} people refused by {job.get('model')} on {job.get('data')}"
    return f"{n} method{'' if n == 1 else 's'}, {people}"


def parts(comparison: "Comparison") -> list[Part]:
    """The tables."""
    who = comparison.common
    heads = ("method", "found", "valid", "broken", "survival", "near", "a person", "compile")
    found = Part(heads, [_found(row) for row in comparison.ran])
    norms = ("l0", "l1", "l2")
    costs = Part(
        ("cost", *norms, *(f"{norm} *" for norm in norms), "survival *", "near *"),
        [
            (
                row.name,
                *(_cost(row.mean(norm), norm) for norm in norms),
                *(_cost(row.mean(norm, who), norm) for norm in norms),
                percent(row.mean("survival", who)),
                _cost(row.mean("plausibility", who)),
            )
            for row in comparison.ran
        ],
    )
    return [found, costs]


def without_recourse(comparison: "Comparison") -> list[str]:
    """How the searches that found nothing ended."""
    out = []
    for row in comparison.ran:
        ended = [f"{name} {count:,}" for name, count in row.counts.items() if not is_found(Status[name])]
        if ended:
            out.append(f"  {row.name}: {', '.join(ended)}")
    return ["Without recourse:", *out, ""] if out else []


def not_run(comparison: "Comparison") -> list[str]:
    """Methods that could not be run, and why."""
    out = [f"  {row.name}: {row.reason}" for row in comparison.rows if row.reason is not None]
    return ["Not run:", *out, ""] if out else []


def notes(comparison: "Comparison") -> list[str]:
    """What the columns mean."""
    n, job = int(comparison.common.sum()), comparison.job
    out = [
        "Costs, survival and near are means over the recourse found; those with a * over the "
        f"{n:,} {'person' if n == 1 else 'people'} for whom every method found one. Costs in scaled units.",
        f"near: l1 distance to the {job.get('neighbours')} nearest training rows with the wanted label; less is "
        "more plausible.",
    ]
    if job.get("retrainings"):
        varied = f"{job['retrainings']} retrained models ({job.get('vary')})"
        out.append(f"survival: share of {varied} that still say yes.")
    out.append("a person: search and check, in a second call. compile: how much longer the first one took.")
    return out


def _found(row: "Row") -> tuple[str, ...]:
    return (
        row.name,
        percent(row.found),
        percent(row.validity),
        f"{row.n_broken:,}",
        percent(row.mean("survival")),
        _cost(row.mean("plausibility")),
        shown_seconds(row.seconds_per_person),
        f"{short(row.compile_seconds)} s",
    )


def _cost(value: float, norm: str = "l1") -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.2f}" if norm == "l0" else number(value)
