"""What attacks share: rows as plain values, and counts that are written world by world."""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import holdtrue as ht
from benchmarks._common import RESULTS, record
from benchmarks.attack._checker import Row


def rows_of(table: pd.DataFrame, schema: ht.Schema) -> list[Row]:
    """People as dictionaries of plain values, None where one is missing."""
    names = list(schema.names)
    columns = [[None if v is None or v != v else v for v in table[name].tolist()] for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def crashed(seed: int, name: str, error: Exception) -> Counter[str]:
    """The counts of a call that ended in an error."""
    print(f"world {seed}, {name}: {type(error).__name__}: {str(error)[:200]}", flush=True)
    return Counter(crashed=1)


def attacked(
    name: str, about: str, attack: Callable[[int], dict[str, Counter[str]]], wrong: Sequence[str], *, worlds: int
) -> None:
    """Attack world after world; a world that is in the file of counts is not attacked again."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--worlds", type=int, default=worlds)
    parser.add_argument("--first", type=int, default=0, help="Seed of the first world.")
    parser.add_argument("--to", type=Path, default=RESULTS / "attack" / f"{name}.jsonl")
    parser.add_argument("--print", action="store_true", dest="show", help="Print only; write nothing.")
    options = parser.parse_args()
    lines: list[dict[str, Any]] = []
    if options.to.exists() and not options.show:
        lines = [json.loads(line) for line in options.to.read_text(encoding="utf-8").splitlines()]
    known = {line["world"] for line in lines}
    for seed in range(options.first, options.first + options.worlds):
        if seed in known:
            continue
        made = [{"world": seed, "method": method, **counts} for method, counts in attack(seed).items()]
        lines += made
        if not options.show:
            options.to.parent.mkdir(parents=True, exist_ok=True)
            with options.to.open("a", encoding="utf-8") as file:
                file.write("".join(json.dumps(line) + "\n" for line in made))
        for line in made:
            if any(line.get(what) for what in (*wrong, "missed")):
                print(json.dumps(line), flush=True)
    total: dict[str, Counter[str]] = {}
    for line in lines:
        counts = {what: n for what, n in line.items() if what not in ("world", "method")}
        total.setdefault(line["method"], Counter()).update(counts)
    everybody = sum(total.values(), Counter())
    told = {"worlds": len({line["world"] for line in lines}), "people": everybody["people"]}
    told |= {what: everybody[what] for what in wrong} | {"methods": total}
    print(json.dumps(told, indent=1))
    if not options.show:
        record(f"attack/{name}", f"python -m benchmarks.attack.{name}", told, shown=False)
