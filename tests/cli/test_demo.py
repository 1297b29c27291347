import json
import warnings

import pytest

import holdtrue as ht
from holdtrue.cli import _demo, _demo_kept

# Five epochs are too few for a good model, and it says so.
pytestmark = pytest.mark.filterwarnings("ignore::holdtrue.errors.QualityWarning")


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    settings = {"regime": ht.StandardTraining(n_epochs=5), "n_guides": 5, "hold": 0.8}
    monkeypatch.setattr(_demo, "SETTINGS", settings)
    monkeypatch.setenv("HOLDTRUE_CACHE", "off")


def test_the_whole_story(run, tmp_path):
    picture = tmp_path / "demo.png"
    text = run("demo", "--retrain", 2, "--picture", picture).stdout
    for words in (
        "The data",
        "The model",
        "The cheapest advice",
        "What a retraining does to it",
        "Advice that holds",
        "And its price",
        "times the cost in the mean",
        "median",
        "What to try next",
        "2 retrained models",
    ):
        assert words in text
    assert text.count("Applicant") == 6
    table = text[text.index("found  mean") :].partition("\n\n")[0]
    assert len(table.splitlines()) == 3  # its head and two rows, whole within 80 columns
    assert "…" not in table
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_json_and_again_with_the_models_of_the_first_run(run, monkeypatch, tmp_path):
    monkeypatch.delenv("HOLDTRUE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    story = json.loads(run("demo", "--retrain", 2, "--json").stdout)
    (folder,) = (tmp_path / "holdtrue" / "demo").iterdir()
    again = json.loads(run("demo", "--retrain", 2, "--json").stdout)
    said = ("seconds", "models_of_an_earlier_run")
    assert [story.pop(name) for name in said][1] is False
    assert [again.pop(name) for name in said][1] is True
    assert again == story
    (folder / "unseen.npz").write_bytes(b"half of it")
    assert _demo_kept.read(folder) is None
    assert story["dataset"] == "loanapp"
    cheapest, holds = story["cheapest"], story["holds"]
    for part in (cheapest, holds):
        assert sum(part["recourse"].values()) == story["refused"]
        assert sum(part["people_by_tenth_of_survival"]) == part["recourse"]["FOUND"]
        assert len(part["people"]) == 3
    assert [p["row"] for p in cheapest["people"]] == [p["row"] for p in holds["people"]]
    costs = [person["cost"] for person in cheapest["people"]]
    assert costs == sorted(costs)
    assert story["price"] > 1
    assert holds["stated_survival"] > cheapest["stated_survival"]


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
    assert 3 < counts["live"] + 3 <= 12  # of twelve people those whose recourse holds
    assert counts["live"] == service.ledger.head().seq - 6
    reports, bad = service.gates.all()
    assert [name for name, _ in reports][-1] == "resampled rows 2"
    assert (len(reports), bad) == (4, 0)
    assert all(report["n_live"] == counts["live"] + 3 for _, report in reports)
    assert len(applicants) == 1971
    page = TestClient(create_app(service), base_url="http://localhost").get("/oversight").text
    assert page.count("<circle") == 4
    service.ledger.close()
    assert "Leave one out" in run("demo", "--serve", "--json", code=2).stderr
