"""How much recourse a virtual data shift breaks, by the attacker's steps, radius and norm (Figures 4 and 12)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from experiments._task import Task
from experiments.rocoursenet._data import Tasks
from experiments.rocoursenet._judge import wishes
from experiments.rocoursenet._settings import ATTACKER_STEPS, INNER_STEPS, RADIUS
from holdtrue.batch import Predictor
from holdtrue.methods import Generated, RecourseFrame
from holdtrue.metrics import AttackNorm
from holdtrue.models import AbstractModel
from holdtrue.reports import attack
from holdtrue.retraining import TrainingData
from holdtrue.training import Inner

STEPS = (1, 3, 7, 14, 20)
RADII = (0.02, 0.05, 0.1, 0.2, 0.5)
N_ROWS = 512  # of those learned from, that the attacker shifts
KINDS: tuple[tuple[AttackNorm, Inner, float], ...] = (
    ("linf", "sgd", 0.03),
    ("linf", "adam", 0.01),
    ("l2", "adam", 0.01),
)
"""Norm, and how the shifted model follows: the paper's plain steps, and Adam, which gets somewhere in so few."""
Pairs = list[tuple["_Holder", RecourseFrame]]
Figures = dict[str, dict[str, dict[str, dict[str, list[float]]]]]
"""By sweep, method and value of the attacker's number, for every seed: the share that survives, and the share of
the rows that the shifted model still decides rightly."""


@dataclass(frozen=True)
class _Holder:
    """As much of a classifier as an attack asks for."""

    predictor_: Predictor
    training_: TrainingData


def attacks(tasks: Tasks, models: Mapping[str, Sequence[Sequence[AbstractModel]]], only: AttackNorm) -> Figures:
    """Share of each method's valid recourses that the shifted model still accepts, mean over subsets.

    `models` has a list per seed; of the kinds of attack, those in the norm `only` are run.
    """
    plans = {name: [_pairs(tasks, own) for own in by_seed] for name, by_seed in models.items()}
    out: Figures = {}
    sweeps = {
        "steps T": {f"{t}": (t, RADIUS) for t in STEPS},
        "radius E": {f"{e:g}": (ATTACKER_STEPS, e) for e in RADII},
    }
    for norm, inner, step in KINDS:
        if norm != only:
            continue
        for name, by_seed in plans.items():
            chosen = {at for settings in sweeps.values() for at in settings.values()}
            told = {at: _told([_under(p, *at, norm, inner, step) for p in by_seed]) for at in sorted(chosen)}
            for sweep, settings in sweeps.items():
                found = {label: told[at] for label, at in settings.items()}
                out.setdefault(f"{sweep}, {norm}, {inner}", {})[name] = found
    return out


def _under(
    pairs: Pairs, steps: int, eps: float, norm: AttackNorm, inner: Inner, step: float
) -> tuple[float, float]:
    """What survives one attack, and how good the shifted models are: means over subsets."""
    found = [
        attack(plan, clf, T=steps, eps=eps, K=INNER_STEPS, step_size=step, inner=inner, norm=norm, n_rows=N_ROWS)
        for clf, plan in pairs
    ]
    return float(np.nanmean([a.survival for a in found])), float(np.mean([a.accuracy_after for a in found]))


def _told(by_seed: Sequence[tuple[float, float]]) -> dict[str, list[float]]:
    survival, accuracy = zip(*by_seed, strict=True)
    return {"survival": list(survival), "accuracy": list(accuracy)}


def _pairs(tasks: Tasks, models: Sequence[AbstractModel]) -> Pairs:
    """Every subset's model and its plan for the people of the subset."""
    return [
        (_holder(s, s.predictor(model)), _plan(s, s.predictor(model), wish))
        for s, model, wish in zip(tasks, models, wishes(tasks, models), strict=True)
    ]


def _plan(subset: Task, predictor: Predictor, wish: np.ndarray) -> RecourseFrame:
    return Generated().fit_encoded(predictor, None, None).recourse(subset.X, target=wish)


def _holder(subset: Task, predictor: Predictor) -> _Holder:
    """What an attack asks of a classifier: its predictor, and the rows it learned from."""
    n, data = len(subset.learned.y), subset.data
    return _Holder(predictor, TrainingData(data, np.ones(n), 0))
