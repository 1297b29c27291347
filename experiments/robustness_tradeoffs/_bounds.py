"""Figures 6, 7, 13 and 15: the theorems on the trained models, person by person."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments._task import Task
from experiments.robustness_tradeoffs._measure import accepts
from experiments.robustness_tradeoffs._settings import FEWEST
from holdtrue.metrics.tradeoffs import Bound, Condition, Scores, scfe, scores_of, theorem_1, theorem_2, theorem_4
from holdtrue.models import AbstractModel, LinearModel

COST_WEIGHTS = (0.01, 0.1, 1.0)
AIM = 1.0  # the score that SCFE aims at
N_SHOWN = 100  # people whose sides are kept for the picture


def bounds(
    tasks: Sequence[Task], models: Sequence[Sequence[AbstractModel]], radii: Sequence[float]
) -> dict[str, Any]:
    """Theorems 1 and 4 for linear models, Theorem 2 for others, for everybody whom both models of a split refuse.

    Per radius and cost weight: how often each form applies, is violated, and how tight it is; all splits together.
    """
    out: dict[str, Any] = {}
    linear = isinstance(models[0][0], LinearModel)
    for k, radius in enumerate(radii):
        people, plain, robust = [], [], []
        for i, task in enumerate(tasks):
            x = task.asked.x
            x = x[~accepts(models[0][i], x) & ~accepts(models[k][i], x)]
            if k > 0 and len(x) >= FEWEST:
                people.append(x.astype(np.float64))
                plain.append(scores_of(models[0][i], x))
                robust.append(scores_of(models[k][i], x))
        if people:
            sides = [
                _sides(linear, _joined(plain), _joined(robust), np.concatenate(people), w) for w in COST_WEIGHTS
            ]
            out[f"{radius:g}"] = {name: found for part in sides for name, found in part.items()}
    return out


def _joined(parts: Sequence[Scores]) -> Scores:
    """Scores of several splits' people; each person has their own model's slope."""
    return Scores(np.concatenate([p.value for p in parts]), np.concatenate([p.slope for p in parts]))


def _sides(linear: bool, plain: Scores, robust: Scores, x: np.ndarray, weight: float) -> dict[str, Any]:
    options: dict[str, Any] = {"score": AIM, "cost_weight": weight}
    at = f"cost weight {weight:g}"
    if not linear:
        return {f"Theorem 2, {at}": _summary(theorem_2(plain, robust, **options))}
    ends = [x + scfe(scores, **options) for scores in (plain, robust)]
    return {
        f"Theorem 1, {at}": _summary(theorem_1(plain, robust, x, **options)),
        f"Theorem 4, {at}": _summary(theorem_4(plain, robust, x, *ends)),
    }


def _summary(sides: Bound | Condition) -> dict[str, Any]:
    """Counts, and of a bound some people's sides, in the order of the difference."""
    forms = {f: {k: _plain(v) for k, v in s.items()} for f, s in sides.summary().items()}
    if isinstance(sides, Condition):
        return {"forms": forms}
    n = sides.left.size
    order = np.argsort(sides.difference, kind="stable")[np.linspace(0, n - 1, min(N_SHOWN, n)).astype(int)]
    kept = {"difference": sides.difference[order], **{f: sides.right(f)[order] for f in sides.forms}}
    return {"forms": forms, "people": {k: [_plain(float(f"{v:.4g}")) for v in a] for k, a in kept.items()}}


def _plain(value: float) -> float | None:
    return value if np.isfinite(value) else None  # JSON has neither NaN nor infinity
