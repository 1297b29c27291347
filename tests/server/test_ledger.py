"""What else becomes of a promise over HTTP: told in a letter, replaced, run out, forgotten."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

import holdtrue as ht

OTHER_WAYS = 0  # a refused person who has a way also where one of the columns of the first stays as it is


@pytest.fixture
def promised(world, refused):
    """Issue a promise, and return its record."""

    def issue(i, subject, **rest):
        answer = world.officer.post("/v1/records", json={"subject": subject, "person": refused[i], **rest})
        assert answer.status_code == 201, answer.text
        return ht.Record.from_dict(answer.json())

    return issue


def test_the_chance_to_hold_is_told_and_recorded(world, clf, refused, bank, promised):
    answer = world.officer.post("/v1/recourse", json={"people": refused[:6], "options": 2}).json()["answers"]
    told = [option["survival"] for one in answer for option in one["options"]]
    import pandas as pd

    plan = clf.recourse(pd.DataFrame(refused[:6], columns=bank.X.columns), n_recourses=2)
    life = ht.shelf_life(plan, against=world.service.retrained)
    assert [one["estimate"] for one in told] == life.survival[plan.found].tolist()
    assert [one["lower"] for one in told] == life.lower[plan.found].tolist()
    assert {one["n_models"] for one in told} == {8}
    record = promised(0, "life 1", options=2)
    assert record.survival == answer[0]["options"][0]["survival"]


def test_a_letter(world, promised):
    record = promised(0, "letter 1", valid_days=30)
    path = f"/v1/records/{record.id}/letter"
    answer = world.officer.get(path)
    (letter,) = ht.letters(record)
    assert answer.text == letter.text
    assert record.changes in answer.text
    assert answer.headers["content-type"].startswith("text/plain")
    answer = world.officer.get(path, params={"format": "html"})
    assert answer.text == letter.html
    assert world.officer.get(path, params={"format": "pdf"}).status_code == 422
    world.officer.post(f"/v1/records/{record.id}/fulfil", json={"decision": 1})
    answer = world.officer.get(path)
    assert (answer.status_code, answer.json()["error"]) == (
        409,
        f"letter: the promise is not live; got {record.id!r}, which is fulfilled.",
    )
    assert world.officer.get("/v1/records/none/letter").status_code == 404


def test_supersede(world, clf, refused, promised):
    old = promised(OTHER_WAYS, "change 1")
    path = f"/v1/records/{old.id}/supersede"
    locked = next(name for name in old.factual if old.factual[name] != old.recourse[name])
    body = {"person": refused[OTHER_WAYS], "restrictions": {locked: "fixed"}, "id": "ab" * 16}
    answer = world.officer.post(path, json=body)
    assert answer.status_code == 201, answer.text
    new = ht.Record.from_dict(answer.json())
    assert (new.subject, new.recourse[locked]) == (old.subject, old.factual[locked])
    assert [world.ledger.promise(id).state for id in (old.id, new.id)] == ["superseded", "live"]
    assert ht.replay(new, clf).same
    again = world.officer.post(path, json=body)  # an answer that was lost is asked for again
    assert (again.status_code, again.json()) == (200, answer.json())
    assert world.officer.post(path, json={"person": refused[OTHER_WAYS]}).status_code == 409
    assert world.officer.post("/v1/records/none/supersede", json={"person": refused[1]}).status_code == 404
    assert world.ledger.verify().ok


def test_expire(world, promised):
    record = promised(2, "late 1", valid_days=1)
    ended = datetime.now(UTC) - timedelta(days=1)
    late = replace(record, id="cd" * 16, issued=ended - timedelta(days=2), valid_until=ended)
    world.ledger.issue(late)
    answer = world.officer.post("/v1/ledger/expire")
    assert (answer.status_code, answer.json()) == (200, {"expired": 1})
    assert world.ledger.promise(late.id).state == "expired"
    assert world.ledger.promise(record.id).state == "live"
    assert world.validator.post("/v1/ledger/expire").json() == {"expired": 0}


def test_forget(world, promised):
    subject = "Jane Roe; -- {{ 7*7 }}"
    record = promised(3, subject)
    head = world.ledger.head()
    assert world.officer.post("/v1/ledger/forget", json={"subject": subject}).status_code == 403
    assert world.admin.post("/v1/ledger/forget", json={"subject": subject}).json() == {"erased": 1}
    assert world.ledger.history(subject) == []
    assert world.ledger.verify(head).ok
    shown = world.officer.get(f"/v1/records/{record.id}").json()
    assert shown == {"state": "forgotten", "record": None}
    assert world.admin.post("/v1/ledger/forget", json={"subject": subject}).json() == {"erased": 0}
    assert world.admin.post("/v1/ledger/forget", json={"subject": "a\nb"}).status_code == 422
