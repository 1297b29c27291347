"""ONNX graphs: converted operators give onnxruntime's values and the right slopes; what is not known is asked."""

import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

import holdtrue as ht
from holdtrue.errors import CapabilityError, DataError, MissingDependencyError
from holdtrue.models import BlackBoxModel, LinearModel
from holdtrue.models.adapters import LayersModel, TreesModel, from_onnx

from .conftest import mixed, ours

WHY = "is not installed; pip install 'holdtrue[onnx]' to run it"
onnx = pytest.importorskip("onnx", reason=f"onnx {WHY}")
onnxruntime = pytest.importorskip("onnxruntime", reason=f"onnxruntime {WHY}")
DATA = Path(__file__).parents[4] / "shared" / "data"
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(300, 4)) * [1, 10, 0.1, 1000], columns=["a", "b", "c", "d"])
X[["a", "b", "c", "d"]] = X.astype(np.float32).astype(np.float64)  # what a float32 input can hold
SCORE = X["a"] + X["b"] / 10 - 5 * X["c"] + X["d"] / 1000
Y = {2: (SCORE > 0).astype(int).to_numpy(), 3: (SCORE > 0).astype(int).to_numpy() + (SCORE > 1).to_numpy()}


def exported(estimator: Any, example: Any, **options: Any) -> Any:
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed; pip install skl2onnx to run it")
    return skl2onnx.to_onnx(estimator, example, **options)


