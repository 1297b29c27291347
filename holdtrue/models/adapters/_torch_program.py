"""PyTorch's exported programs: a list of operators and arrays, read without running anything in the file.

An archive of `torch.export.save` keeps the graph as JSON and weights as plain bytes. torch's own reader makes
Python source of the graph and runs it, and unpickles what lies beside; here neither is done: operators are looked
up by name in a list, and a file that asks for another one is refused.
"""

import io
import json
import math
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from holdtrue._optional import need
from holdtrue._types import Estimator, Json, JsonObject, Tensor
from holdtrue.errors import CapabilityError, DataError

GRAPH, ARRAYS = "graph.json", "arrays/"
MOST_BYTES = 2_000_000_000
"""How large the parts of a file may be when unpacked."""

OPERATORS = frozenset(
    f"torch.ops.aten.{name}"
    for name in (
        *(f"{op}.default" for op in (
            "linear", "addmm", "mm", "matmul", "bmm", "t", "neg", "exp", "log", "log1p", "expm1", "sqrt", "rsqrt",
            "reciprocal", "abs", "square", "sign", "relu", "relu_", "leaky_relu", "leaky_relu_", "elu", "elu_",
            "celu", "selu", "selu_", "gelu", "silu", "silu_", "mish", "softplus", "hardtanh", "hardtanh_",
            "hardsigmoid", "hardswish", "relu6", "tanh", "tanh_", "sigmoid", "sigmoid_", "log_sigmoid", "prelu",
            "_softmax", "_log_softmax", "batch_norm", "layer_norm", "dropout", "dropout_", "alpha_dropout", "view",
            "reshape", "unsqueeze", "permute", "cat", "stack", "concat", "clone", "contiguous", "alias", "clamp",
            "clamp_min", "clamp_max", "minimum", "maximum", "embedding", "index_select", "zeros_like", "ones_like",
            "expand", "cumsum", "mean", "sum", "lift_fresh_copy", "detach", "detach_",
        )),
        *(f"{op}.{kind}"
          for op in ("add", "sub", "mul", "div", "pow", "add_", "mul_", "gt", "ge", "lt", "le", "eq")
          for kind in ("Tensor", "Scalar", "Tensor_Scalar", "Tensor_Tensor")),
        "rsub.Scalar", "softmax.int", "log_softmax.int", "flatten.using_ints", "squeeze.dim", "squeeze.dims",
        "transpose.int", "slice.Tensor", "select.int", "where.self", "mean.dim", "sum.dim_IntList", "max.dim",
        "amax.default", "sym_size.int", "to.dtype", "chunk.default", "split.Tensor", "unbind.int",
        "einsum.default",
    )
)  # fmt: skip
"""What a program may be made of: each is a function of numbers."""
DTYPES = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64",
          12: "bool"}  # fmt: skip
"""Numbers that the format has for types of arrays."""
PLAIN = ("as_int", "as_ints", "as_float", "as_floats", "as_bool", "as_bools", "as_string")
RANDOM = {"dropout": "train", "dropout_": "train", "alpha_dropout": "train", "batch_norm": "training"}


@dataclass(frozen=True)
class Step:
    """One operator: its name, its arguments as the format writes them, and what its results are called."""

    target: str
    args: tuple[JsonObject, ...]
    kwargs: tuple[tuple[str, JsonObject], ...]
    outputs: tuple[str, ...]
    several: bool


