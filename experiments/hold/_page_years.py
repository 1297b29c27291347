"""The part of the page about years: loans replayed, guides drawn otherwise, releases two years on."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments._drawing import BLUE, GREEN, GREY, ORANGE, PURPLE, dress, plt, save
from experiments.hold.price import EARLY, YEARS
from experiments.hold.sba import KINDS as LOANS
from holdtrue.hold import Backtest

HERE = Path(__file__).parent
MODELS = {"logistic": "logistic", "mlp": "MLP", "forest": "forest", "xgboost": "XGBoost", "lightgbm": "LightGBM"}
HOLD, MEMORY, FEWEST = 0.95, 4, 3
"""The share to be kept, how many years back a backtest looks, and how many there must be."""
PROTOTYPE = {1: (0.956, 0.883, 0.113), 2: (0.967, 0.883, 0.132), 3: (0.915, 0.617, 0.138)}
"""What was measured before the work, with XGBoost: share kept in the mean and in the worst year, and cost."""


def years() -> list[str]:
    """The loans year by year, and releases two years on."""
    lines = [
        "### Small-business loans, year by year",
        "",
        "Models of windows of three years, 60 refused people a year, 30 guides; for every year the smallest slack",
        "whose promises were kept to 95% on what was known by then, asked of the models that came. Chosen by",
        "bound: the lower bound (95%) over the people of up to four judged years reaches .95; by share: the share",
        "itself. Networks and logistic models learn from 5,000 loans of each year. The prototype is what was",
        "measured before the work, with a beam search for up to three changes: its cheapest recourse cost .079,",
        "ours, which is proved for nearly everybody, half of that. Costs compare, ratios to the cheapest do",
        "not.",
        "",
        "| model | term | chosen by | years | kept, mean | kept, worst year | cost | cost over the cheapest's |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind, past in _replays().items():
        for term in past.terms:
            for by, confidence in (("bound", 0.95), ("share", None)):
                lines.append(_chosen(kind, by, replace(past, confidence=confidence), term))
            if kind == "xgboost":
                mean, worst, cost = PROTOTYPE[term]
                lines.append(f"| prototype | {term} | share | | {mean:.3f} | {worst:.3f} | {cost:.3f} | |")
    return [*lines, *price(), *releases()]


def _replays() -> dict[str, Backtest]:
    """What is committed, by kind of model."""
    paths = {kind: HERE / "results" / ("sba.json" if kind == "xgboost" else f"sba-{kind}.json") for kind in LOANS}
    return {
        kind: Backtest.from_dict(json.loads(path.read_text(encoding="utf-8")))
        for kind, path in paths.items()
        if path.exists()
    }


def draw_years(folder: Path) -> None:
    """What became of promises for a year, year by year, beside the cheapest recourse; and what they cost."""
    figure, (kept, cost) = plt.subplots(2, 1, figsize=(7, 5.2), sharex=True)
    dress(kept, "Share that next year's model accepts: 95% wanted")
    dress(cost, "Cost, in ranges of the columns")
    for (kind, past), colour in zip(_replays().items(), (ORANGE, GREEN, BLUE, PURPLE), strict=False):
        choices = past.kept(1).choices
        years = [int(choice.period) for choice in choices]
        kept.plot(years, [choice.kept for choice in choices], "o-", ms=3, lw=1.2, color=colour, label=MODELS[kind])
        cost.plot(years, [choice.cost for choice in choices], "o-", ms=3, lw=1.2, color=colour)
        cheap = {int(replayed.period): replayed.cheapest for replayed in past.periods}
        kept.plot(years, [cheap[year].share(1) for year in years], ":", lw=1, color=colour)
        cost.plot(years, [cheap[year].cost for year in years], ":", lw=1, color=colour)
    kept.axhline(0.95, color=GREY, lw=0.8)
    kept.plot([], [], ":", color=GREY, label="cheapest recourse")
    kept.legend(fontsize=7, ncols=3, loc="lower right")
    kept.set_ylim(0, 1.02)
    cost.set_xlabel("year of the promise")
    figure.tight_layout()
    save(figure, folder, "hold-years", dpi=100)


def _chosen(kind: str, by: str, past: Backtest, term: int) -> str:
    kept = past.kept(term)
    assert kept.worst is not None
    cost = np.mean([choice.cost for choice in kept.choices if choice.cost is not None])
    return (
        f"| {MODELS[kind]} | {term} | {by} | {len(kept.choices)} | {kept.mean:.3f} | {kept.worst.kept:.3f} "
        f"({kept.worst.period}) | {cost:.3f} | {kept.price:.2f}x |"
    )


def price() -> list[str]:
    """Panels drawn otherwise, and the least that anybody could pay."""
    path = HERE / "results/price.json"
    if not path.exists():
        return []
    some = json.loads(path.read_text(encoding="utf-8"))["replayed"]
    panels: dict[str, list[dict[str, Any]]] = {}
    for row in some:
        panels.setdefault(row["panel"], []).append(row)
    whole = [name for name, rows in panels.items() if {row["year"] for row in rows} >= set(EARLY)]
    lines = [
        "",
        "### Could a year be had for less?",
        "",
        "XGBoost on the loans, guides drawn in other ways: so many resamples of the window and of single years,",
        "so many of them spared. At the smallest slack that kept 95% of next year's decisions in the mean of the",
        f"years to {EARLY[-1]}, and what it cost there; then the years after it. Clairvoyant: the cheapest",
        "recourse that the model and next year's model itself accept, which nobody can know. The usual panel, 10",
        "resamples and 20 of single years, and the two that cost least among those of resamples were asked of the",
        "years after it. Eight further panels were asked of four or five early years alone, cost more there than",
        "the usual one, and are left out.",
        "",
        "| guides | slack | early cost | years | kept, mean | kept, worst year | cost | over the cheapest's |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [_panel(name, panels[name]) for name in panels if name in whole or name == "clairvoyant"]
    lines += [
        "",
        "The slack chosen for every year as a backtest does, by the share kept on offers of up to four years",
        "before:",
        "",
        "| guides | years | kept, mean | kept, worst year | cost | over the cheapest's |",
        "|---|---|---|---|---|---|",
    ]
    full = [name for name in whole if len(panels[name]) == len(YEARS) and name != "clairvoyant"]
    return lines + [_by_backtest(name, panels[name]) for name in full]


def _panel(name: str, rows: list[dict[str, Any]]) -> str:
    early, later = ([row for row in rows if (row["year"] in EARLY) is is_early] for is_early in (True, False))
    slacks = _slacks(rows)
    enough = [slack for slack in slacks if early and np.mean([_kept(row, slack) for row in early]) >= HOLD]
    slack = enough[0] if enough else slacks[-1]
    shown = f"{slack:g}" + ("" if enough else " (no smaller one kept 95%)")
    first = f"{_mean(early, slack, 'cost'):.4f}" if early else ""
    told = _told([(row, slack) for row in later]) if later else "| | | | | |"
    return f"| {name} | {shown} | {first} {told}"


def _by_backtest(name: str, rows: list[dict[str, Any]]) -> str:
    """For every year the smallest slack whose promises of the four years before were kept, as known by then."""
    chosen = []
    for place in range(FEWEST, len(rows)):
        known = rows[max(0, place - MEMORY) : place]
        shares = {
            slack: sum(_offer(row, slack)["kept"]["1"] for row in known)
            / sum(_offer(row, slack)["people"] for row in known)
            for slack in _slacks(rows)
        }
        chosen.append((rows[place], next((s for s, share in shares.items() if share >= HOLD), _slacks(rows)[-1])))
    return f"| {name} {_told(chosen)}"


def _told(chosen: list[tuple[dict[str, Any], float]]) -> str:
    """Years, shares kept, costs: what is to the right in a table's row."""
    kept = {row["year"]: _kept(row, slack) for row, slack in chosen}
    offers = [_offer(row, slack) for row, slack in chosen]
    people = np.array([o["people"] for o in offers])
    cost, cheapest = (np.average([o[what] for o in offers], weights=people) for what in ("cost", "cheapest"))
    worst = min(kept, key=lambda year: kept[year])
    return (
        f"| {len(kept)} | {np.mean(list(kept.values())):.3f} | {kept[worst]:.3f} ({worst}) | {cost:.3f} "
        f"| {cost / cheapest:.2f}x |"
    )


