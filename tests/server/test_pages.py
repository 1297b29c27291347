"""The pages, without a browser: who comes in, and what is sent from elsewhere."""

import re

import pytest
from fastapi.testclient import TestClient

import holdtrue as ht
from holdtrue.server import KeyRing, Quotas, Service, add_key, create_app, revoke_key
from holdtrue.server.pages._session import Sessions

from .forms import Forms, enter, send


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


def test_a_refusal_is_told_to_people(world, overseer):
    """Without the name of the part of the program that refused."""
    answer = overseer.get("/desk")
    assert answer.status_code == 403
    assert "A key of role validator may not do this" in Forms(answer.text).words
    assert "service:" not in answer.text


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


def test_attempts_to_log_in_are_limited(clf, tmp_path):
    """Whatever the rate of keys, of which one may be called login."""
    token = add_key(tmp_path / "keys.json", "login", "officer")
    app = create_app(Service(clf, quotas=Quotas(rate=1e5, burst=1e5)), KeyRing(tmp_path / "keys.json"))
    client = TestClient(app, base_url="http://localhost", follow_redirects=False)
    codes = [client.post("/login", data={"key": "ht_wrong"}).status_code for _ in range(400)]
    assert set(codes) == {401, 429}
    assert codes[:50] == [401] * 50
    asked = client.get("/v1/model", headers={"Authorization": f"Bearer {token}"})
    assert asked.status_code == 200
