"""Models as they come out of a lender's project: columns dropped, renamed or constant, cuts of their own."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import holdtrue as ht
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models.adapters import unread_by

N = 240
NUMBERS = ["monthly income", "late payments"]


def applications() -> tuple[pd.DataFrame, np.ndarray]:
    """A table with a number and a date of each application, as it comes out of a database."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "number": [f"A{i:05}" for i in range(N)],
            "opened": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, N), unit="D"),
            "monthly income": rng.integers(10, 90, N) * 100,
            "job": rng.choice(["clerk", "nurse", "driver"], N),
            "late payments": rng.integers(0, 6, N),
        },
        index=[f"row {i}" for i in range(N)],
    )
    score = X["monthly income"] / 2000 - X["late payments"] + (X["job"] == "nurse") + rng.normal(0, 0.7, N)
    return X, (score > 0.2).astype(int).to_numpy()


X, Y = applications()


def by_name() -> Any:
    return make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), ["job"]))


def by_place() -> Any:
    """Columns by their places: in a table without the first two they would be others."""
    return ColumnTransformer(
        [("n", StandardScaler(), [2, 4]), ("j", OneHotEncoder(), [3]), ("no", "drop", [0])], remainder="drop"
    )


def forest() -> RandomForestClassifier:
    return RandomForestClassifier(5, max_depth=4, random_state=0)


def accepted(model: Any, plan: ht.RecourseFrame, people: pd.DataFrame) -> np.ndarray:
    """What the model's own `predict` says of the people with what they are told to change."""
    changed, told = people.copy(), plan.to_frame()
    for name in plan.schema.names:
        changed[name] = told[name]
    return np.asarray(model.predict(changed)).ravel() == 1


def keeps_its_word(model: Any, people: pd.DataFrame, **options: Any) -> ht.RecourseFrame:
    """Ask for recourse, and hold every status against the model's own `predict`."""
    plan = ht.recourse(model, people, **options)
    already = plan.status == int(ht.Status.ALREADY_FAVOURABLE)
    assert (already == (np.asarray(model.predict(people)).ravel() == 1)).all()
    assert plan.found.any()
    assert accepted(model, plan, people)[plan.found].all()
    return plan


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(by_name(), LogisticRegression()),
        make_pipeline("passthrough", by_place(), forest()),
        GridSearchCV(make_pipeline(by_place(), LogisticRegression()), {"logisticregression__C": [1.0]}, cv=2),
        CalibratedClassifierCV(make_pipeline(by_name(), forest()), cv=2),
        VotingClassifier(
            [("a", make_pipeline(by_name(), LogisticRegression())), ("b", make_pipeline(by_place(), forest()))],
            voting="soft",
        ),
        StackingClassifier([("a", make_pipeline(by_name(), LogisticRegression()))], cv=2),
    ],
    ids=["names", "places", "search", "calibrated", "votes", "stack"],
)
def test_columns_that_a_pipeline_drops_need_no_description(model) -> None:
    model.fit(X, Y)
    assert unread_by(model) == {"number", "opened"}
    plan = keeps_its_word(model, X[:30], reference=X)
    assert plan.schema.names == ["monthly income", "job", "late payments"]
    assert plan.predictor.foreign is not None
    assert plan.predictor.foreign.note.startswith("Read as")
    bare = X.drop(columns=["number", "opened"])
    without = ht.recourse(model, bare[:30], plan.schema, reference=bare)
    assert without.changes() == plan.changes()


def test_what_one_member_drops_and_another_reads_is_read() -> None:
    members = [
        ("a", make_pipeline(make_column_transformer((StandardScaler(), NUMBERS)), LogisticRegression())),
        ("b", make_pipeline(by_name(), forest())),
    ]
    assert unread_by(VotingClassifier(members, voting="soft").fit(X, Y)) == {"number", "opened"}
    passed_on = X[NUMBERS].assign(other=X["monthly income"] % 300)
    narrow = make_pipeline(make_column_transformer((StandardScaler(), NUMBERS)), LogisticRegression())
    last = make_pipeline(StandardScaler(), LogisticRegression())
    stack = StackingClassifier([("a", narrow)], last, passthrough=True, cv=2).fit(passed_on, Y)
    assert unread_by(stack) == frozenset()


