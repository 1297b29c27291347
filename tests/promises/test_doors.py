"""Three doors, one room: Python, the command line and HTTP promise the same person the same, in the same words."""

import copy
import json
import warnings
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import holdtrue as ht
from holdtrue.cli import cli
from holdtrue.ledger import Record

OWN = ("id", "issued", "valid_until")  # of one record: what no two promises share
DAYS = 30
VERSION = "v7"
REASON = "the branch manager knows the applicant"


@pytest.fixture(scope="module")
def bank():
    return ht.datasets.load("loanapp").subset(range(400))


@pytest.fixture(scope="module")
def clf(bank):
    """A certified model, with guides."""
    made = ht.RecourseClassifier(
        schema=bank.schema,
        model=ht.Linear(),
        regime=ht.StandardTraining(n_epochs=30, step_size=0.01, class_weight="balanced"),
        method=ht.Wachter(n_steps=40, patience=10, random_state=0),
        hold=0.8,
        n_guides=5,
        random_state=0,
    ).fit(bank.X[:300], bank.y[:300])
    ht.certify(made, bank.X[300:], miscoverage=0.2)
    return made


@pytest.fixture(scope="module")
def people(clf, bank):
    """Four who have recourse and one who has none."""
    refused = bank.X[clf.predict(bank.X) == 0]
    found = clf.recourse(refused).found
    return pd.concat([refused[found][:4], refused[~found][:1]]).reset_index(drop=True)


@pytest.fixture(scope="module")
def restrictions(clf, people):
    """The second person is not asked for a thing that would be asked of them, and has recourse all the same."""
    asked = clf.schema_.names
    changes = clf.recourse(people).changed()[1]
    changed = [name for name, is_changed in zip(asked, changes, strict=True) if is_changed]
    own = ({1: {name: "fixed"}} for name in changed)
    return next(one for one in own if clf.recourse(people, restrictions=one).found[1])


@pytest.fixture(scope="module", params=["as fitted", "none, with a reason", "none"])
def asked(request):
    """What is wanted of how long recourse holds, and why what does not hold is promised all the same."""
    hold = {} if request.param == "as fitted" else {"hold": None}
    reason = {"reason": REASON} if "reason" in request.param else {}
    return hold, reason


@pytest.fixture(scope="module")
def python(clf, people, restrictions, asked, tmp_path_factory):
    hold, reason = asked
    plan = clf.recourse(people, restrictions=restrictions, **hold)
    with ht.Ledger.create(tmp_path_factory.mktemp("python") / "l.db") as ledger:
        terms = {"valid_for": DAYS, "model_version": VERSION, **reason}
        made = ht.promise(plan, _keys(people), ledger, only_holding=True, **terms)
        assert _live(ledger) == {record.subject: record for record in made}
    return {record.subject: record for record in made}


