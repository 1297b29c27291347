"""The search over tree ensembles as numba compiles it, when `_make` writes its program; no search needs it.

Compiled functions take many arrays. As a tuple, each would be handed on and counted at every call, which takes
minutes to compile and most of the time to run. So they take `Handed`: the address of a table of addresses.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
)
from numba.np import numpy_support
from numba.np.arrayobj import make_array, populate_array

from holdtrue.search.exact._arrays import WIDTH, kinds

# Nothing is divided by 0 unnoticed that is not meant to be; no array is counted, since Python keeps them all.
PART: dict[str, Any] = {
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "_nrt": False,
}


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A part of the program: compiled with whatever calls it. What its arguments are is checked by numba, which
    takes no function that another check has been wrapped around."""
    return numba.njit(**PART)(inspect.unwrap(function))


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, for what is called in one place: written out there, so that it is not optimised by itself too."""
    return numba.njit(**PART, inline="always")(inspect.unwrap(function))


def program(*arguments: type) -> Callable[[Callable[..., Any]], Any]:
    """What Python calls in the end. `arguments` are the tuples that are handed to it, or plain types."""
    plain = {int: types.int64}
    signature = types.void(*(plain[kind] if kind in plain else _Table(kind) for kind in arguments))

    def made(function: Callable[..., Any]) -> Any:
        return numba.njit(signature, **PART)(inspect.unwrap(function))

    return made


# ---- arrays by their addresses ----------------------------------------------------------------------


class _Table(types.Type):
    """The type of `Handed`, by the class of its arrays."""

    def __init__(self, of: type) -> None:
        self.of = of
        self.arrays = {
            name: (i, types.Array(numpy_support.from_dtype(dtype), n_axes, "C"))
            for i, (name, dtype, n_axes) in enumerate(kinds(of))
        }
        super().__init__(name=of.__name__)


register_model(_Table)(models.OpaqueModel)


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
