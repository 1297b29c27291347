"""The ledger: every promise made to a person, and what became of it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Self, TypeVar

import sqlalchemy as sa

from holdtrue._types import JsonObject, Keywords, Label
from holdtrue.errors import DataError, IdTaken, LedgerError, NoSuchPromise
from holdtrue.ledger import _migrate
from holdtrue.ledger._anchor import Anchor
from holdtrue.ledger._append import PROMISES, Entry, append, batches, issue_batch, live_promise, set_state
from holdtrue.ledger._canonical import canonical, check_plain, parse
from holdtrue.ledger._chain import GATE, HASHED, STATES, Head
from holdtrue.ledger._database import Database
from holdtrue.ledger._entries import Event, Issued, Promise, Verification
from holdtrue.ledger._find import live_counts, matching
from holdtrue.ledger._policy import NAME as POLICY
from holdtrue.ledger._policy import OPERATOR, Policy, policy_of
from holdtrue.ledger._record import Record, aware, check_subject, from_text, new_id, to_text, utc_now
from holdtrue.ledger._tables import events, head, personal, promises
from holdtrue.ledger._verify import verify
from holdtrue.schema import plain

T = TypeVar("T")


class Ledger:
    """Promises made to people, in a SQL database: appended to, never rewritten.

    Every write is one transaction that holds the end of the chain locked, so that any number of threads and
    processes may write at once. Where the database is locked or the server restarts, a write is tried again for
    `patience` seconds and takes effect once.

    Parameters
    ----------
    place : path or URL
        A SQLite file, or ``postgresql://user@host/database``. Must hold a ledger already; see `create`.
    patience : float, default=30
        Seconds.

    Examples
    --------
    >>> import tempfile, os
    >>> with Ledger.create(os.path.join(tempfile.mkdtemp(), "promises.db")) as ledger:
    ...     ledger.verify().ok
    True
    """

    def __init__(self, place: str | Path, *, patience: float = 30.0) -> None:
        self._database = Database(place, patience)
        try:
            _migrate.check(self._database)
        except BaseException:
            self._database.close()
            raise

    @classmethod
    def create(cls, place: str | Path, *, patience: float = 30.0) -> Self:
        """Make a ledger, or bring one that is there to this version's schema; nothing in it is lost."""
        database = Database(place, patience)
        database.keep_private()
        try:
            _migrate.upgrade(database)
        finally:
            database.close()
        return cls(place, patience=patience)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Ledger {self.place}>"

    @property
    def place(self) -> str:
        """Where it is kept, without a password."""
        return self._database.name

    def close(self) -> None:
        """Give back all connections; the ledger can still be used."""
        self._database.close()

    # ---- writing --------------------------------------------------------------------------------------

    def issue(
        self,
        records: Record | Iterable[Record],
        *,
        batch_size: int = 500,
        at_any_time: bool = False,
        role: str = OPERATOR,
        leave_out: bool = False,
    ) -> Issued:
        """Write promises down.

        A record that is there already, by its id, is not written twice: after an interruption give the same
        records again. Nor is one whose person was forgotten.

        Parameters
        ----------
        records : Record or iterable of Record
            Read as they are written, so that a stream of any length may be given.
        batch_size : int, default=500
            Records per transaction. All of a batch are written, or none.
        at_any_time : bool, default=False
            Whether a record that is there already may have been issued at another time than the one given. For
            ids that follow from what is promised, so that the same promise made again is no second one.
        role : str, default="operator"
            Of who asks: whether they may override the ledger's policy, each record with its `reason`.
        leave_out : bool, default=False
            Whether records that the policy does not allow are left out, and counted. Without, they are refused and
            with them the whole batch.
        """
        total = Issued()
        for batch in batches([records] if isinstance(records, Record) else records, batch_size):
            pairs = [(record, record.to_json()) for record in batch]
            how: Keywords = {"at_any_time": at_any_time, "role": role, "leave_out": leave_out}
            total += self._write(partial(issue_batch, pairs, **how))
        return total

    def policy(self) -> Policy:
        """What may be promised here."""
        return self._database.run(policy_of)

    def set_policy(self, policy: Policy) -> None:
        """Say what may be promised from now on; an event of the chain, so that what stood when can be seen."""
        self._write(lambda _: ([("policy", POLICY, policy.to_dict(), None)], None))

    def note_gate(self, said: JsonObject) -> int:
        """Write down what a gate found, for `gates` and for evidence; return the event's number.

        Parameters
        ----------
        said : dict
            Counts and digests, in plain types: it stays for good, and must say nothing of a person.
        """
        check_plain(said, "note_gate")

        def work(connection: sa.Connection) -> Any:
            return [("gate", GATE, dict(said), None)], int(connection.execute(_END).one().seq) + 1

        return self._write(work)

    def supersede(self, promise: str, record: Record, *, role: str = OPERATOR) -> None:
        """Put a new promise in the place of a live one, to the same person."""

        def work(connection: sa.Connection) -> Any:
            old = live_promise(connection, promise, "supersede")
            if old.subject != record.subject:
                raise LedgerError(f"supersede: promise {promise!r} was made to another subject. Issue a new one.")
            before = Record.from_json(old.body)
            entries, issued = issue_batch([(record, record.to_json())], connection, role=role, instead=before)
            if not issued.new:
                raise IdTaken(f"supersede: the new record is in the ledger already; got {record.id!r}.")
            return [*entries, ("supersede", promise, {"by": record.id}, None)], None

        self._write(work)

    def fulfil(
        self, promise: str, *, decision: Label, actual: JsonObject | None = None, note: str | None = None
    ) -> bool:
        """Write down that the person came back; return whether the promise was kept.

        Parameters
        ----------
        promise : str
            Its id.
        decision : label
            What was decided about them. The promise is kept where this is its target.
        actual : mapping, optional
            The person's columns as they are now, as far as known: what they did change.
        note : str, optional
        """
        decision = plain(decision)
        now_so = None if actual is None else {name: plain(value) for name, value in actual.items()}
        body = {"decision": decision, "actual": now_so, "note": note}
        check_plain(body, "fulfil")

        def work(connection: sa.Connection) -> Any:
            old = live_promise(connection, promise, "fulfil")
            record = Record.from_json(old.body)
            unknown = sorted(set(actual or ()) - set(record.factual))
            if unknown:
                raise DataError(f"fulfil: `actual` has columns that the promise has not; got {unknown[:5]!r}.")
            kept = _same_label(decision, record.target)
            return [("fulfil", promise, {"kept": kept}, (old.subject, canonical(body)))], kept

        return self._write(work)

    def expire(self, at: datetime | None = None, *, batch_size: int = 500) -> int:
        """Write down which live promises have run out by a time (now, when omitted); return how many."""
        moment = to_text(aware(at))
        ended = (
            sa.select(promises.c.id)
            .where(promises.c.state == "live", promises.c.valid_until <= moment)
            .order_by(promises.c.seq)
            .limit(batch_size)
        )
        total = 0
        while True:

            def work(connection: sa.Connection) -> Any:
                ids = connection.execute(ended).scalars().all()
                return [("expire", id, {"by": moment}, None) for id in ids], len(ids)

            count = self._write(work)
            total += count
            if count < batch_size:
                return total

    def forget(self, subject: str) -> int:
        """Erase everything that is kept about a person; return from how many events.

        Hashes, times and counts stay, and the chain still verifies. Live promises to the person end. What lies in
        backups, in a server's write-ahead log or on freed disk blocks is beyond a database's reach.
        """
        check_subject(subject)
        about = sa.select(personal.c.seq).where(personal.c.subject == subject)

        def work(connection: sa.Connection) -> Any:
            seqs = connection.execute(about.order_by(personal.c.seq)).scalars().all()
            if not seqs:
                return [], 0
            ended = sa.select(promises.c.id).where(promises.c.state == "live", promises.c.seq.in_(about))
            ids = connection.execute(ended.order_by(promises.c.seq)).scalars().all()
            set_state(connection, ids, "forgotten")
            connection.execute(sa.delete(personal).where(personal.c.subject == subject))
            return [("forget", None, {"erased": list(seqs), "ended": list(ids)}, None)], len(seqs)

        return self._write(work)

    def _write(self, work: Callable[[sa.Connection], tuple[list[Entry], T]]) -> T:
        """One transaction: lock the end of the chain, ask `work` what to append, append it."""
        token = new_id()
        answers: list[T] = []

        def attempt(connection: sa.Connection) -> T:
            end = Head(*connection.execute(_END.with_for_update()).one())
            # A commit whose answer was lost: what was asked for has happened.
            done = sa.select(events.c.seq).where(events.c.token == token).limit(1)
            if answers and connection.execute(done).first() is not None:
                return answers[-1]
            entries, answer = work(connection)
            if entries:
                append(connection, end, token, entries)
            answers.append(answer)
            return answer

        return self._database.run(attempt, write=True)

    # ---- reading --------------------------------------------------------------------------------------

    def head(self) -> Head:
        """The end of the chain. Noted elsewhere and given to `verify`, it shows that no event was cut off."""
        return Head(*self._database.run(lambda connection: connection.execute(_END).one()))

    def anchor(self, key: bytes | None = None) -> Anchor:
        """The end of the chain as a file to keep elsewhere, signed with a key where one is given."""
        end = self.head()
        made = Anchor(end.ledger, end.seq, end.hash, to_text(utc_now()))
        return made if key is None else made.signed(key)

    def promise(self, id: str) -> Promise:
        """One promise, by its id."""
        row = self._database.run(lambda c: c.execute(PROMISES.where(promises.c.id == id)).first())
        if row is None:
            raise NoSuchPromise(f"ledger: no such promise; got {id!r}.")
        return _promise(row)

    def recent(self, n: int = 20) -> list[Promise]:
        """The promises that were made last and are live, the latest first."""
        latest = PROMISES.where(promises.c.state == "live").order_by(promises.c.seq.desc()).limit(n)
        return [_promise(row) for row in self._database.run(lambda c: c.execute(latest).all())]

    def find(
        self,
        text: str = "",
        *,
        subject: str | None = None,
        state: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        n: int = 50,
        start: int = 0,
    ) -> tuple[list[Promise], int]:
        """Look promises up, the latest first.

        Parameters
        ----------
        text : str
            In a person's key, or how an id begins.
        subject : str, optional
            A person's key, as it is.
        state : {"live", "superseded", "fulfilled", "expired", "forgotten"}, optional
            Here ``live`` binds now, and what has run out is ``expired``, written down or not.
        since, until : datetime, optional
            Issued from the one, and before the other.
        n, start : int
            How many to return, after how many.

        Returns
        -------
        (list of Promise, int)
            Those, and how many there are in all.
        """
        joined = PROMISES.join(events, events.c.seq == promises.c.seq)
        joined = joined.where(*matching(text, subject, state, since, until))
        page = joined.order_by(promises.c.seq.desc()).limit(n).offset(start)
        count = sa.select(sa.func.count()).select_from(joined.subquery())
        rows, total = self._database.run(lambda c: (c.execute(page).all(), c.execute(count).scalar_one()))
        return [_promise(row) for row in rows], int(total)

    def live_counts(self, subjects: Sequence[str]) -> dict[str, int]:
        """How many promises bind to each of these people now; who has none is not in it."""
        return dict(self._database.run(lambda connection: live_counts(connection, subjects)))

    def live(
        self, at: datetime | None = None, *, batch_size: int = 1000, up_to: int | None = None
    ) -> Iterator[list[Promise]]:
        """Promises that bind at a time (now, when omitted), in batches, oldest first.

        Each batch is a transaction of its own, so that nobody who writes has to wait; one issued while reading is
        among the last. With `up_to`, such as ``ledger.head().seq``, only what was issued by that event is read.
        """
        moment, last = to_text(aware(at)), 0
        binding = PROMISES.where(
            promises.c.state == "live",
            sa.or_(promises.c.valid_until.is_(None), promises.c.valid_until > moment),
        )
        if up_to is not None:
            binding = binding.where(promises.c.seq <= up_to)
        while True:
            page = binding.where(promises.c.seq > last).order_by(promises.c.seq).limit(batch_size)
            rows = self._database.run(lambda c, page=page: c.execute(page).all())
            if rows:
                yield [_promise(row) for row in rows]
            if len(rows) < batch_size:
                return
            last = rows[-1].seq

    def history(self, subject: str) -> list[Event]:
        """All events of all promises to one person, oldest first; none after they were forgotten."""
        check_subject(subject)
        of = (
            sa.select(events.c.promise)
            .join(personal, personal.c.seq == events.c.seq)
            .where(personal.c.subject == subject)
        )
        rows = self._database.run(
            lambda c: c.execute(_EVENTS.where(events.c.promise.in_(of)).order_by(events.c.seq)).all()
        )
        return [_event(row) for row in rows]

    def gates(self) -> list[Event]:
        """What gates found that was written down, oldest first."""
        rows = self._database.run(
            lambda c: c.execute(_EVENTS.where(events.c.promise == GATE).order_by(events.c.seq)).all()
        )
        return [_event(row) for row in rows]

    def chain(self, up_to: int | None = None, *, batch_size: int = 2000) -> Iterator[list[JsonObject]]:
        """Events as the chain has them, oldest first, in batches: what is hashed, and the hash; nothing personal.

        Parameters
        ----------
        up_to : int, optional
            Number of the last event to read, such as ``ledger.head().seq``; all when omitted.
        batch_size : int, default=2000
            Events per transaction.
        """
        last = 0
        while True:
            page = sa.select(*(events.c[name] for name in (*HASHED, "hash"))).where(events.c.seq > last)
            if up_to is not None:
                page = page.where(events.c.seq <= up_to)
            page = page.order_by(events.c.seq).limit(batch_size)
            rows = [dict(row) for row in self._database.run(lambda c, page=page: c.execute(page).mappings().all())]
            if rows:
                yield rows
            if len(rows) < batch_size:
                return
            last = rows[-1]["seq"]

    def counts(self) -> dict[str, int]:
        """How many promises stand where, and `kept` and `broken` among the fulfilled; forgotten people count."""
        by_state = sa.select(promises.c.state, sa.func.count()).group_by(promises.c.state)
        by_outcome = (
            sa.select(events.c.public, sa.func.count()).where(events.c.kind == "fulfil").group_by(events.c.public)
        )
        states, outcomes = self._database.run(
            lambda c: ({row[0]: row[1] for row in c.execute(by_state)}, c.execute(by_outcome).all())
        )
        kept = sum(count for public, count in outcomes if parse(public, "ledger")["kept"])
        broken = sum(count for _, count in outcomes) - kept
        return {state: int(states.get(state, 0)) for state in STATES} | {"kept": kept, "broken": broken}

    def verify(self, head: Head | Anchor | str | None = None, *, key: bytes | None = None) -> Verification:
        """Walk the chain and name the first break.

        Parameters
        ----------
        head : Head, Anchor or str, optional
            The end of the chain (or its hash) as noted earlier: the chain must still contain it.
        key : bytes, optional
            What an anchor was signed with.
        """
        if isinstance(head, Anchor):
            head.check(key)
        elif key is not None:
            raise DataError(f"verify: a `key` is for an anchor; got {type(head).__name__}. Leave it out.")
        return verify(self._database, head if head is None or isinstance(head, str) else head.hash)


_END = sa.select(head.c.ledger, head.c.seq, head.c.hash).where(head.c.id == 1)
_EVENTS = sa.select(events, personal.c.body).outerjoin(personal, personal.c.seq == events.c.seq)


def _promise(row: sa.Row) -> Promise:
    until = None if row.valid_until is None else _time(row.valid_until)
    return Promise(row.id, row.seq, row.state, until, row.body)


_time = lru_cache(4096)(from_text)  # promises that are made together end together


def _event(row: sa.Row) -> Event:
    body = None if row.body is None else parse(row.body, "ledger")
    public = parse(row.public, "ledger")
    return Event(row.seq, row.kind, row.promise, from_text(row.at), public, body, row.hash)


def _same_label(a: object, b: object) -> bool:
    return a == b and isinstance(a, bool) == isinstance(b, bool)
