"""`holdtrue recourse`: a table of any length in, everyone's recourse out."""

import hashlib
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import click

from holdtrue._json import to_json
from holdtrue._types import JsonObject
from holdtrue.batch._cache import use_cache
from holdtrue.cli._console import Interrupted, print_json, progress, say
from holdtrue.cli._options import (
    format_option,
    json_option,
    out_option,
    parse_settings,
    pick_label,
    ray_options,
    set_option,
    where,
)
from holdtrue.errors import DataError, HoldtrueError


@click.command("recourse")
@click.argument("model", metavar="MODEL")
@click.argument("table", metavar="TABLE")
@out_option
@format_option
@click.option("--method", metavar="NAME", help="Another method than the model's own; see `holdtrue methods`.")
@set_option
@click.option("--reference", metavar="TABLE", help="Training rows, for methods that need them.")
@click.option("--target", metavar="LABEL", help="The wanted class; the model's favourable one by default.")
@click.option("--deadline", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
              help="For the whole table; who is not reached by then has the status NOT_REACHED.")  # fmt: skip
@click.option(
    "--only-refused/--all", default=False, help="Leave out people who already have a yes.  [default: all]"
)
@click.option(
    "--restrictions", metavar="FILE", help='What single people may not change: {"17": {"income": "fixed"}}.'
)
@click.option("--bad-rows", type=click.Choice(["stop", "report"]), default="stop", show_default=True,
              help="Rows that the schema does not allow end the run, or get status INVALID_INPUT.")  # fmt: skip
@click.option("--chunk-rows", type=click.IntRange(min=1), default=16_384, show_default=True,
              help="Rows held at once; fewer need less memory.")  # fmt: skip
@click.option("--options", "n_recourses", type=click.IntRange(min=1), default=1, show_default=True,
              help="Recourses per person that differ from one another, a row each.")  # fmt: skip
@click.option("--ledger", "place", metavar="PLACE",
              help="Issue what is found as promises here; needs --subject and --out FILE.")  # fmt: skip
@click.option("--subject", metavar="COLUMN", help="With --ledger: the column with your key for each person.")
@click.option("--valid-for", type=click.FloatRange(min=0, min_open=True), metavar="DAYS",
              help="With --ledger: how long the promises hold.  [default: without an end]")  # fmt: skip
