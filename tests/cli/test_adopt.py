"""Every command, asked of every kind of adopted model, from its file."""

import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler

import holdtrue as ht
from holdtrue.models.adapters import from_torch
from holdtrue.server import Quotas, Service, create_app

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # newer ones want the successor of httpx, older ones do not know it
    from fastapi.testclient import TestClient

COLUMNS = ["loanprc", "obrat", "atotinc", "unver", "pubrec", "cons"]
BANK = ht.datasets.load("loanapp")
X, Y = BANK.X[COLUMNS], np.asarray(BANK.y)
SCHEMA = ht.Schema([BANK.schema[name] for name in COLUMNS])


def logistic() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression())


def scorecard() -> Any:
    """Points for bins, as lenders have them."""
    bins = KBinsDiscretizer(5, encode="onehot-dense", quantile_method="averaged_inverted_cdf")
    numbers = ["loanprc", "obrat", "atotinc"]
    front = make_column_transformer((bins, numbers), (OneHotEncoder(), ["unver", "pubrec", "cons"]))
    return make_pipeline(front, LogisticRegression(max_iter=1000))


def skops(model: Any, path: Path, rows: pd.DataFrame = X) -> Path:
    io = pytest.importorskip("skops.io", reason="skops is not installed; pip install 'holdtrue[skops]' to run it")
    place = path / "model.skops"
    io.dump(model.fit(rows, Y), place)
    return place


def categories(path: Path) -> Path:
    """Learned from pandas' categories, which the tables that commands read do not have."""
    model = HistGradientBoostingClassifier(max_iter=15, random_state=0, categorical_features="from_dtype")
    return skops(model, path, X.astype(dict.fromkeys(["unver", "pubrec", "cons"], "category")))


def xgboost(path: Path, ending: str) -> Path:
    model = pytest.importorskip("xgboost").XGBClassifier(n_estimators=15, max_depth=3, n_jobs=1)
    model.fit(X, Y).save_model(path / f"model.{ending}")
    return path / f"model.{ending}"


def lightgbm(path: Path) -> Path:
    model = pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=15, n_jobs=1, verbose=-1)
    model.fit(X, Y).booster_.save_model(path / "model.txt")
    return path / "model.txt"


def catboost(path: Path, ending: str) -> Path:
    library = pytest.importorskip("catboost", reason="needs pip install 'holdtrue[catboost]'")
    model = library.CatBoostClassifier(
        iterations=15, depth=3, verbose=0, allow_writing_files=False, thread_count=1
    )
    model.fit(X, Y).save_model(str(path / f"model.{ending}"), format=ending)
    return path / f"model.{ending}"


def onnx(path: Path) -> Path:
    skl2onnx = pytest.importorskip("skl2onnx")
    kind = skl2onnx.common.data_types.FloatTensorType([None, len(COLUMNS)])
    model = logistic().fit(X.to_numpy(float), Y)
    proto = skl2onnx.convert_sklearn(model, initial_types=[("x", kind)], options={"zipmap": False})
    (path / "model.onnx").write_bytes(proto.SerializeToString())
    return path / "model.onnx"


def torch_program(path: Path) -> Path:
    torch = pytest.importorskip("torch", reason="torch is not installed; pip install 'holdtrue[torch]' to run it")
    model, nn = logistic().fit(X, Y), torch.nn
    (_, scaler), (_, last) = model.steps
    scaled, hidden = nn.Linear(len(COLUMNS), len(COLUMNS)), nn.Linear(len(COLUMNS), 1)
    with torch.no_grad():  # the same model, so that its people are refused and accepted as others' are
        scaled.weight[:] = torch.tensor(np.diag(1 / scaler.scale_))
        scaled.bias[:] = torch.tensor(-scaler.mean_ / scaler.scale_)
        hidden.weight[:], hidden.bias[:] = torch.tensor(last.coef_), torch.tensor(last.intercept_)
    net, rows = nn.Sequential(scaled, hidden, nn.Sigmoid()), (torch.zeros(3, len(COLUMNS)),)
    program = torch.export.export(net.eval(), rows, dynamic_shapes=({0: torch.export.Dim("rows")},))
    torch.export.save(program, path / "model.pt2")
    return path / "model.pt2"


