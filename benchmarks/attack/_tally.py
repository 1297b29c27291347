"""What attacks share: rows as plain values, and counts that are written as they are made, by many processes."""

import argparse
import contextlib
import hashlib
import json
import multiprocessing as mp
import os
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import pandas as pd

import holdtrue as ht
from benchmarks._common import RESULTS, record
from benchmarks.attack._checker import Row

Line = dict[str, Any]
Job = tuple[int, str]
"""A world, and what is asked in it."""

UNCOUNTED = ("world", "asked", "method", "model", "error", "code")
UNITS = ("people", "cases", "answers", "instances", "replayed", "kills")
UNLABELLED = "earlier code"
TASKS_EACH = 12  # of one process; then another takes its place, so that compiled programs do not pile up


def rows_of(table: pd.DataFrame, schema: ht.Schema) -> list[Row]:
    """People as dictionaries of plain values, None where one is missing."""
    names = list(schema.names)
    columns = [[None if v is None or v != v else v for v in table[name].tolist()] for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


@cache
def code() -> str:
    """What is attacked: the version, and the last commit of the package; elsewhere a number its sources make."""
    package = Path(ht.__file__).parent
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        last, changed = (
            subprocess.check_output(
                ["git", *asked, "--", package], cwd=package, text=True, stderr=subprocess.DEVNULL
            )
            for asked in (("log", "-1", "--format=%h", "--abbrev=10"), ("status", "--porcelain"))
        )
        if last:
            return f"{ht.__version__} {last.strip()}{' and changes' if changed else ''}"
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.read_bytes())
    return f"{ht.__version__} sources {digest.hexdigest()[:10]}"


def crashed(name: str, error: Exception) -> Line:
    """The line of a call that ended in an error."""
    return {"method": name, "crashed": 1, "error": f"{type(error).__name__}: {str(error)[:300]}"}


def world_by_world(kinds: Sequence[str]) -> Callable[[int, int], Iterator[list[Job]]]:
    """Tasks of an attack: world after world, and in it one kind of model after another."""

    def tasks(first: int, worlds: int) -> Iterator[list[Job]]:
        for seed in range(first, first + worlds):
            yield [(seed, kind) for kind in kinds]

    return tasks


@dataclass(frozen=True)
class Attack:
    """An attack by command: what is asked in a world, and which counts are wrong."""

    name: str
    about: str
    ask: Callable[[int, str], list[Line]]
    """Answer a job; must be a function of a module, so that other processes find it."""
    wrong: Sequence[str]
    tasks: Callable[[int, int], Iterable[list[Job]]]
    """From the first world and their number, lists of jobs; the jobs of one list share compiled programs."""
    worlds: int
    """How many, unless asked otherwise."""

    def main(self) -> None:
        """Attack, write, print, and end with 1 where something is wrong."""
        options = self._options()
        lines = [] if options.show else read(options.to)
        known = {(line["world"], line["asked"]) for line in lines}
        now = {(line["world"], line["asked"]) for line in lines if line.get("code") == options.code}
        asked = [
            [
                job
                for job in task
                if job not in (now if options.again else known) and job[1].startswith(options.only)
            ]
            for task in self.tasks(options.seed, options.worlds)
        ]
        # What was never asked comes before what was asked of other code.
        tasks = sorted(filter(None, asked), key=lambda task: all(job in known for job in task))
        until = time.monotonic() + options.seconds
        made = (
            one_by_one(self.ask, tasks, until)
            if options.processes < 2 or options.seconds <= 0
            else side_by_side(self.ask, tasks, until, options.processes)
        )
        with contextlib.ExitStack() as stack:
            file = None
            if not options.show:
                options.to.parent.mkdir(parents=True, exist_ok=True)
                file = stack.enter_context(options.to.open("a", encoding="utf-8"))
                if file.tell() and not options.to.read_bytes().endswith(b"\n"):
                    file.write("\n")  # after a line that was cut off
            for line in made:
                line["code"] = options.code
                lines.append(line)
                if file is not None:
                    file.write(json.dumps(line) + "\n")
                    file.flush()
                if any(line.get(what) for what in (*self.wrong, "missed")):
                    print(json.dumps(line), flush=True)
        sys.exit(1 if self._told(latest(lines), options) else 0)

    def _options(self) -> argparse.Namespace:
        parser = argparse.ArgumentParser(
            description=self.about, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        add = parser.add_argument
        add("--worlds", type=int, default=self.worlds, help=f"How many; {self.worlds} unless said.")
        add("--seed", "--first", type=int, default=0, help="Seed of the first world.")
        add("--processes", type=int, default=1, help="Side by side, each on a core of its own.")
        add("--seconds", type=float, default=float("inf"), help="Stop then, and keep what is there.")
        add("--again", action="store_true", help="Ask again what other code was asked; the newer answer counts.")
        add("--only", default="", metavar="BEGIN", help="Only what is asked by a name that begins so.")
        add("--code", default=code(), help="What to call the code; version and commit unless said.")
        add("--to", type=Path, default=RESULTS / "attack" / f"{self.name}.jsonl", help="File of counts.")
        add("--print", action="store_true", dest="show", help="Print only; write nothing.")
        return parser.parse_args()

    def _told(self, lines: list[Line], options: argparse.Namespace) -> bool:
        """Print and record the sums; whether something is wrong."""
        told = summed(lines, self.wrong)
        print(json.dumps(told, indent=1))
        wrong = {what: told[what] for what in self.wrong if told[what]}
        print(f"WRONG: {wrong}" if wrong else "Nothing is wrong.", flush=True)
        if not options.show:
            command = f"python -m benchmarks.attack.{self.name}"
            record(options.to.stem, command, told, folder=options.to.parent, shown=False)
        return bool(wrong)


def read(path: Path) -> list[Line]:
    """The lines of a file of counts, but for one that was cut off while it was written."""
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError):
            lines.append(json.loads(text))
    return lines


