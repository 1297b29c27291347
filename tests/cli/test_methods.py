import pytest

from holdtrue.methods import METHODS


def test_all_are_listed(run, run_json):
    text = run("methods").stdout
    rows = {row["name"]: row for row in run_json("methods")}
    assert set(rows) == set(METHODS)
    for name in METHODS:
        assert name in text
    assert rows["wachter"]["needs"] == ["differentiable"]
    assert rows["wachter"]["parameters"]["n_steps"] == 500
    assert rows["nearest_neighbour"]["needs_rows"] is True
    assert "linear constraints" in rows["wachter"]["honours"]


@pytest.mark.parametrize("name", list(METHODS))
def test_one_in_full(run, run_json, name):
    text = run("methods", name).stdout
    about = run_json("methods", name)
    for parameter in about["parameters"]:
        assert parameter in text
    assert about["class"] == METHODS[name].__name__


def test_unknown(run):
    assert "Did you mean 'wachter'?" in run("methods", "wachtr", code=2).stderr
