"""Every committed result has the command that remakes it, and the command is one that is there."""

import importlib.util
import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments import EXPERIMENTS
from experiments._report import told_place
from experiments._results import in_turn
from experiments.consistent_counterfactuals.published import what_is_there
from holdtrue.cli import cli

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "experiments").glob("*/results/**/*.json"))
GIVEN = "python -m "


def parts_of(place):
    """The file that a result in a folder of parts goes into: `sba/1996-….json` into `sba.json`."""
    return place.parent.with_suffix(".json")


def commands(place):
    own = json.loads(place.read_text("utf-8")).get("command")
    return (own or json.loads(parts_of(place).read_text("utf-8"))["command"]).split(" && ")


def check(step):
    words = shlex.split(step)
    if words[:2] == ["holdtrue", "papers"]:
        own = EXPERIMENTS[words[2]]
        options = dict(zip(words[3::2], words[4::2], strict=True))
        assert options.pop("--dataset") in own.datasets
        for flag in ("--table", "--figure"):
            options.pop(flag, None)
        options.pop("--out")
        sizes = {f"--{name.removeprefix('n_')}" for name in own.options}
        assert set(options) <= sizes, options
        return
    assert step.startswith(GIVEN), step
    spec = importlib.util.find_spec(words[2])
    assert spec is not None, step
    place = Path(spec.origin)
    if place.name == "__init__.py":
        place = place.with_name("__main__.py")
    source = place.read_text("utf-8")
    for word in words[3:]:
        if word.startswith("--") or word in ("run", "merge"):
            assert f'"{word}"' in source, (step, word)


@pytest.mark.skipif(not FILES, reason="a source distribution has no results")
def test_every_committed_result_has_a_command_that_is_there():
    steps = {}
    for place in FILES:
        for step in commands(place):
            steps.setdefault(step, place)
    assert len(steps) > 100
    for step in steps:
        check(step)


@pytest.mark.parametrize(
    "step", ["sometimes", "python -m experiments.nowhere", "python -m experiments.rocoursenet.told --seed 1"]
)
def test_a_command_that_is_not_there_is_found_out(step):
    with pytest.raises(AssertionError):
        check(step)


@pytest.mark.skipif(not FILES, reason="a source distribution has no results")
def test_a_file_of_another_name_says_where_its_command_writes():
    named = 0
    for place in FILES:
        for step in commands(place):
            words = shlex.split(step)
            out = words[words.index("--out") + 1] if "--out" in words else "FOLDER"
            if out.startswith("experiments/") and out.endswith(".json"):
                named += 1
                assert ROOT / out == place
    assert named >= 5


@pytest.mark.skipif(not FILES, reason="a source distribution has no results")
def test_what_is_in_a_file_of_methods_as_published_is_what_its_command_asks_for():
    own = EXPERIMENTS["consistent-counterfactuals"].results
    for place in [*own.glob("published-*.json"), *own.glob("readings-*.json")]:
        found = json.loads(place.read_text("utf-8"))
        assert what_is_there(found) == found["command"].partition(" --out")[0], place


def test_commands_are_joined_once_each():
    assert in_turn("a && b", None, "b", "c") == "a && b && c"
    assert in_turn(None) is None


def test_a_command_names_the_file_that_it_writes(tmp_path):
    usual = ROOT / "experiments" / "rocoursenet" / "results"
    assert told_place(usual, usual) == ""
    assert told_place(usual / "again-loan.json", usual) == " --out experiments/rocoursenet/results/again-loan.json"
    assert told_place(tmp_path / "mine.json", usual) == " --out mine.json"


@pytest.mark.skipif(not FILES, reason="a source distribution has no results")
def test_one_dataset_may_be_written_to_a_file_and_several_may_not(tmp_path, monkeypatch):
    own = EXPERIMENTS["actionable-recourse"]
    german = own.result(json.loads((own.results / "german.json").read_text("utf-8")))
    monkeypatch.setattr(type(own), "run", lambda self, dataset, **options: german)
    place = tmp_path / "mine.json"
    asked = ["papers", "actionable-recourse", "--dataset", "german", "--out", str(place)]
    told = CliRunner().invoke(cli, asked, catch_exceptions=False)
    assert told.exit_code == 0, told.output
    assert json.loads(place.read_text("utf-8"))["command"].endswith(f"--dataset german --out {place}")
    assert [file.name for file in tmp_path.iterdir()] == ["mine.json"]
    told = CliRunner().invoke(cli, [*asked, "--dataset", "compas"])
    assert "a file is for one dataset" in told.output


def test_a_command_has_what_differs_from_a_full_run():
    own = EXPERIMENTS["actionable-recourse"]
    told = own.command("actionable-recourse", "adult", {"n_splits": 3, "quick": False, "parts": ["table 3"]})
    assert told == "holdtrue papers actionable-recourse --dataset adult --table 3 --splits 3 --out FOLDER"
    assert own.command("actionable-recourse", "sst", {"n_splits": 5}).endswith("--dataset sst --out FOLDER")
