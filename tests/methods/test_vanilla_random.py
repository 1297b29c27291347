"""VanillaRandom: noise of the right size, and the nearest recourse of the person it makes."""

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder, feasible_sets
from holdtrue.errors import DataError
from holdtrue.methods import ElasticNet, NearestNeighbour, VanillaRandom, Wachter
from holdtrue.models import Decision, LinearModel
from holdtrue.schema import as_table
from holdtrue.search import Problems, Status

W, B = np.array([1.0, -0.5, 0.25], np.float32), -0.4


@pytest.fixture(scope="module")
def plane():
    """Three numbers, the last of them fixed, encoded as they are; people refused by more than the noise."""
    table = pd.DataFrame(np.random.default_rng(0).normal(0, 1, (120, 3)), columns=list("abc"))
    directions = {"a": "free", "b": "free", "c": "fixed"}
    features = [ht.Feature(name=c, kind="numeric", bounds=(-9, 9), direction=d) for c, d in directions.items()]
    fitted = Encoder.fit(ht.Schema(features), table)
    ones = np.ones(3)
    encoder = Encoder(fitted.schema, "minmax", fitted.layout, ones, 0 * ones, ones, {})
    model = LinearModel(np.stack([0 * W, W]), np.array([0, B], np.float32))
    predictor = Predictor(encoder, Decision(model, np.float32(0.5), 1), np.array([0, 1]))
    return predictor, table, table[table.to_numpy() @ W + B < -0.5].head(16)


def problems(method, X):
    sets = feasible_sets(method.predictor_.encoder, as_table(X))
    x = sets.x
    return Problems(x, np.ones(len(x), np.int32), sets, method._keys(x), x)


def rows(plan):
    return np.column_stack([plan.recourse.columns[c] for c in plan.recourse.columns])


def test_noise_is_uniform_in_what_may_change(plane):
    predictor, table, _ = plane
    method = VanillaRandom(radius=0.2, random_state=0).fit(predictor)
    noise = method.perturbed(problems(method, table)) - table.to_numpy()
    np.testing.assert_allclose(noise[:, 2], 0, atol=1e-6)
    drawn = np.sort(noise[:, :2].ravel()) / 0.2
    assert np.abs(drawn).max() <= 1 + 1e-4
    assert np.abs((drawn + 1) / 2 - np.linspace(0, 1, len(drawn))).max() < 0.09  # Kolmogorov, 5% at 240 draws
    assert not np.allclose(noise[0], noise[1])


def test_the_recourse_is_the_nearest_of_the_noisy_person(plane):
    """In l2 it is the foot on the boundary, of the noisy point, in the columns that may change."""
    predictor, _, X = plane
    base = ElasticNet(norm="l2")  # exact on a linear model
    method = VanillaRandom(base=base, radius=0.2, random_state=0).fit(predictor)
    plan = method.recourse(X)
    noisy = method.perturbed(problems(method, X))
    free = W * np.array([1, 1, 0])
    foot = noisy - (noisy @ W + B)[:, None] * free / (free @ free)
    assert plan.found.all()
    np.testing.assert_allclose(rows(plan), foot, atol=2e-3)
    np.testing.assert_allclose(plan.cost, np.linalg.norm(rows(plan) - X.to_numpy(), axis=1), rtol=1e-4)
    plain = X.to_numpy() - (X.to_numpy() @ W + B)[:, None] * free / (free @ free)
    assert np.abs(foot - plain).max() > 0.05


def test_without_noise_it_is_the_base(plane):
    predictor, _, X = plane
    plan = VanillaRandom(radius=0.0).fit(predictor).recourse(X)
    np.testing.assert_array_equal(rows(plan), rows(Wachter().fit(predictor).recourse(X)))


def test_noise_that_turns_the_decision_is_not_used(plane):
    """Somebody nearly accepted is not told that they are, and gets the base's recourse."""
    predictor, _, _ = plane
    X = pd.DataFrame({"a": np.full(20, 0.399), "b": np.zeros(20), "c": np.linspace(0, 1e-4, 20)})
    method = VanillaRandom(radius=0.3, random_state=0).fit(predictor)
    turned = method.perturbed(problems(method, X)) @ W + B >= 0
    assert 0 < turned.sum() < 20
    plan = method.recourse(X)
    assert (plan.status == int(Status.FOUND)).all()
    plain = Wachter().fit(predictor).recourse(X)
    np.testing.assert_allclose(plan.cost[turned], plain.cost[turned], rtol=1e-5)


def test_any_base_will_do(plane):
    predictor, table, X = plane
    plan = VanillaRandom(base=NearestNeighbour(), random_state=0).fit(predictor, table).recourse(X)
    assert plan.found.all()
    assert plan.valid.all()


def test_a_negative_radius_is_refused(plane):
    with pytest.raises(DataError, match="VanillaRandom: `radius`"):
        VanillaRandom(radius=-0.1).fit(plane[0])