def latest(lines: list[Line]) -> list[Line]:
    """Lines without those of a question that other code was asked later."""
    last = {(line["world"], line["asked"]): line.get("code") for line in lines}
    return [line for line in lines if line.get("code") == last[line["world"], line["asked"]]]


def by_code(lines: list[Line], units: Sequence[str] = UNITS) -> dict[str, dict[str, int]]:
    """What was counted with which code; the first lines do not say."""
    told: dict[str, Counter[str]] = {}
    for line in lines:
        told.setdefault(line.get("code", UNLABELLED), Counter()).update({u: line.get(u, 0) for u in units})
    return {label: {unit: n for unit, n in counts.items() if n} for label, counts in told.items()}


def summed(lines: list[Line], wrong: Sequence[str]) -> dict[str, Any]:
    """Counts over all worlds, per method and per code."""
    total: dict[str, Counter[str]] = {}
    for line in lines:
        counts = {what: n for what, n in line.items() if what not in UNCOUNTED}
        total.setdefault(line["method"], Counter()).update(counts)
    everybody = sum(total.values(), Counter())
    told = {"worlds": len({line["world"] for line in lines}), "people": everybody["people"]}
    told |= {what: everybody[what] for what in wrong}
    return told | {"codes": by_code(lines), "methods": dict(sorted(total.items()))}


def _lines(ask: Callable[[int, str], list[Line]], job: Job) -> list[Line]:
    world, asked = job
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = ask(world, asked) or [{"method": asked, "unable": 1}]
    return [{"world": world, "asked": asked, **line} for line in made]


def one_by_one(ask: Callable[[int, str], list[Line]], tasks: list[list[Job]], until: float) -> Iterator[Line]:
    """Do jobs in this process."""
    for task in tasks:
        for job in task:
            if time.monotonic() >= until:
                return
            yield from _lines(ask, job)


def _worker(number: int, ask: Callable[[int, str], list[Line]], pipe: Connection) -> None:
    if hasattr(os, "sched_setaffinity"):  # one core each, whatever a library makes of their number
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[number % len(cores)]})
    while True:
        pipe.send(_lines(ask, pipe.recv()))


class _Hand:
    """A process that does one task's jobs after another, and what it was given."""

    def __init__(self, number: int, ask: Callable[[int, str], list[Line]]) -> None:
        context = mp.get_context("spawn")
        self.number, self.ask, self.n_tasks = number, ask, 0
        self.jobs: list[Job] = []
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_worker, args=(number, ask, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def given(self, tasks: list[list[Job]]) -> bool:
        """Send the next job, of a new task where this one is done; False where none is left."""
        if not self.jobs:
            if not tasks:
                return False
            self.jobs, self.n_tasks = list(tasks.pop(0)), self.n_tasks + 1
        with contextlib.suppress(BrokenPipeError):  # what died is seen by whoever listens to it
            self.pipe.send(self.jobs[0])
        return True

    def heard(self) -> list[Line]:
        """What came of the job that was sent; a process that died is a crash."""
        world, asked = self.jobs.pop(0)
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            error = f"its process ended with {self.process.exitcode}"
            self.n_tasks = TASKS_EACH
            return [{"world": world, "asked": asked, "method": asked, "crashed": 1, "error": error}]

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def side_by_side(
    ask: Callable[[int, str], list[Line]], tasks: list[list[Job]], until: float, processes: int
) -> Iterator[Line]:
    """Do jobs in many processes; a job whose process dies is a crash, and the others go on."""
    tasks = list(tasks)
    hands = [_Hand(number, ask) for number in range(min(processes, len(tasks)))]
    try:
        busy = {hand.pipe: hand for hand in hands if hand.given(tasks)}
        while busy and time.monotonic() < until:
            for pipe in wait(list(busy), timeout=1):
                hand = busy.pop(pipe)  # type: ignore[arg-type]
                yield from hand.heard()
                if hand.n_tasks >= TASKS_EACH and (not hand.jobs or not hand.process.is_alive()):
                    hand.end()
                    hands.remove(hand)
                    jobs, hand = hand.jobs, _Hand(hand.number, ask)
                    hand.jobs = jobs
                    hands.append(hand)
                if hand.given(tasks):
                    busy[hand.pipe] = hand
    finally:
        for hand in hands:
            hand.end()