def asked(model: Any, feed: dict[str, np.ndarray], output: int = 1) -> np.ndarray:
    """Probabilities from onnxruntime itself; on one thread, because on more it adds trees in another order."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    out = session.run(None, feed)[output]
    return np.array([[row[k] for k in sorted(row)] for row in out]) if isinstance(out, list) else out


def rows_of(table: pd.DataFrame) -> dict[str, np.ndarray]:
    return {"X": table.to_numpy(np.float32)}


CASES = {
    "logistic": (LogisticRegression(), 2, LinearModel),
    "logistic3": (make_pipeline(StandardScaler(), LogisticRegression()), 3, LinearModel),
    "scaled": (make_pipeline(StandardScaler(), LogisticRegression()), 2, LinearModel),
    "mlp": (make_pipeline(StandardScaler(), MLPClassifier((6, 5), max_iter=20, random_state=0)), 2, LayersModel),
    "tanh": (
        make_pipeline(MinMaxScaler(), MLPClassifier((6,), activation="tanh", max_iter=20, random_state=0)),
        3,
        LayersModel,
    ),
    "logistic units": (
        make_pipeline(StandardScaler(), MLPClassifier((4,), activation="logistic", max_iter=20, random_state=0)),
        2,
        LayersModel,
    ),
    "forest": (RandomForestClassifier(30, random_state=0), 2, TreesModel),
    "forest3": (RandomForestClassifier(30, max_depth=5, random_state=0), 3, TreesModel),
    "scaled forest": (make_pipeline(StandardScaler(), RandomForestClassifier(10, random_state=0)), 2, TreesModel),
    "boosting": (GradientBoostingClassifier(n_estimators=20, random_state=0), 2, TreesModel),
    "boosting3": (GradientBoostingClassifier(n_estimators=10, random_state=0), 3, TreesModel),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_what_scikit_learn_exports(name: str, zipped: bool) -> None:
    estimator, k, kind = CASES[name]
    estimator.fit(X.to_numpy(), Y[k])
    model = exported(estimator, X.to_numpy(np.float32)[:1], options={"zipmap": zipped})
    predictor = ht.wrap(model, None, X, favourable="(last)")
    assert isinstance(predictor.decision.model, kind), predictor.foreign
    assert predictor.classes.tolist() == list(range(k))
    for rows in (X, mixed(X, 500)):
        expected = asked(model, rows_of(rows))
        np.testing.assert_allclose(ours(predictor, rows), expected, atol=2e-6)
        if "forest" in name:  # shares of votes, to the last bit
            found: Any = predictor.decision.model
            sums = np.asarray(jax.vmap(found.sums)(predictor.encoder.encode(rows).astype(np.float32)))
            np.testing.assert_array_equal(sums, expected.astype(np.float32)[:, -sums.shape[1] :])


def test_columns_of_every_type() -> None:
    """One input for each column; texts, whole numbers and missing values prepared inside the graph."""
    table = pd.DataFrame(
        {
            "amount": X["b"].astype(np.float32),
            "rate": X["c"].astype(np.float32).mask(RNG.random(300) < 0.1),
            "town": RNG.choice(["x", "y", "z"], 300),
            "grade": RNG.choice([0, 1, 2, 5], 300),
        }
    )
    front = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["town"]),
        (make_pipeline(SimpleImputer(), StandardScaler()), ["amount", "rate"]),
        (OrdinalEncoder(), ["grade"]),
    )
    schema = ht.Schema(
        [
            ht.Feature(name="amount", kind="numeric"),
            ht.Feature(name="rate", kind="numeric", missing="median"),
            ht.Feature(name="town", kind="categorical"),
            ht.Feature(name="grade", kind="ordinal", levels=(0, 1, 2, 5)),
        ]
    )
    for last, kind in (
        (LogisticRegression(), LinearModel),
        (RandomForestClassifier(10, random_state=0), TreesModel),
    ):
        model = exported(make_pipeline(front, last).fit(table, Y[2]), table[:1])
        predictor = ht.wrap(model, schema, table, favourable="(last)")
        assert isinstance(predictor.decision.model, kind), predictor.foreign.note  # type: ignore[union-attr]
        rows = mixed(table, 400)
        feed = {name: rows[name].to_numpy()[:, None] for name in rows}
        feed["town"] = feed["town"].astype(object)
        np.testing.assert_allclose(ours(predictor, rows), asked(model, feed), atol=2e-6)


# ---- graphs made by hand -----------------------------------------------------------------------------


def graph(nodes: list[tuple[Any, ...]], constants: dict[str, Any], *, width: int = 4, k: int = 2) -> Any:
    """A model of ``(operator, inputs, output, attributes)``; the last output is the graph's."""
    made = []
    for op, inputs, output, *attributes in nodes:
        domain = "ai.onnx.ml" if op in ("Normalizer", "Scaler", "LinearClassifier") else ""
        made.append(onnx.helper.make_node(op, inputs, [output], domain=domain, **(attributes or [{}])[0]))
    tensors = [
        onnx.numpy_helper.from_array(np.asarray(v, np.int64 if n.startswith("at") else np.float32), n)
        for n, v in constants.items()
    ]
    ends = [
        onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [None, w])
        for n, w in (("X", width), (nodes[-1][2], k))
    ]
    proto = onnx.helper.make_graph(made, "by-hand", ends[:1], ends[1:], tensors)
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("ai.onnx.ml", 3)]
    return onnx.helper.make_model(proto, opset_imports=opsets, ir_version=8)


def weights(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape) / np.sqrt(shape[-1])


