"""The pages, without a browser: what is shown is the classifier's, what is sent is checked, nothing is run."""

import contextlib
import re
import threading

import jax
import pytest
from fastapi.testclient import TestClient

import holdtrue as ht
from holdtrue.server import KeyRing, Service, add_key, create_app, revoke_key
from holdtrue.server.pages._session import Sessions

from .forms import Forms, send

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7*7 }}{% for x in () %}",
    "' OR 1=1; DROP TABLE holdtrue_events; --",
]


def enter(app, token, base="http://localhost"):
    """Somebody who has logged in."""
    client = TestClient(app, base_url=base, raise_server_exceptions=False, follow_redirects=False)
    answer = client.post("/login", data={"key": token})
    assert answer.status_code == 303, answer.text
    return client


@pytest.fixture(scope="module")
def desk(world):
    return enter(world.app, world.tokens["officer"])


@pytest.fixture(scope="module")
def overseer(world):
    return enter(world.app, world.tokens["validator"])


@pytest.fixture(scope="module")
def case(world, desk, clf, bank):
    """The page of somebody with two options."""
    for row in [i for i, label in enumerate(clf.predict(bank.X)) if label == 0]:
        page = desk.get(f"/desk/{row}")
        assert page.status_code == 200
        if "Two ways to a yes" in Forms(page.text).words:
            return row, page.text
    raise AssertionError


@contextlib.contextmanager
def compilations():
    """What jax compiles meanwhile, in any thread."""
    seen, watching = [], True

    def note(event, *_, **__):
        if watching and event.endswith("backend_compile_duration"):
            seen.append(event)

    jax.monitoring.register_event_duration_secs_listener(note)
    yield seen
    watching = False


# ---- who comes in ---------------------------------------------------------------------------------------


def test_login(world):
    client = TestClient(world.app, base_url="http://localhost", follow_redirects=False)
    assert client.get("/").headers["location"] == "/login"
    wrong = client.post("/login", data={"key": "ht_wrong"})
    assert (wrong.status_code, "not a key that is known" in wrong.text) == (401, True)
    right = client.post("/login", data={"key": f" {world.tokens['validator']} "})
    cookie = right.headers["set-cookie"]
    assert re.match(r"holdtrue=[\w-]{43}; ", cookie)
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/"))
    assert "Secure" not in cookie
    assert client.get("/").headers["location"] == "/oversight"
    old = dict(client.cookies)
    out = send(client, client.get("/oversight").text, "/logout")
    assert out.status_code == 303
    assert client.get("/oversight").headers["location"] == "/login"
    client.cookies.update(old)  # the cookie of a session that has ended opens nothing
    assert client.get("/oversight").headers["location"] == "/login"


def test_elsewhere_the_cookie_is_for_tls_only(world):
    client = TestClient(world.app, base_url="https://bank.example", follow_redirects=False)
    cookie = client.post("/login", data={"key": world.tokens["officer"]}).headers["set-cookie"]
    assert cookie.startswith("__Host-holdtrue=")
    assert "Secure" in cookie
    assert client.get("/desk").status_code == 200


def test_a_key_that_is_taken_back_ends_its_sessions(clf, tmp_path):
    keys = tmp_path / "keys.json"
    token = add_key(keys, "one", "officer")
    add_key(keys, "two", "officer")
    client = enter(create_app(Service(clf), KeyRing(keys)), token)
    assert client.get("/desk").status_code == 200
    revoke_key(keys, "one")
    assert client.get("/desk").headers["location"] == "/login"
    keys.write_text("{}")
    assert client.get("/desk").status_code == 503


def test_sessions_end_and_are_not_endless():
    now = [0.0]
    sessions = Sessions(seconds=10, most=2, clock=lambda: now[0])
    first, _ = sessions.begin("a")
    second, _ = sessions.begin("b")
    third, one = sessions.begin("c")
    assert [sessions.find(t) is not None for t in (first, second, third, "no", None)] == [
        False, True, True, False, False,
    ]  # fmt: skip
    assert one.sent(one.csrf)
    assert not one.sent(one.csrf[:-1])
    now[0] = 10.0
    assert sessions.find(third) is None


