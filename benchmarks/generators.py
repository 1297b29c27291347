"""A recourse head: seconds per epoch of training it against an attacker, and microseconds per person of using it.

    python -m benchmarks.generators [--rows 17500]

The paper's network for loans (110 inputs, encoder 200-10, predictor 10, generator 10) and attack (T = 7, K = 2,
batches of 128) on as many rows as the year 1995 has to learn from; made up where the file of the loans is not
installed. An epoch is the difference between a training of six epochs and one of one, over five. Generation is
one pass with its hardening for 10,000 people, and then the whole of ``clf.recourse``: tables read, limits
worked out, decoded and checked.
"""

import argparse
import time
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

import holdtrue as ht
from benchmarks._common import best_of, record
from holdtrue.encoding import Permits
from holdtrue.models import Data, fit
from holdtrue.training import RoCourseNet

NETWORK = ht.CounterNet(encoder=(200, 10), predictor=(10,), generator=(10,))
PEOPLE = 10_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=17_500)
    options = parser.parse_args()
    X, y, schema, name = loans(options.rows)
    values: dict[str, Any] = {"data": name, "training rows": len(X)}
    clf = ht.RecourseClassifier(
        schema=schema, model=NETWORK, regime=ht.CounterNetTraining(n_epochs=5, min_updates=0), random_state=0
    ).fit(X, y)
    data, model = clf.training_.data, clf.architecture().build(clf.training_.data.x.shape[1], 2, jax.random.key(0))
    more: dict[str, Any] = {"head__proposals": 8, "head__strange_weight": 1.0, "head__rare": 0.003}
    for attacker in ("none", "vds", "guides"):
        for suffix, extra in {"": {}, ", 8 proposals": more}.items():
            regime: Any = ht.CounterNetTraining() if attacker == "none" else RoCourseNet(attacker=attacker)
            regime.set_params(**extra)
            values[f"seconds per epoch, {attacker}{suffix}"] = seconds_per_epoch(regime, model, data, clf)
    values |= generation(clf, X)
    record("generators", "python -m benchmarks.generators", values)


def loans(n: int) -> tuple[pd.DataFrame, np.ndarray, ht.Schema, str]:
    """Loans of 1995, or a table of their shape: seven numbers and five categories with 103 levels."""
    try:
        sba = ht.datasets.load("sba_loans", variant="rocoursenet")
        rows = np.flatnonzero((sba.groups["Year"] == 1995).to_numpy())[:n]
        return sba.X.iloc[rows].reset_index(drop=True), np.asarray(sba.y)[rows], sba.schema, "sba_loans, 1995"
    except ht.errors.DataError:
        pass
    rng = np.random.default_rng(0)
    levels = (51, 36, 3, 7, 6)
    columns: dict[str, Any] = {f"n{i}": rng.uniform(size=n) for i in range(7)}
    columns |= {f"c{i}": rng.integers(0, k, n).astype(str) for i, k in enumerate(levels)}
    table = pd.DataFrame(columns)
    score = table["n0"] + table["c1"].astype(int) / 18 + rng.normal(0, 0.3, n)
    features = [ht.Feature(name=f"n{i}", kind="numeric", bounds=(0, 1)) for i in range(7)]
    features += [ht.Feature(name=f"c{i}", kind="categorical") for i in range(5)]
    y = (score > score.quantile(0.2)).astype(int).to_numpy()
    return table, y, ht.Schema(features), "made up, 110 inputs (sba_loans is not installed)"


def seconds_per_epoch(regime: Any, model: Any, data: Data, clf: ht.RecourseClassifier) -> float:
    """An epoch, without compiling."""
    step, seconds = regime.step(clf.context_), {}
    for n_epochs in (1, 6):
        run = lambda n=n_epochs: fit(model, step, data, jax.random.key(1), n_epochs=n, batch_size=128)  # noqa: E731
        run()
        seconds[n_epochs] = best_of(run, 2)
    return (seconds[6] - seconds[1]) / 5


def generation(clf: ht.RecourseClassifier, X: pd.DataFrame) -> dict[str, Any]:
    """Time per person of the pass alone, and of the whole answer."""
    permits, model = Permits.of(clf.predictor_.encoder), clf.predictor_.decision.model
    rows = jnp.asarray(np.resize(np.asarray(clf.training_.data.x), (PEOPLE, clf.training_.data.x.shape[1])))

    @eqx.filter_jit
    def written(network: Any, x: jax.Array) -> jax.Array:
        def one(row: jax.Array) -> jax.Array:
            feasible = permits(row)
            return feasible.hard(network.generate(row, feasible, jnp.asarray(0)))[0]

        return jax.vmap(one)(x)

    written(model, rows).block_until_ready()
    alone = best_of(lambda: written(model, rows).block_until_ready(), 10)
    people = X.iloc[np.arange(PEOPLE) % len(X)].reset_index(drop=True)
    clf.recourse(people, target=0)
    began = time.perf_counter()
    clf.recourse(people, target=0)
    return {
        "people": PEOPLE,
        "microseconds per person, generated and hardened": 1e6 * alone / PEOPLE,
        "microseconds per person, clf.recourse": 1e6 * (time.perf_counter() - began) / PEOPLE,
    }


if __name__ == "__main__":
    main()
