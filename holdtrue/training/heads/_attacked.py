"""Regimes with an attacker, and attackers by name. A third party adds its own with `register_attacker`."""

from dataclasses import replace

import jax.numpy as jnp

from holdtrue._registry import Registry, made
from holdtrue.parameters import NonNegative, Probability
from holdtrue.training._base import AbstractRegime, Setting
from holdtrue.training.heads._attackers import AbstractAttacker
from holdtrue.training.heads._generator import GeneratorStep
from holdtrue.training.heads._guides import Guides
from holdtrue.training.heads._virtual_shift import RandomShift, VirtualShift
from holdtrue.training.regimes._counternet import AbstractGeneratorRegime

ATTACKERS: Registry[AbstractAttacker] = Registry(
    "attacker", AbstractAttacker, {"vds": VirtualShift, "random": RandomShift, "guides": Guides}
)


def register_attacker(name: str, cls: type[AbstractAttacker]) -> None:
    """Make an attacker known by name, to regimes, to the command line and to model files."""
    ATTACKERS[name] = cls


def attacker(name: str) -> type[AbstractAttacker]:
    """Attacker class by its name."""
    return ATTACKERS.named(name)


class AbstractAttacked(AbstractRegime):
    """A regime whose recourse is judged by an attacker's models, and by the model as it is.

    An attacker that is given by its name has that class's defaults.
    """

    attacker: str | AbstractAttacker
    own_weight: NonNegative
    goal: Probability | None

    @property
    def attacked_by(self) -> AbstractAttacker:
        """The attacker, also where its name is given."""
        return made(AbstractAttacker, self.attacker)

    def against(self, step: GeneratorStep, setting: Setting, trained: AbstractGeneratorRegime) -> GeneratorStep:
        """The step of a regime, with the attacker's models among the judges."""
        self.check_parameters()
        return replace(
            step,
            panel=self.attacked_by.panel(setting, trained),
            own_weight=jnp.asarray(self.own_weight, jnp.float32),
            goal=None if self.goal is None else jnp.asarray(self.goal, jnp.float32),
        )
