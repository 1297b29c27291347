"""What the benchmarks share: the job, the floor, the record."""

import itertools
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

import holdtrue as ht
from holdtrue._json import write_result
from holdtrue.models import n_cores

RESULTS = Path(__file__).parent / "results"
WIDTHS = (128, 64, 16)


def german_job(seed: int = 0) -> tuple[ht.RecourseClassifier, pd.DataFrame, str]:
    """A fitted MLP 128-64-16 on German Credit (700 rows), the people it refuses, and what data it was.

    Without the data file (see `holdtrue datasets`), a table of the same shape is made up, and said so.
    """
    try:
        bank = ht.datasets.load("german_credit")
        X, y, schema, name = bank.X, bank.y, bank.schema, "german_credit"
    except ht.errors.DataError:
        X, y, schema = made_up()
        name = "made up, 61 inputs (german_credit is not installed)"
    clf = ht.RecourseClassifier(schema=schema, model=ht.MLP(widths=WIDTHS), random_state=seed)
    clf.fit(X.iloc[:700], y[:700])
    return clf, X[clf.predict(X) != clf.predictor_.favourable], name


def made_up(n: int = 1000) -> tuple[pd.DataFrame, np.ndarray, ht.Schema]:
    """Seven numbers and thirteen categories with 54 levels in all, as in German Credit."""
    rng = np.random.default_rng(0)
    levels = (4, 5, 10, 5, 5, 4, 3, 4, 3, 3, 4, 2, 2)
    columns: dict[str, Any] = {f"n{i}": rng.integers(0, 60, n) for i in range(7)}
    columns |= {f"c{i}": rng.integers(0, k, n).astype(str) for i, k in enumerate(levels)}
    table = pd.DataFrame(columns)
    features = [ht.Feature(name=f"n{i}", kind="integer") for i in range(7)]
    features += [ht.Feature(name=f"c{i}", kind="categorical") for i in range(len(levels))]
    score = table["n0"] - table["n1"] + 20.0 * (table["c0"] == "1") + rng.normal(0, 10, n)
    return table, (score > score.quantile(0.3)).astype(int).to_numpy(), ht.Schema(features)


def matmul_rate(rows: int, widths: tuple[int, ...], threads: int) -> float:
    """Floating-point operations per second of plain float32 matrix products of a network's shapes."""
    weights = [
        jnp.asarray(np.random.default_rng(0).normal(size=(a, b)) / a, jnp.float32)
        for a, b in itertools.pairwise(widths)
    ]
    repeat = 200

    @jax.jit
    def chain(x: jax.Array) -> jax.Array:
        def body(_: int, at: jax.Array) -> jax.Array:
            out = at
            for weight in weights:
                out = out @ weight
            return at + out[:, :1]  # keep the loop honest: every product is needed

        return jax.lax.fori_loop(0, repeat, body, x)

    x = jnp.ones((rows, widths[0]), jnp.float32)
    chain(x).block_until_ready()
    calls = 4 * threads

    def run() -> None:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda _: chain(x).block_until_ready(), range(calls)))

    seconds = best_of(run, 3)
    return calls * repeat * rows * forward_operations(widths) / seconds


def forward_operations(widths: tuple[int, ...]) -> int:
    """Multiplications and additions of one row through the layers."""
    return sum(2 * a * b for a, b in itertools.pairwise(widths))


def best_of(run: Callable[[], Any], n: int) -> float:
    """Seconds of the fastest of `n` runs."""
    times = []
    for _ in range(n):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times)


def record(name: str, command: str, values: dict[str, Any], *, folder: Path = RESULTS, shown: bool = True) -> None:
    """Write a result with the command that made it to a folder; print it unless told not to."""
    header = {
        "command": command,
        "cores": n_cores(),
        "backend": jax.default_backend(),
        "device": jax.devices()[0].device_kind,
        "machine": platform.machine(),
        "python": platform.python_version(),
        "jax": jax.__version__,
        "holdtrue": ht.__version__,
    }
    target = folder / f"{name}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    write_result(target, header | values)
    if not shown:
        return
    print(f"\n{name}  ({command})")
    for key, value in values.items():
        print(f"  {key:<42} {value:,.3f}" if isinstance(value, float) else f"  {key:<42} {value}")
