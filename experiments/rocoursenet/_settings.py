"""The paper's data, architectures and hyper-parameters (Tables 1, 4 and 5)."""

from dataclasses import dataclass, field
from typing import Any

VARIANT = {"variant": "rocoursenet"}
GUIDES = {"n_guides": 6, "n_held": 0, "tilt": 3.0}
ATTACKER_STEPS, RADIUS, INNER_STEPS = 7, 0.1, 2
"""T, E and K of appendix A."""


@dataclass(frozen=True)
class ShiftedDataset:
    """One dataset's part of the experiment.

    Attributes
    ----------
    group : str
        The column whose values are the subsets.
    encoder, predictor, generator : tuple of int
        Hidden layers of the two-headed network (Table 5 without the inputs).
    n_updates : int
        Minibatches that every model learns from. The paper counts epochs (50), which are 150 updates on German.
    inner_step : float
        Step of the attacker's own learning (eta).
    lambdas : tuple of float
        Weights of prediction, validity and proximity.
    network, ours, guides : dict
        The generator, the losses and the guides of our own rows, chosen on rows to learn from alone.
    """

    title: str
    dataset: str
    group: str
    encoder: tuple[int, ...]
    predictor: tuple[int, ...]
    generator: tuple[int, ...]
    batch_size: int
    step_size: float
    inner_step: float
    lambdas: tuple[float, float, float]
    n_updates: int
    options: dict[str, Any] = field(default_factory=lambda: dict(VARIANT))
    network: dict[str, Any] = field(default_factory=lambda: {"generator": (50, 50)})
    ours: dict[str, Any] = field(default_factory=lambda: {"cost_weight": 0.1, "margin": 1.0})
    guides: dict[str, Any] = field(default_factory=lambda: dict(GUIDES))
    sort: bool = False
    some: tuple[str, ...] | None = None  # subsets of the sweeps, where all would take long


SETTINGS = {
    "german": ShiftedDataset(
        "German Credit", "rocoursenet_german", "version", (100, 10), (20,), (20,), 256, 0.003, 0.03,
        (1.0, 1.0, 0.1), 600, ours={"cost_weight": 0.1, "margin": 2.0, "weight_decay": 3.0, "hide": 0.6},
        guides=GUIDES | {"n_guides": 12, "renumber": 1.0, "tail": 0.25},
    ),
    "student": ShiftedDataset(
        "Student", "rocoursenet_student", "school", (50, 10), (10,), (50,), 128, 0.01, 0.01, (1.0, 0.2, 0.1), 600,
        ours={"cost_weight": 0.1, "margin": 15.0, "weight_decay": 0.3, "hide": 0.6},
        guides=GUIDES | {"n_guides": 12, "blind": 0.6, "renumber": 0.3},
    ),
    "covariate": ShiftedDataset(
        "Covariate shift", "covariate_shift", "version", (50, 10), (10,), (50,), 128, 0.003, 0.03,
        (1.0, 0.2, 0.1), 800, options={}, ours={"cost_weight": 0.1, "margin": 3.0},
    ),
    "label": ShiftedDataset(
        "Label shift", "label_shift", "version", (50, 10), (10,), (50,), 128, 0.003, 0.03, (1.0, 0.2, 0.1), 800,
        options={}, guides=GUIDES | {"n_guides": 8},
    ),
    "loan": ShiftedDataset(
        "Loan", "sba_loans", "Year", (200, 10), (10,), (10,), 128, 0.003, 0.03, (1.0, 0.2, 0.1), 4000, sort=True,
        network={"generator": (200, 200), "dropout": 0.0},
        ours={
            "cost_weight": 0.15, "margin": 2.0, "step_size": 0.001, "weight_decay": 1.0, "guard": 0.8,
            "average": 0.2, "rare": 0.003, "proposals": 8, "strange_weight": 1.0,
        },
        guides=GUIDES | {
            "n_guides": 8, "tilt": 4.0, "concept_tilt": 0.3, "drop": 0.0, "weight_decay": 2.0, "rare": 0.003,
        },
        some=("1994", "1999", "2004", "2009"),
    ),
}  # fmt: skip
"""The quick datasets first. The paper does not say how the simulated shifts were trained."""
BASE_WIDTHS = (50, 10, 50)
"""Hidden layers of the base models, from the public code."""
