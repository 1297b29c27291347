"""Is an NTK robust that is solved for attacked rows (X_R of *Robustness trade-offs*)?

    python -m experiments.robustness_tradeoffs.robust_kernel [--people 200] [--rows 800]

Accuracy as it is, under attack on the model itself, and on people who were attacked under the plain model. If the
last is higher than the first, the model reads the shift of the attack, which tells the label, and not the person.
"""

import argparse
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks._common import record
from experiments import experiment
from experiments.robustness_tradeoffs.theory import installed, split
from holdtrue.encoding import Permits
from holdtrue.metrics import pgd, robust_accuracy
from holdtrue.models import NTK, AbstractModel, Data, Decision
from holdtrue.training import AdversarialTraining, TrainingContext

RADII = (0.02, 0.05, 0.1, 0.2)


def attacked(model: AbstractModel, people: np.ndarray, labels: np.ndarray, radius: float) -> np.ndarray:
    """People moved against their label, under a model."""
    decision = Decision(model, jnp.asarray(0.5), 1)

    @jax.jit
    def worst(row: jax.Array, label: jax.Array, key: jax.Array) -> jax.Array:
        return pgd(lambda at: -decision.margin(at, label), row, radius, key)

    keys = jax.random.split(jax.random.key(0), len(people))
    return np.asarray(jax.vmap(worst)(jnp.asarray(people, jnp.float32), jnp.asarray(labels, jnp.int32), keys))


def main() -> None:
    """Judge models of plain and of attacked rows, on every dataset that is there."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--rows", type=int, default=800)
    options = parser.parse_args()
    command = (
        f"python -m experiments.robustness_tradeoffs.robust_kernel --people {options.people} --rows {options.rows}"
    )
    values: dict[str, Any] = {"beta": 1.0}
    for name, x, y, encoder in installed():
        train, labels, people, truth = split(x, y, 0, options.rows)
        people, truth = people[: options.people], (truth[: options.people] > 0).astype(int)
        data = Data(jnp.asarray(train, jnp.float32), jnp.asarray(labels > 0, jnp.int32), jnp.ones(len(train)))
        context, key = TrainingContext(Permits.of(encoder), 1), jax.random.key(0)
        blank = NTK().build(x.shape[1], 2, key)
        plain: Any = AdversarialTraining(radius=0.0).solve(blank, data, key, context)[0]
        values[name] = {}
        for radius in RADII:
            robust: Any = AdversarialTraining(radius=radius, n_steps=10).solve(blank, data, key, context)[0]
            shifted = attacked(plain, people, truth, radius)
            for which, model in (("plain rows", plain), ("attacked rows", robust)):
                decision = Decision(model, jnp.asarray(0.5), 1)
                values[name][f"{which}, radius {radius:g}"] = {
                    "accuracy": robust_accuracy(decision, people, truth, 0.0),
                    "under attack": robust_accuracy(decision, people, truth, radius),
                    "attacked under the plain model": robust_accuracy(decision, shifted, truth, 0.0),
                }
        record("robust-kernel", command, values, folder=experiment("robustness-tradeoffs").results, shown=False)
        print(name, values[name], flush=True)


if __name__ == "__main__":
    main()
