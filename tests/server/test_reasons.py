"""Reasons over HTTP, on the page, in the record and in the letter: what Python says."""

import warnings
from html import unescape
from types import SimpleNamespace

import pytest

import holdtrue as ht
from holdtrue.attribution import Reasoner
from holdtrue.server import Applicants, KeyRing, Quotas, Service, add_key, create_app
from holdtrue.server.pages._show import hidden_weight, weight

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # newer ones want the successor of httpx, older ones do not know it
    from fastapi.testclient import TestClient


@pytest.fixture(scope="module")
def world(bank, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reasons")
    clf = ht.RecourseClassifier(
        schema=bank.schema.replace(male={"protected": True}), model=ht.Linear(), hold=None,
        regime=ht.StandardTraining(n_epochs=30, step_size=0.01, class_weight="balanced"),
        method=ht.Wachter(n_steps=60, random_state=0), random_state=0,
    ).fit(bank.X, bank.y)  # fmt: skip
    keys = folder / "keys.json"
    token = add_key(keys, "the officer", "admin")
    with ht.Ledger.create(folder / "l.db") as ledger:
        service = Service(
            clf, ledger=ledger, quotas=Quotas(batch=4, options=1, deadline=60, max_deadline=120, rate=1e5),
            reasoner=Reasoner(clf.predictor_, bank.X, guides=clf.retrain(n=5)),
        )  # fmt: skip
        refused = bank.X[clf.predict(bank.X) == 0]
        refused = refused[clf.recourse(refused).found]
        applicants = Applicants(refused, [f"application {i}" for i in range(len(refused))], bank.schema)
        app = create_app(service, KeyRing(keys), applicants=applicants)
        with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as http:
            yield SimpleNamespace(http=http, app=app, token=token, clf=clf, refused=refused, rows=applicants.rows)


def test_all_doors_give_the_same_reasons(world, bank):
    plan = world.clf.recourse(world.refused[:3])
    why = plan.reasons(reference=bank.X)
    told = world.http.post("/v1/recourse", json={"people": world.rows[:3]}).json()["answers"]
    for i in range(3):
        assert [one["text"] for one in told[i]["reasons"]] == [reason.text for reason in why.of(i)]
        assert all(0 <= one["agreement"] <= 1 for one in told[i]["reasons"])
        assert [one["changed_by"] == [0] for one in told[i]["reasons"]] == [r.in_recourse for r in why.of(i)]
    sent = {"person": world.rows[0], "subject": "application 0"}
    issued = world.http.post("/v1/records", json=sent)
    assert issued.status_code == 201, issued.text
    record = issued.json()
    assert [one["text"] for one in record["reasons"]["named"]] == [reason.text for reason in why.of(0)]
    assert record["reasons"]["contributions"] == pytest.approx(why.to_dict(0)["contributions"])
    assert record["reasons"]["panel"]["models"] == 5
    letter = world.http.get(f"/v1/records/{record['id']}/letter").text
    assert all(f"- {reason.text}\n" in letter for reason in why.of(0))
    # A promise of Python's keeps the same.
    (kept,) = ht.records(plan.take([0]), ["application 0"], reasons=why.take([0]))
    assert kept.reasons["named"][0]["text"] == why.of(0)[0].text
    assert ht.Record.from_json(kept.to_json()) == kept
    with pytest.raises(ht.errors.DataError, match="`reasons` must be those of the plan"):
        ht.records(plan, ["a", "b", "c"], reasons=why.take([0]))


def test_the_officers_page_shows_them(world):
    client = TestClient(world.app, base_url="https://testserver")
    client.post("/login", data={"key": world.token}, follow_redirects=False)
    page = client.get("/desk/0").text
    assert "<h2>Main reasons</h2>" in page
    said = world.http.post("/v1/recourse", json={"people": world.rows[:1]}).json()["answers"][0]
    assert said["reasons"][0]["text"].split(" (")[0] in page


def test_the_pages_of_a_promise_show_what_its_record_keeps(world):
    sent = {"person": world.rows[1], "subject": "application 1"}
    record = world.http.post("/v1/records", json=sent).json()
    client = TestClient(world.app, base_url="https://testserver")
    client.post("/login", data={"key": world.token}, follow_redirects=False)
    pages = [client.get(f"/{where}/promises/{record['id']}").text for where in ("desk", "oversight")]
    for page in pages:
        shown = unescape(page).partition('<ol class="reasons">')[2].partition("</ol>")[0]
        assert shown.count("<li>") == len(record["reasons"]["named"]) >= 1
        for one in record["reasons"]["named"]:
            assert f"{one['text']}: {weight(one['contribution'], record['reasons']['gap'])}" in shown
        assert "male" not in page
    first = record["reasons"]["named"][0]
    assert f"({first['contribution']:.2f} of {record['reasons']['gap']:.2f} log-odds)" in pages[1]
    hidden = hidden_weight(record["reasons"])
    assert f"Protected columns are never named; together they are {hidden}." in pages[1]
    assert "Protected columns" not in pages[0]


@pytest.mark.parametrize(
    ("contribution", "words"),
    [
        (3.0, "all or more of the gap"),
        (2.0, "all or more of the gap"),
        (1.75, "more than half of the gap"),
        (0.5, "a quarter to a half of the gap"),
        (0.25, "a tenth to a quarter of the gap"),
        (0.125, "less than a tenth of the gap"),
        (-0.125, "what makes the gap smaller"),
    ],
)
def test_a_contribution_in_words(contribution, words):
    assert weight(contribution, 2.0) == words
    reasons = {"gap": 2.0, "protected": ["a", "b"], "contributions": {"a": contribution - 1.0, "b": 1.0, "c": 9.0}}
    assert hidden_weight(reasons) == words
    assert contribution < 0 or weight(contribution, 0.0) == "a part of what speaks against the person"
