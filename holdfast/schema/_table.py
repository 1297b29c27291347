"""Tables at the edge: any dataframe in, plain numpy columns inside, the same kind of dataframe out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from holdfast.errors import DataError


@dataclass(frozen=True)
class Table:
    """Named columns as numpy arrays, and the dataframe they came from.

    A column is float64, int64, bool, datetime64 or object; missing values are NaN in float columns and
    None in object columns.
    """

    columns: dict[str, np.ndarray]
    n_rows: int
    native: Any = None

    @property
    def names(self) -> list[str]:
        """Column names, in order."""
        return list(self.columns)

    def missing(self, name: str) -> np.ndarray:
        """Which values of a column are absent."""
        values = self.columns[name]
        if values.dtype == object:
            return np.fromiter((v is None for v in values), bool, len(values))
        return np.isnan(values) if values.dtype.kind in "fmM" else np.zeros(len(values), bool)

    def take(self, rows: np.ndarray) -> "Table":
        """Return some rows (indices or a mask)."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        picked = np.arange(self.n_rows)[rows]
        native = self.native
        if native is not None:
            frame = nw.from_native(native, eager_only=True)
            native = frame[picked.tolist()].to_native() if len(picked) else frame.head(0).to_native()
        return Table(columns, len(picked), native)

    def like_native(self, columns: Mapping[str, np.ndarray]) -> Any:
        """Build a dataframe of the same library, with the same index where it has one.

        Columns keep the input's type where the values allow it, so a whole-number column stays one.
        """
        if self.native is None:
            import pandas as pd

            return pd.DataFrame({k: _narrow(v) for k, v in columns.items()})
        frame = nw.from_native(self.native, eager_only=True)
        backend = frame.implementation.to_native_namespace()
        series = {}
        for name, values in columns.items():
            values = _narrow(values)
            if name in frame.columns:
                values = _as_dtype_of(values, self.columns.get(name))
            values = values.tolist() if values.dtype == object else values
            series[name] = nw.new_series(name, values, backend=backend)
        out = nw.from_dict(series, backend=backend).to_native()
        if frame.implementation.is_pandas() and len(out) == len(self.native):
            out.index = self.native.index
        return out


def as_table(data: Any, *, where: str = "Table") -> Table:
    """Read a dataframe (pandas, polars, pyarrow), a mapping of columns, or a 2-d array.

    Columns of an array are named ``x0``, ``x1``, ...
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, Mapping) and not hasattr(data, "toarray"):  # scipy's dok_array is a mapping
        columns = {str(k): _plain_array(np.asarray(v), str(k), where) for k, v in data.items()}
        lengths = {len(v) for v in columns.values()}
        if len(lengths) > 1:
            raise DataError(f"{where}: columns differ in length; got {sorted(lengths)}. Give equal lengths.")
        return Table(columns, lengths.pop() if lengths else 0)
    _refuse_duplicates(data, where)
    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError:
        return _from_array(data, where)
    bad = [name for name in frame.columns if not isinstance(name, str)]
    if bad:
        raise DataError(
            f"{where}: column names must be text; got {bad[:3]!r}. Rename them, for example with "
            "`X.columns = X.columns.astype(str)`."
        )
    columns = {name: _from_series(frame[name], where) for name in frame.columns}
    return Table(columns, len(frame), data)


def _refuse_duplicates(data: Any, where: str) -> None:
    names = getattr(data, "columns", None)
    if names is None or isinstance(data, np.ndarray):
        return
    names = list(names)
    seen: set[Any] = set()
    for name in names:
        if not isinstance(name, (str, int, float, tuple, bool, type(None))):
            continue
        if name in seen:
            raise DataError(
                f"{where}: a column appears more than once; got {name!r} {names.count(name)} times. Rename "
                "or drop the copies."
            )
        seen.add(name)


def _from_series(series: nw.Series, where: str) -> np.ndarray:
    dtype = series.dtype
    if dtype.is_temporal():
        return series.to_numpy()
    if dtype.is_numeric():
        # Nullable integers come as float with NaN, so that "missing" looks the same everywhere.
        if series.is_null().any():
            return series.cast(nw.Float64).to_numpy().astype(np.float64)
        values = series.to_numpy()
        return values.astype(np.int64 if dtype.is_integer() else np.float64)
    if dtype == nw.Boolean and not series.is_null().any():
        return series.to_numpy().astype(bool)
    values = np.empty(len(series), object)
    values[:] = series.to_list()
    return _plain_array(values, str(series.name), where)


def _from_array(data: Any, where: str) -> Table:
    if hasattr(data, "toarray") or not hasattr(data, "__len__"):
        raise DataError(
            f"{where}: must be a dataframe or a dense 2-d array; got {type(data).__name__}. Convert it first, "
            "for example with `.toarray()`."
        )
    array = np.asarray(data)
    if array.ndim != 2:
        raise DataError(
            f"{where}: must have rows and columns; got an array of shape {array.shape}. Reshape your data: a "
            "single row is `[[...]]`."
        )
    columns = {f"x{j}": _plain_array(array[:, j], f"x{j}", where) for j in range(array.shape[1])}
    return Table(columns, len(array))


def _plain_array(values: np.ndarray, name: str, where: str) -> np.ndarray:
    """Float64, int64, bool, datetime64, or object holding Python values with None for missing."""
    kind = values.dtype.kind
    if values.ndim != 1:
        raise DataError(f"{where}: column {name!r} must be one-dimensional; got shape {values.shape}.")
    if kind in "iu":
        return values.astype(np.int64)
    if kind == "f":
        return values.astype(np.float64)
    if kind in "bmM":
        return values
    if kind == "c":
        raise DataError(f"{where}: Complex data not supported; got column {name!r} of complex numbers.")
    out = np.empty(len(values), object)
    for i, value in enumerate(values.tolist()):
        is_absent = value is None or value != value or type(value).__name__ in ("NAType", "NaTType")
        out[i] = None if is_absent else value
    return _numbers_if_numeric(out)


def _numbers_if_numeric(values: np.ndarray) -> np.ndarray:
    """An object column that holds only numbers becomes a number column."""
    present = [v for v in values if v is not None]
    if not present:
        return values
    if all(isinstance(v, bool) for v in present):
        return values.astype(bool) if len(present) == len(values) else values
    if not all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in present):
        return values
    as_float = np.array([np.nan if v is None else v for v in values], np.float64)
    whole = len(present) == len(values) and all(isinstance(v, (int, np.integer)) for v in present)
    return as_float.astype(np.int64) if whole else as_float


def _narrow(values: Sequence[Any] | np.ndarray) -> np.ndarray:
    values = np.asarray(values)
    return _numbers_if_numeric(values) if values.dtype == object else values


def _as_dtype_of(values: np.ndarray, original: np.ndarray | None) -> np.ndarray:
    """Whole floats go back to int64 where the input was int64, and 0/1 to bool where it was bool."""
    if original is None or values.dtype == original.dtype or values.dtype.kind not in "fib":
        return values
    if original.dtype.kind in "ib" and np.array_equal(values, values.astype(original.dtype)):
        return values.astype(original.dtype)
    return values.astype(np.float64) if original.dtype.kind == "f" else values