def _slacks(rows: list[dict[str, Any]]) -> list[float]:
    return [offer["slack"] for offer in rows[0]["offers"] if offer["slack"] is not None]


def _mean(rows: list[dict[str, Any]], slack: float, what: str) -> float:
    return float(np.mean([_offer(row, slack)[what] for row in rows]))


def _offer(row: dict[str, Any], slack: float) -> dict[str, Any]:
    return next(offer for offer in row["offers"] if offer["slack"] == slack)


def _kept(row: dict[str, Any], slack: float) -> float:
    offer = _offer(row, slack)
    return offer["kept"]["1"] / offer["people"] if offer["people"] else 1.0


def releases() -> list[str]:
    """Releases of 1978 before the model of 1980."""
    path = HERE / "results/bail.json"
    if not path.exists():
        return []
    kinds = json.loads(path.read_text(encoding="utf-8"))["kinds"]
    lines = [
        "",
        "### Releases of 1978, asked of 1980",
        "",
        "One period before the judge's, so nothing can be chosen by a backtest: the slack is the smallest that",
        "resamples of 1978 keep to 95%.",
        "",
        "| model | people | cheapest: resamples, 1980 | slack | chosen: resamples, 1980 | times the cheapest |",
        "|---|---|---|---|---|---|",
    ]
    for kind, told in kinds.items():
        cheap = next(offer for offer in told["offers"] if offer["slack"] is None)
        sure = [offer for offer in told["offers"] if offer["slack"] is not None]
        chosen = next((offer for offer in sure if offer["slack"] == told["chosen"]), sure[-1])
        shown = f"{chosen['slack']:g}" + ("" if told["chosen"] is not None else " (none kept 95%)")
        lines.append(
            f"| {MODELS[kind]} | {told['asked']} | {cheap['again']:.3f}, {cheap['kept']:.3f} | {shown} "
            f"| {chosen['again']:.3f}, {chosen['kept']:.3f} | {chosen['price']:.2f}x |"
        )
    return lines
