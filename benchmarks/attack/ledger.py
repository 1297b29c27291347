# ruff: noqa: E501  (SQL is easier to read in long lines)
"""A ledger behind its back: what was done to it is seen, and what fails leaves it whole.

python -m benchmarks.attack.ledger [--worlds 200] [--seed 0] [--processes 1] [--seconds 600] [--print]

Each block makes a ledger with promises that were issued, superseded, kept, broken, run out and forgotten, and asks:

- *edits*: a cell changed, two rows exchanged, a row deleted, doubled or put in, by SQL: `verify` must not say that
  the chain holds.
- *tails*: the last events cut off, or all after one made anew with right hashes, so that the chain is whole in
  itself: `verify` against an anchor, signed or not, must see it; an anchor that was changed is refused.
- *bytes*: the file flipped, cut and overwritten: an error of the package's own, or a verification; never a promise
  that nobody was made.
- *clock*: set back and forth while promises are issued: none is dated before the one it follows.
- *faults*: a disk that is full, a file that may only be read, a lock that is held: an error of the package's own, and
  afterwards everything that was there.
- *server*: PostgreSQL killed and started again while promises are issued, where its programs are installed: none
  lost, none doubled.

*unseen*, *crashed*, *lost*, *doubled* are wrong. The command ends with 1 where something is.
"""

import os
import pwd
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from unittest import mock

from benchmarks.attack._damage import damaged
from benchmarks.attack._tally import Attack, Job, Line
from holdtrue.errors import HoldtrueError, LedgerError
from holdtrue.ledger import Anchor, Ledger, Record, utc_now
from holdtrue.ledger import _ledger as module
from holdtrue.ledger._chain import event_hash, genesis
from holdtrue.testing._ledger import promise_to

KEY = b"a key of the attack, 32 bytes or"
TABLES = ("events", "personal", "promises", "head")
WRONG = ("unseen", "crashed", "lost", "doubled")
EDITS, TAILS, BYTES = 60, 20, 30


def lived(path: Path, rng: random.Random) -> list[Record]:
    """A ledger in which things have happened; the promises that were made."""
    records = [promise_to(f"person {rng.randrange(8)}", valid_until=None) for _ in range(12)]
    with Ledger.create(path) as ledger:
        ledger.issue(records[:10])
        ledger.fulfil(records[0].id, decision=1)
        ledger.fulfil(records[1].id, decision=0, note="a note")
        ledger.supersede(records[2].id, promise_to(records[2].subject, valid_until=None))
        ended = promise_to(
            "ended", issued=utc_now() - timedelta(days=3), valid_until=utc_now() - timedelta(days=1)
        )
        ledger.issue([*records[10:], ended])
        ledger.expire()
        ledger.forget(records[5].subject)
        assert ledger.verify().ok
    return records


def _sql(path: Path, work: Callable[[sqlite3.Connection], object]) -> None:
    db = sqlite3.connect(path)
    try:
        db.execute("PRAGMA foreign_keys = OFF")
        work(db)
        db.commit()
    finally:
        db.close()


def _content(path: Path) -> list[list[tuple[object, ...]]]:
    db = sqlite3.connect(path)
    try:
        return [db.execute(f"SELECT * FROM holdtrue_{t} ORDER BY 1").fetchall() for t in TABLES]
    finally:
        db.close()


