"""Integer programmes over linear models and networks, held against every row there is."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.neural_network import MLPClassifier

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.hold import with_guides
from holdtrue.models import Decision, LinearModel, MLPModel, SideBySide
from holdtrue.search import Status, menu
from holdtrue.search.exact._layers import members_of
from holdtrue.search.exact._relaxed import Reach, most_of, spans_of

from .test_exact_trees import cheapest, every_row, world

CLEAR = 2e-4  # log-odds: proofs are about rows that clear the threshold by this


def predictor_of(seed: int, widths: tuple[int, ...], n_classes: int = 2) -> tuple[Predictor, pd.DataFrame]:
    """A random model over the small world, that refuses about two in three."""
    X, _, schema = world(seed)
    rng = np.random.default_rng([seed, len(widths)])
    encoder = Encoder.fit(schema, X)
    sizes = (encoder.n_columns, *widths, n_classes)
    weights = [rng.normal(size=(o, i)).astype(np.float32) for i, o in pairwise(sizes)]
    biases = [rng.normal(size=o).astype(np.float32) for o in sizes[1:]]

    def made():
        return (
            MLPModel(tuple(weights), tuple(biases), "relu", 0.0) if widths else LinearModel(weights[0], biases[0])
        )

    if n_classes == 2:
        logits = ht.models.batch_logits(made(), encoder.encode(X).astype(np.float32))
        biases[-1][1] -= float(np.quantile(np.asarray(logits[:, 1] - logits[:, 0]), 0.66))
    return Predictor(encoder, Decision(made(), np.float32(0.5), 1), np.arange(n_classes)), X


def clearly(predictor: Predictor, target: int = 1):
    """Rows that a decision, of a panel where it is one, takes by more than rounding."""

    def accepted(table):
        x = predictor.encoder.encode(table).astype(np.float32)
        logits = np.asarray(ht.models.batch_logits(predictor.decision.model, x), float)
        others = np.delete(logits, target, axis=1).max(axis=1)
        return logits[:, target] - others >= CLEAR

    return accepted


def held_against_every_row(method, X, predictor, n=4, max_changes=None) -> None:
    refused = np.flatnonzero(predictor.decide(predictor.encoder.schema.check(X)) != 1)[:n]
    plan = method.recourse(X.iloc[refused], target=1)
    assert {Status(s) for s in plan.status} <= {Status.OPTIMAL, Status.INFEASIBLE}
    for i, row in enumerate(refused):
        best = cheapest(method, X.iloc[row], clearly(method.predictor_), max_changes)
        if np.isnan(best):
            assert plan.status[i] == Status.INFEASIBLE
        else:
            assert plan.status[i] == Status.OPTIMAL
            assert plan.cost[i] == pytest.approx(best, abs=1e-5)
            assert plan.bound[i] <= best + 1e-5


@pytest.mark.parametrize("widths", [(), (6,), (5, 4)])
@pytest.mark.parametrize("seed", [0, 3])
def test_nothing_is_cheaper_among_all_rows(seed, widths):
    predictor, X = predictor_of(seed, widths)
    held_against_every_row(ht.ExactSearch().fit(predictor), X, predictor)


@pytest.mark.parametrize("widths", [(), (5,)])
@pytest.mark.parametrize("norm", ["l2", "linf", "l0", "mad"])
def test_every_norm(norm, widths):
    predictor, X = predictor_of(1, widths)
    held_against_every_row(ht.ExactSearch(norm=norm).fit(predictor), X, predictor)


@pytest.mark.parametrize("widths", [(), (5,)])
def test_a_number_of_changes(widths):
    predictor, X = predictor_of(3, widths)
    held_against_every_row(ht.ExactSearch(max_changes=1).fit(predictor), X, predictor, max_changes=1)


def test_several_classes():
    predictor, X = predictor_of(2, (5,), n_classes=3)
    held_against_every_row(ht.ExactSearch().fit(predictor), X, predictor)


@pytest.mark.parametrize(("slack", "spared"), [(0.1, 0), (-0.2, 1)])
@pytest.mark.parametrize("widths", [(), (4,)])
def test_a_panel_is_asked_as_a_whole(widths, slack, spared):
    predictor, X = predictor_of(2, widths)
    guides = SideBySide(tuple(_nudged(predictor, k) for k in range(3)))
    panel = with_guides(predictor, (guides,), slack, 1, spared)
    assert "layers" in panel.capabilities
    method = ht.ExactSearch().fit(predictor).rebind(panel)
    held_against_every_row(method, X, predictor)


def _nudged(predictor: Predictor, seed: int):
    rng = np.random.default_rng(seed)
    model = predictor.decision.model
    if isinstance(model, LinearModel):
        return LinearModel(model.weight + rng.normal(0, 0.3, model.weight.shape).astype(np.float32), model.bias)
    assert isinstance(model, MLPModel)
    moved = tuple(w + rng.normal(0, 0.1, w.shape).astype(np.float32) for w in model.weights)
    return replace(model, weights=moved)


def test_squares_between_grid_points():
    """Two numbers without a step: the nearest point of a line, by hand."""
    X = pd.DataFrame({"a": np.linspace(0, 1, 50), "b": np.linspace(1, 0, 50)})
    schema = ht.Schema([ht.Feature(name=n, kind="numeric", bounds=(0, 1)) for n in "ab"])
    encoder = Encoder.fit(schema, X)
    weight = np.array([3.0, 4.0])
    slope = np.array([[0, 0], weight * encoder.scale], np.float32)
    bias = np.array([0, weight @ encoder.offset - 6.5], np.float32)  # 3 a + 4 b >= 6.5
    predictor = Predictor(encoder, Decision(LinearModel(slope, bias), np.float32(0.5), 1), np.arange(2))
    person = pd.DataFrame({"a": [0.5], "b": [0.5]})
    plan = ht.ExactSearch(norm="l2").fit(predictor).recourse(person)
    normal = weight * encoder.scale
    assert plan.cost[0] == pytest.approx(3.0 / np.linalg.norm(normal), rel=2e-3)  # told in round numbers
    assert plan.bound[0] == pytest.approx(3.0 / np.linalg.norm(normal), rel=2e-4)
    assert plan.status[0] == Status.OPTIMAL


@pytest.mark.parametrize("norm", ["l1", "l2", "linf", "l0"])
def test_relaxed_bounds_hold_at_every_row_within_reach(norm):
    predictor, X = predictor_of(4, (6, 5))
    method = ht.ExactSearch(norm=norm).fit(predictor)
    table = predictor.encoder.schema.check(X.iloc[:1])
    problems = method.problems(table, np.array([1]), ht.schema.normalise_restrictions(None, table, 1))
    weights = ht.encoding.norm_weights(predictor.encoder, norm)
    person = menu(problems.feasible, 0, weights, norm, tie=0.0)
    member = members_of(predictor.decision, 1).each[0]
    rows = every_row(*X)
    x = predictor.encoder.encode(predictor.encoder.schema.check(rows)).astype(np.float32)
    cost = np.asarray(ht.encoding.distance(x, problems.x[0], norm, weights))
    for limit in (0.3, 1.0, 2.5):
        reach = Reach.of(person, limit**2 if norm == "l2" else limit)
        spans = spans_of(member.hidden, reach)
        allowed = (x >= np.minimum(problems.feasible.lower[0], problems.x[0]) - 1e-6).all(axis=1)
        allowed &= (x <= np.maximum(problems.feasible.upper[0], problems.x[0]) + 1e-6).all(axis=1)
        inside = x[(cost <= limit) & allowed].astype(float)
        h = inside
        for layer, (low, high) in zip(member.hidden, spans, strict=True):
            z = h @ layer.weight.T + layer.bias
            assert (z >= low - 1e-5).all()
            assert (z <= high + 1e-5).all()
            h = layer(h)
        most = most_of(member.hidden, spans, member.weight, member.bias, reach)
        assert (member.scores(inside) <= most + 1e-5).all()


def test_a_network_made_elsewhere():
    X, y, schema = world(1)
    numbers = X[["income", "debt", "age"]]
    small = ht.Schema([f for f in schema if f.name in numbers])
    model = MLPClassifier((6,), max_iter=60, random_state=0, tol=1e-2, n_iter_no_change=60)
    with pytest.warns(UserWarning, match="iterations"):
        model.fit(numbers, y)
    predictor = ht.wrap(model, small, numbers)
    plan = ht.ExactSearch().fit(predictor).recourse(numbers[model.predict(numbers) == 0][:5])
    assert {Status(s) for s in plan.status} <= {Status.OPTIMAL, Status.INFEASIBLE}


def test_no_time_leaves_a_gap_that_is_true():
    predictor, X = predictor_of(1, (5, 4))
    people = X[predictor.decide(predictor.encoder.schema.check(X)) == 0][:4]
    proved = ht.ExactSearch().fit(predictor).recourse(people)
    hasty = ht.ExactSearch(time_limit=1e-9).fit(predictor).recourse(people)
    assert (hasty.bound <= proved.cost + 1e-5)[proved.found].all()
    assert (hasty.cost >= proved.cost - 1e-5)[hasty.found].all()


def test_options_differ():
    predictor, X = predictor_of(3, ())
    people = X[predictor.decide(predictor.encoder.schema.check(X)) == 0][:6]
    plan = ht.ExactSearch().fit(predictor).recourse(people, n_recourses=2)
    assert (plan.option == 1).any()
    assert plan.valid[plan.found].all()


def test_what_cannot_be_read_is_refused():
    predictor, _ = predictor_of(0, (3,))
    model = predictor.decision.model
    smooth = replace(predictor, decision=predictor.decision.of(replace(model, activation="tanh")))
    with pytest.raises(ht.errors.CapabilityError, match="ExactSearch: needs a layers or trees model"):
        ht.ExactSearch().fit(smooth)
