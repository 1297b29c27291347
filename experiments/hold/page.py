"""Write docs/explanation/what-holding-costs.md's tables and its picture from committed results.

``python -m experiments.hold.page`` reads ``results/grid/*.json``, cells there that were cut (``*.part``) once all
levels of `hold` are in them, and what there is of ``reach-*.json``, ``sba*.json``, ``price.json`` and
``bail.json``; nothing is measured.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments._drawing import BLUE, GREY, ORANGE, dress, plt, save
from experiments.hold._page_years import MODELS, years
from experiments.hold.grid import DATASETS, KINDS, LEVEL, LEVELS

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
PAGE = DOCS / "explanation" / "what-holding-costs.md"
BEGIN, END = "<!-- tables: made by python -m experiments.hold.page -->", "<!-- end of tables -->"
TABLES = {"german_credit": "German Credit", "loanapp": "mortgages", "heloc": "HELOC", "adult": "Adult"}
FIELD, FIELD_OF_NETS = 11, 15  # methods of the field with their settings, on trees and on networks
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
    by_model: tuple[np.ndarray, ...] = ()
    reached: bool = True

    @property
    def survival(self) -> float:
        """Share of unseen models of resamples that accept, over people and models."""
        return float(np.nanmean(self.again))

    @property
    def interval(self) -> float:
        """Half of the survival's 95% interval, over people and, split by split, over models."""
        values = self.again[np.isfinite(self.again)]
        if len(values) < 2:
            return float("nan")
        models = (
            sum(shares.var(ddof=1) / len(shares) for shares in self.by_model) / max(len(self.by_model), 1) ** 2
        )
        return float(1.96 * np.sqrt(values.var(ddof=1) / len(values) + models))

    @property
    def by_all(self) -> float:
        """Share of people whom all unseen models of resamples accept."""
        return float((self.again[np.isfinite(self.again)] >= 1).mean())


Pair = dict[str, Row]


def cells() -> list[dict[str, Any]]:
    """What is committed, a table, model and split each; of cells that were cut those with all levels of `hold`."""
    folder = HERE / "results/grid"
    whole = sorted(folder.glob("*.json"))
    cut = [path for path in sorted(folder.glob("*.part")) if path.with_suffix(".json") not in whole]
    some = [json.loads(path.read_text(encoding="utf-8")) for path in (*whole, *cut)]
    return [cell for cell in some if f"hold {LEVEL}, sparse_search" in cell["methods"] or _is_net(cell)]


def _is_net(cell: dict[str, Any]) -> bool:
    return cell["kind"] in ("logistic", "mlp")


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
    by_model = tuple(np.array(part["bootstraps, by model"]) for part in parts if "bootstraps, by model" in part)
    reached = all(part["level"]["reached"] for part in parts if "level" in part)
    return Row(all_of("found") > 0, all_of("cost"), again, seeds, stated, seconds, by_model, reached)


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


def costs_at(pair: Pair, survival: float) -> float | None:
    """What `hold` costs, over the cheapest, at a survival, on the cheaper of its fronts; None: beyond them."""
    costs = []
    for base in ("sparse_search", "wachter"):
        at = sorted((own.survival, ratio(own, pair["cheapest"])) for own in front(pair, base))
        if at and at[-1][0] >= survival - EQUAL:
            costs.append(float(np.interp(survival, [s for s, _ in at], [c for _, c in at])))
    return min(costs, default=None)


def ahead(pair: Pair) -> list[str]:
    """Methods that cost less than `hold`'s front where they survive as well."""
    out = []
    for name, row in others(pair).items():
        equal = costs_at(pair, row.survival)
        if row.found.mean() >= 0.5 and equal is not None and ratio(row, pair["cheapest"]) < equal * (1 - LESS):
            out.append(name)
    return out


def surer(pair: Pair) -> list[str]:
    """Methods that survive better than `hold` at every level."""
    return [
        name for name, row in others(pair).items()
        if row.found.mean() >= 0.5 and costs_at(pair, row.survival) is None
    ]  # fmt: skip


def whole(key: tuple[str, str], pair: Pair) -> bool:
    """Whether all of the field's methods were run, at all settings."""
    return len(others(pair)) >= (FIELD_OF_NETS if key[1] in ("logistic", "mlp") else FIELD)


def _surviving(row: Row) -> str:
    return f"{row.survival:.3f} ± {row.interval:.3f}" + ("" if row.reached else " *")


def markdown(cells: list[dict[str, Any]]) -> str:
    """The page's tables."""
    of = pairs(cells)
    lines = [
        "### Cost against survival",
        "",
        "Survival: share of 50 unseen models, trained on resamples, that accept, with a 95% interval over people",
        "and models.",
        "Cost: in ranges of the columns, a changed category counting 2, on people whom both methods of a ratio",
        "found.",
        "Stated: the mean that `hold` told people, less what was observed on models of resamples. A star: in a",
        "split no margin was shown to reach the level, which everybody is told (`reached`).",
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
        "Cheaper: methods that cost less than `hold`'s front (the line of the picture, from the cheapest recourse",
        "on) where they survive as well. Surer: those that survive better than `hold` at every level, at whatever",
        "cost. Then all of them, with survival and cost over the cheapest's.",
        "",
        "| table | model | cheaper | surer | methods of the field |",
        "|---|---|---|---|---|",
    ]
    for (dataset, kind), (_, pair) in of.items():
        leading, sure = ahead(pair), surer(pair)
        shown = ", ".join(
            f"{name} {row.survival:.2f} at {ratio(row, pair['cheapest']):.1f}x"
            for name, row in others(pair).items()
        )
        lines.append(
            f"| {TABLES[dataset]} | {MODELS[kind]} | {', '.join(leading) or 'none'} | {', '.join(sure) or 'none'} "
            f"| {shown} |"
        )
    lines += ["", *goals({of_: pair for of_, (_, pair) in of.items()}), "", *outside(cells), *reached(), *years()]
    return "\n".join(lines) + "\n"


