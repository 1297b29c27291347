"""Counterfactual training's experiment: gains and discrepancies by hand, searches that land, a quick run."""

import json
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner

from experiments import experiment
from experiments._task import Rows, Task
from experiments.counterfactual_training import run
from experiments.counterfactual_training._compare import discrepancy_gain, gain
from experiments.counterfactual_training._judge import accuracies, sensitivities
from experiments.counterfactual_training._result import Against, Gain, OfKind, Recourse
from experiments.counterfactual_training._run import PARTS, fitted
from experiments.counterfactual_training._search import search
from experiments.counterfactual_training._settings import OURS, PAPER, PGD, PLAIN, PROTOCOLS, SETTINGS, regimes
from experiments.counterfactual_training._store import read
from experiments.counterfactual_training._tables import meets, printed
from experiments.counterfactual_training._task import people, read_task, rows_of, training_permits
from experiments.counterfactual_training._train import context_of
from experiments.counterfactual_training.matched import within
from holdtrue.cli import cli
from holdtrue.encoding import Encoder
from holdtrue.errors import DataError
from holdtrue.metrics import mmd
from holdtrue.models import LinearModel
from holdtrue.schema import Feature, Schema


@pytest.fixture(scope="module")
def task():
    return read_task("ls", 200)


def linear(*weight, bias=0.0):
    return LinearModel(jnp.asarray([np.zeros(2), weight], jnp.float32), jnp.asarray([0.0, bias]))


def test_gains_are_those_of_the_same_people():
    rng = np.random.default_rng(0)
    base = rng.uniform(1, 2, size=(5, 3, 40))
    other = 0.8 * base
    found = gain(base, other, paired=True)
    assert found["gain"] == pytest.approx(20)
    assert found["low"] == pytest.approx(20)
    assert found["seeds"] == pytest.approx([20] * 5)
    # Whoever the other model fails is left out of both means; unpaired, the base keeps them.
    hard = base > 1.7
    missing = np.where(hard, np.nan, other)
    assert gain(base, missing, paired=True)["gain"] == pytest.approx(20)
    assert gain(base, missing, paired=False)["gain"] == pytest.approx(
        100 * (1 - 0.8 * base[~hard].mean() / base.mean())
    )
    assert gain(base, np.full(base.shape, np.nan), paired=True) is None


def test_intervals_are_over_seeds_and_over_people():
    """Their width is that of the mean over five seeds that differ, though every person is like every other."""
    seeds = np.array([0.0, 5.0, 10.0, 15.0, 20.0])
    base = np.ones((5, 1, 30))
    other = base * (1 - seeds / 100)[:, None, None]
    found = gain(base, other, paired=True)
    assert found["gain"] == pytest.approx(10)
    assert found["error"] == pytest.approx(np.std(seeds) / np.sqrt(5), rel=0.25)
    assert found["low"] < 5 < 15 < found["high"]


def test_discrepancies_are_those_of_the_metric(task):
    near, far = (search(task, [linear(1.0, 1.0, bias=b)], PROTOCOLS["honest"], 20) for b in (0.0, -2.0))
    found = discrepancy_gain(task, near, far, paired=False, length_scale=0.5)
    values = []
    for own in (near, far):
        clouds = [
            mmd(own.points[0, w, own.valid[0, w] & (own.target == k)], rows_of(task, k, 300), length_scale=0.5)
            for w in range(3)
            for k in (0, 1)
        ]
        values.append(np.mean(clouds))
    assert [found["base"], found["other"]] == pytest.approx(values, abs=1e-6)
    assert found["gain"] == pytest.approx(100 * (1 - values[1] / values[0]), abs=1e-3)
    # A kernel that takes any two rows for strangers has nothing to compare.
    assert discrepancy_gain(task, near, far, paired=False, length_scale=1e-4) is None


