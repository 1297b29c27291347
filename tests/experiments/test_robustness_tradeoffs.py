"""Robustness against recourse: budget-free answers against brute force, and a quick run on real data."""

import itertools
import json
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner
from scipy.optimize import LinearConstraint, minimize

import holdtrue as ht
from experiments import experiment
from experiments.robustness_tradeoffs import _wide
from experiments.robustness_tradeoffs._compare import compared
from experiments.robustness_tradeoffs._exists import (
    best_hardened,
    climb,
    coefficients,
    exists,
    linear_cost,
    upper_bound,
)
from experiments.robustness_tradeoffs._measure import Judged
from experiments.robustness_tradeoffs._run import PARTS
from experiments.robustness_tradeoffs._settings import KINDS
from experiments.robustness_tradeoffs._sweep import Encoded
from experiments.robustness_tradeoffs._tables import interval, nothing, shown
from holdtrue.cli import cli
from holdtrue.encoding import Layout, Slot
from holdtrue.errors import DataError
from holdtrue.models import MLP, Decision, LinearModel


def linear(weight, bias):
    return LinearModel(jnp.asarray([np.zeros(len(weight)), weight], jnp.float32), jnp.asarray([0.0, bias]))


@pytest.mark.parametrize("held", [(), (1, 4)])
def test_the_nearest_yes_of_a_linear_model_is_that_of_a_quadratic_programme(held):
    movable = np.ones(6, bool)
    movable[list(held)] = False
    checked = 0
    for seed in range(20):
        own = np.random.default_rng(seed)
        w, b, x = own.normal(size=6), own.normal() - 1.5, own.uniform(size=6)
        found = linear_cost(w, b, x[None], movable)[0]
        best = b + w @ np.where(movable, w > 0, x)
        if w @ x + b >= 0:
            assert found == 0
            continue
        if best < 0:
            assert found == np.inf
            continue
        low, high = np.where(movable, 0.0, x), np.where(movable, 1.0, x)
        truth = minimize(
            lambda at, x=x: np.sum((at - x) ** 2), np.where(movable, w > 0, x), jac=lambda at, x=x: 2 * (at - x),
            method="SLSQP", bounds=list(zip(low, high, strict=True)), options={"ftol": 1e-14, "maxiter": 500},
            constraints=[LinearConstraint(w, -b, np.inf)],
        )  # fmt: skip
        assert found == pytest.approx(np.sqrt(truth.fun), abs=1e-4)
        checked += 1
    assert checked >= 5


def test_the_best_hardened_point_is_that_of_an_enumeration():
    layout = Layout(
        numbers=(Slot("a", 0, 1), Slot("b", 1, 2)),
        groups=(Slot("c", 2, 5), Slot("d", 5, 7)),
        indicators=(), clauses=(), n_constraints=0, levels_bound=False,
    )  # fmt: skip
    rng = np.random.default_rng(1)
    weight = rng.normal(size=7)
    x = np.array([[0.3, 0.9, 0, 1, 0, 1, 0]], float)
    movable = np.array([True, False, True, True, True, False, False])
    every = []
    for a, level in itertools.product((0.0, 1.0), range(3)):
        row = x[0].copy()
        row[0], row[2:5] = a, np.eye(3)[level]
        every.append(row @ weight + 0.1)
    assert best_hardened(weight, 0.1, x, layout, movable)[0] == pytest.approx(max(every))


