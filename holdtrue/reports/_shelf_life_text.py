"""A shelf life and its calibration, as they are printed."""

import math
from typing import TYPE_CHECKING

from holdtrue.metrics import binned, models_needed
from holdtrue.reports._render import Page, Section, percent

if TYPE_CHECKING:
    from holdtrue.reports._calibration import Calibration
    from holdtrue.reports._shelf_life import ShelfLife

BAR = 30  # characters of the longest bar


def page(life: "ShelfLife") -> Page:
    """A shelf life to be printed."""
    n = life.n_found
    return Page(
        f"Shelf life: {n:,} recourses by {life.plan.method}, asked of {_models(life)}",
        [_summary(life), _histogram(life)] if n else [],
        [],
        _notes(life) if n else ["No recourse was found, so none can hold."],
    )


def calibration_page(calibration: "Calibration") -> Page:
    """A calibration to be printed."""
    r = calibration.reliability
    rows = [
        (interval(b.low, b.high), f"{b.n:,}", percent(b.estimated), percent(b.observed)) for b in r.bins if b.n
    ]
    figures = [
        ("mean absolute error", "", "", percent(r.mae)),
        ("  by chance alone, were all models alike", "", "", percent(r.mae_by_chance)),
        ("bias: stated less observed", "", "", _signed(r.bias)),
        ("  its standard error, over both sets of models", "", "", percent(calibration.bias_error)),
        ("every stating model said yes", f"{r.n_always:,}", percent(1.0 if r.n_always else math.nan),
         percent(r.always)),
    ]  # fmt: skip
    heads = ("recourses", "stated", "observed")
    return Page(
        f"Calibration: {r.n_people:,} recourses, stated by {r.n:,} models, observed by {r.n_fresh:,} others",
        [Section(("Models that say yes", *heads), rows), Section(("Over all", *heads), figures)],
        [],
        [],
    )


def interval(low: float, high: float) -> str:
    """A bin in words."""
    if low == high:
        return "all"
    return f"{100 * low:.4g}% to below {100 * high:.4g}%"


def _models(life: "ShelfLife") -> str:
    return f"{life.n_models:,} retrained models ({life.vary})" if life.vary else f"{life.n_models:,} other models"


def _summary(life: "ShelfLife") -> Section:
    s, n = life.summary(), life.n_found
    bound = f"{100 * life.level:.4g}%"
    firm = n - s["n_fragile"]
    rows = [
        ("chance to hold, mean over recourses", "", percent(s["mean"])),
        ("  standard deviation over models", "", percent(s["std_over_models"])),
        ("  least over recourses", "", percent(s["worst"])),
        ("every model says yes", f"{s['n_always']:,}", percent(s["n_always"] / n)),
        (f"holds: lower bound at least {bound}", f"{firm:,}", percent(firm / n)),
        (f"fragile: lower bound below {bound}", f"{s['n_fragile']:,}", percent(s["n_fragile"] / n)),
        ("  of these, upper bound below it too", f"{s['n_short']:,}", percent(s["n_short"] / n)),
    ]
    return Section(("After a retraining", "recourses", "share"), rows)


def _histogram(life: "ShelfLife") -> Section:
    n, rows = life.n_found, []
    for low, high, who in binned(life.survival[life.plan.found]):
        count = int(who.sum())
        bar = "█" * max(round(BAR * count / n), 1 if count else 0)
        rows.append((f"{interval(low, high):<17}{bar}"[:47], f"{count:,}", percent(count / n)))
    return Section(("Models that say yes", "recourses", "share"), rows)


def _notes(life: "ShelfLife") -> list[str]:
    out = [
        f"Bounds are two-sided, {100 * life.confidence:.4g}% for each recourse on its own; they do not cover "
        "shifts of the data."
    ]
    needed = models_needed(life.level, (1 + life.confidence) / 2)
    if life.n_models < needed:
        out.append(f"{life.n_models} models cannot show that anything holds; it takes {needed} that all say yes.")
    elif life.vary is None or life.vary.startswith("shift"):
        out.append("Bounds hold for models drawn at random; models that were chosen are only themselves.")
    if life.n_left_out:
        out.append(f"{life.n_left_out} more were drawn, but left out: the search had asked them already.")
    return out


def _signed(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:+.1f}%"
