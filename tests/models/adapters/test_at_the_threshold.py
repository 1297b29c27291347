"""Who stands right at the threshold is told what the model itself decides."""

import json
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import holdtrue as ht
from holdtrue.batch import wrap
from holdtrue.datasets import Dataset
from holdtrue.errors import HoldtrueError
from holdtrue.methods import NearestNeighbour
from holdtrue.models import Remote
from holdtrue.models.adapters import from_torch
from holdtrue.search import Problems, Solutions, Status
from holdtrue.testing._world import PLAIN, people

from .conftest import CATEGORIES


def _xgboost() -> Any:
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=100, random_state=0)


def _lightgbm() -> Any:
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=40, random_state=0, verbose=-1, n_jobs=1)


def _logistic() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))


MODELS: dict[str, Callable[[], Any]] = {
    "logistic": _logistic,
    "network": lambda: make_pipeline(StandardScaler(), MLPClassifier((8,), random_state=0, tol=0.01)),
    "tree": lambda: DecisionTreeClassifier(max_depth=6, random_state=0),
    "forest": lambda: RandomForestClassifier(30, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(30, random_state=0),
    "gradient boosting": lambda: GradientBoostingClassifier(n_estimators=30, random_state=0),
    "histogram boosting": lambda: HistGradientBoostingClassifier(max_iter=30, random_state=0),
    "xgboost": _xgboost,
    "lightgbm": _lightgbm,
    "voting": lambda: VotingClassifier([("x", _xgboost()), ("l", _logistic())], voting="soft"),
    "calibrated": lambda: CalibratedClassifierCV(RandomForestClassifier(20, random_state=0), cv=3),
    "isotonic": lambda: CalibratedClassifierCV(
        RandomForestClassifier(20, random_state=0), cv=3, method="isotonic"
    ),
    "stacked": lambda: StackingClassifier([("x", _xgboost()), ("l", _logistic())], cv=3),
    "neighbours": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(10)),
}


@pytest.fixture(scope="module")
def bank() -> Dataset:
    """Loan applications: amounts with cents, ratios, and a rate without any step.

    Without limits across columns, whose repair is most of a program, and one is compiled for each model here.
    """
    bank = ht.datasets.load("loanapp")
    names = ["loanprc", "obrat", "atotinc", "unem", "unver", "pubrec", "cons"]
    return replace(bank, X=bank.X[names], schema=ht.Schema([bank.schema[name] for name in names]))


FEWER = NearestNeighbour(n_rows=300, n_candidates=64)
"""Who needs to do nothing is known before any candidate is asked about."""

Decide = Callable[[pd.DataFrame], np.ndarray]
"""What a model itself says of rows of its own columns: whether it accepts them."""


def at_threshold(decide: Decide, X: pd.DataFrame, schema: ht.Schema, n: int = 40) -> pd.DataFrame:
    """Pairs of rows on either side of the boundary, as near to it as float64 has them."""
    rng = np.random.default_rng(0)
    decided = decide(X)
    no, yes = np.flatnonzero(~decided), np.flatnonzero(decided)
    low = X.iloc[rng.choice(no, 10 * n)].reset_index(drop=True)
    numbers = [f.name for f in schema if f.kind == "numeric"]
    low[numbers] = low[numbers].astype(float)
    high = low.copy()
    high[numbers] = X.iloc[rng.choice(yes, 10 * n)][numbers].to_numpy(float)
    crosses = ~decide(low) & decide(high)
    low, high = (part[crosses].head(n).reset_index(drop=True) for part in (low, high))
    for _ in range(60):
        middle = low.copy()
        middle[numbers] = (low[numbers] + high[numbers]) / 2
        up = decide(middle)
        low.loc[~up, numbers], high.loc[up, numbers] = middle.loc[~up, numbers], middle.loc[up, numbers]
    return pd.concat([low, high], ignore_index=True)


