"""A model made elsewhere in a model file: what comes back, and what is refused."""

import json
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import holdtrue as ht
from holdtrue.errors import CapabilityError, DataError
from holdtrue.testing._world import SCHEMA, people

pytest.importorskip("skops.io", reason="skops is not installed; pip install 'holdtrue[skops]' to run it")

CATEGORIES = ["sex", "insured", "education", "status", "housing", "job"]
COLUMNS = ["loanprc", "obrat", "atotinc", "unver", "pubrec", "cons"]
BANK = ht.datasets.load("loanapp")
X, Y = BANK.X[COLUMNS], np.asarray(BANK.y)
LABELS = np.where(Y == 1, "yes", "no")
BANK_SCHEMA = ht.Schema([BANK.schema[name] for name in COLUMNS])


def forest(seed: int = 0) -> Any:
    return RandomForestClassifier(10, max_depth=5, random_state=seed)


def same_after(adopted: ht.Adopted, table: pd.DataFrame, path: Path) -> ht.Adopted:
    """Written and read, it decides and answers the same, and is the same to the last bit of its digest."""
    adopted.save(path)
    again = ht.load(path)
    assert isinstance(again, ht.Adopted)
    assert again.predictor_.digest() == adopted.predictor_.digest()
    assert again.predictor_.foreign.note == adopted.predictor_.foreign.note
    assert (again.predict_proba(table) == adopted.predict_proba(table)).all()
    assert (again.predict(table) == adopted.predict(table)).all()
    refused = table[adopted.predict(table) != adopted.predictor_.favourable].head(5)
    one, other = adopted.recourse(refused), again.recourse(refused)
    pd.testing.assert_frame_equal(one.to_frame(), other.to_frame())
    assert ht.audit(other).n_at_odds == 0
    return again


def test_a_pipeline_with_text_labels_and_a_threshold(tmp_path: Path) -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, LABELS)
    adopted = ht.adopt(model, BANK_SCHEMA, reference=X, favourable="yes", threshold=0.9)
    again = same_after(adopted, X, tmp_path / "m.holdtrue")
    assert (again.predict(X) == np.where(model.predict_proba(X)[:, 1] >= 0.9, "yes", "no")).all()
    assert again.threshold == 0.9
    moved = again.at_threshold(0.6)
    assert (moved.predict(X) == np.where(model.predict_proba(X)[:, 1] >= 0.6, "yes", "no")).all()
    assert (again.predict(X) == np.where(model.predict_proba(X)[:, 1] >= 0.9, "yes", "no")).all()
    assert moved.predictor_.digest() != again.predictor_.digest()


def test_as_the_model_itself_decides(tmp_path: Path) -> None:
    for model in (forest(), FixedThresholdClassifier(forest(), threshold=0.8)):
        model.fit(X, Y)
        again = same_after(ht.adopt(model, BANK_SCHEMA, reference=X), X, tmp_path / "m.holdtrue")
        assert (again.predict(X) == model.predict(X)).all()


def test_columns_of_categories_and_missing_values(tmp_path: Path) -> None:
    table, y = people()
    table = table.astype(dict.fromkeys(CATEGORIES, "category"))
    model = HistGradientBoostingClassifier(max_iter=10, random_state=0, categorical_features="from_dtype")
    adopted = ht.adopt(model.fit(table, y), SCHEMA, reference=table, method="nearest_neighbour")
    again = same_after(adopted, table, tmp_path / "m.holdtrue")
    assert (again.predict(table) == model.predict(table)).all()


def test_guides_travel_with_it(tmp_path: Path) -> None:
    model = forest().fit(X, Y)
    adopted = ht.adopt(model, BANK_SCHEMA, reference=X, labels=Y, n_guides=3, hold=0.8)
    again = same_after(adopted, X, tmp_path / "m.holdtrue")
    plan = again.recourse(X[model.predict(X) == 0].head(3))
    assert plan.held is not None
    assert plan.held.n_models == 3
    assert again.certificate_ is None
    with pytest.raises(CapabilityError, match=r"Adopted: is not trained here"):
        again.fit(X, Y)


