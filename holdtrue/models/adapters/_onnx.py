"""ONNX files: graphs of known operators converted, anything else asked through onnxruntime."""

import os
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from holdtrue._optional import need
from holdtrue._types import Estimator, JsonObject, Label
from holdtrue.encoding import Encoder
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models._base import AbstractModel
from holdtrue.models.adapters._columns import Column
from holdtrue.models.adapters._onnx_graph import Graph, Node, as_model
from holdtrue.models.adapters._onnx_operators import OPERATORS, labels, tree_outputs
from holdtrue.models.adapters._outputs import Outputs, check_outputs, proba_from
from holdtrue.schema import Table, hinted

_THROUGH = ("ZipMap", "Cast", "Identity", "Reshape", "Flatten", "Normalizer")  # what leaves the kind of output


@hinted()
def from_onnx(
    model: Any,
    *,
    output: str | None = None,
    outputs: Outputs | None = None,
    classes: Sequence[Label] | None = None,
) -> "OnnxClassifier":
    """Make a classifier of an ONNX model, for `holdtrue.recourse` and `holdtrue.wrap`.

    Both also take the model or the path itself; this function is for what the file does not say.

    Parameters
    ----------
    model : path, bytes or onnx.ModelProto
        One input that holds all columns in the schema's order, or one input per column, named like it.
    output : str, optional
        Which output holds scores or probabilities. By default the one after a ZipMap, else one whose name says
        "prob", else the only one that is not whole numbers.
    outputs : {"logits", "probabilities", "log_probabilities"}, optional
        What it gives. By default read from the operator that makes it, else logits.
    classes : sequence, optional
        Labels. By default those in the file, else 0, 1, ...

    Notes
    -----
    A graph of the operators in `docs/reference/adapters.md` runs inside the compiled search, with exact gradients
    where it is a network. Any other is asked through onnxruntime; where that is not installed, it is refused.

    Examples
    --------
    >>> import holdtrue as ht
    >>> plan = ht.recourse("model.onnx", refused, schema, "wachter", reference=X)  # doctest: +SKIP
    """
    check_outputs("from_onnx", outputs)
    return OnnxClassifier(_load(model), output, outputs, classes)


def is_onnx(model: Any) -> bool:
    """Whether this is an ONNX model or a path: what `from_onnx` reads and nobody else does."""
    return isinstance(model, (str, os.PathLike)) or type(model).__name__ == "ModelProto"


class OnnxClassifier:
    """A graph behind `predict_proba`; made by `from_onnx`."""

    def __init__(
        self, proto: Estimator, output: str | None, outputs: Outputs | None, classes: Sequence[Label] | None
    ) -> None:
        self.graph = _graph(proto)
        self.proto: bytes = proto.SerializeToString()
        self.output, zipped = _output(proto, self.graph, output)
        self.outputs: Outputs = outputs or ("probabilities" if zipped else _kind(self.graph, self.output))
        if classes is None:
            found = [labels(node.attributes) for node in self.graph.before(zipped or self.output)]
            classes = next((names for names in found if names is not None), None)
        if classes is not None:
            self.classes_ = np.asarray(classes)
        names, wide = list(self.graph.inputs), _widths(proto)
        if len(names) > 1:
            self.feature_names_in_ = np.asarray(names, object)
        elif wide.get(names[0]):
            self.n_features_in_ = wide[names[0]]
        self._ask = _asker(proto, self.graph, self.output)

    @property
    def said(self) -> JsonObject:
        """What `from_onnx` need not find out again."""
        classes = self.classes_.tolist() if hasattr(self, "classes_") else None
        return {"output": self.output, "outputs": self.outputs, "classes": classes}

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of a table's rows."""
        feed = {}
        for name, kind in self.graph.inputs.items():
            values = np.asarray(X) if len(self.graph.inputs) == 1 else np.asarray(X[name])[:, None]
            feed[name] = values.astype(_dtype(kind))
        out = np.asarray(self._ask(feed))
        if out.ndim == 1:
            out = out[:, None]
        if out.ndim != 2 or not np.isfinite(out).all():
            raise DataError(
                f"from_onnx: output {self.output!r} must hold finite numbers, a row for each person; got shape "
                f"{out.shape}. Name another with `from_onnx(..., output=...)`."
            )
        return proba_from(out, self.outputs)

    def as_model(
        self, encoder: Encoder, columns: list[Column], table: Table
    ) -> tuple[AbstractModel, dict[str, np.ndarray]]:
        """Return the model that a search asks, over encoded rows, and where its trees split."""
        return as_model(self.graph.read(self.output, columns), self.outputs, encoder, table)


# ---- the file ----------------------------------------------------------------------------------------


def _onnx() -> ModuleType:
    return need("onnx", extra="onnx", what="from_onnx:")


