"""RoCourseNet's experiment, part by part in processes of their own, and what they found put together.

    python -m experiments.rocoursenet run DATASET FOLDER PART [PART ...] [--seeds N] [--whole] [--out FILE]
    python -m experiments.rocoursenet.choose DATASET --out FOLDER/DATASET-choice.json
    python -m experiments.rocoursenet merge FOLDER [FOLDER ...]

``holdtrue papers rocoursenet`` runs everything one after the other. This runs some parts (those of
``experiments.rocoursenet._run.PARTS``) and writes what is there to ``FOLDER/DATASET-PART.json`` after each of
their steps; on a machine with many cores several such processes run side by side. ``merge`` puts the files of
some folders into ``experiments/rocoursenet/results/DATASET.json``: files of one part with different seeds are
joined first; then a row with more seeds replaces one with fewer, and of two with as many the later one stays. The
settings that `choose` tried go along.
"""

import argparse
import json
import re
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments._report import told_place, write
from experiments._results import in_turn
from experiments.rocoursenet._run import N_FEW, PARTS

RESULTS = Path(__file__).parent / "results"
BY_SEED = ("methods", "performance", "oracle")
"""Of a result: by name, a list with an entry per seed."""


def run(
    dataset: str,
    folder: Path,
    parts: list[str],
    n_seeds: int,
    *,
    quick: bool,
    out: Path | None = None,
    **others: Any,
) -> None:
    """Run some parts of one dataset; what is there so far is always on disk."""
    import jax

    from experiments.rocoursenet import run as experiment

    own = [*parts, f"seed{others['first']}"] if others.get("first") else parts
    place = out or folder / f"{dataset}-{'-'.join(own)}.json".replace(", ", "-").replace(" ", "-")
    began, command = time.monotonic(), _command(dataset, parts, n_seeds, out, others)
    place.parent.mkdir(parents=True, exist_ok=True)

    def say(what: str) -> None:
        print(f"{time.monotonic() - began:7.1f} {dataset}: {what}", flush=True)

    def keep(found: dict[str, Any]) -> None:
        write(place, found | {"device": jax.devices()[0].device_kind, "command": command})

    keep(experiment(dataset, n_splits=n_seeds, quick=quick, parts=parts, say=say, keep=keep, **others).to_dict())
    say("done")


def _command(dataset: str, parts: list[str], n_seeds: int, out: Path | None, others: Mapping[str, Any]) -> str:
    """What runs these parts again."""
    named = " ".join(f"'{part}'" if " " in part else part for part in parts)
    told = f"python -m experiments.rocoursenet run {dataset} FOLDER {named} --seeds {n_seeds}"
    told += f" --first {others['first']}" if others.get("first") else ""
    told += f" --updates {others['n_updates']}" if others.get("n_updates") else ""
    told += "".join(f" --subset {name}" for name in others.get("subsets") or ())
    return told + (" --whole" if others.get("whole") else "") + ("" if out is None else told_place(out, RESULTS))


