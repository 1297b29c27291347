"""What a virtual data shift breaks, a subset and a seed a file: Figures 4a, 4d and 12 by processes side by side.

    python -m experiments.rocoursenet.attacked train DATASET FOLDER [--seed N ...] [--updates N]
    python -m experiments.rocoursenet.attacked run DATASET FOLDER [--subset NAME ...] [--seed N ...] [--updates N]

An attack asks nobody but a subset's own model, so that subsets need not wait for one another. Models are those of
``experiments.rocoursenet run DATASET FOLDER attacks --whole``: rows of all subsets are made alike before one is
trained. ``run`` trains those of its subsets, unless ``train`` has put those of all into FOLDER, as on an
accelerator, quick at training and slow at attacks. It writes ``FOLDER/attacked/DATASET-SUBSET-SEED.json``;
what is there is not run again. Once every subset is there for the same seeds, their means are in
``FOLDER/DATASET-attacks.json``, which ``experiments.rocoursenet merge FOLDER`` takes.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from experiments._report import write
from experiments.rocoursenet._attack import attacks
from experiments.rocoursenet._data import Tasks, alike, read_tasks
from experiments.rocoursenet._generators import Recipe, trained
from experiments.rocoursenet._recipes import Sizes, recipes
from experiments.rocoursenet._run import ATTACKS, N_FEW
from experiments.rocoursenet._settings import SETTINGS
from holdtrue.errors import DataError

ATTACKED = {"guides", "printed", "plain"}


def groups(tasks: Tasks, seeds: Sequence[int], n_updates: int) -> list[dict[str, Recipe]]:
    """Recipes whose models are attacked."""
    return recipes(tasks, Sizes(n_updates, tasks[0].setting.batch_size, seeds, 0), ATTACKED)


def train(tasks: Tasks, folder: Path, seeds: Sequence[int], n_updates: int) -> None:
    """Put the models of every subset into a folder, a file a recipe and seed."""
    for group in groups(tasks, seeds, n_updates):
        ((name, by_seed),) = trained(tasks, group, seeds)[0].items()
        for seed, models in zip(seeds, by_seed, strict=True):
            place = _models(folder, tasks, name, seed, n_updates)
            place.parent.mkdir(parents=True, exist_ok=True)
            eqx.tree_serialise_leaves(place.with_suffix(".part"), models)
            place.with_suffix(".part").rename(place)
            print(place.name, flush=True)


def _models(folder: Path, tasks: Tasks, name: str, seed: int, n_updates: int) -> Path:
    return folder / "models" / f"{tasks[0].setting.dataset}-{name.replace(', ', '-')}-{seed}-{n_updates}.eqx"


def run(
    tasks: Tasks, subset: int, seeds: Sequence[int], n_updates: int, folder: Path
) -> dict[int, dict[str, Any]]:
    """By seed, what attacks do to recourse of one subset's people."""
    own, rows = (tasks[subset],), [alike(tasks)[subset]]
    models: dict[str, Any] = {}
    for group in groups(tasks, seeds, n_updates):
        ((name, recipe),) = group.items()
        places = [_models(folder, tasks, name, seed, n_updates) for seed in seeds]
        if all(place.exists() for place in places):
            like = [recipe.network.build(own[0].encoder.n_columns, 2, jax.random.key(0))] * len(tasks)
            models[name] = [[eqx.tree_deserialise_leaves(place, like)[subset]] for place in places]
        else:
            models |= trained(own, group, seeds, rows=rows)[0]
    found: dict[int, dict[str, Any]] = {}
    for i, seed in enumerate(seeds):
        of_seed = {name: [by_seed[i]] for name, by_seed in models.items()}
        found[seed] = {
            key: value for norm in ATTACKS.values() for key, value in attacks(own, of_seed, norm).items()
        }
    return found


