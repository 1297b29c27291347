"""Runs and models in MLflow: what is logged, and that a loaded model answers as the classifier does."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue import tracking
from holdtrue.errors import DataError, MissingDependencyError

mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed; pip install 'holdtrue[mlflow]' to run it")
pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own


@pytest.fixture(scope="module")
def bank():
    return ht.datasets.load("loanapp").subset(range(500))


@pytest.fixture(scope="module")
def clf(bank):
    regime = ht.StandardTraining(n_epochs=30, step_size=0.01, class_weight="balanced")
    method = ht.Wachter(n_steps=40, patience=10)
    clf = ht.RecourseClassifier(
        schema=bank.schema, model=ht.Linear(), regime=regime, method=method, random_state=0
    )
    clf.fit(bank.X[:300], bank.y[:300])
    ht.certify(clf, bank.X[300:])
    return clf


@pytest.fixture(scope="module")
def logged(clf, bank, tmp_path_factory):
    """A registered model with everything, in an SQLite store; the run, the plan and the shelf life."""
    folder = tmp_path_factory.mktemp("mlflow")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{folder / 'runs.db'}")
    mlflow.create_experiment("loans", artifact_location=(folder / "artifacts").as_uri())
    mlflow.set_experiment("loans")
    plan = clf.recourse(bank.X)
    life = ht.shelf_life(plan, clf, n=4)
    info = tracking.log(clf, report=ht.audit(plan), life=life, metrics={"auc": 0.75}, register="loans")
    yield info, plan, life
    mlflow.set_tracking_uri(before)


def test_a_run_holds_what_is_known(logged, clf):
    info, plan, life = logged
    run = mlflow.get_run(info.run_id)
    assert run.data.params["regime.name"] == "StandardTraining"
    assert run.data.params["regime.n_epochs"] == "30"
    assert run.data.params["schema"] == clf.schema_.digest()
    assert run.data.tags["holdtrue.model"] == clf.predictor_.digest()
    metrics = run.data.metrics
    assert metrics["auc"] == 0.75
    assert metrics["audit.n_found"] == plan.found.sum()
    assert metrics["shelf_life.mean"] == pytest.approx(life.survival[plan.found].mean())
    assert metrics["certificate.threshold"] == clf.certificate_.threshold
    client = mlflow.MlflowClient()
    curve = {m.step: m.value for m in client.get_metric_history(info.run_id, "shelf_life.at_least")}
    assert curve[0] == 1
    assert curve[75] == pytest.approx((life.survival[plan.found] >= 0.75).mean())
    assert list(curve.values()) == sorted(curve.values(), reverse=True)
    for name in ("audit", "certificate", "shelf_life"):
        text = mlflow.artifacts.load_text(f"runs:/{info.run_id}/{name}.json")
        assert json.loads(text)["format"].startswith("holdtrue-")


def test_the_registered_model_answers_as_the_classifier(logged, clf, bank):
    model = mlflow.pyfunc.load_model("models:/loans/1")
    X = bank.X[:60]
    np.testing.assert_array_equal(model.predict(X), clf.predict(X))
    shares = model.predict(X, params={"answer": "probability"})
    np.testing.assert_array_equal(shares.to_numpy(), clf.predict_proba(X))
    answer = model.predict(X, params={"answer": "recourse"})
    plan = clf.recourse(X)
    assert answer["holdtrue_changes"].tolist() == list(plan.changes())
    np.testing.assert_array_equal(answer["holdtrue_cost"], plan.cost)
    own = plan.recourse.columns
    assert all((answer[name].to_numpy() == own[name]).all() for name in clf.schema_.names)
    found = answer[answer["holdtrue_status"] == "FOUND"]
    assert len(found)
    assert (model.predict(found[clf.schema_.names]) == clf.predictor_.favourable).all()
    several = model.predict(X, params={"answer": "recourse", "n_recourses": 2, "method": "wachter"})
    assert several["holdtrue_row"].duplicated().any()


def test_no_pickle_is_kept(logged, tmp_path):
    info, _, _ = logged
    folder = Path(mlflow.artifacts.download_artifacts(info.model_uri, dst_path=str(tmp_path)))
    files = {p.name: p for p in folder.rglob("*") if p.is_file()}
    assert not [name for name in files if name.endswith((".pkl", ".pickle", ".cloudpickle"))]
    with zipfile.ZipFile(files["model.holdtrue"]) as archive:
        assert {Path(name).suffix for name in archive.namelist()} == {".json", ".npy"}
    assert "loader_module: holdtrue.tracking" in files["MLmodel"].read_text()


def test_a_damaged_model_is_refused(logged, tmp_path):
    info, _, _ = logged
    folder = Path(mlflow.artifacts.download_artifacts(info.model_uri, dst_path=str(tmp_path)))
    place = next(folder.rglob("model.holdtrue"))
    place.write_bytes(place.read_bytes()[:-40])
    with pytest.raises(Exception, match="damaged or is not one of holdtrue's"):
        mlflow.pyfunc.load_model(str(folder))


def test_wrong_questions(logged, bank):
    model = mlflow.pyfunc.load_model("models:/loans/1")
    with pytest.raises(DataError, match="no such answer; got 'recurse'"):
        model.predict(bank.X[:3], params={"answer": "recurse"})
    with pytest.raises(Exception, match="price"):
        model.predict(bank.X[:3].drop(columns="price"))


def test_an_active_run_is_used_and_a_bare_model_is_enough(logged, bank):
    clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), regime=ht.StandardTraining(n_epochs=1))
    clf.fit(bank.X, bank.y)
    with mlflow.start_run() as run:
        info = tracking.log(clf)
    assert info.run_id == run.info.run_id
    assert info.registered_model_version is None


def test_flat():
    nested = {"a": {"b": 1, "c>d": {"e": "x"}}, "f": [1, 2], "g": None}
    assert dict(tracking.flat(nested)) == {"a.b": 1, "a.c_d.e": "x"}


def test_columns_follow_the_schema():
    schema = ht.Schema(
        [
            ht.Feature(name="n", kind="numeric", bounds=(0, 1), missing="median"),
            ht.Feature(name="c", kind="categorical", levels=("a", "b")),
            ht.Feature(name="b", kind="binary", levels=(False, True)),
            ht.Feature(name="o", kind="ordinal", levels=(1, 2, 3)),
        ]
    )
    told = {c.name: (getattr(c.type, "name", "any"), c.required) for c in tracking.signature(schema).inputs}
    assert told == {"n": ("any", False), "c": ("string", True), "b": ("boolean", True), "o": ("any", True)}


def test_mlflow_is_named_where_it_is_missing(clf, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mlflow", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'holdtrue\[mlflow\]'"):
        tracking.log(clf)


def test_integers_and_frames_of_any_index(logged, clf, bank):
    model = mlflow.pyfunc.load_model("models:/loans/1")
    X = bank.X[10:20]
    answer = model.predict(X)
    assert list(answer.index) == list(X.index)
    assert isinstance(answer, pd.Series)
