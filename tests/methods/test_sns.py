"""SNS: it stays in its class and its ball, its objective never falls, and it finds the known maximum."""

import jax
import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.errors import CapabilityError, DataError
from holdtrue.methods import SNS, ElasticNet, NearestNeighbour, Wachter
from holdtrue.models import MLP, Decision, LinearModel
from holdtrue.search import Status
from holdtrue.testing import _world as world

W = np.array([2.0, -1.0, 0.5], np.float32)


def numbers(model, bounds=(-10, 10)):
    table = pd.DataFrame(np.random.default_rng(0).uniform(-2, 2, (60, 3)), columns=list("abc"))
    fitted = Encoder.fit(ht.Schema([ht.Feature(name=c, kind="numeric", bounds=bounds) for c in table]), table)
    ones = np.ones(3)
    encoder = Encoder(fitted.schema, "minmax", fitted.layout, ones, 0 * ones, ones, {})
    predictor = Predictor(encoder, Decision(model, np.float32(0.5), 1), np.array([0, 1]))
    refused = table[predictor.decide_of(predictor.logits_of(table.to_numpy())) == 0]
    return predictor, refused


@pytest.fixture(scope="module")
def linear():
    return numbers(LinearModel(np.stack([0 * W, W]), np.array([0, -0.2], np.float32)))


@pytest.fixture(scope="module")
def curved():
    return numbers(MLP(widths=(12, 12)).build(3, 2, jax.random.key(3)))


def rows(plan):
    return np.column_stack([plan.recourse.columns[c] for c in plan.recourse.columns])


def areas(fitted, x):
    solver = fitted.solver()
    return np.asarray(jax.vmap(lambda row: solver.area(row, 1)[0])(x.astype(np.float32)))


def test_the_maximum_on_a_linear_model_is_known(linear):
    """Every term grows along w, so the stable neighbour is the ball's point farthest along w."""
    predictor, X = linear
    base = Wachter(norm="l2").fit(predictor).recourse(X)
    moved = SNS(base=Wachter(norm="l2"), radius=0.7).fit(predictor).recourse(X)
    farthest = 0.7 * W / np.linalg.norm(W)
    np.testing.assert_allclose(rows(moved) - rows(base), np.tile(farthest, (len(X), 1)), atol=2e-3)


def test_it_stays_in_its_ball_and_class_and_never_loses(curved):
    predictor, X = curved
    base = ElasticNet(norm="l2", n_rounds=6, n_steps=60)
    before = base.fit(predictor).recourse(X)
    fitted = SNS(base=base, radius=0.5).fit(predictor)
    after = fitted.recourse(X)
    found = before.found
    assert found.any()
    assert (after.found == found).all()
    assert after.valid[found].all()
    a, b = rows(before)[found], rows(after)[found]
    assert (np.linalg.norm(b - a, axis=1) <= 0.5 + 2e-3).all()  # both ends are told in thousandths
    gain = areas(fitted, b) - areas(fitted, a)
    assert (gain >= -1e-5).all()
    assert (gain > 0.01).mean() > 0.5


def test_the_area_is_the_integral(curved):
    """A fine sum is the integral of p(t x) over t, by the trapezoid rule in float64."""
    predictor, X = curved
    fitted = SNS(radius=0.5, n_points=400).fit(predictor)
    x = X.to_numpy()[:5].astype(np.float32)
    t = np.linspace(0, 1, 2001)[:, None]
    for row, area in zip(x, areas(fitted, x), strict=True):
        logits = predictor.logits_of(t * row).astype(np.float64)
        p = 1 / (1 + np.exp(logits[:, 0] - logits[:, 1]))
        assert area / 400 == pytest.approx(np.trapezoid(p, t[:, 0]), abs=2e-3)


def test_who_has_no_recourse_from_the_base_has_none():
    predictor, X = numbers(LinearModel(np.stack([0 * W, W]), np.array([0, -1e4], np.float32)))
    plan = SNS(base=Wachter(n_steps=20), radius=0.5).fit(predictor).recourse(X.head(3))
    assert (plan.status == int(Status.NOT_FOUND)).all()
    assert not plan.changed().any()


def test_a_model_file_keeps_the_base_and_what_it_learned(tmp_path):
    table, y = world.people()
    clf = ht.RecourseClassifier(
        schema=world.PLAIN,
        model=ht.Linear(),
        regime=ht.StandardTraining(n_epochs=20),
        method=SNS(base=NearestNeighbour(n_rows=50, norm="l2"), n_steps=20),
        random_state=0,
    ).fit(table, y)
    refused = world.refused(clf.predictor_, 6)
    clf.save(tmp_path / "model.holdtrue")
    again = ht.RecourseClassifier.load(tmp_path / "model.holdtrue")
    assert again.method_.base.n_rows == 50
    assert {"base/rows", "radius"} <= set(again.method_.state_)
    a, b = clf.recourse(refused), again.recourse(refused)
    assert a.norm == b.norm == "l2"
    assert a.found.all()
    np.testing.assert_array_equal(a.cost, b.cost)


def test_the_radius_is_learned_from_the_rows(linear):
    predictor, X = linear
    norms = np.linalg.norm(X.to_numpy(), axis=1)
    assert float(SNS().fit(predictor, X).state_["radius"]) == pytest.approx(0.8 * np.median(norms), rel=1e-5)
    with pytest.raises(DataError, match="needs training rows"):
        SNS().fit(predictor)
    with pytest.raises(DataError, match="NearestNeighbour: needs training rows"):
        SNS(base=NearestNeighbour(), radius=1.0).fit(predictor)


def test_a_black_box_is_refused_under_its_own_name():
    with pytest.raises(CapabilityError, match="SNS: needs a differentiable"):
        SNS(base=NearestNeighbour()).fit(world.black_box(), *world.people())


def test_another_threshold_reaches_the_base():
    """Rows that a base keeps are decided again, however deep it lies; one fitted there answers the same."""
    clf = world.classifier("linear", limits=False)
    nested = SNS(base=SNS(base=NearestNeighbour(n_rows=300), radius=0.2), radius=0.2, n_steps=10, random_state=0)
    moved = clf.with_method(nested.fit(clf, *world.people())).set_threshold(0.9)
    state, predictor = moved.method_.state_, moved.predictor_
    decided = predictor.decide_of(predictor.logits_of(state["base/base/rows"]))
    assert (state["base/base/decided"] == decided).all()
    assert (state["base/base/decided"] != nested.state_["base/base/decided"]).any()
    X = world.refused(predictor, 8)
    again = SNS(**nested.get_params(deep=False)).fit(moved, *world.people()).recourse(X)
    pd.testing.assert_frame_equal(moved.recourse(X).to_frame(), again.to_frame())
