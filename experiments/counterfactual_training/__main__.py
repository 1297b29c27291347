"""The counterfactual-training experiment by several processes, on processors and an accelerator at once.

    python -m experiments.counterfactual_training share STORE OUT --dataset adult --dataset mnist --cpu 0-2 --gpu 2
    python -m experiments.counterfactual_training train STORE DATASET GROUP
    python -m experiments.counterfactual_training judge STORE DATASET OUT

`share` runs the other two: every group of regimes of every dataset is trained by a process of its own, its models
go to STORE, and when a dataset's are all there another process judges them and writes ``OUT/DATASET.json``, as
``holdtrue papers counterfactual-training --protocol both --out OUT`` does in one process. A lane of processors
takes the lightest training that is left, one of the accelerator the heaviest; images are trained on the
accelerator only. What is in STORE or OUT already is not made again, so that a run may be cut short at any time.
"""

import argparse
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PAPER = "counterfactual-training"
IMAGES = ("mnist",)
EFFORT = {"StandardTraining": 1, "AdversarialTraining": 8, "TRADES": 8, "JEM": 5, "CounterfactualTraining": 7}
"""Of an epoch, about, plain training being 1."""


def groups_of(name: str) -> list[list[str]]:
    """Regimes of a dataset that are trained together."""
    from experiments.counterfactual_training._run import GENERATORS, WITH_GENERATORS
    from experiments.counterfactual_training._settings import SETTINGS, regimes
    from experiments.counterfactual_training._train import groups

    chosen = regimes(SETTINGS[name])
    return groups(chosen, [k for k in chosen if k not in GENERATORS or name in WITH_GENERATORS])


def train(store: Path, name: str, group: int, n_seeds: int = 5) -> None:
    """Train one group of regimes."""
    from experiments.counterfactual_training._run import fitted
    from experiments.counterfactual_training._settings import regimes
    from experiments.counterfactual_training._task import read_task

    task = read_task(name)
    for kind, kept in fitted(name, task, regimes(task.setting), groups_of(name)[group], n_seeds, store).items():
        print(f"{name}: {kind}: {kept.seconds} s with {kept.group} on {kept.device}", flush=True)


def judge(store: Path, name: str, out: Path) -> None:
    """Judge a dataset's models; what is not in the store yet is trained first."""
    from experiments import experiment
    from experiments._report import write
    from experiments._results import made_with
    from experiments.counterfactual_training import run

    options = experiment(PAPER).options | {"protocol": "both", "quick": False}
    out.mkdir(parents=True, exist_ok=True)

    def keep(result: dict[str, Any], ending: str = "part.json") -> None:
        write(out / f"{name}.{ending}", result | made_with(options))

    began = time.monotonic()
    result = run(
        name,
        **options,
        store=store,
        keep=keep,
        say=lambda what: print(f"{name}: {time.monotonic() - began:.0f} s: {what}", flush=True),
    )
    keep(result.to_dict(), "json")
    (out / f"{name}.part.json").unlink(missing_ok=True)


@dataclass
class Board:
    """What is left to do, shared by the lanes."""

    waiting: list[tuple[str, int, float]]
    datasets: list[str]
    running: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, accelerated: bool) -> tuple[str, int | None] | None:
        """The next training (dataset, group), or judging (dataset, None); None where nothing is to be done now."""
        with self.lock:
            for name in self.datasets:
                ready = not self.running.get(name) and all(n != name for n, _, _ in self.waiting)
                if ready and (accelerated or name not in IMAGES):
                    self.datasets.remove(name)
                    return name, None
            mine = [job for job in self.waiting if accelerated or job[0] not in IMAGES]
            if not mine:
                return None
            job = (max if accelerated else min)(mine, key=lambda j: (j[0] in IMAGES, j[2]))
            self.waiting.remove(job)
            self.running[job[0]] = self.running.get(job[0], 0) + 1
            return job[:2]

    def done(self, name: str, group: int | None) -> None:
        """Tell that a training has ended, well or not."""
        if group is not None:
            with self.lock:
                self.running[name] -= 1


def share(store: Path, out: Path, datasets: Sequence[str], cpus: Sequence[str], n_accelerated: int) -> None:
    """Run everything that is not there yet."""
    from experiments.counterfactual_training._settings import SETTINGS, regimes
    from experiments.counterfactual_training._store import is_there

    left = [name for name in datasets if not (out / f"{name}.json").exists()]
    size = {"adult": 26.0 * 107, "ch": 16.0 * 8, "cred": 11.0 * 33, "gmsc": 13.0 * 10, "heloc": 8.0 * 60}
    waiting = []
    for name in left:
        chosen = regimes(SETTINGS[name])
        for i, group in enumerate(groups_of(name)):
            effort = EFFORT[type(chosen[group[0]]).__name__] * len(group)
            if not all(is_there(store, name, kind) for kind in group):
                waiting.append((name, i, effort * size.get(name, 100.0)))
    board = Board(waiting, left)
    began = time.monotonic()

    def lane(cores: str | None) -> None:
        while board.datasets or board.waiting:
            job = board.take(cores is None)
            if job is None:
                time.sleep(0.5)
                continue
            name, group = job
            rest = ["judge", name, str(out)] if group is None else ["train", name, str(group)]
            what = [rest[0], str(store), *rest[1:]]
            platform = {"JAX_PLATFORMS": "cpu"} if cores else {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
            pinned = ["taskset", "-c", cores] if cores else []
            command = [*pinned, sys.executable, "-m", "experiments.counterfactual_training", *what]
            print(f"{time.monotonic() - began:.0f} s: {cores or 'accelerator'}: {' '.join(what)}", flush=True)
            code = subprocess.run(command, env=os.environ | platform, check=False).returncode
            print(f"{time.monotonic() - began:.0f} s: ended with {code}: {' '.join(what)}", flush=True)
            board.done(name, group)

    lanes = [threading.Thread(target=lane, args=(c,)) for c in [*cpus, *[None] * n_accelerated]]
    for thread in lanes:
        thread.start()
    for thread in lanes:
        thread.join()


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    kinds = parser.add_subparsers(dest="what", required=True)
    for what, extra in (("train", ("name", "group")), ("judge", ("name", "out")), ("share", ("out",))):
        own = kinds.add_parser(what)
        for argument in ("store", *extra):
            own.add_argument(argument)
        if what == "share":
            own.add_argument("--dataset", action="append", required=True)
            own.add_argument("--cpu", action="append", default=[])
            own.add_argument("--gpu", type=int, default=0)
    told = parser.parse_args()
    if told.what == "train":
        train(Path(told.store), told.name, int(told.group))
    elif told.what == "judge":
        judge(Path(told.store), told.name, Path(told.out))
    else:
        share(Path(told.store), Path(told.out), told.dataset, told.cpu, told.gpu)


if __name__ == "__main__":
    main()
