"""What every place that keeps a ledger must keep."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from holdtrue._types import Keywords
from holdtrue.errors import DataError, IdTaken, LedgerError, NoSuchPromise, NotLive
from holdtrue.ledger import METADATA, Issued, Ledger, Record, event_hash, genesis

START = datetime(2026, 1, 1, tzinfo=UTC)
HOSTILE = (
    "'; DROP TABLE holdtrue_events; --",
    '" OR ""="',
    "%(subject)s :subject ? {0} \\",
    "Zoë 李 \U0001f600",
    "../../etc/passwd",
)


def promise_to(subject: str, **changes: Any) -> Record:
    """A made-up record."""
    parts: Keywords = {
        "subject": subject,
        "factual": {"income": 31000.0, "home": "rent", "since": None},
        "recourse": {"income": 35500.0, "home": "rent", "since": None},
        "changes": "Raise income from 31,000 to 35,500.",
        "decision_before": 0,
        "decision_after": 1,
        "probability_before": 0.31,
        "probability_after": 0.64,
        "threshold": 0.6,
        "target": 1,
        "cost": 0.09,
        "method": {"name": "wachter", "params": {"n_steps": 500}, "seed": 0, "norm": "l1", "option": 0},
        "model": {"hash": "ab" * 32, "version": "2026-01"},
        "schema": "cd" * 32,
        "software": {"holdtrue": "0.1.0"},
        "issued": START,
        "valid_until": START + timedelta(days=90),
    }
    return Record(**parts | changes)


class LedgerChecks:
    """Derive a test class from this and give it a fixture `place`: a path or URL where no ledger is yet."""

    def test_what_was_issued_is_read_back(self, place: str) -> None:
        """Every record comes back equal, in the order of issue, in batches of any size."""
        with Ledger.create(place) as ledger:
            records = [promise_to(f"person {i}") for i in range(7)]
            assert ledger.issue(records, batch_size=3).new == 7
            for size in (1, 3, 7, 100):
                batches = list(ledger.live(START, batch_size=size))
                assert [p.record for batch in batches for p in batch] == records
                assert all(len(batch) <= size for batch in batches)
            early = [p.record for batch in ledger.live(START, batch_size=2, up_to=3) for p in batch]
            assert early == records[:3]
            assert [p.record for p in ledger.recent(3)] == records[:3:-1]
            assert ledger.promise(records[0].id).record == records[0]
            assert ledger.verify().ok

    def test_nothing_is_issued_twice(self, place: str) -> None:
        """The same record again is known; another under its id is refused, and its batch with it."""
        with Ledger.create(place) as ledger:
            first, second = promise_to("a"), promise_to("b")
            ledger.issue(first)
            outcome = ledger.issue([first, second, second])
            assert (outcome.new, outcome.repeated) == (1, 2)
            before = ledger.head()
            for records in ([promise_to("c"), promise_to("a", id=first.id, cost=1.0)],):
                _refused(IdTaken, "another record", ledger.issue, records)
            assert ledger.head() == before
            assert ledger.counts()["live"] == 2

    def test_the_same_at_another_time(self, place: str) -> None:
        """Where ids follow from what is promised, the time of a second try does not make another promise."""
        with Ledger.create(place) as ledger:
            first = promise_to("a")
            later = replace(first, issued=START + timedelta(days=1), valid_until=START + timedelta(days=91))
            ledger.issue(first)
            _refused(LedgerError, "another record of this id", ledger.issue, later)
            assert ledger.issue(later, at_any_time=True) == Issued(repeated=1)
            other = replace(later, changes="Wait.")
            _refused(LedgerError, "another record of this id", ledger.issue, other, at_any_time=True)
            assert ledger.promise(first.id).record == first

    def test_a_promise_ends_once(self, place: str) -> None:
        """Superseded, fulfilled or expired: it no longer binds, and no second end is taken."""
        with Ledger.create(place) as ledger:
            old, new, kept, broken, late = (promise_to(s) for s in ("a", "a", "b", "c", "d"))
            late = promise_to("d", valid_until=START + timedelta(days=1))
            ledger.issue([old, kept, broken, late])
            ledger.supersede(old.id, new)
            assert ledger.fulfil(kept.id, decision=1, actual={"income": 36000.0}) is True
            assert ledger.fulfil(broken.id, decision=0) is False
            assert ledger.expire(START + timedelta(days=2)) == 1
            assert ledger.expire(START + timedelta(days=2)) == 0
            states = [ledger.promise(r.id).state for r in (old, new, kept, broken, late)]
            assert states == ["superseded", "live", "fulfilled", "fulfilled", "expired"]
            for id in (old.id, kept.id, late.id):
                _refused(NotLive, "not live", ledger.fulfil, id, decision=1)
            _refused(NoSuchPromise, "no such promise", ledger.fulfil, "0" * 32, decision=1)
            _refused(NoSuchPromise, "no such promise", ledger.promise, "0" * 32)
            _refused(IdTaken, "already", ledger.supersede, new.id, new)
            _refused(LedgerError, "another subject", ledger.supersede, new.id, promise_to("z"))
            _refused(DataError, "columns", ledger.fulfil, new.id, decision=1, actual={"age": 3})
            counts = ledger.counts()
            assert (counts["live"], counts["kept"], counts["broken"], counts["expired"]) == (1, 1, 1, 1)
            kinds = [event.kind for event in ledger.history("b")]
            assert kinds == ["issue", "fulfil"]
            body = ledger.history("b")[1].body
            assert body is not None
            assert body["actual"] == {"income": 36000.0}
            assert ledger.verify().ok

    def test_a_promise_binds_until_its_end(self, place: str) -> None:
        """`live` gives what is valid at the time asked about, marked expired or not."""
        with Ledger.create(place) as ledger:
            ledger.issue(
                [promise_to("a", valid_until=START + timedelta(days=1)), promise_to("b", valid_until=None)]
            )
            for days, expected in ((0.99, 2), (1, 1), (10_000, 1)):
                assert sum(map(len, ledger.live(START + timedelta(days=days)))) == expected

    def test_forgetting_erases_and_the_chain_holds(self, place: str) -> None:
        """No table holds a word of the person; counts, chain and other people stay as they were."""
        with Ledger.create(place) as ledger:
            done, open_, other = promise_to("Ann Secret"), promise_to("Ann Secret"), promise_to("other")
            ledger.issue([done, open_, other])
            ledger.fulfil(done.id, decision=1, actual={"income": 36123.0}, note="Ann Secret called")
            noted = ledger.head()
            assert ledger.forget("Ann Secret") == 3
            assert ledger.forget("Ann Secret") == 0
            assert ledger.verify(noted).ok
            assert "Secret" not in _everything(ledger)
            assert "36123" not in _everything(ledger)
            assert ledger.history("Ann Secret") == []
            assert ledger.promise(open_.id).record is None
            assert ledger.counts() == {
                "live": 1, "superseded": 0, "fulfilled": 1, "expired": 0, "forgotten": 1, "kept": 1, "broken": 0,
            }  # fmt: skip
            outcome = ledger.issue([open_, other])
            assert (outcome.new, outcome.repeated, outcome.forgotten) == (0, 1, 1)
            assert "Secret" not in _everything(ledger)

    def test_subjects_are_data(self, place: str) -> None:
        """Keys that look like SQL, paths or formats are kept, found and forgotten as they are."""
        with Ledger.create(place) as ledger:
            ledger.issue([promise_to(subject, changes=subject) for subject in HOSTILE])
            for subject in HOSTILE:
                assert [e.body["subject"] for e in ledger.history(subject) if e.body] == [subject]
            assert ledger.forget(HOSTILE[0]) == 1
            assert ledger.counts()["live"] == len(HOSTILE) - 1
            for subject in ("", "x" * 201, "a\x00b", "a\nb", "\ud800", 7):
                _refused(DataError, "subject", ledger.forget, subject)
            assert ledger.verify().ok

    def test_the_chain_is_read_as_it_is_hashed(self, place: str) -> None:
        """Anybody can follow the hashes from what `chain` gives, in which there is nothing about a person."""
        with Ledger.create(place) as ledger:
            ledger.issue([promise_to("Ann Secret"), promise_to("b"), promise_to("c")])
            ledger.forget("Ann Secret")
            events = [event for batch in ledger.chain(batch_size=2) for event in batch]
            previous = genesis(ledger.head().ledger)
            for event in events:
                previous = event_hash(previous, event)
                assert previous == event["hash"]
            assert (events[-1]["seq"], previous) == (ledger.head().seq, ledger.head().hash)
            assert "Secret" not in str(events)
            assert [event["seq"] for batch in ledger.chain(2) for event in batch] == [1, 2]

    def test_tampering_is_named(self, place: str) -> None:
        """Whatever is changed behind the ledger's back, `verify` names the first event that it concerns."""
        with Ledger.create(place) as ledger:
            ledger.issue([promise_to(f"person {i}") for i in range(5)])
            ledger.forget("person 4")
            noted = ledger.head()
            changes = {
                "UPDATE holdtrue_events SET at = '2020-01-01T00:00:00.000000Z' WHERE seq = 2": 2,
                "UPDATE holdtrue_events SET hash = 'ff' WHERE seq = 3": 3,
                "UPDATE holdtrue_personal SET body = replace(body, '35500', '31500') WHERE seq = 2": 2,
                "UPDATE holdtrue_personal SET subject = 'person 9' WHERE seq = 1": 1,
                "DELETE FROM holdtrue_personal WHERE seq = 3": 3,
                "UPDATE holdtrue_promises SET state = 'fulfilled' WHERE seq = 3": 3,
                "UPDATE holdtrue_promises SET valid_until = NULL WHERE seq = 2": 2,
                "DELETE FROM holdtrue_promises WHERE seq = 5": 5,
                "DELETE FROM holdtrue_events WHERE seq = 6": 6,
                "UPDATE holdtrue_head SET seq = 9": 7,
                "UPDATE holdtrue_head SET hash = 'ff'": 6,
            }
            for statement, seq in changes.items():
                with _undone(ledger) as run:
                    run(statement)
                    found = ledger.verify()
                    assert not found.ok, statement
                    assert found.seq == seq, (statement, str(found))
            with _undone(
                ledger
            ) as run:  # the end cut off, and the note of the end with it: only who noted it knows
                ledger.issue(promise_to("person 5"))
                later = ledger.head()
                for table in ("personal", "promises", "events"):
                    run(f"DELETE FROM holdtrue_{table} WHERE seq = 7")
                run(f"UPDATE holdtrue_head SET seq = 6, hash = '{noted.hash}'")
                assert ledger.verify(noted).ok
                assert not ledger.verify(later).ok
            assert ledger.verify(noted).ok
            assert not ledger.verify("0" * 64).ok

    def test_many_write_at_once(self, place: str) -> None:
        """Ten threads issue, expire and forget; nothing is lost or doubled, and one chain comes of it."""
        Ledger.create(place).close()
        shared = [promise_to("everybody", id=f"{i:032x}") for i in range(10)]

        def work(worker: int) -> int:
            with Ledger(place) as ledger:
                own = [promise_to(f"{worker}:{i}") for i in range(8)]
                new = ledger.issue(own, batch_size=3).new + ledger.issue(shared, batch_size=4).new
                ledger.fulfil(own[0].id, decision=1)
                ledger.forget(own[1].subject)
                return new

        with ThreadPoolExecutor(10) as pool:
            issued = sum(pool.map(work, range(10)))
        with Ledger(place) as ledger:
            counts = ledger.counts()
            assert issued == 90
            assert (counts["live"], counts["fulfilled"], counts["forgotten"]) == (70, 10, 10)
            assert sum(map(len, ledger.live(START, batch_size=7))) == 70
            assert ledger.verify().n_events == 110
            assert ledger.verify().ok

    def test_opening_twice_and_making_again(self, place: str) -> None:
        """`create` on a ledger that is there changes nothing; one that is not there is not made by opening."""
        _refused(LedgerError, "ledger init", Ledger, place)
        with Ledger.create(place) as ledger:
            ledger.issue(promise_to("a"))
            before = ledger.head()
        with Ledger.create(place) as again:
            assert again.head() == before


