"""Every command asked of every kind of model, each in a process of its own that knows nothing but the file.

    python -m benchmarks.matrix [--kinds xgboost,stack] [--rows 800] [--table taiwan_credit] [--ray] [--again]
    python -m benchmarks.matrix --kinds votes --commands recourse,replay   # tried, and not written down

The numbers of a table of people, their schema guessed and not corrected, are learned by every kind of model;
kinds "with words" learn its columns with levels too, as texts that the model itself makes sense of. `holdtrue
adopt` takes it into a file, a guided one with copies of the model to make recourse hold, and each command is
then a process: recourse with a ledger, audit, shelf-life, certify, verify, replay, gate, letter, reasons,
evidence (made, and verified), serve (an answer), pages (the officer's page of a refused person) and MLflow
(logged, and asked again from there); with `--ray`, recourse on a local cluster too. A command counts as done
where its process ends well and what it says is what the model's own library says. A guided model has four guides
and four judges, too few to measure a margin by: what is known not to hold is promised with a reason. A model that
does not say how it was trained cannot be trained again: there shelf-life is done where it says so. `seconds` are
those of the clock for all commands of a kind, `processor` each command's own. What is done is written after every
kind, and a later call goes on with the kinds that are not in the result; those of another table or number of rows,
or all with `--again`, are asked anew.
"""

import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, PowerTransformer, StandardScaler

import holdtrue as ht
from benchmarks._common import RESULTS, record

TARGET, KEY = "granted", "key"
REASON = "Asked by a benchmark, of which nobody is told."
WITH_RECOURSE = ("FOUND", "OPTIMAL")
MLFLOW = """
import sys, warnings
warnings.simplefilter("ignore")
import holdtrue as ht, mlflow, pandas as pd
mlflow.set_tracking_uri("sqlite:///" + sys.argv[2])
clf, people = ht.load(sys.argv[1]), pd.read_csv(sys.argv[3])
with mlflow.start_run():
    address = ht.tracking.log(clf).model_uri
again = mlflow.pyfunc.load_model(address)
said = again.predict(people[clf.schema_.names], params={"answer": "recourse"})
assert len(said) >= len(people), said
assert (again.predict(people[clf.schema_.names]) == clf.predict(people)).all()
"""


def forest() -> Any:
    return RandomForestClassifier(30, max_depth=8, random_state=0, n_jobs=1)


def logistic() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=50, n_jobs=1)


def lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=50, n_jobs=1, verbose=-1)


def catboost(**more: Any) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(iterations=50, verbose=0, allow_writing_files=False, thread_count=1, **more)


def scorecard() -> Any:
    bins = KBinsDiscretizer(5, encode="onehot-dense", quantile_method="averaged_inverted_cdf")
    return make_pipeline(bins, LogisticRegression(max_iter=1000))


def onnx(X: pd.DataFrame, y: np.ndarray, place: Path) -> list[Any]:
    import skl2onnx
    from skl2onnx.common.data_types import FloatTensorType

    model = logistic().fit(X.to_numpy(float), y)
    kind = [("x", FloatTensorType([None, X.shape[1]]))]
    proto: Any = skl2onnx.convert_sklearn(model, initial_types=kind, options={"zipmap": False})
    (place / "model.onnx").write_bytes(proto.SerializeToString())
    return [place / "model.onnx"]


def torch(X: pd.DataFrame, y: np.ndarray, place: Path) -> list[Any]:
    """A logistic regression as an exported program, its scaling in a file beside it."""
    import skops.io
    import torch as library

    scaler, model = StandardScaler().fit(X), LogisticRegression(max_iter=1000)
    model.fit(scaler.transform(X), y)
    layer = library.nn.Linear(X.shape[1], 1)
    with library.no_grad():
        layer.weight[:], layer.bias[:] = library.tensor(model.coef_), library.tensor(model.intercept_)
    rows = (library.zeros(3, X.shape[1]),)
    many = ({0: library.export.Dim("rows")},)
    library.export.save(library.export.export(library.nn.Sequential(layer), rows, dynamic_shapes=many),
                        place / "model.pt2")  # fmt: skip
    skops.io.dump(scaler, place / "scaler.skops")
    return [place / "model.pt2", "--reads", place / "scaler.skops"]