class Program:
    """Operators in their order, called like a module: rows in, one value or one for each class out."""

    def __init__(self, graph: JsonObject, arrays: Mapping[str, np.ndarray]) -> None:
        torch = _torch()
        self.graph = graph
        self.arrays = dict(arrays)
        self._tensors = {name: torch.tensor(values) for name, values in self.arrays.items()}
        self.steps = tuple(_step(node) for node in graph["nodes"])
        self._known_names()

    def __call__(self, rows: Tensor) -> Tensor:
        """What the program gives for a batch of rows."""
        torch = _torch()
        values: dict[str, Tensor] = {self.graph["input"]: rows.clone(), **self._tensors}
        for step in self.steps:
            args = [_value(arg, values) for arg in step.args]
            kwargs = {name: _value(arg, values) for name, arg in step.kwargs}
            _, _, _, name, overload = step.target.split(".")
            out = getattr(getattr(torch.ops.aten, name), overload)(*args, **kwargs)
            values.update(zip(step.outputs, out if step.several else (out,), strict=False))
        return values[self.graph["output"]]

    def parameters(self) -> Iterator[Tensor]:
        """The arrays of numbers with a fraction: what says in which precision it computes."""
        return (tensor for tensor in self._tensors.values() if tensor.is_floating_point())

    def _known_names(self) -> None:
        """Every name is that of an array, of the input or of an earlier result."""
        known = {*self.arrays, self.graph["input"]}
        for step in self.steps:
            for arg in (*step.args, *(arg for _, arg in step.kwargs)):
                lacking = [name for name in _names(arg) if name not in known]
                if lacking:
                    raise DataError(f"from_torch: the program uses a name before it is made; got {lacking[0]!r}.")
            known |= set(step.outputs)
        if self.graph["output"] not in known:
            raise DataError(f"from_torch: the program's output is never made; got {self.graph['output']!r}.")

    # ---- as holdtrue keeps it -----------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """A zip of JSON and `.npy` arrays, the same bytes each time."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, blob in (
                (GRAPH, json.dumps(self.graph, sort_keys=True).encode()),
                *((f"{ARRAYS}{name}.npy", npy(values)) for name, values in sorted(self.arrays.items())),
            ):
                archive.writestr(zipfile.ZipInfo(name), blob)
        return out.getvalue()

    @classmethod
    def from_bytes(cls, blob: bytes) -> "Program":
        """The inverse of `to_bytes`."""
        with _opened(blob) as archive:
            graph = json.loads(archive.read(GRAPH))
            names = [name for name in archive.namelist() if name.startswith(ARRAYS)]
            arrays = {
                name.removeprefix(ARRAYS).removesuffix(".npy"): np.load(
                    io.BytesIO(archive.read(name)), allow_pickle=False
                )
                for name in names
            }
        return cls(graph, arrays)


def exported(module: Estimator, n_columns: int) -> Program:
    """A module as a program, traced by torch in this process."""
    torch = _torch()
    dtype = next((p.dtype for p in module.parameters()), torch.float32)
    try:
        rows = torch.zeros((3, n_columns), dtype=dtype)
        program = torch.export.export(module, (rows,), dynamic_shapes=({0: torch.export.Dim("rows")},))
    except Exception as error:
        raise CapabilityError(
            f"adopt: torch.export cannot follow this module ({type(error).__name__}: {str(error)[:200]}). Make "
            "its steps depend on no value of a row, or export it to ONNX."
        ) from error
    return of_exported(program)


def of_exported(program: Estimator) -> Program:
    """A `torch.export.ExportedProgram` as a program."""
    out = io.BytesIO()
    _torch().export.save(program, out)
    return from_archive(out.getvalue())


def is_archive(blob: bytes) -> bool:
    """Whether bytes are an archive of `torch.export.save`."""
    try:
        with zipfile.ZipFile(io.BytesIO(blob)) as archive:
            return any(name.endswith("models/model.json") for name in archive.namelist())
    except zipfile.BadZipFile:
        return False


