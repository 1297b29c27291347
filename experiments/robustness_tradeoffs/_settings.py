"""The paper's data, models, radii and methods, and what it leaves open."""

from dataclasses import dataclass, field
from typing import Any

from holdtrue.methods import CCHVAE, ROAR, AbstractMethod, GrowingSpheres, Wachter
from holdtrue.models import MLP, AbstractArchitecture, Linear
from holdtrue.training import AdversarialTraining

RADII = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
"""Section 5.1."""
BUDGETS = (10, 20, 50, 100, 200, 500, 1000)
"""Steps of SCFE at which its validity is read."""
WAYS = {"others": 1.0, "others_half_more": 1.5, "others_twice": 2.0}
"""How far along a person's way the models of other splits are asked: SCFE's own point, and past it (Figure 16)."""
FEWEST = 5  # people; a split with fewer says nothing about costs
N_TRAIN, N_JUDGED = 8000, 1000
N_METHOD = 100  # people whom the four methods are run for, of the refused
VAE_UPDATES = 5000


@dataclass(frozen=True)
class SweptDataset:
    """One dataset's part of the experiment: the columns the paper names, as full one-hots."""

    title: str
    dataset: str
    dropped: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()  # binary columns that become one-hots


SETTINGS = {
    "german": SweptDataset("German Credit", "german_credit"),
    # The text describes another set of defendants; this is the one that everybody calls COMPAS.
    "compas": SweptDataset("COMPAS", "compas", flags=("sex", "c_charge_degree")),
    # Section 5.1 names no country.
    "adult": SweptDataset("Adult", "adult", dropped=("native-country",), flags=("sex",)),
}


@dataclass(frozen=True)
class Kind:
    """A model and how it is trained; the radius comes from the sweep."""

    model: AbstractArchitecture | None  # None: two layers of the paper, whose width is twice the inputs'
    n_updates: int
    batch_size: int
    step_size: float
    options: dict[str, Any] = field(default_factory=dict)

    def architecture(self, n_columns: int) -> AbstractArchitecture:
        """The model for so many inputs."""
        return MLP(widths=(2 * n_columns,)) if self.model is None else self.model

    def regime(self, radius: float, n_rows: int, **options: Any) -> AdversarialTraining:
        """Training with one radius, for as many epochs as make up the updates."""
        batch = min(self.batch_size, n_rows)
        return AdversarialTraining(
            radius=radius,
            n_epochs=-(-self.n_updates // -(-n_rows // batch)),
            batch_size=batch,
            step_size=self.step_size,
            **(self.options | options),
        )


LR = Kind(Linear(), 1500, 1024, 0.05)
NN = Kind(None, 2000, 128, 0.002)
KINDS = {"LR": LR, "MLP": NN}

THREATS: dict[str, tuple[str, dict[str, Any]]] = {
    "MLP, ramp": ("MLP", {"ramp": 0.5}),
    "LR, numbers only": ("LR", {"columns": "numeric"}),
    "MLP, numbers only": ("MLP", {"columns": "numeric"}),
    "LR, l2": ("LR", {"norm": "l2"}),
    "MLP, l2": ("MLP", {"norm": "l2"}),
}
"""Other ways to train, to tell collapse by optimisation from collapse by threat model."""
THREAT_RADII = (0.0, 0.05, 0.1, 0.2, 0.3)

SIZES: dict[str, tuple[int, ...]] = {
    "1 hidden layer of 98": (98,),
    "2 of 98": (98, 98),
    "4 of 98": (98, 98, 98, 98),
    "2 of 32": (32, 32),
    "2 of 196": (196, 196),
}
"""Hidden layers of Figures 5 and 14, on Adult's 49 inputs."""
SIZE_RADII = (0.0, 0.05, 0.3)


def methods(n_rows: int) -> dict[str, AbstractMethod]:
    """The paper's four, with CARLA's sizes where the paper is silent; costs are l2, as it measures them."""
    epochs = min(200, -(-VAE_UPDATES * 32 // n_rows))
    return {
        "SCFE": Wachter(norm="l2", n_steps=1000, step_size=0.01, cost_weight=0.01),
        "GSM": GrowingSpheres(norm="l2", n_steps=40, random_state=0),
        "C-CHVAE": CCHVAE(norm="l2", n_epochs=epochs, random_state=0),
        "ROAR": ROAR(norm="l2", radius=0.1, n_steps=1000, step_size=0.01, cost_weight=0.01),
    }


THEOREM_3 = {0.01: "Theorem 3, radius 0.01", 0.02: "Theorem 3", 0.05: "Theorem 3, radius 0.05"}
"""By the radius that the robust model of a pair was trained for, what the pair's figures are called."""
