"""Walking the chain: every hash, every commitment, every erasure, and where each promise should stand."""

from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from holdtrue.errors import DataError
from holdtrue.ledger._canonical import parse
from holdtrue.ledger._chain import ABOUT_NONE, STATE_AFTER, commitment, event_hash, genesis
from holdtrue.ledger._database import Database
from holdtrue.ledger._entries import Verification
from holdtrue.ledger._record import from_text
from holdtrue.ledger._tables import events, head, personal, promises

BATCH = 2000
BACKWARDS = timedelta(minutes=10)  # that a clock may have been set back by, in ledgers of older versions


class Broken(Exception):
    """The first break: which event, and what is wrong with it."""

    def __init__(self, seq: int, reason: str) -> None:
        super().__init__(reason)
        self.seq, self.reason = seq, reason


class Walk:
    """What has been seen of a chain so far."""

    def __init__(self, ledger: str, noted: str | None) -> None:
        self.seq, self.hash = 0, genesis(ledger)
        self.noted, self.met = noted, noted is None or noted == self.hash
        self.missing: set[int] = set()  # events whose personal part is gone, and no `forget` met yet that says so
        self.erased: set[int] = set()
        self.states: dict[str, str] = {}
        self.at = ""

    def step(self, row: Any) -> None:
        """Check one event."""
        if row.seq != self.seq + 1:
            raise Broken(self.seq + 1, "it is not there")
        if event_hash(self.hash, row._mapping) != row.hash:
            raise Broken(row.seq, "its hash does not follow from what it says and from the event before it")
        if row.commitment is None:
            if row.salt is not None:
                raise Broken(row.seq, "it has a personal part that the chain does not know")
        elif row.salt is None:
            self.missing.add(row.seq)
        elif commitment(row.salt, row.subject, row.body) != row.commitment:
            raise Broken(row.seq, "its personal part is not the one that was written")
        if row.at < self.at and from_text(self.at) - from_text(row.at) > BACKWARDS:
            raise Broken(row.seq, "it is dated before the event that it follows")
        self.at = max(self.at, row.at)
        if row.kind == "forget":
            said = parse(row.public, "ledger")
            back = set(said["erased"]) - self.missing - self.erased
            if back:
                raise Broken(min(back), "its personal part was erased, and is there again")
            self.erased |= set(said["erased"])
            self.missing -= self.erased
            self.states.update(dict.fromkeys(said["ended"], "forgotten"))
        elif row.kind not in ABOUT_NONE:
            if row.kind == "issue" and (row.id, row.valid_until) != (row.promise, _until(row)):
                raise Broken(row.seq, "its promise is not listed as it was issued")
            self.states[row.promise] = STATE_AFTER[row.kind]
        self.seq, self.hash = row.seq, row.hash
        self.met = self.met or row.hash == self.noted

    def end(self, connection: sa.Connection) -> None:
        """Check what can be said only at the end."""
        found = connection.execute(_HEAD).first()
        if found is None:
            raise Broken(self.seq + 1, "the end that the ledger has noted is gone")
        if found.seq > self.seq:
            raise Broken(self.seq + 1, f"events up to {found.seq} are gone")
        if (found.seq, found.hash) != (self.seq, self.hash):
            raise Broken(self.seq, "the chain goes on after the end that the ledger has noted")
        if not self.met:
            raise Broken(self.seq, f"the chain does not contain the hash {self.noted}: it was cut off or replaced")
        if self.missing:
            raise Broken(min(self.missing), "its personal part is gone, and no forget says so")
        orphan = connection.execute(_ORPHANS).scalar()
        if orphan is not None:
            raise Broken(orphan, "there is a personal part of it, and no event")
        last = count = 0
        while rows := connection.execute(_STANDING.where(promises.c.seq > last).limit(BATCH)).all():
            for row in rows:
                if self.states.get(row.id) != row.state:
                    raise Broken(row.seq, f"its promise is marked {row.state}, which the events do not say")
            last, count = rows[-1].seq, count + len(rows)
        if count != len(self.states):
            raise Broken(
                self.seq, f"the ledger lists {count} promises, and the events speak of {len(self.states)}"
            )


def _until(row: Any) -> str | None:
    return parse(row.public, "ledger")["valid_until"]


_HEAD = sa.select(head.c.ledger, head.c.seq, head.c.hash).where(head.c.id == 1)
_EVENTS = (
    sa.select(events, personal.c.subject, personal.c.salt, personal.c.body, promises.c.id, promises.c.valid_until)
    .outerjoin(personal, personal.c.seq == events.c.seq)
    .outerjoin(promises, promises.c.seq == events.c.seq)
    .order_by(events.c.seq)
    .limit(BATCH)
)
_STANDING = sa.select(promises.c.seq, promises.c.id, promises.c.state).order_by(promises.c.seq)


_ORPHANS = (
    sa.select(personal.c.seq)
    .outerjoin(events, events.c.seq == personal.c.seq)
    .where(events.c.seq.is_(None))
    .order_by(personal.c.seq)
    .limit(1)
)


def verify(database: Database, noted: str | None = None) -> Verification:
    """Walk the chain, a batch at a time, so that writers need not wait but for the end."""
    start = database.run(lambda connection: connection.execute(_HEAD).first())
    if start is None:
        return Verification(False, 0, "", 1, "the end that the ledger has noted is gone")
    walk = Walk(start.ledger, noted)

    def batch(connection: sa.Connection) -> list[Any]:
        if not database.is_sqlite:  # where a transaction has one view of the database anyway
            connection.execute(sa.text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
        rows = list(connection.execute(_EVENTS.where(events.c.seq > walk.seq)).all())
        if len(rows) < BATCH:
            # The rest and the end in one view of the database: nothing is appended in between.
            for row in rows:
                walk.step(row)
            walk.end(connection)
            return []
        return rows

    try:
        while rows := database.run(batch):
            for row in rows:
                walk.step(row)
    except Broken as error:
        return Verification(False, walk.seq, walk.hash, error.seq, error.reason)
    except (DataError, KeyError, TypeError) as error:
        return Verification(False, walk.seq, walk.hash, walk.seq + 1, f"it cannot be read ({error})")
    return Verification(True, walk.seq, walk.hash)
