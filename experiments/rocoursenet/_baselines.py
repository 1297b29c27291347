"""Baselines: methods that search for one person at a time, against a plain base model."""

import time
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from experiments._task import Task
from experiments.rocoursenet._data import Tasks
from experiments.rocoursenet._judge import Answer, judge, wishes
from holdtrue.methods import RBR, ROAR, AbstractMethod, VanillaRandom, Wachter
from holdtrue.models import AbstractModel

PAPER = ("VanillaCF", "ROAR-LIME", "RBR")


def methods(*, quick: bool = False) -> dict[str, AbstractMethod]:
    """The paper's three and its noisy one (Table 8), by the names of its tables.

    All search in hardened points within the schema and for the test rows, without dropout; the public code's ROAR
    does neither, and its settings are overwritten by those of the network.
    """
    if quick:
        return {"VanillaCF": Wachter(n_steps=200)}
    return {
        "VanillaCF": Wachter(),
        "ROAR-LIME": ROAR(surrogate="lime", radius=0.1, cost_weight=0.02, random_state=0),
        "RBR": RBR(random_state=0),
        "VanillaCF-Random": VanillaRandom(radius=0.1, random_state=0),
    }


def fronts(*, quick: bool = False) -> dict[str, AbstractMethod]:
    """The robust two under other settings, for Figure 3: ROAR's weight of the cost, RBR's radii and its slack."""
    weights, radii = (0.002, 0.02, 0.1, 0.3, 1.0), ((0.2, 0.0), (1.0, 0.0), (2.0, 0.5), (3.0, 1.0))
    roar: dict[str, AbstractMethod] = {
        f"ROAR-LIME, cost {w:g}": ROAR(surrogate="lime", radius=0.1, cost_weight=w, random_state=0)
        for w in weights[: 2 if quick else None]
    }
    rbr: dict[str, AbstractMethod] = {
        f"RBR, slack {s:g}, radii {r:g}": RBR(slack=s, refused_radius=r, accepted_radius=r, random_state=0)
        for s, r in radii[: 1 if quick else None]
    }
    return roar | rbr


def front_labels(chosen: Collection[str]) -> dict[str, dict[str, str]]:
    """Settings of `fronts` by what is varied."""
    titles = {"ROAR-LIME": "cost weight, ROAR-LIME", "RBR": "slack and radii, RBR"}
    out: dict[str, dict[str, str]] = {title: {} for title in titles.values()}
    for name in chosen:
        method, label = name.split(", ", 1)
        out[titles[method]][name] = label.removeprefix("cost ")
    return out


def searched(
    tasks: Tasks, models: Sequence[AbstractModel], chosen: dict[str, AbstractMethod], n_people: int | None
) -> dict[str, dict[str, Any]]:
    """Figures of some methods against one seed's base models, for at most so many people of each subset."""
    few = tuple(s.few(n_people) for s in tasks)
    wanted = wishes(few, models)
    out = {}
    for name, method in chosen.items():
        answers, began = [], time.monotonic()
        for subset, model, wish in zip(few, models, wanted, strict=True):
            answers.append(ask(subset, model, method, wish))
        seconds = time.monotonic() - began
        people = sum(len(s.asked.y) for s in few)
        out[name] = judge(few, models, answers) | {"n_people": people, "ms_per_person": 1000 * seconds / people}
    return out


def ask(subset: Task, model: AbstractModel, method: AbstractMethod, wish: np.ndarray) -> Answer:
    """Recourse of a subset's people by one method, to what each wishes for."""
    fitted = method.fit_encoded(subset.predictor(model), *subset.learned)
    plan = fitted.recourse(subset.X, target=wish)
    return Answer(subset.encoder.encode(plan.recourse).astype(np.float32), np.asarray(plan.found), wish)
