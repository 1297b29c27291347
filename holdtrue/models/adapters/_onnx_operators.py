"""The table of ONNX operators that are understood: each makes a value of the graph from others."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from holdtrue._types import Label
from holdtrue.models.adapters._columns import Column, NotUnderstood, Number, imputed, one_hot, relabelled
from holdtrue.models.adapters._grow import Comparison, Sums, Tree
from holdtrue.models.adapters._onnx_values import (
    DOUBLE,
    FLOAT,
    WHOLE,
    Attributes,
    Dense,
    Trees,
    Value,
    Values,
    cast,
    constant,
    dense,
    flat_row,
    side_by_side,
)
from holdtrue.models.adapters._outputs import Outputs


def _same(inputs: Values, _: Attributes) -> Value:
    return inputs[0]


def _arithmetic(op: str) -> Callable[[Values, Attributes], Value]:
    def apply(inputs: Values, _: Attributes) -> Value:
        left, right = inputs
        if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
            return {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[op](left, right)
        if isinstance(right, np.ndarray):
            amounts = flat_row(right)
            if isinstance(left, list) and amounts.size in (1, len(left)):
                single = right.dtype == np.float32
                out = [c.then(op, a) for c, a in zip(left, np.resize(amounts, len(left)), strict=True)]
                return [c.then("single") for c in out] if single else out
            v = _widened(dense(left), amounts.size)
            if op in ("mul", "div"):
                return v.times(np.diag(np.resize(amounts if op == "mul" else 1 / amounts, len(v.bias))))
            return replace(v, bias=v.bias + (amounts if op == "add" else -amounts))
        if isinstance(left, np.ndarray):
            amounts = flat_row(left)
            v = _widened(dense(right), amounts.size)
            if op == "mul":
                return v.times(np.diag(np.resize(amounts, len(v.bias))))
            if op == "div":
                constant = replace(v, weight=np.zeros_like(v.weight), bias=np.resize(amounts, len(v.bias)))
                return side_by_side([constant, v]).then("quotient", len(v.bias))
            return replace(v, weight=v.weight if op == "add" else -v.weight,
                           bias=amounts + (v.bias if op == "add" else -v.bias))  # fmt: skip
        a, b = dense(left), dense(right)
        n = max(len(a.bias), len(b.bias))
        both = side_by_side([_widened(a, n), _widened(b, n)])
        if op in ("add", "sub"):
            return both.times(np.hstack([np.eye(n), np.eye(n) if op == "add" else -np.eye(n)]))
        return both.then("product" if op == "mul" else "quotient", n)

    return apply


def _widened(v: Dense, n: int) -> Dense:
    """One value repeated, where the other side has more."""
    if len(v.bias) == n or n == 1:
        return v
    if len(v.bias) != 1:
        raise NotUnderstood(f"{len(v.bias)} values with {n}")
    return v.times(np.ones((n, 1)))


def _gemm(inputs: Values, attributes: Attributes) -> Dense:
    if attributes.get("transA", 0):
        raise NotUnderstood("a Gemm across rows")
    weight = constant(inputs[1], "a matrix").astype(np.float64)
    weight = weight if attributes.get("transB", 0) else weight.T
    v = dense(inputs[0]).times(attributes.get("alpha", 1.0) * weight)
    if len(inputs) > 2 and inputs[2] is not None:
        v = replace(v, bias=v.bias + attributes.get("beta", 1.0) * flat_row(constant(inputs[2], "a bias")))
    return v


def _matmul(inputs: Values, _: Attributes) -> Dense:
    weight = constant(inputs[1], "a matrix").astype(np.float64)
    if weight.ndim != 2:
        raise NotUnderstood(f"a MatMul with an array of shape {weight.shape}")
    return dense(inputs[0]).times(weight.T)


def _function(name: str) -> Callable[[Values, Attributes], Dense]:
    def apply(inputs: Values, attributes: Attributes) -> Dense:
        _along_row(attributes.get("axis", -1))
        return dense(inputs[0]).then(name, slope=attributes.get("alpha", 0.01))

    return apply


def _log_softmax(inputs: Values, attributes: Attributes) -> Dense:
    return _function("softmax")(inputs, attributes).then("log")


def _along_row(axis: int) -> None:
    if axis not in (1, -1):
        raise NotUnderstood(f"an operator along axis {axis}")


def _batch_norm(inputs: Values, attributes: Attributes) -> Dense:
    if attributes.get("training_mode", 0):
        raise NotUnderstood("a BatchNormalization in training")
    gain, shift, mean, variance = (constant(part, "a statistic").astype(np.float64) for part in inputs[1:])
    scale = gain / np.sqrt(variance + attributes.get("epsilon", 1e-5))
    return dense(inputs[0]).times(np.diag(scale), shift - mean * scale)


def _scaler(inputs: Values, attributes: Attributes) -> Value:
    single = (np.asarray(attributes[name], np.float32) for name in ("offset", "scale"))
    offset, scale = single
    return _arithmetic("mul")([_arithmetic("sub")([inputs[0], offset], {}), scale], {})


def _normalizer(inputs: Values, attributes: Attributes) -> Value:
    norm = attributes.get("norm", b"MAX").decode()
    if norm == "MAX":
        raise NotUnderstood("a Normalizer by the maximum")
    value = inputs[0]
    if isinstance(value, Trees):
        if norm != "L1":
            raise NotUnderstood("a Normalizer of trees")
        return value  # probabilities already, or logits' softmax: their sum is 1
    return dense(value).then(norm.lower())


def _reshape(inputs: Values, attributes: Attributes) -> Value:
    value, shape = inputs[0], np.ravel(constant(inputs[1], "a shape")).tolist()
    if isinstance(value, np.ndarray):
        return value.reshape(shape)
    width = len(value) if isinstance(value, list) else len(dense(value).bias)
    if shape not in ([-1, width], [0, width], [0, -1]) and not (width == 1 and shape in ([-1], [-1, 1])):
        raise NotUnderstood(f"a Reshape to {shape}")
    return value


def _flatten(inputs: Values, attributes: Attributes) -> Value:
    _along_row(attributes.get("axis", 1))
    return inputs[0]


def _concat(inputs: Values, attributes: Attributes) -> Value:
    _along_row(attributes.get("axis", 1))
    return side_by_side(inputs)


def _gather(inputs: Values, attributes: Attributes) -> Value:
    _along_row(attributes.get("axis", 0))
    return _take([inputs[0], inputs[1]], {})


def _take(inputs: Values, _: Attributes) -> Value:
    at = np.ravel(constant(inputs[1], "a choice of columns")).astype(int)
    if isinstance(inputs[0], list):
        return [inputs[0][i] for i in at]
    v = dense(inputs[0])
    return v.times(np.eye(len(v.bias))[at])


def _convert(inputs: Values, attributes: Attributes) -> Value:
    kind, value = attributes["to"], inputs[0]
    if kind in (FLOAT, DOUBLE):
        return [cast(column, kind) for column in value] if isinstance(value, list) else value
    if kind in WHOLE and isinstance(value, list):
        whole = [not isinstance(c, Number) and (c.numbers() == np.trunc(c.numbers())).all() for c in value]
        if all(whole):
            return value
    raise NotUnderstood("a Cast to a type without fractions")


def _reduce_sum(inputs: Values, attributes: Attributes) -> Dense:
    axes = attributes.get("axes") or (np.ravel(constant(inputs[1], "an axis")).tolist() if inputs[1:] else [])
    if len(axes) != 1 or not attributes.get("keepdims", 1):
        raise NotUnderstood("a ReduceSum over rows")
    _along_row(axes[0])
    v = dense(inputs[0])
    return v.times(np.ones((1, len(v.bias))))


def _one_hot(inputs: Values, attributes: Attributes) -> list[Column]:
    texts = [text.decode() for text in attributes.get("cats_strings", [])]
    categories = texts or list(attributes.get("cats_int64s", []))
    return [
        hot for c in _columns(inputs[0]) for hot in one_hot(c, categories, refuses=not attributes.get("zeros", 1))
    ]


def _label_encoder(inputs: Values, attributes: Attributes) -> list[Column]:
    def found(kind: str) -> tuple[list[Label], str]:
        for suffix in ("int64s", "floats", "strings"):
            if attributes.get(f"{kind}_{suffix}"):
                values = list(attributes[f"{kind}_{suffix}"])
                return [v.decode() if isinstance(v, bytes) else v for v in values], suffix
        raise NotUnderstood("a LabelEncoder without keys or values")

    keys, _ = found("keys")
    values, kind = found("values")
    defaults = {"int64s": -1, "floats": -0.0, "strings": "_Unused"}
    otherwise = attributes.get(f"default_{kind[:-1]}", defaults[kind])
    otherwise = otherwise.decode() if isinstance(otherwise, bytes) else otherwise
    return [relabelled(column, keys, values, otherwise) for column in _columns(inputs[0])]


def _impute(inputs: Values, attributes: Attributes) -> list[Column]:
    values = attributes.get("imputed_value_floats") or []
    if not values or not np.isnan(attributes.get("replaced_value_float", 0.0)):
        raise NotUnderstood("an Imputer of something else than NaN")
    columns = _columns(inputs[0])
    return imputed(columns, np.resize(np.asarray(values, np.float64), len(columns)).tolist())


def _columns(value: Value) -> list[Column]:
    if not isinstance(value, list):
        raise NotUnderstood("categories of something else than the table's columns")
    return value


def _linear(inputs: Values, attributes: Attributes) -> Dense:
    weight = np.asarray(attributes["coefficients"], np.float64)
    v = dense(inputs[0])
    weight = weight.reshape(-1, len(v.bias))
    v = v.times(weight, np.asarray(attributes.get("intercepts") or np.zeros(len(weight)), np.float64))
    after = attributes.get("post_transform", b"NONE").decode()
    if len(weight) == 1 and labels(attributes) is not None:
        if after != "LOGISTIC":
            raise NotUnderstood(f"a LinearClassifier of one score with {after}")
        return v.then("logistic").times(np.array([[-1.0], [1.0]]), np.array([1.0, 0.0]))
    if after in ("LOGISTIC", "SOFTMAX"):
        return v.then(after.lower())
    if after != "NONE":
        raise NotUnderstood(f"scores after {after}")
    return v


def labels(attributes: Attributes) -> list[Label] | None:
    """Class labels of an operator that has them."""
    for name in ("classlabels_int64s", "classlabels_ints", "classlabels_strings"):
        if attributes.get(name):
            return [v.decode() if isinstance(v, bytes) else v for v in attributes[name]]
    return None


_DIRECTIONS = {"BRANCH_LEQ": (False, False), "BRANCH_GT": (False, True), "BRANCH_LT": (True, False),
               "BRANCH_GTE": (True, True)}  # fmt: skip


def _trees(inputs: Values, attributes: Attributes) -> Trees:
    if any(name.endswith("_as_tensor") for name in attributes):
        raise NotUnderstood("trees with thresholds in double precision")
    part = {name: np.asarray(value) for name, value in attributes.items() if name.startswith("nodes_")}
    modes = [mode.decode() for mode in attributes["nodes_modes"]]
    asked = {mode for mode in modes if mode != "LEAF"}
    if not asked <= set(_DIRECTIONS) or len({_DIRECTIONS[mode][0] for mode in asked}) > 1:
        raise NotUnderstood(f"trees with {sorted(asked)}")
    known = labels(attributes)
    kind = "class" if known is not None else "target"
    ids = np.asarray(attributes[f"{kind}_ids"])
    k = int(attributes.get("n_targets", 1)) if known is None else len(known)
    one = known is not None and k == 2 and len(set(ids.tolist())) == 1
    weights = np.asarray(attributes[f"{kind}_weights"], np.float32)
    width = 1 if one or k == 1 else k
    value = np.zeros((len(modes), width), np.float32)
    at = {key: i for i, key in enumerate(zip(part["nodes_treeids"], part["nodes_nodeids"], strict=True))}
    leaves = zip(attributes[f"{kind}_treeids"], attributes[f"{kind}_nodeids"], strict=True)
    for key, output, weight in zip(leaves, ids, weights, strict=True):
        value[at[key], 0 if width == 1 else output] += weight
    trees = []
    absent = part.get("nodes_missing_value_tracks_true", np.zeros(len(modes), int)).astype(bool)
    for tree in dict.fromkeys(part["nodes_treeids"].tolist()):
        rows = np.flatnonzero(part["nodes_treeids"] == tree)
        leaf = np.array([modes[i] == "LEAF" for i in rows])
        swap = np.array([_DIRECTIONS.get(modes[i], (False, False))[1] for i in rows])
        yes, no = (
            np.array(
                [-1 if end else at[tree, to] - rows[0] for end, to in zip(leaf, part[name][rows], strict=True)]
            )
            for name in ("nodes_truenodeids", "nodes_falsenodeids")
        )
        trees.append(
            Tree(
                part["nodes_featureids"][rows],
                part["nodes_values"][rows],
                np.where(swap, no, yes),
                np.where(swap, yes, no),
                absent[rows] != swap,
                value[rows],
                None,
            )
        )
    if attributes.get("aggregate_function", b"SUM") != b"SUM":
        raise NotUnderstood("trees whose leaves are not added up")
    outputs = tree_outputs(attributes)
    after = attributes.get("post_transform", b"NONE").decode()
    factor = 1.0
    if width == 1:
        head = "share" if outputs == "probabilities" and after == "NONE" else "binary"
        factor = 2.0 if one and outputs == "logits" else 1.0  # the other class then gets the same, negative
    else:
        head = "mean" if outputs == "probabilities" and after == "NONE" else "softmax"
    base = np.resize(np.asarray(attributes.get("base_values") or [0.0], np.float64), width)
    # Leaf weights are added in float32, tree after tree; what is added once comes last.
    sums = Sums(head, max(2, k), base, factor, single=True, base_last=True)
    strict = bool(asked) and _DIRECTIONS[min(asked)][0]
    return Trees(trees, _columns(inputs[0]), Comparison(strict=strict, single=True), sums, outputs)


def tree_outputs(attributes: Attributes) -> Outputs:
    """What an ensemble of trees gives: shares of votes and transformed scores are probabilities."""
    after = attributes.get("post_transform", b"NONE").decode()
    if labels(attributes) is None:
        return "logits"
    if after in ("LOGISTIC", "SOFTMAX"):
        if (after == "LOGISTIC") != (len(set(attributes["class_ids"])) == 1):
            raise NotUnderstood(f"trees with {after} for each class")
        return "probabilities"
    if after != "NONE":
        raise NotUnderstood(f"trees with {after}")
    return "probabilities" if min(attributes["class_weights"]) >= 0 else "logits"


OPERATORS: dict[str, Callable[[Values, Attributes], Value]] = {
    "Abs": _function("abs"),
    "Add": _arithmetic("add"),
    "ArrayFeatureExtractor": _take,
    "BatchNormalization": _batch_norm,
    "Cast": _convert,
    "Concat": _concat,
    "Div": _arithmetic("div"),
    "Dropout": _same,
    "Exp": _function("exp"),
    "FeatureVectorizer": lambda inputs, _: side_by_side(inputs),
    "Flatten": _flatten,
    "Gather": _gather,
    "Gemm": _gemm,
    "Identity": _same,
    "Imputer": _impute,
    "LabelEncoder": _label_encoder,
    "LeakyRelu": _function("leaky_relu"),
    "LinearClassifier": _linear,
    "LinearRegressor": _linear,
    "LogSoftmax": _log_softmax,
    "MatMul": _matmul,
    "Mul": _arithmetic("mul"),
    "Normalizer": _normalizer,
    "OneHotEncoder": _one_hot,
    "ReduceSum": _reduce_sum,
    "Relu": _function("relu"),
    "Reshape": _reshape,
    "Scaler": _scaler,
    "Sigmoid": _function("logistic"),
    "Softmax": _function("softmax"),
    "Sub": _arithmetic("sub"),
    "Tanh": _function("tanh"),
    "TreeEnsembleClassifier": _trees,
    "TreeEnsembleRegressor": _trees,
    "ZipMap": _same,
}
