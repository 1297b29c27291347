"""Is an NTK robust that is solved for attacked rows (X_R of *Robustness trade-offs*)?

    python -m experiments.robustness_tradeoffs.robust_kernel run FOLDER [--dataset NAME ...] [--split N ...]
        [--people 200] [--rows 800]
    python -m experiments.robustness_tradeoffs.robust_kernel merge FOLDER

Accuracy as it is, under attack on the model itself, and on people who were attacked under the plain model. If the
last is higher than the first, the model reads the shift of the attack, which tells the label, and not the person.
``run`` has ten splits unless it is given some, a file each; ``merge`` makes ``results/robust-kernel.json``.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments.robustness_tradeoffs._cells import BETA, merge, parsers, run
from experiments.robustness_tradeoffs.theory import split
from holdtrue.encoding import Encoder, Permits
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


def measure(options: Any, x: np.ndarray, y: np.ndarray, encoder: Encoder, seed: int) -> dict[str, Any]:
    """Models of plain and of attacked rows, for one split of one dataset."""
    train, labels, people, truth = split(x, y, seed, options.rows)
    people, truth = people[: options.people], (truth[: options.people] > 0).astype(int)
    data = Data(jnp.asarray(train, jnp.float32), jnp.asarray(labels > 0, jnp.int32), jnp.ones(len(train)))
    context, key = TrainingContext(Permits.of(encoder), 1), jax.random.key(0)
    blank = NTK(beta=BETA).build(x.shape[1], 2, key)
    plain: Any = AdversarialTraining(radius=0.0).solve(blank, data, key, context)[0]
    found: dict[str, Any] = {}
    for radius in RADII:
        robust: Any = AdversarialTraining(radius=radius, n_steps=10).solve(blank, data, key, context)[0]
        shifted = attacked(plain, people, truth, radius)
        for which, model in (("plain rows", plain), ("attacked rows", robust)):
            decision = Decision(model, jnp.asarray(0.5), 1)
            found[f"{which}, radius {radius:g}"] = {
                "accuracy": robust_accuracy(decision, people, truth, 0.0),
                "under attack": robust_accuracy(decision, people, truth, radius),
                "attacked under the plain model": robust_accuracy(decision, shifted, truth, 0.0),
            }
    return found


def main() -> None:
    """Read the command line."""
    parser, running = parsers(__doc__)
    running.add_argument("--people", type=int, default=200)
    running.add_argument("--rows", type=int, default=800)
    given = parser.parse_args()
    match given.command:
        case "run":
            run("robust_kernel", measure, given, f"--people {given.people} --rows {given.rows}")
        case "merge":
            merge("robust_kernel", given.folder, given.out)


if __name__ == "__main__":
    main()
