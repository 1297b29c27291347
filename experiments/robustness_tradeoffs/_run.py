"""One dataset: the sweep over radii and splits, and everything that is measured of it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments._report import Clock
from experiments._task import Task
from experiments.robustness_tradeoffs._bounds import bounds
from experiments.robustness_tradeoffs._compare import compared
from experiments.robustness_tradeoffs._measure import Judged, accepts, judge
from experiments.robustness_tradeoffs._nearby import nearby
from experiments.robustness_tradeoffs._result import Result
from experiments.robustness_tradeoffs._settings import (
    FEWEST,
    KINDS,
    RADII,
    SETTINGS,
    SIZE_RADII,
    SIZES,
    THREAT_RADII,
    THREATS,
    WAYS,
    Kind,
    methods,
)
from experiments.robustness_tradeoffs._sweep import Encoded, sweep
from experiments.robustness_tradeoffs._wide import kernel_models
from holdtrue.errors import DataError
from holdtrue.methods import AbstractMethod
from holdtrue.metrics import AttackNorm, collapse_radius
from holdtrue.models import MLP, AbstractModel
from holdtrue.training import movable_columns

PARTS = {
    "sweep": (1, 2, 3, 4, 9, 10, 11, 12, 16),
    "sizes": (5, 14),
    "bounds": (6, 7, 13, 15),
    "nearby": (8,),
    "threats": (),
    "kernel": (1, 2),
}
"""Figures of the paper by what has to be run for them; each may also be asked for by its name here."""
NORMS: tuple[AttackNorm, ...] = ("linf", "l2")
QUICK_RADII = (0.0, 0.05, 0.2)
QUICK = {"LR": replace(KINDS["LR"], n_updates=400), "MLP": replace(KINDS["MLP"], n_updates=400)}


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    radii: Sequence[float]
    kinds: Mapping[str, Kind]
    n_people: int
    methods: Collection[str]


def run(
    name: str,
    *,
    n_splits: int = 10,
    n_people: int = 400,
    quick: bool = False,
    parts: Collection[str] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Result:
    """Run one dataset and return its figures.

    Parameters
    ----------
    name : str
        One of `SETTINGS`.
    n_splits : int, default=10
        Splits into training and test rows.
    n_people : int, default=400
        The first so many test rows are asked about; 1,000 are judged.
    quick : bool, default=False
        Two splits, three radii, sixty people, few updates, SCFE alone.
    parts : collection of str, optional
        Figures of the paper; all, and what the paper does not have, when left out.
    say : callable, optional
        Told what is being done.
    """
    if name not in SETTINGS:
        raise DataError(f"papers: unknown dataset; got {name!r}. Known are {list(SETTINGS)!r}.")
    sizes = Sizes(RADII, KINDS, n_people, ("SCFE", "GSM", "C-CHVAE", "ROAR"))
    if quick:
        n_splits, sizes = 2, Sizes(QUICK_RADII, QUICK, 60, ())
    wanted = {
        part
        for part, numbers in PARTS.items()
        if not parts or {part, *(f"figure {n}" for n in numbers)} & set(parts)
    }
    if quick:
        wanted -= {"threats", "sizes", "kernel"}
    clock = Clock(say)
    clock("data")
    data = Encoded.load(name)
    tasks = [data.task(seed, sizes.n_people) for seed in range(n_splits)]
    result: dict[str, Any] = {
        "dataset": name,
        "title": SETTINGS[name].title,
        "radii": list(sizes.radii),
        "n_splits": n_splits,
        "n_train": len(tasks[0].learned.y),
        "n_columns": data.encoder.n_columns,
        "n_fixed_columns": int(tasks[0].fixed_columns.sum()),
        "collapse": {norm: [collapse_radius(*t.learned, norm=norm) for t in tasks] for norm in NORMS},
        "models": {},
    }
    trained = {}
    for kind, recipe in sizes.kinds.items() if wanted - {"threats", "sizes"} else ():
        clock(f"training {len(tasks) * len(sizes.radii)} models, {kind}")
        trained[kind] = sweep(tasks, recipe, sizes.radii)
    if "sweep" in wanted:
        for kind, models in trained.items():
            clock(f"recourse, {kind}")
            result["models"][kind] = _swept(tasks, models, sizes, say)
    if "bounds" in wanted:
        clock("bounds")
        result["bounds"] = {k: bounds(tasks, m, sizes.radii) for k, m in trained.items()}
    if "threats" in wanted:
        result["threats"] = _threats(tasks, sizes, clock)
    if "sizes" in wanted and name == "adult":
        result["sizes"] = _sizes(tasks, sizes, clock)
    if "nearby" in wanted:
        clock("neighbourhoods")
        result["nearby"] = nearby(data.left(0), [row[0] for row in trained["MLP"]]) or None
    if "kernel" in wanted:
        clock("kernel models")
        result["kernel"] = kernel_models(tasks, trained["MLP"], sizes.radii)
    clock.stop()
    return Result.from_dict(result | {"seconds": clock.seconds})


def _swept(
    tasks: Sequence[Task], models: Sequence[Sequence[AbstractModel]], sizes: Sizes, say: Callable[[str], None]
) -> dict[str, Any]:
    """Figures of every radius, split by split, and what compares the models of one split with one another."""
    judged: list[list[Judged]] = []
    for i, task in enumerate(tasks):
        say(f"  split {i + 1} of {len(tasks)}")
        fitted = _fitted(task, models[0][i], sizes.methods)
        judged.append(
            [judge(task, row[i], radius, methods=fitted) for radius, row in zip(sizes.radii, models, strict=True)]
        )
    out = compared(judged, sizes.radii)
    for k, radius in enumerate(sizes.radii):
        for name, way in WAYS.items():
            out[f"{radius:g}"][name] = [
                others(models[k], carried(task, judged[i][k].points, way), i) for i, task in enumerate(tasks)
            ]
    return out


def _fitted(task: Task, model: AbstractModel, names: Collection[str]) -> dict[str, AbstractMethod] | None:
    """The methods, fitted once for a split: what they learn from rows does not depend on the model."""
    if not names:
        return None
    predictor = task.predictor(model)
    chosen = {name: method for name, method in methods(len(task.learned.y)).items() if name in names}
    return {name: method.fit_encoded(predictor, *task.learned) for name, method in chosen.items()}


def carried(task: Task, points: np.ndarray, way: float) -> np.ndarray:
    """SCFE's points, had people gone on along their way, to so many times its length."""
    people = task.asked.x
    return np.clip(people + way * (points - people), 0.0, 1.0)