def edit(db: sqlite3.Connection, rng: random.Random) -> None:
    """One thing done by SQL."""
    table = "holdtrue_" + rng.choice(("events", "events", "personal", "promises"))
    names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    rows = [row[0] for row in db.execute(f"SELECT rowid FROM {table}")]
    one, other = rng.choice(rows), rng.choice(rows)
    how = rng.randrange(5)
    if how == 0:
        column = rng.choice([name for name in names if name != "seq"])
        value = db.execute(f"SELECT {column} FROM {table} WHERE rowid = ?", (one,)).fetchone()[0]
        text = "x" if value is None else str(value)
        at = rng.randrange(len(text)) if text else 0
        new = text[:at] + rng.choice("0189abxyz") + text[at + 1 :]
        db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, one))
    elif how == 1:
        columns = [name for name in names if name != "seq"]
        both = [
            db.execute(f"SELECT {', '.join(columns)} FROM {table} WHERE rowid = ?", (r,)).fetchone()
            for r in (one, other)
        ]
        places = ", ".join(f"{name} = ?" for name in columns)
        if table.endswith("promises"):  # its ids are unique: out of the way first
            db.execute(f"UPDATE {table} SET id = 'away' WHERE rowid = ?", (one,))
        db.execute(f"UPDATE {table} SET {places} WHERE rowid = ?", (*both[0], other)) if one != other else None
        db.execute(f"UPDATE {table} SET {places} WHERE rowid = ?", (*both[1], one)) if one != other else None
    elif how == 2:
        db.execute(f"DELETE FROM {table} WHERE rowid >= ? AND rowid < ?", (one, one + rng.choice((1, 1, 3))))
    elif how == 3:
        last = max(rows) + 1
        columns = [name for name in names if name not in ("seq", "id")]
        more = ("id, " if "id" in names else "") + ", ".join(columns)
        mine = "'another', " if "id" in names else ""
        db.execute(
            f"INSERT INTO {table} (seq, {more}) SELECT ?, {mine}{', '.join(columns)} FROM {table} WHERE rowid = ?",
            (last, one),
        )
    else:
        part = rng.choice(("seq = seq - 1", "seq = seq + 1", "hash = 'x'", "ledger = 'x'"))
        db.execute(f"UPDATE holdtrue_head SET {part}")


def edits(folder: Path, rng: random.Random, counts: Counter[str]) -> None:
    """Direct edits."""
    right = folder / "right.db"
    lived(right, rng)
    before = _content(right)
    for _ in range(EDITS):
        path = folder / "wrong.db"
        shutil.copy(right, path)
        try:
            _sql(path, lambda db: edit(db, rng))
        except sqlite3.Error:  # the tables themselves did not allow it
            continue
        if _content(path) == before:
            continue
        counts["cases"] += 1
        with Ledger(path) as ledger:
            counts["unseen"] += ledger.verify().ok


def anew(db: sqlite3.Connection, after: int) -> None:
    """Every event after one says something else, with hashes that follow."""
    db.row_factory = sqlite3.Row
    ledger = db.execute("SELECT ledger FROM holdtrue_head").fetchone()[0]
    last = genesis(ledger)
    for row in db.execute("SELECT * FROM holdtrue_events ORDER BY seq").fetchall():
        said = dict(row)
        if said["seq"] > after:
            said["token"] = "another"
            said["hash"] = event_hash(last, said)
            db.execute(
                "UPDATE holdtrue_events SET token = ?, hash = ? WHERE seq = ?",
                (said["token"], said["hash"], said["seq"]),
            )
        last = said["hash"]
    db.execute("UPDATE holdtrue_head SET hash = ?", (last,))


def cut(db: sqlite3.Connection, last: int) -> None:
    """Issues after one are gone, as if they had never been."""
    for table in ("personal", "promises", "events"):
        db.execute(f"DELETE FROM holdtrue_{table} WHERE seq > ?", (last,))
    db.execute(
        "UPDATE holdtrue_head SET seq = ?, hash = (SELECT hash FROM holdtrue_events WHERE seq = ?)", (last, last)
    )


