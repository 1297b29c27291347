"""Models made elsewhere, trained again."""

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

import holdtrue as ht
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models import SideBySide, Stacked, TreesMembers
from holdtrue.retraining import Refitted, seeded

rng = np.random.default_rng(0)
X = pd.DataFrame({"a": rng.normal(size=160), "b": rng.normal(size=160)})
y = np.where(X["a"] + 0.5 * rng.normal(size=160) > 0, "yes", "no")
codes = (y == "yes").astype(int)
SCHEMA = ht.Schema([ht.Feature(name="a", kind="numeric"), ht.Feature(name="b", kind="numeric")])
PERIODS = [(X[:80], y[:80]), (X[80:], y[80:])]


class Service:
    """A classifier that scikit-learn cannot clone."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, cut):
        self.cut = cut

    def predict_proba(self, rows):
        p = 1 / (1 + np.exp(-5 * (np.asarray(rows)[:, 0] - self.cut)))
        return np.stack([1 - p, p], axis=1)


def again(model, labels=y, **options):
    fitted = model if isinstance(model, Service) else model.fit(X, labels)
    favourable = "yes" if labels is y else 1
    return ht.retrain(fitted, X, labels, options.pop("n", 3), schema=SCHEMA, favourable=favourable, **options)


@pytest.mark.parametrize("vary", ["bootstrap", "leave_one_out"])
def test_models_differ_and_decide_as_their_own(vary):
    counted = []
    models = again(LogisticRegression(), vary=vary, on_model=counted.append)
    assert isinstance(models, Refitted)
    assert counted == [1, 2, 3]
    weights = [m.estimator.coef_.ravel() for m in models.models]
    assert len({tuple(w) for w in weights}) == 3
    told = models.predict(X)
    for i, model in enumerate(models.models):
        assert (told[i] == model.estimator.predict(X)).all()
    moved = [np.abs(w - models.predictor.foreign.estimator.coef_.ravel()).max() for w in weights]
    # One row of 160 moves the weights little, a resample much.
    assert (max(moved) < 0.2) if vary == "leave_one_out" else (max(moved) > 0.05)


@pytest.mark.parametrize(
    ("model", "kind", "labels"),
    [
        (RandomForestClassifier(5, max_depth=3, random_state=0), TreesMembers, y),
        (XGBClassifier(n_estimators=4, max_depth=2), TreesMembers, codes),
        (LGBMClassifier(n_estimators=4, min_child_samples=5, verbose=-1), TreesMembers, codes),
        (CatBoostClassifier(iterations=4, depth=2, verbose=0, allow_writing_files=False), TreesMembers, codes),
        (make_pipeline(StandardScaler(), LogisticRegression()), Stacked, y),
        # With a penalty: without one its slopes grow to where the last bits of float32 are a ten-thousandth here.
        (MLPClassifier((4,), solver="lbfgs", alpha=0.1, max_iter=2000, random_state=0), Stacked, y),
        (CalibratedClassifierCV(GaussianNB(), cv=2), SideBySide, y),
        (StackingClassifier([("nb", GaussianNB())], LogisticRegression(), cv=2), SideBySide, y),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else None,
)
def test_members_are_one_model_where_they_can_be_and_agree_with_their_library(model, kind, labels):
    models = again(model, labels)
    (members,) = models.members
    assert type(members) is kind
    encoded = models.predictor.encoder.encode(X).astype(np.float32)
    asked = np.stack([np.asarray(members.member_logits(row)) for row in encoded[:12]], axis=1)  # (models, rows, k)
    ours = np.exp(asked) / np.exp(asked).sum(axis=-1, keepdims=True)
    theirs = np.stack([m.estimator.predict_proba(X[:12]) for m in models.models])
    np.testing.assert_allclose(ours, theirs, atol=2e-5)
    some = models.take([2, 0])
    assert len(some) == 2
    np.testing.assert_array_equal(some.decide(X), models.decide(X)[[2, 0]])
    picked = np.asarray(members.take(np.array([2, 0])).member_logits(encoded[0]))
    np.testing.assert_allclose(picked, asked[[2, 0], 0], atol=1e-6)


def test_seeds_reach_into_pipelines_and_repeat():
    forest = make_pipeline(RandomForestClassifier(n_estimators=3, random_state=0))
    once, twice = (again(forest, vary="seed", random_state=7, n=2) for _ in range(2))
    seeds = [m.estimator[-1].random_state for m in once.models]
    assert len(set(seeds)) == 2
    assert seeds == [m.estimator[-1].random_state for m in twice.models]
    assert once.predictor.foreign.estimator[-1].random_state == 0
    np.testing.assert_array_equal(once.decide(X), twice.decide(X))


def test_asked_about_nobody():
    """A search that finds nothing has no rows to ask about, which libraries refuse."""
    models = again(make_pipeline(StandardScaler(), LogisticRegression()), n=2)
    assert models.accepts(X.iloc[:0], y[:0]).shape == (2, 0)


def test_seeded_only_where_unset():
    assert seeded(RandomForestClassifier(random_state=3), 9, only_unset=True).random_state == 3
    assert seeded(RandomForestClassifier(), 9, only_unset=True).random_state == 9
    assert seeded(GaussianNB(), 9).get_params() == GaussianNB().get_params()


def test_periods_and_other_recipes():
    model = LogisticRegression().fit(X, y)
    each = ht.retrain(model, tables=PERIODS, n=1, schema=SCHEMA, favourable="yes")
    assert [m.estimator.coef_.tolist() for m in each.models] == [
        LogisticRegression().fit(a, b).coef_.tolist() for a, b in PERIODS
    ]
    several = ht.retrain(model, tables=PERIODS, n=2, schema=SCHEMA, favourable="yes")
    assert len(several) == 4
    assert several.vary == "bootstrap, 2 periods"
    others = again(model, alike=[GaussianNB()], n=4)
    assert [type(m.estimator).__name__ for m in others.models] == ["LogisticRegression", "GaussianNB"] * 2
    assert {type(part) for part in others.members} == {Stacked, SideBySide}


def test_a_callable_trains_what_cannot_be_cloned():
    def refit(rows, labels, *, seed, sample_weight=None):
        return Service(np.asarray(rows)[labels == "yes", 0].min())

    models = again(Service(0.0), refit=refit, n=4)
    assert len({m.estimator.cut for m in models.models}) > 1
    with pytest.raises(CapabilityError, match="give `refit`"):
        again(Service(0.0))
    with pytest.raises(DataError, match="`refit` failed with ZeroDivisionError"):
        again(Service(0.0), refit=lambda rows, labels, *, seed, sample_weight=None: 1 / 0)
    with pytest.raises(DataError, match="all 3 models are the same"):
        again(Service(0.0), refit=lambda rows, labels, *, seed, sample_weight=None: Service(0.5))


class Undecided(Service):
    """One class more than there are labels, and it does not say which."""

    classes_ = None

    def predict_proba(self, rows):
        return np.insert(super().predict_proba(rows), 1, 0.0, axis=1)


class Reversed(Service):
    """The same classes in another order: what was a yes is a no."""

    classes_ = np.array(["yes", "no"])


@pytest.mark.parametrize(
    ("kind", "words"), [(Undecided, "has 3 classes; got 2 of the first"), (Reversed, "the same in another order")]
)
def test_a_callable_that_returns_other_classes_is_refused(kind, words):
    with pytest.raises(DataError, match=words):
        again(Service(0.0), refit=lambda rows, labels, *, seed, sample_weight=None: kind(seed % 7))


def test_own_models_take_rows_too():
    quick = {"model": ht.Linear(), "regime": ht.StandardTraining(n_epochs=2)}
    clf = ht.RecourseClassifier(schema=SCHEMA, favourable="yes", **quick)
    clf.fit(X, y)
    assert len(ht.retrain(clf, n=2)) == 2
    later = ht.retrain(clf, *PERIODS[1], n=2)
    assert later.vary == "seed"
    assert clf.training_.data.x.shape[0] == len(X)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"vary": "seed"}, "has no `random_state`"),
        ({"vary": "finetune"}, "is for holdtrue's own models"),
        ({"vary": "shift"}, "needs `tables`"),
        ({"vary": "seed", "tables": PERIODS}, "`tables` is for vary='shift'"),
        ({"n": 0}, "positive whole number"),
        ({"layers": "top"}, "`layers` is for holdtrue's own models"),
    ],
)
def test_refusals(options, words):
    with pytest.raises((CapabilityError, DataError), match=words):
        again(GaussianNB(), **options)


def test_refusals_of_what_is_given():
    model = GaussianNB().fit(X, y)
    with pytest.raises(DataError, match=r"retrain, table 2: columns of the schema are absent; got \['b'\]"):
        ht.retrain(model, tables=[PERIODS[0], (X[["a"]], y)], n=1, schema=SCHEMA, favourable="yes")
    with pytest.raises(DataError, match=r"finite numbers of shape \(1, classes\); got nan among them"):
        again(Service(0.0), refit=lambda rows, labels, *, seed, sample_weight=None: Service(np.nan))
    with pytest.raises(DataError, match=r"Write n=100"):
        ht.retrain(model, 100)
    with pytest.raises(DataError, match="go together"):
        ht.retrain(model, X)
    with pytest.raises(DataError, match="does not know what it learned from"):
        ht.retrain(model)
    with pytest.raises(DataError, match="class unseen at fit; got 'perhaps'"):
        ht.retrain(model, X, np.where(y == "no", "perhaps", y), schema=SCHEMA, favourable="yes")
    quick = {"model": ht.Linear(), "regime": ht.StandardTraining(n_epochs=1)}
    clf = ht.RecourseClassifier(schema=SCHEMA, favourable="yes", **quick)
    with pytest.raises(DataError, match="`refit` is for models made elsewhere"):
        ht.retrain(clf.fit(X, y), n=2, refit=print)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"refit": lambda rows, labels, seed, sample_weight=None: None},
            r"`refit` must return .*; got None\. Return",
        ),
        (
            {"alike": [MLPClassifier(solver="none")]},
            r"this MLPClassifier cannot be trained again .*InvalidParameter",
        ),
    ],
)
def test_what_cannot_be_trained_again_is_told_as_such(options, said):
    with pytest.raises(DataError, match=said):
        again(LogisticRegression(), **options)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([np.nan, *y[1:]], r"got nan\. The model's classes are \['no', 'yes'\]"),
        ([None, *y[1:]], r"got None\. The model's classes are"),
        (y[:, None], r"one per row; got an array of shape \(160, 1\)"),
    ],
)
def test_labels_that_are_none_are_told_as_such(labels, said):
    model = LogisticRegression().fit(X, y)
    with pytest.raises(DataError, match=said):
        ht.retrain(model, X, np.array(labels, object), 2, schema=SCHEMA, favourable="yes")


@pytest.mark.parametrize("told", ["in fit", "as a parameter", "in a file"])
def test_categories_of_catboost_are_categories_again(told, tmp_path):
    """`fit` alone may have been told of them, and scikit-learn refuses to clone a list of them."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=300), "g": rng.choice(["group 1", "group 2", "group 3"], 300)})
    labels = ((table.g == "group 2") ^ (rng.random(300) < 0.05)).astype(int).to_numpy()
    own = {"cat_features": ["g"]}
    quick = {"iterations": 5, "depth": 2, "verbose": 0, "allow_writing_files": False}
    model = CatBoostClassifier(**quick, **(own if told == "as a parameter" else {}))
    model.fit(table, labels, **({} if told == "as a parameter" else own))
    if told == "in a file":
        model.save_model(str(tmp_path / "model.cbm"))
        model = str(tmp_path / "model.cbm")
    adopted = ht.adopt(model, reference=table, labels=labels, favourable=1, hold=None)
    again = ht.retrain(adopted, table, labels, n=2, vary="bootstrap")
    assert ((again.predict(table) == 1) == (table.g == "group 2").to_numpy()).all()
