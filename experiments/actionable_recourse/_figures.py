"""Figures of the results, over splits; and the printed ones."""

import json
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any, TypeVar

import numpy as np

from experiments.actionable_recourse._result import Counted, Extras, OnSplit, Result
from experiments.actionable_recourse._settings import SETTINGS

F = TypeVar("F")
"""What was measured on one split: of a model, of a recourse, of sentences."""
METRICS = {
    "f1": "F1",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced",
    "auc": "AUC",
    "accepted": "accepted",
}
COMPARED = ("linear 0", "linear 0.4", "linear 0.8", "linear 1.2", "linear 2", "lattice 0.8", "lattice 2")
NAMES = {
    "linear 0": "plain (λ 0)",
    "linear 0.8": "λ 0.8",
    "lattice 0.8": "λ 0.8, lattice in training",
    "chosen linear": "λ chosen",
    "chosen lattice": "λ chosen, lattice in training",
    "tanh 0": "plain, three tanh layers",
    "tanh 0.8": "λ 0.8, three tanh layers",
}


def printed() -> dict[str, Any]:
    """Figures of the paper: table, dataset, model, metric."""
    text = files("experiments.actionable_recourse").joinpath("printed.json").read_text("utf-8")
    return json.loads(text)["figures"]


def members(result: Result, name: str) -> list[OnSplit]:
    """What was measured of one kind of model, a split at a time; "chosen" takes another lambda for every split."""
    kinds = result.kinds or {}
    if name.startswith("chosen"):
        return [kinds[key][i] for i, key in enumerate(result.chosen.get(name.split()[1], []))]
    return kinds.get(name, [])


def mean(found: Sequence[F], get: Callable[[F], float | None]) -> tuple[float | None, float | None]:
    """Mean over splits, and their standard deviation."""
    values = [value for one in found if (value := get(one)) is not None]
    if not values:
        return None, None
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None


def pooled(found: Sequence[F], get: Callable[[F], Counted]) -> tuple[float | None, int]:
    """Share of the refused of all splits who have recourse, and their number."""
    counts = [get(one) for one in found]
    refused = sum(c.refused for c in counts)
    return (sum(c.found for c in counts) / refused if refused else None), refused


def in_print(result: Result, part: str, kind: str, metric: str) -> float | None:
    name = SETTINGS[result.dataset].printed or ""
    return printed().get(part, {}).get(name, {}).get(kind, {}).get(metric)


def digits(pair: tuple[float | None, float | None]) -> tuple[float | None, int, float | None]:
    return pair[0], 3, pair[1]


def extras_of(result: Result, key: str) -> list[Extras]:
    return result.extras.get(key, [])
