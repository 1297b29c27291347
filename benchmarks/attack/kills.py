"""Kill -9 while a table is answered and promises are issued, over and over: nothing is lost, nothing is doubled.

python -m benchmarks.attack.kills [--kills 1000] [--seed 0] [--processes 1] [--seconds 600] [--print]

A run over a table of 150 people writes CSV, Parquet or JSON lines and issues promises. It is killed up to six
times and begun again with `resume` each time, then left to finish, then asked for once more. Half of the kills
come between two changes of files (the process counts its own, and kills itself at one), half at a moment of the
clock; half of either are aimed at the last tenth of a run. Afterwards the output is what an undisturbed run
writes, to the byte, everyone has their promise once, the chain verifies, and nothing is left lying about.

What each person is answered is worked out once and handed to every process that is killed: reading, writing,
joining and issuing are what is attacked here, and a process then takes a tenth of a second. `benchmarks.faults`
kills whole commands. Results are written run by run, so that a campaign that is stopped goes on where it was.
"""

import argparse
import json
import multiprocessing as mp
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import holdtrue as ht
from benchmarks._common import RESULTS, record
from benchmarks.attack._tally import UNLABELLED, by_code, code, read
from benchmarks.faults import ended, forked, killed
from holdtrue.batch import Predictor
from holdtrue.ledger import Ledger
from holdtrue.runs._work import Work

FORMATS = ("csv", "parquet", "jsonl")
MOST = 6  # kills of one run
PEOPLE, CHUNK = 150, 12
CHANGES = ("replace", "unlink", "rmdir", "mkdir", "fsync", "open", "rename")
"""Calls of the system that change files, or bring changes to the disk."""


class Table:
    """A table of people, a model, and everyone's answer."""

    def __init__(self, folder: Path) -> None:
        bank = ht.datasets.load("loanapp")
        method, quick = ht.NearestNeighbour(), ht.StandardTraining(n_epochs=10, class_weight="balanced")
        clf = ht.RecourseClassifier(
            schema=bank.schema, model=ht.Linear(), regime=quick, method=method, hold=None, random_state=0
        )
        self.clf = clf.fit(bank.X, bank.y)
        self.path = folder / "people.csv"
        people = bank.X[:PEOPLE]
        people.assign(who=[f"person {i}" for i in range(len(people))]).to_csv(self.path, index=False)
        # Compiled code does not run in a forked process, and need not.
        Work._solve = once(Work._solve, lambda work, chunk, rows: chunk.first_row)  # type: ignore[method-assign]
        for name in ("logits_of", "decide_of"):
            setattr(Predictor, name, once(getattr(Predictor, name), lambda predictor, x: x.tobytes()))
        self.right, self.wanted, self.steps, self.seconds = {}, [], {}, {}
        for format in FORMATS:
            out, ledger = folder / f"right.{format}", folder / f"right-{format}.db"
            Ledger.create(ledger).close()
            self.run(out, ledger)
            self.right[format], self.wanted = out.read_bytes(), promised(ledger)
            self._measure(folder, format)

    def run(self, out: Path, ledger: Path, *, resume: bool = False) -> None:
        """Answer everyone."""
        ht.run(
            self.clf, self.path, out, ledger=ledger, subject="who", valid_for=3650, chunk_rows=CHUNK,
            resume=resume, reason="an attack",
        )  # fmt: skip

    def _measure(self, folder: Path, format: str) -> None:
        """How many changes an undisturbed run makes, and how long it takes in a process of its own."""
        out, ledger, told = folder / f"trial.{format}", folder / f"trial-{format}.db", folder / "steps"
        Ledger.create(ledger).close()

        def work() -> None:
            count = counted(None)
            self.run(out, ledger, resume=True)
            told.write_text(str(count()))

        began = time.perf_counter()
        assert ended(forked(work)), "an undisturbed run failed"
        self.seconds[format] = time.perf_counter() - began
        self.steps[format] = int(told.read_text())


