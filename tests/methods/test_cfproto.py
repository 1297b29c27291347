"""CFProto: prototypes by brute force, the two ends of its weight, the slope of its pull."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.spatial import cKDTree

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.errors import DataError
from holdtrue.methods import CFProto, ElasticNet
from holdtrue.models import Decision, LinearModel
from holdtrue.search import Problem
from holdtrue.testing import _world as world

W, B = np.array([1.0, 0.5, -0.5], np.float32), -0.3


@pytest.fixture(scope="module")
def plane():
    """Three numbers, encoded as they are; accepted where w.x + b >= 0."""
    table = pd.DataFrame(np.random.default_rng(0).normal(0, 1, (300, 3)), columns=list("abc"))
    fitted = Encoder.fit(ht.Schema([ht.Feature(name=c, kind="numeric", bounds=(-9, 9)) for c in table]), table)
    ones = np.ones(3)
    encoder = Encoder(fitted.schema, "minmax", fitted.layout, ones, 0 * ones, ones, {})
    model = LinearModel(np.stack([0 * W, W]), np.array([0, B], np.float32))
    predictor = Predictor(encoder, Decision(model, np.float32(0.5), 1), np.array([0, 1]))
    accepted = table.to_numpy() @ W + B >= 0
    return predictor, table, accepted


def rows(plan):
    return np.column_stack([plan.recourse.columns[c] for c in plan.recourse.columns])


@pytest.mark.parametrize("kind", ["mean", "last"])
@pytest.mark.parametrize("k", [1, 7])
def test_prototypes_are_those_of_a_kd_tree(plane, kind, k):
    predictor, table, accepted = plane
    pull = CFProto(n_neighbours=k, prototype=kind).fit(predictor, table).solver().pull
    x = table.to_numpy()
    for target, members in ((1, x[accepted]), (0, x[~accepted])):
        _, nearest = cKDTree(members).query(x[:20], k=range(1, k + 1))
        expected = members[nearest].mean(axis=1) if kind == "mean" else members[nearest[:, -1]]
        for i in range(20):
            at = jnp.asarray(x[i], jnp.float32)
            found = pull.find(Problem(at, jnp.asarray(target), None, jax.random.key(0), at))
            np.testing.assert_allclose(found, expected[i], atol=1e-5)


def test_a_class_with_few_rows_gives_the_mean_of_those(plane):
    predictor, table, accepted = plane
    few = pd.concat([table[accepted].head(3), table[~accepted].head(40)])
    pull = CFProto(n_neighbours=20).fit(predictor, few).solver().pull
    at = jnp.zeros(3)
    found = pull.find(Problem(at, jnp.asarray(1), None, jax.random.key(0), at))
    np.testing.assert_allclose(found, table[accepted].head(3).mean(), atol=1e-6)


def test_where_no_row_is_accepted_everybody_has_a_status(plane):
    predictor, table, accepted = plane
    refused = table[~accepted].head(12)
    plan = CFProto(n_rounds=2).fit(predictor, refused).recourse(refused)
    assert sum(plan.counts().values()) == 12
    assert plan.valid[plan.found].all()


@pytest.mark.parametrize(("norm", "l1_weight", "l2_weight"), [("l1", 1.0, 0.0), ("l2", 0.0, 1.0)])
def test_without_its_weight_it_is_the_elastic_net(plane, norm, l1_weight, l2_weight):
    predictor, table, accepted = plane
    weights = {"l1_weight": l1_weight, "l2_weight": l2_weight}
    options = {"norm": norm, "confidence": 0.5, "n_rounds": 5, "step_size": 0.05, **weights}
    X = table[~accepted].head(12)
    ours = CFProto(prototype_weight=0.0, first_weight=0.001, **options).fit(predictor, table).recourse(X)
    plain = ElasticNet(**options).fit(predictor).recourse(X)
    assert ours.found.all()
    np.testing.assert_array_equal(rows(ours), rows(plain))


def test_with_a_large_weight_it_goes_to_the_prototype(plane):
    predictor, table, accepted = plane
    X = table[~accepted].head(12)
    plan = CFProto(prototype_weight=1e5, n_neighbours=1, n_rounds=2).fit(predictor, table).recourse(X)
    members = table.to_numpy()[accepted]
    _, nearest = cKDTree(members).query(X.to_numpy())
    assert plan.found.all()
    np.testing.assert_allclose(rows(plan), members[nearest], atol=1e-3)


def test_in_between_it_settles_at_the_minimum(plane):
    """Where the prototype is accepted, the minimum of b|d|_1 + |d|^2 + t|d - p|^2 is a soft threshold."""
    predictor, table, accepted = plane
    X = table[~accepted].head(30)
    l1, t = 0.1, 20.0
    plan = CFProto(prototype_weight=t, n_neighbours=5, n_rounds=2).fit(predictor, table).recourse(X)
    x, members = X.to_numpy(), table.to_numpy()[accepted]
    _, nearest = cKDTree(members).query(x, k=5)
    p = members[nearest].mean(axis=1) - x
    d = np.sign(p) * np.maximum(t * np.abs(p) - l1 / 2, 0) / (1 + t)
    inside = (x + d) @ W + B > 0.05
    assert inside.sum() >= 10
    np.testing.assert_allclose((rows(plan) - x)[inside], d[inside], atol=2e-3)  # told in thousandths


def test_more_weight_brings_it_nearer_to_people(plane):
    predictor, table, accepted = plane
    X, members = table[~accepted].head(12), cKDTree(table.to_numpy()[accepted])
    away, cost = [], []
    for weight in (0.0, 1.0, 100.0):
        plan = CFProto(prototype_weight=weight, n_neighbours=1, n_rounds=6).fit(predictor, table).recourse(X)
        away.append(members.query(rows(plan))[0].mean())
        cost.append(plan.cost.mean())
    assert away[0] > away[1] > away[2]
    assert cost[0] < cost[1] < cost[2]


@pytest.mark.parametrize("autoencoder", [False, True])
def test_the_slope_is_that_of_finite_differences(autoencoder):
    method = CFProto(autoencoder=autoencoder, n_epochs=2, prototype_weight=3.0, random_state=0)
    pull = method.fit(world.classifier(), *world.people()).solver().pull
    x = jnp.asarray(method.state_["rows"][0])
    prototype = pull.find(Problem(x, jnp.asarray(1), None, jax.random.key(0), x))
    slope, curvature = pull.slope(x, prototype)
    with jax.enable_x64(True):
        wide = jax.tree.map(lambda a: jnp.asarray(a, jnp.float64) if a.dtype == jnp.float32 else a, pull)
        x, prototype = jnp.asarray(np.asarray(x), jnp.float64), jnp.asarray(np.asarray(prototype), jnp.float64)
        by = 1e-5 * np.eye(len(x))
        value = jax.jit(lambda at: wide(at, prototype))
        numeric = np.array([(value(x + e) - value(x - e)) / 2e-5 for e in by])
    np.testing.assert_allclose(slope, numeric, rtol=1e-3, atol=1e-3)
    assert float(curvature) > 0


def test_codes_are_kept_in_files(tmp_path):
    table, y = world.people()
    method = CFProto(autoencoder=True, n_epochs=3, n_rounds=2, n_steps=20, random_state=0)
    clf = ht.RecourseClassifier(schema=world.PLAIN, model=ht.Linear(), method=method, random_state=0).fit(table, y)
    X = table[clf.predict(table) == 0].head(8)
    plan = clf.recourse(X)
    assert plan.found.mean() > 0.5
    clf.save(tmp_path / "model.ht")
    again = ht.RecourseClassifier.load(tmp_path / "model.ht")
    np.testing.assert_allclose(again.recourse(X).cost, plan.cost, rtol=1e-4)


def test_what_makes_no_sense_is_refused(plane):
    predictor, table, _ = plane
    for options, match in (
        ({"norm": "linf"}, "`norm` must be 'l"),
        ({"prototype": "median"}, "`prototype` must be"),
        ({"n_neighbours": 0}, "`n_neighbours`"),
        ({"prototype_weight": -1.0}, "`prototype_weight`"),
    ):
        with pytest.raises(DataError, match=f"CFProto: {match}"):
            CFProto(**options).fit(predictor, table)
    with pytest.raises(DataError, match="needs training rows"):
        CFProto().fit(predictor)
