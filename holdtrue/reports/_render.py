"""A report as text, as a rich table and as HTML: the same sections in each."""

import html as _html
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from holdtrue.metrics import models_needed

if TYPE_CHECKING:
    from rich.console import RenderableType

    from holdtrue.reports._report import Report

LABEL, CELL = 50, 12  # widths; a line is at most LABEL + 3 * CELL
MOST = 8  # features named; the rest are counted


class Section(NamedTuple):
    """A heading with the names of its columns, and rows of a label and cells."""

    heads: tuple[str, ...]
    rows: list[tuple[str, ...]]


class Page(NamedTuple):
    """What is printed: a first line, sections, what must not be, what a reader must know."""

    title: str
    sections: list[Section]
    alarms: list[str]
    notes: list[str]


def page(report: "Report") -> Page:
    """A report to be printed."""
    return Page(title(report), sections(report), alarms(report), notes(report))


def title(report: "Report") -> str:
    """The first line."""
    return f"Recourse audit: {report.n_people:,} people, by {report.method} ({report.norm})"


def sections(report: "Report") -> list[Section]:
    """Everything a reader sees, as text in cells."""
    out = [_people(report), *_reach(report), _checked(report)]
    if report.n_found:
        out += [_cost(report), _features(report)]
    if report.survival is not None and report.n_found:
        out.append(_survival(report))
    time = [
        ("whole search", "", shown_seconds(report.seconds)),
        ("per person", "", shown_seconds(report.seconds_per_person)),
    ]
    return [*out, Section(("Time", "", ""), time)]


def alarms(report: "Report") -> list[str]:
    """What must not be: a sound plan has none."""
    out = [f"BROKEN: {text}, {count:,} times." for text, count in report.broken.items()]
    if report.n_at_odds:
        out.append("AT ODDS: the model has changed since the recourse was found, or the plan was edited.")
    return out


def notes(report: "Report") -> list[str]:
    """What a reader must know before quoting the numbers."""
    out = []
    if report.weighted and report.n_found:
        out.append("Costs weigh each feature by its cost_weight.")
    s = report.survival
    if s is None:
        out.append("Survival was not measured: give `against`, such as holdtrue.retrain(clf, n=100).")
    elif report.n_found:
        needed = models_needed(s.level, s.confidence)
        if s.n_models < needed:
            out.append(f"Nobody can be assured by {s.n_models} models; it takes {needed} that all say yes.")
        elif s.vary in (None, "shift"):
            out.append("Assured holds for models drawn at random; models that were chosen are only themselves.")
        if s.n_consulted:
            out.append(
                f"{s.n_consulted} of these models guided or stopped the search: they overstate survival. Use "
                "holdtrue.shelf_life."
            )
    return out


def _people(report: "Report") -> Section:
    n, refused = report.n_people, report.n_refused
    rows = [("refused by the model", f"{refused:,}", percent(refused / n if n else math.nan))]
    share = report.share
    if refused:
        with_recourse = round(share.among_refused * refused)
        rows.append(("with recourse, of the refused", f"{with_recourse:,}", percent(share.among_refused)))
    if n:
        rows.append(
            ("favourable or with recourse, of all", f"{round(share.among_all * n):,}", percent(share.among_all))
        )
    for status, count in report.counts.items():
        rows.append((f"  {status.lower().replace('_', ' ')}", f"{count:,}", percent(count / n)))
    return Section(("Who has recourse", "people", "share"), rows)


def _reach(report: "Report") -> list[Section]:
    """What is proved of the refused, of all and by group."""
    reach = report.reach
    if reach is None:
        return []
    heads = (f"Reach of the model ({100 * reach.confidence:.3g}% intervals)", "people", "share", "interval")
    rows: list[tuple[str, ...]] = []
    parts = [("", reach.everybody), *((f"{reach.column or 'group'} = {k}: ", v) for k, v in reach.groups.items())]
    for name, c in parts:
        n = c.n_refused
        for what, k, ends in (
            ("with recourse", c.n_with, (c.with_lower, c.with_upper)),
            ("proved without", c.n_without, (c.without_lower, c.without_upper)),
            ("undecided", c.n_undecided, None),
        ):
            interval = "" if ends is None or not n else f"{100 * ends[0]:.0f}-{100 * ends[1]:.0f}%"
            rows.append((f"{name}{what}", f"{k:,} of {n:,}", percent(k / n if n else math.nan), interval))
    return [Section(heads, rows)]


