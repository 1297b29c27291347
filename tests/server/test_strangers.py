"""Somebody without a key takes up nothing: no body is read of them, none of theirs counts; nor of other sites."""

import asyncio
import json
import warnings

import pytest

from holdtrue.server import KeyRing, Quotas, Service, add_key, create_app
from holdtrue.server._http_parser import MOST_HEAD

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from fastapi.testclient import TestClient

POST = {"type": "http", "method": "POST", "http_version": "1.1", "scheme": "http", "query_string": b"",
        "server": ("localhost", 80), "client": ("127.0.0.1", 1), "root_path": ""}  # fmt: skip


def scope(path, *headers, length=100):
    given = [(b"host", b"localhost"), (b"content-length", str(length).encode()), *headers]
    return POST | {"path": path, "raw_path": path.encode(), "headers": given, "state": {}}


async def asked(app, what, receive):
    """Status and headers of an answer."""
    told = []

    async def send(message):
        told.append(message)

    await app(what, receive, send)
    return told[0]["status"], dict(told[0]["headers"])


async def never():
    await asyncio.Event().wait()


@pytest.fixture(scope="module")
def made(clf, tmp_path_factory):
    keys = tmp_path_factory.mktemp("strangers") / "keys.json"
    token = add_key(keys, "officer", "officer")
    quotas = Quotas(requests=4, receive=0.5, deadline=60, max_deadline=120)
    return create_app(Service(clf, quotas=quotas), KeyRing(keys)), token, create_app(Service(clf, quotas=quotas))


@pytest.mark.parametrize("path", ["/v1/recourse", "/v1/promises", "/desk/1", "/nowhere"])
def test_a_body_of_a_stranger_is_not_waited_for(made, path):
    app, _, _ = made
    status, headers = asyncio.run(asyncio.wait_for(asked(app, scope(path), never), 5))
    assert status in (303, 401, 404, 405)
    assert headers[b"connection"] == b"close"


def test_a_login_is_read_but_no_more_of_it_than_a_key_is_long(made):
    app, _, _ = made
    assert asyncio.run(asked(app, scope("/login", length=5000), never))[0] == 413
    assert asyncio.run(asked(app, scope("/login"), never))[0] == 408


@pytest.mark.parametrize("keyless", [False, True])
def test_bodies_on_their_way_keep_nobody_out(made, keyless, rows):
    """Four requests may be in work; twenty whose bodies do not come are not."""
    with_keys, token, without = made
    app = without if keyless else with_keys
    key = (b"authorization", f"Bearer {token}".encode())
    body = json.dumps({"people": [rows[0]]}).encode()

    async def arrived():
        return {"type": "http.request", "body": body, "more_body": False}

    async def all_at_once():
        slow = [asyncio.ensure_future(asked(app, scope("/v1/predict", key), never)) for _ in range(20)]
        await asyncio.sleep(0.1)
        model = {**scope("/v1/model", key, length=0), "method": "GET"}
        status, _ = await asyncio.wait_for(asked(app, model, arrived), 5)
        told = await asyncio.gather(*slow)
        return status, {status for status, _ in told}

    assert asyncio.run(all_at_once()) == (200, {408})


def test_a_head_in_one_piece_is_as_long_as_any_other(made):
    for app in (made[0], made[2]):
        long = scope("/v1/model", (b"x", b"y" * MOST_HEAD), length=0)
        assert asyncio.run(asked(app, long, never))[0] == 431


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1", "http://localhost.evil"])
def test_without_keys_other_sites_post_nothing(made, rows, origin):
    client = TestClient(made[2], base_url="http://localhost")
    sent = {
        "content": json.dumps({"people": [rows[0]]}),
        "headers": {"origin": origin, "content-type": "text/plain"},
    }
    assert client.post("/v1/predict", **sent).status_code == 403
    assert client.post("/v1/people/forget", **sent).status_code == 403
    own = {"origin": "http://localhost", "content-type": "application/json"}
    assert client.post("/v1/predict", content="{}", headers=own).status_code == 422
