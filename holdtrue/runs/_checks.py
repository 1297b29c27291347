"""What a run refuses before any work."""

from pathlib import Path

from holdtrue.batch import AbstractExecutor, EmbeddedExecutor
from holdtrue.errors import DataError
from holdtrue.runs._read import Source
from holdtrue.runs._write import FORMATS, check_place, format_of, is_stream


def check_numbers(**given: float | None) -> None:
    """Refuse numbers that say nothing."""
    for name, value in given.items():
        if name in ("chunk_rows", "n_recourses"):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise DataError(f"run: `{name}` must be a whole number from 1 on; got {value!r}.")
        elif value is not None and not value > 0:
            raise DataError(f"run: `{name}` must be above 0; got {value!r}.")


def check_output(
    out: str, format: str | None, table: str | Path | Source, resume: bool, executor: AbstractExecutor | None
) -> str:
    """Refuse an output that cannot be written, before any work; returns its format."""
    check_place(out, "run: `out`")
    if format is not None and format not in FORMATS:
        raise DataError(f"run: `format` must be one of {FORMATS}; got {format!r}.")
    format = format_of(out, format, "run: `out`")
    name = table.name if isinstance(table, Source) else str(table)
    if resume and (name == "-" or is_stream(out)):
        raise DataError(
            "run: `resume`: needs files; got `-`. Standard input cannot be read again: save it to a file first."
        )
    if is_stream(out) and not isinstance(executor, EmbeddedExecutor | None):
        raise DataError(
            f"run: `executor`: chunks are finished in any order, so it needs a file; got {out!r}. Write to a file."
        )
    return format


def check_promises(ledger: object, out: str, reference: object, **terms: object) -> None:
    """Refuse promises that cannot be made, or whose terms lack what they rest on."""
    given = [name for name, value in terms.items() if value is not None]
    if ledger is None and given:
        raise DataError(f"run: `{given[0]}`: is for promises; got no `ledger`. Name the ledger.")
    if ledger is not None and "subject" not in given:
        raise DataError("run: `ledger`: needs your key for each person; got no `subject`. Name the column.")
    if ledger is not None and is_stream(out):
        raise DataError(
            "run: `ledger`: needs a file to write to, so that an interrupted run can go on without promising "
            f"twice; got {out!r}. Write `out=FILE`."
        )
    if terms.get("codes") is not None and reference is None:
        raise DataError(
            "run: `codes`: is for reasons, which need rows to compare with; got no `reference`. Give the table "
            "that the model learned from."
        )
