"""`holdtrue serve` and `holdtrue keys`, from a process of its own to its end."""

import json
import re
import signal
import socket
import time
import urllib.error
import urllib.request

import pytest

import holdtrue as ht

pytest.importorskip("uvicorn", reason="uvicorn is not installed; pip install 'holdtrue[serve]' to run it")


def test_keys(run, run_json, tmp_path):
    path = tmp_path / "keys.json"
    made = run("keys", "add", path, "--name", "branch 7", "--role", "officer")
    assert re.fullmatch(r"ht_[\w-]{43}", made.stdout.strip())
    assert made.stdout.strip() not in path.read_text()
    assert [(k["name"], k["role"], "sha256" in k) for k in run_json("keys", "list", path)] == [
        ("branch 7", "officer", False)
    ]
    assert "officer" in run("keys", "list", path).stdout
    run("keys", "add", path, "--name", "branch 7", "--role", "admin", code=2)
    run("keys", "revoke", path, "branch 7")
    assert run_json("keys", "list", path) == []


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["--host", "0.0.0.0"], "needs --keys"),
        (["--keys", "none.json"], "no such file"),
        (["--ledger", "none.db"], "ledger"),
        (["--rate", "0"], "rate"),
        (["--train", "loans.csv"], "no --target"),
        (["--applicants", "loans.csv"], "no --subject"),
    ],
)
def test_refusals_before_anything_is_loaded(run, args, reason):
    assert reason in run("serve", "none.holdtrue", *args, code=2).stderr


def test_a_served_model(script, model, table, tmp_path, run, bank):
    """The port opens when it is warm; a signal ends it after the last answer; the log tells nothing."""
    keys, ledger = tmp_path / "keys.json", tmp_path / "promises.db"
    token = run("keys", "add", keys, "--name", "desk", "--role", "officer").stdout.strip()
    run("ledger", "init", "--ledger", ledger)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    people = ["--applicants", table, "--subject", "who", "--train", table, "--target", "approve", "--models", 2]
    process = script("serve", model, "--port", port, "--keys", keys, "--ledger", ledger, "--options", 1, *people)
    try:
        until = time.monotonic() + 120
        while True:
            try:
                first = urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5)
                break
            except urllib.error.URLError:
                assert process.poll() is None, process.stderr.read()
                assert time.monotonic() < until
                time.sleep(0.2)
        assert json.load(first) == {"status": "ok"}
        clf = ht.RecourseClassifier.load(model)
        person = bank.X[clf.predict(bank.X) == 0].iloc[0].to_dict()
        body = json.dumps({"people": [person | {"price": 123.4567}]}).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        asked = urllib.request.Request(f"http://127.0.0.1:{port}/v1/recourse", body, headers)
        answer = json.load(urllib.request.urlopen(asked, timeout=60))
        assert answer["answers"][0]["status"] == "FOUND"
        assert answer["answers"][0]["options"][0]["survival"]["n_models"] == 2
        login = urllib.request.Request(f"http://127.0.0.1:{port}/login", f"key={token}".encode())
        page = (
            urllib.request.build_opener(urllib.request.HTTPCookieProcessor).open(login, timeout=60).read().decode()
        )
        assert "person 0, no. 0" in page or "applicants to whom the model says no" in page
        assert answer["model"] == clf.predictor_.digest()
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    log = errors.decode()
    assert "POST /v1/recourse 200" in log
    assert log.index("Warming up.") < log.index(f"http://127.0.0.1:{port} answers.") < log.index("POST ")
    assert "123.4567" not in log
    assert token not in log
    assert "Traceback" not in log
