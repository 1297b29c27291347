"""Stable search: on linear models the point where all guides agree is known."""

import dataclasses
from itertools import pairwise

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import t

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models import Decision, EnsembleModel, LinearModel
from holdtrue.retraining import Retrained
from holdtrue.testing import _world as small_world

rng = np.random.default_rng(0)
WEIGHTS = np.array([2.0, -1.0, 0.5]) + 0.4 * rng.normal(size=(8, 3))
BIASES = -1.0 + 0.2 * rng.normal(size=8)


@pytest.fixture(scope="module")
def lines():
    """A line and seven retrainings of it, over three numbers encoded as they are."""
    table = pd.DataFrame(rng.uniform(-1, 1, (40, 3)), columns=list("abc"))
    schema = ht.Schema([ht.Feature(name=name, kind="numeric", bounds=(-20, 20)) for name in "abc"])
    plain = Encoder.fit(schema, table)
    encoder = Encoder(plain.schema, "minmax", plain.layout, np.ones(3), np.zeros(3), np.ones(3), {})

    def linear(w, b):
        zeros = np.zeros_like(w)
        return LinearModel(jnp.asarray(np.stack([zeros, w], axis=-2), jnp.float32),
                           jnp.asarray(np.stack([0 * b, b], axis=-1), jnp.float32))  # fmt: skip

    predictor = Predictor(encoder, Decision(linear(WEIGHTS[0], BIASES[0]), np.float32(0.5), 1), np.array([0, 1]))
    guides = Retrained(predictor, EnsembleModel(linear(WEIGHTS[1:], BIASES[1:])), "seed")
    people = table[table.to_numpy() @ WEIGHTS[0] + BIASES[0] < -0.2].reset_index(drop=True).head(8)
    return predictor, guides, people


def spare(x, aim):
    margins = WEIGHTS @ x + BIASES
    caution = t.ppf(aim, 7) * np.sqrt(1 + 1 / 8)
    return min(margins.min(), margins.mean() - caution * margins.std(ddof=1))


@pytest.mark.parametrize("aim", [0.5, 0.99])
def test_parallel_guides_move_the_boundary(lines, aim):
    """Guides that differ in their threshold alone: all agree beyond a parallel line, at a known distance."""
    predictor, guides, people = lines
    shifts = np.linspace(-0.5, 0.5, 7)
    same = LinearModel(
        jnp.broadcast_to(predictor.decision.model.weight, (7, 2, 3)),
        predictor.decision.model.bias + jnp.stack([jnp.zeros(7), jnp.asarray(shifts)], axis=1),
    )
    parallel = dataclasses.replace(guides, ensemble=EnsembleModel(same))
    method = ht.StableSearch(base=ht.Wachter(norm="l2"), aim=aim)
    plan = method.fit(predictor, guides=parallel).recourse(people)
    spread = np.concatenate([[0.0], shifts])
    needed = max(0.5, t.ppf(aim, 7) * np.sqrt(1 + 1 / 8) * spread.std(ddof=1) - spread.mean())
    gap = needed - (people.to_numpy() @ WEIGHTS[0] + BIASES[0])
    np.testing.assert_allclose(plan.cost, gap / np.linalg.norm(WEIGHTS[0]), rtol=2e-3)


@pytest.mark.parametrize("aim", [0.5, 0.9])
def test_all_agree_and_the_way_there_is_not_far_from_the_shortest(lines, aim):
    """The set on which all agree is convex, so a general solver finds the nearest point of it.

    Ours goes up the mean margin, which is not the shortest way to the last guide's yes: it may cost a little more.
    """
    predictor, guides, people = lines
    method = ht.StableSearch(base=ht.Wachter(norm="l2"), aim=aim)
    plan = method.fit(predictor, guides=guides).recourse(people)
    ratios = []
    for i, x in enumerate(people.to_numpy()):
        at = np.array([plan.recourse.columns[name][i] for name in "abc"])
        assert spare(at, aim) > 0
        best = minimize(
            lambda z, x=x: np.sum((z - x) ** 2), at,
            constraints={"type": "ineq", "fun": lambda z: spare(z, aim)}, method="SLSQP",
        )  # fmt: skip
        ratios.append(plan.cost[i] / np.sqrt(best.fun))
    assert min(ratios) > 0.999
    assert np.mean(ratios) < 1.1


