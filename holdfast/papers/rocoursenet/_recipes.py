"""Networks and regimes of the experiment: as printed, as the library has them, and the variants of the sweeps."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.models import CounterNet
from holdfast.papers.rocoursenet._data import Task
from holdfast.papers.rocoursenet._generators import Recipe
from holdfast.papers.rocoursenet._settings import ATTACKER_STEPS, INNER_STEPS, RADIUS, Setting
from holdfast.training import VAECF, CFModel, CounterNetTraining, Robust, RoCourseNet

GUIDED = "RoCourseNet, guides"
MAIN = (
    "VanillaCF",
    "ROAR-LIME",
    "RBR",
    "CounterNet",
    "RoCourseNet",
    "CounterNet, ours",
    "RoCourseNet, ours",
    GUIDED,
)
"""Rows of Table 2: ``CounterNet`` and ``RoCourseNet`` as printed, then with the library's losses and network."""
Group = dict[str, Recipe]
"""Recipes that one compiled program serves: they differ in numbers only."""


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    n_updates: int
    batch_size: int
    seeds: Sequence[int]
    n_searched: int


def printed_network(setting: Setting) -> CounterNet:
    """Layers of Table 5, and a generator that sees codes only."""
    return CounterNet(
        encoder=setting.encoder,
        predictor=setting.predictor,
        generator=setting.generator,
        dropout=0.3,
        head="codes",
    )


def network(setting: Setting, **other: Any) -> CounterNet:
    """The same predictor, with a generator that also sees the row."""
    parts: dict[str, Any] = {"dropout": 0.3, **setting.network, **other}
    return CounterNet(encoder=setting.encoder, predictor=setting.predictor, **parts)


def counts(sizes: Sizes) -> dict[str, Any]:
    """Updates in place of epochs."""
    return {"n_epochs": 1, "min_updates": sizes.n_updates, "batch_size": sizes.batch_size}


def printed_losses(setting: Setting) -> dict[str, Any]:
    """Squared losses of soft rows, weights of Table 4, no margin, no guard against collapse."""
    prediction, validity, cost = setting.lambdas
    return {
        "prediction_weight": prediction, "validity_weight": validity, "cost_weight": cost, "loss": "squared",
        "cost": "squared", "margin": 0.0, "balance": False, "harden": False, "guard": 0.0,
        "step_size": setting.step_size,
    }  # fmt: skip


def shift(setting: Setting) -> dict[str, Any]:
    """The attacker of Algorithm 1 with the paper's numbers."""
    return {
        "attacker": "vds", "eps": RADIUS, "steps": ATTACKER_STEPS, "inner_steps": INNER_STEPS, "inner": "sgd",
        "inner_step_size": setting.inner_step, "norm": "linf", "schedule": "linear", "bound": None,
        "own_weight": 0.0,
    }  # fmt: skip


def guided(setting: Setting) -> dict[str, Any]:
    """Guides in place of the attacker."""
    return {**setting.guides, "attacker": "guides"}


def recipes(task: Task, sizes: Sizes, wanted: Collection[str]) -> list[Group]:
    """Everything but the sweeps, for the parts that are wanted."""
    setting, n = task.setting, counts(sizes)
    plain = printed_network(setting)
    ours: CounterNet = network(setting)
    own: dict[str, Any] = {**setting.ours, **n}
    groups: list[Group] = []
    if "guides" in wanted:
        groups.append({GUIDED: Recipe(ours, RoCourseNet(**own, **guided(setting)))})
    if "printed" in wanted:
        groups.append(
            {"RoCourseNet": Recipe(plain, RoCourseNet(**printed_losses(setting), **shift(setting), **n))}
        )
    if "plain" in wanted:
        groups.append({"CounterNet": Recipe(plain, CounterNetTraining(**printed_losses(setting), **n))})
    if "ours" in wanted:
        groups += [
            {"CounterNet, ours": Recipe(ours, CounterNetTraining(**own))},
            {"RoCourseNet, ours": Recipe(ours, RoCourseNet(**own, **shift(setting)))},
        ]
    if "random" in wanted:
        noisy: dict[str, Any] = {**shift(setting), "attacker": "random"}
        groups.append({"RoCourseNet-Random": Recipe(plain, RoCourseNet(**printed_losses(setting), **noisy, **n))})
    if "framework" in wanted:
        row, vae = network(setting, head="row"), network(setting, head="vae", generator=(50, 20), dropout=0.0)
        guides = guided(setting)
        groups += [
            {"CF Model": Recipe(row, CFModel(**own))},
            {"Robust CF Model": Recipe(row, Robust(regime=CFModel(**own), **guides))},
            {"VAE-CF": Recipe(vae, VAECF(**own))},
            {"Robust VAE-CF": Recipe(vae, Robust(regime=VAECF(**own), **guides))},
        ]
    return groups


def sweeps(task: Task, sizes: Sizes, wanted: Collection[str]) -> dict[str, list[dict[str, tuple[str, Recipe]]]]:
    """By the name of a sweep, groups of recipes with the label that the varied number has."""
    setting, n = task.setting, counts(sizes)
    ours: CounterNet = network(setting)
    own: dict[str, Any] = {**setting.ours, **n}
    out: dict[str, list[dict[str, tuple[str, Recipe]]]] = {}
    if "fronts" in wanted:
        weights = [setting.ours["cost_weight"] * f for f in (0.25, 0.5, 2.0, 4.0, 8.0)]
        front: dict[str, tuple[str, Recipe]] = {}
        for weight in weights:
            varied: dict[str, Any] = {**own, **guided(setting), "cost_weight": weight}
            front[f"{GUIDED}, cost {weight:g}"] = f"{weight:g}", Recipe(ours, RoCourseNet(**varied))
        out["cost weight"] = [front]
    if "sweeps" not in wanted:
        return out

    def attacked(**other: Any) -> Recipe:
        attacker: dict[str, Any] = {**shift(setting), **other}
        return Recipe(ours, RoCourseNet(**own, **attacker))

    for norm, suffix in (("linf", ""), ("l2", ", l2")):
        out[f"attacker steps T{suffix}"] = [
            {f"T = {t}{suffix}": (str(t), attacked(steps=t, norm=norm))} for t in (1, 3, ATTACKER_STEPS, 14)
        ]
        out[f"radius E{suffix}"] = [
            {f"E = {e:g}{suffix}": (f"{e:g}", attacked(eps=e, norm=norm)) for e in (0.02, 0.1, 0.3, 0.5)}
        ]
    out["schedule"] = [{f"{s} schedule": (s, attacked(schedule=s, eps=0.3))} for s in ("linear", "static")]
    return out
