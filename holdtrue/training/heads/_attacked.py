"""Regimes with an attacker, and attackers by name. A third party adds its own with `register_attacker`."""

from dataclasses import replace
from typing import Any, Self

import jax.numpy as jnp

from holdtrue.errors import DataError
from holdtrue.schema import did_you_mean
from holdtrue.training._base import AbstractRegime, TrainingContext
from holdtrue.training.heads._attackers import AbstractAttacker
from holdtrue.training.heads._generator import GeneratorStep
from holdtrue.training.heads._guides import Guides
from holdtrue.training.heads._virtual_shift import RandomShift, VirtualShift
from holdtrue.training.regimes._counterfactual import check_weights
from holdtrue.training.regimes._counternet import AbstractGeneratorRegime

ATTACKERS: dict[str, type[AbstractAttacker]] = {"vds": VirtualShift, "random": RandomShift, "guides": Guides}


def register_attacker(name: str, cls: type[AbstractAttacker]) -> None:
    """Make an attacker known by name, to regimes, to the command line and to model files."""
    ATTACKERS[name] = cls


def attacker(name: str) -> type[AbstractAttacker]:
    """Attacker class by its name."""
    if name not in ATTACKERS:
        raise DataError(f"training: unknown attacker; got {name!r}. {did_you_mean(name, list(ATTACKERS))}")
    return ATTACKERS[name]


class AbstractAttacked(AbstractRegime):
    """A regime whose recourse is judged by an attacker's models, and by the model as it is.

    An attacker that is given by its name has that class's defaults. `set_params` reaches into it all the same:
    ``set_params(attacker__tilt=4.0)`` makes the object first.
    """

    attacker: str | AbstractAttacker
    own_weight: float
    goal: float | None

    @property
    def attacked_by(self) -> AbstractAttacker:
        """The attacker, also where its name is given."""
        if isinstance(self.attacker, AbstractAttacker):
            return self.attacker
        if not isinstance(self.attacker, str):
            raise DataError(
                f"{type(self).__name__}: `attacker` must be an attacker, or the name of one; got "
                f"{self.attacker!r}. Known are {list(ATTACKERS)!r}."
            )
        return attacker(self.attacker)()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters; `deep`, those of the attacker too, also where its name is given."""
        params = super().get_params(deep)
        if deep and isinstance(self.attacker, str) and self.attacker in ATTACKERS:
            params |= {f"attacker__{name}": value for name, value in self.attacked_by.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``attacker__NAME`` are the attacker's."""
        given = params.get("attacker", self.attacker)
        if isinstance(given, str) and any(name.startswith("attacker__") for name in params):
            params |= {"attacker": attacker(given)()}
        return super().set_params(**params)

    def against(
        self, step: GeneratorStep, context: TrainingContext, trained: AbstractGeneratorRegime
    ) -> GeneratorStep:
        """The step of a regime, with the attacker's models among the judges."""
        check_weights(self, ("own_weight",))
        if self.goal is not None and not 0 < self.goal < 1:
            raise DataError(f"{type(self).__name__}: `goal` is a share between 0 and 1; got {self.goal!r}.")
        return replace(
            step,
            panel=self.attacked_by.panel(context, trained),
            own_weight=jnp.asarray(self.own_weight, jnp.float32),
            goal=None if self.goal is None else jnp.asarray(self.goal, jnp.float32),
        )