def test_honest_searches_end_on_the_threshold_and_the_papers_beyond_it(task):
    steep = linear(30.0, 40.0)
    honest, paper = (search(task, [steep], PROTOCOLS[name], 20) for name in ("honest", "paper"))
    assert honest.validity == paper.validity == 1.0
    assert (honest.asked == paper.asked).all()
    margin = [np.abs(found.points @ np.array([30.0, 40.0]))[found.valid].max() for found in (honest, paper)]
    assert margin[0] < 0.5
    assert margin[1] > 20
    # On the line, the cost along the weights is the distance in l2 times their l1 over their l2 norm.
    x = people(task, 20)[0]
    np.testing.assert_allclose(honest.cost[0, 0], np.abs(x @ [30.0, 40.0]) / 2500 * 70, rtol=0.05)
    assert np.nanmean(paper.cost) > 1.5 * np.nanmean(honest.cost)


def test_what_is_protected_is_held_and_measured(task):
    found = search(task, [linear(1.0, 1.0)], PROTOCOLS["honest"], 20, held=True)
    x = people(task, 20)[0]
    np.testing.assert_array_equal(found.points[0, 0, :, 0], x[:, 0])
    assert np.flatnonzero(task.fixed_columns).tolist() == [0]
    shares = sensitivities(task, [linear(3.0, 1.0), linear(1.0, 3.0)])
    assert shares["slope"] == pytest.approx([0.75, 0.25])
    assert shares["ig_uniform"][0] > shares["ig_uniform"][1]


def test_accuracy_under_attack_is_that_of_the_margin(task):
    """Of a linear model, a row falls to a radius when its margin is below radius times the l1 norm."""
    model = linear(1.0, 1.0, bias=0.4)
    told = accuracies(task, [model], whole=True)
    x, y = (part[:1000] for part in task.tested)
    margin = (x.sum(axis=1) + 0.4) * (2 * y - 1)
    assert told["accuracy"][0] == pytest.approx((margin > 0).mean(), abs=1e-3)
    for curve in ("curve_pgd", "curve_fgsm"):
        assert told[curve][-1][0] == pytest.approx((margin > 0.2).mean(), abs=2e-3)
    assert told["nearest_l2"][0] == pytest.approx(np.median(np.abs(margin[:100])) / np.sqrt(2), rel=0.05)


def test_the_papers_domain_takes_levels_for_numbers():
    schema = Schema([Feature(name="a", kind="numeric", bounds=(0, 1)), Feature(name="c", kind="categorical")])
    rows = {"a": np.linspace(0, 1, 10), "c": np.array(["p"] * 8 + ["q"] * 2)}
    encoder = Encoder.fit(schema, rows, "standard")
    x = encoder.encode(rows).astype(np.float32)
    rows = Rows(x, np.zeros(10))
    task = Task(SETTINGS["cred"], encoder, rows, rows, rows)
    relaxed, own = (training_permits(task, False, relaxed=r) for r in (True, False))
    np.testing.assert_allclose(relaxed.lower[1:], [0.0, 0.2 - 0.8], atol=1e-6)
    np.testing.assert_allclose(relaxed.upper[1:], [0.8 + 0.8, 1.0], atol=1e-6)
    assert own.lower[1:].tolist() == [0, 0]
    assert own.upper[1:].tolist() == [1, 1]
    np.testing.assert_allclose(relaxed.lower[0], -2, atol=1e-5)  # the wider of bounds and two deviations
    assert context_of(task, "AR").permits.upper[1] > 1
    assert context_of(task, OURS).permits.upper[1] == 1


def test_every_dataset_and_part_is_there():
    chosen = experiment("counterfactual-training")
    assert set(chosen.datasets) == set(SETTINGS)
    assert set(chosen.parts) == {part for parts in PARTS.values() for part in parts}
    titles = {s.title for s in SETTINGS.values()} - {"HELOC", "COMPAS"}
    assert all(set(values) == titles for values in printed().values())
    assert np.mean([v[0] for v in printed()["ip"].values()]) == pytest.approx(
        17.83, abs=0.01
    )  # the printed average
    kinds = regimes(SETTINGS["moon"])
    assert kinds[PAPER].maturity == 0.9
    assert kinds["AR"].divergence_weight == kinds["CD"].adversarial_weight == 0
    for wrong in ({"name": "mars"}, {"name": "ls", "protocol": "kind"}):
        with pytest.raises(DataError, match="unknown"):
            run(**wrong)


