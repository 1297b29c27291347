"""Machine code of the search over tree ensembles: made when it is first needed, and kept beside jax's programs.

What is kept lies in a folder named by the code it was made from: numba looks at the file of the function that is
called, and not at those of the functions that this one calls.

Compiled functions take many arrays. As a tuple, each would be handed on and counted at every call, which takes
minutes to compile and most of the time to run. So they take `Handed`: the address of a table of addresses.
"""

import contextlib
import hashlib
import inspect
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import config
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np import numpy_support
from numba.np.arrayobj import make_array, populate_array

from holdtrue._cache import cache_dir
from holdtrue.search.exact._arrays import WIDTH, Handed, kinds

KEPT = 4  # versions of the code
PART: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
CHOSEN = "CACHE_DIR"  # numba's name of the setting


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A part of the program: compiled with whatever calls it. What its arguments are is checked by numba, which
    takes no function that another check has been wrapped around."""
    return numba.njit(**PART)(inspect.unwrap(function))


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, for what is called in one place: written out there, so that it is not optimised by itself too."""
    return numba.njit(**PART, inline="always")(inspect.unwrap(function))


def program(*arguments: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function that Python calls: without the interpreter's lock, and kept on disk where that is switched on.

    Compiled, or read from disk, when its file is loaded: nobody's time runs meanwhile. `arguments` are the tuples
    that are handed to it, or plain types.
    """
    plain = {int: types.int64, bool: types.boolean}
    signature = types.void(*(plain[kind] if kind in plain else _Table(kind) for kind in arguments))

    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        with _kept_in(_folder()) as kept:
            options: dict[str, Any] = {
                "error_model": "numpy",
                "nogil": True,
                "no_cfunc_wrapper": True,
                "cache": kept,
            }
            return numba.njit(signature, **options)(inspect.unwrap(function))

    return made


def _folder() -> Path | None:
    """Where machine code of these very files is kept; None where nothing is to be kept, or nothing can be."""
    directory = cache_dir()
    if directory is None:
        return None
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    above = directory.parent.parent / "numba" / directory.name
    folder = above / digest.hexdigest()[:16]
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True)
            others = sorted((p for p in above.iterdir() if p != folder), key=lambda p: p.stat().st_mtime)
            for old in others[: max(0, len(others) - KEPT + 1)]:
                shutil.rmtree(old, ignore_errors=True)
    except OSError:
        return None
    return folder


@contextlib.contextmanager
def _kept_in(folder: Path | None) -> Iterator[bool]:
    """numba's setting for the functions that are declared meanwhile; a place that the user has chosen stays."""
    before = getattr(config, CHOSEN)
    if folder is not None and not before:
        setattr(config, CHOSEN, str(folder))
    try:
        yield folder is not None
    finally:
        setattr(config, CHOSEN, before)


# ---- arrays by their addresses ----------------------------------------------------------------------


class _Table(types.Type):
    """The type of `Handed`, by the class of its arrays."""

    def __init__(self, of: type) -> None:
        self.of = of
        self.arrays = {
            name: (i, types.Array(numpy_support.from_dtype(dtype), n_axes, "C"))
            for i, (name, dtype, n_axes) in enumerate(kinds(of))
        }
        super().__init__(name=f"Handed({of.__module__}.{of.__qualname__}: {kinds(of)})")


register_model(_Table)(models.OpaqueModel)


@typeof_impl.register(Handed)
def _typeof(handed: Handed[Any], _: Any) -> _Table:
    return _Table(type(handed.arrays))


@unbox(_Table)
def _unboxed(_: _Table, handed: Any, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(handed, "address")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    return NativeValue(pointer)


@infer_getattr
class _Arrays(AttributeTemplate):  # type: ignore[misc]
    key = _Table

    def generic_resolve(self, table: _Table, name: str) -> types.Array | None:
        """The type of one of the arrays."""
        return table.arrays[name][1] if name in table.arrays else None


@lower_getattr_generic(_Table)
def _array(context: Any, builder: Any, table: _Table, pointer: Any, name: str) -> Any:
    """An array that nobody counts: Python keeps it as long as the call lasts."""
    place, kind = table.arrays[name]
    word = ir.IntType(64)
    rows = builder.bitcast(pointer, word.as_pointer())
    address, *shape = (
        builder.load(builder.gep(rows, [ir.Constant(word, WIDTH * place + i)])) for i in range(1 + kind.ndim)
    )
    size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides, step = [], ir.Constant(word, size)
    for length in reversed(shape):
        strides.insert(0, step)
        step = builder.mul(step, length)
    array = make_array(kind)(context, builder)
    populate_array(
        array,
        data=builder.inttoptr(address, context.get_data_type(kind.dtype).as_pointer()),
        shape=shape,
        strides=strides,
        itemsize=ir.Constant(word, size),
        meminfo=None,
    )
    return array._getvalue()