def together(cells: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means of cells over subsets, in lists over seeds; every subset must have the same seeds."""
    seeds = sorted({cell["seed"] for cell in cells})
    of_seed = [[cell["attacks"] for cell in cells if cell["seed"] == seed] for seed in seeds]

    def mean(*path: str) -> list[float]:
        return [float(np.nanmean([_at(cell, path) for cell in own])) for own in of_seed]

    return {
        sweep: {
            name: {
                value: {what: mean(sweep, name, value, what) for what in figures}
                for value, figures in by_value.items()
            }
            for name, by_value in by_name.items()
        }
        for sweep, by_name in of_seed[0][0].items()
    }


def _at(cell: Any, path: Sequence[str]) -> float:
    for key in path:
        cell = cell[key]
    return np.nan if cell[0] is None else cell[0]  # a list of one seed; None where nobody had recourse


def put_together(folder: Path, tasks: Tasks, head: dict[str, Any]) -> Path | None:
    """Write the file that `merge` takes, if every subset is there for the same seeds."""
    name, every = head["dataset"], {s.name for s in tasks}
    cells = [
        json.loads(place.read_text("utf-8")) for place in sorted((folder / "attacked").glob(f"{name}-*.json"))
    ]
    if other := sorted({cell["command"] for cell in cells} - {head["command"]}):
        raise DataError(f"attacked: `folder` has cells of another command; got {other!r}. Name another folder.")
    seeds = {own: {c["seed"] for c in cells if c["subset"] == own} for own in every}
    common = set.intersection(*seeds.values())
    if not common or any(own != common for own in seeds.values()):
        return None
    empty: dict[str, Any] = {
        key: {} for key in ("methods", "performance", "oracle", "times", "sweeps_of", "seconds")
    }
    device = ", ".join(sorted({cell["device"] for cell in cells}))
    rest = {"seeds": sorted(common), "attacks": together(cells), "device": device, "whole": True}
    place = folder / f"{name}-attacks.json"
    write(place, head | empty | rest)
    return place


def main() -> None:
    """Run the cells that are not there yet, or train for them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(required=True, dest="command")
    training, running = commands.add_parser("train"), commands.add_parser("run")
    for part in (training, running):
        part.add_argument("dataset", choices=list(SETTINGS))
        part.add_argument("folder", type=Path)
        part.add_argument("--seed", nargs="+", type=int, default=list(range(N_FEW)))
        part.add_argument("--updates", type=int, help="minibatches that every model learns from")
        part.add_argument("--people", type=int, default=1000, help="at most so many test rows of each subset")
    running.add_argument("--subset", nargs="*", help="some of the subsets; all when left out, none when empty")
    given = parser.parse_args()
    setting = SETTINGS[given.dataset]
    tasks, n_updates = read_tasks(given.dataset, n_people=given.people), given.updates or setting.n_updates
    if given.command == "train":
        train(tasks, given.folder, given.seed, n_updates)
        return
    command = f"python -m experiments.rocoursenet.attacked run {given.dataset} FOLDER --updates {n_updates}"
    head = {
        "dataset": given.dataset, "title": setting.title, "subsets": [s.name for s in tasks],
        "n_updates": n_updates, "command": f"{command} --people {given.people}",
    }  # fmt: skip
    (given.folder / "attacked").mkdir(parents=True, exist_ok=True)
    for i, subset in enumerate(tasks):
        places = {s: given.folder / "attacked" / f"{given.dataset}-{subset.name}-{s}.json" for s in given.seed}
        left = [seed for seed, place in places.items() if not place.exists()]
        if not left or (given.subset is not None and subset.name not in given.subset):
            continue
        for seed, found in run(tasks, i, left, n_updates, given.folder).items():
            cell = {"subset": subset.name, "seed": seed, "device": jax.devices()[0].device_kind}
            write(places[seed], cell | {"command": head["command"], "attacks": found})
            print(places[seed].name, flush=True)
    place = put_together(given.folder, tasks, head)
    print("some subsets are left" if place is None else place)


if __name__ == "__main__":
    main()
