"""The NTK beside networks that are trained, and its Nyström approximation beside the exact solution.

    python -m experiments.robustness_tradeoffs.ntk [--widths 128 1024 8192] [--rows 300] [--steps 2000]

A two-layer ReLU network whose first layer is trained to the ridge about its start, with every unit twice and
opposite signs on top so that it starts at zero, comes to the kernel model as its width grows. Then, 5,000 training
rows exactly and by landmarks: how far the scores of new people are apart.
"""

import argparse
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks._common import record
from experiments import experiment
from experiments.robustness_tradeoffs.theory import installed, split
from holdtrue.models import kernel_ridge, ntk_matrix, nystroem

BETA = 1.0
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


def main() -> None:
    """Both, on every dataset that is there."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--widths", type=int, nargs="+", default=[128, 1024, 8192])
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--steps", type=int, default=2000)
    options = parser.parse_args()
    widths = " ".join(map(str, options.widths))
    command = f"python -m experiments.robustness_tradeoffs.ntk --widths {widths}"
    command += f" --rows {options.rows} --steps {options.steps}"
    values: dict[str, Any] = {"beta": BETA}
    for name, x, y, _ in installed():
        train, labels, people, truth = split(x, y, 0, MANY)
        people, truth = people[:500], truth[:500]
        values[name] = {
            f"width {width}": wide(train[: options.rows], labels[: options.rows], people, width, options.steps)
            for width in options.widths
        }
        values[name]["landmarks"] = landmarks(train, labels, people, truth)
        record("ntk", command, values, folder=experiment("robustness-tradeoffs").results, shown=False)
        print(name, values[name], flush=True)


if __name__ == "__main__":
    main()
