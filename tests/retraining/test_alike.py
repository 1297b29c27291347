"""Other recipes beside a classifier's own: each model is what its recipe alone would have there."""

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import holdtrue as ht
from holdtrue.batch import EmbeddedExecutor
from holdtrue.errors import CapabilityError, DataError
from holdtrue.hold._draws import dealt
from holdtrue.models import Stacked
from holdtrue.retraining import Retrained, SeveralKinds
from holdtrue.schema import as_table
from holdtrue.testing import _world as world

REGIME = ht.StandardTraining(n_epochs=3, step_size=0.05)
TABLE, LABELS = world.people()


def fitted(model=None, regime: Any = REGIME, **options):
    options = {"hold": None, "random_state": 0} | options
    return ht.RecourseClassifier(schema=world.SCHEMA, model=model, regime=regime, **options).fit(TABLE, LABELS)


@pytest.fixture(scope="module")
def network():
    return fitted(ht.MLP(widths=(8,)))


@pytest.fixture(scope="module")
def line():
    return fitted(ht.Linear())


def answers(models):
    return np.stack([models.member(i).logits(as_table(TABLE)) for i in range(len(models))])


@pytest.mark.parametrize("vary", ["bootstrap", "anew", "seed", "leave_one_out"])
def test_the_same_recipe_beside_itself_is_no_other(network, vary):
    plain = ht.retrain(network, n=5, vary=vary, random_state=3)
    beside = ht.retrain(network, n=5, vary=vary, random_state=3, alike=[{}])
    assert isinstance(beside, Retrained)
    assert beside.digests() == plain.digests()
    assert beside.kinds == (0, 1, 0, 1, 0)
    assert beside.vary == f"{vary}, 2 recipes"


@pytest.mark.parametrize(
    "recipe",
    [
        ht.Linear(),
        "linear",
        {"model": ht.Linear()},
        ht.RecourseClassifier(model=ht.Linear(), regime=REGIME),
    ],
    ids=["model", "name", "parameters", "classifier"],
)
def test_two_kinds_side_by_side_answer_as_each_by_itself(network, line, recipe):
    both = ht.retrain(network, n=5, vary="anew", random_state=1, alike=[recipe])
    networks, lines = (ht.retrain(of, n=5, vary="anew", random_state=1) for of in (network, line))
    expected = [of.member(i) for i, of in enumerate([networks, lines, networks, lines, networks])]
    np.testing.assert_array_equal(answers(both), [one.logits(as_table(TABLE)) for one in expected])
    np.testing.assert_array_equal(both.decide(TABLE), [one.decide(as_table(TABLE)) for one in expected])
    assert isinstance(both, SeveralKinds)
    assert [type(part) for part in both.members] == [Stacked, Stacked]  # three networks, two lines
    assert [part.n_members for part in both.members] == [3, 2]
    some = both.take([1, 2])
    np.testing.assert_array_equal(answers(some), answers(both)[[1, 2]])
    assert some.kinds == (1, 0)
    np.testing.assert_array_equal(answers(some.join(both)), np.concatenate([answers(some), answers(both)]))
    joined = lines.join(networks)
    np.testing.assert_array_equal(answers(joined), np.concatenate([answers(lines), answers(networks)]))
    assert joined.digests() == (*lines.digests(), *networks.digests())


def test_parameters_of_parts_and_other_regimes(network):
    longer = ht.StandardTraining(n_epochs=6, step_size=0.05)
    others = ht.retrain(network, n=4, alike=[{"regime__n_epochs": 6}, longer], random_state=2, vary="bootstrap")
    alone = ht.retrain(fitted(ht.MLP(widths=(8,)), longer), n=4, random_state=2, vary="bootstrap")
    assert isinstance(others, Retrained)
    assert others.digests()[1:3] == alone.digests()[1:3]
    assert others.digests()[0] != alone.digests()[0]


def test_defaults_have_parameters_too():
    clf = fitted(None, None)
    others = ht.retrain(clf, n=2, alike=[{"regime__class_weight": "balanced"}], vary="bootstrap")
    balanced = fitted(None, ht.AdditiveTraining(class_weight="balanced"))
    alone = ht.retrain(balanced, n=2, vary="bootstrap")
    np.testing.assert_allclose(answers(others)[1], answers(alone)[1], atol=1e-4)  # weights rounded twice
    assert np.abs(answers(others)[1] - answers(ht.retrain(clf, n=2, vary="bootstrap"))[1]).max() > 0.01


