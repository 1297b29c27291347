"""The highest score against brute force, and what it says about thresholds."""

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.errors import CapabilityError, DataError
from holdtrue.methods import HighestScore
from holdtrue.models import Decision, LinearModel
from holdtrue.testing import _world as world

W = np.array([2.0, -1.0, 0.5], np.float32)


def numbers(**features):
    """Log-odds w.x over three numbers, encoded as they are."""
    X = pd.DataFrame(np.random.default_rng(0).uniform(-1, 1, (50, 3)), columns=list("abc"))
    schema = ht.Schema([ht.Feature(name=c, kind="numeric", bounds=(-2, 2), **features.get(c, {})) for c in X])
    fitted, one = Encoder.fit(schema, X), np.ones(3)
    encoder = Encoder(fitted.schema, "minmax", fitted.layout, one, 0 * one, one, {})
    model = LinearModel(np.stack([0 * W, W]), np.zeros(2, np.float32))
    return Predictor(encoder, Decision(model, np.float32(0.5), 1), np.array([0, 1])), X


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


@pytest.mark.parametrize("radius", [0.75, np.inf])
def test_on_a_linear_model_it_is_the_corner(radius):
    predictor, X = numbers(c={"direction": "decrease"})
    x = X.to_numpy()
    reach = np.stack([np.minimum(x + radius, 2)[:, 0], np.maximum(x - radius, -2)[:, 1], x[:, 2]], axis=1)
    critical = HighestScore(radius=radius).fit(predictor).critical(X)
    np.testing.assert_allclose(critical, sigmoid(reach @ W - 2e-4), atol=1e-5)


def two_numbers():
    """A network over four numbers, of which two may change: what is best is no corner for some."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(500, 4)), columns=list("abcd"))
    y = (np.sin(2 * X["a"]) + X["b"] ** 2 - X["a"] * X["c"] + X["d"] > 1).astype(int)
    free = {"a": "free", "b": "increase"}
    schema = ht.Schema(
        [ht.Feature(name=c, kind="numeric", bounds=(-3, 3), direction=free.get(c, "fixed")) for c in X]
    )
    regime = ht.StandardTraining(n_epochs=40, step_size=0.01)
    clf = ht.RecourseClassifier(schema=schema, model=ht.MLP(widths=(16, 16)), regime=regime, random_state=0)
    return clf.fit(X.clip(-3, 3), y), X.clip(-3, 3)


def test_on_a_network_it_is_the_best_of_a_fine_lattice():
    clf, X = two_numbers()
    people = X[:40]
    critical = HighestScore().fit(clf).critical(people)
    best, inside = np.empty(len(people)), 0
    side = np.linspace(0, 1, 101)
    for i, (_, row) in enumerate(people.iterrows()):
        a, b = np.meshgrid(-3 + 6 * side, row["b"] + (3 - row["b"]) * side)
        tried = pd.DataFrame({"a": a.ravel(), "b": b.ravel(), "c": row["c"], "d": row["d"]})
        p = clf.predict_proba(tried)[:, 1]
        best[i] = p.max()
        at = tried.iloc[int(p.argmax())]
        inside += -3 < at["a"] < 3
    assert inside > 0  # the corner alone would not do
    assert (critical <= best + 1e-3).all()  # the lattice is fine, but not endless
    np.testing.assert_allclose(critical, best, atol=0.01)


def test_recourse_at_a_threshold_exists_exactly_for_those_whose_critical_one_reaches_it():
    """One search per person says what a search at any threshold would find."""
    table = world.people()[0][:120]
    critical = HighestScore().fit(world.classifier()).critical(table)
    for threshold in (0.3, 0.8, 0.97):
        clf = world.classifier()
        decision = Decision(clf.predictor_.decision.model, np.float32(threshold), 1)
        at = Predictor(clf.predictor_.encoder, decision, clf.classes_)
        plan = HighestScore().fit(at).recourse(table)
        has = plan.found | (clf.predict_proba(table)[:, 1] >= threshold)
        near = np.abs(critical - threshold) < 1e-4
        assert (has == (critical >= threshold))[~near].all()
        assert has[critical >= threshold].all()


def test_a_threshold_needs_two_classes():
    with pytest.raises(CapabilityError, match="needs two classes"):
        HighestScore().fit(world.classifier(n_classes=3)).critical(world.people()[0])
    for bad in ({"radius": 0}, {"n_points": 1}, {"n_steps": 0}):
        with pytest.raises(DataError, match="HighestScore"):
            HighestScore(**bad).fit(world.classifier()).critical(world.people()[0][:5])
