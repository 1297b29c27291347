"""Tables at the edge: any dataframe in, plain numpy columns inside, the same kind of dataframe out."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from holdtrue._types import Cell, NativeFrame
from holdtrue.errors import DataError
from holdtrue.schema._checks import plain, shown

Made = TypeVar("Made")


@dataclass(frozen=True)
class _Kept:
    """What was read from some columns of a table, and by whom."""

    owner: object
    columns: dict[str, np.ndarray]
    value: Cell
    per_row: bool

    def is_of(self, table: "Table", names: Sequence[str]) -> bool:
        """Whether these columns are still the arrays that were read."""
        return list(self.columns) == list(names) and all(
            values is table.columns.get(name) for name, values in self.columns.items()
        )


@dataclass(frozen=True)
class Table:
    """Named columns as numpy arrays, and the dataframe they came from.

    A column is float64, int64, bool, datetime64 or object; missing values are NaN in float columns and
    None in object columns.
    """

    columns: dict[str, np.ndarray]
    n_rows: int
    native: NativeFrame = None
    memo: dict[tuple[str, int], "_Kept"] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def names(self) -> list[str]:
        """Column names, in order."""
        return list(self.columns)

    @property
    def labels(self) -> list[Cell] | None:
        """What the dataframe calls its rows; None where it does not."""
        return self.native.index.tolist() if isinstance(self.native, pd.DataFrame) else None

    def missing(self, name: str) -> np.ndarray:
        """Which values of a column are absent."""
        values = self.columns[name]
        if values.dtype == object:
            # NaN too: a number column that was mixed with levels carries its own sign of absence along.
            return self.remember_rows(f"missing {name}", None, [name], lambda: np.asarray(pd.isna(values)))
        return np.isnan(values) if values.dtype.kind in "fmM" else np.zeros(len(values), bool)

    def remember(self, what: str, owner: object, names: Sequence[str], make: Callable[[], Made]) -> Made:
        """What `make` gives, kept for as long as these columns are the same arrays.

        A table is read several times on its way (checked, encoded, compared); each reading is done once. Another
        `owner`, who reads it, has another reading.
        """
        return self._remember(what, owner, names, make, per_row=False)

    def remember_rows(
        self, what: str, owner: object, names: Sequence[str], make: Callable[[], np.ndarray]
    ) -> np.ndarray:
        """`remember` for an array with one entry per row that depends on that row alone: `take` takes it along."""
        return self._remember(what, owner, names, make, per_row=True)

    def remembers(self, what: str, owner: object, names: Sequence[str]) -> bool:
        """Whether `remember` would make nothing."""
        kept = self.memo.get((what, id(owner)))
        return kept is not None and kept.is_of(self, names)

    def _remember(
        self, what: str, owner: object, names: Sequence[str], make: Callable[[], Made], per_row: bool
    ) -> Made:
        key = (what, id(owner))  # the owner is kept beside, so that no other has its id
        kept = self.memo.get(key)
        if kept is None or not kept.is_of(self, names):
            kept = self.memo[key] = _Kept(owner, {name: self.columns[name] for name in names}, make(), per_row)
        return kept.value

    def take(self, rows: np.ndarray) -> "Table":
        """Return some rows (indices or a mask)."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        picked = np.arange(self.n_rows)[rows]
        native = self.native
        if native is not None:
            frame = nw.from_native(native, eager_only=True)
            native = frame[picked.tolist()].to_native() if len(picked) else frame.head(0).to_native()
        out = Table(columns, len(picked), native)
        for key, kept in list(self.memo.items()):
            if kept.per_row and kept.is_of(self, list(kept.columns)):
                own = {name: columns[name] for name in kept.columns}
                out.memo[key] = _Kept(kept.owner, own, _frozen(kept.value[rows]), True)
        return out

    def like_native(self, columns: Mapping[str, np.ndarray]) -> NativeFrame:
        """Build a dataframe of the same library, with the same index where it has one.

        Columns keep the input's type where the values allow it, so a whole-number column stays one.
        """
        if self.native is None:
            return pd.DataFrame({k: narrow(v) for k, v in columns.items()})
        frame = nw.from_native(self.native, eager_only=True)
        backend = frame.implementation.to_native_namespace()
        series, there = {}, set(frame.columns)
        for name, values in columns.items():
            values = narrow(values)
            if name in there:
                values = _as_dtype_of(values, self.columns.get(name))
            values = values.tolist() if values.dtype == object else values
            if (
                not frame.implementation.is_pandas()
                and isinstance(values, np.ndarray)
                and values.dtype.kind == "f"
            ):
                # Outside pandas a missing number is null, and NaN is a number.
                values = [None if v != v else v for v in values.tolist()] if np.isnan(values).any() else values
            series[name] = values
        if frame.implementation.is_pandas():
            # At once: a series for every column takes longer than a model with few rows.
            out = pd.DataFrame(series)
            if len(out) == len(self.native):
                out.index = self.native.index
            return out
        named = {name: nw.new_series(name, values, backend=backend) for name, values in series.items()}
        return nw.from_dict(named, backend=backend).to_native()


