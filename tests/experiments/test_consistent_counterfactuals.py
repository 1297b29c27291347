"""The experiment of consistent counterfactuals: a quick run on real data, and its parts against known answers."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import holdtrue as ht
from experiments import EXPERIMENTS, experiment
from experiments._encoded import EncodedSpace
from experiments.consistent_counterfactuals._run import QUICK, _shelf_life, squared_correlation
from experiments.consistent_counterfactuals._settings import SETTINGS, methods
from experiments.consistent_counterfactuals._tables import PAPER, printed
from holdtrue.cli import cli
from holdtrue.errors import DataError
from holdtrue.testing import _world as small_world


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    try:
        ht.datasets.load("german_credit")
    except DataError as error:
        pytest.skip(f"the German Credit file is not here: {error}")
    folder = tmp_path_factory.mktemp("papers")
    asked = ["papers", "consistent-counterfactuals", "--quick", "--out", str(folder), "--json"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(QUICK, "n_models", 5)  # of three kinds
        patch.setitem(SETTINGS, "german", replace(SETTINGS["german"], n_epochs=50))  # half of the paper's
        first = CliRunner().invoke(cli, asked, catch_exceptions=False)
    return json.loads(first.stdout)["results"][0], folder, asked


def test_a_quick_run_shows_what_the_paper_shows(quick):
    result, folder, _ = quick
    found = result["bases"][0]["relaxed"]
    assert set(found) >= {*PAPER, "Stable", "Stable, cost of SNS"}
    for name in ("Min l1", "Min l2", "Min eps PGD", "Min l2 + SNS", "Stable"):
        assert found[name]["success"] >= 0.98
    # The nearest point breaks more often than not; the stable ones seldom.
    assert found["Min l2"]["iv_rs"] > 0.4
    assert found["Min l2 + SNS"]["iv_rs"] < 0.2
    assert found["Stable"]["iv_rs"] < 0.15
    assert found["Stable"]["l2"] < found["Min l2 + SNS"]["l2"]
    assert found["Stable, cost of SNS"]["l2"] <= found["Min l2 + SNS"]["l2"] * 1.001
    assert found["Stable, cost of SNS"]["iv_rs"] <= found["Min l2 + SNS"]["iv_rs"]
    # A person gets one category each: the nearest point in fractions of them is then worth nothing.
    assert found["Min l2"]["hardened"]["valid"] < 0.2
    text = (folder / "tables.md").read_text("utf-8")
    assert "| Min l2 + SNS | 0." in text
    assert "0.06 ± 0.04" in text  # the printed figure stands beside ours


def test_a_finished_dataset_is_not_run_again(quick):
    result, _, asked = quick
    again = CliRunner().invoke(cli, asked, catch_exceptions=False)
    assert json.loads(again.stdout)["results"][0] == result
    other = CliRunner().invoke(cli, [*asked, "--models", "7"])
    assert other.exit_code == 2
    assert "holds another run" in other.output


def test_papers_are_listed_and_wrong_names_answered():
    assert "consistent-counterfactuals" in CliRunner().invoke(cli, ["papers"]).output
    with pytest.raises(DataError, match="Did you mean 'consistent-counterfactuals'"):
        experiment("consistent-counterfactual")
    for asked, answer in (
        (["--dataset", "mars"], "is not in consistent-counterfactuals; got 'mars'"),
        (["--table", "9"], "has no table 9. It has table 1,"),
        (["--splits", "2"], "is not a size of consistent-counterfactuals. It has --models (100)"),
    ):
        assert answer in CliRunner().invoke(cli, ["papers", "consistent-counterfactuals", *asked]).output


def test_a_single_table_can_be_asked_for(quick):
    result, _, _ = quick
    own = experiment("consistent-counterfactuals")
    text = own.markdown([own.result(result)], ["table 2"])
    assert text.startswith("### Success rate (Table 2)")
    assert "Invalidation" not in text


def test_the_encoded_space_is_the_same_model():
    clf = small_world.classifier()
    table, _ = small_world.people()
    rows = clf.predictor_.encoder.encode(table).astype(np.float32)
    space = EncodedSpace.of(clf.predictor_, float(rows.min()), float(rows.max()))
    view = space.view(rows)
    np.testing.assert_array_equal(space.predictor.encoder.encode(view).astype(np.float32), rows)
    np.testing.assert_array_equal(
        space.predictor.decide(view), clf.predictor_.decide(clf.predictor_.encoder.schema.check(table))
    )
    assert not space.predictor.encoder.layout.groups
    # Recourse there is a point of the encoded space, within the bounds, that the model accepts.
    refused = rows[space.predictor.decide(view) != clf.predictor_.decision.favourable]
    found = space.recourse(space.fitted(ht.Wachter()), refused)
    ok = found.found & found.valid
    assert ok.any()
    assert (found.x[ok] >= rows.min()).all()
    assert (found.x[ok] <= rows.max()).all()
    np.testing.assert_array_equal(found.x[~found.found], refused[~found.found])


def test_every_dataset_of_the_paper_has_a_setting():
    assert set(EXPERIMENTS["consistent-counterfactuals"].datasets) == set(SETTINGS)
    assert set(printed()["iv_rs"]) == set(PAPER)
    assert set(PAPER) <= set(methods(SETTINGS["german"]))
    assert methods(SETTINGS["heloc"])["Min l2 + SNS"].radius == pytest.approx(0.8 * 2.1)


def test_shelf_life_of_coins():
    """Models that accept by the toss of a coin: no bias, and the error of a fifth against the rest is known."""
    rng = np.random.default_rng(0)
    p = rng.uniform(size=4000)
    yes = rng.uniform(size=(100, 4000)) < p
    everyone = np.ones(4000, bool)
    told = _shelf_life({"a": (everyone, None)}, {"a": {"iv_rs": yes}})
    assert abs(told.bias) < 0.005
    # Of a normal difference with variance p(1-p)(1/20 + 1/80), the mean absolute value.
    expected = np.mean(np.sqrt(2 / np.pi * p * (1 - p) * (1 / 20 + 1 / 80)))
    assert told.mean_absolute_error == pytest.approx(expected, rel=0.05)
    assert sum(b.n for b in told.bins) == 4000


def test_squared_correlation():
    a = np.arange(10.0)
    assert squared_correlation(a, 3 - 2 * a) == pytest.approx(1.0)
    assert squared_correlation(a, np.zeros(10)) is None
