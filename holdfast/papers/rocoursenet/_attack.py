"""How much recourse a virtual data shift breaks, by the attacker's steps, radius and norm (Figures 4 and 12)."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np

from holdfast.audit import attack
from holdfast.batch import Predictor
from holdfast.methods import Generated, RecourseFrame
from holdfast.metrics import AttackNorm
from holdfast.models import AbstractModel, Data
from holdfast.papers.rocoursenet._data import Subset, Task
from holdfast.papers.rocoursenet._judge import wishes
from holdfast.papers.rocoursenet._settings import ATTACKER_STEPS, INNER_STEPS, RADIUS
from holdfast.training import Inner, TrainingData

STEPS = (1, 7, 20)
RADII = (0.05, 0.1, 0.2, 0.5)
N_ROWS = 512  # of those learned from, that the attacker shifts
KINDS: tuple[tuple[AttackNorm, Inner, float], ...] = (
    ("linf", "sgd", 0.03),
    ("linf", "adam", 0.01),
    ("l2", "adam", 0.01),
)
"""Norm, and how the shifted model follows: the paper's plain steps, and Adam, which gets somewhere in so few."""


def attacks(task: Task, models: Mapping[str, Sequence[AbstractModel]]) -> dict[str, dict[str, dict[str, float]]]:
    """Share of each method's valid recourses that the shifted model still accepts, mean over subsets."""
    out: dict[str, dict[str, dict[str, float]]] = {}
    plans = {
        name: [
            (_holder(s, task.predictor(model)), _plan(s, task.predictor(model), wish))
            for s, model, wish in zip(task.subsets, own, wishes(task, own), strict=True)
        ]
        for name, own in models.items()
    }
    for norm, inner, step in KINDS:
        for sweep, settings in (
            ("steps T", [(t, RADIUS) for t in STEPS]),
            ("radius E", [(ATTACKER_STEPS, e) for e in RADII]),
        ):
            found = out.setdefault(f"{sweep}, {norm}, {inner}", {})
            for name, pairs in plans.items():
                found[name] = {}
                for steps, eps in settings:
                    shares = [
                        attack(plan, clf, T=steps, eps=eps, K=INNER_STEPS, step_size=step, inner=inner, norm=norm,
                               n_rows=N_ROWS).survival
                        for clf, plan in pairs
                    ]  # fmt: skip
                    found[name][f"{steps if sweep == 'steps T' else eps:g}"] = float(np.nanmean(shares))
    return out


def _plan(subset: Subset, predictor: Predictor, wish: np.ndarray) -> RecourseFrame:
    return Generated().fit_encoded(predictor, None, None).recourse(subset.X, target=wish)


def _holder(subset: Subset, predictor: Predictor) -> SimpleNamespace:
    """What an attack asks of a classifier: its predictor, and the rows it learned from."""
    n = len(subset.learned_y)
    data = Data(jnp.asarray(subset.learned_x), jnp.asarray(subset.learned_y), jnp.ones(n))
    return SimpleNamespace(predictor_=predictor, training_=TrainingData(data, np.ones(n), 0))
