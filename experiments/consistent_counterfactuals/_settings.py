"""The paper's data, splits, architectures (B.1, B.2) and hyper-parameters (B.3, Table 2)."""

from dataclasses import dataclass, field
from typing import Any

from holdtrue.encoding import Scaling
from holdtrue.methods import SNS, AbstractMethod, CFProto, ElasticNet, LatentSearch, MinPGD, StableSearch

VARIANT = {"variant": "consistent-counterfactuals"}


@dataclass(frozen=True)
class RetrainedDataset:
    """One dataset's part of the experiment."""

    title: str
    dataset: str
    scaling: Scaling
    widths: tuple[int, ...]
    n_train: int
    n_test: int
    batch_size: int
    max_radius: float
    latent_radius: float = 1.0
    n_epochs: int = 100
    coder: tuple[int, ...] = (1024, 128, 32)  # layers of the autoencoder, the code last
    options: dict[str, Any] = field(default_factory=lambda: dict(VARIANT))

    @property
    def sns_radius(self) -> float:
        """0.8 of the largest ball of the projected-gradient search (B.3)."""
        return 0.8 * self.max_radius


SETTINGS = {
    "german": RetrainedDataset(
        "German Credit", "german_credit", "standard-all", (128, 64, 16), 700, 200, 32, 3.0, 0.3
    ),
    "seizure": RetrainedDataset(
        "Seizure", "seizure", "standard-all", (128, 64, 16), 7950, 3550, 128, 3.0, options={}
    ),
    "ctg": RetrainedDataset("CTG", "cardiotocography", "minmax", (100, 32, 16), 1700, 425, 16, 0.2, options={}),
    "warfarin": RetrainedDataset("Warfarin", "warfarin", "standard", (100,), 3500, 886, 128, 0.5),
    # The batch size of HELOC is not printed.
    "heloc": RetrainedDataset("HELOC", "heloc", "minmax", (100, 32), 7844, 2615, 128, 2.1, n_epochs=50),
    # The text says [0, 1]; the printed costs fit standardised data. Both are run.
    "taiwan": RetrainedDataset(
        "Taiwanese Credit", "taiwan_credit", "standard-all", (32, 16), 7500, 2500, 512, 5.0
    ),
    "taiwan-minmax": RetrainedDataset(
        "Taiwanese Credit, [0, 1]", "taiwan_credit", "minmax", (32, 16), 7500, 2500, 512, 5.0
    ),
}


RADII = (0.05, 0.1, 0.2, 0.5, 1.2, 1.5)
"""Radii of SNS, as shares of the paper's, for the front of cost and invalidation."""
AIMS = (0.8, 0.9, 0.999)
"""Aims of StableSearch for the same front, beside its default."""


def front(setting: RetrainedDataset) -> dict[str, AbstractMethod]:
    """SNS at other radii and StableSearch at other aims."""
    base = ElasticNet(norm="l2")
    radii: dict[str, AbstractMethod] = {
        f"SNS, {share:g} of the radius": SNS(base=base, radius=share * setting.sns_radius) for share in RADII
    }
    return radii | {f"Stable, aim {aim:g}": StableSearch(base=base, aim=aim) for aim in AIMS}


def methods(setting: RetrainedDataset) -> dict[str, AbstractMethod]:
    """The paper's methods under the names of its tables, and ours."""
    bases: dict[str, AbstractMethod] = {
        "Min l1": ElasticNet(norm="l1"),
        "Min l2": ElasticNet(norm="l2"),
        "Min eps PGD": MinPGD(radius=setting.max_radius, n_steps=100, random_state=0),
    }
    others: dict[str, AbstractMethod] = {
        "Looveren et al.": CFProto(norm="l2", random_state=0),
        "Pawelczyk et al.": LatentSearch(
            radius=setting.latent_radius,
            raw_radius=True,
            widths=setting.coder[:-1],
            n_latent=setting.coder[-1],
            random_state=2021,
        ),
    }
    stable: dict[str, AbstractMethod] = {
        f"{name} + SNS": SNS(base=base, radius=setting.sns_radius, random_state=0) for name, base in bases.items()
    }
    ours: dict[str, AbstractMethod] = {
        "Stable, cost of SNS": StableSearch(base=stable["Min l2 + SNS"], keep_cost=True, n_steps=200),
        "Stable": StableSearch(base=bases["Min l2"]),
    }
    return bases | others | stable | ours
