"""Who may ask what, how much and how often; bad input is refused with a reason; nothing of it is logged."""

import json
import logging

import pytest
from fastapi.testclient import TestClient

from holdtrue import errors
from holdtrue.errors import DataError
from holdtrue.ledger import Ledger
from holdtrue.server import KeyRing, Quotas, Service, add_key, create_app, read_keys, revoke_key
from holdtrue.server._answers import status_of
from holdtrue.server._batcher import Overloaded
from holdtrue.server._quotas import RateLimit

ROUTES = {
    ("GET", "/metrics"): {"validator", "admin"},
    ("GET", "/openapi.json"): {"officer", "validator", "admin"},
    ("GET", "/v1/model"): {"officer", "validator", "admin"},
    ("POST", "/v1/predict"): {"officer", "validator", "admin"},
    ("POST", "/v1/recourse"): {"officer", "validator", "admin"},
    ("POST", "/v1/records"): {"officer", "admin"},
    ("GET", "/v1/records/0"): {"officer", "validator", "admin"},
    ("POST", "/v1/records/0/fulfil"): {"officer", "admin"},
    ("GET", "/v1/records/0/letter"): {"officer", "admin"},
    ("POST", "/v1/records/0/supersede"): {"officer", "admin"},
    ("POST", "/v1/ledger/expire"): {"officer", "validator", "admin"},
    ("POST", "/v1/ledger/forget"): {"admin"},
    ("GET", "/v1/ledger"): {"validator", "admin"},
    ("GET", "/v1/gate"): {"validator", "admin"},
    ("POST", "/v1/gate"): {"validator", "admin"},
}


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
def test_roles(world, route):
    method, path = route
    for role in ("officer", "validator", "admin"):
        # An empty body is bad input to all that may send one: what counts is who comes that far.
        code = getattr(world, role).request(method, path, **({"json": {}} if method == "POST" else {})).status_code
        assert (code != 403) == (role in ROUTES[route]), (role, code)
    for headers in ({}, {"Authorization": "Bearer ht_wrong"}, {"Authorization": f"Basic {world.tokens['admin']}"}):
        answer = world.anybody.request(method, path, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"


def test_every_route_has_its_roles(world):
    """A route that is added without a thought on who may use it is found here."""
    spoken = {(m.upper(), p) for p, methods in world.app.openapi()["paths"].items() for m in methods}
    assert spoken == {(m, p.replace("/0", "/{id}")) for m, p in ROUTES} - {("GET", "/openapi.json")} | {
        ("GET", "/health")
    }


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_a_body_must_say_that_it_is_json(world, kind):
    """A browser sends these three for any page that asks it to, without asking the service first."""
    headers = {"Content-Type": kind}
    answer = world.admin.post("/v1/ledger/forget", content='{"subject": "nobody"}', headers=headers)
    assert answer.status_code == 422


def test_health_needs_no_key(world):
    answer = world.anybody.get("/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_health_says_when_it_does_not_work(clf):
    app = create_app(Service(clf))
    assert TestClient(app).get("/health").status_code == 503  # never started


def test_without_keys_only_names_of_this_machine(clf):
    client = TestClient(create_app(Service(clf)))
    assert client.get("/v1/model").status_code == 200
    assert client.get("/v1/model", headers={"Host": "evil.example"}).status_code == 400


# ---- keys -----------------------------------------------------------------------------------------------


def test_keys_are_kept_as_hashes_and_revoked_at_once(tmp_path):
    path = tmp_path / "keys.json"
    first, second = add_key(path, "one", "officer"), add_key(path, "two", "admin")
    ring = KeyRing(path)
    assert ring.find(first).name == "one"
    assert ring.find(second).role == "admin"
    assert ring.find(first[:-1]) is None
    assert first not in path.read_text()
    assert path.stat().st_mode & 0o077 == 0
    revoke_key(path, "one")
    assert ring.find(first) is None
    assert ring.find(second) is not None
    path.write_text("{}")
    with pytest.raises(DataError, match="cannot be read"):
        ring.find(second)


def test_keys_refuse(tmp_path):
    path = tmp_path / "keys.json"
    with pytest.raises(DataError, match="no such file"):
        KeyRing(path)
    with pytest.raises(DataError, match="role"):
        add_key(path, "one", "king")
    add_key(path, "one", "officer")
    with pytest.raises(DataError, match="of this name"):
        add_key(path, "one", "officer")
    with pytest.raises(DataError, match="no key"):
        revoke_key(path, "two")
    raw = json.loads(path.read_text())
    raw["keys"][0]["role"] = "king"
    path.write_text(json.dumps(raw))
    with pytest.raises(DataError, match="cannot be read"):
        read_keys(path)


# ---- quotas ---------------------------------------------------------------------------------------------


def test_rate_is_a_bucket_of_tokens():
    now = [0.0]
    rate = RateLimit(2.0, 3.0, clock=lambda: now[0])
    assert [rate.take("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert rate.take("b") == 0  # another key has its own
    now[0] = 0.5
    assert [rate.take("a"), rate.take("a")] == [0, 0.5]
    now[0] = 100
    assert [rate.take("a") for _ in range(4)] == [0, 0, 0, 0.5]


def test_a_key_that_asks_too_often_is_told_when_to_come_back(clf):
    service = Service(clf, quotas=Quotas(rate=0.1, burst=2))
    client = TestClient(create_app(service))
    assert [client.get("/v1/model").status_code for _ in range(3)] == [200, 200, 429]
    assert int(client.get("/v1/model").headers["retry-after"]) >= 5
    assert client.get("/health").status_code != 429
    assert service.metrics.value("holdtrue_refused_total", reason="rate") == 2


@pytest.mark.parametrize("wrong", [{"body": 0}, {"rate": -1}, {"deadline": float("nan")}, {"queue": True}])
def test_limits_refuse(wrong):
    with pytest.raises(DataError, match=next(iter(wrong))):
        Quotas(**wrong)


def test_bodies_of_ten_megabytes(world):
    big = b'{"people": [' + b" " * 10_000_000 + b"]}"
    kind = {"Content-Type": "application/json"}
    answer = world.officer.post("/v1/predict", content=big, headers=kind)
    assert answer.status_code == 413
    assert "at most 200,000 bytes" in answer.json()["error"].lower()
    read = 0

    def pieces():  # without a length
        nonlocal read
        for _ in range(160):
            read += 1
            yield b" " * 65536

    assert world.officer.post("/v1/predict", content=pieces(), headers=kind).status_code == 413


# ---- bad input ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/recourse"])
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"shoe size": 44}, "shoe size"),
        ({"price": "a lot"}, "must be a number"),
        ({"price": True}, "must be a number"),
        ({"price": None}, "must be a number"),
        ({"price": [1]}, "must be a number"),
        ({"price": float("nan")}, "must be finite"),
        ({"price": float("-inf")}, "must be finite"),
        ({"price": 1e300}, "too far"),
        ({"price": 10**300}, "too far"),
        ({"price": 10**4000}, "too large"),
        ({"dep": 1.5}, "whole number"),
        ({"dep": 2**60}, "2**53"),
        ({"cons": 7}, "must be one of"),
        ({"cons": "1"}, "must be one of"),
        ({"cons": True}, "must be one of"),
        ({"cons": {}}, "must be one of"),
        ({"price": ...}, "Field required"),
    ],
    ids=str,
)
def test_bad_columns(world, rows, path, change, reason):
    row = {k: v for k, v in (rows[0] | change).items() if v is not ...}
    answer = world.officer.post(
        path, content=json.dumps({"people": [rows[1], row]}), headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 422
    assert reason in answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", 422),
        (b"{", 422),
        (b"\xff\xfe", 422),
        (b"[" * 100_000, 400),
        (b"[]", 422),
        (b"null", 422),
        (b'{"people": []}', 422),
        (b'{"people": 3}', 422),
        (b'{"people": [{"\\ud800": 1}]}', 422),
        (b'{"people": [{"price": ' + b"9" * 5000 + b"}]}", 400),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_bad_bodies(world, body, code):
    answer = world.officer.post("/v1/recourse", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == code
    assert answer.json()["error"]


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ({"options": 3}, "options"),
        ({"options": True}, "options"),
        ({"deadline": 0}, "deadline"),
        ({"deadline": 1e9}, "deadline"),
        ({"target": 2}, "not a class"),
        ({"target": True}, "not a class"),
        ({"restrictions": []}, "one entry per row"),
        ({"restrictions": [{"nothing": "fixed"}]}, "nothing"),
        ({"restrictions": [{"price": "sideways"}]}, "sideways"),
        ({"restrictions": [{"price": {"bounds": [5, "x"]}}]}, "bounds"),
        ({"restrictions": [{"price": {"bounds": [1e400, -1e400]}}]}, "bounds"),
        ({"restrictions": [{"cons": {"levels": [[]]}}]}, "level"),
        ({"method": "wachter"}, "method"),
    ],
    ids=str,
)
def test_bad_options(world, rows, extra, reason):
    text = json.dumps({"people": rows[:1], **extra})
    answer = world.officer.post("/v1/recourse", content=text, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert reason in answer.json()["error"]


def test_too_many_people(world, rows):
    answer = world.officer.post("/v1/predict", json={"people": rows[:51]})
    assert answer.status_code == 422
    assert "at most 50" in answer.json()["error"]


# ---- logs and metrics -----------------------------------------------------------------------------------


def test_logs_hold_nothing_about_anybody(world, refused, monkeypatch, caplog, capfd):
    """Values that occur nowhere else are looked for in all that is written, also when the service itself fails."""
    person = refused[0] | {"price": 123.4567, "atotinc": 7654.321}
    with caplog.at_level(logging.DEBUG):
        world.officer.post("/v1/recourse?price=123.4567", json={"people": [person]})
        world.officer.post("/v1/predict", json={"people": [person | {"cons": "secret-level"}]})
        world.officer.post("/v1/nothing/123.4567", json={"people": [person]})
        world.officer.post("/v1/records", json={"subject": "Jane Roe", "person": person})

        def fail(jobs):
            raise RuntimeError(f"cannot handle {jobs[0].rows[0]['price']}")

        monkeypatch.setattr(world.service._batcher, "_run", fail)
        answer = world.officer.post("/v1/recourse", json={"people": [person]})
    assert answer.status_code == 500
    assert set(answer.json()) == {"error", "request"}
    ours = "\n".join(
        r.getMessage() for r in caplog.records if r.name.startswith(("holdtrue", "uvicorn", "fastapi"))
    )
    written = ours + "".join(capfd.readouterr())
    assert f"request {answer.json()['request']} failed: RuntimeError" in ours
    assert "POST /v1/recourse 200" in ours
    assert "'the officer'" in ours
    for secret in ("123.4567", "7654.321", "secret-level", "Jane Roe", "Traceback", world.tokens["officer"]):
        assert secret not in written, secret
    assert all(record.exc_info is None for record in caplog.records)


def test_metrics_are_prometheus_text(world, rows):
    world.officer.post("/v1/predict", json={"people": rows[:3]})
    answer = world.validator.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    values = {}
    for line in answer.text.splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            assert name not in values
            values[name] = float(value)
    asked = 'holdtrue_requests_total{method="POST",route="/v1/predict",status="200"}'
    assert values[asked] >= 1
    buckets = [v for k, v in values.items() if k.startswith('holdtrue_request_seconds_bucket{route="/v1/predict"')]
    assert buckets == sorted(buckets)
    assert buckets[-1] == values['holdtrue_request_seconds_count{route="/v1/predict"}']
    assert values["holdtrue_batch_people_total"] >= 3
    assert values["holdtrue_memory_maps"] > 10
    again = world.validator.get("/metrics").text
    assert any(line == f"{asked} {values[asked]:g}" for line in again.splitlines())


def test_answers_are_not_kept_by_anybody_on_the_way(world):
    for answer in (world.anybody.get("/health"), world.officer.get("/v1/model"), world.anybody.get("/nothing")):
        assert answer.headers["cache-control"] == "no-store"
        assert len(answer.headers["x-request-id"]) == 16


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.DataError, 422),
        (errors.SchemaError, 422),
        (errors.CapabilityError, 422),
        (errors.LedgerError, 503),
        (errors.NoSuchPromise, 404),
        (errors.NotLive, 409),
        (errors.IdTaken, 409),
        (errors.AgainstPolicy, 409),
        (Overloaded, 429),
    ],
)
def test_the_type_of_an_error_decides_its_status(error, status):
    assert status_of(error("whatever it says: no such promise, is not live")) == status


def test_a_ledger_out_of_reach_is_not_named(clf, tmp_path):
    ledger = Ledger.create(tmp_path / "secret-place.db")
    client = TestClient(create_app(Service(clf, ledger=ledger)))
    (tmp_path / "secret-place.db").write_bytes(b"not a database" * 1000)
    answer = client.get("/v1/ledger")
    assert answer.status_code == 503
    assert "secret-place" not in answer.text
