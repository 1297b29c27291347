"""RQ5, what this training depends on: tables of ``sensitivity-*.json``, and what stands of the paper's claims."""

import json
import math
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from experiments._report import cell, read, table
from experiments._standing import Item, claimed
from experiments.counterfactual_training._settings import SETTINGS

RESULTS = Path(__file__).parent / "results"
PLANE = ("LS", "Circ", "Moon", "OL")
"""Sets of the paper's grid searches."""
ALIKE = 1.0
"""Points of gain by which two settings may differ and count as equal."""

VARIED = {
    "n_steps": "T", "maturity": "tau", "n_recourses": "n_CE", "burn_in": "burn-in", "search": "engine",
    "search_step_size": "step of the search", "divergence_weight": "lambda_div",
    "adversarial_weight": "lambda_adv", "ridge_weight": "lambda_reg",
}  # fmt: skip
"""What RQ5 varies, in the paper's words."""


def sensitivity(found: list[dict[str, Any]]) -> Iterator[str]:
    """RQ5: one number at a time; the grid of weights; how much each number matters. Images have TRADES instead."""
    tables = [own for own in found if own["paper"]]
    if tables:
        head = ["", *(own["title"] for own in tables)]
        labels = list(dict.fromkeys(label for own in tables for label in own["kinds"] if _singly(label)))
        rows = [[_called(label), *(_gained(own, label) for own in tables)] for label in labels]
        runs = "; ".join(f"{o['title']}: {o['n_seeds']} seeds, {o['n_epochs']} epochs" for o in tables)
        told = (
            "Implausibility below plain training's, in percent: by the paper's protocol, with its 99% interval / "
            "by the honest one; then validity by the honest one, and accuracy. The rest is as the paper has it on "
            f"each set. {runs}."
        )
        told = textwrap.fill(told, 120, break_long_words=False, break_on_hyphens=False)
        yield f"### RQ5: one number at a time\n\n{told}\n\n{table(head, rows)}"
        grids = [
            label for own in tables for label in own["kinds"] if label.startswith("{") and len(_set(label)) > 1
        ]
        rows = [[_called(label), *(_gained(own, label) for own in tables)] for label in dict.fromkeys(grids)]
        if rows:
            yield f"### RQ5: the grid of weights\n\n{table(head, rows)}"
    for own in found:
        if not own["paper"]:
            rows = [
                [label, cell(kind["accuracy"], 3), cell(kind["pgd"], 3), _gained(own, label)]
                for label, kind in own["kinds"].items()
            ]
            title = f"### {own['title']}: TRADES with a radius that grows over a share of the epochs"
            yield f"{title}, {own['n_seeds']} seeds\n\n{table(['', 'accuracy', 'under PGD', 'IP below BL'], rows)}"


def _set(label: str) -> dict[str, Any]:
    return json.loads(label)


def _singly(label: str) -> bool:
    return not label.startswith("{") or len(_set(label)) <= 1


def _called(label: str) -> str:
    if not label.startswith("{"):
        return label
    return ", ".join(f"{VARIED[key]} {value}" for key, value in _set(label).items()) or "CT, as the paper has it"


def _gained(own: dict[str, Any], label: str) -> str:
    kind = own["kinds"].get(label)
    if kind is None:
        return "-"
    paper, honest = (kind[key]["implausibility"] for key in ("paper", "honest"))
    span = "" if paper["gain"] is None else f" [{paper['low']:.0f}, {paper['high']:.0f}]"
    figures = f"{cell(paper['gain'], 0)}{span} / {cell(honest['gain'], 0)}"
    return f"{figures}; {cell(kind['honest']['validity'])}, {cell(kind['accuracy'], 3)}"


def tried(folder: Path = RESULTS) -> list[dict[str, Any]]:
    """What was run, a dataset each, in the paper's order."""
    return sorted(read(folder, "sensitivity-*").values(), key=lambda found: list(SETTINGS).index(found["dataset"]))


def claims(found: list[dict[str, Any]]) -> list[Item]:
    """The paper's findings of RQ5, on its sets in the plane and under its protocol."""
    own = {f["title"]: f for f in found if f["title"] in PLANE}
    if not own:
        return []
    seeds = str(max(f["n_seeds"] for f in own.values()))

    def gained(title: str, key: str, value: Any) -> float:
        f = own[title]
        label = "{}" if f["paper"][key] == value else json.dumps({key: value})
        gain = f["kinds"].get(label, {}).get("paper", {}).get("implausibility", {}).get("gain")
        return float("nan") if gain is None else float(gain)

    def item(
        title: str, key: str, values: tuple[Any, ...], claim: str, met: Callable[[list[float]], bool]
    ) -> Item:
        gains = {t: [gained(t, key, v) for v in values] for t in own}
        gains = {t: part for t, part in gains.items() if not any(math.isnan(g) for g in part)}
        told = {t: " → ".join(f"{g:.0f}" for g in part) for t, part in gains.items()}
        return claimed(f"RQ5, IP gained by {title}", told, claim, seeds, lambda t: met(gains[t]))

    spread = {t: {w: _spread(f, w) for w in WEIGHTS} for t, f in own.items()}
    reg = claimed(
        "RQ5, IP gained: mean spread over lambda_reg, lambda_div, lambda_adv",
        {t: " / ".join(f"{part[w]:.0f}" for w in WEIGHTS) for t, part in spread.items()},
        "lambda_reg matters most", seeds, lambda t: spread[t][WEIGHTS[0]] >= max(spread[t].values()),
    )  # fmt: skip
    return [
        item("ECCCo, Generic, REVISE", "search", ("eccco", "generic", "revise"), "ECCCo the most",
             lambda g: g[0] >= max(g[1:]) - ALIKE),
        item("T = 10, 30, 100", "n_steps", (10, 30, 100), "rises", lambda g: g[-1] > g[0]),
        item("n_CE = 100, 1000, 5000", "n_recourses", (100, 1000, 5000), "rises", lambda g: g[-1] > g[0]),
        item("tau = 0.5, 0.95", "maturity", (0.5, 0.95), "0.5 the better", lambda g: g[0] >= g[1] - ALIKE),
        item("burn-in of 0.5", "burn_in", (0.5,), "still gains", lambda g: g[0] > 0),
        reg,
    ]  # fmt: skip


WEIGHTS = ("ridge_weight", "divergence_weight", "adversarial_weight")


def _spread(found: dict[str, Any], weight: str) -> float:
    """Mean over the other two weights of how far apart gains lie when one is varied."""
    groups: dict[str, list[float]] = {}
    for label, kind in found["kinds"].items():
        if not label.startswith("{") or len(_set(label)) != len(WEIGHTS):
            continue
        gain = kind["paper"]["implausibility"]["gain"]
        others = json.dumps({k: v for k, v in _set(label).items() if k != weight})
        if gain is not None:
            groups.setdefault(others, []).append(gain)
    ranges = [max(g) - min(g) for g in groups.values() if len(g) > 1]
    return sum(ranges) / len(ranges) if ranges else float("nan")
