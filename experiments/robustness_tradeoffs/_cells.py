"""Figures of one dataset and one split in a file of their own, and all of them in one: what commands here share.

A command has ``run FOLDER [--dataset NAME ...] [--split N ...]``, which writes ``FOLDER/NAME-DATASET-SPLIT.json``
and does not run again what is there, so that processes may share the work; and ``merge FOLDER``, which puts these
into ``results/NAME.json``: of every figure a list, a value a split.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from benchmarks._common import record
from experiments._report import write
from experiments.robustness_tradeoffs.theory import DATASETS, installed
from holdtrue.encoding import Encoder
from holdtrue.errors import DataError

RESULTS = Path(__file__).parent / "results"
N_SPLITS = 10
BETA = 1.0  # of every kernel model here
Measure = Callable[[Any, np.ndarray, np.ndarray, Encoder, int], dict[str, Any]]
"""Of the options, a dataset's encoded rows, labels and encoder, and a split: its figures."""


def together(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Figures of some splits as one: a list in the place of a number; None in it where a split has none."""
    out: dict[str, Any] = {}
    for key in dict.fromkeys(key for part in parts for key in part):
        values = [part.get(key) for part in parts]
        nested = any(isinstance(value, Mapping) for value in values)
        out[key] = together([value or {} for value in values]) if nested else values
    return out


def parsers(told: str | None) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """A command line with ``run`` and ``merge``, and the part of it that has the options of ``run``."""
    parser = argparse.ArgumentParser(description=(told or "").splitlines()[0])
    commands = parser.add_subparsers(required=True, dest="command")
    running = commands.add_parser("run")
    running.add_argument("folder", type=Path)
    running.add_argument("--dataset", nargs="+", choices=DATASETS, default=DATASETS)
    running.add_argument("--split", nargs="+", type=int, default=range(N_SPLITS))
    merging = commands.add_parser("merge")
    merging.add_argument("folder", type=Path)
    merging.add_argument("--out", type=Path, default=RESULTS)
    return parser, running


def run(name: str, measure: Measure, given: argparse.Namespace, told: str) -> None:
    """Measure the cells that are not there yet; `told` are the options that the command line names."""
    command = f"python -m experiments.robustness_tradeoffs.{name} run FOLDER {told}"
    given.folder.mkdir(parents=True, exist_ok=True)
    for dataset, x, y, encoder in installed():
        for split in given.split if dataset in given.dataset else ():
            place = given.folder / f"{name}-{dataset}-{split}.json"
            if not place.exists():
                cell = {"dataset": dataset, "split": split, "device": jax.devices()[0].device_kind}
                write(place, cell | {"figures": measure(given, x, y, encoder, split), "command": command})
                print(place.name, flush=True)


def merge(name: str, folder: Path, out: Path = RESULTS) -> None:
    """Put the cells of a folder into one file; every dataset must have the same splits, by one command."""
    cells = [json.loads(place.read_text("utf-8")) for place in sorted(folder.glob(f"{name}-*-*.json"))]
    cells.sort(key=lambda cell: (DATASETS.index(cell["dataset"]), cell["split"]))
    by = {own: [c for c in cells if c["dataset"] == own] for own in dict.fromkeys(c["dataset"] for c in cells)}
    splits = {own: [cell["split"] for cell in parts] for own, parts in by.items()}
    made = {cell["command"] for cell in cells}
    if not cells or len(made) > 1 or len({tuple(own) for own in splits.values()}) > 1:
        raise DataError(
            f"merge: `folder` must have cells of {name!r} by one command, the same splits of every dataset; "
            f"got {splits!r} by {sorted(made)!r}. Run what is lacking, or name another folder."
        )
    devices = ", ".join(sorted({cell["device"] for cell in cells}))
    values = {"device": devices, "beta": BETA, "splits": next(iter(splits.values()))}
    values |= {own: together([cell["figures"] for cell in parts]) for own, parts in by.items()}
    command = f"{made.pop()} && python -m experiments.robustness_tradeoffs.{name} merge FOLDER"
    record(name.replace("_", "-"), command, values, folder=out, shown=False)
    print(out / f"{name.replace('_', '-')}.json")
