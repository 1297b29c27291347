"""Trained models kept on disk: what was cut goes on, and nothing else is taken for it."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

import holdtrue as ht
from holdtrue.batch import EmbeddedExecutor
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models import fit_many

SCHEMA = ht.Schema([ht.Feature(name="a", kind="numeric"), ht.Feature(name="b", kind="numeric")])
SEEN = 2  # models after which the process is killed


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    return X, (X["a"] + 0.5 * rng.normal(size=n) > 0).astype(int).to_numpy()


def elsewhere(keep, on_model=None, n=5, model=None, rows_seed=0, **options):
    X, y = table(seed=rows_seed)
    model = (LogisticRegression() if model is None else model).fit(X, y)
    return ht.retrain(model, X, y, n=n, schema=SCHEMA, favourable=1, keep=keep, on_model=on_model, **options)


def own(keep, on_model=None, n=5, **options):
    X, y = table()
    regime = ht.StandardTraining(n_epochs=2)
    quick = {"model": ht.Linear(), "regime": regime, "hold": None, "random_state": 0}
    clf = ht.RecourseClassifier(schema=SCHEMA, favourable=1, **quick)
    return ht.retrain(clf.fit(X, y), n=n, keep=keep, on_model=on_model, **options)


def kept(folder):
    return sorted(Path(folder).glob("*.member"))


def answers(models):
    return np.stack([models.member(i).logits(ht.schema.as_table(table(40, 1)[0])) for i in range(len(models))])


@pytest.mark.parametrize("kind", ["elsewhere", "own"])
def test_killed_and_called_again_only_the_rest_is_trained(kind, tmp_path, monkeypatch):
    script = (
        f"import os, signal, sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_kept\n"
        f"stop = lambda done: done == {SEEN} and os.kill(os.getpid(), signal.SIGKILL)\n"
        f"test_kept.{kind}({str(tmp_path)!r}, stop)"
    )
    alone = {**os.environ, "HOLDTRUE_CORES": "1"}  # on several cores another model may be done by then
    ended = subprocess.run([sys.executable, "-c", script], env=alone, capture_output=True)
    assert ended.returncode == -9, ended.stderr.decode()[-2000:]
    before = {path: path.stat().st_mtime_ns for path in kept(tmp_path)}
    assert len(before) == SEEN
    trained = []
    if kind == "elsewhere":
        fit = LogisticRegression.fit
        monkeypatch.setattr(LogisticRegression, "fit", lambda *args: (trained.append(1), fit(*args))[1])
    else:
        counted = lambda models, *args, **how: (trained.extend(models), fit_many(models, *args, **how))[1]  # noqa: E731
        monkeypatch.setattr("holdtrue.retraining._retrain.fit_many", counted)
    told = []
    again = {"elsewhere": elsewhere, "own": own}[kind](tmp_path, told.append)
    assert len(trained) == 5 - SEEN + (kind == "elsewhere")  # the first model itself, which is fitted here
    assert told[0] == SEEN
    assert sorted(told) == [2, 3, 4, 5]
    assert before == {path: path.stat().st_mtime_ns for path in before}
    assert len(kept(tmp_path)) == 5
    whole = {"elsewhere": elsewhere, "own": own}[kind](None)
    np.testing.assert_array_equal(answers(again), answers(whole))


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(StandardScaler(), RandomForestClassifier(5, max_depth=3)),
        XGBClassifier(n_estimators=4, max_depth=2, subsample=0.8),
        LGBMClassifier(n_estimators=4, min_child_samples=5, verbose=-1),
        CatBoostClassifier(iterations=4, verbose=0, allow_writing_files=False),
        HistGradientBoostingClassifier(max_iter=4),
    ],
    ids=lambda model: type(model).__name__,
)
def test_side_by_side_one_after_the_other_and_from_disk_are_the_same(model, tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDTRUE_CORES", "1")
    serial = elsewhere(None, model=model, vary="anew", n=3)
    monkeypatch.delenv("HOLDTRUE_CORES")
    beside = elsewhere(tmp_path, model=model, vary="anew", n=3)
    read = elsewhere(tmp_path, model=model, vary="anew", n=3)
    elsewhere_done = elsewhere(None, model=model, vary="anew", n=3, executor=EmbeddedExecutor())
    X = table(40, 1)[0]
    expected = [m.estimator.predict_proba(X) for m in serial.models]
    for models in (beside, read, elsewhere_done):
        np.testing.assert_array_equal([m.estimator.predict_proba(X) for m in models.models], expected)


def test_threads_are_as_they_were_afterwards():
    (one, _) = elsewhere(None, model=make_pipeline(RandomForestClassifier(3, n_jobs=2)), n=2).models
    assert one.estimator[-1].n_jobs == 2


def test_what_differs_is_trained_anew(tmp_path):
    told = []
    first = elsewhere(tmp_path, n=2)
    elsewhere(tmp_path, told.append, n=3)
    assert told[0] == 2  # a longer draw begins with the shorter one
    recipe = {"model": LogisticRegression(C=0.5)}
    for options in (recipe, {"rows_seed": 1}, {"random_state": 1}, {"vary": "leave_one_out"}):
        before = len(kept(tmp_path))
        elsewhere(tmp_path, n=2, **options)
        assert len(kept(tmp_path)) == before + 2, options
    damaged = kept(tmp_path)
    for path in damaged:
        path.write_bytes(path.read_bytes()[:-40])
    np.testing.assert_array_equal(answers(elsewhere(tmp_path, n=2)), answers(first))
    assert len(kept(tmp_path)) == len(damaged)


def test_own_models_of_another_kind_of_retraining_are_others(tmp_path):
    own(tmp_path, n=2)
    for options in ({"vary": "bootstrap"}, {"random_state": 1}, {"vary": "finetune"}):
        before = len(kept(tmp_path))
        own(tmp_path, n=2, **options)
        assert len(kept(tmp_path)) == before + 2, options
    told: list[int] = []
    here = own(tmp_path, told.append, n=2, vary="bootstrap", executor=EmbeddedExecutor())
    assert told == [2]
    np.testing.assert_array_equal(answers(here), answers(own(None, n=2, vary="bootstrap")))


def test_parts_and_the_whole_draw_the_same_from_a_state():
    """What the process draws that hands parts out must not be missing for those who train them."""
    there, here = (
        own(None, n=3, vary="bootstrap", random_state=np.random.RandomState(3), executor=who)
        for who in (EmbeddedExecutor(), None)
    )
    np.testing.assert_array_equal(answers(there), answers(here))


class Service:
    """A classifier that no safe format holds."""

    classes_ = np.array([0, 1])

    def __init__(self, cut):
        self.cut = cut

    def predict_proba(self, rows):
        p = 1 / (1 + np.exp(-5 * (np.asarray(rows)[:, 0] - self.cut)))
        return np.stack([1 - p, p], axis=1)


def test_what_no_safe_format_holds_is_refused(tmp_path):
    X, y = table()
    refit = lambda rows, labels, *, seed, sample_weight=None: Service(np.asarray(rows)[:, 0].mean())  # noqa: E731
    with pytest.raises(CapabilityError, match=r"`keep` cannot hold a Service, and a pickle runs code"):
        ht.retrain(Service(0.0), X, y, n=2, schema=SCHEMA, favourable=1, refit=refit, keep=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="`keep` must be a folder"):
        elsewhere(tmp_path / "file")
    assert kept(tmp_path) == []


def test_a_kept_model_is_no_pickle(tmp_path):
    elsewhere(tmp_path, n=2)
    for path in kept(tmp_path):
        with zipfile.ZipFile(path) as archive:
            assert archive.namelist() == ["holdtrue.json", "model"]
            assert not archive.read("model").startswith(b"\x80")


def test_a_function_is_told_by_its_text(tmp_path):
    X, y = table()
    one = lambda rows, labels, *, seed, sample_weight=None: LogisticRegression(C=1.0).fit(rows, labels)  # noqa: E731
    two = lambda rows, labels, *, seed, sample_weight=None: LogisticRegression(C=0.1).fit(rows, labels)  # noqa: E731
    for n_kept, refit in ((2, one), (2, one), (4, two)):
        ht.retrain(
            Service(0.0), X, y, n=2, schema=SCHEMA, favourable=1, refit=refit, vary="bootstrap", keep=tmp_path
        )
        assert len(kept(tmp_path)) == n_kept
