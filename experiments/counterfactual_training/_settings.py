"""The paper's data, models and hyper-parameters, the two protocols, and the regimes that are compared."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import jax.numpy as jnp

from holdtrue.models import MLP
from holdtrue.search import DescentSampler, EnergyConstrained
from holdtrue.training import (
    JEM,
    TRADES,
    AbstractRegime,
    AdversarialTraining,
    CounterfactualTraining,
    StandardTraining,
)

PLAIN, PAPER, OURS, PGD = "BL", "CT", "CT, ours", "PGD"
HELD = ", protected"
AS_PRINTED = (PAPER, PAPER + HELD, "AR", "CD", "CT, generic", "CT, REVISE")
"""Forms of the paper's own regime."""
RADIUS = 0.1  # of attacks, in training and in use
RADII = (0.0, 0.02, 0.04, 0.06, 0.08, 0.1)
"""Of Figure 5."""
ENERGY_WEIGHTS = (0.1, 1.0, 5.0)
"""Pulls to low energy at test time; outcomes are averaged over them, as in Table I."""
N_ROUNDS, LEVEL = 100, 0.99
"""Of the bootstrap."""
N_TARGET_ROWS = 1000  # of a class, that implausibility is measured against
WIDTHS = (32,)

Scale = Literal["standard", "none"]


@dataclass(frozen=True)
class CounterfactualDataset:
    """One dataset's part of the experiment.

    Attributes
    ----------
    protected : names of the features that are held in Table I's third column, Table II and Table III; of an image,
        the dataset's own choice.
    ours : what `CounterfactualTraining` is given where it is not the paper's.
    """

    title: str
    dataset: str
    protected: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    scale: Scale = "standard"
    dropped: tuple[str, ...] = ()
    n_train: int | None = None
    batch_size: int = 1000
    n_recourses: int = 5000
    ridge_weight: float = 0.25
    maturity: float = 0.5
    ours: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_image(self) -> bool:
        """Whether rows are pictures of digits."""
        return self.dataset == "mnist"


_VARIANT = {"variant": "counterfactual-training"}
_PLANE: dict[str, Any] = {
    "protected": ("x1",),
    "scale": "none",
    "n_train": 3000,
    "batch_size": 30,
    "n_recourses": 1000,
    "ours": {"adversarial_weight": 1.0, "pull_weight": 5.0, "pull": 2.0, "step_size": 0.001},
}

SETTINGS = {
    "ls": CounterfactualDataset("LS", "linearly_separable", **_PLANE, ridge_weight=0.01),
    "circ": CounterfactualDataset("Circ", "circles", **_PLANE, ridge_weight=0.5),
    "moon": CounterfactualDataset("Moon", "moons", **_PLANE, maturity=0.9),
    "ol": CounterfactualDataset("OL", "overlapping", **_PLANE),
    # Without the census weight, which says nothing of the person.
    "adult": CounterfactualDataset(
        "Adult",
        "adult",
        ("age",),
        _VARIANT,
        dropped=("fnlwgt",),
        maturity=0.75,
    ),
    "ch": CounterfactualDataset(
        "CH", "california_housing", ("HouseAge",), _VARIANT, ours={"adversarial_weight": 1.0}
    ),
    "cred": CounterfactualDataset("Cred", "taiwan_credit", ("AGE",), _VARIANT),
    "gmsc": CounterfactualDataset(
        "GMSC",
        "give_me_some_credit",
        ("age",),
        _VARIANT,
        ridge_weight=0.5,
        ours={"adversarial_weight": 1.0},
    ),
    # Neither is in the paper; its reviewers asked for them.
    "heloc": CounterfactualDataset(
        "HELOC",
        "heloc",
        ("MSinceOldestTradeOpen",),
        batch_size=500,
    ),
    "compas": CounterfactualDataset(
        "COMPAS", "compas", ("age",), batch_size=500, ours={"adversarial_weight": 1.0}
    ),
    "mnist": CounterfactualDataset(
        "MNIST",
        "mnist",
        (),
        _VARIANT,
        scale="none",
        n_train=10000,
        ridge_weight=0.01,
        ours={"adversarial_weight": 1.0, "pull": 1.0, "step_size": 0.001},
    ),
}
TABULAR = ("adult", "ch", "cred", "gmsc", "heloc", "compas")


