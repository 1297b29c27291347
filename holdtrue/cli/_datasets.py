"""`holdtrue datasets`: list, show, add, export."""

from pathlib import Path
from typing import Any

import click

from holdtrue.cli._console import print_json, results, say
from holdtrue.cli._options import format_option, json_option, out_option


@click.group("datasets", invoke_without_command=True)
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List, show, add and export datasets.

    Some are part of holdtrue and always there; the others are files that you add once. Every command that takes
    a TABLE takes `dataset:NAME`.
    """
    ctx.obj = as_json
    if ctx.invoked_subcommand is None:
        _list(as_json)


@command.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """List all datasets; the same as `holdtrue datasets`."""
    _list(as_json or bool(ctx.obj))


def _list(as_json: bool) -> None:
    from holdtrue.datasets import describe

    rows = describe()
    if as_json:
        print_json(rows)
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("name", "rows", "features", "classes", "target", "there"):
        is_count = heading in ("rows", "features", "classes")
        table.add_column(heading, justify="right" if is_count else "left", no_wrap=heading == "name")
    for row in rows:
        there = "embedded" if row["kept_in"] == "embedded" else "yes" if row["available"] else "no"
        numbers = [f"{row[key]:,}" for key in ("rows", "features", "classes")]
        table.add_row(row["name"], *numbers, row["target"], there)
    console = results()
    console.print(table)
    console.print(
        "\nOne in full: `holdtrue datasets show NAME`. One that is not there: `holdtrue datasets add NAME FILE`."
    )


@command.command("show")
@click.argument("name", metavar="NAME")
@json_option
@click.pass_context
def show(ctx: click.Context, name: str, as_json: bool) -> None:
    """Show one dataset: what a row and a label mean, source, licence, and how each column may change."""
    from holdtrue.datasets import describe, load

    facts = describe(name)[0]
    schema = load(name).schema if facts["available"] else None
    if as_json or ctx.obj:
        print_json(facts | {"schema": None if schema is None else schema.to_dict()})
        return
    console = results()
    console.print(f"[bold]{facts['name']}[/bold]  {facts['rows']:,} rows, {facts['features']} features, "
                  f"{facts['classes']} classes")  # fmt: skip
    paragraphs = [" ".join(part.split()) for part in facts["description"].split("\n\n")]
    console.print("\n" + "\n\n".join(paragraphs) + "\n", markup=False)
    for key in ("target", "favourable", "source", "licence", "kept_in", "options"):
        value = facts[key]
        if value not in (None, []):
            shown = ", ".join(value) if isinstance(value, list) else value
            console.print(f"{key.replace('_', ' ')}: {shown}", markup=False)
    if schema is None:
        where = (
            f"`holdtrue datasets add {name} FILE`" if not facts["available"] else "this is not a table of features"
        )
        console.print(f"\nNo columns to show: {where}.", markup=False)
        return
    console.print()
    console.print(_features(schema))


def _features(schema: Any) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("column", "means", "kind", "may", "values"):
        table.add_column(heading, no_wrap=heading == "column")
    for feature in schema:
        if feature.has_levels:
            values = ", ".join(map(str, feature.levels or ()))
            values = values if len(values) <= 40 else f"{len(feature.levels or ())} levels"
        else:
            low, high = feature.bounds or (None, None)
            values = "" if low is None else f"{low:g} to {high:g}"
        means = feature.title if feature.title != feature.name else ""
        may = {"free": "change", "fixed": "not change"}.get(feature.direction, feature.direction)
        table.add_row(feature.name, means, feature.kind, may, f"{values} {feature.unit or ''}".strip())
    return table


@command.command("add")
@click.argument("name", metavar="NAME")
@click.argument("file", metavar="FILE")
@json_option
@click.pass_context
def add(ctx: click.Context, name: str, file: str, as_json: bool) -> None:
    """Check that FILE is the dataset NAME as its source publishes it, and keep a copy."""
    from holdtrue.datasets import add as keep

    kept = keep(name, file)
    if as_json or ctx.obj:
        print_json({"name": name, "kept": str(kept)})
    else:
        click.echo(f"{name} is checked and kept in {kept}.")


@command.command("export")
@click.argument("name", metavar="NAME")
@out_option
@format_option
@click.option(
    "--schema", "schema_file", metavar="FILE", help="Write the schema too (YAML, or JSON by its ending)."
)
def export(name: str, out: str, format_: str | None, schema_file: str | None) -> None:
    """Write a dataset as a table with its label column, to play with."""
    import pyarrow as pa

    from holdtrue.cli._fit import save_schema
    from holdtrue.datasets import load
    from holdtrue.errors import DataError
    from holdtrue.runs import Sink, check_place, format_of, is_stream, open_stream, write_table

    check_place(out)
    format_ = format_of(out, format_)
    data = load(name)
    if schema_file is not None:
        if data.schema is None:
            raise DataError(f"--schema: the dataset has no schema; got {name!r}. It is not a table of features.")
        save_schema(data.schema, schema_file)
    table = pa.Table.from_pandas(data.X.assign(**{data.target: data.y}), preserve_index=False)
    if is_stream(out):
        with open_stream(out) as stream:
            sink = Sink(stream, format_)
            sink.write(table)
            sink.finish()
        return
    write_table(table, Path(out), format_)
    say(f"{table.num_rows:,} rows with the label {data.target!r} written to {out}.")