KINDS: dict[str, Callable[[Path], Path]] = {
    "xgboost json": lambda path: xgboost(path, "json"),
    "xgboost ubj": lambda path: xgboost(path, "ubj"),
    "lightgbm": lightgbm,
    "catboost cbm": lambda path: catboost(path, "cbm"),
    "catboost json": lambda path: catboost(path, "json"),
    "onnx": onnx,
    "torch": torch_program,
    "logistic": lambda path: skops(logistic(), path),
    "calibrated": lambda path: skops(
        CalibratedClassifierCV(RandomForestClassifier(8, max_depth=4, random_state=0), cv=2), path
    ),
    "votes": lambda path: skops(
        VotingClassifier([("f", RandomForestClassifier(8, max_depth=4, random_state=0)), ("l", logistic()),
                          ("g", RandomForestClassifier(8, max_depth=3, random_state=1))]), path),
    "stack": lambda path: skops(
        StackingClassifier([("f", RandomForestClassifier(8, max_depth=4)), ("l", logistic())], cv=2),
        path),
    "scorecard": lambda path: skops(scorecard(), path),
    "categories": categories,
}  # fmt: skip


def test_weights_of_torch_with_what_stands_before_them(run, tables, tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed; pip install 'holdtrue[torch]' to run it")
    dump = pytest.importorskip("skops.io", reason="skops is not installed").dump
    torch.manual_seed(0)
    net, scaler = (
        torch.nn.Sequential(torch.nn.Linear(6, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)),
        StandardScaler(),
    )
    torch.save(net.state_dict(), tmp_path / "net.pt")
    dump(scaler.fit(X), tmp_path / "scaler.skops")
    asked = ("adopt", tmp_path / "net.pt", "--reference", tables["train.csv"], "--schema", tables["bank.yaml"],
             "--method", "nearest_neighbour", "--favourable", 1, "--out", tmp_path / "m.holdtrue")  # fmt: skip
    layers = ("--architecture", "Linear(6, 3), Tanh, Linear(3, 1)")
    assert "got no `architecture`" in run(*asked, code=2).stderr
    assert "such file" in run(*asked, *layers, "--reads", tmp_path / "none.skops", code=2).stderr
    run(*asked, *layers, "--reads", tmp_path / "scaler.skops")
    own = from_torch(net, scaler).predict_proba(X)
    np.testing.assert_allclose(ht.load(tmp_path / "m.holdtrue").predict_proba(X), own, rtol=1e-12)
    wrong = run(*asked, *layers, "--reads", tmp_path / "scaler.skops", "--outputs", "probabilities", code=2)
    assert "must return probabilities; got numbers from" in wrong.stderr


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("tables")
    X.assign(approve=Y, key=np.arange(len(X))).to_csv(folder / "train.csv", index=False)
    X[:60].assign(key=np.arange(60)).to_csv(folder / "people.csv", index=False)
    X[-300:].to_csv(folder / "calibration.csv", index=False)
    SCHEMA.save(folder / "bank.yaml")
    return {name: str(folder / name) for name in ("train.csv", "people.csv", "calibration.csv", "bank.yaml")}


FEWER = ("--set", "n_rows=300", "--set", "n_candidates=64")
SILENT = ("onnx", "torch", "votes")
"""Kinds that do not say how they were trained."""


@pytest.fixture(scope="module")
def tracked(tmp_path_factory):
    """MLflow, with a store of its own."""
    mlflow = pytest.importorskip(
        "mlflow", reason="mlflow is not installed; pip install 'holdtrue[mlflow]' to run it"
    )
    folder, before = tmp_path_factory.mktemp("mlflow"), mlflow.get_tracking_uri()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MLflow's own
        mlflow.set_tracking_uri(f"sqlite:///{folder / 'runs.db'}")
        mlflow.create_experiment("matrix", artifact_location=(folder / "artifacts").as_uri())
        mlflow.set_experiment("matrix")
    yield mlflow
    mlflow.set_tracking_uri(before)


@pytest.mark.parametrize("kind", KINDS)
def test_every_command_takes_it(kind, run, run_json, tables, tracked, tmp_path):
    theirs = KINDS[kind](tmp_path)
    model, answers, ledger = (str(tmp_path / name) for name in ("bank.holdtrue", "answers.csv", "promises.db"))
    people = tables["people.csv"]
    told = run_json("adopt", theirs, "--reference", tables["train.csv"], "--schema", tables["bank.yaml"],
                    "--threshold", 0.8, "--method", "nearest_neighbour", *FEWER, "--out", model)  # fmt: skip
    assert told["threshold"] == 0.8
    assert not told["note"].startswith("Asked"), told["note"]

    # What the library itself decides, and nothing else, is what people are told.
    clf = ht.load(model)
    own = (
        clf.predictor_.foreign.estimator.predict_proba(clf.predictor_.foreign.frame(clf._read(X[:60])))[:, 1]
        >= 0.8
    )
    assert (clf.predict(X[:60]) == own).all()
    ht.Ledger.create(ledger).close()
    run("recourse", model, people, "--out", answers, "--ledger", ledger, "--subject", "key", "--valid-for", 90)
    written = pd.read_csv(answers)
    assert ((written["holdtrue_status"] == "ALREADY_FAVOURABLE") == own).all()
    found = written["holdtrue_status"].isin(["FOUND", "OPTIMAL"])
    assert found.any()
    assert (clf.predict_proba(written[COLUMNS][found])[:, 1] >= 0.8 - 1e-9).all()

    report = run_json("audit", model, people)
    assert report["n_at_odds"] == 0
    assert report["model"] == clf.predictor_.digest()

    lines = run("reasons", model, people, "--reference", tables["train.csv"], "--rows", 20, "--json").stdout
    assert len(lines.splitlines()) == (~own).sum()

    app = create_app(Service(clf, quotas=Quotas(deadline=20, options=1)))
    with TestClient(app, base_url="http://localhost") as client:  # its start-up warms the service
        person = json.loads(X[:60][~own].head(1).to_json(orient="records"))[0]
        said = client.post("/v1/recourse", json={"people": [person]})
        assert said.status_code == 200, said.text
        assert "FOUND" in said.text
        assert client.get("/").status_code == 200

    certified = str(tmp_path / "certified.holdtrue")
    run("certify", model, tables["calibration.csv"], "--miscoverage", 0.4, "--out", certified)
    assert run_json("verify", certified, "--calibration", tables["calibration.csv"])["ok"]
    assert ht.load(certified).certificate_.threshold == 0.8

    with ht.Ledger(ledger) as book:
        record = next(iter(book.live()))[0].text
    place = tmp_path / "record.json"
    place.write_text(str(record))
    train = tables["train.csv"]
    assert run_json("replay", place, "--model", model, "--reference", train)["same"] is True
    assert "80" in run("letter", place).stdout or run("letter", place).stdout
    gated = run_json("gate", certified, "--ledger", ledger, "--alternatives", 0)
    assert gated["ok"]
    assert gated["n_live"] == found.sum()

    place = tmp_path / "evidence.zip"
    run("evidence", model, train, "--target", "approve", "--ledger", ledger, "--people", 3, "--reasons", 2,
        "--reference", people, "--out", place)  # fmt: skip
    assert run_json("evidence", "--verify", place)["ok"]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MLflow's own
        with tracked.start_run():
            address = ht.tracking.log(clf).model_uri
        logged = tracked.pyfunc.load_model(address)
        assert (logged.predict(X[:60]) == clf.predict(X[:60])).all()
        assert len(logged.predict(X[:10], params={"answer": "recourse"})) >= 10

    again = run("shelf-life", model, people, "--train", train, "--target", "approve", "--models", 3, "--json",
                code=2 if kind in SILENT else 0)  # fmt: skip
    if kind not in SILENT:
        assert json.loads(again.stdout)["n_models"] == 3
    else:
        assert "does not say how it was trained" in again.stderr


def test_a_process_that_knows_nothing_but_the_file(run, tables, tmp_path):
    """What another process answers, and reads first of all, is what this one does."""
    model = tmp_path / "bank.holdtrue"
    run("adopt", categories(tmp_path), "--reference", tables["train.csv"], "--schema", tables["bank.yaml"],
        "--method", "nearest_neighbour", "--target", "approve", "--guides", 2, "--out", model)  # fmt: skip
    here, there = tmp_path / "here.csv", tmp_path / "there.csv"
    run("recourse", model, tables["people.csv"], "--out", here)
    command = [sys.executable, "-m", "holdtrue.cli", "recourse", model, tables["people.csv"], "--out", there]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert there.read_bytes() == here.read_bytes()
    assert pd.read_csv(there)["holdtrue_status"].isin(["FOUND", "OPTIMAL"]).any()


@pytest.mark.parametrize("kind", ["xgboost json", "lightgbm", "catboost cbm"])
def test_guides_of_a_booster_from_its_file(kind, run, run_json, tmp_path):
    theirs, train, model = KINDS[kind](tmp_path), tmp_path / "train.csv", tmp_path / "bank.holdtrue"
    # The booster learned 0 and 1; the table has words.
    X.assign(approve=np.where(Y == 1, "yes", "no")).to_csv(train, index=False)
    SCHEMA.save(tmp_path / "bank.yaml")
    asked = ("adopt", theirs, "--reference", train, "--schema", tmp_path / "bank.yaml", "--favourable", 1)
    told = run_json(*asked, "--target", "approve", "--guides", 2, "--out", model)
    assert "15 rounds" in told["recipe"]
    assert "decides" in told["recipe"]
    clf = ht.load(model)
    assert len(clf.method_.guides_) == 2
    assert clf.recourse(X[clf.predict(X) == 0][:2]).held is not None


@pytest.mark.parametrize("kind", ["xgboost json", "lightgbm"])
@pytest.mark.parametrize(("one", "zero", "code"), [("approve", "deny", 1), ("deny", "approve", 0)])
def test_which_word_the_model_knows_as_1_is_told_by_what_it_says(kind, one, zero, code, run, run_json, tmp_path):
    """Words coded by their order make 1 of a "deny": nobody may be told that this is a yes."""
    theirs, train, model = KINDS[kind](tmp_path), tmp_path / "train.csv", tmp_path / "bank.holdtrue"
    X.assign(decision=np.where(Y == 1, one, zero)).to_csv(train, index=False)
    SCHEMA.save(tmp_path / "bank.yaml")
    asked = ("adopt", theirs, "--reference", train, "--schema", tmp_path / "bank.yaml", "--target", "decision")
    assert run_json(*asked, "--out", model)["favourable"] == code
    guided = run_json(*asked, "--guides", 2, "--out", model)
    assert (guided["favourable"], guided["words"]) == (code, [zero, one])
    assert run_json(*asked, "--favourable", "deny", "--out", model)["favourable"] == 1 - code
    assert f"A yes is {code} (approve)" in run(*asked, "--out", model).stdout
    X.assign(decision=np.where(np.arange(len(Y)) % 2, "approve", "deny")).to_csv(train, index=False)
    assert "does not tell which of the labels is which" in run(*asked, "--out", model, code=2).stderr


def test_guides_of_a_model_that_does_not_say_how(run, tables, tmp_path):
    said = run("adopt", onnx(tmp_path), "--reference", tables["train.csv"], "--schema", tables["bank.yaml"],
               "--target", "approve", "--guides", 2, "--out", tmp_path / "m.holdtrue", code=2)  # fmt: skip
    assert "skops.io.dump" in said.stderr
    assert "no --guides" in said.stderr
