"""Proposition III.1 in the plane: ``python -m experiments.counterfactual_training.proposition``.

Gaussian classes with one diagonal covariance, a linear classifier, the first feature protected: its share of the
sensitivity under the printed form, the guarded one, and the guarded and pulled one, beside the same training
unprotected. Three seeds. Writes ``results/proposition.json``.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks._common import record
from experiments import experiment
from holdtrue.encoding import Encoder, Permits
from holdtrue.metrics import sensitivity_share
from holdtrue.models import Data, Linear, LinearModel, fit_many
from holdtrue.schema import Feature, Schema
from holdtrue.training import CounterfactualTraining, TrainingContext

SEEDS = range(3)
CENTRES = ((1.0, 2.5), (1.8, 1.8), (2.5, 1.0))
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "unprotected": ("free", {}),
    "printed": ("fixed", {"guard": False}),
    "guarded": ("fixed", {}),
    "guarded and pulled": ("fixed", {"pull_weight": 1.0}),
}
SIZE: dict[str, Any] = {"n_epochs": 50, "batch_size": 50}


def main() -> None:
    """Train all, and write the shares down."""
    jobs = [(centre, seed) for centre in CENTRES for seed in SEEDS]
    rows = [_rows(centre, seed) for centre, seed in jobs]
    found: dict[str, dict[str, Any]] = {f"±{c}": {} for c in CENTRES}
    for name, (direction, options) in FORMS.items():
        regime = CounterfactualTraining(
            **SIZE, step_size=0.02, n_recourses=50, n_steps=50, search_step_size=1.0, **options
        )
        starts = [Linear().build(2, 2, jax.random.key(seed)) for _, seed in jobs]
        keys = [jax.random.key(seed) for _, seed in jobs]
        models = fit_many(starts, regime.step(_context(direction)), rows, keys, **SIZE)
        for (centre, _), data, model in zip(jobs, rows, models, strict=True):
            assert isinstance(model, LinearModel)
            weight = np.asarray(model.weight)[1] - np.asarray(model.weight)[0]
            # Of a linear score, integrated gradients are weight times way; here from between the classes.
            shares = [float(sensitivity_share(v, [0]).mean()) for v in ([weight], weight * np.asarray(data.x))]
            entry = found[f"±{centre}"].setdefault(name, {"slope": [], "gradients": []})
            entry["slope"].append(round(shares[0], 4))
            entry["gradients"].append(round(shares[1], 4))
    command = "python -m experiments.counterfactual_training.proposition"
    record("proposition", command, {"centres": found}, folder=experiment("counterfactual-training").results,
           shown=False)  # fmt: skip


def _rows(centre: tuple[float, float], seed: int) -> Data:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 200)
    x = np.asarray([tuple(-np.asarray(centre)), centre])[y] + 0.5 * rng.normal(size=(200, 2))
    return Data(jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.int32), jnp.ones(200))


def _context(direction: Any) -> TrainingContext:
    schema = Schema(
        [
            Feature(name=f"x{i}", kind="numeric", bounds=(-8, 8), direction=d)
            for i, d in enumerate((direction, "free"))
        ]
    )
    unit = np.array([0.0, 1.0])  # raw and encoded values are then the same
    return TrainingContext(Permits.of(Encoder.fit(schema, {"x0": unit, "x1": unit})), 1)


if __name__ == "__main__":
    main()