def walk(routes):
    for route in routes:  # newer versions of FastAPI keep a router that is included as it is
        inner = getattr(route, "original_router", None)
        yield from [route] if inner is None else walk(inner.routes)


def routes(world):
    for route in walk(world.app.routes):
        path = getattr(route, "path", "")
        if path.startswith(("/desk", "/oversight", "/logout")):
            yield from ((method, path.replace("{row:int}", "0").replace("{id}", "0")) for method in route.methods)


def test_every_page_asks_who_it_is_and_what_they_may(world, desk, overseer):
    found = list(routes(world))
    assert len(found) > 8
    nobody = TestClient(world.app, base_url="http://localhost", follow_redirects=False)
    for method, path in found:
        answer = nobody.request(method, path, data={} if method == "POST" else None)
        assert (answer.status_code, answer.headers["location"]) == (303, "/login"), path
        for client, name in ((desk, "/desk"), (overseer, "/oversight")):
            code = client.request(method, path, data={"csrf": "?"} if method == "POST" else None).status_code
            assert code == 403 if method == "POST" or not path.startswith(name) else code in (200, 404), path


def test_without_keys_everybody_on_this_machine(clf, tmp_path):
    service = Service(clf, ledger=ht.Ledger.create(tmp_path / "promises.db"))
    client = TestClient(create_app(service), base_url="http://localhost")
    assert client.get("/desk").status_code == 200
    assert client.get("/oversight").status_code == 200
    assert "Log out" not in client.get("/desk").text
    assert (
        TestClient(create_app(service, pages=False), base_url="http://localhost").get("/desk").status_code == 404
    )


def test_headers(world, desk, overseer, case):
    pages = [desk.get(path) for path in ("/desk", "/desk/new", f"/desk/{case[0]}", "/login", "/desk/99999")]
    for page in [*pages, overseer.get("/oversight")]:
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["referrer-policy"] == "no-referrer"
        assert page.headers["x-frame-options"] == "DENY"
        # Nothing that the policy would stop, nothing from elsewhere.
        assert not re.search(r"<style|style=|\son\w+=|javascript:|https?://", page.text)
    for path, kind in (("page.css", "text/css"), ("page.js", "text/javascript"), ("icon.svg", "image/svg+xml")):
        answer = world.anybody.get(f"/static/{path}")
        assert answer.headers["content-type"].startswith(kind)
        assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org)", answer.text)
    assert world.anybody.get("/static/../_pages.py").status_code == 404


# ---- forms of others ------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["/desk/case", "/desk/confirm", "/desk/promise", "/logout"])
def test_forms_of_others_are_refused(world, desk, case, action):
    before = world.ledger.head().seq
    fields = dict(Forms(case[1]).forms["/desk/case"])
    other = enter(world.app, world.tokens["officer"]).get("/desk/new").text
    stranger = Forms(other).values("input", "csrf")[0]
    for csrf in ("", "x", stranger):
        answer = desk.post(action, data=fields | {"csrf": csrf, "option": "0:"})
        assert answer.status_code == 403
    assert desk.post(action, data={k: v for k, v in fields.items() if k != "csrf"}).status_code == 403
    answer = desk.post(action, data=fields, headers={"Sec-Fetch-Site": "cross-site"})
    assert (answer.status_code, "other sites" in answer.text) == (403, True)
    assert desk.post(action, json=fields).status_code == 415
    assert world.ledger.head().seq == before


