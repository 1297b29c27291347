"""Where raw files lie, how they are read, and the proof that each is the file it should be."""

import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from holdtrue._types import NativeFrame
from holdtrue.errors import DataError
from holdtrue.schema import did_you_mean

VARIABLE = "HOLDTRUE_DATA"


@dataclass(frozen=True, kw_only=True)
class RawFile:
    """A file as its source publishes it.

    Parameters
    ----------
    name : str
        File name; its ending says how to read it (``.csv.gz``, ``.parquet``, ``.npz``).
    rows, width : int
        How many rows and columns a complete copy has.
    columns : tuple of str
        The columns that `load` reads; all must be there.
    arrays : mapping of str to tuple
        For ``.npz``: the shape of each array, instead of `columns`.
    """

    name: str
    rows: int
    width: int
    columns: tuple[str, ...] = ()
    arrays: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def find(self) -> Path | None:
        """Return the first copy in the data directories, if any."""
        return next((d / self.name for d in data_dirs() if (d / self.name).is_file()), None)

    def locate(self, dataset: str) -> Path:
        """Return the first copy in the data directories, or say where it was sought."""
        path = self.find()
        if path is not None:
            return path
        searched = ", ".join(f"{str(d)!r}{'' if d.is_dir() else ' (no such directory)'}" for d in data_dirs())
        raise DataError(
            f"datasets.load: the file of {dataset!r} was not found; got no {self.name!r} in {searched}. "
            f"Add it with `holdtrue datasets add {dataset} FILE`, or set {VARIABLE} to the directory that "
            "holds it."
        )

    def read(self, path: Path) -> NativeFrame:
        """Read and verify one copy: a DataFrame, or a mapping of arrays for ``.npz``."""
        try:
            raw = self._read(path)
        except FileNotFoundError as error:
            raise DataError(f"datasets: the file is not there; got {str(path)!r}. Check the path.") from error
        # Every reader has its own way to say "damaged": a cut gzip stream ends early, a cut zip has no
        # directory, a cut parquet file no footer, a binary file no text.
        except (OSError, EOFError, ValueError, TypeError, zipfile.BadZipFile, zlib.error) as error:
            raise DataError(
                f"datasets: {self.name!r} cannot be read; got {str(path)!r} ({type(error).__name__}: "
                f"{str(error).splitlines()[0] if str(error) else 'no detail'}). The copy is damaged or of "
                "another format; fetch it again."
            ) from error
        self._verify(raw, path)
        return raw

    def _read(self, path: Path) -> NativeFrame:
        if self.name.endswith(".npz"):
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
                return {key: archive[key] for key in archive.files}
        if self.name.endswith(".parquet"):
            return pd.read_parquet(path)
        with path.open("rb") as stream:
            zipped = stream.read(2) == b"\x1f\x8b"
        # A copy that someone unzipped is as good.
        return pd.read_csv(path, compression="gzip" if zipped else None, low_memory=False)

    def _verify(self, raw: NativeFrame, path: Path) -> None:
        where = f"datasets: {str(path)!r} is not the expected {self.name!r}"
        if isinstance(raw, dict):
            shapes = {key: value.shape for key, value in raw.items()}
            wrong = {key: shapes.get(key) for key, shape in self.arrays.items() if shapes.get(key) != shape}
            if wrong:
                raise DataError(f"{where}: arrays differ; got {wrong!r} for {dict(self.arrays)!r}.")
            return
        names = [str(c) for c in raw.columns]
        absent = [c for c in self.columns if c not in names]
        if absent:
            near = did_you_mean(absent[0], [n for n in names if n not in self.columns])
            hint = near if near.startswith("Did") else f"It has {names[:5]!r}; is it another dataset's?"
            raise DataError(f"{where}: {len(absent)} of its columns are absent; got no {absent[:5]!r}. {hint}")
        if len(names) != self.width:
            extra = [c for c in names if c not in self.columns]
            raise DataError(
                f"{where}: it should have {self.width} columns; got {len(names)}, among them {extra[:5]!r}."
            )
        if len(raw) != self.rows:
            raise DataError(
                f"{where}: it should have {self.rows:,} rows; got {len(raw):,}. The copy is cut or of "
                "another version; fetch it again."
            )


def data_dirs() -> list[Path]:
    """Directories searched for data files, first to last: ``HOLDTRUE_DATA`` if set, then the user's cache."""
    named = os.environ.get(VARIABLE)
    return [*([Path(named).expanduser()] if named else []), cache_dir()]


def cache_dir() -> Path:
    """The user's own data directory, where `add` puts files."""
    base = os.environ.get("XDG_CACHE_HOME")
    # The XDG rules say that a relative path is to be ignored.
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return root / "holdtrue" / "data"


def store(source: Path, name: str) -> Path:
    """Copy a file into the cache; a reader sees the old copy or the new one, never a part."""
    directory = cache_dir()
    goal = directory / name
    try:
        directory.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(dir=directory, prefix=f".{name}.")
        try:
            with os.fdopen(handle, "wb") as out, source.open("rb") as stream:
                shutil.copyfileobj(stream, out)
                out.flush()
                os.fsync(out.fileno())
            Path(partial).replace(goal)
        except BaseException:
            Path(partial).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise DataError(
            f"datasets.add: cannot write to the cache; got {str(directory)!r} ({error}). Set XDG_CACHE_HOME "
            f"to a writable directory, or set {VARIABLE} to the directory that holds the file."
        ) from error
    return goal