def test_at_the_same_cost_the_margin_is_the_largest(lines):
    """In a ball, the mean margin of lines is largest along the mean weight: a closed form."""
    predictor, guides, people = lines
    base = ht.Wachter(norm="l2")
    near = base.fit(predictor).recourse(people)
    plan = ht.StableSearch(base=base, keep_cost=True, n_steps=300).fit(predictor, guides=guides).recourse(people)
    assert (plan.cost <= near.cost * (1 + 1e-3)).all()
    mean, bias = WEIGHTS.mean(axis=0), BIASES.mean()
    for i in range(len(people)):
        at = np.array([plan.recourse.columns[name][i] for name in "abc"])
        most = people.to_numpy()[i] @ mean + bias + near.cost[i] * np.linalg.norm(mean)
        own = at @ WEIGHTS[0] + BIASES[0]
        assert own > 0  # the model's own yes is kept
        assert at @ mean + bias <= most + 1e-3
        if (people.to_numpy()[i] + near.cost[i] * mean / np.linalg.norm(mean)) @ WEIGHTS[0] + BIASES[0] > 0.01:
            assert at @ mean + bias >= most - 0.02 * abs(most) - 0.02


def test_more_is_asked_of_who_aims_higher(lines):
    predictor, guides, people = lines
    costs = [
        ht.StableSearch(base=ht.Wachter(norm="l2"), aim=aim).fit(predictor, guides=guides).recourse(people).cost
        for aim in (0.5, 0.9, 0.99)
    ]
    for less, more in pairwise(costs):
        assert (less <= more + 1e-4).all()
        assert less.mean() < more.mean()


def test_where_nobody_can_agree_the_models_own_yes_is_kept(lines):
    """One guide wants the opposite: the answer is still valid, and says nothing of agreement."""
    predictor, guides, people = lines
    against = eqx.tree_at(
        lambda e: e.members.weight, guides.ensemble, guides.ensemble.members.weight.at[0].multiply(-1)
    )
    odd = dataclasses.replace(guides, ensemble=against)
    plan = ht.StableSearch(base=ht.Wachter(norm="l2"), n_steps=100).fit(predictor, guides=odd).recourse(people)
    assert plan.found.all()
    assert plan.valid.all()


def test_it_survives_models_it_has_not_seen():
    clf = small_world.classifier(limits=False)
    X, people = small_world.refused(clf.predictor_, 40), small_world.people()
    unseen = clf.retrain(20, random_state=5)

    def broken(method):
        plan = method.fit(clf, *people).recourse(X)
        return 1 - unseen.accepts(plan.recourse, plan.target)[:, plan.found].mean(), plan

    near, _ = broken(ht.Wachter())
    sure, plan = broken(ht.StableSearch(n_guides=10))
    assert plan.found.mean() > 0.8
    assert sure < 0.5 * near


def test_the_guides_travel_in_the_model_file(tmp_path):
    table, y = small_world.people()
    clf = ht.RecourseClassifier(
        schema=small_world.PLAIN, model=ht.Linear(), method=ht.StableSearch(n_guides=3), random_state=0
    ).fit(table, y)
    X = table[clf.predict(table) == 0].head(8)
    clf.save(tmp_path / "model.holdtrue")
    again = ht.RecourseClassifier.load(tmp_path / "model.holdtrue")
    np.testing.assert_array_equal(clf.recourse(X).cost, again.recourse(X).cost)


def test_errors(lines):
    predictor, guides, _ = lines
    with pytest.raises(CapabilityError, match="needs guides for Predictor"):
        ht.StableSearch().fit(predictor)
    for name, value in (("n_guides", 0), ("growth", 1.0), ("aim", 1.0)):
        with pytest.raises(DataError, match=f"`{name}` must"):
            ht.StableSearch(**{name: value}).fit(predictor, guides=guides)


def test_asked_twice_trains_once():
    clf = small_world.classifier("linear")
    assert clf.retrain(2, random_state=3) is clf.retrain(2, random_state=3)
    assert clf.retrain(2, random_state=3) is not clf.retrain(2, random_state=4)
