"""Finished chunks of a long run, kept in a folder beside the output until all are there."""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from holdtrue._types import JsonObject
from holdtrue.errors import DataError
from holdtrue.runs._write import write_table, write_tables

MANIFEST = "manifest.json"
RECORDS = "records"  # how the names of files of records end


class Parts:
    """The folder ``OUT.parts``: a manifest, and per finished chunk a table and a note.

    The note is moved into place after the table, so a chunk with a note is whole. Nothing in the folder is ever
    overwritten by another run: one with the same manifest may go on with `resume`, any other is refused.

    Parameters
    ----------
    out : Path
        The file to be.
    format : str
        Of the output and of the chunks.
    manifest : dict
        What must be equal for a run to go on with another's chunks.
    resume : bool
        Whether chunks that are there may be used.
    """

    def __init__(self, out: Path, format: str, manifest: JsonObject, resume: bool) -> None:
        self.out, self.format = out, format
        self.folder = out.with_name(out.name + ".parts")
        manifest = json.loads(json.dumps(manifest))  # as it will be read back
        if self.folder.exists():
            self._check(manifest, resume)
            return
        self.folder.mkdir()
        self._put(MANIFEST, manifest)

    def _check(self, manifest: JsonObject, resume: bool) -> None:
        n = len(list(self.folder.glob("part-*.json")))
        if not resume:
            raise DataError(
                f"recourse: an unfinished run is kept in {str(self.folder)!r}; got {n} finished chunks. Add "
                "--resume to go on with it, or delete the folder."
            )
        try:
            stored = json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
        except FileNotFoundError:
            if n == 0:  # stopped before the manifest was there
                self._put(MANIFEST, manifest)
                return
            stored = {}
        except (OSError, ValueError) as error:
            raise DataError(
                f"--resume: the manifest cannot be read; got {str(self.folder / MANIFEST)!r} ({error}). Delete "
                "the folder and start again."
            ) from error
        changed = [key for key in manifest if stored.get(key) != manifest[key]]
        if changed:
            first = changed[0]
            raise DataError(
                f"--resume: the unfinished run in {str(self.folder)!r} differs in its {' and '.join(changed)}; "
                f"got {_short(manifest[first])} after {_short(stored.get(first))}. Give the same model, table and "
                "options, or delete the folder and start again."
            )

    def _put(self, name: str, value: Any) -> None:
        beside = self.folder / f".{name}.{os.getpid()}"
        beside.write_text(json.dumps(value, indent=1), encoding="utf-8")
        os.replace(beside, self.folder / name)

    def _path(self, number: int, ending: str) -> Path:
        return self.folder / f"part-{number:06d}.{ending}"

    def note(self, number: int) -> JsonObject | None:
        """What was noted of a finished chunk; None where it is not finished."""
        try:
            return json.loads(self._path(number, "json").read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None

    def keep(self, number: int, table: pa.Table, note: JsonObject, records: Sequence[Any] = ()) -> None:
        """Keep a finished chunk, and records that are still to be issued."""
        write_table(table, self._path(number, self.format), self.format, header=number == 0)
        if records:
            from holdtrue.ledger import write_records

            write_records(records, self._path(number, RECORDS))
        self._put(self._path(number, "json").name, note)

    def issue(self, number: int, ledger: Any) -> Any:
        """Issue the records of a finished chunk; interrupted, they are issued again, which takes effect once."""
        from holdtrue.ledger import Issued, read_records

        path = self._path(number, RECORDS)
        if not path.exists():
            return Issued()
        done = ledger.issue(read_records(path))
        path.unlink()
        return done

    def join(self, n: int) -> None:
        """Make the output of `n` chunks, streaming, and remove the folder."""
        if self.format == "parquet":
            write_tables(self._tables(n), self.out, self.format)
        else:
            beside = self.out.with_name(f".{self.out.name}.{os.getpid()}.part")
            try:
                with beside.open("wb") as stream:
                    for number in range(n):
                        with self._path(number, self.format).open("rb") as part:
                            shutil.copyfileobj(part, stream, 1 << 20)
                os.replace(beside, self.out)
            finally:
                beside.unlink(missing_ok=True)
        for path in [
            p for pattern in ("part-*", ".part-*", MANIFEST, f".{MANIFEST}*") for p in self.folder.glob(pattern)
        ]:
            path.unlink(missing_ok=True)
        self._remove()

    def drop_if_empty(self) -> None:
        """Leave no folder behind where no chunk was finished."""
        if self.folder.exists() and not any(self.folder.glob("part-*")):
            (self.folder / MANIFEST).unlink(missing_ok=True)
            self._remove()

    def _remove(self) -> None:
        if not any(self.folder.iterdir()):  # what somebody else put there stays
            self.folder.rmdir()

    def _tables(self, n: int) -> Iterator[pa.Table]:
        for number in range(n):
            yield pq.ParquetFile(self._path(number, "parquet")).read()


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else text[:117] + "..."
