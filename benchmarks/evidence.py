"""Evidence for a whole table: how long `holdtrue evidence` takes, from files to one file.

    python -m benchmarks.evidence [--data heloc] [--reasons 500|all] [--seed 0] [--keep FILE]

The rows of a dataset are halved by chance. The default model (curves that add up, 20 guides, 20 judges) learns
from one half. Of the other, everybody who is refused is searched for; reasons are given to 500 of them, as by
default, or to all. Then the file is checked, and made again from the model and the rows.

Every step is a process of its own, as on the command line, so that starting Python and compiling are in it;
compiled programs of earlier runs are not used. Seconds by the clock, and of the processor (user and system, all
threads); the load is the average of the last minute, before the first step and after each.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

import holdtrue as ht
from benchmarks._common import record

LABEL = "holdtrue_label"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="heloc")
    parser.add_argument("--reasons", default="500")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", metavar="FILE", help="Where to put the evidence, to be looked at.")
    options = parser.parse_args()
    command = f"python -m benchmarks.evidence --data {options.data} --reasons {options.reasons}"
    name = "evidence" if options.data == "heloc" else f"evidence-{options.data}"
    values = measured(options.data, options.reasons, options.seed, options.keep)
    record(name, f"{command} --seed {options.seed}", values)


def measured(data: str, reasons: str, seed: int, keep: str | None = None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        favourable = str(halves(data, seed, place))
        asked = ("model.holdtrue", "held_out.csv", "--target", LABEL, "--reference", "learned.csv")
        n = sum(1 for _ in (place / "held_out.csv").open()) - 1 if reasons == "all" else int(reasons)
        out: dict[str, Any] = {"load before": os.getloadavg()[0], "nice": os.nice(0)}
        out["fit"] = step(
            place, "fit", "learned.csv", "--target", LABEL, "--schema", "schema.yaml", "--favourable", favourable,
            "--seed", str(seed),
            "--out", "model.holdtrue",
        )  # fmt: skip
        out["evidence"] = step(place, "evidence", *asked, "--reasons", str(n), "--out", "evidence.zip")
        out["bytes"] = (place / "evidence.zip").stat().st_size
        out["figures checked"] = step(place, "evidence", "--verify", "evidence.zip")
        out["made again"] = step(place, "evidence", *asked, "--verify", "evidence.zip")
        with zipfile.ZipFile(place / "evidence.zip") as archive:
            said = json.loads(archive.read("evidence.json"))
        of = said["figures"]["everybody"]
        if keep is not None:
            Path(keep).write_bytes((place / "evidence.zip").read_bytes())
        return out | {
            "people": of["people"], "refused": of["refused"]["k"], "searched for": of["asked"],
            "with recourse": of["found"]["k"], "given reasons": said["figures"]["reasons"]["people"],
        }  # fmt: skip


def halves(data: str, seed: int, folder: Path) -> Any:
    """Two tables of the dataset's rows, drawn by a seed, and its schema; returns the favourable label."""
    bank = ht.datasets.load(data)
    order = np.random.default_rng(seed).permutation(len(bank.X))
    frame = bank.X.assign(**{LABEL: np.asarray(bank.y)})
    for name, half in zip(("learned", "held_out"), np.array_split(order, 2), strict=True):
        frame.iloc[np.sort(half)].to_csv(folder / f"{name}.csv", index=False)
    bank.schema.save(folder / "schema.yaml")
    return bank.favourable


def step(folder: Path, *words: str) -> dict[str, float]:
    """One command: its seconds, and the load after it."""
    own = os.environ | {"XDG_CACHE_HOME": str(folder / "cache" / str(time.monotonic_ns()))}
    own["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path.cwd()), os.environ.get("PYTHONPATH"))))
    spent = processor()
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "holdtrue.cli", *words], cwd=folder, env=own, capture_output=True, text=True
    )
    clock = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(f"holdtrue {' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    print(f"{words[0]}: {clock:.0f} s. {done.stdout or done.stderr}".strip(), flush=True)
    return {"seconds": clock, "processor": processor() - spent, "load": os.getloadavg()[0]}


def processor() -> float:
    """Seconds of the processor that finished children have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