if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame
    from numpy.typing import ArrayLike

    TableLike: TypeAlias = Table | IntoDataFrame | Mapping[str, ArrayLike] | ArrayLike
    """A table as `as_table` reads it: a dataframe of any library, columns by name, or a 2-d array."""
else:
    TableLike = object  # whatever comes is read or refused by `as_table`


def _frozen(array: np.ndarray) -> np.ndarray:
    """The same array, not to be written to: others hold it too."""
    array.flags.writeable = False
    return array


def as_table(data: TableLike, *, where: str = "Table") -> Table:
    """Read a dataframe (pandas, polars, pyarrow), a mapping of columns, or a 2-d array.

    Columns of an array are named ``x0``, ``x1``, ...
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, Mapping):
        return _from_mapping(data, where)
    if hasattr(data, "toarray") or hasattr(data, "collect"):  # a sparse array, a lazy frame
        raise _not_a_table(data, where)
    _check_names(data, where)
    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError:
        return _from_array(data, where)
    if isinstance(data, pd.DataFrame):
        columns = {str(name): _from_pandas(values, frame, where) for name, values in data.items()}
    else:
        columns = {name: _from_series(frame[name], where) for name in frame.columns}
    return Table(columns, len(frame), data)


def holds_dates(values: np.ndarray) -> bool:
    """Whether a column holds dates, times or durations."""
    if values.dtype != object:
        return values.dtype.kind in "mM"
    odd = set(map(type, values)) - {str, int, float, bool, type(None)}
    # Period has strftime only; durations and numpy's own scalars have neither.
    clocks = (timedelta, np.datetime64, np.timedelta64)
    return any(hasattr(t, "isoformat") or hasattr(t, "strftime") or issubclass(t, clocks) for t in odd)


def _check_names(data: object, where: str) -> None:
    """Names must be texts, each once. Asked before narwhals reads the frame: it has other errors for it."""
    names = getattr(data, "column_names", None)  # pyarrow, whose `columns` are the values
    names = getattr(data, "columns", None) if names is None else names
    if isinstance(data, np.ndarray) or not isinstance(names, Iterable):
        return
    names = list(names)
    bad = [name for name in names if not isinstance(name, str)]
    if bad:
        raise DataError(
            f"{where}: column names must be text; got {shown(bad[:3])}. Rename them, for example with "
            "`X.columns = X.columns.astype(str)`."
        )
    counts = Counter(names)
    for name in counts:
        if counts[name] > 1:
            raise DataError(
                f"{where}: a column appears more than once; got {name!r} {counts[name]} times. Rename "
                "or drop the copies."
            )


def _from_mapping(data: Mapping[Any, object], where: str) -> Table:
    columns: dict[str, np.ndarray] = {}
    for key, values in data.items():
        name = str(key)
        if name in columns:
            raise DataError(f"{where}: a column appears more than once; got {name!r}. Rename or drop the copies.")
        columns[name] = _plain_array(_array(values, f"column {name!r}", where), name, where)
    lengths = {len(v) for v in columns.values()}
    if len(lengths) > 1:
        raise DataError(f"{where}: columns differ in length; got {sorted(lengths)}. Give equal lengths.")
    return Table(columns, lengths.pop() if lengths else 0)


def _from_pandas(series: pd.Series, frame: nw.DataFrame, where: str) -> np.ndarray:
    """A column of pandas: plain numbers at once, since reading a person's row takes longer than asking a model."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "fiub":
        return _plain_array(series.to_numpy(), str(series.name), where)
    return _from_series(frame[str(series.name)], where)


def _from_series(series: nw.Series, where: str) -> np.ndarray:
    dtype = series.dtype
    if dtype.is_temporal():
        return series.to_numpy()
    if dtype.is_numeric():
        # Nullable integers come as float with NaN, so that "missing" looks the same everywhere.
        # Decimals and integers of 128 bits have no numpy type of their own.
        plain_type = (dtype.is_integer() or dtype.is_float()) and dtype not in (nw.Int128, nw.UInt128)
        if series.is_null().any() or not plain_type:
            return series.cast(nw.Float64).to_numpy().astype(np.float64)
        return _plain_array(series.to_numpy(), str(series.name), where)
    if dtype == nw.Boolean and not series.is_null().any():
        return series.to_numpy().astype(bool)
    values = np.empty(len(series), object)
    values[:] = series.to_list()
    return _plain_array(values, str(series.name), where)