def others(models: Sequence[AbstractModel], points: np.ndarray, own: int) -> float | None:
    """Share of the other splits' models of the same radius that accept what SCFE found (Figure 16)."""
    found = np.isfinite(points).all(axis=1)
    if found.sum() < FEWEST or len(models) < 2:
        return None
    return float(np.mean([accepts(m, points[found]).mean() for i, m in enumerate(models) if i != own]))


def _threats(tasks: Sequence[Task], sizes: Sizes, clock: Clock) -> dict[str, Any]:
    out = {}
    for name, (kind, options) in THREATS.items():
        clock(f"other threat: {name}")
        models = sweep(tasks, sizes.kinds[kind], THREAT_RADII, **options)
        movable = movable_columns(tasks[0].encoder.layout, options.get("columns", "all"))
        own = replace(sizes, radii=THREAT_RADII)
        out[name] = _light(tasks, models, own, norm=options.get("norm", "linf"), movable=movable)
    return out


def _sizes(tasks: Sequence[Task], sizes: Sizes, clock: Clock) -> dict[str, Any]:
    out = {}
    own = replace(sizes, radii=SIZE_RADII)
    for name, widths in SIZES.items():
        clock(f"size: {name}")
        models = sweep(tasks, replace(sizes.kinds["MLP"], model=MLP(widths=widths)), SIZE_RADII)
        out[name] = _light(tasks, models, own)
    return out


def _light(
    tasks: Sequence[Task], models: Sequence[Sequence[AbstractModel]], sizes: Sizes, **options: Any
) -> dict[str, Any]:
    """Figures without searches of limited budget."""
    judged = [
        [
            judge(task, row[i], radius, whole=False, **options)
            for radius, row in zip(sizes.radii, models, strict=True)
        ]
        for i, task in enumerate(tasks)
    ]
    return compared(judged, sizes.radii)