@click.option("--model-version", metavar="TEXT", help="With --ledger: your own name for the model.")
@click.option("--resume", is_flag=True, help="Go on with an interrupted run.")
@ray_options
@json_option
def command(
    model: str, table: str, out: str, format_: str | None, method: str | None, settings: tuple[str, ...],
    reference: str | None, target: str | None, deadline: float | None, only_refused: bool,
    restrictions: str | None, bad_rows: str, chunk_rows: int, n_recourses: int,
    place: str | None, subject: str | None,
    valid_for: float | None, model_version: str | None, resume: bool, as_json: bool, **ray: Any,
) -> None:  # fmt: skip
    """Find recourse for every person in TABLE under MODEL, a file that `holdtrue fit` wrote.

    The output has every column of TABLE, those that the model reads as the person could make them, and
    holdtrue_status, holdtrue_cost, holdtrue_valid, holdtrue_probability_before, holdtrue_probability_after and
    holdtrue_changes (the change in words). Who has no recourse stays as they are and has a status that says why.
    With --options, holdtrue_row says whose each row is (from 0) and holdtrue_option which of theirs.

    The table is read and written in chunks, so its length does not matter. With --out FILE, finished chunks are
    kept in FILE.parts until all are there: an interrupted run goes on with --resume.

    With --ledger every recourse that is found is issued as a promise, each option one of its own. An interrupted
    run that is resumed issues none twice; another run would promise again.

    With --ray the chunks go to the workers of a Ray cluster, with the same answers; what a lost worker had is done
    again by another. A run that was begun there can be resumed here, and the other way round.

    \b
    holdtrue recourse loans.holdtrue applicants.parquet --out recourse.parquet
    cat applicants.csv | holdtrue recourse loans.holdtrue - --only-refused | head
    holdtrue recourse loans.holdtrue everybody.parquet --out recourse.parquet --ray auto
    """
    from holdtrue.cli._model import check_restrictions, choose_method, load_model, read_restrictions
    from holdtrue.runs._read import Source
    from holdtrue.runs._work import Work
    from holdtrue.runs._write import check_place, format_of, is_stream

    began = time.monotonic()
    check_place(out)
    format_ = format_of(out, format_)
    if resume and (table == "-" or is_stream(out)):
        raise DataError(
            "--resume: needs files; got `-`. Standard input cannot be read again: save it to a file first."
        )
    if ray["ray"] is not None and is_stream(out):
        raise DataError(
            f"--ray: chunks are finished in any order, so it needs a file; got --out {out}. Write --out FILE."
        )
    _check_ledger(place, out, subject=subject, valid_for=valid_for, model_version=model_version)
    source = Source(table)
    asked = parse_settings(settings)
    limits = read_restrictions(restrictions)
    use_cache()
    executor = where(**ray)  # before jax begins: a local cluster is forked from this process
    classifier = load_model(model)
    chosen = choose_method(classifier, method, asked, reference)
    check_restrictions(limits, classifier.schema_, source.n_rows)
    work = Work(
        classifier=classifier,
        method=chosen,
        target=pick_label(target, classifier.classes_.tolist(), "--target"),
        restrictions=limits,
        until=None if deadline is None else began + deadline,
        report_bad_rows=bad_rows == "report",
        only_refused=only_refused,
        n_recourses=n_recourses,
        chunk_rows=chunk_rows,
    )
    ledger = None if place is None else _open_ledger(place)
    if ledger is not None:
        from holdtrue.promises import records

        work.subject = subject
        work.promise = partial(records, valid_for=valid_for, model_version=model_version)
    if is_stream(out):
        notes = _to_stream(work, source, out, format_)
    else:
        manifest = {
            "model": hashlib.sha256(Path(model).read_bytes()).hexdigest(),
            "table": source.identity(),
            "options": {
                "method": [type(chosen).__name__, repr(chosen)], "target": target, "deadline": deadline,
                "only_refused": only_refused, "restrictions": {str(k): v for k, v in limits.items()},
                "reference": reference, "format": format_, "chunk_rows": chunk_rows,
                "n_recourses": n_recourses,
            },
        }  # fmt: skip
        if ledger is not None:
            manifest["promises"] = {
                "ledger": ledger.head().ledger, "subject": subject, "valid_for": valid_for,
                "model_version": model_version,
            }  # fmt: skip
        notes = _to_file(work, source, Path(out), format_, manifest, resume, executor, ledger)
    rows = sum(n["rows"] for n in notes)
    beyond = sorted(row for row in limits if row >= rows)
    if beyond:
        say(f"warning: restrictions name rows that are not in the table; got {beyond[:5]} of {rows}.")
    summary = summarise(notes, time.monotonic() - began) | {"method": type(chosen).__name__, "out": out}
    text = to_json(summary) if as_json else describe(summary)
    if is_stream(out):
        say(text)
    elif as_json:
        print_json(summary)
    else:
        click.echo(text)


def _to_stream(work: Any, source: Any, out: str, format: str) -> list[JsonObject]:
    from holdtrue.runs._write import Sink, open_stream

    notes: list[JsonObject] = []
    hidden = out == "-" and sys.stdout.isatty()  # a bar among the rows would garble both
    try:
        with open_stream(out) as stream, progress("recourse", source.n_rows, "rows", hidden=hidden) as bar:
            sink = Sink(stream, format)
            work.on_rows = bar.by
            for chunk in source.chunks(work.schema, work.chunk_rows):
                done = work.run(chunk)
                sink.write(done.table)
                note = done.note
                notes.append(note)
                bar.to(chunk.first_row + note["rows"])
            sink.finish()
    except KeyboardInterrupt as error:
        written = sum(n["rows"] for n in notes)
        raise Interrupted(f"Interrupted. The answers of the first {written:,} rows were written.") from error
    return notes


