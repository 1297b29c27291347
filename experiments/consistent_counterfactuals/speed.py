"""Seconds of the whole experiment: ``python -m experiments.consistent_counterfactuals.speed --out FILE``.

Six datasets one after another in this process, with one base model and up to 500 people each, and every retrained
model; by dataset and by kind of work, compilation included. ``two-cores.json`` is of two cores.
"""

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks._common import record
from experiments import experiment
from experiments._report import told_place

PAPER = "consistent-counterfactuals"
RESULTS = experiment(PAPER).results
DATASETS = ("german", "ctg", "warfarin", "heloc", "taiwan", "seizure")
KINDS = {
    "training": ("base models", "models of new seeds", "guides", "leave-one-out models"),
    "Pawelczyk et al.": ("Pawelczyk et al.",),
    "other radii and aims": ("other radii and aims",),
    "within the schema": ("within the schema",),
}
"""Kinds of work, by what is in the name of a step; the rest is the rest."""


def by_kind(seconds: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Seconds of all datasets by kind of work."""
    out = dict.fromkeys((*KINDS, "the rest"), 0.0)
    for steps in seconds.values():
        for step, took in steps.items():
            kind = next((k for k, names in KINDS.items() if any(name in step for name in names)), "the rest")
            out[kind] += took
    return {kind: round(took, 1) for kind, took in out.items()}


def main() -> None:
    """Run all, and write what is there after each dataset."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bases", type=int, default=1)
    parser.add_argument("--people", type=int, default=500)
    parser.add_argument("--out", type=Path, default=RESULTS / "two-cores.json", help="the file")
    given = parser.parse_args()
    own, began = experiment(PAPER), time.monotonic()
    options = {**own.options, "n_bases": given.bases, "n_people": given.people}
    seconds: dict[str, dict[str, float]] = {}
    command = (
        f"python -m experiments.consistent_counterfactuals.speed --bases {given.bases} --people {given.people}"
        f"{told_place(given.out, RESULTS)}"
    )
    for name in DATASETS:
        seconds[name] = own.run(name, **options, quick=False, say=print).seconds
        by_dataset = {name: round(sum(steps.values()), 1) for name, steps in seconds.items()}
        values: dict[str, Any] = {
            "options": options, "seconds": seconds, "seconds of a dataset": by_dataset,
            "seconds, all": round(sum(by_dataset.values()), 1), "seconds by kind of work": by_kind(seconds),
            "seconds of the command": round(time.monotonic() - began, 1),
        }  # fmt: skip
        record(given.out.stem, command, values, folder=given.out.parent, shown=False)


if __name__ == "__main__":
    main()