def optbinning(X: pd.DataFrame) -> Any:
    from optbinning import BinningProcess, Scorecard

    return Scorecard(BinningProcess(list(X.columns)), LogisticRegression(max_iter=1000))


def raw(X: pd.DataFrame, y: np.ndarray, place: Path) -> list[Any]:
    xgboost().fit(X, y).save_model(place / "model.ubj")
    return [place / "model.ubj"]


KINDS: dict[str, Callable[[], Any]] = {
    "xgboost": xgboost,
    "lightgbm": lightgbm,
    "catboost": catboost,
    "forest": forest,
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "logistic": logistic,
    "powers": lambda: make_pipeline(PowerTransformer(), LogisticRegression(max_iter=1000)),
    "network": lambda: make_pipeline(StandardScaler(), MLPClassifier((16,), random_state=0, tol=1e-2)),
    "calibrated": lambda: CalibratedClassifierCV(forest(), cv=2),
    "votes": lambda: VotingClassifier([("f", forest()), ("l", logistic())], voting="soft"),
    "stack": lambda: StackingClassifier([("f", forest()), ("l", logistic())], cv=2),
    "scorecard": scorecard,
    "neighbours": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(15)),
    "guided xgboost": xgboost,
    "guided stack": lambda: StackingClassifier([("f", forest()), ("l", logistic())], cv=2),
    "boosting with words": lambda: HistGradientBoostingClassifier(
        random_state=0, categorical_features="from_dtype"
    ),
    "lightgbm with words": lightgbm,
    "catboost with words": lambda: catboost(one_hot_max_size=10),
    "catboost with counters": lambda: catboost(one_hot_max_size=2),
}
WORDS = [kind for kind in KINDS if kind.endswith((" words", " counters"))]
FILES: dict[str, Callable[[pd.DataFrame, np.ndarray, Path], list[Any]]] = {
    "raw xgboost": raw,
    "onnx": onnx,
    "torch": torch,
}
"""Kinds that come as a file: it, and further options of `adopt`."""


OPTBINNING = "optbinning"


