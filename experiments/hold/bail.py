"""Releases of 1978, asked of the model of 1980: is advice that resamples accept still good two years on?

``python -m experiments.hold.bail`` writes ``results/bail.json``. There is one period before the judge's, so
nothing can be chosen by a backtest: the slack is the smallest that resamples of 1978 keep to 95%.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from experiments._results import made_with
from experiments.hold.sba import KINDS, RESULTS, recipe
from holdtrue._cache import use_cache
from holdtrue._json import to_json
from holdtrue.datasets import load
from holdtrue.hold import Backtest, backtest
from holdtrue.methods import SparseSearch

SLACKS = (-1.0, -0.5, -0.25, 0.0, 0.125, 0.25, 0.5, 0.75, 1.0, 1.5)
HOLD = 0.95


def replay(kind: str, people: int) -> Backtest:
    """Offers of 1978, asked of 1980."""
    data = load("bail")
    assert data.groups is not None
    y, cohort = np.asarray(data.y), data.groups["cohort"].to_numpy()
    X: Any = data.X
    periods = [(str(t), X[cohort == t].reset_index(drop=True), y[cohort == t]) for t in (1978, 1980)]
    return backtest(
        recipe(kind), periods, data.schema, (1,), window=1, slacks=SLACKS, people=people, n_guides=20, n_judges=20,
        past=1, method=SparseSearch(),
    )  # fmt: skip


def told(past: Backtest) -> dict[str, Any]:
    """What was offered at each slack, and the slack that resamples choose."""
    offers = past.periods[0].offers
    enough = [o.slack for o in offers if o.slack is not None and o.again is not None and o.again >= HOLD]
    keys = ("slack", "people", "found", "cost", "price", "again")
    return {
        "refused": past.periods[0].refused,
        "asked": past.periods[0].asked,
        "offers": [{k: getattr(o, k) for k in keys} | {"kept": o.share(1)} for o in offers],
        "chosen": enough[0] if enough else None,
    }


def main() -> None:
    """Replay with every kind of model, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    use_cache()
    began = time.perf_counter()
    kinds = {kind: told(replay(kind, given.people)) for kind in KINDS}
    text = to_json(
        {
            "kinds": kinds,
            "command": f"python -m experiments.hold.bail --people {given.people}",
            "seconds": {"this call": round(time.perf_counter() - began, 1)},
        }
        | made_with({"people": given.people}),
        indent=None,
    )
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "bail.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
