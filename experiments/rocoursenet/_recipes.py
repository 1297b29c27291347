"""Networks and regimes of the experiment: as printed and as the library has them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from experiments.rocoursenet._data import Tasks
from experiments.rocoursenet._generators import Recipe
from experiments.rocoursenet._settings import ATTACKER_STEPS, INNER_STEPS, RADIUS, ShiftedDataset
from holdtrue.models import CounterNet
from holdtrue.training import (
    VAECF,
    AbstractRegime,
    CFModel,
    CounterNetTraining,
    Guides,
    HeadSettings,
    RandomShift,
    Robust,
    RoCourseNet,
    VirtualShift,
)

GUIDED = "RoCourseNet, guides"
PRINTED = ", printed"
"""Ends the names of Table 3's rows with the paper's losses and attacker."""
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
Regime = TypeVar("Regime", bound=AbstractRegime)
Group = dict[str, Recipe]
"""Recipes that one compiled program serves: they differ in numbers only."""


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    n_updates: int
    batch_size: int
    seeds: Sequence[int]
    n_searched: int


def printed_network(setting: ShiftedDataset) -> CounterNet:
    """Layers of Table 5, and a generator that sees codes only."""
    return CounterNet(
        encoder=setting.encoder,
        predictor=setting.predictor,
        generator=setting.generator,
        dropout=0.3,
        head="codes",
    )


def network(setting: ShiftedDataset, **other: Any) -> CounterNet:
    """The same predictor, with a generator that also sees the row."""
    parts: dict[str, Any] = {"dropout": 0.3, **setting.network, **other}
    return CounterNet(encoder=setting.encoder, predictor=setting.predictor, **parts)


def replaced(net: CounterNet, **other: Any) -> CounterNet:
    """A network with some of its parameters otherwise."""
    return CounterNet(**{**net.get_params(), **other})


def counts(sizes: Sizes) -> dict[str, Any]:
    """Updates in place of epochs."""
    return {"n_epochs": 1, "min_updates": sizes.n_updates, "batch_size": sizes.batch_size}


def printed_losses(setting: ShiftedDataset) -> dict[str, Any]:
    """Squared losses of soft rows, weights of Table 4, no margin, no guard against collapse."""
    prediction, validity, cost = setting.lambdas
    return {
        "prediction_weight": prediction, "validity_weight": validity, "cost_weight": cost, "loss": "squared",
        "cost": "squared", "margin": 0.0, "balance": False, "harden": False, "guard": 0.0,
        "step_size": setting.step_size,
    }  # fmt: skip


def shift(
    setting: ShiftedDataset, kind: type[VirtualShift] | type[RandomShift] = VirtualShift, **other: Any
) -> dict[str, Any]:
    """The attacker of Algorithm 1 with the paper's numbers but for some, and nobody else to judge."""
    numbers: dict[str, Any] = {
        "eps": RADIUS, "steps": ATTACKER_STEPS, "inner_steps": INNER_STEPS, "inner": "sgd",
        "inner_step_size": setting.inner_step, "norm": "linf", "schedule": "linear", "bound": None,
    }  # fmt: skip
    return {"attacker": kind(**{**numbers, **other}), "own_weight": 0.0}


def guided(setting: ShiftedDataset, **other: Any) -> dict[str, Any]:
    """Guides in place of the attacker: the setting's, but for some numbers."""
    return {"attacker": Guides(**{**setting.guides, **other})}


def headed(kind: Callable[..., Regime], options: Mapping[str, Any]) -> Regime:
    """A regime of options that are its own or its head's."""
    known = HeadSettings().get_params()
    head: dict[str, Any] = {key: value for key, value in options.items() if key in known}
    own = {key: value for key, value in options.items() if key not in known}
    return kind(head=HeadSettings(**head), **own)


def recipes(tasks: Tasks, sizes: Sizes, wanted: Collection[str]) -> list[Group]:
    """Everything but the sweeps (`_sweeps`), for the parts that are wanted."""
    setting, n = tasks[0].setting, counts(sizes)
    plain = printed_network(setting)
    ours: CounterNet = network(setting)
    own: dict[str, Any] = {**setting.ours, **n}
    groups: list[Group] = []
    if "guides" in wanted:
        groups.append({GUIDED: Recipe(ours, headed(RoCourseNet, {**own, **guided(setting)}))})
    if "printed" in wanted:
        groups.append(
            {"RoCourseNet": Recipe(plain, headed(RoCourseNet, {**printed_losses(setting), **shift(setting), **n}))}
        )
    if "plain" in wanted:
        groups.append({"CounterNet": Recipe(plain, headed(CounterNetTraining, {**printed_losses(setting), **n}))})
    if "ours" in wanted:
        groups += [
            {"CounterNet, ours": Recipe(ours, headed(CounterNetTraining, own))},
            {"RoCourseNet, ours": Recipe(ours, headed(RoCourseNet, {**own, **shift(setting)}))},
        ]
    if "random" in wanted:
        noisy = {**printed_losses(setting), **shift(setting, RandomShift), **n}
        groups.append({"RoCourseNet-Random": Recipe(plain, headed(RoCourseNet, noisy))})
    row: CounterNet = network(setting, head="row")
    vae: CounterNet = network(setting, head="vae", generator=(50, 20), dropout=0.0)
    framework = {
        "CF Model": Recipe(row, headed(CFModel, own)),
        "Robust CF Model": Recipe(row, Robust(regime=headed(CFModel, own), **guided(setting))),
        "VAE-CF": Recipe(vae, headed(VAECF, own)),
        "Robust VAE-CF": Recipe(vae, Robust(regime=headed(VAECF, own), **guided(setting))),
    }
    # As printed: the losses of Table 4, and eq. 5 with the attacker of Algorithm 1.
    losses, under = {**printed_losses(setting), **n}, shift(setting)
    row_only, coded = replaced(plain, head="row"), replaced(plain, head="vae", generator=(50, 20), dropout=0.0)
    framework |= {
        f"CF Model{PRINTED}": Recipe(row_only, headed(CFModel, losses)),
        f"Robust CF Model{PRINTED}": Recipe(row_only, Robust(regime=headed(CFModel, losses), **under)),
        f"VAE-CF{PRINTED}": Recipe(coded, headed(VAECF, losses)),
        f"Robust VAE-CF{PRINTED}": Recipe(coded, Robust(regime=headed(VAECF, losses), **under)),
    }
    groups += [{name: recipe} for name, recipe in framework.items() if name in wanted]
    return groups
