"""What people have of a PyTorch model in files: weights under a named architecture, or an exported program."""

import ast
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import numpy as np

from holdtrue._optional import need
from holdtrue._types import Estimator, Tensor
from holdtrue.errors import DataError
from holdtrue.models.adapters._torch_program import as_module, from_archive, is_archive

LAYERS = (
    "BatchNorm1d", "CELU", "Dropout", "ELU", "Flatten", "GELU", "Hardsigmoid", "Hardswish", "Hardtanh", "Identity",
    "LayerNorm", "LeakyReLU", "Linear", "LogSigmoid", "LogSoftmax", "Mish", "PReLU", "ReLU", "ReLU6", "SELU",
    "SiLU", "Sigmoid", "Softmax", "Softplus", "Tanh",
)  # fmt: skip
"""Layers of `torch.nn` that an architecture may name."""
SAFE_TYPES = {"F16": "float16", "F32": "float32", "F64": "float64", "I32": "int32", "I64": "int64", "BOOL": "bool"}


def module_of(place: Path, architecture: str | None) -> Estimator:
    """A module from a file: an exported program, or weights under the architecture that is named."""
    if not place.is_file():
        raise DataError(f"from_torch: there is no such file; got {str(place)!r}. Check the path.")
    blob = place.read_bytes()
    if is_archive(blob):
        if architecture is not None:
            raise DataError("from_torch: an exported program knows its layers; got `architecture`. Leave it out.")
        return as_module(from_archive(blob))
    return with_state(read_state(blob), architecture)


def read_state(blob: bytes) -> dict[str, Tensor]:
    """Weights by name, of `torch.save(module.state_dict(), ...)` or of a safetensors file. Nothing is run."""
    torch = need("torch", extra="torch", what="from_torch:")
    if zipfile.is_zipfile(io.BytesIO(blob)):
        try:
            state = torch.load(io.BytesIO(blob), map_location="cpu", weights_only=True)
        except Exception as error:  # its own kinds, for what it does not trust and for what is damaged
            raise DataError(
                "from_torch: the file holds more than weights, or is damaged; got "
                f"{str(error).splitlines()[0][:200]}. Write it with torch.save(module.state_dict(), ...)."
            ) from error
    else:
        state = _safetensors(torch, blob)
    state = state.get("state_dict", state) if isinstance(state, Mapping) else state
    if not isinstance(state, Mapping) or not all(hasattr(value, "shape") for value in state.values()):
        raise DataError(
            f"from_torch: the file holds no weights by name; got {type(state).__name__}. Write it with "
            "torch.save(module.state_dict(), ...)."
        )
    return dict(state)


def _safetensors(torch: ModuleType, blob: bytes) -> dict[str, Tensor]:
    """The format: the length of a JSON header, the header, and plain bytes."""
    size = int.from_bytes(blob[:8], "little")
    try:
        header = json.loads(blob[8 : 8 + size])
        out = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            start, stop = entry["data_offsets"]
            values = np.frombuffer(blob[8 + size + start : 8 + size + stop], SAFE_TYPES[entry["dtype"]])
            out[name] = torch.tensor(values.reshape(entry["shape"]))
        return out
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            "from_torch: the file is neither a state of torch.save, nor safetensors, nor an exported program. "
            "Write one of these."
        ) from error


def with_state(state: Mapping[str, Tensor], architecture: str | None) -> Estimator:
    """The architecture with weights: by their names, or in their order where those are others."""
    if architecture is None:
        raise DataError(
            "from_torch: weights alone do not say what is done with them; got no `architecture`. Name the layers, "
            "such as 'Linear(6, 16), ReLU, Linear(16, 1)', or save the module with torch.export.save."
        )
    module = sequential(architecture)
    own = module.state_dict()
    names = dict(zip(own, own if set(own) == set(state) else state, strict=False))
    for name, theirs in names.items():
        kind, shape = name.rpartition(".")[2], tuple(own[name].shape)
        if theirs.rpartition(".")[2] != kind or tuple(state[theirs].shape) != shape:
            raise DataError(
                f"from_torch: the weights are not those of the architecture; got {theirs!r} of shape "
                f"{tuple(state[theirs].shape)} where {kind!r} of shape {shape} is read. Name the layers in order."
            )
    if len(own) != len(state):
        raise DataError(
            f"from_torch: the architecture reads {len(own)} arrays; got {len(state)}. Name every layer, in order."
        )
    kept = {name: state[theirs] for name, theirs in names.items()}
    floats = [value.dtype for value in kept.values() if value.is_floating_point()]
    module = module.to(floats[0]) if floats else module
    module.load_state_dict(kept)
    return module.eval()


def sequential(architecture: str) -> Estimator:
    """An `nn.Sequential` of the layers that a text names, such as ``Linear(6, 16), ReLU, Linear(16, 1)``."""
    nn = need("torch", extra="torch", what="from_torch:").nn
    wrong = DataError(
        "from_torch: `architecture` must name layers of torch.nn with plain numbers, such as 'Linear(6, 9), Tanh, "
        f"Linear(9, 1)'; got {architecture!r}. Known are {', '.join(LAYERS)}."
    )
    try:
        parsed = ast.parse(f"[{architecture}]", mode="eval").body
    except (SyntaxError, ValueError):
        raise wrong from None
    if not isinstance(parsed, ast.List) or not parsed.elts:
        raise wrong
    layers = []
    for part in parsed.elts:
        called = part if isinstance(part, ast.Call) else None
        name = called.func if called is not None else part
        if not isinstance(name, ast.Name) or name.id not in LAYERS:
            raise wrong
        try:
            args = [ast.literal_eval(arg) for arg in called.args] if called is not None else []
            keywords = called.keywords if called is not None else []
            layers.append(getattr(nn, name.id)(*args, **{str(k.arg): ast.literal_eval(k.value) for k in keywords}))
        except (TypeError, ValueError, RuntimeError):
            raise wrong from None
    return nn.Sequential(*layers)
