"""Promises through the service are those of the library: issued, shown, fulfilled, held against by the gate."""

import secrets
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi.testclient import TestClient

import holdtrue as ht
from holdtrue.server import Service, create_app


def issue(world, person, subject="application 1", **rest):
    return world.officer.post("/v1/records", json={"subject": subject, "person": person, **rest})


def test_a_record_is_the_one_that_the_library_makes(world, clf, refused, bank):
    answer = issue(world, refused[0], valid_days=90, restrictions={"price": "fixed"})
    assert answer.status_code == 201
    record = ht.Record.from_dict(answer.json())
    assert world.ledger.promise(record.id).record == record
    assert record.model == {"hash": clf.predictor_.digest(), "version": "v1"}
    assert (record.valid_until - record.issued).days == 90
    assert record.recourse["price"] == record.factual["price"] == refused[0]["price"]
    assert ht.replay(record, clf).same
    shown = world.validator.get(f"/v1/records/{record.id}").json()
    assert shown == {"state": "live", "record": record.to_dict()}


def test_the_second_option_can_be_promised(world, clf, refused):
    answers = world.officer.post("/v1/recourse", json={"people": refused[:20], "options": 2}).json()["answers"]
    one, two = (next(i for i, a in enumerate(answers) if len(a["options"]) == n) for n in (1, 2))
    asked, record = answers[two], issue(world, refused[two], option=1, options=2).json()
    assert record["recourse"] == asked["options"][1]["recourse"]
    assert record["method"]["option"] == 1
    assert ht.replay(ht.Record.from_dict(record), clf).same
    answer = issue(world, refused[one], option=1)
    assert (answer.status_code, answer.json()["error"]) == (409, "records: nothing was issued. Options found: 1.")
    answer = issue(world, refused[1], option=9)
    assert (answer.status_code, answer.json()["error"][:4]) == (422, "body")


def test_the_option_that_was_told_is_promised_whichever_its_place(world, refused):
    """Options are sorted together, so that the place of one depends on how many were asked for."""
    answers = world.officer.post("/v1/recourse", json={"people": refused[:20], "options": 2}).json()["answers"]
    two = next(i for i, answer in enumerate(answers) if len(answer["options"]) == 2)
    told, id = answers[two]["options"][1]["recourse"], secrets.token_hex(16)
    made = issue(world, refused[two], recourse=told, options=2, id=id)
    assert made.status_code == 201, made.text
    assert made.json()["recourse"] == told
    assert issue(world, refused[two], recourse=told, options=2, id=id).json() == made.json()
    other = answers[two]["options"][0]["recourse"]
    assert issue(world, refused[two], recourse=other, options=2, id=id).status_code == 409
    before = world.ledger.counts()["live"]
    answer = issue(world, refused[two], recourse=refused[two], options=2)
    assert answer.status_code == 409
    assert "is none of the 2 options" in answer.json()["error"]
    assert world.ledger.counts()["live"] == before


def test_issuing_twice_by_one_id_is_one_promise(world, refused):
    id, before = secrets.token_hex(16), world.ledger.counts()["live"]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: issue(world, refused[2], id=id), range(4)))
    assert sorted(a.status_code for a in answers) == [200, 200, 200, 201]
    assert all(a.json() == answers[0].json() for a in answers)
    assert world.ledger.counts()["live"] == before + 1
    assert issue(world, refused[3], id=id).status_code == 409
    assert issue(world, refused[2], "application 2", id=id).status_code == 409


def test_nothing_is_promised_to_who_needs_nothing(world, clf, bank, rows):
    approved = next(row for row, label in zip(rows, clf.predict(bank.X), strict=True) if label == 1)
    answer = issue(world, approved)
    assert answer.status_code == 409
    assert "already the wanted one" in answer.json()["error"]


def test_fulfil(world, refused):
    record = issue(world, refused[4], "application 5").json()
    path = f"/v1/records/{record['id']}/fulfil"
    odd = world.officer.post(path, json={"decision": 1, "actual": {"shoe size": 44}})
    assert (odd.status_code, "shoe size" in odd.json()["error"]) == (422, True)
    answer = world.officer.post(path, json={"decision": 1, "actual": record["recourse"], "note": "came back"})
    assert (answer.status_code, answer.json()) == (200, {"kept": True})
    assert world.officer.post(path, json={"decision": 1}).status_code == 409
    assert world.officer.post("/v1/records/none/fulfil", json={"decision": 1}).status_code == 404
    assert world.officer.get("/v1/records/none").status_code == 404
    kinds = [event.kind for event in world.ledger.history("application 5")]
    assert kinds == ["issue", "fulfil"]
    told = world.validator.get("/v1/ledger").json()
    assert told["counts"] == world.ledger.counts()
    assert told["head"]["hash"] == world.ledger.head().hash


def test_gate(world, clf, refused, tmp_path):
    issue(world, refused[5], "application 6")
    answer = world.validator.post("/v1/gate", json={"group": "male"})
    assert answer.status_code == 200
    report = answer.json()["report"]
    expected = ht.gate(clf, world.ledger, alternatives=0)
    assert (report["n_live"], report["n_broken"]) == (expected.n_live, 0)
    assert expected.n_live > 0
    assert world.validator.get("/v1/gate").json() == {"running": False, "report": report}
    assert world.validator.post("/v1/gate", json={"group": "shoe size"}).status_code == 422
    # What the command wrote, perhaps about the next model, is what is told.
    place = world.service.gates.place
    kept = place.read_text()
    ht.gate(clf.at_threshold(0.99), world.ledger, alternatives=0).write(place)
    assert world.validator.get("/v1/gate").json()["report"]["n_broken"] > 0
    place.write_text("[]")
    assert world.validator.get("/v1/gate").status_code == 422
    place.write_text(kept)


def test_one_gate_at_a_time(world):
    with world.service._gate:
        assert world.validator.post("/v1/gate", json={}).status_code == 409
        assert world.service.gate_runs


@pytest.mark.parametrize("path", ["/v1/gate", "/v1/ledger", "/v1/records/0"])
def test_without_a_ledger(clf, path):
    answer = TestClient(create_app(Service(clf))).get(path)
    assert answer.status_code == 404


def test_a_ledger_that_is_gone(clf, refused, tmp_path):
    ledger = ht.Ledger.create(tmp_path / "promises.db")
    client = TestClient(create_app(Service(clf, ledger=ledger)))
    ledger.close()
    (tmp_path / "promises.db").unlink()
    answer = client.get("/v1/ledger")
    assert answer.status_code == 503
    assert answer.json()["error"].startswith("service: the ledger cannot be reached")


def test_hostile_texts_are_only_texts(world, refused):
    subject = "'; DROP TABLE promises; -- {{ 7*7 }}"
    record = issue(world, refused[6], subject).json()
    assert record["subject"] == subject
    assert world.ledger.verify().ok
    assert world.officer.get("/v1/records/'%20OR%201=1").status_code == 404
    assert issue(world, refused[6], "a\nb").status_code == 422