def test_a_login_from_another_site_is_refused(world):
    answer = world.anybody.post(
        "/login", data={"key": world.tokens["officer"]}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("body", [b"\xff", b"csrf=%ff", b"&".join(b"a%d=1" % i for i in range(4000))])
def test_forms_that_cannot_be_read(desk, body):
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert desk.post("/desk/case", content=body, headers=kind).status_code == 400


# ---- the desk -------------------------------------------------------------------------------------------


def test_applicants_are_found(world, desk, clf, bank):
    page = Forms(desk.get("/desk").text)
    n = int((clf.predict(bank.X) == 0).sum())
    assert f"{n} applicants to whom the model says no" in page.words
    assert page.tags.count("tr") == 26
    page = Forms(desk.get("/desk", params={"q": "APPLICATION 7", "all": "true"}).text)
    assert "11 applicants" in page.words
    assert "0 applicants" in Forms(desk.get("/desk", params={"q": "nobody"}).text).words
    assert desk.get("/desk", params={"page": 10**9}).status_code == 200
    assert desk.get("/desk/400").status_code == 404


def test_the_page_shows_what_the_interface_says(world, case):
    row, text = case
    answer = world.officer.post(
        "/v1/recourse", json={"people": [world.applicants.rows[row]], "options": 2}
    ).json()["answers"][0]
    words = Forms(text).words
    assert "The answer is no." in words
    assert f"The chance of a yes is {100 * answer['probability']:.1f}%" in words
    for option in answer["options"]:
        assert f"Cost {option['cost']:.3f}" in words
        yes = round(8 * option["survival"]["estimate"])
        assert f"{yes} of 8 retrained models accept it ({100 * option['survival']['estimate']:.1f}%)" in words
        assert f"{100 * option['probability']:.1f}%" in words
    titles = [world.service.schema[name].title for option in answer["options"] for name in option["changed"]]
    assert [a["aria-label"] for _, a in Forms(text).attributes if a.get("name") == "fix"] == [
        f"Not to be changed: {title}" for title in titles
    ]


def test_the_path_is_the_models(world, case):
    """Every point of the picture is a person whom the model was asked about; the last is the recourse."""
    from holdtrue.server.pages._chart import ROWS, paths

    row = world.applicants.rows[case[0]]
    options = world.officer.post("/v1/recourse", json={"people": [row], "options": 2}).json()["answers"][0][
        "options"
    ]
    drawn = paths(world.service, row, options)
    for option, path in zip(options, drawn, strict=True):
        assert path.last == pytest.approx(option["probability"], abs=1e-6)
        assert len(path.marks) == len(option["changed"]) + 1
        assert path.marks[-1][1] < path.need < path.marks[0][1]
        assert path.line.count(" ") < ROWS
    assert paths(world.service, row, []) == []


def test_a_restriction_is_heeded_and_nothing_is_compiled(world, desk, case):
    """The feasible set of a person is data: another restriction is another number, not another program."""
    row, text = case
    fixed = Forms(text).values("button", "fix")[0]
    name = world.service.schema.names[int(fixed)]
    with compilations() as seen:
        thread = threading.Thread(target=lambda: jax.jit(lambda x: x + 4711)(jax.numpy.arange(7)))
        thread.start()
        thread.join()
    assert seen  # what is compiled is seen, in whatever thread
    with compilations() as seen:
        page = send(desk, text, "/desk/case", ("fix", fixed))
        for i in range(len(world.service.schema.names)):
            assert send(desk, page.text, "/desk/case", ("fix", str(i))).status_code == 200
    assert seen == []
    answer = world.officer.post(
        "/v1/recourse",
        json={"people": [world.applicants.rows[row]], "options": 2, "restrictions": [{name: "fixed"}]},
    ).json()["answers"][0]
    shown = Forms(page.text)
    assert fixed not in shown.values("button", "fix")
    assert f"m{fixed}" in [k for k, v in shown.forms["/desk/case"] if v == "fixed"]
    for option in answer["options"]:
        assert f"Cost {option['cost']:.3f}" in shown.words
    freed = Forms(send(desk, page.text, "/desk/case", ("free", fixed)).text)
    assert fixed in freed.values("button", "fix")


def test_when_nothing_may_change_the_page_says_so(desk, case):
    page = case[1]
    fixed = {k: "fixed" for k, _ in Forms(page).forms["/desk/case"] if re.fullmatch(r"m\d+", k)}
    words = Forms(send(desk, page, "/desk/case", **fixed).text).words
    assert "No way to a yes was found" in words
    assert "Take back a restriction of this person's" in words


def test_levels_can_be_barred(world, desk, clf, rows):
    """A category that may go two ways and is not to take one of them takes the other, or none."""
    schema = world.service.schema
    i = schema.names.index("cons")
    row = next(r for r, row in enumerate(rows) if row["cons"] in (3, 5, 6))
    page = desk.get(f"/desk/{row}").text
    asked = [(f"x{i}", "0")]  # not to level 1
    fields = dict(Forms(send(desk, page, "/desk/case", *asked).text).forms["/desk/case"])
    assert fields[f"x{i}"] == "0"
    barred = send(desk, page, "/desk/case", ("bar", f"{i}:1")).text
    assert ("1", True) in [
        (a["value"], "checked" in a) for _, a in Forms(barred).attributes if a.get("name") == f"x{i}"
    ]
    assert "bar" not in Forms(send(desk, page, "/desk/case", ("bar", f"{i}:99")).text).forms["/desk/case"]
    assert send(desk, page, "/desk/case", ("fix", "9" * 5000)).status_code == 422


@pytest.mark.parametrize(
    ("typed", "reason"),
    [("", "must be filled in"), ("a lot", "must be a number"), ("nan", "must be finite"), ("1e300", "too far")],
)
def test_what_cannot_be_used_is_said_beside_the_field(desk, case, typed, reason):
    page = send(desk, case[1], "/desk/case", c0=typed)
    assert page.status_code == 422
    assert reason in Forms(page.text).words
    if reason != "too far":
        assert 'id="c0" name="c0" value="' + typed + '"' in page.text
        assert 'aria-describedby="e0"' in page.text


def test_a_blank_form(desk, rows, world, clf, bank):
    page = desk.get("/desk/new").text
    values = Forms(page).forms["/desk/case"]
    assert all(v == "" for k, v in values if re.fullmatch(r"c\d+", k))
    approved = next(i for i, label in enumerate(clf.predict(bank.X)) if label == 1)
    filled = {
        k: v for k, v in Forms(desk.get(f"/desk/{approved}").text).forms["/desk/case"] if k[0] == "c" != "csrf"
    }
    filled.pop("csrf")
    words = Forms(send(desk, page, "/desk/case", **filled).text).words
    assert "The answer is yes." in words


# ---- promising ------------------------------------------------------------------------------------------


def promise(desk, page, **changed):
    option = Forms(page).values("button", "option")[1]
    return send(desk, page, "/desk/case", ("option", option), to="/desk/confirm", **changed)


def test_a_promise_from_the_page(world, desk, clf, case):
    row, text = case
    before = world.ledger.counts()["live"]
    sure = promise(desk, text, days="30")
    assert sure.status_code == 200
    assert world.ledger.counts()["live"] == before  # only asked
    done = send(desk, sure.text, "/desk/promise")
    again = send(desk, sure.text, "/desk/promise")  # a second press of the button
    assert (done.status_code, again.status_code) == (303, 303)
    assert done.headers["location"] == again.headers["location"]
    assert world.ledger.counts()["live"] == before + 1
    record = world.ledger.promise(done.headers["location"].rsplit("/", 1)[1]).record
    assert (record.subject, record.factual) == (f"application {row}", world.applicants.rows[row])
    assert record.method["option"] == 1
    assert (record.valid_until - record.issued).days == 30
    assert record.survival["n_models"] == 8
    assert ht.replay(record, clf).same
    page = Forms(desk.get(done.headers["location"]).text)
    assert record.changes in page.words
    letter = desk.get(f"{done.headers['location']}/letter")
    assert letter.text == ht.letters(record)[0].html
    assert "default-src 'none'" in letter.headers["content-security-policy"]
    assert "frame-ancestors 'self'" in letter.headers["content-security-policy"]
    back = f"{done.headers['location']}/fulfil"
    shown = desk.get(done.headers["location"]).text
    assert send(desk, shown, back, decision="7").status_code == 422
    assert send(desk, shown, back, decision="0").status_code == 303
    assert send(desk, shown, back, decision="0").status_code == 409
    assert "It was kept." in desk.get(done.headers["location"]).text
    assert world.ledger.promise(record.id).state == "fulfilled"
    world.ledger.forget(record.subject)
    assert "forgotten" in desk.get(done.headers["location"]).text
    assert desk.get(f"{done.headers['location']}/letter").status_code == 409


def test_only_what_was_seen_is_promised(world, desk, case):
    before = world.ledger.head().seq
    text = case[1]
    first, _ = Forms(text).values("button", "option")
    swapped = f"1:{first.partition(':')[2]}"
    answer = send(desk, text, "/desk/case", ("option", swapped), to="/desk/confirm")
    assert (answer.status_code, "another answer" in answer.text) == (409, True)
    for option in ("", "7:x", "x"):
        assert send(desk, text, "/desk/case", ("option", option), to="/desk/confirm").status_code == 422
    sure = promise(desk, text).text
    assert send(desk, sure, "/desk/promise", id="short").status_code == 422
    assert send(desk, sure, "/desk/promise", days="-1").status_code == 422
    answer = send(desk, sure, "/desk/promise", c0="77")  # another person than the one who was shown
    assert answer.status_code in (409, 422)
    assert world.ledger.head().seq == before


@pytest.mark.parametrize(
    ("field", "wrong"), [("subject", ""), ("subject", "x" * 201), ("days", "soon"), ("days", "0")]
)
def test_an_offer_needs_a_reference_and_an_end(world, desk, case, field, wrong):
    before = world.ledger.head().seq
    answer = promise(desk, case[1], **{field: wrong})
    assert answer.status_code == 200
    assert f'aria-describedby="{field}-error"' in answer.text
    assert world.ledger.head().seq == before


# ---- hostile texts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_only_texts(world, desk, overseer, case, text):
    clean = Forms(case[1]).tags
    page = send(desk, case[1], "/desk/case", subject=text)
    shown = Forms(page.text)
    assert shown.tags == clean  # not one element more
    assert text in shown.words or " ".join(text.split()) in shown.words
    for value in ({"c0": text}, {"m0": text}, {"days": text}):
        answer = send(desk, case[1], "/desk/case", subject="s", **value)
        assert not {"script", "img"} & (set(Forms(answer.text).tags) - set(clean))
        assert "7*7" not in text or "49" not in re.findall(r"\b49\b", Forms(answer.text).words)
    found = Forms(desk.get("/desk", params={"q": text}).text)
    assert found.values("input", "q") == [text]
    assert found.tags.count("script") == 1
    sure = promise(desk, case[1], subject=text)
    done = send(desk, sure.text, "/desk/promise")
    assert done.status_code == 303
    for answer in (sure, desk.get(done.headers["location"]), desk.get(f"{done.headers['location']}/letter")):
        tags = Forms(answer.text).tags
        assert tags.count("script") == (0 if "letter" in str(answer.url) else 1)
        assert "img" not in tags
    assert overseer.get("/oversight").status_code == 200
    assert world.ledger.forget(text) == 1
    assert world.ledger.verify().ok


@pytest.mark.parametrize("text", ["a\r\nSet-Cookie: x=1", "a\nLocation: //evil.example", "\u2028b\x00"])
def test_nothing_gets_into_headers(world, desk, case, text):
    before = world.ledger.head().seq
    for answer in (
        promise(desk, case[1], subject=text),
        send(desk, case[1], "/desk/case", subject=text),
        desk.get("/desk", params={"q": text}),
        desk.get("/desk/promises/" + text.replace("\r", "%0d").replace("\n", "%0a").replace("\x00", "%00")),
        desk.post("/login", data={"key": text}),
    ):
        assert answer.status_code < 500
        assert "x=1" not in answer.headers.get("set-cookie", "")
        assert answer.headers.get("location", "/").startswith("/")
        assert "evil.example" not in str(answer.headers)
    assert world.ledger.head().seq == before


# ---- oversight ------------------------------------------------------------------------------------------


def test_oversight(world, overseer, clf, refused, tmp_path):
    world.officer.post("/v1/records", json={"subject": "watched", "person": refused[0]})
    page = overseer.get("/oversight").text
    counts = world.ledger.counts()
    assert f"{counts['live']} live" in Forms(page).words
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