def tails(folder: Path, rng: random.Random, counts: Counter[str]) -> None:
    """Tails that are whole in themselves."""
    right = folder / "right.db"
    with Ledger.create(right) as ledger:
        ledger.issue([promise_to(f"person {i}", valid_until=None) for i in range(12)])
        key = KEY if rng.random() < 0.5 else None
        ledger.anchor(key).save(folder / "anchor.json")
        anchor = Anchor.load(folder / "anchor.json")
        assert ledger.verify(anchor, key=key).ok
        ledger.issue([promise_to(f"later {i}", valid_until=None) for i in range(3)])
        assert ledger.verify(anchor, key=key).ok
    for _ in range(TAILS):
        path = folder / "wrong.db"
        shutil.copy(right, path)
        at = rng.randrange(1, 12)
        _sql(path, (lambda db, at=at: cut(db, at)) if rng.random() < 0.5 else (lambda db, at=at: anew(db, at)))
        counts["cases"] += 1
        with Ledger(path) as ledger:
            if rng.random() < 0.3:
                ledger.issue([promise_to(f"new {i}", valid_until=None) for i in range(9)])
            assert ledger.verify().ok  # nothing in the ledger itself shows it
            counts["unseen"] += ledger.verify(anchor, key=key).ok
        wrong = damaged((folder / "anchor.json").read_bytes(), rng)
        (folder / "wrong.json").write_bytes(wrong)
        try:
            read = Anchor.load(folder / "wrong.json")
            if read != anchor:
                counts["cases"] += 1
                with Ledger(right) as ledger:
                    counts["unseen"] += ledger.verify(read, key=key).ok and read.hash != anchor.hash
        except HoldtrueError:
            counts["refused"] += 1


def bytes_(folder: Path, rng: random.Random, counts: Counter[str]) -> None:
    """The file itself damaged."""
    right = folder / "right.db"
    made = lived(right, rng)
    content = right.read_bytes()
    ids = {record.id for record in made}
    for _ in range(BYTES):
        path = folder / "wrong.db"
        path.write_bytes(damaged(content, rng))
        counts["cases"] += 1
        try:
            with Ledger(path, patience=0.1) as ledger:
                if ledger.verify().ok:
                    there = {p.id for batch in ledger.live() for p in batch}
                    counts["unseen"] += any(p.startswith("another") for p in there) or len(there) > len(ids) + 2
                else:
                    counts["seen"] += 1
        except HoldtrueError:
            counts["refused"] += 1


def clock(folder: Path, rng: random.Random, counts: Counter[str]) -> None:
    """A clock that goes back and forth."""
    with Ledger.create(folder / "l.db") as ledger:
        for i in range(20):
            now = utc_now() + timedelta(days=rng.uniform(-900, 900))
            with mock.patch.object(module, "utc_now", lambda now=now: now):
                ledger.issue(promise_to(f"person {i}", valid_until=None))
            counts["cases"] += 1
        dates = [event.at for i in range(20) for event in ledger.history(f"person {i}")]
        counts["unseen"] += dates != sorted(dates)
        counts["unseen"] += not ledger.verify().ok


def faults(folder: Path, rng: random.Random, counts: Counter[str]) -> None:
    """Full, read-only, locked."""
    path = folder / "l.db"
    made = lived(path, rng)
    before = _content(path)
    for what in ("full", "read-only", "locked"):
        counts["cases"] += 1
        try:
            _failing(path, what)
            counts["unseen"] += 1  # it said that it was done
        except LedgerError:
            counts["refused"] += 1
        with Ledger(path) as ledger:
            counts["lost"] += _content(path) != before
            counts["unseen"] += not ledger.verify().ok
            assert ledger.promise(made[0].id).state == "fulfilled"


def _failing(path: Path, what: str) -> None:
    many = [promise_to(f"person {i}", changes="x" * 15_000) for i in range(200)]
    if what == "full":
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        kept = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 50_000, hard))
        try:
            with Ledger(path, patience=0.3) as ledger:
                ledger.issue(many)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, kept)
    elif what == "read-only":  # by the connection, since rights do not bind root
        with Ledger(f"sqlite:///file:{path}?mode=ro&uri=true", patience=0.3) as ledger:
            ledger.issue(many[:1])
    else:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        try:
            with Ledger(path, patience=0.3) as ledger:
                ledger.issue(many[:1])
        finally:
            other.execute("ROLLBACK")
            other.close()


