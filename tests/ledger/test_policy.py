"""What a ledger takes in, whoever asks; and edits that `verify` must see."""

import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from holdtrue.errors import AgainstPolicy, DataError
from holdtrue.ledger import Issued, Ledger, Policy, utc_now
from holdtrue.ledger import _ledger as module
from holdtrue.testing._ledger import promise_to


@pytest.fixture
def ledger(tmp_path: Path):
    with Ledger.create(tmp_path / "l.db") as ledger:
        yield ledger


def to(who: str, **more: object):
    """A promise without an end: those of `promise_to` have run out."""
    return promise_to(who, **{"valid_until": None} | more)


def sure(who: str, share: float | None, **more: object):
    told = {"estimate": share, "lower": 0.0, "upper": 1.0, "confidence": 0.95, "n_models": 10, "vary": "seed"}
    return to(who, survival=None if share is None else told, **more)


def test_without_a_policy_everything_is_taken(ledger: Ledger) -> None:
    assert ledger.policy() == Policy()
    assert ledger.issue([to("a"), to("a")]).new == 2


def test_so_many_live_promises_to_one_person(ledger: Ledger) -> None:
    ledger.set_policy(Policy(most_live=1))
    first = to("a")
    ledger.issue([first, to("b")])
    assert ledger.issue(first) == Issued(repeated=1)  # no second one
    with pytest.raises(AgainstPolicy, match="has 1 live promises already"):
        ledger.issue(to("a"))
    with pytest.raises(AgainstPolicy):
        ledger.issue([to("c"), to("c")])
    assert ledger.counts()["live"] == 2  # nothing of that batch
    assert ledger.issue([to("c"), to("c"), to("a")], leave_out=True) == Issued(new=1, refused=2)
    second = to("a")
    ledger.supersede(first.id, second)
    ledger.fulfil(second.id, decision=1)
    assert ledger.issue(to("a")).new == 1
    assert ledger.verify().ok


def test_what_has_run_out_does_not_count(ledger: Ledger) -> None:
    ledger.set_policy(Policy(most_live=1))
    ended = to("a", issued=utc_now() - timedelta(days=9), valid_until=utc_now() - timedelta(days=1))
    ledger.issue(ended)
    assert ledger.issue(to("a", issued=utc_now(), valid_until=None)).new == 1


def test_so_sure_it_must_be(ledger: Ledger) -> None:
    ledger.set_policy(Policy(least_survival=0.5))
    assert ledger.issue(sure("a", 0.5)).new == 1
    with pytest.raises(AgainstPolicy, match=r"0\.01 accept"):
        ledger.issue(sure("b", 0.01))
    with pytest.raises(AgainstPolicy, match="not known"):
        ledger.issue(sure("b", None))


def test_an_override_takes_a_reason_and_a_role(ledger: Ledger) -> None:
    ledger.set_policy(Policy(most_live=1, override=("admin",)))
    ledger.issue(to("a"))
    again = to("a", reason="the first was sent to a wrong address")
    for role in ("officer", "operator"):
        with pytest.raises(AgainstPolicy):
            ledger.issue(again, role=role)
    with pytest.raises(AgainstPolicy):
        ledger.issue(replace(again, reason=None), role="admin")
    assert ledger.issue(again, role="admin").new == 1
    last = ledger.history("a")[-1]
    assert last.public["override"] == {"rules": ["most_live"], "role": "admin"}
    assert ledger.verify().ok


@pytest.mark.parametrize("bad", [{"most_live": 0}, {"most_live": True}, {"least_survival": 2}, {"override": [""]}])
def test_what_is_no_policy(bad) -> None:
    with pytest.raises(DataError, match=r"^Policy: "):
        Policy(**bad)


# ---- what verify must see ---------------------------------------------------------------------------------


def edit(ledger: Ledger, *statements: str) -> None:
    with sqlite3.connect(ledger.place) as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_head_that_is_gone(ledger: Ledger) -> None:
    ledger.issue(to("a"))
    edit(ledger, "DELETE FROM holdtrue_head")
    assert not ledger.verify().ok
    assert "gone" in str(ledger.verify())


def test_erased_rows_put_back(ledger: Ledger) -> None:
    ledger.issue([to("a"), to("b")])
    edit(ledger, "CREATE TABLE kept AS SELECT * FROM holdtrue_personal WHERE subject = 'a'")
    ledger.forget("a")
    assert ledger.verify().ok
    edit(ledger, "INSERT INTO holdtrue_personal SELECT * FROM kept")
    assert "there again" in str(ledger.verify())


def test_personal_parts_of_no_event(ledger: Ledger) -> None:
    ledger.issue(to("a"))
    edit(ledger, "INSERT INTO holdtrue_personal SELECT 99, subject, salt, body FROM holdtrue_personal")
    assert "no event" in str(ledger.verify())


def test_a_clock_that_is_set_back_dates_nothing_backwards(ledger: Ledger, monkeypatch) -> None:
    ledger.issue(to("a"))
    monkeypatch.setattr(module, "utc_now", lambda: utc_now() - timedelta(days=2))
    ledger.issue(to("b"))
    at = [ledger.history(who)[0].at for who in "ab"]
    assert at == sorted(at)
    assert ledger.verify().ok
