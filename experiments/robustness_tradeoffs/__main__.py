"""Parts of that paper's experiment in processes of their own, and what they found put together.

    python -m experiments.robustness_tradeoffs run DATASET FOLDER PART [PART ...] [--splits N] [--people N]
    python -m experiments.robustness_tradeoffs merge FOLDER [FOLDER ...]

``run`` has parts of ``experiments.robustness_tradeoffs._run.PARTS`` and writes ``FOLDER/DATASET.json`` when they
are done; what is there is not run again. ``merge`` puts the files of some folders, in their order, into
``results/DATASET.json``: what a file has replaces what was there, and what it has not stays.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments._report import write
from experiments._results import in_turn
from experiments.robustness_tradeoffs._result import Result
from experiments.robustness_tradeoffs._run import PARTS
from experiments.robustness_tradeoffs._run import run as experiment
from holdtrue.errors import DataError

RESULTS = Path(__file__).parent / "results"
ALIKE = ("n_train", "n_columns", "n_fixed_columns")
"""What two files must share to be of one experiment."""


def run(dataset: str, folder: Path, parts: list[str], n_splits: int, n_people: int) -> None:
    """Run some parts of one dataset, unless they are there."""
    place = folder / f"{dataset}.json"
    if place.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - began:7.1f} {dataset}: {what}", flush=True)

    found = experiment(dataset, n_splits=n_splits, n_people=n_people, parts=parts, say=say)
    command = (
        f"python -m experiments.robustness_tradeoffs run {dataset} FOLDER {' '.join(parts)} --splits {n_splits} "
        f"--people {n_people}"
    )
    made = found.made_with({"n_splits": n_splits, "n_people": n_people, "quick": False}, command)
    assert isinstance(made.device, str)
    write(place, replace(made, device={", ".join(parts): made.device}).to_dict())
    say("done")


def merge(into: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """A dataset's results with those of another process."""
    if not into:
        return found
    for key in ALIKE:
        if into[key] != found[key]:
            raise DataError(
                f"merge: `{key}` of {found['dataset']!r} differs; got {into[key]!r} and {found[key]!r}. "
                "Merge runs of the same data."
            )
    kept = ("models", "seconds")
    out = into | {key: value for key, value in found.items() if value not in (None, {}) and key not in kept}
    out["n_splits"] = max(into["n_splits"], found["n_splits"])
    out["radii"] = into["radii"] if len(into["radii"]) >= len(found["radii"]) else found["radii"]
    out["collapse"] = max(into["collapse"], found["collapse"], key=lambda c: len(c["linf"]))
    out["models"] = into.get("models", {}) | found.get("models", {})
    out["seconds"] = into["seconds"] | found["seconds"]
    if isinstance(into.get("device"), dict) and isinstance(found.get("device"), dict):
        out["device"] = into["device"] | found["device"]
    merging = "python -m experiments.robustness_tradeoffs merge FOLDER"
    before = [step for step in (into.get("command") or "").split(" && ") if step != merging]
    out["command"] = in_turn(*before, found.get("command"), merging)
    return out


def merge_folders(folders: Sequence[Path], results: Path = RESULTS) -> list[Path]:
    """Put every file of some folders into the results; the files that were written."""
    written = []
    for place in (p for folder in folders for p in sorted(folder.glob("*.json"))):
        target = results / place.name
        before = json.loads(target.read_text("utf-8")) if target.exists() else {}
        merged = merge(before, json.loads(place.read_text("utf-8")))
        write(target, Result.from_dict(merged).to_dict())
        written.append(target)
    return written


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(required=True, dest="command")
    running = commands.add_parser("run")
    running.add_argument("dataset")
    running.add_argument("folder", type=Path)
    running.add_argument("parts", nargs="+", choices=list(PARTS))
    running.add_argument("--splits", type=int, default=10)
    running.add_argument("--people", type=int, default=400)
    commands.add_parser("merge").add_argument("folders", nargs="+", type=Path)
    given = parser.parse_args()
    if given.command == "run":
        run(given.dataset, given.folder, given.parts, given.splits, given.people)
    else:
        for name in merge_folders(given.folders):
            print(name)