def _to_file(
    work: Any, source: Any, out: Path, format: str, manifest: JsonObject, resume: bool, executor: Any,
    ledger: Any = None,
) -> list[JsonObject]:  # fmt: skip
    from holdtrue.runs._parts import Parts

    parts: Any = None
    notes: dict[int, JsonObject] = {}
    rows = 0

    def finish(number: int, note: JsonObject) -> None:
        nonlocal rows
        if ledger is not None:  # also those of a chunk that was finished before an interruption
            parts.issue(number, ledger)
        notes[number] = note
        rows += note["rows"]
        bar.to(rows)

    def unfinished() -> Iterator[tuple[int, Any]]:
        nonlocal parts
        for number, chunk in enumerate(source.chunks(work.schema, work.chunk_rows)):
            if parts is None:  # the table is there and has the right columns
                parts = Parts(out, format, manifest, resume)
            note = parts.note(number)
            if note is None:
                yield number, chunk
            else:
                finish(number, note)

    try:
        with progress("recourse", source.n_rows, "rows") as bar:
            work.on_rows = bar.by
            with closing(executor.map(work, unfinished())) as answers:
                for number, done in answers:
                    note = done.note | ({} if ledger is None else {"promises": len(done.records)})
                    parts.keep(number, done.table, note, done.records)
                    finish(number, note)
        if parts is not None:
            parts.join(len(notes))
    except KeyboardInterrupt as error:
        raise Interrupted(f"Interrupted. {_kept(parts, notes.values(), source.name)}") from error
    except (HoldtrueError, OSError) as error:
        raise DataError(f"{error} {_kept(parts, notes.values(), source.name) if notes else ''}".strip()) from error
    finally:
        if parts is not None:
            parts.drop_if_empty()
    return [notes[number] for number in sorted(notes)]


def _check_ledger(place: str | None, out: str, **others: Any) -> None:
    from holdtrue.runs._write import is_stream

    given = [f"--{name.replace('_', '-')}" for name, value in others.items() if value is not None]
    if place is None and given:
        raise DataError(f"{given[0]}: is for promises; got no --ledger.")
    if place is not None and others["subject"] is None:
        raise DataError("--ledger: needs your key for each person; got no --subject. Name the column.")
    if place is not None and is_stream(out):
        raise DataError(
            "--ledger: needs a file to write to, so that an interrupted run can go on without promising twice; "
            f"got --out {out}. Write --out FILE."
        )


def _open_ledger(place: str) -> Any:
    from holdtrue.ledger import Ledger

    ledger = Ledger(place)
    click.get_current_context().call_on_close(ledger.close)
    return ledger


def _kept(parts: Any, notes: Collection[JsonObject], table: str) -> str:
    if not notes:
        return "Nothing was finished yet."
    rows = sum(n["rows"] for n in notes)
    how = "Run the same command with --resume to go on." if table != "-" else "Standard input cannot be resumed."
    return f"{rows:,} rows are finished and kept in {str(parts.folder)!r}. {how}"


def summarise(notes: list[JsonObject], seconds: float) -> JsonObject:
    """Counts over all chunks."""
    counts: Counter[str] = Counter()
    for note in notes:
        counts.update(note["counts"])
    found = sum(counts.get(name, 0) for name in ("FOUND", "OPTIMAL"))
    return {
        "rows": sum(n["rows"] for n in notes),
        "written": sum(n["written"] for n in notes),
        "counts": dict(sorted(counts.items())),
        "mean_cost": sum(n["cost"] for n in notes) / found if found else None,
        **({"promises": sum(n["promises"] for n in notes)} if any("promises" in n for n in notes) else {}),
        "seconds": round(seconds, 2),
    }


def describe(summary: JsonObject) -> str:
    """A summary in words."""
    words = {
        "FOUND": "have a recourse", "OPTIMAL": "have the cheapest there is",
        "ALREADY_FAVOURABLE": "already have a yes", "INFEASIBLE": "can do nothing",
        "NOT_FOUND": "none found", "DIVERGED": "search diverged", "NOT_REACHED": "not reached before the deadline",
        "INVALID_INPUT": "could not be read",
    }  # fmt: skip
    parts = [f"{count:,} {words.get(name, name)}" for name, count in summary["counts"].items()]
    cost = "" if summary["mean_cost"] is None else f" Mean cost {summary['mean_cost']:.3g}."
    place = "" if summary["out"] == "-" else f" Written to {summary['out']}."
    place += f" {summary['promises']:,} promises issued." if "promises" in summary else ""
    return (
        f"{summary['rows']:,} people by {summary['method']}: {', '.join(parts)}.{cost}{place} "
        f"({summary['seconds']:.1f} s)"
    )
