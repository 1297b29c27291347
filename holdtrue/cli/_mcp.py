"""`holdtrue mcp`: a model asked from a chat client."""

from contextlib import ExitStack

import click

from holdtrue._cache import use_cache
from holdtrue._optional import need
from holdtrue.cli._console import say
from holdtrue.errors import DataError


@click.command("mcp")
@click.argument("model", metavar="MODEL")
@click.option("--people", metavar="TABLE", help="People who can be asked about by their key; needs --subject.")
@click.option("--subject", metavar="COLUMN", help="The column of --people with your key for each person.")
@click.option("--ledger", "place", envvar="HOLDTRUE_LEDGER", show_envvar=True, metavar="PLACE",
              help="Promises to look up: a SQLite file, or postgresql://user@host/database.")  # fmt: skip
@click.option("--reference", metavar="TABLE",
              help="Rows that the model knows: reasons of a refusal can then be asked for.")  # fmt: skip
@click.option("--codes", metavar="FILE", help="With --reference: your table of reason codes.")
@click.option("--model-version", metavar="TEXT", help="Your own name for the model, for the records.")
@click.option("--write", is_flag=True, help="Allow promises to be made; without, the ledger is only read.")
def command(
    model: str, people: str | None, subject: str | None, place: str | None, reference: str | None,
    codes: str | None, model_version: str | None, write: bool,
) -> None:  # fmt: skip
    """Let a chat client ask MODEL: decisions, recourse, reasons, audit, gate and ledger.

    Speaks the Model Context Protocol on standard input and output, and is started by the client itself. Whoever
    uses the client sees what it asks for: a person by their columns or their key, and figures about everybody
    together. There is no tool that lists people, and nothing is written unless --write allows it. Needs
    holdtrue[mcp].

    \b
    holdtrue mcp loans.holdtrue --reference training.csv
    holdtrue mcp loans.holdtrue --people applicants.csv --subject application --ledger promises.db
    """
    need("mcp", extra="mcp", what="mcp:")
    if people is not None and subject is None:
        raise DataError("--people: needs your key for each person; got no --subject. Name the column.")
    if write and place is None:
        raise DataError("--write: is for promises, which need a ledger; got no --ledger. Write --ledger PLACE.")
    from holdtrue.ledger import Ledger

    with ExitStack() as stack:
        ledger = None if place is None else stack.enter_context(Ledger(place))
        use_cache()
        from holdtrue.chat import Questions, create_server
        from holdtrue.cli._model import applicants_of, load_model, reasoner_of
        from holdtrue.server import Service

        classifier = load_model(model)
        applicants = None if people is None else applicants_of(people, str(subject), classifier)
        reasoner = reasoner_of(classifier, reference, codes)
        service = Service(classifier, ledger=ledger, model_version=model_version, reasoner=reasoner)
        say("Waiting for a chat client on standard input." + ("" if write else " Nothing will be written."))
        create_server(Questions(service, applicants=applicants, write=write)).run("stdio")
