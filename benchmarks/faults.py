"""Kill -9 at random moments while issuing, gating and streaming; ten issuers and two gates at once.

python -m benchmarks.faults [--moments 200] [--only issuing] [--print]

No speed but truth. Each moment is drawn over the whole length of the work, from a seed. A process that is killed
is forked from this one, which has imported everything and computed nothing: so a moment costs what is tested and
not an import. What must hold is asserted; the result says how often each stage was hit.
"""

import argparse
import contextlib
import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import holdtrue as ht
from benchmarks._common import RESULTS, record
from holdtrue.cli import cli
from holdtrue.ledger import Ledger
from holdtrue.testing._ledger import START, promise_to

# Imported before the fork, not used in this process: jax must not have started its threads.
from holdtrue.cli import _gate, _recourse  # isort: skip # noqa: F401
from holdtrue.runs import _run  # isort: skip # noqa: F401
from holdtrue import classifier, promises  # isort: skip # noqa: F401

FEW = 10  # moments: a look that it works, as in the tests


def forked(work: Callable[[], Any]) -> int:
    """Start a process that does some work, silently."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jax warns of forks; it has not begun anything here
        pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        work()
        code = 0
    finally:
        os._exit(code)


def ended(pid: int) -> bool:
    """Wait for a process; whether it ended by itself, and well."""
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return False
    assert os.WEXITSTATUS(status) == 0, "a process failed that nobody had killed"
    return True


def wait_for(begun: Callable[[], bool]) -> None:
    """Return as soon as something is so."""
    limit = time.monotonic() + 60
    while not begun():
        assert time.monotonic() < limit, "nothing happened for a minute"
        time.sleep(0.0002)


def killed(work: Callable[[], Any], after: float, begun: Callable[[], bool] = lambda: True) -> bool:
    """Do some work in a process that is killed some seconds after it has `begun`; whether it was done by then."""
    pid = forked(work)
    wait_for(begun)
    time.sleep(after)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return ended(pid)


def command(*args: Any) -> Callable[[], Any]:
    """A command of holdtrue, as work."""
    return lambda: cli.main([str(a) for a in args], standalone_mode=False)


def seconds(work: Callable[[], Any]) -> float:
    """How long some work takes in a process of its own; its second time, when programs are compiled."""
    for _ in range(2):
        began = time.perf_counter()
        assert ended(forked(work))
    return time.perf_counter() - began  # type: ignore[possibly-unbound]


def live(place: Path, at: Any = None) -> list[str]:
    """Who has a promise that binds."""
    with Ledger(place) as ledger:
        return [promise.record.subject for batch in ledger.live(at) for promise in batch]


def issuing(folder: Path, moments: int, rng: random.Random) -> dict[str, Any]:
    """A process notes every batch that the ledger says it has; what is noted must be there, once."""
    place, noted = folder / "issued.db", folder / "noted"
    Ledger.create(place).close()
    per_moment, size = 400, 5

    def work(records: list[Any], place: Path = place) -> None:
        with Ledger(place) as ledger, noted.open("a") as stream:
            for start in range(0, len(records), size):
                ledger.issue(records[start : start + size])
                stream.write("".join(f"{r.subject}\n" for r in records[start : start + size]))
                stream.flush()

    trial = folder / "trial.db"
    Ledger.create(trial).close()
    length = seconds(lambda: work([promise_to(f"trial {i} {random.random()}") for i in range(per_moment)], trial))
    noted.write_text("")
    cut = Counter()
    total = 0
    for moment in range(moments):
        records = [promise_to(f"person {moment} {i}") for i in range(per_moment)]
        done = killed(lambda records=records: work(records), rng.uniform(0, 1.05 * length))
        told = [line for line in noted.read_text().splitlines(keepends=True) if line.endswith("\n")]
        with Ledger(place) as ledger:
            there = ledger.counts()["live"]
            assert there >= total + sum(line.startswith(f"person {moment} ") for line in told), "lost"
            cut["done before" if done else "nothing yet" if there == total else "in the middle"] += 1
            assert (there - total) % size == 0, "half a batch"
            ledger.issue(records)  # what its owner does next: the same again
            total += per_moment
            assert ledger.counts()["live"] == total, "lost or doubled"
    with Ledger(place) as ledger:
        check = ledger.verify()
        assert check.ok
        assert check.n_events == total
    subjects = live(place, START)
    assert len(subjects) == len(set(subjects)) == total
    return {"moments": moments, "seconds of an undisturbed run": length, "killed": dict(cut), "promises": total}


def models(folder: Path, rows: int = 2000, n: int = 2) -> tuple[Path, Path, Path]:
    """Two models and a table of people, made by a process of its own: jax must not begin here."""
    old, new, table = (folder / name for name in ("old.holdtrue", "new.holdtrue", "people.parquet"))

    def make() -> None:
        bank = ht.datasets.load("loanapp")
        people = bank.X[:rows]
        for seed, path in enumerate((old, new)[:n]):
            regime = ht.StandardTraining(n_epochs=10, class_weight="balanced")
            method = ht.Wachter(n_steps=60, patience=15)
            clf = ht.RecourseClassifier(
                schema=bank.schema, model=ht.Linear(), regime=regime, method=method, random_state=seed
            )
            clf.fit(bank.X, bank.y).save(path)
        people.assign(who=[f"person {i}" for i in range(len(people))]).to_parquet(table, index=False)

    assert ended(forked(make))
    return old, new, table


def asked(model: Path, table: Path, out: Path, ledger: Path) -> list[Any]:
    return [
        "recourse", model, table, "--out", out, "--chunk-rows", 50, "--ledger", ledger, "--subject", "who",
        "--valid-for", 3650,
    ]  # fmt: skip


def streaming(folder: Path, moments: int, rng: random.Random) -> dict[str, Any]:
    """Recourse for a table, with promises, killed and resumed until it is whole; over and over."""
    old, _, table = models(folder, 600, 1)
    for name in ("again", "whole")[moments < FEW :]:  # the first one compiles
        began, whole = time.perf_counter(), folder / f"{name}.parquet"
        Ledger.create(folder / f"{name}.db").close()
        assert ended(forked(command(*asked(old, table, whole, folder / f"{name}.db"))))
    length = (time.perf_counter() - began) * (0.6 if moments < FEW else 1)  # type: ignore[possibly-unbound]
    whole = folder / "whole.parquet"
    right, wanted = whole.read_bytes(), sorted(live(folder / "whole.db"))
    cut, runs, left = Counter(), 0, moments
    while left:
        out, ledger = folder / f"run-{runs}.parquet", folder / f"run-{runs}.db"
        parts = out.with_name(out.name + ".parts")
        Ledger.create(ledger).close()
        done = False
        while not done:
            more = ["--resume"] if parts.exists() else []
            work = command(*asked(old, table, out, ledger), *more)
            if left:
                left -= 1
                before = len(list(parts.glob("part-*.json")))
                # Short enough that several are needed for one run, long enough that each gets on.
                done = killed(work, rng.uniform(0, 0.8 * length))
                after = len(list(parts.glob("part-*.json")))
                for note in parts.glob("part-*.json"):
                    assert json.loads(note.read_text())["rows"], "an unreadable note"
                stage = "done before" if done else "joining or joined" if out.exists() else "in the middle"
                cut[stage if done or out.exists() or after > before else "no further chunk"] += 1
                done = done or (out.exists() and not parts.exists())
            else:
                assert ended(forked(work))
                done = True
        if parts.exists() or not out.exists():
            assert ended(forked(command(*asked(old, table, out, ledger), "--resume")))
        assert out.read_bytes() == right, "another output"
        assert sorted(live(ledger)) == wanted, "promises lost or doubled"
        with Ledger(ledger) as opened:
            assert opened.verify().ok
        assert not parts.exists()
        runs += 1
    rows = pq.read_metadata(whole).num_rows
    return {
        "moments": moments, "seconds of an undisturbed run": length, "killed": dict(cut), "runs finished": runs,
        "rows": rows, "promises each": len(wanted),
    }  # fmt: skip


def gating(folder: Path, moments: int, rng: random.Random) -> dict[str, Any]:
    """A gate is killed: the ledger is as it was, to the byte, and what was written is whole or not there."""
    old, new, table = models(folder)
    place = folder / "gated.db"
    Ledger.create(place).close()
    assert ended(forked(command(*asked(old, table, folder / "r.parquet", place))))
    names = ("cases.jsonl", "gate.json", "gate.md", "gate.html")

    def work(into: Path) -> Callable[[], Any]:
        outs = [x for name in names[1:] for x in ("--out", into / name)]
        return command("gate", new, "--ledger", place, "--max-broken", "100%", "--cases", into / names[0], *outs)

    right = folder / "right"
    right.mkdir()
    length = seconds(work(right))
    trial = folder / "trial"
    trial.mkdir()
    pid = forked(work(trial))
    wait_for((trial / names[0]).exists)
    began = time.perf_counter()
    assert ended(pid)
    writing = time.perf_counter() - began
    before, head = hashlib.sha256(place.read_bytes()).hexdigest(), Ledger(place).head()
    report = json.loads((right / "gate.json").read_text())
    lines = len((right / names[0]).read_text().splitlines())
    assert lines == report["n_broken"] > 0
    cut = Counter()
    for moment in range(moments):
        into = folder / f"gate-{moment}"
        into.mkdir()
        if moment % 2:  # half of them over the whole length, half from the first whole file on
            done = killed(work(into), rng.uniform(0, writing), (into / names[0]).exists)
        else:
            done = killed(work(into), rng.uniform(0, 1.05 * length))
        assert hashlib.sha256(place.read_bytes()).hexdigest() == before, "the ledger was written to"
        there = [name for name in names if (into / name).exists()]
        for name in there:
            text = (into / name).read_text()
            if name == "cases.jsonl":
                assert len([json.loads(line) for line in text.splitlines()]) == lines
            elif name == "gate.json":
                assert json.loads(text)["n_broken"] == report["n_broken"]
            else:
                assert text.rstrip().endswith("</html>") if name == "gate.html" else len(text) > 100
        begun = any(into.iterdir())
        cut[
            "done before" if done else "some files" if there else "a part of a file" if begun else "no file yet"
        ] += 1
    with Ledger(place) as ledger:
        assert ledger.verify(head).ok
    return {
        "moments": moments, "seconds of an undisturbed run": length,
        "seconds from its first whole file on": writing, "killed": dict(cut),
        "promises": report["n_live"], "broken": report["n_broken"],
    }  # fmt: skip


def together(folder: Path, issuers: int = 10, gates: int = 2) -> dict[str, Any]:
    """Issuers and gates at once: what a gate counts is what the ledger held at one event."""
    old, new, table = models(folder)
    place = folder / "shared.db"
    Ledger.create(place).close()
    assert ended(forked(command(*asked(old, table, folder / "r.parquet", place))))
    pattern = [promise.record for batch in Ledger(place).live() for promise in batch][:1]
    first, each, size = len(live(place)), 60, 5
    told = folder / "told"
    told.mkdir()

    def issue(number: int) -> None:
        text = pattern[0].to_json()
        with Ledger(place) as ledger:
            for start in range(0, each, size):
                names = [f"issuer {number} {start + i}" for i in range(size)]
                ledger.issue([_renamed(text, pattern[0], name) for name in names])

    def ask(number: int) -> None:
        clf = ht.RecourseClassifier.load(new)
        with Ledger(place) as ledger, (told / str(number)).open("w") as stream:
            for _ in range(8):
                report = ht.gate(clf, ledger, alternatives=0)
                stream.write(f"{report.n_live} {report.n_broken} {report.ledger['seq']}\n")

    began = time.perf_counter()
    running = [forked(lambda n=n: issue(n)) for n in range(issuers)] + [
        forked(lambda n=n: ask(n)) for n in range(gates)
    ]
    done = [ended(pid) for pid in running]
    assert all(done)
    took = time.perf_counter() - began
    seen = [tuple(map(int, line.split())) for path in told.iterdir() for line in path.read_text().splitlines()]
    assert len(seen) == 8 * gates
    for n_live, _, seq in seen:
        assert n_live == seq, "a gate saw half of a batch"
        assert (n_live - first) % size == 0
    subjects = live(place)
    assert len(subjects) == len(set(subjects)) == first + issuers * each
    with Ledger(place) as ledger:
        assert ledger.verify().ok
    return {
        "issuers": issuers, "gates": gates, "reports": len(seen), "promises before": first,
        "promises after": len(subjects), "counts seen": sorted({s[0] for s in seen}), "seconds": took,
    }  # fmt: skip


def _renamed(text: str, pattern: Any, name: str) -> Any:
    from holdtrue.ledger import Record, new_id

    raw = json.loads(text) | {"subject": name, "id": new_id()}
    return Record.from_json(json.dumps(raw))


TOGETHER = "ten issuers and two gates"
WORK: dict[str, Callable[..., dict[str, Any]]] = {"issuing": issuing, "gating": gating, "streaming": streaming}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--only", choices=[*WORK, "together"])
    parser.add_argument("--seed", type=int, default=20261115)
    parser.add_argument("--print", action="store_true", dest="shown", help="Print JSON, and write no result.")
    asked = parser.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        os.environ["XDG_CACHE_HOME"] = place  # compiled once, and found by every process after
        os.environ.pop("HOLDTRUE_CACHE", None)
        for name, work in WORK.items():
            if asked.only in (None, name):
                folder = Path(place) / name
                folder.mkdir()
                found[name] = work(folder, asked.moments, random.Random(asked.seed))
                print(f"{name}: {found[name]}", file=sys.stderr)
        if asked.only in (None, "together"):
            folder = Path(place) / "together"
            folder.mkdir()
            found[TOGETHER] = together(folder)
    if asked.shown:
        print(json.dumps(found))
        return
    # Kinds may be run one by one; each says how many moments it had.
    place = RESULTS / "service" / "faults.json"
    before = json.loads(place.read_text()) if place.exists() else {}
    kept = {name: before[name] for name in (*WORK, TOGETHER) if name in before}
    command = f"python -m benchmarks.faults --moments {asked.moments} --seed {asked.seed}"
    record("service/faults", command, {"lost": 0, "doubled": 0, "unreadable": 0, **kept, **found})


if __name__ == "__main__":
    main()
