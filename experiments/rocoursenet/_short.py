"""Small tables within the page's text, of the rows that a paragraph is about."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments._report import cell, read, table
from experiments.rocoursenet._beside import told
from experiments.rocoursenet._figures import over
from experiments.rocoursenet._result import Result
from experiments.rocoursenet._tables import printed

RESULTS = Path(__file__).parent / "results"
GUIDED, OURS = "RoCourseNet, guides", "CounterNet, ours"
HEAD = ["robust validity", "validity", "cost (l1)"]
SEARCHES = {
    "generator": "generator with guides",
    "ROAR, radius 0.1": "ROAR, radius 0.1",
    "Wachter, to 0.6": "Wachter, to a probability of 0.6",
    "StableSearch": "`StableSearch`",
    "hold 0.95": "`hold` at 95%",
    "Wachter": "the nearest point",
}
"""Of the searches on our own predictors, those that the text has, in its words."""


def short(results: Sequence[Result]) -> dict[str, str]:
    """Tables by the names of their marks; those of which there are results."""
    by = {r.dataset: r for r in results}
    own = {name: by[name] for name in ("german", "student", "loan") if name in by}
    out = {}
    if "loan" in own:
        out["loan"] = _loan(own["loan"])
    if "german" in own:
        out["german"] = _german(own["german"])
    if len(own) == 3:
        out["honest"] = _honest(own)
        out["merit"] = _merit()
    return out


def _figures(result: Result, name: str) -> list[str]:
    seeds = result.methods[name]
    robust = told([seed.robust for seed in seeds], 3)
    return [robust, *(cell(over(seeds, key)[0], digits) for key, digits in (("validity", 3), ("proximity", 1)))]


def _loan(result: Result) -> str:
    named = {
        GUIDED: "guides",
        OURS: "*CounterNet, ours*: the same predictor and generator without any attacker",
        "RoCourseNet, ours": "*RoCourseNet, ours*: the same with the printed attacker",
        "RoCourseNet": "RoCourseNet as printed",
        "ROAR-LIME": "ROAR-LIME, the best search",
    }
    rows = [[called, *_figures(result, name)] for name, called in named.items() if name in result.methods]
    return table([f"Loan, {len(result.methods[GUIDED])} seeds", *HEAD], rows)


def _german(result: Result) -> str:
    def performance(name: str) -> list[str]:
        return [cell(over(result.performance[name], key)[0], 3) for key in ("accuracy", "auc")]

    theirs = printed()
    of_print = [theirs["table 2"]["RoCourseNet"]["german"][key][0] for key in ("robust", "validity", "proximity")]
    told_of = [theirs[part]["RoCourseNet"]["german"][0] for part in ("table 6", "table 7")]
    print_row = [cell(v, digits) for v, digits in zip(of_print, (3, 3, 1), strict=True)]
    rows = [
        ["guides", *_figures(result, GUIDED), *performance(GUIDED)],
        ["*CounterNet, ours*: the new predictor without guides", *_figures(result, OURS), *performance(OURS)],
        ["base model", "", "", "", *performance("Base model")],
        ["the print", *print_row, *(cell(v, 3) for v in told_of)],
    ]
    return table([f"German Credit, {len(result.methods[GUIDED])} seeds", *HEAD, "accuracy", "AUC"], rows)


def _honest(own: dict[str, Result]) -> str:
    rows = []
    for name, result in own.items():
        found = read(RESULTS, f"nested-{name}").get(f"nested-{name}")
        if found is None:
            continue
        judged = [s["robust"] for s in found["judged"]]
        rows.append([
            f"{result.title}, {len(judged)} seeds", str(len(found["tried"])), f"{found['taken']['robust']:.3f}",
            told(judged, 3), cell(over(result.methods[GUIDED], "robust")[0], 3),
            " · ".join(str(len(part)) for part in (found["judged_on"], result.subsets)),
        ])  # fmt: skip
    head = ["chosen honestly, judged once", "settings tried", "where it was chosen", "robust validity",
            "the page's own setting", "subsets: honest · the page's"]  # fmt: skip
    return table(head, rows)


def _merit() -> str:
    found = read(RESULTS, "equal-*")
    names = [name for name in ("equal-german", "equal-student", "equal-loan") if name in found]

    def at(of: dict[str, Any], name: str) -> str:
        seeds = of["methods"].get(name)
        if not seeds:
            return "not run"
        robust, cost = ([s[key] for s in seeds] for key in ("robust", "proximity"))
        mean = f"{sum(robust) / len(robust):.3f} at {sum(cost) / len(cost):.1f}"
        return mean if len(seeds) > 1 else f"{mean} (one seed)"

    def towards(name: str) -> str:
        seeds = found["equal-loan"]["methods"].get(name, [])
        return cell(sum(s["towards"]["1"] for s in seeds) / len(seeds), 3) if seeds else "not run"

    rows = [
        [called, *(at(found[name], label) for name in names), *([towards(label)] if "equal-loan" in names else [])]
        for label, called in SEARCHES.items()
    ]
    head = ["robust validity at cost, on the same predictors", *(found[name]["title"] for name in names)]
    return table([*head, *(["Loan, towards a yes"] if "equal-loan" in names else [])], rows)