SCALED = ("Scaler", ["X"], "s", {"offset": [0.0, 1.0, 0.0, 0.0], "scale": [1.0, 0.1, 10.0, 0.001]})
RESIDUAL = graph(
    [
        SCALED,
        ("Gemm", ["s", "w1", "b1"], "h0", {"transB": 1, "alpha": 0.5, "beta": 2.0}),
        ("BatchNormalization", ["h0", "gain", "b1", "mean", "var"], "h1"),
        ("LeakyRelu", ["h1"], "h2", {"alpha": 0.3}),
        ("MatMul", ["h2", "w2"], "h3"),
        ("Tanh", ["h3"], "h4"),
        ("Add", ["h2", "h4"], "h5"),  # a short cut past a layer
        ("Concat", ["h5", "s"], "h6", {"axis": 1}),  # and one from the input
        ("Sigmoid", ["h6"], "h7"),
        ("Mul", ["h7", "h6"], "h8"),
        ("Gemm", ["h8", "w3", "b3"], "out"),
    ],
    {
        "w1": weights(5, 4),
        "b1": weights(5),
        "gain": 1 + weights(5, seed=1) ** 2,
        "mean": weights(5, seed=2),
        "var": 1 + weights(5, seed=3) ** 2,
        "w2": weights(5, 5, seed=4),
        "w3": weights(9, 3, seed=5),
        "b3": weights(3, seed=6),
    },
    k=3,
)
LAST = {
    "softmax": ([("Softmax", ["z"], "out")], 3),
    "log softmax": ([("LogSoftmax", ["z"], "out")], 3),
    "logits": ([("Identity", ["z"], "out")], 3),
    "one logit": ([("Flatten", ["z"], "out")], 1),
    "one probability": ([("Sigmoid", ["z"], "out")], 1),
    "one against the rest": ([("Sigmoid", ["z"], "p"), ("Normalizer", ["p"], "out", {"norm": "L1"})], 3),
    "by a sum": (
        [("Exp", ["z"], "e"), ("ReduceSum", ["e", "at"], "t"), ("Div", ["e", "t"], "prob")],
        3,
    ),
    "one less": (
        [("Sigmoid", ["z"], "p"), ("Sub", ["one", "p"], "q"), ("Concat", ["q", "p"], "prob", {"axis": 1})],
        1,
    ),
}


def network(last: str) -> Any:
    nodes, k = LAST[last]
    constants = {"w1": weights(4, 6), "b1": weights(6), "w2": weights(6, k, seed=1), "one": [1.0], "at": [1]}
    first = [SCALED, ("MatMul", ["s", "w1"], "m"), ("Add", ["m", "b1"], "h"), ("Relu", ["h"], "r")]
    return graph([*first, ("MatMul", ["r", "w2"], "z"), *nodes], constants, k=2 if last == "one less" else k)


def softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("last", LAST)
def test_what_a_network_may_give(last: str) -> None:
    model = network(last)
    predictor = ht.wrap(model, None, X, favourable="(last)")
    assert isinstance(predictor.decision.model, LayersModel), predictor.foreign
    rows = mixed(X, 300)
    out = asked(model, rows_of(rows), 0).astype(np.float64)
    if last in ("logits", "log softmax"):
        out = softmax(out)
    elif out.shape[1] == 1:
        p = 1 / (1 + np.exp(-out)) if last == "one logit" else out
        out = np.hstack([1 - p, p])
    np.testing.assert_allclose(ours(predictor, rows), out, atol=2e-6)


def test_short_cuts_and_their_slopes() -> None:
    predictor = ht.wrap(RESIDUAL, None, X, favourable="(last)")
    model = predictor.decision.model
    assert isinstance(model, LayersModel), predictor.foreign
    rows = mixed(X, 300)
    np.testing.assert_allclose(ours(predictor, rows), softmax(asked(RESIDUAL, rows_of(rows), 0)), atol=5e-6)

    x = predictor.encoder.encode(rows.head(20))
    slope = np.asarray(jax.vmap(jax.jacobian(model.logits))(x.astype(np.float32)))
    for c in range(4):
        step = 1e-2 * predictor.encoder.scale[c]
        names = list(X)
        ends = [rows.head(20).assign(**{names[c]: rows[names[c]].head(20) + s}) for s in (step, -step)]
        up, down = (asked(RESIDUAL, rows_of(end), 0).astype(np.float64) for end in ends)
        np.testing.assert_allclose(slope[:, :, c], (up - down) / 2e-2, atol=3e-2 * np.abs(slope).max())


def test_recourse_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(network("one less"), path)
    p = from_onnx(path).predict_proba(X.to_numpy())[:, 1]
    level = float(np.quantile(p, 0.6))
    refused = X[p < level].head(10)
    plan = ht.recourse(str(path), refused, None, "wachter", reference=X, threshold=level)
    assert plan.found.mean() > 0.8
    advised = np.column_stack([plan.recourse.columns[name] for name in X])[plan.found]
    assert (asked(network("one less"), {"X": advised.astype(np.float32)}, 0)[:, 1] >= level - 1e-6).all()


