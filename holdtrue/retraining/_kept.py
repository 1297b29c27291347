"""Trained models kept on disk, each under the digest of what it is made from: what was cut goes on from there."""

import functools
import hashlib
import inspect
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from holdtrue._files import replaced
from holdtrue._types import Estimator, JsonObject
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models.adapters import from_stored, to_stored

FORMAT = "holdtrue-retrained"
SUFFIX = ".member"
HEADER, MODEL = "holdtrue.json", "model"
ARRAYS = "arrays"
LIBRARIES = ("holdtrue", "numpy", "jax", "jaxlib", "scikit-learn", "xgboost", "lightgbm", "catboost", "torch")
DEEPEST = 40  # levels of a description: more is an object that holds itself

Described = Any  # what JSON has


@dataclass(frozen=True)
class Kept:
    """A folder of trained models. Several processes may share it: a file is there whole or not at all."""

    folder: Path

    @classmethod
    def at(cls, place: str | Path) -> "Kept":
        """The folder, made where it is not there yet."""
        folder = Path(place)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"retrain: `keep` must be a folder; got {str(place)!r} ({error}).") from error
        return cls(folder)

    def put_estimator(self, key: str, model: Estimator) -> None:
        """Keep a model made elsewhere, in a safe format."""
        kind, blob, info = stored(model)
        self._write(key, kind, blob, info)

    def estimator(self, key: str) -> Estimator | None:
        """What was kept of a model made elsewhere; None where there is nothing that can be read."""
        found = self._read(key)
        try:
            return None if found is None or found[0] == ARRAYS else from_stored(*found)
        except DataError:  # what another version of its library wrote: trained again
            return None

    def put_arrays(self, key: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Keep one of holdtrue's models, as arrays."""
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **dict(arrays))
        self._write(key, ARRAYS, buffer.getvalue(), {})

    def arrays(self, key: str) -> dict[str, np.ndarray] | None:
        """What was kept of one of holdtrue's models."""
        found = self._read(key)
        if found is None or found[0] != ARRAYS:
            return None
        with np.load(io.BytesIO(found[1]), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}

    def _place(self, key: str) -> Path:
        return self.folder / f"{key[:32]}{SUFFIX}"

    def _read(self, key: str) -> tuple[str, bytes, JsonObject] | None:
        try:
            with zipfile.ZipFile(self._place(key)) as archive:  # which checks what it unpacks
                header = json.loads(archive.read(HEADER))
                if header["format"] != FORMAT or header["key"] != key:
                    return None
                return header["kind"], archive.read(MODEL), header["info"]
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
            return None  # nothing, or not what was written: trained again

    def _write(self, key: str, kind: str, blob: bytes, info: JsonObject) -> None:
        header = {"format": FORMAT, "key": key, "kind": kind, "info": info}
        place = self._place(key)
        try:
            with replaced(place) as stream, zipfile.ZipFile(stream, "w") as archive:
                archive.writestr(HEADER, json.dumps(header))
                archive.writestr(MODEL, blob)
        except OSError as error:
            raise DataError(f"retrain: cannot keep a model; got {str(place)!r} ({error}).") from error


def stored(model: Estimator) -> tuple[str, bytes, JsonObject]:
    """A model in a safe format, or why it cannot be kept."""
    try:
        return to_stored(model)
    except (CapabilityError, DataError) as error:
        reason = str(error).removeprefix("adopt: ")
        raise CapabilityError(
            f"retrain: `keep` cannot hold a {type(model).__name__}, and a pickle runs code when it is read: "
            f"{reason} Or leave `keep` out."
        ) from error


# ---- what tells one training from another ------------------------------------------------------------------


def versions() -> list[tuple[str, str]]:
    """Libraries that train, as far as they are installed."""
    out = []
    for name in LIBRARIES:
        try:
            out.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return out


def digest(*parts: object) -> str:
    """SHA-256 of what parts say of themselves."""
    return hashlib.sha256(json.dumps([described(part) for part in parts]).encode()).hexdigest()


def described(value: object, depth: int = 0) -> Described:
    """What tells a recipe, or a part of it, from others; an error where nothing does.

    Of a function its text counts, its defaults and what it closes over, not what else it calls.
    """
    if depth > DEEPEST:
        raise _unclear(value)
    inner: Callable[[object], Described] = functools.partial(described, depth=depth + 1)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, np.generic)):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, bytes):
        return ["bytes", hashlib.sha256(value).hexdigest()]
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return ["objects", list(value.shape), [inner(one) for one in value.ravel().tolist()]]
        return ["array", str(value.dtype), list(value.shape), _sha(value)]
    if isinstance(value, Mapping):
        return ["mapping", sorted(([repr(k), inner(v)] for k, v in value.items()), key=lambda pair: pair[0])]
    if isinstance(value, (set, frozenset)):
        return ["set", sorted(map(repr, value))]
    if isinstance(value, (list, tuple)):
        return [inner(one) for one in value]
    if isinstance(value, np.random.RandomState):
        return ["random state", inner(value.get_state())]
    if isinstance(value, functools.partial):
        return ["partial", inner(value.func), inner(value.args), inner(value.keywords)]
    if isinstance(value, type) or inspect.isbuiltin(value) or isinstance(value, np.ufunc):
        return ["name", getattr(value, "__module__", ""), getattr(value, "__qualname__", str(value))]
    if inspect.ismethod(value):
        return ["method", value.__func__.__qualname__, inner(value.__self__)]
    if inspect.isfunction(value):
        return _function(value, inner)
    return _object(value, inner)


def _function(value: Any, inner: Callable[[object], Described]) -> Described:
    try:
        text = inspect.getsource(value)
    except (OSError, TypeError):
        text = repr((value.__code__.co_code, value.__code__.co_names, value.__code__.co_varnames))
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    return ["function", value.__module__, value.__qualname__, text, inner(value.__defaults__), inner(cells)]


def _object(value: Any, inner: Callable[[object], Described]) -> Described:
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    get_params = getattr(value, "get_params", None)
    if callable(get_params):
        try:
            return [name, inner(get_params(deep=False))]
        except TypeError:
            return [name, inner(get_params())]
    if hasattr(value, "__array__"):
        return [name, inner(np.asarray(value))]
    if hasattr(value, "__dict__") or callable(value):
        return [name, inner(getattr(value, "__dict__", {}))]
    raise _unclear(value)


def _unclear(value: object) -> CapabilityError:
    return CapabilityError(
        f"retrain: `keep` cannot tell one {type(value).__name__} in the recipe from another. Set what it is made "
        "of as parameters, or leave `keep` out."
    )


def _sha(values: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()


def rows_digest(columns: Mapping[str, np.ndarray], labels: np.ndarray) -> str:
    """What tells a table with its labels from others."""
    return digest({name: np.asarray(values) for name, values in columns.items()}, np.asarray(labels))
