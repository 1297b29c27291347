"""Pages are what their makers write of committed results, and the command finds the experiments or says where."""

import pytest
from click.testing import CliRunner

from experiments import EXPERIMENTS
from experiments._pages import page, place
from holdtrue.cli import _papers, cli


@pytest.mark.parametrize("paper", EXPERIMENTS)
def test_a_page_has_the_tables_of_committed_results(paper):
    if not EXPERIMENTS[paper].results.is_dir():
        pytest.skip("a source distribution has no results")
    assert page(paper) == place(paper).read_text(encoding="utf-8")


def test_results_are_on_one_line():
    for own in EXPERIMENTS.values():
        for file in own.results.glob("*.json"):
            assert file.read_text(encoding="utf-8").count("\n") == 1, file


def test_a_wheel_says_where_the_experiments_are(monkeypatch, tmp_path):
    monkeypatch.setattr(_papers, "ROOT", tmp_path)
    told = CliRunner().invoke(cli, ["papers"])
    assert told.exit_code != 0
    assert "They are in the folder 'experiments' of holdtrue's source tree" in told.output