def test_a_model_that_drops_columns_is_trained_again_adopted_and_audited(tmp_path) -> None:
    model = make_pipeline(by_place(), LogisticRegression()).fit(X, Y)
    ours = ht.adopt(model, reference=X, labels=Y, hold=0.8, n_guides=3)
    ours.save(tmp_path / "bank.holdtrue")
    read = ht.load(tmp_path / "bank.holdtrue")
    bare = X.drop(columns=["number", "opened"])
    assert (read.predict(bare) == model.predict(X)).all()
    plan = read.recourse(bare[:20])
    assert accepted(model, ours.recourse(X[:20]), X[:20])[plan.found].all()
    others = [make_pipeline(by_place(), LogisticRegression(C=c)).fit(X, Y) for c in (0.5, 2.0)]
    assert ht.audit(plan, against=others).survival.n_models == 2
    # Places count in the table that it learned from: another one would give other columns.
    with pytest.raises(DataError, match=r"learned from columns that the table lacks; got \['number', 'opened'\]"):
        ht.retrain(model, bare, Y, n=2)


class Ratios(TransformerMixin, BaseEstimator):
    """A step as people write one: columns by name, and nothing said of what it learned from."""

    def fit(self, rows: pd.DataFrame, labels: Any = None) -> "Ratios":
        return self

    def transform(self, rows: pd.DataFrame) -> np.ndarray:
        return np.column_stack([rows["monthly income"] / 1000, rows["late payments"], rows["job"] == "nurse"])


def test_a_first_step_that_picks_columns_by_name_is_given_them() -> None:
    people = X[["late payments", "job", "monthly income"]]
    model = make_pipeline(Ratios(), LogisticRegression()).fit(people, Y)
    keeps_its_word(model, people[:30], reference=people)
    keeps_its_word(model, people[:30], reference=people, labels=Y, hold=0.8)


def test_what_a_model_reads_and_no_schema_can_describe_is_refused_with_a_way_out() -> None:
    dates = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), ["opened"]))
    model = make_pipeline(dates, LogisticRegression()).fit(X, Y)
    with pytest.raises(DataError, match=r"got \['opened'\]\. Describe .*X\.assign"):
        ht.recourse(model, X[:3], reference=X)


def test_lightgbm_calls_columns_with_spaces_otherwise() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1).fit(X[NUMBERS], Y)
    assert list(model.feature_names_in_) == ["monthly_income", "late_payments"]
    plan = keeps_its_word(model, X[NUMBERS][:30], reference=X)
    assert plan.schema.names == NUMBERS
    keeps_its_word(CalibratedClassifierCV(model, cv=2).fit(X[NUMBERS], Y), X[NUMBERS][:30], reference=X)
    booster = ht.recourse(model.booster_, X[NUMBERS][:30], reference=X)
    assert booster.changes() == plan.changes()
    # Two columns that LightGBM would call the same: which one is meant cannot be told.
    twice = X[NUMBERS].assign(monthly_income=1)
    assert ht.models.adapters.names_of(model, list(twice))[0] == "monthly_income"


def test_a_linear_booster_of_xgboost_is_asked_by_name() -> None:
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=5, booster="gblinear", n_jobs=1).fit(X[NUMBERS], Y)
    keeps_its_word(model, X[NUMBERS][:30], reference=X)