def programs() -> list[Path]:
    """Folders with the programs of a PostgreSQL server, the one to take last."""
    on_path = shutil.which("initdb")
    return sorted(Path("/usr/lib/postgresql").glob("*/bin")) + ([Path(on_path).parent] if on_path else [])


class Server:
    """A PostgreSQL server in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.folder = programs()[-1], folder
        users = {entry.pw_name for entry in pwd.getpwall()}
        self.user = None if os.getuid() else ("postgres" if "postgres" in users else "nobody")
        if self.user:
            shutil.chown(folder, self.user)
        self.run("initdb", "-D", str(folder / "data"), "-U", "holdtrue", "-A", "trust", "--no-sync")
        self.start()

    def run(self, name: str, *args: str) -> None:
        how = {} if self.user is None else {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid}
        with (self.folder / "log").open("a") as log:
            subprocess.run(
                [str(self.bin / name), *args],
                check=True,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                timeout=120,
                **how,
            )  # type: ignore[call-overload]

    def start(self) -> None:
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}'"
        self.run(
            "pg_ctl",
            "-D",
            str(self.folder / "data"),
            "-w",
            "-l",
            str(self.folder / "server.log"),
            "-o",
            options,
            "start",
        )

    def stop(self) -> None:
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-m", "immediate", "stop")


def server(folder: Path, rng: random.Random, counts: Counter[str]) -> None:
    """PostgreSQL killed and started again while promises are issued."""
    folder = Path(tempfile.mkdtemp(prefix="ht-pg-"))  # a socket's name is short
    running = Server(folder)
    try:
        records = [promise_to(f"person {i}", valid_until=None) for i in range(300)]
        with Ledger.create(f"postgresql://holdtrue@/postgres?host={folder}", patience=120) as ledger:
            acknowledged: set[str] = set()

            def work() -> None:
                for start in range(0, len(records), 2):
                    batch = records[start : start + 2]
                    while True:
                        try:
                            ledger.issue(batch)
                            break
                        except LedgerError:  # said, so that it is asked for again
                            counts["refused"] += 1
                    acknowledged.update(record.id for record in batch)

            worker = threading.Thread(target=work, daemon=True)
            worker.start()
            while worker.is_alive() and counts["cases"] < 4:
                time.sleep(rng.uniform(0.05, 0.6))
                running.stop()
                counts["cases"] += 1
                time.sleep(rng.uniform(0, 0.3))
                running.start()
            worker.join(600)
            counts["crashed"] += worker.is_alive() or len(acknowledged) < len(records)
            there = [p.id for batch in ledger.live() for p in batch]
            counts["lost"] += len(acknowledged - set(there))
            counts["doubled"] += len(there) - len(set(there))
            counts["unseen"] += not ledger.verify().ok
    finally:
        running.stop()
        shutil.rmtree(folder, ignore_errors=True)


KINDS = {"edits": edits, "tails": tails, "bytes": bytes_, "clock": clock, "faults": faults, "server": server}


def attack(seed: int, kind: str) -> list[Line]:
    """A block of one kind."""
    counts: Counter[str] = Counter(dict.fromkeys(("cases", *WRONG), 0))
    folder = Path(tempfile.mkdtemp(prefix="attack"))
    more: dict[str, str] = {}
    try:
        KINDS[kind](folder, random.Random(f"{seed} {kind}"), counts)
    except Exception as error:  # whatever it is, it should have been of the package's own
        counts["crashed"] += 1
        more["error"] = f"{type(error).__name__}: {str(error)[:300]}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return [{"method": kind, **counts, **more}]


def tasks(first: int, blocks: int) -> Iterator[list[Job]]:
    """Blocks one after another; a server every fourth, where its programs are installed."""
    servers = bool(programs())
    for seed in range(first, first + blocks):
        yield [(seed, kind) for kind in KINDS if kind != "server" or (servers and seed % 4 == 0)]


ATTACK = Attack("ledger", __doc__ or "", attack, WRONG, tasks, worlds=200)

if __name__ == "__main__":
    ATTACK.main()