def from_archive(blob: bytes) -> Program:
    """Read what `torch.export.save` wrote, but none of its pickles."""
    with _opened(blob) as archive:
        parts = {name.partition("/")[2]: name for name in archive.namelist()}
        if "models/model.json" not in parts:
            raise DataError(
                "from_torch: the file is no archive of torch.export.save as torch 2.8 and newer write it. Save it "
                "with torch.export.save."
            )
        module = json.loads(archive.read(parts["models/model.json"]))["graph_module"]
        stored: dict[str, np.ndarray] = {}
        for kind, prefix in (("weights", "weights"), ("constants", "constants")):
            config = parts.get(f"data/{kind}/model_{prefix}_config.json")
            for name, entry in json.loads(archive.read(config))["config"].items() if config else ():
                stored[name] = _array(archive, parts, kind, name, entry)
    graph, signature = module["graph"], module["signature"]
    arrays: dict[str, np.ndarray] = {}
    inputs: list[str] = []
    for spec in signature["input_specs"]:
        ((kind, value),) = spec.items()
        if kind == "user_input":
            inputs += _names(value["arg"])
        elif kind in ("parameter", "buffer", "tensor_constant"):
            arrays[value["arg"]["name"]] = stored[value[f"{kind}_name"]]
        else:
            raise DataError(f"from_torch: the program has an input of an unknown kind; got {kind!r}.")
    outputs = [
        name for spec in signature["output_specs"] for name in _names(spec.get("user_output", {}).get("arg"))
    ]
    if len(inputs) != 1 or len(outputs) != 1:
        raise DataError(
            f"from_torch: a program must read one batch of rows and give one array; got {len(inputs)} inputs and "
            f"{len(outputs)} outputs. Export a module of that form."
        )
    nodes = [{key: node[key] for key in ("target", "inputs", "outputs")} for node in graph["nodes"]]
    return Program({"nodes": nodes, "input": inputs[0], "output": outputs[0]}, arrays)


def as_module(program: Program) -> Estimator:
    """A chain of layers of `torch.nn` where the program is one, so that a search can read it; else the program."""
    nn = _torch().nn
    at, layers = program.graph["input"], []
    for step in program.steps:
        layer = _layer(nn, step, at, program.arrays)
        if layer is None or step.several:
            return program
        layers.append(layer)
        at = step.outputs[0]
    if not layers or at != program.graph["output"]:
        return program
    return nn.Sequential(*layers).eval()


def _layer(nn: ModuleType, step: Step, at: str, arrays: Mapping[str, np.ndarray]) -> Estimator:
    """The layer that one operator is, where it reads nothing but the one before and arrays; else None."""
    name = step.target.split(".")[3].rstrip("_")
    names = [_names(arg) for arg in step.args]
    if not names or names[0] != [at] or any(own not in arrays for part in names[1:] for own in part):
        return None
    given = [_plain(arg) for arg in step.args[1:]] if name not in ("linear", "batch_norm") else []
    if any(key != "approximate" for key, _ in step.kwargs):
        return None
    if name == "linear":
        weight = arrays[names[1][0]]
        layer = nn.Linear(weight.shape[1], weight.shape[0], bias=len(names) > 2 and bool(names[2]))
        parts = {"weight": weight} | ({"bias": arrays[names[2][0]]} if layer.bias is not None else {})
        return _filled(layer, parts)
    if name == "batch_norm":
        affine, eps = bool(names[1]) and bool(names[2]), _plain(step.args[7])
        mean, var = (arrays[names[i][0]] if names[i] else None for i in (3, 4))
        if mean is None or var is None:
            return None
        layer = nn.BatchNorm1d(len(mean), eps=eps, affine=affine)
        parts = {"running_mean": mean, "running_var": var, "num_batches_tracked": np.zeros((), np.int64)}
        return _filled(
            layer, parts | ({"weight": arrays[names[1][0]], "bias": arrays[names[2][0]]} if affine else {})
        )
    if name in ("dropout", "alpha_dropout"):
        return nn.Identity()
    if name == "flatten" and given in ([1], [1, -1]):
        return nn.Flatten()
    if name == "leaky_relu":
        return nn.LeakyReLU(*given[:1])
    if name in ("softmax", "log_softmax") and given[:1] in ([1], [-1]):
        return nn.Softmax(1) if name == "softmax" else nn.LogSoftmax(1)
    plain = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid}
    return plain[name]() if name in plain and not given else None


def _filled(layer: Estimator, parts: Mapping[str, np.ndarray]) -> Estimator:
    torch = _torch()
    layer = layer.to(torch.tensor(next(iter(parts.values()))).dtype)
    layer.load_state_dict({name: torch.tensor(values) for name, values in parts.items()})
    return layer


# ---- what the format has for values ------------------------------------------------------------------