def _from_array(data: object, where: str) -> Table:
    if not hasattr(data, "__len__"):
        raise _not_a_table(data, where)
    array = _array(data, "the array", where)
    if array.ndim != 2:
        raise DataError(
            f"{where}: must have rows and columns; got an array of shape {array.shape}. Reshape your data: a "
            "single row is `[[...]]`."
        )
    columns = {f"x{j}": _plain_array(array[:, j], f"x{j}", where) for j in range(array.shape[1])}
    return Table(columns, len(array))


def _not_a_table(data: object, where: str) -> DataError:
    return DataError(
        f"{where}: must be a dataframe or a dense 2-d array; got {type(data).__name__}. Convert it first, "
        "for example with `.toarray()` or `.collect()`."
    )


def _array(values: object, what: str, where: str) -> np.ndarray:
    """Any array-like as numpy, without turning the numbers of a mixed list into texts."""
    if isinstance(values, np.ma.MaskedArray):
        raise DataError(f"{where}: {what} must not be masked; got {type(values).__name__}. Use `.filled(np.nan)`.")
    try:
        array = np.asarray(values)
        if array.dtype.kind in "US" and not hasattr(values, "dtype"):
            array = np.array(values, object)
    except Exception as error:  # rows of different length, or whatever a foreign object raises
        raise DataError(
            f"{where}: {what} cannot be read ({error}); got {shown(values)}. Give rows of equal length."
        ) from error
    return array


def _plain_array(values: np.ndarray, name: str, where: str) -> np.ndarray:
    """Float64, int64, bool, datetime64, or object holding Python values with None for missing."""
    kind = values.dtype.kind
    if values.ndim != 1:
        raise DataError(
            f"{where}: column {name!r} must be one-dimensional; got shape {values.shape}. Give one value per row."
        )
    if kind in "iu":
        # A large unsigned number would wrap around to a negative one.
        wide = kind == "u" and len(values) > 0 and values.max() > np.iinfo(np.int64).max
        return values.astype(np.float64 if wide else np.int64)
    if kind == "f":
        with np.errstate(over="ignore"):  # a long double beyond float64 becomes an infinity, which is refused
            return values.astype(np.float64)
    if kind in "bmM":
        return values
    if kind == "c":
        raise DataError(
            f"{where}: Complex data not supported; got column {name!r} of complex numbers. Take its parts."
        )
    out = np.empty(len(values), object)
    out[:] = [_plain_value(v) for v in values.tolist()]
    return _numbers_if_numeric(out)


def _plain_value(value: Cell) -> Cell:
    """A Python value; None for every way of saying that there is none."""
    if type(value) is str:
        return value
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    value = plain(value)
    if isinstance(value, Decimal):
        return float(value) if not value.is_nan() else None
    if isinstance(value, float):
        return None if value != value else float(value)
    return str(value) if isinstance(value, str) else value


def _numbers_if_numeric(values: np.ndarray) -> np.ndarray:
    """An object column that holds only numbers becomes a number column."""
    kinds = set(map(type, values)) - {type(None)}
    complete = not any(v is None for v in values) if kinds <= {bool, int, float} else False
    if kinds == {bool}:
        return values.astype(bool) if complete else values
    if not kinds or not kinds <= {int, float}:
        return values
    if kinds == {int} and complete and all(-(2**63) <= v < 2**63 for v in values):
        return values.astype(np.int64)
    return np.array([_float(v) for v in values], np.float64)


def _float(value: int | float | None) -> float:
    if value is None:
        return np.nan
    try:
        return float(value)
    except OverflowError:  # a whole number beyond any float; infinities are refused with a message
        return np.inf if value > 0 else -np.inf


def narrow(values: Sequence[object] | np.ndarray) -> np.ndarray:
    """Values as an array, of numbers where all of them are."""
    values = np.asarray(values)
    return _numbers_if_numeric(values) if values.dtype == object else values


def _as_dtype_of(values: np.ndarray, original: np.ndarray | None) -> np.ndarray:
    """Whole floats go back to int64 where the input was int64, and 0/1 to bool where it was bool."""
    if original is None or values.dtype == original.dtype or values.dtype.kind not in "fib":
        return values
    whole = np.isfinite(values).all() and np.array_equal(values, np.rint(values))
    if original.dtype.kind in "ib" and whole and np.array_equal(values, values.astype(original.dtype)):
        return values.astype(original.dtype)
    return values.astype(np.float64) if original.dtype.kind == "f" else values