def check(model: Any, decide: Decide, X: pd.DataFrame, schema: ht.Schema) -> None:
    """Rows at the threshold, and the table's own: only whom the model accepts need do nothing."""
    rows = pd.concat([at_threshold(decide, X, schema), X[~decide(X)].head(60)], ignore_index=True)
    rows = rows.astype(X.dtypes[X.dtypes == "category"])
    plan = ht.recourse(model, rows, schema, FEWER, reference=X)
    accepted = decide(rows)
    assert 20 <= accepted.sum() < len(rows)
    assert ((plan.status == int(Status.ALREADY_FAVOURABLE)) == accepted).all()
    assert plan.found.any()
    told = plan.to_frame()[list(X.columns)].astype(X.dtypes[X.dtypes == "category"])
    assert decide(told)[plan.found].all()
    assert ht.audit(plan).n_at_odds == 0


@pytest.mark.parametrize("name", MODELS)
def test_decided_by_the_model_itself(name: str, bank: Dataset) -> None:
    model = MODELS[name]().fit(bank.X, bank.y)
    check(model, lambda rows: model.predict(rows) == 1, bank.X, bank.schema)


def test_categories_of_its_own() -> None:
    """Histogram boosting that splits by sets of categories, and columns with missing values."""
    X, y = people(600)
    X = X.astype(dict.fromkeys(CATEGORIES, "category"))
    model = HistGradientBoostingClassifier(max_iter=30, random_state=0, categorical_features="from_dtype")
    model.fit(X, y)
    check(model, lambda rows: model.predict(rows) == 1, X, PLAIN)


