"""Arrays as compiled code takes them: of a kind that their annotation names, by their addresses."""

import functools
import typing
from typing import Annotated, Any, Generic, TypeVar

import numpy as np

Arrays = TypeVar("Arrays", bound=tuple[Any, ...])
WIDTH = 4  # of a row of the table: an address, and the lengths of at most three axes

Reals = Annotated[np.ndarray, "f8", 1]
Reals2 = Annotated[np.ndarray, "f8", 2]
Reals3 = Annotated[np.ndarray, "f8", 3]
Singles = Annotated[np.ndarray, "f4", 1]
Singles2 = Annotated[np.ndarray, "f4", 2]
Whole = Annotated[np.ndarray, "i8", 1]
Whole2 = Annotated[np.ndarray, "i8", 2]
Short = Annotated[np.ndarray, "i4", 1]
Short2 = Annotated[np.ndarray, "i4", 2]
Flags = Annotated[np.ndarray, "u1", 1]
Flags2 = Annotated[np.ndarray, "u1", 2]


@functools.cache
def kinds(of: type) -> tuple[tuple[str, np.dtype, int], ...]:
    """Name, dtype and number of axes of every array of a named tuple."""
    hints = typing.get_type_hints(of, include_extras=True)
    return tuple((name, np.dtype(hint.__metadata__[0]), hint.__metadata__[1]) for name, hint in hints.items())


class Handed(Generic[Arrays]):
    """Arrays of a named tuple, to be handed to compiled code.

    Attributes
    ----------
    arrays : the tuple; its arrays are of the kinds that it is annotated with.
    address : of a table of their addresses and lengths.
    """

    def __init__(self, arrays: Arrays) -> None:
        of = type(arrays)
        self.arrays: Arrays = of(
            *(
                np.require(part, dtype, ["C", "A", "W"])
                for part, (_, dtype, _) in zip(arrays, kinds(of), strict=True)
            )
        )
        self._table = np.zeros((len(self.arrays), WIDTH), np.int64)
        for i, (part, (name, _, n_axes)) in enumerate(zip(self.arrays, kinds(of), strict=True)):
            assert part.ndim == n_axes, name
            self._table[i, 0], self._table[i, 1 : 1 + n_axes] = part.ctypes.data, part.shape
        self.address = self._table.ctypes.data
