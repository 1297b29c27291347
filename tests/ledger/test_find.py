"""Promises looked up, in both databases."""

from datetime import timedelta

import pytest

from holdtrue.errors import DataError
from holdtrue.ledger import Ledger, utc_now
from holdtrue.testing._ledger import promise_to


@pytest.fixture
def ledger(place: str):
    with Ledger.create(place) as ledger:
        yield ledger


def to(who: str, **more: object):
    return promise_to(who, **{"valid_until": None} | more)


def test_by_key_id_state_and_day(ledger: Ledger) -> None:
    now = utc_now()
    a, b, c = to("Application 1"), to("application 12"), to("100%_")
    ended = to("application 3", issued=now - timedelta(days=9), valid_until=now - timedelta(days=1))
    ledger.issue([a, b, c, ended])
    ledger.fulfil(b.id, decision=1)

    def ids(*args: object, **how: object) -> list[str]:
        found, total = ledger.find(*args, **how)  # type: ignore[arg-type]
        assert total == len(found)
        return [one.id for one in found]

    assert ids() == [ended.id, c.id, b.id, a.id]  # the latest first
    assert ids("application 1") == [b.id, a.id]  # large and small letters alike
    assert ids("%_") == [c.id]  # no pattern
    assert ids(subject="application 1") == []
    assert ids(subject="Application 1") == [a.id]
    assert ids(a.id[:12].upper()) == [a.id]
    assert ids(state="live") == [c.id, a.id]
    assert ids(state="expired") == [ended.id]  # though nobody has written it down
    assert ids("application", state="fulfilled") == [b.id]
    assert ids(until=now - timedelta(days=1)) == []
    assert ids(since=now - timedelta(days=1)) == ids()
    ledger.forget("application 12")
    assert ids("application 12") == []
    assert ids(b.id) == [b.id]
    assert ledger.live_counts(["Application 1", "application 3", "100%_", "nobody"]) == {
        "Application 1": 1,
        "100%_": 1,
    }


def test_a_page_at_a_time(ledger: Ledger) -> None:
    made = [to(f"a{i}") for i in range(7)]
    ledger.issue(made)
    first, total = ledger.find(n=3)
    last, _ = ledger.find(n=3, start=6)
    assert total == 7
    assert [p.id for p in (*first, *last)] == [made[i].id for i in (6, 5, 4, 0)]


def test_refusals(ledger: Ledger) -> None:
    with pytest.raises(DataError, match="no such state"):
        ledger.find(state="lost")
    with pytest.raises(DataError, match="time zone"):
        ledger.find(since=utc_now().replace(tzinfo=None))
