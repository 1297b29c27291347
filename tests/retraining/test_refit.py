"""Foreign models trained again."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

import holdtrue as ht
from holdtrue.errors import CapabilityError, DataError
from holdtrue.retraining import refit, seeded
from holdtrue.schema import as_table

rng = np.random.default_rng(0)
X = pd.DataFrame({"a": rng.normal(size=120), "b": rng.normal(size=120)})
y = np.where(X["a"] + 0.5 * rng.normal(size=120) > 0, "yes", "no")
SCHEMA = ht.Schema([ht.Feature(name="a", kind="numeric"), ht.Feature(name="b", kind="numeric")])


def wrapped(model):
    return ht.wrap(model.fit(X, y), SCHEMA, X, favourable="yes")


@pytest.mark.parametrize("vary", ["bootstrap", "leave_one_out"])
def test_models_differ_and_decide_as_their_own(vary):
    first = wrapped(LogisticRegression())
    counted = []
    others = refit(first, as_table(X), y, 3, vary=vary, on_model=counted.append)
    assert counted == [1, 2, 3]
    weights = {tuple(o.foreign.estimator.coef_.ravel()) for o in others}
    assert len(weights) == 3
    for other in others:
        assert (other.classes[other.decide(as_table(X))] == other.foreign.estimator.predict(X)).all()
    moved = [np.abs(np.subtract(w, first.foreign.estimator.coef_.ravel())).max() for w in weights]
    # One row of 120 moves the weights little, a resample much.
    assert (max(moved) < 0.2) if vary == "leave_one_out" else (max(moved) > 0.05)


def test_seeds_reach_into_pipelines_and_repeat():
    first = wrapped(make_pipeline(RandomForestClassifier(n_estimators=3, random_state=0)))
    once, again = (refit(first, as_table(X), y, 2, vary="seed", random_state=7) for _ in range(2))
    seeds = [p.foreign.estimator[-1].random_state for p in once]
    assert len(set(seeds)) == 2
    assert seeds == [p.foreign.estimator[-1].random_state for p in again]
    assert first.foreign.estimator[-1].random_state == 0


def test_seeded_only_where_unset():
    assert seeded(RandomForestClassifier(random_state=3), 9, only_unset=True).random_state == 3
    assert seeded(RandomForestClassifier(), 9, only_unset=True).random_state == 9
    assert seeded(GaussianNB(), 9).get_params() == GaussianNB().get_params()


def test_refusals():
    first = wrapped(GaussianNB())
    with pytest.raises(CapabilityError, match="has no `random_state`"):
        refit(first, as_table(X), y, 2, vary="seed")
    with pytest.raises(DataError, match="`vary` is not known"):
        refit(first, as_table(X), y, 2, vary="shift")
    own = ht.RecourseClassifier(model=ht.Linear(), regime=ht.StandardTraining(n_epochs=1)).fit(X, y)
    with pytest.raises(CapabilityError, match=r"Use holdtrue\.retrain"):
        refit(own.predictor_, as_table(X), y, 2)
