"""`holdtrue schema`: a first description of the columns, to be corrected by hand."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdtrue._types import NativeFrame
from holdtrue.cli._console import print_json, say
from holdtrue.cli._options import drop_option, dropped, out_option
from holdtrue.errors import DataError

if TYPE_CHECKING:
    from holdtrue.schema import Guess

MONEY = "In which currency?"
ANSWERS = ("free", "fixed", "increase", "decrease", "drop")


@click.command("schema")
@click.argument("table", metavar="[TABLE]", required=False)
@click.option("--target", metavar="COLUMN", help="The label column, to leave out.")
@drop_option
@click.option(
    "--ask", is_flag=True, help="Ask what only you know: what a person can do, and in what numbers are counted."
)
@out_option
@click.option("--json", "as_json", is_flag=True, help="JSON instead of YAML; so does FILE ending in .json.")
@click.option("--json-schema", "of_the_file", is_flag=True,
              help="Print the JSON Schema of schema files, for editors, and end.")  # fmt: skip
def command(
    table: str | None, target: str | None, drop: tuple[str, ...], ask: bool, out: str, as_json: bool,
    of_the_file: bool,
) -> None:  # fmt: skip
    """Guess from TABLE what each column is and how it may change.

    Every guess is printed on standard error, and stands in the YAML as a remark beside every field that could be
    written. Columns that are no features (identifiers, dates, free text, constants, copies of the label) are left
    out; what nobody can change is fixed; bounds are the 1st and 99th percentile of people. Correct the file: only
    you know what a person can change, in which direction, and what it costs them. `dataset:NAME` gives the schema
    that the dataset brings.

    \b
    holdtrue schema loans.csv --target approved --drop branch --out loans.yaml
    holdtrue schema loans.csv --target approved --ask --out loans.yaml
    holdtrue schema --json-schema > holdtrue-schema.json
    """
    from holdtrue.cli._training import labels_of, read_labelled
    from holdtrue.runs import DATASET, Source, check_place
    from holdtrue.schema import guess, json_schema

    if of_the_file:
        print_json(json_schema())
        return
    if table is None:
        raise DataError("schema: needs a table; got none. Write `holdtrue schema TABLE`, or --json-schema.")
    check_place(out)
    if table.startswith(DATASET):
        if drop or ask:
            option = "--ask" if ask else "--drop"
            raise DataError(f"schema: {option} is for a guess; got {table!r}, which brings its own schema.")
        schema = read_labelled(table, target).schema
    else:
        frame = Source(table).whole()
        wanted = None
        if target is not None:
            wanted = _wanted(labels_of(frame, target), target)
        made = guess(frame, target, drop=dropped(drop))
        if ask:
            made = _asked(made, frame)
        schema = made.schema
        if wanted is not None:
            say(wanted)
    for note in schema.notes:
        say(note)
    as_json = as_json or Path(out).suffix == ".json"
    text = schema.to_json() + "\n" if as_json else schema.to_yaml(annotated=True)
    if out == "-":
        click.echo(text, nl=False)
    else:
        Path(out).write_text(text, encoding="utf-8")
        say(f"Written to {out}.")


def _wanted(labels: Any, target: str) -> str:
    """What `fit` will take for the class people want, or ask."""
    import numpy as np

    from holdtrue.schema import plainly_wanted, question

    good = plainly_wanted(np.unique(labels).tolist(), target)
    if good is not None:
        return f"{target}: people want {good!r}."
    return f"{target}: {question(labels, target)} `holdtrue fit` needs --favourable LABEL."


def _asked(made: "Guess", frame: NativeFrame) -> "Guess":
    """The guess with every doubtful column settled by who is asked; an empty answer takes the guess."""
    from holdtrue.cli._console import visible

    currency = ""  # of the last amount of money: most tables have one
    for column in made.doubtful:
        now = "drop" if column.feature is None else column.feature.direction
        say(f"\n{visible(column.name)}: {_seen(frame[column.name])}")
        for note in column.why:
            say(f"  {visible(note)}")
        if column.feature is None:
            say(f"  {column.doubt}")
            continue
        known = [a for a in ANSWERS if column.feature.kind != "categorical" or a not in ("increase", "decrease")]
        answer = click.prompt(f"  {column.doubt}", type=click.Choice(known), default=now, err=True)
        if answer != now:
            made = made.answered(column.name, answer)
        if column.feature.has_levels or answer in ("drop", "fixed"):
            continue
        guessed = column.feature.unit or (currency if column.unit == MONEY else "")
        told = column.unit or "In what is it counted?"
        question = f"  {told} Such as € or months; empty for none"
        unit = click.prompt(question, default=guessed, show_default=bool(guessed), err=True).strip()
        if unit != (column.feature.unit or ""):
            made = made.counted_in(column.name, unit)
        if column.unit == MONEY:
            currency = unit
    return made


def _seen(values: Any) -> str:
    """A column in short: where the middle is, or the most frequent values."""
    from holdtrue.cli._console import visible

    present = values.dropna()
    if present.dtype.kind in "if" and present.nunique() > 2:
        low, middle, high = present.quantile([0.01, 0.5, 0.99]).tolist()
        return f"{low:,.6g} to {high:,.6g}, half of people below {middle:,.6g}"
    counts = present.value_counts(normalize=True)
    shown = [f"{visible(str(value))} {share:.0%}" for value, share in counts.head(5).items()]
    return ", ".join(shown) + (", ..." if len(counts) > 5 else "")
