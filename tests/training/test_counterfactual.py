"""Counterfactual training as a whole: beside plain training, many at once, on a real table."""

import jax
import numpy as np
import pytest

from holdtrue.classifier import RecourseClassifier
from holdtrue.datasets import load
from holdtrue.errors import DataError
from holdtrue.models import MLP, fit, fit_many
from holdtrue.training import JEM, CounterfactualTraining, StandardTraining

from .blobs import FREE, OPTIONS, TWO, blobs, run, same


@pytest.fixture(scope="module")
def plain():
    return run(StandardTraining(**{k: v for k, v in OPTIONS.items() if k != "n_recourses"}), blobs(TWO))[0]


ZERO = {"divergence_weight": 0.0, "adversarial_weight": 0.0, "ridge_weight": 0.0}


@pytest.mark.parametrize(
    "regime",
    [
        CounterfactualTraining(**OPTIONS, **ZERO),
        CounterfactualTraining(**OPTIONS, burn_in=1.0),
        JEM(density_weight=0.0, ridge_weight=0.0, n_samples=60, **{k: OPTIONS[k] for k in list(OPTIONS)[:3]}),
    ],
    ids=["weights of 0", "burn-in to the end", "joint energy model of weight 0"],
)
def test_nothing_added_is_plain_training_to_the_bit(plain, regime):
    assert same(run(regime, blobs(TWO))[0], plain)


def test_burn_in_and_fine_tuning(plain):
    """Plain epochs first, then the same as going on from there; notes begin with the searches."""
    regime = CounterfactualTraining(**OPTIONS, burn_in=0.5)
    model, history = run(regime, blobs(TWO))
    assert np.isnan(history.notes["mature"]).tolist() == [True, True, False, False]
    assert (np.asarray(history.notes["largest_logit"][2:]) > 0).all()
    assert not same(model, plain)
    tuned, told = CounterfactualTraining(**OPTIONS).train(plain, blobs(TWO), jax.random.key(5), context=FREE)
    assert float(told.loss[0]) < float(history.loss[0])  # it starts from what was learned
    assert not same(tuned, plain)
    assert (np.asarray(told.notes["mature"]) > 0).all()


def test_a_sweep_in_one_call_is_the_fits_one_by_one():
    rules = [CounterfactualTraining(**OPTIONS, divergence_weight=w).step(FREE) for w in (0.1, 1.0)]
    start, data, key = MLP(widths=(8,)).build(2, 2, jax.random.key(0)), blobs(TWO), jax.random.key(1)
    together = fit_many([start] * 2, rules, [data] * 2, [key] * 2, n_epochs=2, batch_size=40, strategy="vmap")
    for rule, model in zip(rules, together, strict=True):
        alone, _ = fit(start, rule, data, key, n_epochs=2, batch_size=40)
        for a, b in zip(*map(jax.tree.leaves, (alone, model)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
    assert not same(*together)


def test_searches_mature_with_the_defaults_on_a_real_table():
    """Mortgage applications, whose limits leave few ways: by the paper's step an eighth of the searches mature."""
    bank = load("loanapp")
    kept = {}
    for size in (0.1, CounterfactualTraining().search_step_size):
        regime = CounterfactualTraining(n_epochs=15, search_step_size=size)
        clf = RecourseClassifier(schema=bank.schema, regime=regime, random_state=0).fit(bank.X, bank.y)
        kept[size] = np.asarray(clf.history_.notes["mature"])
    paper, own = kept.values()
    assert own[-1] > 0.4
    assert own.mean() > 1.5 * paper.mean()


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ({"search": "wachter"}, "`search` must be .*; got 'wachter'"),
        ({"adversary": "eve"}, "`adversary` must be .*; got 'eve'"),
        ({"pull_weight": -1.0}, "`pull_weight` must be a number of at least 0; got -1.0"),
        ({"immature": "forget"}, "`immature` must be"),
        ({"ridge_weight": -1.0}, "`ridge_weight` must be a number of at least 0; got -1.0"),
        ({"n_recourses": 0}, "`n_recourses` must be a whole number of at least 1; got 0"),
        ({"maturity": 1.0}, "`maturity` must be a number above 0 and below 1; got 1.0"),
        ({"radius": 0.0}, "`radius` must be a number above 0; got 0.0"),
        ({"burn_in": 2.0}, "`burn_in` must be a number from 0 to 1; got 2.0"),
    ],
)
def test_what_makes_no_sense_is_answered(options, answer):
    with pytest.raises(DataError, match=answer):
        CounterfactualTraining(**options).step(FREE)