@pytest.fixture(scope="module")
def command_line(clf, people, restrictions, asked, tmp_path_factory):
    hold, reason = asked
    folder = tmp_path_factory.mktemp("command")
    clf.save(folder / "model.holdtrue")
    people.assign(who=_keys(people)).to_csv(folder / "people.csv", index=False)
    (folder / "own.json").write_text(json.dumps(restrictions))
    with pytest.MonkeyPatch.context() as patch, ht.Ledger.create(folder / "l.db") as ledger:
        patch.setenv("HOLDTRUE_CACHE", "off")
        command = [
            "recourse", folder / "model.holdtrue", folder / "people.csv", "--out", folder / "out.csv",
            "--restrictions", folder / "own.json", "--ledger", ledger.place, "--subject", "who",
            "--valid-for", DAYS, "--model-version", VERSION, *(["--hold", "none"] if hold else []),
            *(["--reason", REASON] if reason else []),
        ]  # fmt: skip
        done = CliRunner().invoke(cli, [str(part) for part in command], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        found = _live(ledger)
        assert "hold at 80%" in done.output
        left = 4 - len(found)
        assert (f"{left} known not to hold were not promised; that takes a --reason" in done.output) == (left > 0)
        return found


@pytest.fixture(scope="module")
def http(clf, people, restrictions, asked, tmp_path_factory):
    pytest.importorskip("fastapi")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer ones want the successor of httpx, older ones do not know it
        from fastapi.testclient import TestClient

    from holdtrue.server import Quotas, Service, create_app

    hold, reason = asked
    with ht.Ledger.create(tmp_path_factory.mktemp("http") / "l.db") as ledger:
        quotas = Quotas(batch=4, options=1, deadline=60, max_deadline=120)
        service = Service(clf, ledger=ledger, model_version=VERSION, quotas=quotas)
        with TestClient(create_app(service, pages=False), base_url="http://localhost") as client:
            for i, (subject, row) in enumerate(zip(_keys(people), _rows(people), strict=True)):
                body = {"subject": subject, "person": row, "valid_days": DAYS, **hold, **reason}
                if i in restrictions:
                    body["restrictions"] = restrictions[i]
                answer = client.post("/v1/records", json=body)
                assert answer.status_code in (201, 409, 422)
                if answer.status_code == 422:
                    assert "the recourse is known not to hold at 80%" in answer.json()["error"]
        return _live(ledger)


def _keys(people):
    return [f"application {i}" for i in range(len(people))]


def _rows(people):
    rows = people.astype(object).to_dict(orient="records")
    return [{name: None if value != value else value for name, value in row.items()} for row in rows]


def _live(ledger) -> dict[str, Record]:
    return {promise.record.subject: promise.record for batch in ledger.live() for promise in batch}


def _told(record):
    assert record.valid_until - record.issued == timedelta(days=DAYS)
    return {name: value for name, value in record.to_dict().items() if name not in OWN}


@pytest.mark.parametrize("door", ["command_line", "http"])
def test_the_same_person_gets_the_same_record(request, python, asked, door):
    """Field by field; all but the id and the time. What is known not to hold is nobody's without a reason."""
    reason = asked[1].get("reason")
    other = request.getfixturevalue(door)
    assert set(other) == set(python)
    assert len(python) == 4 or not reason
    for subject, record in python.items():
        expected, got = _told(record), _told(other[subject])
        assert record.reason == (None if record.survival["holds"] else reason)
        assert got.keys() == expected.keys()
        for name, value in expected.items():
            assert got[name] == value, (subject, name)


@pytest.mark.parametrize("door", ["python", "command_line", "http"])
def test_no_door_drops_the_certificate(request, clf, restrictions, asked, door):
    made = clf.certificate_
    names = ("threshold", "miscoverage", "failure", "n", "k", "date")
    terms = {name: getattr(made, name) for name in names}
    terms |= {"kind": "guarantee", "sha256": made.to_dict()["sha256"]}
    terms["hold"] = {name: made.hold[name] for name in ("hold", "term", "kept", "lower")}
    records = request.getfixturevalue(door)
    assert [record.certificate for record in records.values()] == [terms] * len(records)
    if "application 1" in records:
        own = records["application 1"].restrictions
        assert own == {name: {"direction": way} for name, way in restrictions[1].items()}


def test_whoever_found_the_recourse(clf, people):
    """A method of one's own, fitted to the classifier, and `ht.recourse`."""
    named = ht.HighestScore().fit(clf).recourse(people)
    for plan in (
        named,
        ht.recourse(clf, people, method=ht.Wachter(n_steps=40)),
        clf.recourse(people).take([0, 1]),
    ):
        assert plan.predictor.certificate is clf.certificate_
        assert all(record.certificate for record in ht.records(plan, _keys(people)[: len(plan)], reason=REASON))


def test_another_threshold_has_no_certificate(clf, people):
    other = clf.at_threshold(0.5)
    assert other.certificate_ is None
    assert clf.certificate_ is not None
    plan = other.recourse(people)
    assert all(record.certificate is None for record in ht.records(plan, _keys(people), reason=REASON))


def test_without_a_ledger_nothing_is_issued_yet(clf, people, tmp_path):
    plan = clf.recourse(people)
    ids = [None, *(f"{i:032x}" for i in range(1, len(people)))]
    made = ht.promise(plan, _keys(people), ids=ids, reason=REASON)
    names = {record.subject: record.id for record in made}
    assert all(names[key] == id for key, id in zip(_keys(people), ids, strict=True) if id and key in names)
    assert len(set(names.values())) == len(made)
    with ht.Ledger.create(tmp_path / "l.db") as ledger:
        assert ledger.issue(made).new == len(made)
        assert ledger.issue(made).repeated == len(made)
    with pytest.raises(ht.errors.DataError, match=r"`ids` must have one entry per row"):
        ht.promise(plan, _keys(people), ids=["0" * 32])


def test_what_does_not_hold_needs_a_reason(clf, people):
    """The three ways to go on: a reason for all, one for each, or only what holds."""
    plan = clf.recourse(people, hold=None)
    holds = plan.held.holds[plan.found]
    assert 0 < holds.sum() < len(holds)
    with pytest.raises(
        ht.errors.DoesNotHold, match=r"of 4 recourses are known not to hold at 80%; got 'appl.*reason"
    ):
        ht.promise(plan, _keys(people))
    with pytest.raises(ht.errors.DataError, match="`reason` must have one entry per row"):
        ht.promise(plan, _keys(people), reason=[REASON])
    with pytest.raises(ht.errors.DataError, match="`reason` must be a text of 1 to 2000"):
        ht.promise(plan, _keys(people), reason=" ")
    only = ht.promise(plan, _keys(people), only_holding=True)
    assert [record.survival["holds"] for record in only] == [True] * int(holds.sum())
    each = [None if there else f"because {i}" for i, there in enumerate(plan.held.holds)]
    told = [record.reason for record in ht.promise(plan, _keys(people), reason=each)]
    assert told == [each[i] for i in np.flatnonzero(plan.found)]


def test_a_record_says_what_the_plan_says(clf, people):
    plan = clf.recourse(people)
    made = ht.records(plan, _keys(people), reason=REASON)
    level = plan.held.level
    for i, record in zip(np.flatnonzero(plan.found), made, strict=True):
        said = record.survival
        assert said["estimate"] == plan.held.survival[i]
        assert (said["lower"], said["upper"]) == (plan.held.lower[i], plan.held.upper[i])
        assert (said["n_models"], said["vary"], said["confidence"]) == (5, "anew", 0.95)
        assert said["cheapest"] == pytest.approx(plan.held.cheapest[i])
        assert (said["level"]["hold"], said["level"]["slack"], said["level"]["term"]) == (0.8, level.slack, None)
    life = ht.shelf_life(plan, against=ht.retrain(clf, n=7, random_state=5))
    for i, record in zip(
        np.flatnonzero(plan.found), ht.records(plan, _keys(people), life=life, reason=REASON), strict=True
    ):
        assert (record.survival["estimate"], record.survival["n_models"]) == (life.survival[i], 7)
        assert record.survival["holds"] == (life.survival[i] >= 0.8)
        assert record.survival["level"]["hold"] == 0.8


@pytest.mark.parametrize(
    "how", [{}, {"hold": None}, {"method": ht.Wachter(n_steps=20, random_state=1), "hold": 0.8}]
)
def test_what_was_promised_comes_out_again(clf, people, tmp_path, how):
    """By the level, and the method within, that the record names."""
    clf.save(tmp_path / "model.holdtrue")
    loaded = ht.RecourseClassifier.load(tmp_path / "model.holdtrue")
    for record in ht.records(clf.recourse(people, **how), _keys(people), reason=REASON):
        assert ht.replay(record, loaded).same


def test_restrictions_are_checked_once(clf, people, restrictions, monkeypatch):
    """At the edge; the search, the decoding and the check at the end are given what was checked."""
    from holdtrue.schema import _restriction

    calls, real = [], _restriction._limits
    monkeypatch.setattr(_restriction, "_limits", lambda *args: calls.append(1) or real(*args))
    plan = clf.recourse(people, restrictions=restrictions)
    ht.audit(plan)
    assert len(calls) == 1


def test_certificate_record_and_letter_say_the_level_and_its_term(clf, bank):
    level, certificate = clf.method_.level_, clf.certificate_
    assert certificate.hold["hold"] == level.hold == 0.8
    assert (certificate.hold["kept"], certificate.hold["term"]) == (level.kept, None)
    assert ht.Certificate.from_json(certificate.to_json()) == certificate
    assert f"hold 80%: {level.kept:.1%} kept" in str(certificate)
    assert {f.what: f.ok for f in ht.verify(certificate, clf).findings}["hold level"]
    years = tuple({"period": str(y), "slack": 0.5, "kept": 0.9, "people": 50, "cost": 1.5} for y in (2001, 2002))
    past = replace(level, term=2, kept=0.915, periods=years, note="Rests on 2 periods.")
    other = copy.copy(clf)
    other.method_ = clf.method_.at(past)
    found = {f.what: f for f in ht.verify(certificate, other).findings}["hold level"]
    assert (found.ok, found.said) == (False, "the certificate names 80%, this is another")
    people = bank.X[clf.predict(bank.X) == 0][:20]
    plan = clf.recourse(people, hold=past)
    (record, *_) = ht.records(plan, [str(i) for i in range(len(plan))], only_holding=True)
    told = record.survival["level"]
    assert (told["term"], told["note"], told["periods"]) == (2, "Rests on 2 periods.", list(years))
    assert (record.certificate["hold"]["hold"], record.certificate["hold"]["kept"]) == (0.8, level.kept)
    assert Record.from_json(record.to_json()) == record
    words = "from 2001 to 2002: 91 of 100 still held after our rules had been renewed twice."
    assert words in " ".join(ht.letters(record)[0].text.split())
