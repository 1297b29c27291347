"""What is written in one transaction: events after the end of the chain, and where promises stand after them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

import sqlalchemy as sa

from holdtrue._types import JsonObject
from holdtrue.errors import AgainstPolicy, DataError, IdTaken, NoSuchPromise, NotLive
from holdtrue.ledger._canonical import canonical, parse
from holdtrue.ledger._chain import STATE_AFTER, Head, commitment, event_hash, new_salt
from holdtrue.ledger._entries import Issued
from holdtrue.ledger._policy import OPERATOR, Check
from holdtrue.ledger._record import Record, to_text, utc_now
from holdtrue.ledger._tables import events, head, personal, promises

T = TypeVar("T")
Entry = tuple[str, str | None, JsonObject, tuple[str, str] | None]
"""Kind, promise, public part, and subject with body where something is said about a person."""

PROMISES = sa.select(
    promises.c.id, promises.c.seq, promises.c.state, promises.c.valid_until, personal.c.body
).outerjoin(personal, personal.c.seq == promises.c.seq)


def issue_entry(record: Record, text: str, noted: JsonObject) -> Entry:
    until = None if record.valid_until is None else to_text(record.valid_until)
    public = {
        "model": record.model["hash"],
        "schema": record.schema,
        "method": record.method["name"],
        "valid_until": until,
        **noted,
    }
    return "issue", record.id, public, (record.subject, text)


def append(connection: sa.Connection, end: Head, token: str, entries: Sequence[Entry]) -> None:
    """Write events after the end of the chain, what they say about people, and where promises stand now."""
    before = connection.execute(sa.select(events.c.at).where(events.c.seq == end.seq)).scalar()
    # A clock that was set back does not put events before those they follow.
    at, seq, last = max(to_text(utc_now()), before or ""), end.seq, end.hash
    rows: list[JsonObject] = []
    people: list[JsonObject] = []
    issued: list[JsonObject] = []
    changed: dict[str, list[str]] = {}
    for kind, promise, public, about in entries:
        seq += 1
        row = {"seq": seq, "kind": kind, "promise": promise, "at": at, "public": canonical(public), "token": token}
        row["commitment"] = None
        if about is not None:
            subject, body = about
            salt = new_salt()
            row["commitment"] = commitment(salt, subject, body)
            people.append({"seq": seq, "subject": subject, "salt": salt, "body": body})
        last = row["hash"] = event_hash(last, row)
        rows.append(row)
        if kind == "issue":
            issued.append({"seq": seq, "id": promise, "state": "live", "valid_until": public["valid_until"]})
        elif promise is not None and kind in STATE_AFTER:
            changed.setdefault(STATE_AFTER[kind], []).append(promise)
    connection.execute(sa.insert(events), rows)
    for table, some in ((personal, people), (promises, issued)):
        if some:
            connection.execute(sa.insert(table), some)
    for state, ids in changed.items():
        set_state(connection, ids, state)
    connection.execute(sa.update(head).where(head.c.id == 1).values(seq=seq, hash=last))


def set_state(connection: sa.Connection, ids: Sequence[str], state: str) -> None:
    for part in batches(ids, 500):  # databases limit the length of a list
        connection.execute(sa.update(promises).where(promises.c.id.in_(part)).values(state=state))


def issue_batch(
    batch: Sequence[tuple[Record, str]],
    connection: sa.Connection,
    *,
    at_any_time: bool = False,
    role: str = OPERATOR,
    leave_out: bool = False,
    instead: Record | None = None,
) -> tuple[list[Entry], Issued]:
    """Entries for the records that the ledger has not, and what became of each."""
    there: dict[str, str | None] = {}
    for part in batches((record.id for record, _ in batch), 500):
        there |= {row.id: row.body for row in connection.execute(PROMISES.where(promises.c.id.in_(part)))}
    entries, repeated, forgotten, refused = [], 0, 0, 0
    check = Check(connection, [record for record, _ in batch if record.id not in there], role, instead)
    for record, text in batch:
        if record.id not in there:
            try:
                noted = check.admit(record)
            except AgainstPolicy:
                if not leave_out:
                    raise
                refused += 1
                continue
            entries.append(issue_entry(record, text, noted))
            there[record.id] = text
            continue
        old = there[record.id]
        if old is None:
            forgotten += 1
        elif old == text or (at_any_time and _timeless(old) == _timeless(text)):
            repeated += 1
        else:
            raise IdTaken(
                f"issue: there is another record of this id; got {record.id!r}. A promise is not rewritten: "
                "supersede it."
            )
    return entries, Issued(len(entries), repeated, forgotten, refused)


def _timeless(text: str) -> JsonObject:
    """What a record says, but for when and with which versions it was made."""
    said = parse(text, "ledger")
    return {name: value for name, value in said.items() if name not in ("issued", "valid_until", "software")}


def live_promise(connection: sa.Connection, id: str, where: str) -> sa.Row:
    found = connection.execute(PROMISES.add_columns(personal.c.subject).where(promises.c.id == id)).first()
    if found is None:
        raise NoSuchPromise(f"{where}: no such promise; got {id!r}.")
    if found.state != "live":
        raise NotLive(f"{where}: the promise is not live; got {id!r}, which is {found.state}.")
    return found


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    if size < 1:
        raise DataError(f"ledger: `batch_size` must be at least 1; got {size!r}.")
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