def goals(of: dict[tuple[str, str], Pair]) -> list[str]:
    """What was to be reached on these pairs, and on how many it is."""
    full = {key: pair for key, pair in of.items() if whole(key, pair)}
    sure = {key: holding(pair, "0.99") for key, pair in of.items()}
    usual = {key: holding(pair, "0.95") for key, pair in of.items()}
    stable = {key: pair for key, pair in of.items() if "stable_search" in pair}

    def told(key: tuple[str, str]) -> float:
        stated = usual[key].stated
        assert stated is not None
        return abs(float(np.nanmean(stated)) - usual[key].survival)

    def beside_rbr(key: tuple[str, str]) -> float:
        return min(ratio(sure[key], row) for name, row in of[key].items() if name.startswith("rbr"))

    def beside_stable(pair: Pair) -> float:
        row = pair["stable_search"]
        equal = costs_at(pair, row.survival)
        return float("inf") if equal is None else equal / ratio(row, pair["cheapest"])

    counted = [
        ("`hold` at 99%: 99% of unseen models accept", [row.survival >= 0.99 for row in sure.values()]),
        ("`hold` at 99%: 90% of people are accepted by all 50", [row.by_all >= 0.9 for row in sure.values()]),
        ("`hold` at 99% costs at most .7 times RBR's, in its dearer setting", [beside_rbr(k) <= 0.7 for k in of]),
        ("no method is cheaper at equal survival", [not ahead(pair) for pair in full.values()]),
        ("... nor surer than `hold` at every level", [not ahead(p) and not surer(p) for p in full.values()]),
        ("stated and observed survival within .02 at 95%", [told(key) <= 0.02 for key in of]),
    ]
    lines = [
        "### What was to be reached",
        "",
        "Against the field's methods only pairs count on which all of them were run.",
        "",
        "| on a pair of table and model | pairs |",
        "|---|---|",
        *(f"| {what} | {sum(each)} of {len(each)} |" for what, each in counted),
    ]
    shown = [f"{TABLES[d]} {beside_stable(pair):.2f}" for (d, k), pair in stable.items() if k == "mlp"]
    return [*lines, "", f"Cost at `StableSearch`'s survival over its own, networks: {', '.join(shown)}."]


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


def reached() -> list[str]:
    """Who cannot be brought to where the panel agrees, and who is only not found with so many boxes."""
    kept = [json.loads(path.read_text("utf-8")) for path in sorted((HERE / "results").glob("reach-*.json"))]
    if not kept:
        return []
    lines = [
        "### Out of reach, or not found",
        "",
        "People whom the model alone can be brought to accept, asked of the panel of the model and 20 guides, by",
        "slack, guides spared and boxes looked at for a person (300 is what the search has). Out of reach is",
        "proved.",
        "",
        "| table | model | slack | spared | boxes | found | out of reach | undecided |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in kept:
        of = f"{TABLES[one['dataset']]} ({one['split']}) | {MODELS[one['kind']]}"
        for row in sorted(one["panel"], key=lambda r: (r["slack"], r["spared"], r["boxes"])):
            lines.append(
                f"| {of} | {row['slack']:g} | {row['spared']} | {row['boxes']:,} | {row['found']} "
                f"| {row['out of reach']} | {row['undecided']} |"
            )
    return [*lines, ""]


def draw(cells: list[dict[str, Any]], folder: Path) -> None:
    """Cost against survival, a panel for each pair."""
    of = pairs(cells)
    rows = [dataset for dataset in DATASETS if any(d == dataset for d, _ in of)]
    kinds = [kind for kind in KINDS if any(k == kind for _, k in of)]
    size = (max(3.2 * len(kinds), 7), 2.6 * len(rows))
    figure, axes = plt.subplots(len(rows), len(kinds), figsize=size, squeeze=False)
    told: set[str] = set()
    for i, dataset in enumerate(rows):
        for j, kind in enumerate(kinds):
            panel = axes[i][j]
            dress(panel, f"{TABLES[dataset]}, {MODELS[kind]}")
            if (dataset, kind) not in of:
                panel.set_axis_off()
                panel.text(0.5, 0.5, "not run", ha="center", color=GREY)
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
                    if i == 0 and base not in told:
                        panel.legend(fontsize=6, loc="lower right")
                        told.add(base)
            panel.set_ylim(top=1.02)
            if i == len(rows) - 1:
                panel.set_xlabel("cost")
            if j == 0:
                panel.set_ylabel("survival")
    figure.tight_layout()
    save(figure, folder, "hold-front", dpi=70)


def page() -> str:
    """The page with the tables of what is committed."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{markdown(cells())}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    draw(cells(), DOCS / "images")
