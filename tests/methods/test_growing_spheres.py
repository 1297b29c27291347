"""Growing spheres on linear models, where the nearest point is known; its answers can spare no change."""

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder, broken_limits
from holdtrue.errors import DataError
from holdtrue.methods import GrowingSpheres
from holdtrue.models import Decision, LinearModel
from holdtrue.schema import as_table
from holdtrue.search import Status
from holdtrue.testing import _world as world

W = np.array([2.0, -1.0, 0.5], np.float32)


def linear_predictor(weights=W, bias=-0.2):
    """Score w.x + b over numbers, encoded as they are."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(-2, 2, (40, len(weights))), columns=[f"x{i}" for i in range(len(weights))])
    encoder = Encoder.fit(ht.Schema([ht.Feature(name=c, kind="numeric", bounds=(-10, 10)) for c in table]), table)
    ones = np.ones(len(weights))
    encoder = Encoder(encoder.schema, "minmax", encoder.layout, ones, 0 * ones, ones, {})
    model = LinearModel(np.stack([np.zeros_like(weights), weights]), np.array([0, bias], np.float32))
    scores = table.to_numpy() @ weights + bias
    return (
        Predictor(encoder, Decision(model, np.float32(0.5), 1), np.array([0, 1])),
        table[scores < 0],
        scores[scores < 0],
    )


@pytest.fixture(scope="module")
def plan():
    """Recourse in the small world, needless changes taken back."""
    clf = world.classifier()
    return GrowingSpheres(n_candidates=300, random_state=0).fit(clf).recourse(world.refused(clf.predictor_, 16))


@pytest.mark.parametrize("n_numbers", [2, 3])
def test_cost_is_the_distance_to_the_plane_up_to_a_shell(n_numbers):
    predictor, X, scores = linear_predictor(W[:n_numbers])
    best = -scores / np.linalg.norm(W[:n_numbers])
    method = GrowingSpheres(radius=0.05, sparsify=False, random_state=0)
    plan = method.fit(predictor).recourse(X)
    assert plan.found.all()
    assert (plan.cost >= best - 1e-4).all()
    # One shell's width, and a direction that is the best of a thousand rather than the best of all.
    assert (plan.cost <= best + 0.05 + 0.02 * best).all()


def test_a_first_ball_that_holds_recourse_is_halved():
    """From a ball far too large, halving finds the scale of the nearest recourse."""
    predictor, X, scores = linear_predictor()
    best = -scores / np.linalg.norm(W)
    plan = GrowingSpheres(radius=8.0, sparsify=False, random_state=0).fit(predictor).recourse(X)
    assert plan.found.all()
    assert (plan.cost <= 2.2 * best + 1e-3).all()
    assert plan.n_steps.max() < 30


def test_no_change_can_be_left_out(plan):
    """Brute force: set any one changed feature back, and the decision or a limit is lost."""
    assert plan.found.mean() > 0.5
    encoder, before, after = plan.predictor.encoder, plan.factual, plan.recourse
    changed = plan.changed()
    spared = 0
    for j, name in enumerate(encoder.schema.names):
        columns = {n: np.array(v, copy=True) for n, v in after.columns.items()}
        columns[name] = before.columns[name]
        trial = as_table(pd.DataFrame(columns))
        logits = plan.predictor.logits(trial)
        margin = logits[:, 1] - logits[:, 0]
        keeps = np.array([not b for b in broken_limits(encoder, before, trial)])
        spared += (changed[:, j] & plan.found & keeps & (margin >= 1e-3)).sum()
    assert spared == 0


def test_setting_back_saves_changes_and_cost(plan):
    clf = world.classifier()
    X = world.refused(clf.predictor_, 16)
    full = GrowingSpheres(n_candidates=300, sparsify=False, random_state=0).fit(clf).recourse(X)
    assert (plan.status == full.status).all()
    assert (plan.cost[full.found] <= full.cost[full.found] + 1e-6).all()
    assert plan.changed()[full.found].sum() < full.changed()[full.found].sum()


def test_a_category_alone_is_found():
    """Only a change of category helps: shells of numbers cannot, yet it is found."""
    table = pd.DataFrame({"n": np.linspace(0, 1, 12), "c": ["a", "b", "c"] * 4})
    schema = ht.Schema([ht.Feature(name="n", kind="numeric"), ht.Feature(name="c", kind="categorical")])
    encoder = Encoder.fit(schema, table)
    model = LinearModel(np.array([[0, 0, 0, 0], [0, -1, -1, 1]], np.float32), np.zeros(2, np.float32))
    predictor = Predictor(encoder, Decision(model, np.float32(0.5), 1), np.array([0, 1]))
    plan = GrowingSpheres(n_candidates=50, random_state=0).fit(predictor).recourse(table)
    refused = (table["c"] != "c").to_numpy()
    assert plan.found[refused].all()
    assert (plan.recourse.columns["c"] == "c").all()
    np.testing.assert_allclose(plan.cost[refused], np.sqrt(2), rtol=1e-5)


def test_the_search_ends_beyond_the_box():
    """No point of the box is accepted: the shells stop where nothing is left to reach."""
    predictor, X, _ = linear_predictor(bias=-1e4)
    plan = GrowingSpheres(radius=2.0, sparsify=False, random_state=0).fit(predictor).recourse(X.head(3))
    assert (plan.status == int(Status.NOT_FOUND)).all()
    assert plan.n_steps.max() < 40


def test_bad_parameters_are_refused():
    predictor, X, _ = linear_predictor()
    with pytest.raises(DataError, match="`radius` must be a number above 0"):
        GrowingSpheres(radius=0.0).fit(predictor).recourse(X)
    with pytest.raises(DataError, match="`n_candidates` must be a whole number of at least 1"):
        GrowingSpheres(n_candidates=0).fit(predictor).recourse(X)
