"""BetaRCE: guides that differ in their threshold alone say how far to go."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import beta

import holdtrue as ht
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models import EnsembleModel, LinearModel
from holdtrue.retraining import Retrained
from holdtrue.testing import _world as world

SHIFTS = np.linspace(-1.0, 1.0, 11)


@pytest.fixture(scope="module")
def guides(plane):
    model = plane.predictor.decision.model
    stacked = LinearModel(
        jnp.broadcast_to(model.weight, (11, 2, 3)),
        model.bias + jnp.stack([jnp.zeros(11), jnp.asarray(SHIFTS, jnp.float32)], axis=1),
    )
    return Retrained(plane.predictor, EnsembleModel(stacked), "seed")


@pytest.mark.parametrize(("aim", "confidence"), [(0.5, 0.9), (0.8, 0.8), (0.7, 0.95)])
def test_the_posterior_says_how_many_must_accept(aim, confidence):
    """The least number of successes after which the chance is above the aim with that probability."""
    method = ht.BetaRCE(aim=aim, confidence=confidence)
    m = method.n_needed(20)
    assert 1 - beta.cdf(aim, 0.5 + m, 0.5 + 20 - m) >= confidence
    assert 1 - beta.cdf(aim, 0.5 + m - 1, 0.5 + 20 - m + 1) < confidence


@pytest.mark.parametrize("model", ["predictor", "opaque"])
def test_as_many_accept_and_the_way_is_not_much_longer(plane, guides, model):
    method = ht.BetaRCE(
        base=ht.GrowingSpheres(norm="l2"), aim=0.6, confidence=0.8, n_candidates=300, radius=0.05, random_state=0
    )
    plan = method.fit(getattr(plane, model), plane.rows, guides=guides).recourse(plane.people)
    needed = method.n_needed(11)
    assert 6 < needed < 11
    ends = plane.points(plan)
    accepted = (plane.margin(ends)[:, None] + SHIFTS >= 0).sum(axis=1)
    assert (accepted >= needed).all()
    # The guide on whom it hangs: all with a larger shift accept sooner.
    hangs = np.sort(SHIFTS)[::-1][needed - 1]
    shortest = (-hangs - plane.margin(plane.people.to_numpy())) / np.linalg.norm(plane.w)
    assert (plan.cost >= shortest - 1e-3).all()
    assert (plan.cost < shortest + 0.3).all()


def test_too_few_guides_are_told_before_they_are_trained(plane, guides):
    with pytest.raises(DataError, match="3 guides cannot show `aim`"):
        ht.BetaRCE(n_guides=3, aim=0.9).fit(world.classifier("linear"), *world.people())
    with pytest.raises(CapabilityError, match=r"needs guides for Predictor.* Use RobX"):
        ht.BetaRCE().fit(plane.predictor, plane.rows)


def test_a_forest_with_its_retrainings(plane):
    """Guides of a model made elsewhere are asked as they are, and stay with the method at another threshold."""
    X, y, forest = plane.forest()
    schema = plane.predictor.encoder.schema
    guides = ht.retrain(forest, X, y, n=6, schema=schema)
    predictor = ht.wrap(forest, schema, X)
    method = ht.BetaRCE(base=ht.NearestNeighbour(), aim=0.5, n_candidates=100, random_state=0)
    method.fit(predictor, X, guides=guides)
    refused = X[predictor.decide(schema.check(X)) == 0].head(6)
    plan = method.recourse(refused)
    assert plan.valid.all()
    votes = guides.accepts(plan.recourse, plan.target).sum(axis=0)
    assert (votes >= method.n_needed(6)).mean() > 0.8
    assert set(method.consulted()) == set(guides.digests())
    moved = method.rebind(ht.wrap(forest, schema, X, threshold=0.6))
    assert moved.recourse(refused).valid.any()


def test_the_guides_travel_in_the_model_file(tmp_path):
    table, y = world.people()
    method = ht.BetaRCE(
        base=ht.NearestNeighbour(n_rows=50), n_guides=4, aim=0.5, n_candidates=50, n_steps=20, random_state=0
    )
    regime = ht.StandardTraining(n_epochs=20)
    clf = ht.RecourseClassifier(
        schema=world.PLAIN, model=ht.Linear(), regime=regime, method=method, random_state=0
    ).fit(table, y)
    X = world.refused(clf.predictor_, 6)
    clf.save(tmp_path / "model.holdtrue")
    again = ht.RecourseClassifier.load(tmp_path / "model.holdtrue")
    assert again.method_.consulted() == clf.method_.consulted()
    np.testing.assert_array_equal(clf.recourse(X).cost, again.recourse(X).cost)