def test_constant_columns_that_a_model_reads_are_fixed() -> None:
    same = X[NUMBERS].assign(branch=7, online=True, country=pd.Categorical(["DE"] * N, ["AT", "DE"]))
    front = make_column_transformer((OneHotEncoder(), ["country"]), remainder="passthrough")
    model = make_pipeline(front, LogisticRegression(max_iter=2000)).fit(same, Y)
    plan = keeps_its_word(model, same[:20], reference=same)
    assert {plan.schema[name].direction for name in ("branch", "online", "country")} == {"fixed"}
    assert plan.schema["branch"].bounds == (7.0, 7.0)
    assert plan.schema["country"].levels == ("AT", "DE")


@pytest.mark.parametrize("cut", [0.3, 0.8])
def test_a_threshold_inside_a_pipeline_is_the_one_that_decides(cut) -> None:
    last = FixedThresholdClassifier(LogisticRegression(), threshold=cut)
    model = make_pipeline(by_name(), last).fit(X, Y)
    plan = keeps_its_word(model, X[:60], reference=X)
    assert (plan.after[plan.found] >= cut).all()
    search = GridSearchCV(model, {"fixedthresholdclassifier__estimator__C": [1.0]}, cv=2).fit(X, Y)
    keeps_its_word(search, X[:60], reference=X)


@pytest.mark.parametrize("favourable", [0, 1])
def test_a_threshold_that_catboost_was_given_is_the_one_that_decides(favourable) -> None:
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostClassifier(10, verbose=0, allow_writing_files=False, thread_count=1)
    model.fit(X[NUMBERS], Y)
    model.set_probability_threshold(0.7)
    predictor = ht.wrap(model, ht.Schema.infer(X[NUMBERS]), X[NUMBERS], favourable=favourable)
    assert (predictor.classes[predictor.decide(X[NUMBERS])] == model.predict(X[NUMBERS])).all()
    assert (model.predict(X[NUMBERS]) != (model.predict_proba(X[NUMBERS])[:, 1] > 0.5)).any()


class Contrary:
    """Says no to everybody whom it gives a chance between 0.5 and 0.6, as an SVC may."""

    classes_ = np.array([0, 1])
    feature_names_in_ = np.array(NUMBERS, object)

    def __init__(self, cut: float) -> None:
        self.cut = cut

    def predict_proba(self, rows: pd.DataFrame) -> np.ndarray:
        p = 1 / (1 + np.exp(rows["late payments"] - rows["monthly income"] / 2000))
        return np.stack([1 - p, p], axis=1)

    def predict(self, rows: pd.DataFrame) -> np.ndarray:
        return (self.predict_proba(rows)[:, 1] > self.cut).astype(int)


def test_a_model_that_decides_against_its_own_probabilities_is_refused() -> None:
    schema = ht.Schema.infer(X[NUMBERS])
    assert ht.recourse(Contrary(0.5), X[:20], schema, reference=X).found.any()
    with pytest.raises(CapabilityError, match=r"`predict` of this Contrary does not take .*`threshold`"):
        ht.recourse(Contrary(0.6), X[:20], schema, reference=X)
    plan = ht.recourse(Contrary(0.6), X[:20], schema, reference=X, threshold=0.6)
    assert (Contrary(0.6).predict(plan.to_frame())[plan.found] == 1).all()


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of an SVC with probabilities
def test_an_svc_is_refused_where_it_contradicts_itself() -> None:
    model = make_pipeline(by_name(), SVC(probability=True, random_state=0)).fit(X, Y)
    most = model.classes_[model.predict_proba(X).argmax(axis=1)]
    assert (most != model.predict(X)).any()  # or the test tests nothing
    with pytest.raises(CapabilityError, match="does not take its most probable class"):
        ht.recourse(model, X[:5], reference=X)


def test_a_model_that_cannot_be_asked_says_so_at_once() -> None:
    with pytest.raises(DataError, match=r"the model cannot be asked .*NotFittedError.*Give a fitted model"):
        ht.recourse(RandomForestClassifier(), X[NUMBERS][:5], reference=X[NUMBERS])