@pytest.mark.parametrize("widths", [(16,), (12, 8)])
def test_bounds_of_a_network_hold_every_point_of_the_box(widths):
    """The bound lies above every corner and every point that climbing finds; climbing beats the corners' best."""
    for seed in range(5):
        model = jax.tree.map(lambda leaf: 2 * leaf, MLP(widths=widths).build(6, 2, jax.random.key(seed)))
        decision = Decision(model, jnp.asarray(0.5), 1)
        corners = jnp.asarray(list(itertools.product((0.0, 1.0), repeat=6)))
        margins = jax.vmap(lambda at, d=decision: d.margin(at, jnp.asarray(1)))(corners)
        top = float(jnp.max(climb(decision, jnp.full((8, 6), 0.5), jnp.ones(6))))
        assert top <= upper_bound(model) + 1e-4
        assert float(jnp.max(margins)) <= upper_bound(model) + 1e-4
        assert top >= float(jnp.max(margins)) - 0.15  # its last step moves each of six columns by 0.02
        # Columns that are held stay: with everything held nothing can be gained.
        row = corners[5:6]
        assert float(climb(decision, row, jnp.zeros(6))[0]) == pytest.approx(float(margins[5]), abs=1e-5)


def test_whether_a_yes_exists_is_told_for_constant_models():
    x = np.random.default_rng(0).uniform(size=(10, 4))
    for bias, answer in ((-3.0, "no"), (-1.9, "yes"), (1.0, "yes")):
        model = linear(np.array([1.0, 1.0, -1.0, 0.0]), bias)
        decision = Decision(model, jnp.asarray(0.5), 1)
        assert exists(model, decision, x, accepted=False) == answer
    network = MLP(widths=(8,)).build(4, 2, jax.random.key(0))
    flat = jax.tree.map(lambda leaf: 0.01 * leaf, network)
    for bias, answer in (((1.0, 0.0), "no"), ((0.0, 1.0), "yes")):
        model = type(flat)(flat.weights, (flat.biases[0], jnp.asarray(bias)), "relu", 0.0)
        assert exists(model, Decision(model, jnp.asarray(0.5), 1), x, accepted=False) == answer
    weight, bias = coefficients(linear(np.array([1.0, 2.0]), 0.5))
    np.testing.assert_allclose([*weight, bias], [1.0, 2.0, 0.5])


def judged(refused, cost, exists="yes"):
    refused = np.asarray(refused)
    figures = {"n_refused": int(refused.sum()), "exists": exists, "n_people": len(refused)}
    return Judged(figures, refused, np.where(refused, cost, np.nan), np.zeros((len(refused), 1)))


def test_costs_are_compared_on_the_same_people():
    everyone, half, nobody = np.ones(12, bool), np.arange(12) < 6, np.zeros(12, bool)
    own = np.arange(12.0)
    split = [judged(everyone, own), judged(half, own + 2), judged(nobody, own)]
    out = compared([split], [0.0, 0.1, 0.3])
    assert out["0"]["paired"] == [{"n": 12, "plain": 5.5, "robust": 5.5}]
    assert out["0.1"]["paired"] == [{"n": 6, "plain": 2.5, "robust": 4.5}]
    # The model that refuses nobody is left out of "all", or nobody would be left.
    assert out["0"]["refused_by_all"] == [{"n": 6, "plain": 2.5, "robust": 2.5}]
    assert out["0.3"]["paired"] == [{"n": 0, "plain": None, "robust": None}]


def test_a_constant_model_is_named_and_never_called_invalid():
    def entry(*splits):
        return SimpleNamespace(splits=[SimpleNamespace(n_refused=n, exists=e) for n, e in splits])

    assert nothing(entry((0, "yes"), (0, "yes"))) == "none refused"
    assert nothing(entry((2, "yes"), (0, "yes"))) == "fewer than 5 refused"
    assert nothing(entry((400, "no"), (400, "no"))) == "none exists"
    assert nothing(entry((400, "no"), (400, "unknown"))) == "none found"
    assert nothing(entry((400, "no"), (40, "yes"))) is None


def test_intervals_are_those_of_student():
    mean, half = interval([1.0, 2.0, 3.0, None])
    assert mean == pytest.approx(2.0)
    assert half == pytest.approx(4.302653 / np.sqrt(3))
    assert shown([1.0, 2.0, 3.0, None]) == "2.00 ± 2.48 (3 of 4)"
    assert shown([None]) == "-"
    assert interval([]) is None