# ---- what is not known -------------------------------------------------------------------------------


STRANGE = graph([("MatMul", ["X", "w"], "z"), ("Softplus", ["z"], "out")], {"w": weights(4, 2)})


def test_another_operator_is_asked_through_onnxruntime() -> None:
    predictor = ht.wrap(STRANGE, None, X, favourable="(last)")
    assert isinstance(predictor.decision.model, BlackBoxModel)
    assert "the ONNX operator Softplus" in predictor.foreign.note  # type: ignore[union-attr]
    expected = softmax(asked(STRANGE, rows_of(X), 0).astype(np.float64))
    np.testing.assert_allclose(ours(predictor, X), expected, atol=1e-5)


def test_without_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(CapabilityError, match=r"ONNX operator; got Softplus\. Install onnxruntime"):
        from_onnx(STRANGE)
    found = from_onnx(RESIDUAL).predict_proba(X.to_numpy()[:50])
    np.testing.assert_allclose(found, softmax(asked(RESIDUAL, rows_of(X[:50]), 0)), atol=1e-5)


def test_without_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingDependencyError, match=r"holdtrue\[onnx\]"):
        ht.wrap("model.onnx", None, X)


def test_damaged_and_foreign_files(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for content in (
        b"",
        b"PK\x03\x04 a zip",
        RESIDUAL.SerializeToString()[:-100],
        b"\x00" * 64,
        b"name,age\nA,3\n",
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match="from_onnx") as error:
            ht.wrap(path, None, X)
        assert str(tmp_path) not in str(error.value)
    with pytest.raises(DataError, match="no such file"):
        ht.wrap(tmp_path / "other.onnx", None, X)
    with pytest.raises(CapabilityError, match="ModelProto"):
        from_onnx(3)
    with pytest.raises(DataError, match="no such output"):
        from_onnx(RESIDUAL, output="elsewhere")
    with pytest.raises(DataError, match="outputs"):
        from_onnx(RESIDUAL, outputs="odds")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="reads 4 columns but the schema has 3"):
        ht.wrap(RESIDUAL, None, X[["a", "b", "c"]])


def test_three_classes_by_stochastic_gradient_descent() -> None:
    # Its export guards against a sum of 0 with operators that no adapter reads.
    model = exported(
        SGDClassifier(loss="log_loss", random_state=0).fit(X.to_numpy(), Y[3]), X.to_numpy(np.float32)[:1]
    )
    predictor = ht.wrap(model, None, X, favourable=2)
    assert isinstance(predictor.decision.model, BlackBoxModel)
    np.testing.assert_allclose(ours(predictor, X), asked(model, rows_of(X)), atol=1e-5)


# ---- real data ---------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["loanapp", "heloc"])
@pytest.mark.parametrize(
    "last",
    [
        LogisticRegression(),
        MLPClassifier((10,), max_iter=10, random_state=0),
        RandomForestClassifier(30, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_real_data(name: str, last: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if name != "loanapp":
        if not DATA.is_dir():
            pytest.skip("needs the data files in ../shared/data beside the repository")
        monkeypatch.setenv("HOLDTRUE_DATA", str(DATA))
    bank = ht.datasets.load(name)
    numbers = [f.name for f in bank.schema if bank.X[f.name].dtype.kind in "iuf"]
    table = bank.X[numbers].head(3000)
    schema = ht.Schema([bank.schema[n] for n in numbers])
    estimator = make_pipeline(SimpleImputer(), StandardScaler(), last)
    estimator.fit(table.to_numpy(np.float64), np.asarray(bank.y)[table.index])
    model = exported(estimator, table.to_numpy(np.float32)[:1])
    predictor = ht.wrap(model, schema, table, favourable="(last)")
    assert not isinstance(predictor.decision.model, BlackBoxModel), predictor.foreign.note  # type: ignore[union-attr]
    for rows in (table, mixed(table, 500)):
        np.testing.assert_allclose(ours(predictor, rows), asked(model, rows_of(rows)), atol=5e-6)