@dataclass(frozen=True)
class Protocol:
    """How recourse is searched and counted.

    Attributes
    ----------
    maturity : probability of the target at which the search for plausibility stops; for costs it is 0.5.
    harden : whether the model is asked about points that a person could be at.
    n_halvings : of the last step, back to the threshold.
    paired : whether two models are compared on the people who need recourse, and get it, under both.
    length_scale : of the kernel of IP*.
    """

    name: str
    n_steps: int
    step_size: float
    maturity: float
    harden: bool
    n_halvings: int
    paired: bool
    length_scale: float | Literal["median"]

    def sampler(self, energy_weight: float, maturity: float | None = None) -> DescentSampler:
        """ECCCo as the protocol runs it; the paper's evaluation has no cost weight."""
        f32 = jnp.float32
        return DescentSampler(
            loss=EnergyConstrained.over(self.n_steps, energy_weight),
            radius=jnp.asarray(jnp.inf, f32),
            step_size=jnp.asarray(self.step_size, f32),
            cost_weight=jnp.asarray(0.0, f32),
            wanted=self.maturity if maturity is None else maturity,
            n_steps=self.n_steps,
            harden=self.harden,
            n_halvings=self.n_halvings,
        )


PROTOCOLS = {
    "honest": Protocol("honest", 1000, 0.05, 0.5, True, 12, True, "median"),
    "paper": Protocol("paper", 50, 0.1, 0.95, False, 0, False, 0.5),
}
SCALES: tuple[float | Literal["median"], ...] = (0.5, 5.0, "median")


def architecture() -> MLP:
    """One hidden layer of 32, as in the paper."""
    return MLP(widths=WIDTHS)


def regimes(
    setting: CounterfactualDataset, n_epochs: int = 100, step_size: float = 0.001
) -> dict[str, AbstractRegime]:
    """Every regime by its name; those that end in `HELD` are trained with the protected features held."""
    shared: dict[str, Any] = {"n_epochs": n_epochs, "batch_size": setting.batch_size, "step_size": step_size}
    printed: dict[str, Any] = shared | {
        "divergence_weight": 0.5,
        "adversarial_weight": 0.25,
        "ridge_weight": setting.ridge_weight,
        "n_recourses": setting.n_recourses,
        "maturity": setting.maturity,
        "search_step_size": 0.1,
        "guard": False,
    }

    def contrasting(**own: Any) -> CounterfactualTraining:
        return CounterfactualTraining(**(printed | own))

    ours: dict[str, Any] = OUR_TERMS | dict(setting.ours)
    return {
        PLAIN: StandardTraining(**shared),
        PAPER: contrasting(),
        "AR": contrasting(divergence_weight=0.0),
        "CD": contrasting(adversarial_weight=0.0),
        OURS: contrasting(**ours),
        # Attacked in full from the first step, networks on images learn nothing.
        PGD: AdversarialTraining(radius=RADIUS, ramp=0.5 if setting.is_image else 0.0, **shared),
        "TRADES": TRADES(radius=RADIUS, **shared),
        "JEM": JEM(n_samples=setting.n_recourses, **shared),
        "CT, generic": contrasting(search="generic"),
        "CT, REVISE": contrasting(search="revise"),
        PAPER + HELD: contrasting(),
        OURS + HELD: contrasting(**ours),
    }


OUR_TERMS: dict[str, Any] = {
    "divergence_weight": 0.0,
    "ridge_weight": 0.0,
    "adversary": "pgd",
    "adversarial_weight": 0.5,
    "radius": RADIUS,
    "pull_weight": 15.0,
    "pull": 12.0,
    "step_size": 0.005,
    "maturity": 0.5,
    "guard": True,
}
"""What our setting has in place of the paper's: an adversary of the radius that is tested, and a pull to the
target's rows instead of the divergence."""
