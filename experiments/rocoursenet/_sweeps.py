"""Trainings that differ in one number: the cost's weight, the attacker's strength, how many rows there are."""

from collections.abc import Callable, Collection, Iterator, Set
from dataclasses import dataclass
from typing import Any

from experiments.rocoursenet._data import Tasks
from experiments.rocoursenet._generators import Recipe
from experiments.rocoursenet._recipes import (
    GUIDED,
    Sizes,
    counts,
    guided,
    headed,
    network,
    printed_losses,
    printed_network,
    shift,
)
from experiments.rocoursenet._settings import ATTACKER_STEPS, RADIUS
from holdtrue.training import CounterNetTraining, RoCourseNet

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Of the cost's weight along a front."""
FEW_FACTORS = (0.5, 1.0, 4.0)
"""The same of guides, which take longest, and where there is a front for every share of the rows."""
SHARES = (0.1, 0.3)
"""Of the rows to learn from, for Figure 5, beside all."""
STEPS = {"linf": (1, 3, ATTACKER_STEPS, 14), "l2": (1, ATTACKER_STEPS, 14)}
RADII = {"linf": (0.02, RADIUS, 0.3, 0.5), "l2": (RADIUS, 0.5)}
"""The attacker's T and E in training, by norm."""
SCHEDULED = (0.1, 0.3)
"""Radii for which schedules are compared."""

Weighted = Callable[[float], tuple[float, Recipe]]
"""Of a factor: the weight of the cost, and the recipe with it."""


@dataclass(frozen=True)
class Sweep:
    """Recipes that one compiled program serves, each with the label that its number has.

    Sweeps of one title belong together: the number differs in what a program is compiled for.
    """

    title: str
    tasks: Tasks
    group: dict[str, tuple[str, Recipe]]


def sweeps(tasks: Tasks, few: Tasks, sizes: Sizes, wanted: Set[str]) -> Iterator[Sweep]:
    """Every sweep of the parts that are wanted: fronts on all subsets, the rest on `few` of them."""
    for method, recipe in _methods(tasks, sizes).items():
        if {"fronts, guides"} & wanted if method == GUIDED else {"fronts", "fronts, generators"} & wanted:
            factors = FEW_FACTORS if method == GUIDED else FACTORS
            yield _front(tasks, f"cost weight, {method}", method, recipe, factors)
    if "sweeps" in wanted:
        yield from _attackers(few, sizes, "linf", "")
    if "sweeps, l2" in wanted:
        yield from _attackers(few, sizes, "l2", ", l2")
    if "schedule" in wanted:
        # The linear one is that of the sweep over the radius, by its name.
        for schedule, suffix in (("linear", ""), ("static", ", static")):
            yield Sweep("schedule", few, {
                f"E = {e:g}{suffix}": (f"{schedule}, E = {e:g}", attacked(few, sizes, schedule=schedule, eps=e))
                for e in SCHEDULED
            })  # fmt: skip
    # All rows of all subsets are in the fronts.
    for share in SHARES:
        if {"sizes", f"sizes, {share:g}"} & wanted:
            yield from _sizes(tuple(s.share(share) for s in few), sizes, share)
    if "sizes" in wanted and few is not tasks:
        yield from _sizes(few, sizes, 1.0)
    elif "sizes, guides" in wanted:
        yield from _sizes(few, sizes, 1.0, [GUIDED])


def _sizes(
    part: Tasks, sizes: Sizes, share: float, methods: Collection[str] = ("RoCourseNet", GUIDED)
) -> Iterator[Sweep]:
    for method in methods:
        title = f"{share:g} of the rows, {method}"
        yield _front(part, title, title, _methods(part, sizes)[method], FEW_FACTORS)


def attacked(tasks: Tasks, sizes: Sizes, *, cost_weight: float | None = None, **other: Any) -> Recipe:
    """RoCourseNet as printed, but for the weight of its cost or some numbers of its attacker."""
    setting = tasks[0].setting
    numbers: dict[str, Any] = {**printed_losses(setting), **shift(setting, **other), **counts(sizes)}
    if cost_weight is not None:
        numbers["cost_weight"] = cost_weight
    return Recipe(printed_network(setting), headed(RoCourseNet, numbers))


def _attackers(tasks: Tasks, sizes: Sizes, norm: str, suffix: str) -> Iterator[Sweep]:
    for t in STEPS[norm]:
        recipe = attacked(tasks, sizes, steps=t, norm=norm)
        # The printed attacker belongs to both, by one name.
        name = f"E = {RADIUS:g}" if t == ATTACKER_STEPS else f"T = {t}"
        yield Sweep(f"attacker steps T{suffix}", tasks, {f"{name}{suffix}": (str(t), recipe)})
    group = {f"E = {e:g}{suffix}": (f"{e:g}", attacked(tasks, sizes, eps=e, norm=norm)) for e in RADII[norm]}
    yield Sweep(f"radius E{suffix}", tasks, group)


def _front(tasks: Tasks, title: str, prefix: str, recipe: Weighted, factors: Collection[float]) -> Sweep:
    made = [recipe(factor) for factor in factors]
    return Sweep(title, tasks, {f"{prefix}, cost {w:g}": (f"{w:g}", own) for w, own in made})


def _methods(tasks: Tasks, sizes: Sizes) -> dict[str, Weighted]:
    """Methods that have a front, by name."""
    setting, n = tasks[0].setting, counts(sizes)

    def plain(factor: float) -> tuple[float, Recipe]:
        losses = printed_losses(setting)
        losses["cost_weight"] *= factor
        return losses["cost_weight"], Recipe(printed_network(setting), headed(CounterNetTraining, {**losses, **n}))

    def printed(factor: float) -> tuple[float, Recipe]:
        weight = setting.lambdas[2] * factor
        return weight, attacked(tasks, sizes, cost_weight=weight)

    def ours(factor: float) -> tuple[float, Recipe]:
        weight = setting.ours["cost_weight"] * factor
        own: dict[str, Any] = {**setting.ours, **guided(setting), **n, "cost_weight": weight}
        return weight, Recipe(network(setting), headed(RoCourseNet, own))

    return {"CounterNet": plain, "RoCourseNet": printed, GUIDED: ours}
