"""`hold` over HTTP and on the pages: what holds comes first, and what does not takes a written reason."""

import warnings
from types import SimpleNamespace

import pytest
from sklearn.tree import DecisionTreeClassifier

import holdtrue as ht
from holdtrue.server import Applicants, KeyRing, Quotas, Service, add_key, create_app

from .forms import Forms, send

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # newer ones want the successor of httpx, older ones do not know it
    from fastapi.testclient import TestClient

REASON = "The branch has seen the new contract."


@pytest.fixture(scope="module")
def held(bank):
    return ht.RecourseClassifier(
        schema=bank.schema,
        model=ht.Linear(),
        regime=ht.StandardTraining(n_epochs=30, step_size=0.01, class_weight="balanced"),
        method=ht.Wachter(n_steps=40, patience=10, random_state=0),
        hold=0.8,
        n_guides=5,
        random_state=0,
    ).fit(bank.X, bank.y)


@pytest.fixture(scope="module")
def world(held, bank, tmp_path_factory):
    folder = tmp_path_factory.mktemp("held")
    keys = folder / "keys.json"
    token = add_key(keys, "the officer", "admin")
    quotas = Quotas(batch=8, options=2, people=50, deadline=60, max_deadline=120, rate=1e5)
    with ht.Ledger.create(folder / "l.db") as ledger:
        service = Service(held, ledger=ledger, quotas=quotas, model_version="v1")
        applicants = Applicants(bank.X, [f"application {i}" for i in range(len(bank.X))], bank.schema)
        app = create_app(service, KeyRing(keys), applicants=applicants)
        with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as http:
            yield SimpleNamespace(
                http=http, app=app, token=token, service=service, ledger=ledger, rows=applicants.rows
            )


@pytest.fixture(scope="module")
def page(world):
    client = TestClient(world.app, base_url="https://testserver")
    form = Forms(client.get("/login").text)
    assert form.forms
    entered = client.post("/login", data={"key": world.token}, follow_redirects=False)
    assert entered.status_code == 303
    return client


@pytest.fixture(scope="module")
def plans(held, bank):
    """Recourse as fitted, and the cheapest, of those who are refused."""
    refused = bank.X[held.predict(bank.X) == 0]
    return refused, held.recourse(refused), held.recourse(refused, hold=None)


def ask(world, rows, **how):
    return world.http.post("/v1/recourse", json={"people": [world.rows[i] for i in rows], **how})


@pytest.mark.parametrize("how", [{}, {"hold": None}, {"hold": 0.8}])
def test_the_service_says_what_python_says(world, held, bank, plans, how):
    refused = plans[0]
    rows = refused.index[:6].tolist()
    told = ask(world, rows, **how).json()
    plan = held.recourse(bank.X.loc[rows], **how)
    level = told["level"]
    assert (level["hold"], level["judges"], level["guides"], level["term"]) == (0.8, 5, 5, None)
    assert level["vary"] == "anew"
    for i, answer in enumerate(told["answers"]):
        assert answer["status"] == ht.Status(plan.status[i]).name
        if not plan.found[i]:
            continue
        said = answer["options"][0]["survival"]
        assert said["estimate"] == plan.held.survival[i]
        assert (said["lower"], said["upper"]) == (plan.held.lower[i], plan.held.upper[i])
        assert said["holds"] == plan.held.holds[i]
        assert said["cheapest"] == pytest.approx(plan.held.cheapest[i], rel=1e-5)
        assert said["guided"] == (how.get("hold", 0) is not None)


@pytest.mark.parametrize("hold", [0, 1, 1.5, "95%", True])
def test_what_is_no_chance_is_refused(world, hold):
    assert ask(world, [0], hold=hold).status_code == 422


def test_a_level_that_was_not_measured_is_refused(world):
    answer = ask(world, [0], hold=0.9999)
    assert answer.status_code == 422
    assert "no margin was measured" in answer.json()["error"]


