"""The NTK beside networks that are trained, and its Nyström approximation beside the exact solution.

    python -m experiments.robustness_tradeoffs.ntk run FOLDER [--dataset NAME ...] [--split N ...]
        [--widths 128 1024 8192] [--rows 300] [--steps 2000]
    python -m experiments.robustness_tradeoffs.ntk merge FOLDER

A two-layer ReLU network whose first layer is trained to the ridge about its start, with every unit twice and
opposite signs on top so that it starts at zero, comes to the kernel model as its width grows. Then, 5,000 training
rows exactly and by landmarks: how far the scores of new people are apart.
``run`` has ten splits unless it is given some, a file each; ``merge`` makes ``results/ntk.json`` of them.
"""

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments.robustness_tradeoffs._cells import BETA, merge, parsers, run
from experiments.robustness_tradeoffs.theory import split
from holdtrue.encoding import Encoder
from holdtrue.models import kernel_ridge, ntk_matrix, nystroem

MANY = 5000
LANDMARKS = (250, 500, 1000, 2000)


@jax.jit
def trained(start: jax.Array, top: jax.Array, x: jax.Array, y: jax.Array, steep: float, n_steps: int) -> Any:
    """Nesterov's descent on squared loss plus ridge; `steep` is the loss's largest curvature."""

    def loss(w: jax.Array) -> jax.Array:
        return 0.5 * jnp.sum((jax.nn.relu(x @ w.T) @ top - y) ** 2) + 0.5 * BETA * jnp.sum((w - start) ** 2)

    root = jnp.sqrt(steep / BETA)
    speed = (root - 1) / (root + 1)

    def step(_: int, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        w, before = carry
        ahead = w + speed * (w - before)
        return ahead - jax.grad(loss)(ahead) / steep, w

    w, _ = jax.lax.fori_loop(0, n_steps, step, (start, start))
    return w, jnp.linalg.norm(jax.grad(loss)(w)) / jnp.linalg.norm(jax.grad(loss)(start))


def apart(f: np.ndarray, exact: np.ndarray) -> float:
    """Root mean square of the difference over that of the exact scores."""
    return float(np.sqrt(np.mean((f - exact) ** 2) / np.mean(exact**2)))


def wide(x: np.ndarray, y: np.ndarray, people: np.ndarray, width: int, n_steps: int) -> dict[str, float]:
    """How far networks of one width are from the kernel model."""
    kernel = ntk_matrix(x, x)
    exact = ntk_matrix(people, x) @ kernel_ridge(kernel, y, BETA)
    half = np.random.default_rng(0).normal(size=(width // 2, x.shape[1]))
    start = jnp.asarray(np.concatenate([half, half]), jnp.float32)
    top = jnp.asarray(np.repeat([1.0, -1.0], width // 2) / np.sqrt(width), jnp.float32)
    # Units that switch in training make the loss a little steeper than its kernel.
    steep = 1.5 * float(np.linalg.eigvalsh(kernel).max()) + BETA
    rows = jnp.asarray(x, jnp.float32)
    w, left = trained(start, top, rows, jnp.asarray(y, jnp.float32), steep, n_steps)
    f = np.asarray(jax.nn.relu(jnp.asarray(people, jnp.float32) @ w.T) @ top)
    return {
        "rms difference": apart(f, exact),
        "decisions alike": float(np.mean((f > 0) == (exact > 0))),
        "gradient left": float(left),
    }


def landmarks(x: np.ndarray, y: np.ndarray, people: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """How far the solution by landmarks is from the exact one, and in what time."""
    began = time.process_time()
    exact = ntk_matrix(people, x) @ kernel_ridge(ntk_matrix(x, x), y, BETA)
    out: dict[str, Any] = {
        "rows": len(x),
        "accuracy": float(np.mean((exact > 0) == (truth > 0))),
        "processor seconds": time.process_time() - began,
    }
    for m in LANDMARKS:
        if m < len(x):
            began = time.process_time()
            weights, left_out = nystroem(x, y, x[:m], BETA)
            f = (ntk_matrix(people, x[:m]) @ weights)[:, 0]
            out[f"{m} landmarks"] = {
                "rms difference": apart(f, exact),
                "decisions alike": float(np.mean((f > 0) == (exact > 0))),
                "share of the kernel left out": left_out,
                "processor seconds": time.process_time() - began,
            }
    return out


def measure(options: Any, x: np.ndarray, y: np.ndarray, encoder: Encoder, seed: int) -> dict[str, Any]:
    """Both, for one split of one dataset."""
    train, labels, people, truth = split(x, y, seed, MANY)
    people, truth, n = people[:500], truth[:500], options.rows
    found = {f"width {w}": wide(train[:n], labels[:n], people, w, options.steps) for w in options.widths}
    return found | {"landmarks": landmarks(train, labels, people, truth)}


def main() -> None:
    """Read the command line."""
    parser, running = parsers(__doc__)
    running.add_argument("--widths", type=int, nargs="+", default=[128, 1024, 8192])
    running.add_argument("--rows", type=int, default=300)
    running.add_argument("--steps", type=int, default=2000)
    given = parser.parse_args()
    match given.command:
        case "run":
            widths = " ".join(map(str, given.widths))
            run("ntk", measure, given, f"--widths {widths} --rows {given.rows} --steps {given.steps}")
        case "merge":
            merge("ntk", given.folder, given.out)


if __name__ == "__main__":
    main()