def test_what_a_raw_booster_says_and_cannot_say() -> None:
    xgboost = pytest.importorskip("xgboost")
    told = {"objective": "binary:logistic", "nthread": 1}
    booster = xgboost.train(told, xgboost.DMatrix(X, Y), 10)
    adopted = ht.adopt(booster, BANK_SCHEMA, reference=X)
    assert adopted.format_ == "xgboost"
    copies = ht.retrain(adopted, X, Y, n=2)
    assert len(copies) == 2
    assert adopted.predictor_.foreign is not None
    assert "10 rounds, learning_rate=0.3" in str(adopted.predictor_.foreign.recipe)
    odd = xgboost.train(told | {"booster": "dart"}, xgboost.DMatrix(X, Y), 10)
    with pytest.raises(CapabilityError, match="does not say how it was trained"):
        ht.adopt(odd, BANK_SCHEMA, reference=X, labels=Y)
    with pytest.raises(CapabilityError, match="does not say how it was trained"):
        ht.retrain(ht.adopt(odd, BANK_SCHEMA, reference=X), X, Y, n=2)


def test_catboost_reads_the_columns_that_it_names() -> None:
    catboost = pytest.importorskip("catboost", reason="needs pip install 'holdtrue[catboost]'")
    model = catboost.CatBoostClassifier(iterations=5, verbose=0, allow_writing_files=False, thread_count=1)
    adopted = ht.adopt(model.fit(X, Y), reference=X.assign(approve=Y, key=np.arange(len(X))), favourable=1)
    assert adopted.schema_.names == COLUMNS


def test_a_scikit_learn_xgboost_keeps_its_parameters(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=7, max_depth=2, n_jobs=1).fit(X, Y)
    again = same_after(ht.adopt(model, BANK_SCHEMA, reference=X), X, tmp_path / "m.holdtrue")
    copies = ht.retrain(again, X, Y, n=2)
    assert copies.models[0].estimator.n_estimators == 7


def test_in_a_process_of_its_own(tmp_path: Path) -> None:
    model = VotingClassifier([("f", forest()), ("g", forest(1))], voting="soft").fit(X, Y)
    ht.adopt(model, BANK_SCHEMA, reference=X).save(tmp_path / "m.holdtrue")
    program = f"""
import holdtrue as ht, json
bank = ht.datasets.load("loanapp")
clf = ht.load({str(tmp_path / "m.holdtrue")!r})
print(json.dumps(clf.predict(bank.X[:300]).tolist()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == model.predict(X[:300]).tolist()


# ---- what is refused ---------------------------------------------------------------------------------


def test_pickles_and_types_that_are_not_trusted(tmp_path: Path) -> None:
    model = forest().fit(X, Y)
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(model))
    with pytest.raises(DataError, match=r"a pickle runs code.*skops\.io\.dump"):
        ht.adopt(tmp_path / "m.pkl", BANK_SCHEMA, reference=X)
    odd = make_pipeline(FunctionTransformer(pd.DataFrame.abs), model).fit(X, Y)
    with pytest.raises(DataError, match=r"may not hold; got pandas\..*abs"):
        ht.adopt(odd, BANK_SCHEMA, reference=X)
    with pytest.raises(CapabilityError, match="no safe file format holds a FunctionClassifier"):
        ht.adopt(lambda rows: model.predict_proba(rows), BANK_SCHEMA, reference=X)
    (tmp_path / "m.json").write_text("[]")
    with pytest.raises(DataError, match="no known format"):
        ht.adopt(tmp_path / "m.json", BANK_SCHEMA, reference=X)
    with pytest.raises(DataError, match="no such file"):
        ht.adopt(tmp_path / "absent.json", BANK_SCHEMA, reference=X)


def test_a_changed_file(tmp_path: Path) -> None:
    place, forged = tmp_path / "m.holdtrue", tmp_path / "forged.holdtrue"
    ht.adopt(forest().fit(X, Y), BANK_SCHEMA, reference=X).save(place)
    with zipfile.ZipFile(place) as archive, zipfile.ZipFile(forged, "w") as out:
        for info in archive.infolist():
            blob = archive.read(info)
            if info.filename == "holdtrue.json":
                header = json.loads(blob)
                header["model"]["sha256"] = "0" * 64
                blob = json.dumps(header).encode()
            out.writestr(info.filename, blob)
    with pytest.raises(DataError, match="not the one that its header names"):
        ht.load(forged)
    with pytest.raises(DataError, match=r"holds an adopted model.*holdtrue\.load"):
        ht.RecourseClassifier.load(place)
    assert not any(name.endswith(".pkl") for name in zipfile.ZipFile(place).namelist())
