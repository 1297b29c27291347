"""Proofs held against trying everything: random small schemas, linear models, every action on the grid.

python -m benchmarks.attack.brute [--worlds 300] [--first 0] [--methods flipset,sparse_search] [--print]

Counts claims that trying everything contradicts: an OPTIMAL with something cheaper, an INFEASIBLE with a way, a
recourse that breaks a limit or is refused; and, as misses, people with a way who were told NOT_FOUND. Results are
written world by world, so that a run that is stopped goes on where it was.
"""

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import holdtrue as ht
from benchmarks._common import RESULTS, record
from benchmarks.attack._checker import Row, actions, broken
from benchmarks.attack._worlds import World, world
from holdtrue.batch import Predictor
from holdtrue.encoding import distance, norm_weights
from holdtrue.methods import METHODS, AbstractMethod
from holdtrue.search import Status

CLEAR = 3e-4  # log-odds: proofs are about points that clear the threshold by half of this
CHEAPER = 1e-4  # of cost, beyond rounding in single precision


def attack(seed: int, names: list[str]) -> dict[str, Counter[str]]:
    """Hold every method's claims in one world against every action; counts per method."""
    place = world(seed)
    predictor = place.linear()
    everything = [_ways(place, predictor, i) for i in range(len(place.table))]
    return {name: _held_against(METHODS[name](), place, predictor, everything) for name in names}


def _held_against(
    method: AbstractMethod, place: World, predictor: Predictor, everything: list[tuple[float, bool, bool]]
) -> Counter[str]:
    if hasattr(method, "max_changes"):
        method.set_params(max_changes=len(place.schema))
    method.set_params(random_state=0)
    plan = method.fit(predictor, place.table).recourse(place.table, restrictions=place.restrictions)
    schema = predictor.encoder.schema.to_dict()
    rows, proposed = (
        _rows(place.table, place.schema),
        _rows(pd.DataFrame(dict(plan.recourse.columns)), place.schema),
    )
    counts: Counter[str] = Counter(people=len(plan))
    for i, (least, exists, already) in enumerate(everything):
        status = Status(plan.status[i])
        counts[status.name] += 1
        if status in (Status.FOUND, Status.OPTIMAL):
            wrong = broken(schema, rows[i], proposed[i], place.restrictions[i])
            counts["breaks a limit"] += int(bool(wrong))
            counts["refused"] += int(not plan.valid[i])
        counts["cheaper exists"] += int(status == Status.OPTIMAL and least < plan.cost[i] - CHEAPER)
        counts["a way exists"] += int(status == Status.INFEASIBLE and exists)
        counts["missed"] += int(status == Status.NOT_FOUND and exists)
        counts["not favourable"] += int(status == Status.ALREADY_FAVOURABLE and not already)
    return counts


def _ways(place: World, predictor: Predictor, i: int) -> tuple[float, bool, bool]:
    """Least cost of every action that is clearly accepted, whether there is one, and whether the person is."""
    own = _rows(place.table.iloc[[i]], place.schema)[0]
    tried = list(actions(predictor.encoder.schema.to_dict(), own, place.restrictions[i]))
    encoder = predictor.encoder
    now = predictor.logits(place.table.iloc[[i]])[0].astype(float)
    if not tried:
        return np.inf, False, now[1] >= now[0]
    frame = pd.DataFrame(tried, columns=list(place.table.columns)).astype(place.table.dtypes)
    logits = predictor.logits(frame).astype(float)
    yes = logits[:, 1] - logits[:, 0] >= CLEAR
    x, y = encoder.encode(place.table.iloc[[i]]), encoder.encode(frame)
    cost = np.asarray(distance(y, x, "l1", norm_weights(encoder, "l1")))
    return float(np.min(cost[yes], initial=np.inf)), bool(yes.any()), now[1] >= now[0]


def _rows(table: pd.DataFrame, schema: ht.Schema) -> list[Row]:
    names = list(schema.names)
    columns = [[None if v is None or v != v else v for v in table[name].tolist()] for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


WRONG = ("cheaper exists", "a way exists", "breaks a limit", "refused", "not favourable")


def main() -> None:
    """Run, printing what was found; the file of counts grows world by world."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--methods", default="flipset,sparse_search")
    parser.add_argument("--to", type=Path, default=RESULTS / "attack" / "brute.jsonl")
    parser.add_argument("--print", action="store_true", dest="show", help="Print only; write nothing.")
    options = parser.parse_args()
    names, total = options.methods.split(","), {}
    known: dict[str, Any] = {}
    if options.to.exists() and not options.show:
        known = {f"{line['world']} {line['method']}": line for line in map(json.loads, options.to.open())}
    for seed in range(options.first, options.first + options.worlds):
        left = [name for name in names if f"{seed} {name}" not in known]
        for name, counts in attack(seed, left).items() if left else ():
            line = {"world": seed, "method": name, **counts}
            known[f"{seed} {name}"] = line
            if not options.show:
                options.to.parent.mkdir(parents=True, exist_ok=True)
                with options.to.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
            if any(counts[w] for w in WRONG) or counts["missed"]:
                print(json.dumps(line), flush=True)
    for line in known.values():
        total.setdefault(line["method"], Counter()).update(
            {k: v for k, v in line.items() if k not in ("world", "method")}
        )
    print(json.dumps(total, indent=1))
    if not options.show:
        record(
            "attack/brute",
            "python -m benchmarks.attack.brute",
            {"methods": total, "worlds": len({line["world"] for line in known.values()})},
        )


if __name__ == "__main__":
    main()
