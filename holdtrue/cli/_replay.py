"""`holdtrue replay`: does a record come out the same again?"""

import click

from holdtrue._cache import use_cache
from holdtrue.cli._console import interruptible, print_json, visible
from holdtrue.cli._options import json_option


@click.command("replay")
@click.argument("record", metavar="RECORD")
@click.option("--model", required=True, metavar="MODEL", help="The model file that the record names.")
@click.option("--reference", metavar="TABLE", help="Training rows, for a method that learns from them.")
@json_option
@click.pass_context
def command(ctx: click.Context, record: str, model: str, reference: str | None, as_json: bool) -> None:
    """Compute the recourse in the file RECORD again under MODEL, and say whether it comes out the same.

    Exit code 1 where it does not. Probabilities and costs may differ in the fifth digit, since processors differ.

    \b
    holdtrue replay record.json --model loans.holdtrue
    """
    from holdtrue.ledger import Record

    read = Record.load(record)  # before jax is imported: a damaged file is refused at once
    from holdtrue.cli._model import load_model
    from holdtrue.promises import replay
    from holdtrue.runs import Source

    use_cache()
    classifier = load_model(model)
    rows = None if reference is None else Source(reference).whole(classifier.schema_)
    found = interruptible(lambda: replay(read, classifier, reference=rows))
    if as_json:
        differences = {name: {"recorded": a, "now": b} for name, (a, b) in found.differences.items()}
        print_json({"same": found.same, "differences": differences, "notes": found.notes})
    else:
        click.echo(visible(str(found)))
    ctx.exit(0 if found.same else 1)