def merge(into: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Return a dataset's results with those of another process."""
    into = {**found, **into} | {"seconds": {**into.get("seconds", {}), **found.get("seconds", {})}}
    devices = dict(into.get("device_of", {}))
    taken: set[str] = set()
    for key in BY_SEED:
        rows = dict(into.get(key, {}))
        for name, seeds in found.get(key, {}).items():
            if len(seeds) >= len(rows.get(name, [])):
                rows[name] = seeds
                if key == "methods":
                    taken.add(name)
        into[key] = rows
    devices |= dict.fromkeys(sorted(taken), found.get("device", "-"))
    times = {name: t for name, t in found.get("times", {}).items() if name in taken}
    merging = "python -m experiments.rocoursenet merge FOLDER"
    before = [step for step in (into.get("command") or "").split(" && ") if step != merging]
    before = _without(before, found.get("command") or "")
    if found.get("whole") and found.get("attacks"):  # those of some subsets are replaced
        before = [step for step in before if " FOLDER attacks " not in step]
    into["command"] = in_turn(*before, found.get("command"), merging)
    into |= {"device_of": devices, "times": {**into.get("times", {}), **times}}
    for key in ("sweeps_of", "attacks", "losses"):
        into[key] = {**into.get(key, {}), **found.get(key, {})}
    if found.get("whole") and found.get("sweeps_of"):
        # Of every subset, all rows have the front itself: what some subsets had in its place goes.
        stale = [title for title in into["sweeps_of"] if title.startswith("1 of the rows")]
        gone = {name for title in stale for name in into["sweeps_of"][title]}
        into["sweeps_of"] = {title: own for title, own in into["sweeps_of"].items() if title not in stale}
        into["methods"] = {name: own for name, own in into["methods"].items() if name not in gone}
        into["device_of"] = {name: own for name, own in into["device_of"].items() if name not in gone}
    return into | ({"choice": found["choice"]} if "choice" in found else {})


TOGETHER = {"fronts": ("fronts, generators", "fronts, searches"), "sizes": ("sizes, 0.1", "sizes, 0.3")}
"""Parts that may also be run apart."""
FEW = ("attacks", "sweeps", "schedule", "sizes", "losses", "fronts")
"""How the names of parts begin that have at most `N_FEW` seeds."""


def _parts_of(step: str) -> tuple[list[str], int, bool]:
    """Parts that a command runs, with how many seeds, and whether on every subset."""
    words = shlex.split(step)
    if words[:4] != ["python", "-m", "experiments.rocoursenet", "run"]:
        return [], 0, False
    options = next((i for i, word in enumerate(words) if word.startswith("--")), len(words))
    named = [part for word in words[6:options] for part in TOGETHER.get(word, (word,))]
    return named, int(words[words.index("--seeds") + 1]), "--whole" in words


def _seeds(part: str, n_seeds: int) -> int:
    """Seeds that a part has of those that a command names."""
    return min(n_seeds, N_FEW) if part.startswith(FEW) else n_seeds


def _without(steps: list[str], now: str) -> list[str]:
    """Earlier commands without the parts whose rows those of another command replace."""
    replaced, most, whole = _parts_of(now)
    if whole and any(part.startswith("sizes, ") for part in replaced):
        replaced = [*replaced, "sizes, guides"]  # what some subsets had in the place of the front itself
    out = []
    for step in steps:
        named, n_seeds, all_of_them = _parts_of(step)
        more = {part for part in named if _seeds(part, n_seeds) > most or (all_of_them and not whole)}
        left = [part for part in named if part not in replaced or part in more]
        if left == named:
            out.append(step)
        elif left:
            words = shlex.split(step)
            ending = step[step.index(" --seeds") :]
            told = " ".join(f"'{part}'" if " " in part else part for part in left)
            out.append(f"{' '.join(words[:6])} {told}{ending}")
    return out


def join(files: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Results of which those with the same rows of one dataset, but other seeds, have become one."""
    out: dict[Any, dict[str, Any]] = {}
    for found in sorted(files, key=lambda f: f.get("seeds", [0])):
        kind = (found["dataset"], *((key, tuple(found.get(key, {}))) for key in BY_SEED))
        before = out.get(kind)
        if before is None or not set(before.get("seeds", ())).isdisjoint(found.get("seeds", ())):
            out[kind if before is None else (kind, len(out))] = found
            continue
        rows = {key: {name: [*before[key][name], *found[key][name]] for name in found[key]} for key in BY_SEED}
        seeds = [*before["seeds"], *found["seeds"]]
        times = {"times": _least(before.get("times", {}), found.get("times", {}))}
        out[kind] = before | rows | times | {"seeds": seeds} | _at_once(before, seeds)
    return list(out.values())


def _least(before: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Of times that two processes took for the same, the shorter: what is beside a process only adds to them."""
    return {name: {key: min(t, found.get(name, {}).get(key, t)) for key, t in own.items()}
            for name, own in before.items()}  # fmt: skip


def _at_once(found: dict[str, Any], seeds: list[int]) -> dict[str, str]:
    """The command that runs seeds of several processes in one, where they are the first so many."""
    if "command" not in found or seeds != list(range(len(seeds))):
        return {}
    return {"command": re.sub(r"--seeds \d+( --first \d+)?", f"--seeds {len(seeds)}", found["command"])}


def merge_folders(folders: list[Path]) -> None:
    """Put every file of some folders into the committed results."""
    places = sorted(p for folder in folders for p in folder.glob("*.json"))
    for found in join([json.loads(place.read_text("utf-8")) for place in places]):
        target = RESULTS / f"{found['dataset']}.json"
        before = json.loads(target.read_text("utf-8")) if target.exists() else {}
        write(target, merge(before, found))
        print(f"{', '.join(found.get('methods', {})) or 'choice'} -> {target}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(required=True, dest="command")
    running = commands.add_parser("run")
    running.add_argument("dataset")
    running.add_argument("folder", type=Path)
    running.add_argument("parts", nargs="+", choices=list(PARTS))
    running.add_argument("--seeds", type=int, default=5)
    running.add_argument("--first", type=int, default=0, help="the first seed")
    running.add_argument("--updates", type=int, dest="n_updates", help="minibatches that every model learns from")
    running.add_argument("--subset", action="append", help="some of the subsets, for attacks and sweeps on them")
    running.add_argument("--whole", action="store_true", help="attacks and sweeps on every subset")
    running.add_argument("--out", type=Path, help="the file; by default named in FOLDER by dataset and parts")
    running.add_argument("--quick", action="store_true", help="one seed and few updates, to see that it runs")
    commands.add_parser("merge").add_argument("folders", nargs="+", type=Path)
    given = parser.parse_args()
    if given.command == "run":
        run(given.dataset, given.folder, given.parts, given.seeds, quick=given.quick, out=given.out,
            first=given.first, n_updates=given.n_updates, whole=given.whole,
            subsets=tuple(given.subset) if given.subset else None)  # fmt: skip
    else:
        merge_folders(given.folders)