def _load(model: Any) -> Any:
    onnx = _onnx()
    what = f"the file {Path(model).name!r}" if isinstance(model, (str, os.PathLike)) else "the model"
    try:
        if isinstance(model, (str, os.PathLike)):
            model = onnx.load(os.fspath(model))
        elif isinstance(model, bytes):
            model = onnx.load_model_from_string(model)
    except FileNotFoundError as error:
        raise DataError(f"from_onnx: there is no such file; got {os.fspath(model)!r}. Check the path.") from error
    except Exception as error:  # protobuf's own errors, and whatever reads external data
        raise DataError(
            f"from_onnx: {what} cannot be read as ONNX; got {type(error).__name__}. Export it again."
        ) from error
    if not isinstance(model, onnx.ModelProto):
        raise CapabilityError(
            f"from_onnx: `model` must be a path, bytes or an onnx.ModelProto; got {type(model).__name__}."
        )
    if not model.graph.node or not model.graph.output:
        raise DataError(f"from_onnx: {what} holds no graph. Is it an ONNX file? Export it again.")
    return model


def _graph(proto: Estimator) -> Graph:
    onnx = _onnx()
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}
    nodes: dict[str, Node] = {}
    for raw in proto.graph.node:
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in raw.attribute}
        if raw.op_type == "Constant" and "value" in attributes:
            constants[raw.output[0]] = onnx.numpy_helper.to_array(attributes["value"])
            continue
        node = Node(raw.op_type, list(raw.input), list(raw.output), attributes)
        nodes |= dict.fromkeys(node.outputs, node)
    inputs = {
        part.name: part.type.tensor_type.elem_type for part in proto.graph.input if part.name not in constants
    }
    return Graph(nodes, constants, inputs)


def _widths(proto: Estimator) -> dict[str, int]:
    """Number of columns of each input that states it."""
    shapes = {part.name: list(part.type.tensor_type.shape.dim) for part in proto.graph.input}
    return {name: dims[1].dim_value for name, dims in shapes.items() if len(dims) == 2 and dims[1].dim_value}


def _output(proto: Estimator, graph: Graph, wanted: str | None) -> tuple[str, str | None]:
    """Name of the value that holds a score per class, and the name of the ZipMap after it if there is one."""
    whole = {part.name for part in proto.graph.output if part.type.tensor_type.elem_type in (6, 7, 8, 9)}
    names = [part.name for part in proto.graph.output]
    known = [name for name in names if name not in whole]
    if wanted is not None and wanted not in names:
        raise DataError(f"from_onnx: the model has no such output; got {wanted!r}. It has {names!r}.")
    zips = [name for name in known if name in graph.nodes and graph.nodes[name].op == "ZipMap"]
    likely = [name for name in known if "prob" in name.lower()]
    found = [wanted] if wanted is not None else zips or likely or known
    if len(found) != 1:
        raise DataError(
            f"from_onnx: which output holds the classes' scores is not clear; got {names!r}. Name it with "
            "`from_onnx(..., output=...)`."
        )
    if found[0] in zips:
        return graph.nodes[found[0]].inputs[0], found[0]
    return found[0], None


def _kind(graph: Graph, name: str) -> Outputs:
    """What an output is, read from the operator that makes it."""
    if "prob" in name.lower():
        return "probabilities"
    while name in graph.nodes:
        node = graph.nodes[name]
        after = node.attributes.get("post_transform", b"NONE")
        if node.op in ("Softmax", "Sigmoid", "Normalizer") or after in (b"LOGISTIC", b"SOFTMAX"):
            return "probabilities"
        if node.op == "LogSoftmax":
            return "log_probabilities"
        if node.op == "TreeEnsembleClassifier":
            return tree_outputs(node.attributes)
        if node.op not in _THROUGH:
            break
        name = node.inputs[0]
    return "logits"


def _dtype(kind: int) -> Any:
    return str if kind == 8 else _onnx().helper.tensor_dtype_to_np_dtype(kind)


def _asker(proto: Estimator, graph: Graph, output: str) -> Any:
    """A function from inputs to the output; onnxruntime's, or where it is not installed onnx's reference."""
    onnx = _onnx()
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    if output not in [part.name for part in copy.graph.output]:
        copy.graph.output.append(onnx.helper.make_empty_tensor_value_info(output))
    try:
        import onnxruntime
    except ImportError:
        strange = [node.op for node in graph.before(output) if node.op not in OPERATORS]
        if strange:
            raise CapabilityError(
                f"from_onnx: no adapter reads the ONNX operator; got {strange[0]}. Install onnxruntime to ask the "
                "model as a black box: pip install 'holdtrue[onnx]'"
            ) from None
        from onnx.reference import ReferenceEvaluator

        run = _checked(lambda: ReferenceEvaluator(copy))
        return lambda feed: run.run([output], feed)[0]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # One thread: sums are then in one order, whatever the number of rows, and search and model do not compete.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = _checked(
        lambda: onnxruntime.InferenceSession(copy.SerializeToString(), options, providers=["CPUExecutionProvider"])
    )
    return lambda feed: session.run([output], feed)[0]


def _checked(make: Any) -> Any:
    try:
        return make()
    except Exception as error:
        raise DataError(
            f"from_onnx: the graph cannot be run; got {type(error).__name__}: {str(error)[:200]}. Export it again."
        ) from error
