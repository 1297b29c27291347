"""Write docs/explanation/what-holding-costs.md's tables and its pictures from committed results.

``python -m experiments.hold.page`` reads ``results/grid/*.json`` and what there is of ``reach-*.json``,
``sba*.json``, ``price.json`` and ``bail.json``; nothing is measured.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from experiments._drawing import BLUE, GREY, ORANGE, dress, plt, save
from experiments.hold._page_years import MODELS, draw_years, years
from experiments.hold._pairs import (
    Pair,
    Row,
    ahead,
    cells,
    costs_at,
    front,
    holding,
    others,
    pairs,
    ratio,
    surer,
    surest,
    whole,
)
from experiments.hold.grid import DATASETS, KINDS
from holdtrue.methods._sparse_search import PANEL_BOXES

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
PAGE = DOCS / "explanation" / "what-holding-costs.md"
BEGIN, END = "<!-- tables: made by python -m experiments.hold.page -->", "<!-- end of tables -->"
TABLES = {"german_credit": "German Credit", "loanapp": "mortgages", "heloc": "HELOC", "adult": "Adult"}


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
        "split no margin was shown to reach the level, which everybody is told (`reached`). Empty: not measured",
        "in every split.",
        "",
        "| table | model | splits | cheapest | hold 95% | cost | hold 99% | cost | by all 50 "
        "| stated less observed | ms a person |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (dataset, kind), (n, pair) in of.items():
        cheap, usual, sure = pair["cheapest"], holding(pair, "0.95"), surest(pair)
        assert usual.stated is not None
        most = f"{_surviving(sure)} | {ratio(sure, cheap):.2f}x | {sure.by_all:.0%}" if sure else " | | "
        apart = float(np.nanmean(usual.stated) - usual.survival)
        lines.append(
            f"| {TABLES[dataset]} | {MODELS[kind]} | {n} | {_surviving(cheap)} at {np.nanmean(cheap.cost):.2f} "
            f"| {_surviving(usual)} | {ratio(usual, cheap):.2f}x | {most} | {apart:+.3f} "
            f"| {1000 * usual.seconds:.0f} |"
        )
    lines += [
        "",
        "### Beside the field's methods",
        "",
        "Cheaper: methods that cost less than `hold`'s front (the line of the picture, from the cheapest recourse",
        "on) where they survive as well. Surer: those that survive better than `hold` at every level, at whatever",
        "cost. Then all of them, with survival, its 95% interval and cost over the cheapest's.",
        "",
        "| table | model | cheaper | surer | methods of the field |",
        "|---|---|---|---|---|",
    ]
    for (dataset, kind), (_, pair) in of.items():
        leading, sure = ahead(pair), surer(pair)
        shown = ", ".join(
            f"{name} {row.survival:.2f} ± {row.interval:.2f} at {ratio(row, pair['cheapest']):.1f}x"
            for name, row in others(pair).items()
        )
        lines.append(
            f"| {TABLES[dataset]} | {MODELS[kind]} | {', '.join(leading) or 'none'} | {', '.join(sure) or 'none'} "
            f"| {shown} |"
        )
    alone = {of_: pair for of_, (_, pair) in of.items()}
    lines += ["", *seeds(alone), *times(alone), *goals(alone), "", *outside(cells), *reached(), *years()]
    return "\n".join(lines) + "\n"


def seeds(of: dict[tuple[str, str], Pair]) -> list[str]:
    """Survival where only the seed differs, a lower level, and for how many people there is an answer."""
    lines = [
        "### Other seeds, a lower level, and who is found",
        "",
        "Seeds: share of 50 unseen models that differ by their seed alone and accept; logistic models hardly",
        "depend on it. Found: people with an answer of those asked about; those `hold` could not bring to the",
        "margin have the best that was found.",
        "",
        "| table | model | seeds: cheapest | hold 95% | hold 99% | hold 80%, resamples | cost | found: cheapest "
        "| hold 95% | hold 99% |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (dataset, kind), pair in of.items():
        cheap = pair["cheapest"]
        low, usual, sure = holding(pair, "0.8"), holding(pair, "0.95"), surest(pair)
        told = (cheap, usual, sure)
        again = " | ".join(f"{np.nanmean(row.seeds):.3f}" if row else "" for row in told)
        found = " | ".join(f"{row.found.sum():.0f} of {row.found.size}" if row else "" for row in told)
        lines.append(
            f"| {TABLES[dataset]} | {MODELS[kind]} | {again} | {_surviving(low)} | {ratio(low, cheap):.2f}x "
            f"| {found} |"
        )
    return [*lines, ""]


def times(of: dict[tuple[str, str], Pair]) -> list[str]:
    """Milliseconds a person, method by method."""
    groups = {
        "StableSearch": ("stable_search",), "SNS": ("sns",), "ElliCE": ("ellice",), "ROAR": ("roar",),
        "RBR": ("rbr",), "RobX": ("robx",), "T-Rex": ("trex",), "BetaRCE": ("beta_rce",), "PROBE": ("probe",),
    }  # fmt: skip
    lines = [
        "### Time a person",
        "",
        "Milliseconds of a call for forty people, without what is fitted once (guides, margins); of a method with",
        "two settings the slower.",
        "",
        "| table | model | cheapest | hold 95% | " + " | ".join(groups) + " |",
        "|---|---|---|---|" + "---|" * len(groups),
    ]
    for (dataset, kind), pair in of.items():

        def slowest(names: tuple[str, ...], pair: Pair = pair) -> str:
            some = [row.seconds for name, row in pair.items() if name.split()[0] in names]
            return f"{1000 * max(some):.0f}" if some else ""

        own = f"{1000 * pair['cheapest'].seconds:.0f} | {1000 * holding(pair, '0.95').seconds:.0f}"
        rest = " | ".join(slowest(names) for names in groups.values())
        lines.append(f"| {TABLES[dataset]} | {MODELS[kind]} | {own} | {rest} |")
    return [*lines, ""]


def goals(of: dict[tuple[str, str], Pair]) -> list[str]:
    """What was to be reached on these pairs, and on how many it is."""
    full = {key: pair for key, pair in of.items() if whole(key, pair)}
    sure = {key: row for key, pair in of.items() if (row := surest(pair))}
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
        (
            "`hold` at 99% costs at most .7 times RBR's, in its dearer setting",
            [beside_rbr(k) <= 0.7 for k in sure],
        ),
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
    """What more boxes bring: a cheaper recourse, and proofs that there is none."""
    kept = [json.loads(path.read_text("utf-8")) for path in sorted((HERE / "results").glob("reach-*.json"))]
    if not kept:
        return []
    boxes = sorted({row["boxes"] for one in kept for row in one["panel"]})
    lines = [
        "### More boxes, and who is out of reach",
        "",
        "People whom the model alone can be brought to accept, asked of the panel of the model and 20 guides, by",
        f"slack, guides spared and boxes looked at for a person: {PANEL_BOXES:,} is what the search has. Cost",
        "of those who are found with the fewest boxes, and the share of 20 models that took no part which accept",
        "what they got. Out of reach is proved; undecided is who was not found before the boxes were spent.",
        "",
        "| table | model | slack | spared | " + " | ".join(f"cost, {n:,}" for n in boxes)
        + f" | survival, {PANEL_BOXES:,} to {boxes[-1]:,} | found | out of reach | undecided |",
        "|" + "---|" * (8 + len(boxes)),
    ]  # fmt: skip
    for one in kept:
        of = f"{TABLES[one['dataset']]} ({one['split']}) | {MODELS[one['kind']]}"
        for slack, spared in sorted({(row["slack"], row["spared"]) for row in one["panel"]}):
            by = {row["boxes"]: row for row in one["panel"] if (row["slack"], row["spared"]) == (slack, spared)}
            ends = by[PANEL_BOXES], by[boxes[-1]]
            told = [f"{by[n]['cost']:.3f}" if "cost" in by[n] else "" for n in boxes]
            told.append(" to ".join(f"{row['survival']:.3f}" for row in ends if "survival" in row))
            told += [f"{ends[0][key]} to {ends[1][key]}" for key in ("found", "out of reach", "undecided")]
            lines.append(f"| {of} | {slack:g} | {spared} | " + " | ".join(told) + " |")
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
    draw_years(DOCS / "images")