def _checked(report: "Report") -> Section:
    valid = round(report.validity * report.n_found) if report.n_found else 0
    rows = [
        ("valid", f"{valid:,} of {report.n_found:,}", percent(report.validity)),
        ("breaking a limit", f"{report.n_broken:,}", ""),
        ("at odds with the plan", f"{report.n_at_odds:,}", ""),
    ]
    return Section(("Asked again", "", ""), rows)


def _cost(report: "Report") -> Section:
    rows = [(norm, *(number(v) for v in summary)) for norm, summary in report.costs.items()]
    rows.append(("features changed", *(f"{v:.1f}" for v in report.sparsity)))
    return Section(("Cost of a recourse, in scaled units", "mean", "median", "90% below"), rows)


def _features(report: "Report") -> Section:
    ranked = sorted(((rate, name) for name, rate in report.change_rates.items() if rate > 0), key=lambda p: -p[0])
    rows = [
        (report.titles[name], f"{round(rate * report.n_found):,}", percent(rate)) for rate, name in ranked[:MOST]
    ]
    if len(ranked) > MOST:
        more = len(ranked) - MOST
        rows.append((f"and {more} more feature{'s' if more > 1 else ''}", "", ""))
    return Section(("What it changes", "recourse", "share"), rows)


def _survival(report: "Report") -> Section:
    s, n = report.survival, report.n_found
    assert s is not None
    models = f"{s.n_models:,} retrained models ({s.vary})" if s.vary else f"{s.n_models:,} other models"
    assured = f"assured: > {s.level:.4g} of models, at {100 * s.confidence:.4g}% confidence"
    rows = [
        ("models that say yes, mean over people", "", percent(s.mean)),
        ("  least over people", "", percent(s.worst)),
        ("people to whom every model says yes", f"{s.n_always:,}", percent(s.n_always / n)),
        (assured, f"{s.n_assured:,}", percent(s.n_assured / n)),
        ("invalidation rate, mean over models", "", percent(s.invalidation)),
        ("  standard deviation over models", "", percent(s.invalidation_std)),
        ("  worst model", "", percent(s.invalidation_worst)),
    ]
    return Section((f"Survival under {models}", "people", "share"), rows)


# ---- the three forms --------------------------------------------------------------------------------


def text(page: Page) -> str:
    """Plain text within 86 columns."""
    lines = [page.title, "=" * len(page.title)]
    for section in page.sections:
        lines += ["", _line(section.heads)]
        lines += [_line((f"  {row[0]}", *row[1:])) for row in section.rows]
    remarks = [*page.alarms, *page.notes]
    lines += ["", *remarks] if remarks else []
    return "\n".join(lines)


