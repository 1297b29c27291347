"""A scoring service as a model, held against the model behind it, with faults."""

import json
import pickle
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.models import Remote

COLUMNS = ["obrat", "loanprc"]


def score(obrat, loanprc):
    return 1 / (1 + np.exp(-(6 - 0.1 * np.asarray(obrat, float) - 2 * np.asarray(loanprc, float))))


class Service(BaseHTTPRequestHandler):
    """Scores rows, after whatever faults are still to come."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        server.heads.append(dict(self.headers))
        fault = server.faults.pop(0) if server.faults else None
        if fault == "drop":
            self.close_connection = True
            self.connection.close()
            return
        if "dataframe_split" in asked:
            rows = [
                dict(zip(asked["dataframe_split"]["columns"], r, strict=True))
                for r in asked["dataframe_split"]["data"]
            ]
        else:
            (rows,) = asked.values()
        server.rows += rows
        p = [float(score(row["obrat"], row["loanprc"])) for row in rows]
        answer = server.answer(p)
        status = fault if isinstance(fault, int) else 200
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "http://elsewhere.example/")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def service():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    server.faults, server.rows, server.heads = [], [], []
    server.handle_error = lambda *args: None  # connections that were dropped on purpose
    server.answer = lambda p: {"predictions": [[1 - q, q] for q in p]}
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    server.url = f"http://127.0.0.1:{server.server_port}/invocations"
    yield server
    server.shutdown()
    server.server_close()


PEOPLE = pd.DataFrame({"obrat": [30.0, 45.0, 30.0, 60.0], "loanprc": [0.8, 0.9, 0.8, 1.0]})
TRUE = score(PEOPLE.obrat, PEOPLE.loanprc)


@pytest.mark.parametrize("body", ["dataframe_split", "dataframe_records", "instances"])
def test_says_what_the_service_says_and_asks_about_each_row_once(service, body):
    model = Remote(service.url, body=body, batch_size=2)
    np.testing.assert_allclose(model.predict_proba(PEOPLE), np.column_stack([1 - TRUE, TRUE]), atol=1e-15)
    assert len(service.rows) == 3  # of four, two are one
    assert (model.n_calls, model.n_rows) == (2, 3)


@pytest.mark.parametrize(
    "answer", [lambda p: p, lambda p: {"probabilities": p}, lambda p: {"outputs": [[q] for q in p]}]
)
def test_one_number_is_the_second_class(service, answer):
    service.answer = answer
    np.testing.assert_allclose(Remote(service.url).predict_proba(PEOPLE)[:, 1], TRUE, atol=1e-15)


def test_faults_that_pass_are_waited_out(service):
    service.faults = [503, "drop", 429]
    model = Remote(service.url, retries=3, backoff=0.001)
    np.testing.assert_allclose(model.predict_proba(PEOPLE)[:, 1], TRUE, atol=1e-15)
    assert model.n_calls == 4


def test_faults_that_stay_are_told(service):
    service.faults = [503] * 3
    with pytest.raises(ht.errors.RemoteError, match="no answer in 3 attempts; got status 503"):
        Remote(service.url, retries=2, backoff=0.001).predict_proba(PEOPLE)
    service.faults = [401]
    with pytest.raises(ht.errors.RemoteError, match=r"status 401: .*Give a key in `headers`") as told:
        Remote(service.url, headers={"Authorization": "Bearer hidden"}).predict_proba(PEOPLE)
    assert "hidden" not in str(told.value)
    service.faults = [302]
    with pytest.raises(ht.errors.RemoteError, match=r"status 302.*redirects"):
        Remote(service.url).predict_proba(PEOPLE)
    closed = Remote("http://127.0.0.1:1/", retries=0)
    with pytest.raises(ht.errors.RemoteError, match="ConnectionRefusedError"):
        closed.predict_proba(PEOPLE)


def test_a_service_that_does_not_answer_in_time(service):
    held = threading.Event()
    service.answer = lambda p: held.wait(5) or p
    with pytest.raises(ht.errors.RemoteError, match="no answer in time"):
        Remote(service.url, timeout=0.05, retries=0).predict_proba(PEOPLE)
    held.set()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda p: p[:1], "one row for each of 3"),
        (lambda p: [2.0 for _ in p], "no probability"),
        (lambda p: [[0.9, 0.9] for _ in p], "do not add up"),
        (lambda p: {"error": "no model"}, "not a list of probabilities"),
        (lambda p: b"<html>", "not a list of probabilities"),
        (lambda p: [None for _ in p], "no probability"),
    ],
)
def test_answers_that_make_no_sense_are_refused(service, answer, said):
    service.answer = answer
    with pytest.raises(ht.errors.RemoteError, match=said):
        Remote(service.url).predict_proba(PEOPLE)


def test_recourse_from_a_service_and_its_budget(service, caplog):
    bank = ht.datasets.load("loanapp")
    schema = ht.Schema([bank.schema[name] for name in COLUMNS])
    X, refused = bank.X[COLUMNS], bank.X[COLUMNS][score(bank.X.obrat, bank.X.loanprc) < 0.7][:20]
    model = Remote(service.url, classes=["no", "yes"], headers={"X-Key": "k1"})
    plan = ht.recourse(model, refused, schema, reference=X, favourable="yes", threshold=0.7)
    assert plan.found.all()
    after = score(plan.recourse.columns["obrat"], plan.recourse.columns["loanprc"])
    assert (after >= 0.7 * (1 - 1e-6)).all()
    np.testing.assert_allclose(plan.after, after, rtol=1e-9)
    assert service.heads[-1]["X-Key"] == "k1"
    assert model.n_calls < 40
    # Spent in the midst of a search: the error is still ours.
    spent = Remote(service.url, classes=["no", "yes"], max_calls=4)
    with pytest.raises(ht.errors.RemoteError, match="budget of 4 calls"):
        ht.recourse(spent, refused, schema, reference=X, favourable="yes", threshold=0.7)
    # And so it is inside a compiled program.
    spent = Remote(service.url, classes=["no", "yes"], max_calls=4)
    with pytest.raises(ht.errors.RemoteError, match="budget of 4 calls"):
        ht.recourse(
            spent, refused, schema, reference=X, favourable="yes", threshold=0.7, method=ht.GrowingSpheres()
        )
    assert not caplog.records  # nor does jax write its traceback, with the address in it, to a log
    three = Remote(service.url, classes=["no", "yes", "later"])
    with pytest.raises(ht.errors.DataError, match=r"has 3 classes but gives 2 probabilities; got \['no', 'yes'"):
        ht.recourse(three, refused, schema, reference=X, favourable="yes")


def test_what_it_is_given_is_checked_and_keys_are_not_shown():
    for url in ("ftp://bank.example/", "bank.example", "http://"):
        with pytest.raises(ht.errors.DataError, match="http"):
            Remote(url)
    with pytest.raises(ht.errors.DataError, match="password"):
        Remote("https://me:pw@bank.example/")
    with pytest.raises(ht.errors.DataError, match="`timeout`"):
        Remote("https://bank.example/", timeout=0)
    with pytest.raises(ht.errors.DataError, match="`retries`"):
        Remote("https://bank.example/", retries=1.5)
    with pytest.raises(ht.errors.DataError, match="`body`"):
        Remote("https://bank.example/", body="csv")
    with pytest.raises(ht.errors.ArgumentError, match=r"Did you mean \S*timeout"):
        Remote("https://bank.example/", timeut=3)
    model = Remote("https://bank.example/s", headers={"Authorization": "Bearer hidden"})
    assert "hidden" not in repr(model)
    assert pickle.loads(pickle.dumps(model)).url == model.url


def test_a_file_does_not_say_whom_to_connect_to(service):
    bank = ht.datasets.load("loanapp")
    schema = ht.Schema([bank.schema[name] for name in COLUMNS])
    with pytest.raises(ht.errors.CapabilityError, match="Remote"):
        ht.adopt(Remote(service.url), schema, reference=bank.X[COLUMNS])