def _step(node: JsonObject) -> Step:
    target = node["target"]
    if target not in OPERATORS:
        raise DataError(
            f"from_torch: the program asks for an operator that is not on the list; got {target!r}. Export it to "
            "ONNX, or use the module in this process with holdtrue.recourse."
        )
    args = tuple(entry["arg"] for entry in node["inputs"] if entry.get("kind", 1) != 2)
    kwargs = tuple((entry["name"], entry["arg"]) for entry in node["inputs"] if entry.get("kind", 1) == 2)
    random = RANDOM.get(target.split(".")[3])
    for entry in node["inputs"]:
        if entry["name"] == random and entry["arg"].get("as_bool"):
            raise DataError(
                f"from_torch: the program was exported while training; got {target!r} with {random}=True. Call "
                "module.eval() before torch.export.export."
            )
    outputs: list[str] = []
    for out in node["outputs"]:
        outputs += _names(out)
    several = len(node["outputs"]) > 1 or any("as_tensors" in out for out in node["outputs"])
    return Step(target, args, kwargs, tuple(outputs), several)


def _names(arg: JsonObject | None) -> list[str]:
    """Names of results or arrays that an argument stands for."""
    if not arg:
        return []
    ((kind, value),) = arg.items()
    if kind in ("as_tensor", "as_optional_tensor"):
        return _names(value) if "name" not in value else [value["name"]]
    if kind in ("as_tensors", "as_sym_ints", "as_optional_tensors"):
        return [name for one in value for name in ([one["name"]] if "name" in one else _names(one))]
    if kind in ("as_sym_int", "as_name"):
        return [value] if kind == "as_name" else _names(value)
    return []


def _value(arg: JsonObject, values: Mapping[str, Tensor]) -> Tensor:
    ((kind, value),) = arg.items()
    if kind in ("as_tensor", "as_optional_tensor", "as_name", "as_sym_int"):
        names = _names(arg)
        return values[names[0]] if names else (_plain(value) if kind == "as_sym_int" else None)
    if kind in ("as_tensors", "as_sym_ints", "as_optional_tensors"):
        return [values[one["name"]] if "name" in one else _value(one, values) for one in value]
    return _plain(arg)


def _plain(arg: JsonObject) -> Json:
    ((kind, value),) = arg.items()
    if kind in PLAIN:
        return value
    if kind == "as_none":
        return None
    if kind == "as_scalar_type" and value in DTYPES:
        return getattr(_torch(), DTYPES[value])
    raise DataError(
        f"from_torch: the program has an argument of an unknown kind; got {kind!r}. Export it to ONNX."
    )


def _array(
    archive: zipfile.ZipFile, parts: Mapping[str, str], kind: str, name: str, entry: JsonObject
) -> np.ndarray:
    meta = entry["tensor_meta"]
    if entry.get("use_pickle") or meta["dtype"] not in DTYPES:
        raise DataError(
            f"from_torch: the array {name!r} is kept as a pickle or in a type that is not read. Save the program "
            "of a module on the processor, in float32 or float64."
        )
    flat = np.frombuffer(archive.read(parts[f"data/{kind}/{entry['path_name']}"]), DTYPES[meta["dtype"]])
    shape = [size["as_int"] for size in meta["sizes"]]
    strides = [size["as_int"] for size in meta["strides"]]
    offset = meta["storage_offset"]["as_int"]
    last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    if math.prod(shape) and (min([offset, *strides], default=0) < 0 or last >= len(flat)):
        raise DataError(f"from_torch: the array {name!r} is larger than what is kept of it. Copy the file again.")
    if not math.prod(shape):
        return np.zeros(shape, flat.dtype)
    view = np.lib.stride_tricks.as_strided(flat[offset:], shape, [s * flat.itemsize for s in strides])
    return np.ascontiguousarray(view).reshape(shape)


def npy(values: np.ndarray) -> bytes:
    """An array as the bytes of a `.npy` file."""
    out = io.BytesIO()
    np.save(out, values, allow_pickle=False)
    return out.getvalue()


def _opened(blob: bytes) -> zipfile.ZipFile:
    archive = zipfile.ZipFile(io.BytesIO(blob))
    size = sum(info.file_size for info in archive.infolist())
    if size > MOST_BYTES:
        raise DataError(f"from_torch: the file is too large; got {size} bytes unpacked, at most {MOST_BYTES}.")
    return archive


def _torch() -> ModuleType:
    return need("torch", extra="torch", what="from_torch:")
