"""Guides and judges kept on disk, through every door: killed half-way, nothing is trained twice."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression

import holdtrue as ht
from holdtrue.cli._main import cli
from holdtrue.errors import DataError
from holdtrue.retraining._kept import Kept

pytestmark = pytest.mark.filterwarnings("ignore::holdtrue.errors.QualityWarning")  # three epochs are few
SEEN, N = 3, 4  # models after which a process is killed; guides, and as many judges
COLUMNS = ["loanprc", "obrat", "unver"]
BANK = ht.datasets.load("loanapp").subset(range(400))
assert BANK.schema is not None
SCHEMA = ht.Schema([BANK.schema[name] for name in COLUMNS])
REGIME = ht.StandardTraining(n_epochs=3, step_size=0.05)


def fitted(keep, folder, **options):
    clf = ht.RecourseClassifier(
        schema=SCHEMA,
        model=ht.Linear(),
        regime=REGIME,
        method=ht.SparseSearch(),
        hold=0.8,
        n_guides=N,
        random_state=0,
    )
    return clf.fit(BANK.X[COLUMNS], BANK.y, keep=keep, **options)


def fitted_with_periods(keep, folder):
    half = BANK.X[COLUMNS][:200], BANK.y[:200]
    return fitted(keep, folder, periods=[half, (BANK.X[COLUMNS][200:], BANK.y[200:])])


def held(keep, folder):
    clf = ht.RecourseClassifier(schema=SCHEMA, model=ht.Linear(), regime=REGIME, hold=None, random_state=0)
    clf.fit(BANK.X[COLUMNS], BANK.y)
    method = ht.Holding(base=ht.SparseSearch(), hold=0.8, n_guides=N, n_judges=N, random_state=0)
    return clf.with_method(method.fit(clf, BANK.X[COLUMNS], BANK.y, keep=keep))


def adopted(keep, folder):
    model = LogisticRegression().fit(BANK.X[COLUMNS], BANK.y)
    return ht.adopt(
        model, SCHEMA, reference=BANK.X[COLUMNS], labels=BANK.y, hold=0.8, n_guides=N, random_state=0, keep=keep
    )


def from_the_command_line(keep, folder):
    table, out = Path(folder) / "table.csv", Path(folder) / "m.holdtrue"
    if not table.exists():
        BANK.X[COLUMNS].assign(approved=BANK.y).to_csv(table, index=False)
    words = ["fit", table, "--target", "approved", "--out", out, "--model", "linear", "--method", "sparse_search"]
    words += ["--hold", "80%", "--guides", N, "--set", "regime.n_epochs=3"]
    words += [] if keep is None else ["--keep", keep]
    ran = CliRunner().invoke(cli, list(map(str, words)), prog_name="holdtrue", catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    return ht.load(out)


def adopted_from_the_command_line(keep, folder):
    import skops.io

    folder = Path(folder)
    if not (folder / "model.skops").exists():
        BANK.X[COLUMNS].assign(approved=BANK.y).to_csv(folder / "table.csv", index=False)
        skops.io.dump(LogisticRegression().fit(BANK.X[COLUMNS], BANK.y), folder / "model.skops")
    words = ["adopt", folder / "model.skops", "--reference", folder / "table.csv", "--target", "approved"]
    words += ["--guides", N, "--out", folder / "m.holdtrue", *([] if keep is None else ["--keep", keep])]
    ran = CliRunner().invoke(cli, list(map(str, words)), prog_name="holdtrue", catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    return ht.load(folder / "m.holdtrue")


DOORS = {
    door.__name__: door
    for door in (
        fitted, fitted_with_periods, held, adopted, from_the_command_line, adopted_from_the_command_line
    )
}  # fmt: skip


def kept_by(monkeypatch):
    """Keys of the models that are kept from here on."""
    keys, write = [], Kept._write

    def noted(self, key, *rest):
        keys.append(key)
        return write(self, key, *rest)

    monkeypatch.setattr(Kept, "_write", noted)
    return keys


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_killed_and_asked_again_only_the_rest_is_trained(door, tmp_path, monkeypatch):
    script = (
        f"import os, signal, sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import test_kept\n"
        "write, seen = test_kept.Kept._write, []\n"
        "def killed(self, key, *rest):\n"
        "    write(self, key, *rest); seen.append(key)\n"
        f"    if len(seen) == {SEEN}: os.kill(os.getpid(), signal.SIGKILL)\n"
        "test_kept.Kept._write = killed\n"
        f"test_kept.{door.__name__}({str(tmp_path / 'kept')!r}, {str(tmp_path)!r})"
    )
    alone = {**os.environ, "HOLDTRUE_CORES": "1"}
    ended = subprocess.run([sys.executable, "-c", script], env=alone, capture_output=True)
    assert ended.returncode == -9, ended.stderr.decode()[-2000:]
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").glob("*.member")}
    assert len(before) == SEEN
    keys = kept_by(monkeypatch)
    again = door(tmp_path / "kept", tmp_path).method_
    assert len(set(keys)) == len(keys) == 2 * N - SEEN
    assert before == {path: path.stat().st_mtime_ns for path in before}
    assert len(list((tmp_path / "kept").glob("*.member"))) == 2 * N
    whole = door(None, tmp_path).method_
    assert again.guides_.digests() == whole.guides_.digests()
    assert again.judges_.digests() == whole.judges_.digests()
    assert again.levels_ == whole.levels_
    keys.clear()
    door(tmp_path / "kept", tmp_path)
    assert not keys


def test_every_period_is_among_guides_and_among_judges():
    """Two periods take turns, and so would guides and judges, were they dealt in turn."""
    method: Any = fitted_with_periods(None, None).method_
    singles = [[kind for kind in of.kinds if kind] for of in (method.guides_, method.judges_)]
    assert all(set(kinds) == {1, 2} for kinds in singles)


def test_nothing_to_keep_is_said(tmp_path):
    clf = ht.RecourseClassifier(schema=SCHEMA, hold=None)
    with pytest.raises(DataError, match="`keep` is for guides; got hold=None"):
        clf.fit(BANK.X[COLUMNS], BANK.y, keep=tmp_path)
    model = LogisticRegression().fit(BANK.X[COLUMNS], BANK.y)
    with pytest.raises(DataError, match="`keep` is for copies of the model; got no `labels`"):
        ht.adopt(model, SCHEMA, reference=BANK.X[COLUMNS], favourable=1, keep=tmp_path)
    guides = ht.retrain(model, BANK.X[COLUMNS], BANK.y, n=4, schema=SCHEMA, favourable=1)
    with pytest.raises(DataError, match="`keep` is for models that are trained here; got `guides`"):
        ht.Holding().fit(guides.predictor, BANK.X[COLUMNS], BANK.y, guides=guides, keep=tmp_path)
    ran = CliRunner().invoke(
        cli, ["adopt", "m.json", "--reference", "t.csv", "--out", "o.holdtrue", "--keep", "k"]
    )
    assert ran.exit_code != 0
    assert "--keep: is for copies of the model; got no --guides" in str(ran.exception) + ran.output