def test_every_figure_of_the_paper_is_run_by_some_part():
    numbers = {f"figure {n}" for figures in PARTS.values() for n in figures}
    assert set(experiment("robustness-tradeoffs").parts) == numbers
    regime = KINDS["MLP"].regime(0.1, 4937)
    assert regime.n_epochs * -(-4937 // regime.batch_size) == pytest.approx(2000, abs=40)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    try:
        ht.datasets.load("compas")
    except DataError as error:
        pytest.skip(f"the COMPAS file is not here: {error}")
    folder = tmp_path_factory.mktemp("papers")
    asked = ["papers", "robustness-tradeoffs", "--quick", "--out", str(folder), "--json"]
    done = CliRunner().invoke(cli, asked, catch_exceptions=False)
    return json.loads(done.stdout)["results"][0], (folder / "tables.md").read_text("utf-8")


def test_a_quick_run_shows_collapse_and_cost(quick):
    result, text = quick
    lr, mlp = result["models"]["LR"], result["models"]["MLP"]
    edge = result["collapse"]["linf"]
    # Far above the closed form's radius the linear model has no weights left, far below it has.
    for i in range(result["n_splits"]):
        assert 0.05 < edge[i] < 0.1
        assert lr["0.2"]["splits"][i]["slope"] < 0.01
        assert lr["0"]["splits"][i]["slope"] > 5
        assert lr["0.2"]["splits"][i]["n_refused"] == 0
        assert lr["0"]["splits"][i]["near"] == 1.0
    # The network at 0.05 still refuses people, robustly so, and a yes is several times as far.
    for plain, robust in zip(mlp["0"]["splits"], mlp["0.05"]["splits"], strict=True):
        assert robust["robust"] > plain["robust_common"] + 0.3
        assert robust["on_fixed"] > plain["on_fixed"] + 0.2
    for pair in mlp["0.05"]["paired"]:
        assert pair["robust"] > 2 * pair["plain"]
    # SCFE ends at the boundary, where another split's model may well say no; further on fewer do.
    for network in (mlp["0"], mlp["0.05"]):
        near, far = np.mean(network["others"]), np.mean(network["others_twice"])
        assert near < far
    assert "twice as far" in text
    assert "none refused" in text
    forms = result["bounds"]["MLP"]["0.05"]["Theorem 2, cost weight 0.1"]["forms"]
    assert forms["corrected"]["violations"] == forms["any"]["violations"] == 0


def test_validity_grows_with_the_budget_and_stays_below_the_budget_free(quick):
    result, _ = quick
    for radii in result["models"].values():
        for entry in radii.values():
            for split in entry["splits"]:
                if "scfe" in split:
                    assert split["scfe"] == sorted(split["scfe"])
                    assert split["scfe"][-1] <= split["near"] + 1e-9
                    assert all(h <= s for h, s in zip(split["scfe_hardened"], split["scfe"], strict=True))


def test_kernel_models_are_solved_plain_and_from_attacked_rows(monkeypatch):
    try:
        data = Encoded.load("compas")
    except DataError as error:
        pytest.skip(f"the COMPAS file is not here: {error}")
    monkeypatch.setattr(_wide, "N_ROWS", 60)
    monkeypatch.setattr(_wide, "N_PEOPLE", 20)
    networks = [[MLP(widths=(8,)).build(data.encoder.n_columns, 2, jax.random.key(0))]] * 2
    found = _wide.kernel_models([data.task(0)], networks, (0.0, 0.05))
    plain, robust = (found[f"attacked as the {whose}"] for whose in ("plain kernel model", "robust network"))
    # Radius 0 attacks nobody, whoever is attacked; beyond it the two ways differ.
    assert plain["0"]["splits"] == robust["0"]["splits"]
    assert plain["0.05"]["splits"] != robust["0.05"]["splits"]
    assert plain["0"]["splits"][0]["accuracy"] > 0.55
