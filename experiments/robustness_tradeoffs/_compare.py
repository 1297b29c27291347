"""Models of one split beside one another: costs of the same people."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.robustness_tradeoffs._measure import Judged
from experiments.robustness_tradeoffs._settings import FEWEST


def compared(judged: Sequence[Sequence[Judged]], radii: Sequence[float]) -> dict[str, Any]:
    """Per radius: every split's own figures, costs paired with radius 0, and costs of people whom all refuse."""
    out: dict[str, Any] = {}
    for k, radius in enumerate(radii):
        paired, everywhere = [], []
        for of_split in judged:
            both = np.isfinite(of_split[0].cost) & np.isfinite(of_split[k].cost)
            paired.append(_pair(of_split[0].cost, of_split[k].cost, both))
            # A model that accepts everybody would leave nobody to compare.
            asked = [j for j in of_split if j.refused.sum() >= FEWEST]
            by_all = np.all([j.refused for j in asked], axis=0) if asked else np.zeros(len(both), bool)
            everywhere.append(_pair(of_split[0].cost, of_split[k].cost, both & by_all))
        out[f"{radius:g}"] = {
            "splits": [of_split[k].figures for of_split in judged],
            "paired": paired,
            "refused_by_all": everywhere,
        }
    return out


def _pair(plain: np.ndarray, robust: np.ndarray, who: np.ndarray) -> dict[str, Any]:
    if who.sum() < FEWEST:
        return {"n": int(who.sum()), "plain": None, "robust": None}
    return {"n": int(who.sum()), "plain": float(plain[who].mean()), "robust": float(robust[who].mean())}
