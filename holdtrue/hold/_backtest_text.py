"""A backtest as text: what was kept at each slack, what would have been chosen, and what that rests on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdtrue.reports import percent

if TYPE_CHECKING:
    from holdtrue.hold._backtest_result import Backtest, Kept

NOTES = (
    "Kept: share of the offers that the model of so many periods later accepts, mean over periods (worst).",
    "Again: share of models trained again on resamples of the same rows. Price: in multiples of the cheapest.",
    "Chosen: the smallest slack whose promises of up to {memory} periods, judged by then, were kept to {hold}",
)


def text(past: "Backtest") -> str:
    """Plain text."""
    setup, n = past.setup, len(past.periods)
    span = f"{past.periods[0].period} to {past.periods[-1].period}" if n > 1 else past.periods[0].period
    asked = sum(p.asked for p in past.periods)
    head = (
        f"Backtest of {setup.get('model')}: {_count(n, 'period')} ({span}) replayed, "
        f"{asked:,} refused people,\n"
        f"windows of {setup.get('window')}, {setup.get('guides')} guides, {setup.get('method')}"
    )
    parts = [head, "", *_columns(_by_slack(past)), "", *_columns(_by_period(past)), ""]
    parts += [_choice(past, past.kept(term)) for term in past.terms]
    notes = "\n".join(NOTES).format(memory=past.memory, hold=f"{100 * past.hold:g}%")
    sure = "." if past.confidence is None else f",\nwith {past.confidence:.0%} confidence over their people."
    return "\n".join([*parts, "", notes + sure])


def _by_slack(past: "Backtest") -> list[list[str]]:
    heads = ["slack", "found", "cost", "price", "again", *(f"kept, {_ahead(term)}" for term in past.terms)]
    rows = [heads]
    for slack in (None, *past.slacks):
        offers = [p.at(slack) for p in past.periods]
        row = ["cheapest" if slack is None else f"{slack:g}"]
        row += [percent(_mean([o.found for o in offers])), _number(_mean([o.cost for o in offers]))]
        row += [_times(_mean([o.price for o in offers])), percent(_mean([o.again for o in offers]))]
        for term in past.terms:
            shares = [s for o in offers if (s := o.share(term)) is not None]
            row.append(f"{percent(_mean(shares))} ({percent(min(shares))})" if shares else "-")
        rows.append(row)
    return rows


def _by_period(past: "Backtest") -> list[list[str]]:
    """What would have been chosen in each period, and what became of it, beside the cheapest."""
    first = past.terms[0]
    heads = ["period", "people", f"cheapest, {_ahead(first)}"]
    heads += [f"chosen, {_ahead(term)}" for term in past.terms]
    rows = [heads]
    chosen = {term: {c.period: c for c in past.kept(term).choices} for term in past.terms}
    for period in past.periods:
        row = [period.period, f"{period.asked:,}", percent(_none(period.cheapest.share(first)))]
        for term in past.terms:
            c = chosen[term].get(period.period)
            row.append("-" if c is None else f"{percent(_none(c.kept))} at {_times(_none(c.price))} ({c.slack:g})")
        rows.append(row)
    return rows


def _choice(past: "Backtest", kept: "Kept") -> str:
    level = past.level(kept.term)
    now = f"slack {level.slack:g} now" if level.reached else f"not reached: {level.note}"
    if kept.mean is None or kept.worst is None:
        return f"{_ahead(kept.term).capitalize()}: no period could be chosen for and judged; {now}"
    worst = f"{percent(_none(kept.worst.kept))} in the worst ({kept.worst.period})"
    rests = f"{_count(len(kept.choices), 'period')} and {kept.people:,} people"
    return (
        f"{_ahead(kept.term).capitalize()}, {100 * past.hold:g}% wanted: {percent(kept.mean)} kept in the mean of "
        f"{rests}, {worst}, at {_times(_none(kept.price))} the cheapest cost; {now}"
    )


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _ahead(term: int) -> str:
    return f"{term} ahead"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    return [lines[0], "-" * len(lines[0]), *lines[1:]]


def _mean(values: Sequence[float | None]) -> float:
    told = [v for v in values if v is not None]
    return sum(told) / len(told) if told else float("nan")


def _none(value: float | None) -> float:
    return float("nan") if value is None else value


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.3g}"


def _times(value: float) -> str:
    return "-" if value != value else f"{value:.2f}x"