def test_periods_take_turns_too(network, line):
    half = len(LABELS) // 2
    table = as_table(TABLE)
    tables = [(table.take(np.arange(half)), LABELS[:half]), (table.take(np.arange(half, 2 * half)), LABELS[half:])]
    both = ht.retrain(network, tables=tables, alike=["linear"])
    expected = [
        ht.retrain(of, tables=tables).member(i).logits(as_table(TABLE)) for i, of in enumerate([network, line])
    ]
    np.testing.assert_array_equal(answers(both), expected)


def test_a_loaded_classifier_given_rows(network, tmp_path):
    network.save(tmp_path / "a.holdtrue")
    clf = ht.RecourseClassifier.load(tmp_path / "a.holdtrue")
    both = ht.retrain(clf, TABLE, LABELS, n=4, vary="anew", alike=["linear"])
    assert both.kinds == (0, 1, 0, 1)
    same = ht.retrain(clf, TABLE, LABELS, n=4, vary="anew")
    assert both.digests()[::2] == same.digests()[::2]


class Elsewhere(EmbeddedExecutor):
    """Another process, as far as what is sent there goes."""

    def map(self, function, tasks):
        return super().map(pickle.loads(pickle.dumps(function)), tasks)


def test_in_other_processes_and_kept_they_are_the_same(network, tmp_path):
    asked = {"n": 4, "vary": "anew", "random_state": 5, "alike": ["linear"]}
    told = []
    whole = ht.retrain(network, **asked, on_model=told.append)
    assert told[-1] == 4
    kept = ht.retrain(network, **asked, keep=tmp_path, executor=Elsewhere())
    told = []
    read = ht.retrain(network, **asked, keep=tmp_path, on_model=told.append)
    assert told == [2, 4]  # both kinds were there
    assert whole.digests() == kept.digests() == read.digests()


def test_guides_and_judges_are_of_both_kinds(network, tmp_path):
    models = ht.retrain(network, n=8, vary="anew", alike=["linear"])
    guides, judges = dealt(models, 4)
    assert sorted(guides.kinds) == sorted(judges.kinds) == [0, 0, 1, 1]
    X = as_table(TABLE)
    refused = X.take(np.flatnonzero(network.predictor_.decide(X) != network.predictor_.decision.favourable)[:20])
    holding = ht.Holding(base=ht.SparseSearch(), hold=0.8, random_state=0)
    holding.fit(network, TABLE, LABELS, guides=models)
    plan = holding.recourse(refused)
    found = plan.found
    assert found.any()
    by_hand = np.stack(
        [holding.judges_.member(i).decide(plan.recourse.take(found)) for i in range(len(holding.judges_))]
    )
    yes = (by_hand == network.predictor_.decision.favourable).mean(axis=0)
    assert plan.held is not None
    np.testing.assert_allclose(plan.held.survival[found], yes)
    with pytest.raises(CapabilityError, match="guides of several recipes"):
        network.with_method(holding).save(tmp_path / "a.holdtrue")


@pytest.mark.parametrize(
    ("alike", "options", "words"),
    [
        ([LogisticRegression()], {}, "other recipes of holdtrue's own models; got LogisticRegression"),
        (["forest"], {}, "is not known; got 'forest'"),
        ([{"threshold": 0.7}], {}, "says how a model is learned; got 'threshold'"),
        ([{"model__depth": 2}], {}, "depth"),
        ([ht.RecourseClassifier(scaling="standard")], {}, "another `scaling`"),
        (["linear"], {"vary": "finetune"}, "got vary='finetune'"),
        (["linear", "mlp"], {"n": 2}, "fewer models than recipes"),
        (["linear"], {"refit": print}, "`refit` is for models made elsewhere"),
    ],
)
def test_refusals(network, alike, options, words):
    with pytest.raises((CapabilityError, DataError), match=words):
        ht.retrain(network, alike=alike, **({"n": 4} | options))
