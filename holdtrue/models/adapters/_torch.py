"""PyTorch modules: known layers converted, anything else through a callback with torch's own gradient."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from holdtrue._optional import need
from holdtrue._types import Estimator, Label, Tensor
from holdtrue.encoding import Encoder
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models._base import AbstractModel
from holdtrue.models.adapters._columns import Column, NotUnderstood, encoded_columns, transformed
from holdtrue.models.adapters._layers import Activation, Affine, Front, Head, chain
from holdtrue.models.adapters._outputs import Outputs, check_outputs, proba_from
from holdtrue.models.adapters._torch_file import module_of, with_state
from holdtrue.models.adapters._torch_program import Program, as_module, exported, of_exported
from holdtrue.schema import TableLike, hinted

TINY = 1e-12


@hinted()
def from_torch(
    module: Estimator,
    reads: Any = None,
    *,
    outputs: Outputs | None = None,
    classes: Sequence[Label] | None = None,
    architecture: str | None = None,
) -> "TorchClassifier":
    """Make a classifier of a trained PyTorch module, for `holdtrue.recourse`, `wrap` and `adopt`.

    Parameters
    ----------
    module : torch.nn.Module, torch.export.ExportedProgram, state or path
        A batch of rows in, one value per class out (or one value: the second class's). It is put in eval mode. Of
        a file, what `torch.export.save` wrote, or weights: what ``torch.save(module.state_dict(), ...)`` wrote, or
        safetensors. Nothing in a file is run.
    reads : Encoder or fitted scikit-learn transformer, optional
        What makes the module's input from the table: an `Encoder`, or a transformer or pipeline such as the
        `ColumnTransformer` used in training. By default the columns themselves, which must be numbers.
    outputs : {"logits", "probabilities", "log_probabilities"}, optional
        What the module gives. By default read from the last layer of an `nn.Sequential`, else logits.
    classes : sequence, optional
        Labels; 0, 1, ... when omitted.
    architecture : str, optional
        What weights alone do not say: the layers of `torch.nn` in their order, such as
        ``"Linear(6, 16), ReLU, Linear(16, 1)"``. Weights are taken by name, or in order where names differ.

    Notes
    -----
    An `nn.Sequential` of Linear, ReLU, LeakyReLU, Tanh, Sigmoid, Identity, Dropout, Flatten, BatchNorm1d and a
    final Softmax, LogSoftmax or Sigmoid runs inside the compiled search. Any other module is called back from
    it once per step for the whole batch, and its gradient is torch's own.

    Examples
    --------
    >>> import holdtrue as ht
    >>> from holdtrue.models.adapters import from_torch
    >>> model = from_torch(module, fitted_column_transformer)  # doctest: +SKIP
    >>> plan = ht.recourse(model, refused, schema, "wachter", reference=X)  # doctest: +SKIP
    """
    torch = _torch()
    check_outputs("from_torch", outputs)
    if isinstance(module, (str, PathLike)):
        module = module_of(Path(module), architecture)
    elif isinstance(module, Mapping):
        module = with_state(module, architecture)
    elif architecture is not None:
        raise DataError(
            f"from_torch: `architecture` belongs to weights; got it with a {type(module).__name__}. Leave it out."
        )
    elif isinstance(module, torch.export.ExportedProgram):
        module = as_module(of_exported(module))
    if isinstance(module, torch.nn.Module):
        module = module.eval()
    elif not isinstance(module, Program):
        raise CapabilityError(
            "from_torch: `module` must be a torch.nn.Module, an exported program, weights with `architecture`, or "
            f"the path of either; got {type(module).__name__}."
        )
    return TorchClassifier(module, reads, outputs or _outputs(module), classes)


class TorchClassifier:
    """A module behind `predict_proba`; made by `from_torch`."""

    def __init__(self, module: Estimator, reads: Any, outputs: Outputs, classes: Sequence[Label] | None) -> None:
        self.module = module
        self.reads = reads
        self.outputs: Outputs = outputs
        self.n_read: int | None = None
        if classes is not None:
            self.classes_ = np.asarray(classes)
        names = reads.schema.names if isinstance(reads, Encoder) else getattr(reads, "feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, object)

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Probabilities of a table's rows."""
        if isinstance(self.reads, Encoder):
            rows: Tensor = self.reads.encode(X)
        else:
            rows = X if self.reads is None else self.reads.transform(X)
        rows = rows.toarray() if hasattr(rows, "toarray") else rows
        return proba_from(self._forward(np.asarray(rows, np.float64)), self.outputs)

    def as_model(self, encoder: Encoder, columns: list[Column]) -> AbstractModel:
        """Return the model that a search asks, over encoded rows."""
        if isinstance(self.reads, Encoder):
            columns = encoded_columns(self.reads, encoder)
        elif self.reads is not None:
            columns = transformed(self.reads, columns)
        front = Front(columns, encoder)
        width = self._forward(np.zeros((1, len(columns)))).shape[1]
        k = max(2, width)
        try:
            layers, head = _layers(self.module, self.outputs, width)
            return chain(front, layers, head, k)
        except NotUnderstood:
            n = len(columns)
            return TorchModel(front.fold(np.eye(n), np.zeros(n)), self._host, self._host_vjp, self.outputs, width)

    def program(self) -> Program:
        """The module as operators and arrays, for a file; it must have been asked once."""
        if isinstance(self.module, Program):
            return self.module
        if self.n_read is None:
            raise DataError("from_torch: how many columns the module reads is not known before it is asked.")
        return exported(self.module, self.n_read)

    def _forward(self, rows: np.ndarray) -> np.ndarray:
        torch = _torch()
        self.n_read = rows.shape[1]
        with torch.no_grad():
            out = self.module(torch.tensor(rows, dtype=_dtype(self.module)))
        out = out.double().numpy().reshape(len(rows), -1)
        if not np.isfinite(out).all():
            raise DataError("from_torch: the module must return finite numbers. Check its input and its weights.")
        return out

    def _host(self, z: Tensor) -> np.ndarray:
        z = np.asarray(z, np.float32)
        out = self._forward(z.reshape(-1, z.shape[-1]))
        return out.reshape(*z.shape[:-1], -1).astype(np.float32)

    def _host_vjp(self, z: Tensor, cotangent: Tensor) -> np.ndarray:
        torch = _torch()
        shape = np.broadcast_shapes(np.shape(z)[:-1], np.shape(cotangent)[:-1])
        z = np.broadcast_to(np.asarray(z, np.float32), (*shape, np.shape(z)[-1]))
        pull = np.broadcast_to(np.asarray(cotangent, np.float32), (*shape, np.shape(cotangent)[-1]))
        rows = torch.tensor(z.reshape(-1, z.shape[-1]), dtype=_dtype(self.module), requires_grad=True)
        with torch.enable_grad():
            out = self.module(rows).reshape(len(rows), -1)
            (slope,) = torch.autograd.grad(out, rows, torch.tensor(pull.reshape(len(rows), -1), dtype=out.dtype))
        return slope.numpy().reshape(z.shape).astype(np.float32)


class TorchModel(AbstractModel):
    """Any module, asked on the host; its gradient is torch's."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"differentiable"})
    on_host: ClassVar[bool] = True
    front: Affine
    forward: Callable[[Tensor], np.ndarray] = eqx.field(static=True)
    backward: Callable[[Tensor, Tensor], np.ndarray] = eqx.field(static=True)
    outputs: Outputs = eqx.field(static=True)
    width: int = eqx.field(static=True)

    @property
    def n_classes(self) -> int:
        """Number of logits."""
        return max(2, self.width)

    def logits(self, x: Float[Array, " d"], *, key: PRNGKeyArray | None = None) -> Float[Array, " k"]:
        """Logits of one encoded row."""
        out = _called(self.forward, self.backward, self.width, self.front(x))
        if self.outputs == "probabilities":
            out = jnp.log(jnp.clip(out, TINY, 1.0)) if self.width > 1 else jax.scipy.special.logit(out)
        elif self.outputs == "log_probabilities" and self.width == 1:
            out = out - jnp.log(-jnp.expm1(out))
        return out if self.width > 1 else jnp.stack([jnp.zeros_like(out[0]), out[0]])


def _called(forward: Any, backward: Any, width: int, z: Float[Array, " i"]) -> Float[Array, " o"]:
    """Call the host, with the host's own vector-Jacobian product."""

    @jax.custom_vjp
    def call(at: Float[Array, " i"]) -> Float[Array, " o"]:
        shape = jax.ShapeDtypeStruct((width,), jnp.float32)
        return jax.pure_callback(forward, shape, at, vmap_method="expand_dims")

    def remember(at: Float[Array, " i"]) -> tuple[Array, Array]:
        return call(at), at

    def pull(at: Float[Array, " i"], cotangent: Float[Array, " o"]) -> tuple[Array]:
        shape = jax.ShapeDtypeStruct(at.shape, jnp.float32)
        return (jax.pure_callback(backward, shape, at, cotangent, vmap_method="broadcast_all"),)

    call.defvjp(remember, pull)
    return call(z)


# ---- known layers ------------------------------------------------------------------------------------

_LAST: dict[str, Outputs] = {
    "Softmax": "probabilities",
    "Sigmoid": "probabilities",
    "LogSoftmax": "log_probabilities",
}


def _outputs(module: Estimator) -> Outputs:
    parts = _flat(module)
    return _LAST.get(type(parts[-1]).__name__, "logits") if parts else "logits"


def _flat(module: Estimator) -> list[Estimator]:
    if type(module).__name__ == "Sequential":
        return [part for child in module for part in _flat(child)]
    return [module]


def _layers(module: Estimator, outputs: Outputs, width: int) -> tuple[list[Estimator], Head]:
    """``(weight, bias)`` pairs and activations of a chain of known layers; what the last gives as logits."""
    parts = _flat(module)
    if outputs != "logits":
        # Softmax and its logarithm are undone by leaving them out; so is a sigmoid over one value.
        last = type(parts[-1]).__name__
        if _LAST.get(last) != outputs or (last == "Sigmoid") != (width == 1):
            raise NotUnderstood(f"{outputs} from {last}")
        parts = parts[:-1]
    layers: list[Estimator] = []
    for part in parts:
        name = type(part).__name__
        known = type(part).__module__.startswith("torch.nn.modules.")
        if name in ("Dropout", "Identity", "Flatten") and known:
            continue
        if name == "Linear" and known:
            weight = _numbers(part.weight)
            layers.append((weight, np.zeros(len(weight)) if part.bias is None else _numbers(part.bias)))
        elif name == "BatchNorm1d" and known and part.track_running_stats:
            scale = 1 / np.sqrt(_numbers(part.running_var) + part.eps)
            shift = -_numbers(part.running_mean) * scale
            if part.affine:
                gain = _numbers(part.weight)
                scale, shift = scale * gain, shift * gain + _numbers(part.bias)
            layers.append((np.diag(scale), shift))
        elif name in ("ReLU", "Tanh", "Sigmoid", "LeakyReLU") and known:
            slope = float(getattr(part, "negative_slope", 0.01))
            names = {"ReLU": "relu", "Tanh": "tanh", "Sigmoid": "logistic", "LeakyReLU": "leaky_relu"}
            layers.append(Activation(names[name], slope))
        else:
            raise NotUnderstood(f"the layer {name}")
    return layers, "logits" if width > 1 else "binary"


def _numbers(parameter: Tensor) -> np.ndarray:
    return parameter.detach().double().cpu().numpy()


def _dtype(module: Estimator) -> Any:
    return next((p.dtype for p in module.parameters()), _torch().float32)


def _torch() -> ModuleType:
    return need("torch", extra="torch", what="from_torch:")