def test_jobs_of_one_level_share_a_call(world):
    jobs = [
        world.service.ask("recourse", [world.rows[0]], hold=hold)[0] for hold in (None, 0.8, None, "as fitted")
    ]
    shapes = [job.shape for job in jobs]
    assert shapes[0] == shapes[2]
    assert len(set(shapes)) == 3
    for job in jobs:
        job.future.result(60)


def test_the_model_tells_its_level(world):
    told = world.http.get("/v1/model").json()
    assert (told["method"], told["retrained"], told["level"]["hold"]) == ("Wachter", 5, 0.8)


def test_a_promise_that_does_not_hold_takes_a_reason(world, plans):
    refused, _, cheapest = plans
    row = int(refused.index[(cheapest.found & ~cheapest.held.holds).argmax()])
    body = {"subject": "a", "person": world.rows[row], "hold": None}
    no = world.http.post("/v1/records", json=body)
    assert no.status_code == 422
    assert "the recourse is known not to hold at 80%" in no.json()["error"]
    assert world.http.post("/v1/records", json=body | {"reason": ""}).status_code == 422
    made = world.http.post("/v1/records", json=body | {"reason": REASON})
    assert made.status_code == 201
    assert made.json()["reason"] == REASON
    letter = world.http.get(f"/v1/records/{made.json()['id']}/letter").text
    assert REASON not in letter


def test_the_page_puts_what_holds_first(world, page, plans):
    """Of everyone's two options; and the first button of a card that holds promises without more ado."""
    refused, _, _ = plans
    seen = set()
    for row in refused.index[:12].tolist():
        words = Forms(page.get(f"/desk/{row}").text).words
        said = ask(world, [row], options=2).json()["answers"][0]["options"]
        marks = sorted((not option["survival"]["holds"], option["asked"], option["effort"]) for option in said)
        at = 0
        for fails, _, effort in marks:
            at = words.index(f"Asks for {effort}", at) + 1  # after the one before it
            card = words[at:]
            assert ("with a reason" in card.split("Promise option")[1].split("Option")[0]) == fails
            seen.add(fails)
        for option in said:
            yes = round(5 * option["survival"]["estimate"])
            assert f"{yes} of 5 retrained models accept it" in words
    assert seen


def test_the_page_asks_for_the_reason(world, page, plans):
    refused, held, _ = plans
    failing = refused.index[held.found & ~held.held.holds].tolist()
    if not failing:
        pytest.skip("everyone's recourse holds")
    text = page.get(f"/desk/{failing[0]}").text
    assert "does not hold" in text
    which = Forms(text).values("button", "option")[0]
    confirm = send(page, text, "/desk/case", ("option", which), to="/desk/confirm")
    assert confirm.status_code == 200
    assert 'name="reason"' in confirm.text
    before = world.ledger.counts()["live"]
    for empty in ("", "   "):
        again = send(page, confirm.text, "/desk/promise", ("reason", empty))
        assert again.status_code == 422
        assert "Nothing was promised: write the reason first." in again.text
    assert world.ledger.counts()["live"] == before
    done = send(page, confirm.text, "/desk/promise", ("reason", f"{REASON}\r\nTwice."))
    assert done.status_code == 303
    id = done.headers["location"].rsplit("/", 1)[1]
    assert world.ledger.promise(id).record.reason == f"{REASON}\nTwice."
    assert REASON in page.get(f"/desk/promises/{id}").text
    assert REASON not in page.get(f"/desk/promises/{id}/letter").text


def test_the_page_sets_what_broke_beside_what_was_expected(world, page):
    text = page.get("/oversight").text
    send(page, text, "/oversight/gate", max_broken="100")
    assert "were expected to break" in Forms(page.get("/oversight").text).words


def test_retrainings_of_an_adopted_model_are_asked_too(bank):
    X = bank.X.select_dtypes("number").fillna(0)[:300]
    y = bank.y[:300]
    clf = ht.adopt(
        DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y),
        reference=X,
        labels=y,
        favourable=bank.favourable,
    )
    again = ht.retrain(clf, n=3, X=X, y=y, random_state=1)
    service = Service(clf, retrained=again)
    assert service.n_judges == 3
