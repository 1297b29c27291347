"""Write docs/explanation/what-holding-costs.md's tables and its picture from committed results.

``python -m experiments.hold.page`` reads ``results/grid/*.json`` and, beside it, what there is of ``sba*.json``,
``price.json`` and ``bail.json``; nothing is measured.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments._drawing import BLUE, GREY, ORANGE, dress, plt, save
from experiments.hold.grid import DATASETS, KINDS, LEVELS
from experiments.hold.price import EARLY
from experiments.hold.sba import KINDS as LOANS

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
PAGE = DOCS / "explanation" / "what-holding-costs.md"
BEGIN, END = "<!-- tables: made by python -m experiments.hold.page -->", "<!-- end of tables -->"
TABLES = {"german_credit": "German Credit", "loanapp": "mortgages", "heloc": "HELOC", "adult": "Adult"}
MODELS = {"logistic": "logistic", "mlp": "MLP", "forest": "forest", "xgboost": "XGBoost", "lightgbm": "LightGBM"}
EQUAL, LESS = 0.005, 0.02  # survival, and share of the cost, by which two methods may differ and count as equal


@dataclass(frozen=True)
class Row:
    """One method on one pair of table and model: everybody of all splits, one after the other."""

    found: np.ndarray
    cost: np.ndarray
    again: np.ndarray
    seeds: np.ndarray
    stated: np.ndarray | None
    seconds: float

    @property
    def survival(self) -> float:
        """Share of unseen models of resamples that accept, over people and models."""
        return float(np.nanmean(self.again))

    @property
    def interval(self) -> float:
        """Half of the survival's 95% interval over people."""
        values = self.again[np.isfinite(self.again)]
        return float(1.96 * values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")

    @property
    def by_all(self) -> float:
        """Share of people whom all unseen models of resamples accept."""
        return float((self.again[np.isfinite(self.again)] >= 1).mean())


Pair = dict[str, Row]


def cells() -> list[dict[str, Any]]:
    """What is committed, a table, model and split each."""
    return [
        json.loads(path.read_text(encoding="utf-8")) for path in sorted((HERE / "results/grid").glob("*.json"))
    ]


def pairs(cells: list[dict[str, Any]]) -> dict[tuple[str, str], tuple[int, Pair]]:
    """Splits of every pair put together, with how many there are; only methods that every split has."""
    out = {}
    for dataset in DATASETS:
        for kind in KINDS:
            own = [cell for cell in cells if (cell["dataset"], cell["kind"]) == (dataset, kind)]
            if not own:
                continue
            names = [n for n in own[0]["methods"] if all("found" in c["methods"].get(n, {}) for c in own)]
            out[dataset, kind] = len(own), {name: _joined([c["methods"][name] for c in own]) for name in names}
    return out


def _joined(parts: list[dict[str, Any]]) -> Row:
    def all_of(name: str) -> np.ndarray:
        return np.array([np.nan if v is None else v for part in parts for v in part[name]], float)

    stated = all_of("stated") if all("stated" in part for part in parts) else None
    n = sum(len(part["found"]) for part in parts)
    seconds = sum(part["seconds"] for part in parts) / n
    again, seeds = all_of("bootstraps"), all_of("seeds")
    return Row(all_of("found") > 0, all_of("cost"), again, seeds, stated, seconds)


def holding(pair: Pair, level: str) -> Row:
    """`hold` at a level, by the default method of the model's kind."""
    return pair.get(f"hold {level}, wachter") or pair[f"hold {level}, sparse_search"]


def others(pair: Pair) -> Pair:
    """Methods of the field that look for recourse that lasts."""
    return {name: row for name, row in pair.items() if name.split()[0] not in ("hold", "cheapest", "wachter")}


def ratio(a: Row, b: Row) -> float:
    """Cost of one method over that of another, on people whom both found."""
    both = a.found & b.found
    return float(a.cost[both].sum() / b.cost[both].sum()) if both.any() else float("nan")


def front(pair: Pair, base: str) -> list[Row]:
    """From what a method finds without guides to `hold` about it at its highest level."""
    start = pair.get("cheapest" if base == "sparse_search" else base)
    held = [pair[name] for level in sorted(LEVELS) if (name := f"hold {level}, {base}") in pair]
    return [row for row in (start, *held) if row is not None] if held else []


def ahead(pair: Pair) -> list[str]:
    """Methods that survive better than every level of `hold`, or as well and for less than its front."""
    least, out = pair["cheapest"], []
    fronts = [front(pair, base) for base in ("sparse_search", "wachter")]
    for name, row in others(pair).items():
        if row.found.mean() < 0.5:
            continue
        costs = []
        for line in fronts:
            at = sorted((own.survival, ratio(own, least)) for own in line)
            if at and at[-1][0] >= row.survival - EQUAL:
                costs.append(float(np.interp(row.survival, [s for s, _ in at], [c for _, c in at])))
        if not costs or ratio(row, least) < min(costs) * (1 - LESS):
            out.append(name)
    return out


def _surviving(row: Row) -> str:
    return f"{row.survival:.3f} ± {row.interval:.3f}"


def markdown(cells: list[dict[str, Any]]) -> str:
    """The page's tables."""
    of = pairs(cells)
    lines = [
        "### Cost against survival",
        "",
        "Survival: share of 50 unseen models, trained on resamples, that accept, with a 95% interval over people.",
        "Cost: in ranges of the columns, a changed category counting 2, on people whom both methods of a ratio",
        "found.",
        "Stated: the mean that `hold` told people, less what was observed on models of resamples.",
        "",
        "| table | model | splits | cheapest | hold 95% | cost | hold 99% | cost | by all 50 "
        "| stated less observed | ms a person |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (dataset, kind), (n, pair) in of.items():
        cheap, usual, sure = pair["cheapest"], holding(pair, "0.95"), holding(pair, "0.99")
        assert usual.stated is not None
        apart = float(np.nanmean(usual.stated) - usual.survival)
        lines.append(
            f"| {TABLES[dataset]} | {MODELS[kind]} | {n} | {_surviving(cheap)} at {np.nanmean(cheap.cost):.2f} "
            f"| {_surviving(usual)} | {ratio(usual, cheap):.2f}x | {_surviving(sure)} | {ratio(sure, cheap):.2f}x "
            f"| {sure.by_all:.0%} | {apart:+.3f} | {1000 * usual.seconds:.0f} |"
        )
    lines += [
        "",
        "### Beside the field's methods",
        "",
        "Ahead: methods that survive better than `hold` at its highest level, or that cost less than its front",
        "(the line of the picture, from the cheapest recourse on) where they survive as well. Then all",
        "of them, with survival and cost over the cheapest's.",
        "",
        "| table | model | ahead | methods of the field |",
        "|---|---|---|---|",
    ]
    for (dataset, kind), (_, pair) in of.items():
        leading = ahead(pair)
        shown = ", ".join(
            f"{name} {row.survival:.2f} at {ratio(row, pair['cheapest']):.1f}x"
            for name, row in others(pair).items()
        )
        lines.append(f"| {TABLES[dataset]} | {MODELS[kind]} | {', '.join(leading) or 'none'} | {shown} |")
    clear = sum(not ahead(pair) for _, pair in of.values())
    lines += ["", f"Nothing is ahead of `hold` on {clear} of {len(of)} pairs.", "", *outside(cells), *years()]
    return "\n".join(lines) + "\n"


OUTSIDE = {
    "other hyper-parameters": "other hyper-parameters",
    "other kinds": "other kinds",
    "closely, model": "followed closely: the model",
    "closely, bootstraps": "and resamples",
}


def outside(cells: list[dict[str, Any]]) -> list[str]:
    """What models say that guides are not like, and what becomes of recourse that is followed only nearly."""
    asked = [cell for cell in cells if "other kinds" in cell["methods"]["cheapest"]]
    if not asked:
        return []
    lines = [
        "### Outside the recipe",
        "",
        "Guides are resamples of the same training. Here judges are 20 models of other hyper-parameters and 20",
        "of other kinds, on resamples; and people follow each change of a number to within 5% of its length. The",
        "cheapest recourse, then `hold` at 95%, in the cells that were run with these judges.",
        "",
        "| table | model | " + " | ".join(OUTSIDE.values()) + " |",
        "|---|---|" + "---|" * len(OUTSIDE),
    ]
    for cell in sorted(asked, key=lambda c: (DATASETS.index(c["dataset"]), KINDS.index(c["kind"]), c["split"])):
        rows = cell["methods"]
        held = rows.get("hold 0.95, wachter") or rows["hold 0.95, sparse_search"]
        shares = [
            " to ".join(f"{np.nanmean(np.array(row[name], float)):.3f}" for row in (rows["cheapest"], held))
            for name in OUTSIDE
        ]
        of = f"{TABLES[cell['dataset']]} ({cell['split']})"
        lines.append(f"| {of} | {MODELS[cell['kind']]} | " + " | ".join(shares) + " |")
    return [*lines, ""]


def years() -> list[str]:
    """The loans year by year, and releases two years on."""
    lines = [
        "### Small-business loans, year by year",
        "",
        "Models of windows of three years, 60 refused people a year, 30 guides; for every year the smallest slack",
        "whose promises were kept to 95% on what was known by then, asked of the models that came. Networks and",
        "logistic models learn from 5,000 loans of each year.",
        "",
        "| model | term | years | kept, mean | kept, worst year | cost over the cheapest's | cost |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in LOANS:
        path = HERE / "results" / ("sba.json" if kind == "xgboost" else f"sba-{kind}.json")
        past = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"chosen": {}}
        for term, chosen in past["chosen"].items():
            cost = np.mean([choice["cost"] for choice in chosen["choices"]])
            worst = chosen["worst"]
            lines.append(
                f"| {MODELS[kind]} | {term} | {len(chosen['choices'])} | {chosen['mean']:.3f} "
                f"| {worst['kept']:.3f} ({worst['period']}) | {chosen['price']:.2f}x | {cost:.3f} |"
            )
    return [*lines, *price(), *releases()]


def price() -> list[str]:
    """Panels drawn otherwise, and the least that anybody could pay."""
    path = HERE / "results/price.json"
    if not path.exists():
        return []
    some = json.loads(path.read_text(encoding="utf-8"))["replayed"]
    lines = [
        "",
        "### Could a year be had for less?",
        "",
        "XGBoost on the loans, guides drawn in other ways: so many resamples of the window and of single years,",
        "so many of them spared. At the smallest slack that kept 95% of next year's decisions in the mean of the",
        f"years to {EARLY[-1]}; then the years after it. Clairvoyant: the cheapest recourse that the model and",
        "next year's model itself accept, which nobody can know.",
        "",
        "| guides | slack | years | kept, mean | kept, worst year | cost over the cheapest's |",
        "|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row["panel"] for row in some):
        own = [row for row in some if row["panel"] == name]
        early = [row for row in own if row["year"] in EARLY]
        later = [row for row in own if row["year"] not in EARLY]
        slacks = [offer["slack"] for offer in own[0]["offers"] if offer["slack"] is not None]
        enough = [slack for slack in slacks if early and np.mean([_kept(row, slack) for row in early]) >= 0.95]
        slack = enough[0] if enough else slacks[-1]
        kept = {row["year"]: _kept(row, slack) for row in later}
        if not kept:
            continue
        offers = [_offer(row, slack) for row in later]
        over = np.sum([o["cost"] * o["people"] for o in offers]) / np.sum(
            [o["cheapest"] * o["people"] for o in offers]
        )
        worst = min(kept, key=lambda year: kept[year])
        shown = f"{slack:g}" + ("" if enough else " (no smaller one kept 95%)")
        lines.append(
            f"| {name} | {shown} | {len(kept)} | {np.mean(list(kept.values())):.3f} "
            f"| {kept[worst]:.3f} ({worst}) | {over:.2f}x |"
        )
    return lines


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


def draw(cells: list[dict[str, Any]], folder: Path) -> None:
    """Cost against survival, a panel for each pair."""
    of = pairs(cells)
    rows = [dataset for dataset in DATASETS if any(d == dataset for d, _ in of)]
    kinds = [kind for kind in KINDS if any(k == kind for _, k in of)]
    size = (max(3.2 * len(kinds), 7), 2.6 * len(rows))
    figure, axes = plt.subplots(len(rows), len(kinds), figsize=size, squeeze=False)
    for i, dataset in enumerate(rows):
        for j, kind in enumerate(kinds):
            panel = axes[i][j]
            dress(panel, f"{TABLES[dataset]}, {MODELS[kind]}")
            if (dataset, kind) not in of:
                panel.set_axis_off()
                continue
            pair = of[dataset, kind][1]
            for name, row in others(pair).items():
                panel.plot(np.nanmean(row.cost), row.survival, ".", color=GREY)
                panel.annotate(name, (np.nanmean(row.cost), row.survival), fontsize=4.5, color=GREY)
            for base, colour in (("sparse_search", ORANGE), ("wachter", BLUE)):
                line = front(pair, base)
                if line:
                    panel.plot([np.nanmean(r.cost) for r in line], [r.survival for r in line], "o-", ms=3, lw=1.2,
                               color=colour, label=f"hold, {base}")  # fmt: skip
            panel.set_ylim(top=1.02)
            if i == len(rows) - 1:
                panel.set_xlabel("cost")
            if j == 0:
                panel.set_ylabel("survival")
    axes[0][0].legend(fontsize=6, loc="lower right")
    figure.tight_layout()
    save(figure, folder, "hold-front", dpi=100)


def page() -> str:
    """The page with the tables of what is committed."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{markdown(cells())}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    draw(cells(), DOCS / "images")