class Commands:
    """The commands, one process each, over one model file."""

    def __init__(self, folder: Path, X: pd.DataFrame, y: np.ndarray) -> None:
        folder.mkdir()
        self.folder, self.X, self.y = folder, X, y
        self.processor: dict[str, float] = {}
        self.train, self.people = folder / "train.csv", folder / "people.csv"
        X.assign(**{TARGET: y, KEY: np.arange(len(X))}).to_csv(self.train, index=False)
        X[:40].assign(**{KEY: np.arange(40)}).to_csv(self.people, index=False)

    def call(self, *args: Any, code: int = 0) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "holdtrue.cli", *map(str, args)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != code:
            raise AssertionError(f"{args[0]} ended with {done.returncode}: {done.stderr[-300:]}")
        return done

    def tell(self, *args: Any) -> Any:
        return json.loads(self.call(*args, "--json").stdout)

    def all(
        self, model: Path, own: np.ndarray, trains: bool, ray: bool, only: Collection[str] = ()
    ) -> dict[str, str]:
        """Every command's outcome, or of some `only`: "done", or what went wrong."""
        place = self.folder / model.stem
        place.mkdir(exist_ok=True)
        answers, ledger, certified = place / "answers.csv", place / "promises.db", place / "certified.holdtrue"
        record_file = place / "record.json"

        def recourse() -> None:
            ht.Ledger.create(str(ledger)).close()
            self.call("recourse", model, self.people, "--out", answers, "--ledger", ledger, "--subject", KEY,
                      "--valid-for", 90, "--reason", REASON)  # fmt: skip
            said = pd.read_csv(answers)["holdtrue_status"].to_numpy()
            assert np.array_equal(said == "ALREADY_FAVOURABLE", own), "people are told otherwise than decided"
            with ht.Ledger(str(ledger)) as book:
                promised = [str(promise.text) for some in book.live() for promise in some]
            assert len(promised) == np.isin(said, WITH_RECOURSE).sum(), "not everything found is promised"
            record_file.write_text(promised[0], encoding="utf-8")

        def shelf_life() -> None:
            asked = ("shelf-life", model, self.people, "--train", self.train, "--target", TARGET, "--models", 3)
            said = self.call(*asked, "--json", code=0 if trains else 2)
            assert trains or "does not say how it was trained" in said.stderr

        def audit() -> None:
            assert self.tell("audit", model, self.people)["n_at_odds"] == 0

        def verify() -> None:
            assert self.tell("verify", certified, "--calibration", self.train)["ok"]

        def replay() -> None:
            assert self.tell("replay", record_file, "--model", model, "--reference", self.train)["same"] is True

        def gate() -> None:
            assert self.tell("gate", certified, "--ledger", ledger, "--alternatives", 0)["ok"]

        def reasons() -> None:
            asked = ("reasons", model, self.people, "--reference", self.train, "--rows", 20, "--json")
            assert len(self.call(*asked).stdout.splitlines()) == int((~own).sum())

        def evidence() -> None:
            place_of, asked = place / "evidence.zip", ("evidence", model, self.train, "--target", TARGET)
            self.call(*asked, "--ledger", ledger, "--people", 5, "--reasons", 2, "--reference", self.people,
                      "--out", place_of)  # fmt: skip
            assert self.tell("evidence", "--verify", place_of)["ok"]

        def mlflow() -> None:
            command = [sys.executable, "-c", MLFLOW, str(model), str(place / "runs.db"), str(self.people)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=place)
            assert done.returncode == 0, done.stderr[-300:]

        def on_ray() -> None:
            other = place / "ray.csv"
            self.call("recourse", model, self.people, "--out", other, "--ray", "local", "--ray-cores", 1)
            assert other.read_bytes().count(b"\n") == answers.read_bytes().count(b"\n")

        jobs: dict[str, Callable[[], Any]] = {
            "recourse": recourse,
            "audit": audit,
            "shelf-life": shelf_life,
            "certify": lambda: self.call("certify", model, self.train, "--miscoverage", 0.4, "--out", certified),
            "verify": verify,
            "replay": replay,
            "gate": gate,
            "letter": lambda: self.call("letter", record_file),
            "reasons": reasons,
            "evidence": evidence,
            "serve": lambda: self.serve(model, own),
            "pages": lambda: self.serve(
                model, own, "--applicants", self.people, "--subject", KEY, "--ledger", ledger
            ),
            "mlflow": mlflow,
        }
        jobs |= {"ray": on_ray} if ray else {}
        out = {}
        for name, job in jobs.items():
            if only and name not in only:
                continue
            before = _processor()
            try:
                job()
                out[name] = "done"
            except Exception as error:
                out[name] = f"{type(error).__name__}: {str(error)[:300]}"
            self.processor[name] = round(_processor() - before, 1)
        return out

    def serve(self, model: Path, own: np.ndarray, *pages: Any) -> None:
        """What a warm service answers: to a program, or with applicants, on the officer's page."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [
            sys.executable,
            "-m",
            "holdtrue.cli",
            "serve",
            str(model),
            "--port",
            str(port),
            "--options",
            "1",
            "--deadline",
            "120",
            *map(str, pages),
        ]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, **quiet) as process:  # type: ignore[call-overload]
            try:
                _until_ready(f"http://localhost:{port}/health", 300)
                person = int(np.flatnonzero(~own)[0])
                if pages:
                    assert f"{(~own).sum()} applicants".encode() in _get(f"http://localhost:{port}/desk")
                    said = _get(f"http://localhost:{port}/desk/{person}")
                    assert b"The answer is no." in said, said[:200]
                    assert b'name="option"' in said, "no recourse on the page"
                    return
                row = json.loads(self.X.iloc[[person]].to_json(orient="records"))[0]
                said = _get(f"http://localhost:{port}/v1/recourse", {"people": [row]})
                assert b"FOUND" in said or b"OPTIMAL" in said, said[:200]
            finally:
                process.terminate()


BROWSER = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())  # the pages set one and come back


def _get(url: str, body: Any = None) -> bytes:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with BROWSER.open(request, timeout=300) as answer:
        return answer.read()


def _processor() -> float:
    """Processor seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _until_ready(url: str, seconds: float) -> None:
    began = time.monotonic()
    while True:
        try:
            _get(url)
            return
        except OSError:
            if time.monotonic() - began > seconds:
                raise
            time.sleep(0.5)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kinds", default=",".join([*KINDS, OPTBINNING, *FILES]))
    parser.add_argument("--table", default="taiwan_credit")
    parser.add_argument("--rows", type=int, default=800)
    parser.add_argument("--ray", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--commands", default="", help="ask these alone, and write nothing down")
    args = parser.parse_args()
    bank = ht.datasets.load(args.table)
    assert bank.schema is not None
    X, y = bank.X.head(args.rows).reset_index(drop=True), np.asarray(bank.y)[: args.rows]
    levels = [f.name for f in bank.schema if f.has_levels]
    words = X.astype(dict.fromkeys(levels, str)).assign(**{c: "group " + X[c].astype(str) for c in levels})
    y = (y == np.unique(y)[-1]).astype(int)
    command = f"python -m benchmarks.matrix --table {args.table} --rows {args.rows}" + (
        " --ray" if args.ray else ""
    )
    only = [name for name in args.commands.split(",") if name]
    found = {} if args.again or only else _done_before(command)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        numbers = Commands(Path(folder) / "numbers", X.drop(columns=levels), y)
        texts = Commands(Path(folder) / "words", words, y)
        for kind in args.kinds.split(","):
            if kind in found:
                continue
            try:
                found[kind] = _asked(kind, texts if kind in WORDS else numbers, args.ray, only)
            except Exception as error:  # not even adopted
                found[kind] = {
                    "done": 0,
                    "of": 1,
                    "wrong": {"adopt": f"{type(error).__name__}: {str(error)[:300]}"},
                }
            print(kind, found[kind], flush=True)
            if only:
                continue
            counts = {name: sum(one[name] for one in found.values()) for name in ("done", "of")}
            record("matrix", command, counts | {"kinds": found}, shown=False)


def _done_before(command: str) -> dict[str, Any]:
    """Kinds that an earlier call of the same command has asked."""
    place = RESULTS / "matrix.json"
    if not place.exists():
        return {}
    before = json.loads(place.read_text(encoding="utf-8"))
    return before["kinds"] if before["command"] == command else {}


def _learned(model: Any, X: pd.DataFrame, y: np.ndarray) -> Any:
    """The model, fitted; words as its library wants them."""
    texts = [c for c in X if X[c].dtype.kind not in "iufb"]
    if texts and type(model).__name__ == "CatBoostClassifier":
        return model.fit(X, y, cat_features=texts)
    return model.fit(X.astype(dict.fromkeys(texts, "category")), y)


def _asked(kind: str, commands: Commands, ray: bool, only: Collection[str] = ()) -> dict[str, Any]:
    """One kind: adopted, and asked by every command, or some `only`."""
    X, y, folder = commands.X, commands.y, commands.folder
    began, model = time.perf_counter(), folder / f"{kind.replace(' ', '-')}.holdtrue"
    if kind in FILES:
        theirs, *more = FILES[kind](X, y, folder)
        ht.Schema.infer(X).save(folder / "schema.yaml")
        commands.call("adopt", theirs, *more, "--reference", commands.train, "--out", model, "--threshold", 0.8,
                      "--schema", folder / "schema.yaml")  # fmt: skip
    else:
        theirs = optbinning(X) if kind == OPTBINNING else KINDS[kind]()
        ht.adopt(
            _learned(theirs, X, y),
            ht.Schema.infer(X),
            reference=X,
            threshold=0.8,
            **({"labels": y, "hold": 0.8, "n_guides": 4} if kind.startswith("guided") else {}),
        ).save(model)
    clf = ht.load(model)
    foreign = clf.predictor_.foreign
    assert foreign is not None
    own = foreign.estimator.predict_proba(foreign.frame(clf._read(X[:40])))[:, 1] >= 0.8
    outcome = commands.all(model, own, kind not in ("onnx", "torch", OPTBINNING), ray, only)
    return {
        "done": sum(said == "done" for said in outcome.values()),
        "of": len(outcome),
        "wrong": {name: said for name, said in outcome.items() if said != "done"},
        "read": foreign.note,
        "seconds": round(time.perf_counter() - began, 1),
        "processor": dict(commands.processor),
    }


if __name__ == "__main__":
    main()
