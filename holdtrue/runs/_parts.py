"""Finished chunks of a long run, kept in a folder beside the output until all are there."""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from holdtrue._files import drop_unfinished, locked, replaced
from holdtrue._types import JsonObject
from holdtrue.errors import DataError
from holdtrue.runs._identity import Identity
from holdtrue.runs._write import write_table, write_tables

if TYPE_CHECKING:  # brings SQLAlchemy along, which only those who keep promises need
    from holdtrue.ledger import Issued, Ledger, Record

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
    identity : Identity
        What must be equal for a run to go on with another's chunks.
    resume : bool
        Whether chunks that are there may be used.
    """

    def __init__(self, out: Path, format: str, identity: Identity, resume: bool) -> None:
        self.out, self.format, self.resume = out, format, resume
        self.folder = out.with_name(out.name + ".parts")
        self._done = out.with_name(f".{out.name}.parts.done")
        self._noted = out.with_name(f".{out.name}.run")
        self._lock = ExitStack()
        beside = out.with_name(f".{out.name}.lock")
        self._lock.enter_context(locked(beside, what=f"run: the output {str(out)!r}"))
        try:
            self._begin(identity, resume)
        except BaseException:
            self._lock.close()
            raise

    def _begin(self, identity: Identity, resume: bool) -> None:
        self.identity = identity
        for path in (self.out, self._noted):
            drop_unfinished(path)
        self._noted.unlink(missing_ok=True)  # what it says of the last run is not true for long
        self._clear()  # what a run left that was killed when all was done
        if self.folder.exists():
            self._check(identity, resume)
            return
        self.folder.mkdir(mode=0o700)
        self._put(MANIFEST, identity.to_dict())

    def _check(self, identity: Identity, resume: bool) -> None:
        n = len(list(self.folder.glob("part-*.json")))
        if not resume:
            raise DataError(
                f"run: an unfinished run is kept in {str(self.folder)!r}; got {n} finished chunks. Add "
                "`resume=True` to go on with it, or delete the folder."
            )
        try:
            stored = json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
        except FileNotFoundError:
            if n == 0:  # stopped before the manifest was there
                self._put(MANIFEST, identity.to_dict())
                return
            stored = {}
        except (OSError, ValueError) as error:
            raise DataError(
                f"run: `resume`: the manifest cannot be read; got {str(self.folder / MANIFEST)!r} ({error}). "
                "Delete the folder and start again."
            ) from error
        changed = identity.changed(stored)
        if changed:
            first = changed[0]
            now, then = identity.to_dict()[first], stored.get(first)
            raise DataError(
                f"run: `resume`: the unfinished run in {str(self.folder)!r} differs in its "
                f"{' and '.join(changed)}; got {_short(now)} after {_short(then)}. Give the same model, table and "
                "options, or delete the folder and start again."
            )

    def _put(self, name: str, value: object) -> None:
        with replaced(self.folder / name, private=True) as stream:
            stream.write(json.dumps(value, indent=1).encode())

    def _path(self, number: int, ending: str) -> Path:
        return self.folder / f"part-{number:06d}.{ending}"

    def note(self, number: int) -> JsonObject | None:
        """What was noted of a finished chunk; None where it is not finished."""
        if not self._path(number, self.format).exists():  # removed by a run that was killed when all was done
            return None
        try:
            return json.loads(self._path(number, "json").read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None

    def keep(self, number: int, table: pa.Table, note: JsonObject, records: "Sequence[Record]" = ()) -> None:
        """Keep a finished chunk, and records that are still to be issued."""
        write_table(table, self._path(number, self.format), self.format, header=number == 0)
        if records:
            from holdtrue.ledger import write_records

            write_records(records, self._path(number, RECORDS))
        self._put(self._path(number, "json").name, note)

    def issue(self, number: int, ledger: "Ledger") -> "Issued":
        """Issue the records of a finished chunk; issued again, by whatever run, they take effect once."""
        from holdtrue.ledger import Issued, read_records

        path = self._path(number, RECORDS)
        if not path.exists():
            return Issued()
        done = ledger.issue(read_records(path), at_any_time=True, leave_out=True)
        path.unlink()
        return done

    def join(self, n: int) -> None:
        """Make the output of `n` chunks, streaming, note that it is whole, and remove the folder."""
        notes = [self.note(number) for number in range(n)]
        if self.format == "parquet":
            write_tables(self._tables(n), self.out, self.format)
        else:
            with replaced(self.out, private=True) as stream:
                for number in range(n):
                    with self._path(number, self.format).open("rb") as part:
                        shutil.copyfileobj(part, stream, 1 << 20)
        if self.resume:
            self._note_whole(notes)
        # In one step from "all chunks are there" to "nothing is": a run killed here is not begun again in part.
        os.replace(self.folder, self._done)
        self._clear()

    def _clear(self) -> None:
        _cleared(self._done, self.folder)

    def _note_whole(self, notes: list[JsonObject | None]) -> None:
        """For the next run that is to go on with this one, and finds all of it done."""
        whole = {"identity": self.identity.to_dict(), "output": _facts(self.out), "notes": notes}
        with replaced(self._noted, private=True) as stream:
            stream.write(json.dumps(whole).encode())

    def close(self) -> None:
        """Let others write here; leave no folder behind where no chunk was finished."""
        try:
            self._drop_if_empty()
        finally:
            self._lock.close()

    def _drop_if_empty(self) -> None:
        if self.folder.exists() and not any(self.folder.glob("part-*")):
            (self.folder / MANIFEST).unlink(missing_ok=True)
            if not any(self.folder.iterdir()):
                self.folder.rmdir()

    def _tables(self, n: int) -> Iterator[pa.Table]:
        for number in range(n):
            yield pq.ParquetFile(self._path(number, "parquet")).read()


def _cleared(done: Path, folder: Path) -> None:
    """Remove the chunks of a run that is done; what somebody else put there stays where they put it."""
    if done.exists():
        patterns = ("part-*", ".part-*", MANIFEST, f".{MANIFEST}*")
        for path in [p for pattern in patterns for p in done.glob(pattern)]:
            path.unlink(missing_ok=True)
        if not any(done.iterdir()):
            done.rmdir()
        elif not folder.exists():
            os.replace(done, folder)


def tidied(out: Path) -> None:
    """Remove what a run left that was killed when all was done; nothing where another run is at work here."""
    done, lock = out.with_name(f".{out.name}.parts.done"), out.with_name(f".{out.name}.lock")
    if done.exists() or lock.exists():
        with suppress(DataError), locked(lock, what=f"run: the output {str(out)!r}"):
            _cleared(done, out.with_name(out.name + ".parts"))


def finished(out: Path, identity: Identity) -> list[JsonObject] | None:
    """What was noted of each chunk of a run that is done, where the output is still the one that it wrote."""
    if out.with_name(out.name + ".parts").exists():
        return None
    try:
        whole = json.loads(out.with_name(f".{out.name}.run").read_text(encoding="utf-8"))
        same = not identity.changed(whole["identity"]) and whole["output"] == _facts(out)
        return whole["notes"] if same and None not in whole["notes"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _facts(path: Path) -> list[int]:
    facts = path.stat()
    return [facts.st_size, facts.st_mtime_ns]


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else text[:117] + "..."
