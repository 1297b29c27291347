"""`holdtrue methods`: what there is, what each needs, what can be set."""

import inspect
from typing import TYPE_CHECKING

import click

from holdtrue._types import JsonObject
from holdtrue.cli._console import print_json, results
from holdtrue.cli._options import json_option

if TYPE_CHECKING:
    from holdtrue.methods import AbstractMethod

HONOURS = (
    "bounds",
    "directions",
    "steps",
    "levels",
    "linear constraints",
    "implications",
    "individual restrictions",
)
"""What every method keeps: each answer is decoded and held against all limits before it is returned."""


@click.command("methods")
@click.argument("name", required=False, metavar="[NAME]")
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List the recourse methods, or show one with its parameters."""
    from holdtrue.methods import METHODS, method

    if name is not None:
        _show(name, method(name), as_json)
        return
    rows = [facts(key, cls) for key, cls in METHODS.items()]
    if as_json:
        print_json(rows)
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("name", no_wrap=True)
    table.add_column("what it does")
    table.add_column("model must be")
    table.add_column("rows")
    for row in rows:
        table.add_row(
            row["name"], row["summary"], ", ".join(row["needs"]) or "any", "yes" if row["needs_rows"] else ""
        )
    console = results()
    console.print(table)
    console.print(
        f"\nEvery method keeps {', '.join(HONOURS[:-1])} and {HONOURS[-1]}. `rows`: needs training rows.\n"
        "One in full: holdtrue methods NAME.",
        markup=False,
    )


def facts(name: str, cls: "type[AbstractMethod]") -> JsonObject:
    """What is known of a method, as plain types."""
    parameters = {
        p.name: None if p.default is p.empty else p.default
        for p in inspect.signature(cls.__init__).parameters.values()
        if p.name != "self" and p.kind is not p.VAR_KEYWORD
    }
    return {
        "name": name,
        "class": cls.__name__,
        "summary": (inspect.getdoc(cls) or "").split("\n")[0],
        "needs": sorted(cls.needs) or ([" or ".join(sorted(cls.needs_one_of))] if cls.needs_one_of else []),
        "needs_rows": cls.needs_rows,
        "honours": list(getattr(cls, "honours", HONOURS)),
        "parameters": parameters,
    }


def _show(name: str, cls: "type[AbstractMethod]", as_json: bool) -> None:
    about = facts(name, cls)
    if as_json:
        print_json(about | {"description": inspect.getdoc(cls)})
        return
    console = results()
    console.print(f"[bold]{name}[/bold]  (holdtrue.{cls.__name__})\n")
    console.print(inspect.getdoc(cls) or "", markup=False)
    needs = ", ".join(about["needs"]) or "any"
    rows = "; needs training rows" if about["needs_rows"] else ""
    console.print(f"\nModel must be: {needs}{rows}.\nKeeps: {', '.join(about['honours'])}.", markup=False)
    given = next(iter(about["parameters"]), None)
    if given is not None:
        console.print(f"Set parameters with --set {given}=VALUE.", markup=False)
