"""`holdtrue gate`: what a new model would do to the promises that bind."""

import sys
from typing import TYPE_CHECKING

import click

from holdtrue._cache import use_cache
from holdtrue._types import Cell, Estimator, Keywords
from holdtrue.cli._console import Interrupted, interruptible, print_json, progress, results, say
from holdtrue.cli._ledger import ledger_option
from holdtrue.cli._options import json_option, read_share
from holdtrue.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


@click.command("gate")
@click.argument("model", metavar="NEW_MODEL")
@ledger_option
@click.option("--max-broken", "limit", default="0%", show_default=True, metavar="SHARE",
              help="Share of the live promises that may break: 1% or 0.01.")  # fmt: skip
@click.option("--group", metavar="COLUMN", help="Also say for whom: by each value of a column of the records.")
@click.option("--bins", metavar="NUMBERS", help="Where a number column is cut into groups: 25,40,60.")
@click.option("--people", metavar="TABLE",
              help="Where --group is a column of this table, not of the records; needs --subject.")  # fmt: skip
@click.option("--subject", metavar="COLUMN", help="The column of --people with your key for each person.")
@click.option("--labelled", metavar="TABLE",
              help="Rows of known class that the model has not seen, to measure accuracy on.")  # fmt: skip
@click.option("--target", metavar="COLUMN", help="The label column of --labelled.")
@click.option("--alternatives", type=click.IntRange(min=0), metavar="N",
              help="How many broken promises to search another way for.  [default: all]")  # fmt: skip
@click.option("--further", is_flag=True,
              help="Also search for those who did as they were told: what they could do on top.")  # fmt: skip
@click.option("--cases", metavar="FILE",
              help="Write every broken promise, what was told and what could be done, as JSON lines.")  # fmt: skip
@click.option("--out", "outs", multiple=True, metavar="FILE",
              help="Write the report: .json, .md or .html. May be repeated.")  # fmt: skip
@click.option("--write-down", is_flag=True,
              help="Append what was found, in counts, to the ledger: `holdtrue evidence` tells it.")  # fmt: skip
@json_option
@click.pass_context
def command(
    ctx: click.Context, model: str, place: str, limit: str, group: str | None, bins: str | None,
    people: str | None, subject: str | None, labelled: str | None, target: str | None, alternatives: int | None,
    further: bool, cases: str | None, outs: tuple[str, ...], write_down: bool, as_json: bool,
) -> None:  # fmt: skip
    """Ask NEW_MODEL about every live promise in the ledger, and report what would break.

    Exit code 1 where more break than may. The ledger is only read, but for --write-down. The report names no
    person; the file of --cases does, and lists whom to approve regardless if every promise is to be kept.

    \b
    holdtrue gate next.holdtrue --ledger promises.db --max-broken 1% --group sex
    holdtrue gate next.holdtrue --ledger promises.db --out gate.md --out gate.html --cases broken.jsonl
    """
    from holdtrue.ledger import Ledger
    from holdtrue.runs import check_place

    share, edges = read_share(limit, "--max-broken"), _numbers(bins)
    for out in (*outs, *([cases] if cases else [])):
        check_place(out)
    who = group if people is None else _groups(people, subject, group)
    with Ledger(place) as ledger:  # before jax is imported: a wrong place is refused at once
        from holdtrue.cli._model import load_model
        from holdtrue.promises import CaseFile, gate

        use_cache()
        classifier = load_model(model)
        rows = None if labelled is None else _labelled(labelled, target, classifier)
        asked: Keywords = {
            "max_broken": share, "group": who, "bins": edges, "labelled": rows,
            "alternatives": alternatives, "further": further, "cases": cases,
            "write_down": write_down,
        }  # fmt: skip
        # Counting takes a while in a large ledger, and is for those who look.
        total = ledger.counts()["live"] if sys.stderr.isatty() else None
        with progress("gate", total, "promises") as bar:
            try:
                report = interruptible(lambda: gate(classifier, ledger, on_promises=bar.by, **asked))
            except KeyboardInterrupt as error:
                if cases is not None:  # what it holds so far is about people
                    CaseFile(cases).beside.unlink(missing_ok=True)
                raise Interrupted("Interrupted. No report was made; the ledger is as it was.") from error
    for out in outs:
        report.write(out)
    if as_json:
        print_json(report.to_dict())
    else:
        results().print(report)
        for out in (*outs, *([cases] if cases else [])):
            say(f"Written to {out}.")
    ctx.exit(0 if report.ok else 1)


def _numbers(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise DataError(f"--bins: must be numbers with commas; got {text!r}. Write 25,40,60.") from error


def _groups(people: str, subject: str | None, group: str | None) -> "pd.Series":
    """Everyone's group, by their key."""
    import pandas as pd

    from holdtrue.runs import Source
    from holdtrue.schema import did_you_mean

    if subject is None or group is None:
        raise DataError("--people: needs the columns with keys and groups; got no --subject or no --group.")
    keys: list[str] = []
    labels: list[Cell] = []
    for table in Source(people).tables():
        for name in (subject, group):
            if name not in table.column_names:
                hint = did_you_mean(name, table.column_names)
                raise DataError(f"--people: no such column; got {name!r}. {hint}")
        keys += [str(key) for key in table.column(subject).to_pylist()]
        labels += table.column(group).to_pylist()
    return pd.Series(labels, index=keys, name=group, dtype=object)


def _labelled(table: str, target: str | None, classifier: Estimator) -> "tuple[pd.DataFrame, np.ndarray]":
    from holdtrue.cli._training import labels_of
    from holdtrue.runs import DATASET, Source, dataset

    if table.startswith(DATASET):
        data = dataset(table)
        return data.X, data.y
    if target is None:
        raise DataError("--labelled: needs the label column; got no --target. Write --target COLUMN.")
    rows = Source(table).whole(classifier.schema_)
    return rows, labels_of(rows, target)
