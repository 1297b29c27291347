"""`holdtrue schema`: a first description of the columns, to be corrected by hand."""

from pathlib import Path

import click

from holdtrue.cli._console import say
from holdtrue.cli._options import out_option


@click.command("schema")
@click.argument("table", metavar="TABLE")
@click.option("--target", metavar="COLUMN", help="The label column, to leave out.")
@out_option
@click.option("--json", "as_json", is_flag=True, help="JSON instead of YAML; so does FILE ending in .json.")
def command(table: str, target: str | None, out: str, as_json: bool) -> None:
    """Guess from TABLE what each column is and how it may change.

    Every guess is printed on standard error. Correct the file: only you know what a person can change, in which
    direction, and what it costs them. `dataset:NAME` gives the schema that the dataset brings.
    """
    from holdtrue.cli._training import labels_of, read_labelled
    from holdtrue.runs import DATASET, Source, check_place
    from holdtrue.schema import Schema

    check_place(out)
    if table.startswith(DATASET):
        schema = read_labelled(table, target).schema
    else:
        frame = Source(table).whole()
        if target is not None:
            labels_of(frame, target)
        schema = Schema.infer(frame, target)
    for note in schema.notes:
        say(note)
    as_json = as_json or Path(out).suffix == ".json"
    text = schema.to_json() + "\n" if as_json else schema.to_yaml()
    if out == "-":
        click.echo(text, nl=False)
    else:
        Path(out).write_text(text, encoding="utf-8")
        say(f"Written to {out}.")