def test_goals_are_told_by_name():
    def against(ip):
        return Against(ip=Gain(gain=ip, low=ip, high=ip, error=0.0, seeds=[], base=1.0, other=1.0))

    ours = Recourse(
        validity=0.99,
        validity_seeds=[],
        implausibility=1.0,
        cost=1.0,
        against_plain=against(7),
        against_pgd=against(4),
    )
    kinds = {
        k: OfKind(accuracy=[a], pgd=[r], largest_logit=[])
        for k, a, r in ((OURS, 0.80, 0.7), (PLAIN, 0.81, 0.1), (PGD, 0.7, 0.72))
    }
    goals = meets(SimpleNamespace(protocols={"honest": {"free": {OURS: ours}}}, kinds=kinds))
    assert [name for name, ok in goals.items() if not ok] == ["IP 5% below PGD"]


def test_models_are_taken_from_the_store_where_they_were_made_alike(task, tmp_path):
    chosen = regimes(SETTINGS["ls"], n_epochs=1)
    first = fitted("ls", task, chosen, [PLAIN], 2, tmp_path)[PLAIN]
    again = fitted("ls", task, chosen, [PLAIN], 2, tmp_path)[PLAIN]
    assert (again.seconds, again.group) == (first.seconds, PLAIN)
    for a, b in zip(*map(jax.tree.leaves, (first.models, again.models)), strict=True):
        np.testing.assert_array_equal(a, b)
    assert read(tmp_path, "ls", task, PLAIN, chosen[PLAIN], 3) is None
    assert read(tmp_path, "ls", task, PLAIN, regimes(SETTINGS["ls"], n_epochs=2)[PLAIN], 2) is None
    assert read(tmp_path, "ls", task, PAPER, chosen[PAPER], 2) is None


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers")
    asked = ["papers", "counterfactual-training", "--quick", "--protocol", "both", "--out", str(folder), "--json"]
    done = CliRunner().invoke(cli, asked, catch_exceptions=False)
    return json.loads(done.stdout)["results"][0], (folder / "tables.md").read_text("utf-8")


def test_a_quick_run_has_every_table(quick):
    result, text = quick
    for title in (
        "Table I, honest",
        "Table I, the paper's",
        "Table II",
        "Table III, honest",
        "Figure 1",
        "Figure 6",
    ):
        assert title in text
    assert result["options"]["protocol"] == "both"
    for kind, entry in result["kinds"].items():
        assert min(entry["accuracy"]) > 0.95, kind
    for protocol in ("honest", "paper"):
        found = result["protocols"][protocol]["free"]
        assert found[PLAIN]["validity"] > 0.95
        assert found[OURS]["against BL"]["ip"]["share"] > 0.3
    assert len(result["pictures"]["panels"]) == 6


def test_the_papers_step_walks_past_the_threshold_on_trained_models(quick):
    """The same people and models: with the paper's step and stop, recourse costs more."""
    result, _ = quick
    honest, paper = (result["protocols"][name]["free"][PLAIN]["cost"] for name in ("honest", "paper"))
    assert paper > honest


def test_what_is_most_plausible_within_a_budget():
    """Two ways to end a search, one seed, one energy weight, three people; the third has no recourse to match."""
    budget = np.array([[[1.0, 2.0, np.nan]]])
    cost = np.array([[[[0.5, 3.0, 1.0]]], [[[1.5, 1.9, 1.0]]]])
    far = np.array([[[[9.0, 8.0, 7.0]]], [[[1.0, 2.0, 3.0]]]])
    np.testing.assert_array_equal(within(budget, cost, far), [[[9.0, 2.0, np.nan]]])
    np.testing.assert_array_equal(within(0.1 * budget, cost, far), [[[np.nan, np.nan, np.nan]]])
