"""The validator's page: live promises, gates, and reports from model to model."""

import re
import sqlite3
from html import unescape

from fastapi.testclient import TestClient

import holdtrue as ht
from holdtrue.server import Service, create_app

from .forms import Forms, send


def test_oversight(world, overseer, clf, refused, tmp_path):
    world.officer.post("/v1/records", json={"subject": "watched", "person": refused[0]})
    before = world.ledger.gates()  # which other tests may have written down
    page = overseer.get("/oversight").text
    counts = world.ledger.counts()
    assert f"{counts['live']} live" in Forms(page).words
    assert send(overseer, page, "/oversight/gate", group="male").status_code == 303
    assert world.ledger.gates() == before
    assert send(overseer, page, "/oversight/gate", write_down="true").status_code == 303
    asked = world.validator.post("/v1/gate", json={"max_broken": 0.05, "write_down": True}).json()["report"]
    said = [event.public for event in world.ledger.gates()[len(before) :]]
    assert [one["max_broken"] for one in said] == [0.0, 0.05]
    assert (said[1]["live"], said[1]["broken"], said[1]["model"]) == (asked["n_live"], 0, asked["model"])
    assert send(overseer, page, "/oversight/gate", group="male", max_broken="5").status_code == 303
    shown = Forms(overseer.get("/oversight").text)
    expected = ht.gate(clf, world.ledger, group="male", alternatives=0)
    assert "The model passes." in shown.words
    assert f"0 of {expected.n_live} live promises break" in shown.words
    for group in expected.groups:
        label = {"0": "no", "1": "yes"}[group.label]
        assert f"{label} {group.n} 0 0.0%" in shown.words
    assert send(overseer, page, "/oversight/gate", max_broken="a lot").status_code == 422
    assert send(overseer, page, "/oversight/gate", group="shoe size").status_code == 422


def test_a_broken_chain_is_not_called_whole(clf, tmp_path, refused, bank):
    """Somebody wrote into the database: the page says which event, and not that nothing was changed."""
    place = tmp_path / "promises.db"
    ledger = ht.Ledger.create(place)
    X = bank.X[clf.predict(bank.X) == 0][:2]
    ledger.issue(ht.records(clf.recourse(X), ["a", "b"]))
    client = TestClient(create_app(Service(clf, ledger=ledger)), base_url="http://localhost")
    page = client.get("/oversight").text
    whole = Forms(send(client, page, "/oversight/verify").text).words
    assert "It is whole." in whole
    assert "Nothing was changed" in whole
    with sqlite3.connect(place) as database:
        database.execute("UPDATE holdtrue_events SET kind = 'expire' WHERE seq = 1")
    database.close()
    broken = Forms(send(client, page, "/oversight/verify").text).words
    assert "It is broken." in broken
    assert "Nothing was changed" not in broken
    assert "Something was changed" in broken


def test_from_model_to_model(clf, tmp_path, refused, bank):
    """A folder of reports, one of a hostile name and one that is damaged."""
    ledger = ht.Ledger.create(tmp_path / "promises.db")
    X = bank.X[clf.predict(bank.X) == 0][:10]
    ledger.issue(ht.records(clf.recourse(X), [f"a {i}" for i in range(10)], model_version="<b>old</b>"))
    gates = tmp_path / "gates"
    gates.mkdir()
    kept = [ht.gate(clf.at_threshold(t), ledger, alternatives=0) for t in (0.5, 0.6, 0.99)]
    for name, report in zip(("2026-01", "2026-02", "<b>2026-03"), kept, strict=True):
        report.write(gates / f"{name}.json")
    (gates / "odd.json").write_text("{")
    service = Service(clf, ledger=ledger, gate_report=gates, model_version="now")
    client = TestClient(create_app(service), base_url="http://localhost")
    page = Forms(client.get("/oversight").text)
    assert "b" not in page.tags
    assert "1 report cannot be read." in page.words
    assert page.tags.count("circle") == 3
    assert [r.n_broken for r in kept] == sorted(r.n_broken for r in kept)
    for report in kept:
        share = 1 - report.n_broken / report.n_live
        assert f"{report.n_live} {100 * share:.1f}% {report.n_broken}" in page.words
    assert service.last_gate()["n_broken"] == kept[-1].n_broken
    send(client, client.get("/oversight").text, "/oversight/gate")
    assert len(list(gates.glob("*.json"))) == 5
    broken = kept[2]
    cases = {case["id"] for case in broken.cases}
    assert broken.n_broken == len(cases) > 0
    folder = tmp_path / "last"
    folder.mkdir()
    broken.write(folder / "last.json")
    last = TestClient(create_app(Service(clf, ledger=ledger, gate_report=folder)), base_url="http://localhost")
    text = last.get("/oversight").text
    assert "to approve regardless" in text
    assert all(f"/oversight/promises/{id}" in text for id in cases)  # all who are to be approved are named
    one = Forms(last.get(f"/oversight/promises/{min(cases)}").text).words
    assert "The served model keeps it." in one
    assert "last" in one
    assert "broken" in one
    assert "issued" in one


def test_everybody_to_whom_a_model_breaks_a_promise_is_listed(clf, tmp_path, bank):
    """Page by page, whatever the report's name; a link per case, and none is listed twice."""
    ledger = ht.Ledger.create(tmp_path / "promises.db")
    X = bank.X[clf.predict(bank.X) == 0][:60]
    ledger.issue(ht.records(clf.recourse(X), [f"number {i}" for i in range(len(X))]))
    gates = tmp_path / "gates"
    gates.mkdir()
    report = ht.gate(clf.at_threshold(0.999), ledger, alternatives=0)
    report.write(gates / "<i>next & last.json")
    client = TestClient(create_app(Service(clf, ledger=ledger, gate_report=gates)), base_url="http://localhost")
    found, pages = [], 0
    place = re.findall(r'href="(/oversight/cases[^"]+)"', client.get("/oversight").text)[-1]
    while place:
        text = client.get(unescape(place)).text
        assert "<i>" not in text
        found += re.findall(r'href="/oversight/promises/([^"]+)">(number \d+) ', text)
        pages += 1
        place = next(iter(re.findall(r'href="([^"]+)">Next', text)), None)
    assert pages == -(-report.n_broken // 25) > 1
    assert len(found) == len(dict(found)) == report.n_broken > 40
    assert {id for id, _ in found} == {case["id"] for case in report.cases}
    assert all(ledger.promise(id).record.subject == who for id, who in found)
    assert client.get("/oversight/cases?report=none").status_code == 404
    past = client.get("/oversight/cases", params={"report": "<i>next & last", "page": 99}).text
    assert f"page {pages} of {pages}" in past
    other = ht.Ledger.create(tmp_path / "other.db")
    client = TestClient(create_app(Service(clf, ledger=other, gate_report=gates)), base_url="http://localhost")
    client.get("/oversight")
    assert "this ledger keeps nothing" in client.get("/oversight/cases", params={"report": "<i>next & last"}).text


def test_an_address_written_by_hand_is_answered_with_a_page(overseer):
    for place in ("/oversight/cases", "/oversight/cases?report=x&page=first"):
        page = overseer.get(place)
        assert (page.status_code, "There is no such page." in page.text) == (404, True), place