@pytest.mark.parametrize("words", [None, 20, 1])
def test_catboost(words: int | None, bank: Dataset) -> None:
    """Numbers alone; words, each asked for by its name; and words counted, which are asked as a black box."""
    catboost = pytest.importorskip("catboost", reason="needs pip install 'holdtrue[catboost]'")
    options = {"iterations": 30, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
    X, y, schema = bank.X, bank.y, bank.schema
    if words is not None:
        X, y = people(600)
        X, schema = X.assign(job=X["job"].where(X["job"].notna(), "none").astype(str)), PLAIN
        options |= {"one_hot_max_size": words, "cat_features": CATEGORIES}
    model = catboost.CatBoostClassifier(**options).fit(X, y)
    check(model, lambda rows: np.ravel(model.predict(rows)) == 1, X, schema)


@pytest.mark.parametrize("trees", [False, True])
def test_onnx(trees: bool, bank: Dataset) -> None:
    """What onnxruntime answers for a row of float32."""
    skl2onnx, runtime = pytest.importorskip("skl2onnx"), pytest.importorskip("onnxruntime")
    numbers = bank.X.to_numpy(np.float32)
    model = RandomForestClassifier(20, random_state=0) if trees else _logistic()
    proto = skl2onnx.to_onnx(model.fit(numbers, bank.y), numbers[:1], options={"zipmap": False})
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1  # on more it adds trees in another order
    session = runtime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def decide(rows: pd.DataFrame) -> np.ndarray:
        (label,) = session.run(["label"], {"X": rows.to_numpy(np.float32)})
        return np.asarray(label) == 1

    check(proto, decide, bank.X, bank.schema)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_a_scorecard_of_optbinning(bank: Dataset) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a solver that it does not use here
        library = pytest.importorskip("optbinning", reason="needs pip install 'holdtrue[optbinning]'")
    columns = ["loanprc", "obrat", "atotinc", "unver", "pubrec", "cons"]
    X, schema = bank.X[columns], ht.Schema([bank.schema[name] for name in columns])
    card = library.Scorecard(library.BinningProcess(columns), LogisticRegression()).fit(X, bank.y)
    check(card, lambda rows: np.asarray(card.predict(rows)) == 1, X, schema)


@pytest.mark.parametrize("weights", [None, [0.3, 0.3, 0.4], [1, 1, 2]])
def test_hard_votes(weights: list[float] | None, bank: Dataset) -> None:
    """Shares of votes, whatever weights they have; where they are even, the first class is decided."""
    parts = [("t", DecisionTreeClassifier(max_depth=6, random_state=0)), ("l", _logistic()),
             ("f", RandomForestClassifier(9, random_state=0))]  # fmt: skip
    model = VotingClassifier(parts, weights=weights).fit(bank.X, bank.y)
    check(model, lambda rows: model.predict(rows) == 1, bank.X, bank.schema)


def test_a_function(bank: Dataset) -> None:
    model = _logistic().fit(bank.X, bank.y)

    def score(rows: pd.DataFrame) -> np.ndarray:
        return model.predict_proba(rows[list(bank.X.columns)])[:, 1]

    check(score, lambda rows: score(rows) > 0.5, bank.X, bank.schema)


@pytest.mark.parametrize("strange", [False, True])
def test_torch(strange: bool, bank: Dataset) -> None:
    """Layers that are converted, and a module that torch itself is asked about."""
    torch = pytest.importorskip("torch", reason="torch is not installed; pip install 'holdtrue[torch]' to run it")
    scaler, theirs = StandardScaler().fit(bank.X), LogisticRegression(max_iter=500)
    theirs.fit(scaler.transform(bank.X), bank.y)
    first, last = torch.nn.Linear(bank.X.shape[1], 8), torch.nn.Linear(8, 1)
    bent = torch.nn.Softplus() if strange else torch.nn.LeakyReLU(0.5)
    with torch.no_grad():
        first.weight[:] = torch.tensor(np.outer(np.arange(1, 9) / 8, theirs.coef_))
        first.bias[:] = torch.tensor(np.outer(np.arange(1, 9) / 8, theirs.intercept_)[:, 0])
        last.weight[:], last.bias[:] = 1.0, -6.0 if strange else -1.0
    net = torch.nn.Sequential(first, bent, last).eval()

    def decide(rows: pd.DataFrame) -> np.ndarray:
        with torch.no_grad():
            out = net(torch.tensor(scaler.transform(rows), dtype=torch.float32))
        return out[:, 0].numpy() > 0

    check(from_torch(net, scaler, outputs="logits"), decide, bank.X, bank.schema)


@pytest.fixture
def scores(bank: Dataset) -> Iterator[tuple[str, Any]]:
    """A service that scores rows, and the model behind it."""
    model = _logistic().fit(bank.X, bank.y)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["dataframe_split"]
            rows = pd.DataFrame(asked["data"], columns=asked["columns"])
            body = json.dumps({"predictions": model.predict_proba(rows).tolist()}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", model
    server.shutdown()
    server.server_close()


def test_a_scoring_service(scores: tuple[str, Any], bank: Dataset) -> None:
    """Numbers that went through JSON are the same numbers."""
    url, model = scores
    check(Remote(url), lambda rows: model.predict_proba(rows)[:, 1] > 0.5, bank.X, bank.schema)


def test_every_person_of_a_table(bank: Dataset) -> None:
    """A search that goes through float32 does not turn a refused person into an accepted one."""
    model = MODELS["voting"]().fit(bank.X, bank.y)
    refused = bank.X[model.predict(bank.X) == 0]
    plan = ht.recourse(model, refused, bank.schema, "nearest_neighbour", reference=bank.X)
    assert not (plan.status == int(Status.ALREADY_FAVOURABLE)).any()


def test_a_threshold_of_ones_own(bank: Dataset) -> None:
    """Votes that equal the threshold are a yes, as in ``predict_proba(X)[:, 1] >= 0.6``."""
    model = MODELS["forest"]().fit(bank.X, bank.y)
    rows = bank.X.head(300)
    plan = ht.recourse(model, rows, bank.schema, "nearest_neighbour", reference=bank.X, threshold=0.6)
    accepted = model.predict_proba(rows)[:, 1] >= 0.6 - 1e-9
    assert ((plan.status == int(Status.ALREADY_FAVOURABLE)) == accepted).all()


class Contrary(NearestNeighbour):
    """Says of everybody that nothing needs to change."""

    def search(self, problems: Problems, deadline: float | None, on_rows: Any) -> Solutions:
        """Nothing is searched for."""
        answer = Solutions.unreached(problems)
        answer.status[:] = int(Status.ALREADY_FAVOURABLE)
        return answer


def test_a_status_at_odds_with_the_model_is_an_error(bank: Dataset) -> None:
    """A method that tells a refused person to do nothing is stopped."""
    model = MODELS["logistic"]().fit(bank.X, bank.y)
    refused = bank.X[model.predict(bank.X) == 0].head(5)
    method = Contrary().fit(wrap(model, bank.schema, bank.X), bank.X)
    with pytest.raises(HoldtrueError, match=r"Contrary: .*ALREADY_FAVOURABLE.* 5 of 5"):
        method.recourse(refused)
