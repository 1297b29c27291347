import json
import warnings

import pytest

from holdtrue.cli import _demo


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(_demo, "EPOCHS", 5)


def test_the_whole_story(run):
    text = run("demo", "--retrain", 2).stdout
    for words in (
        "The data",
        "The model",
        "The recourse",
        "Does it hold?",
        "What to try next",
        "2 retrained models",
    ):
        assert words in text
    assert text.count("Applicant") == 3


def test_json(run):
    story = json.loads(run("demo", "--retrain", 2, "--json").stdout)
    assert story["dataset"] == "loanapp"
    assert sum(story["recourse"].values()) == story["refused"]
    assert len(story["people"]) == 3
    costs = [person["cost"] for person in story["people"]]
    assert costs == sorted(costs)
    assert story["audit"]["validity"] == 1.0


def test_three_people_are_chosen_by_cost():
    import numpy as np

    cost = np.arange(11.0)[::-1]
    assert _demo.choose(cost, np.ones(11, bool)) == [9, 5, 1]
    assert _demo.choose(cost, np.zeros(11, bool)) == []
    assert _demo.choose(cost[:1], np.ones(1, bool)) == [0]


def test_the_demo_as_pages(monkeypatch, tmp_path, run):
    """Promises, models that were held against them, and people to pick from."""
    pytest.importorskip("fastapi", reason="fastapi is not installed; pip install 'holdtrue[serve]' to run it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer ones want the successor of httpx, older ones do not know it
        from fastapi.testclient import TestClient

    from holdtrue.cli import _demo_serve
    from holdtrue.server import create_app

    monkeypatch.setattr(_demo_serve, "PROMISED", 12)
    monkeypatch.setattr(_demo_serve, "RETURNED", 3)
    service, applicants = _demo_serve.seeded(tmp_path, 2, 0)
    counts = service.ledger.counts()
    assert counts["kept"] + counts["broken"] == 3
    assert counts["live"] == service.ledger.head().seq - 6
    reports, bad = service.gates.all()
    assert [name for name, _ in reports][-1] == "one row less"
    assert (len(reports), bad) == (4, 0)
    assert all(report["n_live"] == counts["live"] + 3 for _, report in reports)
    assert len(applicants) == 1971
    page = TestClient(create_app(service), base_url="http://localhost").get("/oversight").text
    assert page.count("<circle") == 4
    service.ledger.close()
    assert "Leave one out" in run("demo", "--serve", "--json", code=2).stderr
