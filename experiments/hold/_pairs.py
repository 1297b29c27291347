"""Cells of one table and kind of model put together, and what costs less or survives better among methods."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.hold.grid import DATASETS, KINDS, LEVELS

FOLDER = Path(__file__).parent / "results/grid"
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
    """What is committed, a table, model and split each; what is not finished (`*.part`) is left out."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))]


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


def surest(pair: Pair) -> Row | None:
    """`hold` at 99%; None where a split lacks it."""
    return pair.get("hold 0.99, wachter") or pair.get("hold 0.99, sparse_search")


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
