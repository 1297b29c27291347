"""Regimes with an attacker, and attackers by name. A third party adds its own with `register_attacker`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import jax.numpy as jnp

from holdtrue._registry import Registry
from holdtrue.errors import DataError
from holdtrue.parameters import NonNegative, Probability, configured
from holdtrue.training._base import AbstractRegime, TrainingContext
from holdtrue.training._parts import MakePart
from holdtrue.training.heads._attackers import AbstractAttacker
from holdtrue.training.heads._generator import GeneratorStep
from holdtrue.training.heads._guides import Guides
from holdtrue.training.heads._regime import AbstractGeneratorRegime
from holdtrue.training.heads._virtual_shift import RandomShift, VirtualShift

ATTACKERS: Registry[AbstractAttacker] = Registry(
    "attacker", AbstractAttacker, {"vds": VirtualShift, "random": RandomShift, "guides": Guides}
)


def register_attacker(name: str, cls: type[AbstractAttacker]) -> None:
    """Make an attacker known by name, to regimes, to the command line and to model files."""
    ATTACKERS[name] = cls


def attacker(name: str) -> type[AbstractAttacker]:
    """Attacker class by its name."""
    return ATTACKERS.named(name)


def as_attacker(given: object, where: str) -> AbstractAttacker:
    """The attacker that was given; with its defaults, where its name was."""
    if isinstance(given, AbstractAttacker):
        return given
    if not isinstance(given, str):
        raise DataError(
            f"{where}: `attacker` must be an attacker, or the name of one; got {given!r}. Known are "
            f"{list(ATTACKERS)!r}."
        )
    return attacker(given)()


@configured
class AbstractAttacked(AbstractRegime):
    """A regime whose recourse is judged by an attacker's models, and by the model as it is.

    Parameters
    ----------
    attacker : AbstractAttacker or str, default="vds"
        `VirtualShift` (``"vds"``), as printed; `RandomShift` (``"random"``); or `Guides` (``"guides"``). A name
        is the attacker with its defaults.
    own_weight : float, default=1.0
        Weight of validity under the model as it is, against 1 under the attacker's; the printed loss has 0.
    goal : float, optional
        Share of people whose recourse the attacker's held-out models should accept (those that guides have, else
        the model as it is). While they do the cost weighs more, and else less. None leaves `cost_weight` alone.
    """

    parts: ClassVar[Mapping[str, MakePart]] = {"attacker": as_attacker}

    attacker: str | AbstractAttacker = "vds"
    own_weight: NonNegative = 1.0
    goal: Probability | None = None

    @property
    def attacked_by(self) -> AbstractAttacker:
        """The attacker, also where its name is given."""
        return as_attacker(self.attacker, type(self).__name__)

    def against(
        self, step: GeneratorStep, context: TrainingContext, trained: AbstractGeneratorRegime
    ) -> GeneratorStep:
        """The step of a regime, with the attacker's models among the judges."""
        self.check_parameters()
        return replace(
            step,
            panel=self.attacked_by.panel(context, trained),
            own_weight=jnp.asarray(self.own_weight, jnp.float32),
            goal=None if self.goal is None else jnp.asarray(self.goal, jnp.float32),
        )