def _refused(kind: type[Exception], words: str, call: Any, *args: Any, **named: Any) -> None:
    try:
        call(*args, **named)
    except kind as error:
        assert words in str(error), str(error)
    else:
        raise AssertionError(f"{call} took {args} {named}")


def _everything(ledger: Ledger) -> str:
    """All that all tables hold."""

    def read(connection: sa.Connection) -> str:
        names = sa.inspect(connection).get_table_names()
        return repr([connection.execute(sa.text(f'SELECT * FROM "{name}"')).all() for name in names])

    return ledger._database.run(read)


class _undone:
    """Change tables behind the ledger's back, and put every row back at the end."""

    def __init__(self, ledger: Ledger) -> None:
        self.database = ledger._database

    def __enter__(self) -> Any:
        self.tables = METADATA.sorted_tables
        self.rows = self.database.run(
            lambda c: {t.name: [dict(row._mapping) for row in c.execute(sa.select(t))] for t in self.tables}
        )
        return self._run

    def _run(self, statement: str) -> None:
        self.database.run(lambda connection: connection.execute(sa.text(statement)), write=True)

    def __exit__(self, *_: object) -> None:
        def work(connection: sa.Connection) -> None:
            for table in reversed(self.tables):
                connection.execute(sa.delete(table))
            for table in self.tables:
                if self.rows[table.name]:
                    connection.execute(sa.insert(table), self.rows[table.name])

        self.database.run(work, write=True)