def rich(page: Page) -> "RenderableType":
    """A rich renderable: a table a section under one title."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[Any] = [Text(page.title, style="bold")]
    for section in page.sections:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold cyan")
        table.add_column(Text(section.heads[0]), width=LABEL - 2, no_wrap=True, overflow="ellipsis")
        for head in section.heads[1:]:
            table.add_column(Text(head), width=CELL - 2, justify="right", no_wrap=True)
        for row in section.rows:
            table.add_row(*(Text(cell) for cell in (f"  {row[0]}", *row[1:])))
        parts += [Text(""), table]
    parts += [Text(""), *(Text(remark, style="bold red") for remark in page.alarms)]
    return Group(*parts, *(Text(remark, style="dim") for remark in page.notes))


def html(page: Page) -> str:
    """A table for notebooks."""
    rows = []
    for section in page.sections:
        pad = ("",) * (4 - len(section.heads))
        rows.append("".join(f"<th>{_html.escape(c)}</th>" for c in (*section.heads, *pad)))
        for row in section.rows:
            rows.append("".join(f"<td>{_html.escape(c)}</td>" for c in (*row, *pad)))
    table = "".join(f"<tr>{row}</tr>" for row in rows)
    remarks = "".join(f"<p>{_html.escape(remark)}</p>" for remark in [*page.alarms, *page.notes])
    return f"<p><b>{_html.escape(page.title)}</b></p><table>{table}</table>{remarks}"


def markdown(page: Page) -> str:
    """Tables for a page or a comment that takes Markdown."""
    lines = [f"## {_cell(page.title)}"]
    for section in page.sections:
        lines += ["", "| " + " | ".join(_cell(head) or " " for head in section.heads) + " |"]
        lines.append("|---" + "|---:" * (len(section.heads) - 1) + "|")
        for row in section.rows:
            cells = (*row, *("",) * (len(section.heads) - len(row)))
            lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    lines += [part for remark in page.alarms for part in ("", f"**{_cell(remark)}**")]
    lines += [part for remark in page.notes for part in ("", _cell(remark))]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Text that is not taken for Markdown or HTML: labels are what somebody's table holds."""
    text = _html.escape(" ".join(text.split()), quote=False)
    return "".join("\\" + c if c in "\\`*_[]|~#" else c for c in text)


def document(page: Page) -> str:
    """One HTML page, complete in itself: nothing is loaded from elsewhere."""
    parts = []
    for section in page.sections:
        head = "".join(f'<th scope="col">{_html.escape(c)}</th>' for c in section.heads)
        rows = "".join(
            f'<tr><th scope="row">{_html.escape(row[0])}</th>'
            + "".join(f"<td>{_html.escape(c)}</td>" for c in row[1:])
            + "<td></td>" * (len(section.heads) - len(row))
            + "</tr>"
            for row in section.rows
        )
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
    alarms = "".join(f'<p class="alarm">{_html.escape(remark)}</p>' for remark in page.alarms)
    notes = "".join(f"<p>{_html.escape(remark)}</p>" for remark in page.notes)
    title = _html.escape(page.title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head>"
        f"<body><h1>{title}</h1>{alarms}{''.join(parts)}{notes}</body></html>\n"
    )


STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;color:#1f2933;max-width:52rem;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.4rem}table{border-collapse:collapse;width:100%;margin:1.5rem 0}"
    "th,td{padding:.3rem .6rem;text-align:right;border-bottom:1px solid #e4e7eb;font-weight:400}"
    "th:first-child{text-align:left}thead th{font-weight:600;border-bottom:2px solid #9aa5b1}"
    ".alarm{font-weight:600;padding:.6rem;border-left:.3rem solid #d9822b;background:#fdf1e3}"
    "@media(max-width:30rem){th,td{padding:.3rem .2rem;font-size:.85rem}}"
)


def _line(cells: tuple[str, ...]) -> str:
    label = cells[0] if len(cells[0]) < LABEL else cells[0][: LABEL - 2] + "…"
    return (label.ljust(LABEL) + "".join(cell.rjust(CELL) for cell in cells[1:])).rstrip()


def percent(share: float) -> str:
    """A share in percent; a dash for none."""
    if math.isnan(share):
        return "-"
    shown = f"{100 * share:.1f}%"
    # All and none are claims of their own: nothing is rounded into them.
    if shown == "100.0%" and share < 1:
        return ">99.9%"
    return "<0.1%" if shown == "0.0%" and share > 0 else shown


def number(value: float) -> str:
    """A cost, with three digits where it is small."""
    return f"{value:.3f}" if value < 1000 else f"{value:,.0f}"


def short(value: float) -> str:
    """About three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.{2 if value < 10 else 1}f}"


def shown_seconds(value: float) -> str:
    """A time, in the unit that suits it."""
    if math.isnan(value):
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return short(value / size) + f" {unit}"
    return "0 s" if value == 0 else "<1 µs"
