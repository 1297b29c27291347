"""The gate's report in words: sections of a label and cells, as `holdtrue.reports` prints them."""

import math

from holdtrue.promises._report import GateReport, Instead
from holdtrue.reports import Page, Section, Summary, percent

SHOWN = 20  # broken promises that are printed
STATUSES = {
    "FOUND": "have a way",
    "OPTIMAL": "have a way, the cheapest there is",
    "ALREADY_FAVOURABLE": "need to do nothing",
    "NOT_ASKED": "cannot be asked about",
}


def page(report: GateReport) -> Page:
    """What is printed."""
    sections = [_promises(report)]
    if report.groups:
        sections.append(_groups(report))
    if report.n_broken > report.n_unreadable:
        sections.append(_shortfall(report))
    if report.n_broken:
        for found, what in (
            (report.instead, "What they could do instead"),
            (report.further, "And if they did it already, further"),
        ):
            if found is not None and found.n_searched:
                sections.append(_instead(found, f"{what} ({found.method}, {found.norm})"))
    sections.append(_honour(report))
    if report.cases:
        sections.append(_cases(report))
    verdict = "passes" if report.ok else "does not pass"
    return Page(f"Gate: the model {verdict}", sections, _alarms(report), _notes(report))


def _promises(report: GateReport) -> Section:
    kept = report.n_live - report.n_broken
    rows = [
        ("live", f"{report.n_live:,}", "", ""),
        ("kept", f"{kept:,}", percent(kept / report.n_live if report.n_live else math.nan), ""),
        ("broken", f"{report.n_broken:,}", percent(report.share), _interval(report.lower, report.upper, report)),
    ]
    if report.n_unreadable:
        share = percent(report.n_unreadable / report.n_live)
        rows.append(("  of these the model cannot be asked about", f"{report.n_unreadable:,}", share, ""))
    rows.append(("may break", "", percent(report.max_broken), ""))
    e = report.expected
    if e is not None:
        rows += [
            ("expected to break, as they said", f"{e.n * e.share:,.1f}", percent(e.share),
             _interval(e.lower, e.upper, report)),
            (f"  of these {e.n:,}, broken", f"{e.broken:,}", percent(e.broken_share), ""),
        ]  # fmt: skip
    return Section(("Promises", "number", "share", _level(report)), rows)


def _groups(report: GateReport) -> Section:
    rows = [
        (f"{g.label} ({g.n:,})", f"{g.broken:,}", percent(g.share), _interval(g.lower, g.upper, report))
        for g in report.groups
    ]
    return Section((f"By {report.group} (promises)", "broken", "share", _level(report)), rows)


def _shortfall(report: GateReport) -> Section:
    label = "probability, below what the decision needs"
    rows = [(label, *(f"{value:.4f}" for value in report.shortfall))]
    return Section(("How far the broken fall short", "mean", "median", "90% below"), rows)


def _instead(found: Instead, title: str) -> Section:
    rows = [
        (
            STATUSES.get(status, status.lower().replace("_", " ")),
            f"{count:,}",
            percent(count / found.n_searched),
            "",
        )
        for status, count in found.counts.items()
    ]
    rows += [("", "mean", "median", "90% below")]
    rows += [("cost", *_numbers(found.cost)), ("extra cost, beyond the promise", *_numbers(found.extra))]
    return Section((title, "people", "share", ""), rows)


def _honour(report: GateReport) -> Section:
    h = report.honour
    rows = []
    if report.n_broken:
        rows = [
            ("cases to approve regardless", f"{h.n_regardless:,}", ""),
            ("  expected to turn out wrong, by the model", f"{h.expected_wrong:,.1f}", ""),
        ]
    now = "" if report.threshold is None else f"{report.threshold:.6g}"
    rows.append(
        ("highest threshold that breaks none", "none" if h.threshold is None else f"{h.threshold:.6f}", now)
    )
    if h.labelled is not None:
        m = h.labelled
        rows += [
            ("  accuracy", percent(m.accuracy_then), percent(m.accuracy)),
            ("  approved", percent(m.approved_then), percent(m.approved)),
            (f"  right among the {m.n_added:,} that it adds", percent(m.good.share), ""),
        ]
    return Section(("To keep them all", "then", "now"), rows)


def _cases(report: GateReport) -> Section:
    rows = []
    for case in report.cases[:SHOWN]:
        values = (case["probability"], case["shortfall"], case["extra_instead"])
        rows.append((case["id"], *("-" if value is None else f"{value:.3f}" for value in values)))
    return Section(("Broken promises, the first", "chance", "short by", "extra"), rows)


def _alarms(report: GateReport) -> list[str]:
    if report.ok:
        return []
    return [
        f"{report.n_broken:,} of {report.n_live:,} live promises would break; at most "
        f"{percent(report.max_broken)} may."
    ]


def _notes(report: GateReport) -> list[str]:
    out = [f"Not asked: {reason}, {count:,} times." for reason, count in list(report.reasons.items())[:5]]
    h = report.honour
    if h.why is not None and report.n_live:
        out.append(f"No threshold keeps them all: {h.why}.")
    if h.n_beyond:
        out.append(f"No threshold saves the {h.n_beyond:,} promises that the model cannot be asked about.")
    if h.labelled is None and h.threshold is not None and report.n_broken:
        out.append("What that threshold costs in accuracy was not measured: give rows of known class.")
    if report.instead is not None and report.instead.n_searched < report.n_broken:
        out.append(f"Ways were searched for the first {report.instead.n_searched:,} broken promises only.")
    if report.groups:
        out.append(
            "The counts are of all live promises. The intervals say what share to expect among further people of "
            "the group."
        )
    model = "a model made elsewhere" if report.model is None else f"model {report.model[:12]}"
    chain = f"event {report.ledger['seq']:,} (hash {report.ledger['hash'][:12]})"
    out.append(f"{model[0].upper()}{model[1:]}, ledger up to {chain}, {report.at:%Y-%m-%d %H:%M} UTC.")
    return out


def _level(report: GateReport) -> str:
    return f"{100 * report.confidence:g}% int."


def _interval(lower: float, upper: float, report: GateReport) -> str:
    return f"{100 * lower:.2g}-{100 * upper:.2g}%" if report.n_live else ""


def _numbers(summary: Summary) -> tuple[str, ...]:
    return tuple("-" if math.isnan(value) else f"{value:.3f}" for value in summary)
