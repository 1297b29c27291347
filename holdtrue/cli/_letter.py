"""`holdtrue letter`: what a person receives."""

import sys
from pathlib import Path

import click

from holdtrue._json import to_json
from holdtrue.cli._options import json_option
from holdtrue.errors import DataError


@click.command("letter")
@click.argument("record", metavar="[RECORD]", required=False)
@click.option("--ledger", "place", envvar="HOLDTRUE_LEDGER", show_envvar=True, metavar="PLACE",
              help="Where RECORD, not a file but a promise's id, is kept.")  # fmt: skip
@click.option(
    "--subject",
    metavar="KEY",
    help="Whose letter: the person's latest live promises in the ledger, or theirs of a file.",
)
@click.option("--html", is_flag=True, help="A page instead of plain text.")
@click.option("--template", metavar="FILE", help="Your own Jinja2 template.")
@click.option("--schema", metavar="FILE", help="Refuse to ask for what this schema does not allow.")
@click.option("--out", default="-", show_default=True, metavar="FILE", help="Where to write.")
@json_option
def command(
    record: str | None, place: str | None, subject: str | None, html: bool, template: str | None,
    schema: str | None, out: str, as_json: bool,
) -> None:  # fmt: skip
    """Write the letter that tells a person what was promised, from RECORD.

    RECORD is a file with the record, or with the records of a person's options, one a line. With --ledger it may
    be the id of a live promise; the other live options that were issued to the person with it are told too. With
    --ledger and --subject and no RECORD it is what was promised to that person last.

    \b
    holdtrue letter record.json
    holdtrue letter --ledger promises.db --subject 4711
    holdtrue letter 790e7c166954109fa6ba49625a4970df --ledger promises.db --html --out letter.html
    """
    from holdtrue.ledger import Ledger, read_records
    from holdtrue.promises import letters, offered, offered_to
    from holdtrue.schema import Schema

    if record is None:
        if place is None or subject is None:
            raise DataError("letter: whose? Got no RECORD. Give a file, or --ledger PLACE --subject KEY.")
        with Ledger(place) as ledger:
            records = offered_to(ledger, subject)
        record = subject
    elif Path(record).is_file():
        records = [one for one in read_records(record) if subject is None or one.subject == subject]
    elif place is not None:
        with Ledger(place) as ledger:
            records = offered(ledger, record)
    else:
        raise DataError(f"letter: no such file; got {record!r}. With --ledger give the id of a promise.")
    made = letters(
        records,
        template=None if html else template,
        html_template=template if html else None,
        schema=None if schema is None else Schema.load(schema),
    )
    if len(made) != 1:
        what = f"{len(made)} people" if made else "nobody"
        raise DataError(f"letter: the file has records of {what}; got {record!r}. Pick one with --subject KEY.")
    letter = made[0]
    content = letter.html if html else letter.text
    if as_json:
        parts = {name: getattr(letter, name) for name in ("subject", "date", "options", "until")}
        content = to_json(parts | {"html" if html else "text": content}) + "\n"
    if out == "-":
        sys.stdout.write(content)
    else:
        Path(out).write_text(content, encoding="utf-8")