def once(function: Callable[..., Any], key: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is asked once per key."""
    known: dict[Any, Any] = {}

    def ask(*args: Any) -> Any:
        if key(*args) not in known:
            known[key(*args)] = function(*args)
        return known[key(*args)]

    return ask


def counted(last: int | None) -> Callable[[], int]:
    """Count this process's changes of files from here on; before or after change number `last` it kills itself."""
    n = 0

    def counting(call: Callable[..., Any], after: bool) -> Callable[..., Any]:
        def count(*args: Any, **kwargs: Any) -> Any:
            nonlocal n
            n += 1
            if n == last and not after:
                os.kill(os.getpid(), 9)
            out = call(*args, **kwargs)
            if n == last:
                os.kill(os.getpid(), 9)
            return out

        return count

    for name in CHANGES:
        setattr(os, name, counting(getattr(os, name), after=bool((last or 0) % 2)))
    issue = Ledger.issue
    Ledger.issue = counting(issue, after=True)  # type: ignore[method-assign]
    return lambda: n


def promised(ledger: Path) -> list[str]:
    """Everyone who has a promise, as often as they have one."""
    with Ledger(ledger) as opened:
        return sorted(p.record.subject for batch in opened.live() for p in batch)


def attack(table: Table, folder: Path, seed: int, most: int) -> Counter[str]:
    """Kill one run up to `most` times; what came of it."""
    rng, counts = random.Random(seed), Counter[str]()
    format = FORMATS[seed % len(FORMATS)]
    out, ledger = folder / f"run.{format}", folder / "run.db"
    Ledger.create(ledger).close()
    for _ in range(most):
        late = rng.random() < 0.5
        share = rng.uniform(0.9, 1.01) if late else rng.random()
        if rng.random() < 0.5:
            step = max(1, round(share * table.steps[format]))

            def work(step: int = step) -> None:
                counted(step)
                table.run(out, ledger, resume=True)

            done = ended(forked(work))
        else:
            done = killed(lambda: table.run(out, ledger, resume=True), share * table.seconds[format])
        parts = out.with_name(out.name + ".parts")
        stage = (
            "joined" if out.exists() and not parts.exists() else "joining" if out.exists() else "before the output"
        )
        counts["done before" if done else f"killed {stage}"] += 1
        counts["kills"] += not done
        if done:
            break
    assert ended(forked(lambda: table.run(out, ledger, resume=True))), "a run that nobody disturbed failed"
    again = rng.random() < 0.3  # also asked for without `resume`, as if it had never been
    assert ended(forked(lambda: table.run(out, ledger, resume=not again))), "a second run failed"
    there = promised(ledger)
    counts["lost"] += len(set(table.wanted) - set(there))
    counts["doubled"] += len(there) - len(set(there))
    counts["another output"] += out.read_bytes() != table.right[format]
    with Ledger(ledger) as opened:
        counts["broken chain"] += not opened.verify().ok
    kept = {out.name, ledger.name, f".{out.name}.run"}  # the last is how `resume` knows a run that is done
    counts["left over"] += len([path for path in folder.iterdir() if path.name not in kept])
    counts["runs"] += 1
    counts["promises"] += len(there)
    return counts


WRONG = ("lost", "doubled", "another output", "broken chain", "left over")


def campaign(kills: int, seed: int, to: Path | None, until: float = float("inf")) -> Counter[str]:
    """Kill so often, going on with what is in the file of counts."""
    lines = [] if to is None else read(to)
    total = sum((Counter(x["counts"]) for x in lines), Counter[str]())
    done = {x["run"] for x in lines}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = Table(folder)
        for run in _from(seed, done):
            if total["kills"] >= kills or time.monotonic() >= until:
                break
            place = folder / "run"
            place.mkdir()
            counts = attack(table, place, run, min(MOST, kills - total["kills"]))
            shutil.rmtree(place)
            total += counts
            if any(counts[w] for w in WRONG):
                print(json.dumps({"run": run, **counts}), flush=True)
            if to is not None:
                to.parent.mkdir(parents=True, exist_ok=True)
                with to.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps({"run": run, "counts": counts, "code": code()}) + "\n")
    return total


def _from(first: int, without: set[int]) -> Iterator[int]:
    run = first
    while True:
        if run not in without:
            yield run
        run += 1


def _side_by_side(kills: int, seed: int, to: Path, processes: int, until: float) -> None:
    """Campaigns of their own in many processes, then all that they wrote in one file."""
    context = mp.get_context("spawn")
    left = kills - sum(x["counts"].get("kills", 0) for x in read(to))
    parts = [to.with_name(f"{to.stem}-{i}.part") for i in range(processes)]
    left_s = until - time.monotonic()  # clocks of processes differ in where they begin
    hands = [
        context.Process(target=_hand, args=(-(-left // processes), seed + 100_000 * (i + 1), part, left_s))
        for i, part in enumerate(parts)
    ]
    to.parent.mkdir(parents=True, exist_ok=True)
    for hand in hands:
        hand.start()
    for hand in hands:
        hand.join()
    with to.open("a", encoding="utf-8") as stream:
        for part in parts:
            stream.write("".join(json.dumps(line) + "\n" for line in read(part)))
            part.unlink(missing_ok=True)
    failed = [hand.exitcode for hand in hands if hand.exitcode]
    if failed:
        sys.exit(f"kills: {len(failed)} of {processes} processes ended with {failed[0]}; see above.")


def _hand(kills: int, seed: int, to: Path, seconds: float) -> None:
    campaign(kills, seed, to, time.monotonic() + seconds)


def main() -> None:
    """Kill, printing what was found; end with 1 where something is lost or doubled."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="Stop then, and keep what is there.")
    parser.add_argument("--to", type=Path, default=RESULTS / "attack" / "kills.jsonl")
    parser.add_argument("--print", action="store_true", dest="show", help="Print only; write nothing.")
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    if options.processes > 1 and not options.show:
        _side_by_side(options.kills, options.seed, options.to, options.processes, until)
        total = sum((Counter(x["counts"]) for x in read(options.to)), Counter[str]())
    else:
        total = campaign(options.kills, options.seed, None if options.show else options.to, until)
    told = {"kills": total["kills"], **{w: total[w] for w in WRONG}, "counts": dict(sorted(total.items()))}
    if not options.show:
        lines = [line["counts"] | {"code": line.get("code", UNLABELLED)} for line in read(options.to)]
        told["codes"] = by_code(lines, ["kills"])
    print(json.dumps(told, indent=1))
    if not options.show:
        command = "python -m benchmarks.attack.kills"
        record(options.to.stem, command, told, folder=options.to.parent, shown=False)
    sys.exit(1 if any(total[w] for w in WRONG) else 0)


if __name__ == "__main__":
    main()
