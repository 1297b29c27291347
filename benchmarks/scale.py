"""Rows per second of `holdtrue recourse` on one core, on all, and on a local Ray cluster; that the answers agree.

python -m benchmarks.scale [--rows 100000] [--refused 50000]

Two tables of loan applications: as they come (about one in twelve refused), and refused people only, which is what
a search costs. The time until the first row (imports, programs from the cache) is measured by a run of one chunk
and taken off, since it does not grow with the table; a run before that one fills the cache. What the command does
beside the search (reading, sending, writing, joining) is measured alone: it bounds how many cores one command can
feed.
"""

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import holdtrue as ht
from benchmarks._common import record
from holdtrue.models import CORES, n_cores
from holdtrue.runs import Source
from holdtrue.runs._identity import Identity
from holdtrue.runs._parts import Parts


def run(model: Path, table: Path, out: Path, *more: str, cores: int | None = None) -> tuple[float, float]:
    """Seconds by the clock and of processor time of one command; with `cores`, on so many."""
    command = [sys.executable, "-m", "holdtrue", "recourse", str(model), str(table), "--out", str(out), *more]
    environment, kept = os.environ | {"RAY_USAGE_STATS_ENABLED": "0"}, os.sched_getaffinity(0)
    if cores is not None:
        environment[CORES] = str(cores)
        os.sched_setaffinity(0, sorted(kept)[:cores])  # inherited
    before, began = os.times(), time.perf_counter()
    try:
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    finally:
        os.sched_setaffinity(0, kept)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - began, used


def beside(table: Path, answers: Path, folder: Path, size: int) -> float:
    """Seconds of everything but the search: read, send there and back, write, join."""
    schema = ht.datasets.load("loanapp").schema
    found = list(Source(str(answers)).tables(size))
    began = time.perf_counter()
    parts = Parts(folder / "beside.parquet", "parquet", Identity("", {}, {}), resume=False)
    for number, chunk in enumerate(Source(str(table)).chunks(schema, size)):
        pickle.loads(pickle.dumps((chunk, found[number])))
        parts.keep(number, found[number], {"rows": chunk.table.num_rows})
    parts.join(len(found))
    return time.perf_counter() - began


def rate(rows: int, seconds: float) -> float | None:
    """Rows per second; None where the machine did so much else that the difference of two runs says nothing."""
    return rows / seconds if seconds > 0 else None


def measure(folder: Path, model: Path, rows: Any, name: str, chunk: int) -> dict[str, Any]:
    n = len(rows)
    table, first = folder / f"{name}.parquet", folder / "first.parquet"
    rows.to_parquet(table, index=False)
    rows.iloc[:chunk].to_parquet(first, index=False)
    size = ("--chunk-rows", str(chunk))
    told: dict[str, Any] = {"rows": n, "rows of a chunk": chunk}
    outputs = []
    for how, more, cores in (("one core", (), 1), ("all cores", (), None), ("ray", ("--ray", "local"), None)):
        out = folder / f"{name}-{how.replace(' ', '-')}.parquet"
        run(model, first, folder / "start.parquet", *more, *size, cores=cores)  # programs into the cache
        begin, used_first = run(model, first, folder / "start.parquet", *more, *size, cores=cores)
        seconds, used = run(model, table, out, *more, *size, cores=cores)
        more_rows = n - min(n, chunk)
        told[how] = {
            "seconds, start to finish": seconds,
            "seconds of processor time": used if how != "ray" else None,  # its workers are not our children
            "rows per second of processor time": None if how == "ray" else rate(more_rows, used - used_first),
            "seconds of one chunk, with the start": begin,
            "rows per second after that": rate(more_rows, seconds - begin),
        }
        outputs.append(out.read_bytes())
    told["same bytes"] = all(o == outputs[0] for o in outputs)
    told["rows per second beside the search"] = n / beside(table, out, folder, chunk)  # type: ignore[possibly-unbound]
    status = pq.read_table(out, columns=["holdtrue_status"])["holdtrue_status"]  # type: ignore[possibly-unbound]
    told["statuses"] = {s["values"]: s["counts"] for s in status.value_counts().to_pylist()}
    return told


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--refused", type=int, default=50_000)
    parser.add_argument("--chunk-rows", type=int, default=16_384)
    parser.add_argument(
        "--note", help="What else the machine did; then the clock's figures are left out of the docs."
    )
    asked = parser.parse_args()
    bank = ht.datasets.load("loanapp")
    clf = ht.RecourseClassifier(schema=bank.schema, regime=ht.StandardTraining(n_epochs=20), random_state=0)
    clf.fit(bank.X, bank.y)
    refused = bank.X[clf.predict(bank.X) == 0]
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        model = folder / "model.holdtrue"
        clf.save(model)
        drawn = bank.X.iloc[rng.integers(0, len(bank.X), asked.rows)]
        mixed = measure(folder, model, drawn, "mixed", asked.chunk_rows)
        several = refused.iloc[rng.integers(0, len(refused), asked.refused)]
        only = measure(folder, model, several, "refused", asked.chunk_rows)
    record(
        "service/scale",
        "python -m benchmarks.scale "
        f"--rows {asked.rows} --refused {asked.refused} --chunk-rows {asked.chunk_rows}",
        {
            "data": "loanapp, resampled",
            "columns": len(bank.schema),
            "method": "Wachter",
            "ray workers": n_cores(),
            **({"note": asked.note} if asked.note else {}),
            "as they come": mixed,
            "refused only": only,
        },
    )


if __name__ == "__main__":
    main()
