"""`holdtrue ledger`: make a ledger, issue records, show, expire, forget, anchor, verify."""

from collections.abc import Iterator
from typing import Any

import click

from holdtrue._types import Json
from holdtrue.cli._console import print_json, progress, results, say, visible
from holdtrue.cli._options import json_option

ledger_option = click.option(
    "--ledger", "place", required=True, envvar="HOLDTRUE_LEDGER", show_envvar=True, metavar="PLACE",
    help="A SQLite file, or postgresql://user@host/database.",
)  # fmt: skip


@click.group("ledger")
def command() -> None:
    """Keep the recourse that was promised to people.

    A ledger is a SQLite file or a PostgreSQL database that is only ever appended to. Each of these takes --json.
    """


@command.command("init")
@ledger_option
@json_option
def init(place: str, as_json: bool) -> None:
    """Make a ledger, or bring an older one to this version's schema."""
    from holdtrue.ledger import Ledger

    with Ledger.create(place) as ledger:
        head = ledger.head()
        _give(
            {"place": ledger.place, "ledger": head.ledger, "events": head.seq},
            f"{ledger.place} is a ledger with {head.seq:,} events.",
            as_json,
        )


@command.command("issue")
@click.argument("file", metavar="FILE.jsonl")
@ledger_option
@json_option
def issue(file: str, place: str, as_json: bool) -> None:
    """Write the records of FILE.jsonl, one a line, into the ledger.

    Safe to repeat after an interruption: a record that is there, by its id, is not written twice.
    """
    from dataclasses import asdict

    from holdtrue.ledger import Ledger, Record, read_records

    with Ledger(place) as ledger, progress("issuing", None, "records") as bar:

        def told() -> Iterator[Record]:
            for record in read_records(file):
                bar.by(1)
                yield record

        done = ledger.issue(told())
    text = f"{done.new:,} issued, {done.repeated:,} were there already"
    text += f", {done.forgotten:,} left out because their person was forgotten." if done.forgotten else "."
    _give(asdict(done), text, as_json)


@command.command("show")
@click.argument("subject", required=False, metavar="[SUBJECT]")
@ledger_option
@json_option
def show(subject: str | None, place: str, as_json: bool) -> None:
    """Show how many promises stand where; or, of one SUBJECT, everything that happened."""
    from dataclasses import asdict

    from holdtrue.ledger import Ledger

    with Ledger(place) as ledger:
        if subject is not None:
            _history(ledger.history(subject), as_json)
            return
        head, counts = ledger.head(), ledger.counts()
    lines = [f"{name:<12}{count:>12,}" for name, count in counts.items()]
    lines.append(f"{'events':<12}{head.seq:>12,}   the last has hash {head.hash}")
    _give({"counts": counts, "head": asdict(head)}, "\n".join(lines), as_json)


def _history(events: list[Any], as_json: bool) -> None:
    rows = [
        {"seq": e.seq, "kind": e.kind, "promise": e.promise, "at": e.at.isoformat(), **e.public, "body": e.body}
        for e in events
    ]
    if as_json:
        print_json(rows)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("at", "event", "promise", "what"):
        table.add_column(heading, no_wrap=heading != "what")
    for event in events:
        body = event.body or {}
        what = body.get("changes") or ", ".join(
            f"{k} {v}" for k, v in (event.public | body).items() if v is not None
        )
        # As text: what a person wrote is not markup.
        cells = (visible(text) for text in (event.kind, str(event.promise), what))
        table.add_row(f"{event.at:%Y-%m-%d %H:%M}", *map(Text, cells))
    results().print(table if events else "Nothing is kept about that subject.")


@command.command("policy")
@ledger_option
@click.option("--most-live", type=click.IntRange(min=1), metavar="N", help="Live promises to one person at once.")
@click.option("--least-survival", type=click.FloatRange(0, 1), metavar="SHARE",
              help="Of retrained models that must accept a recourse.")  # fmt: skip
@click.option("--override", multiple=True, metavar="ROLE",
              help="Who may promise against it all the same, with a reason; may be repeated.  [default: admin, "
              "operator]")  # fmt: skip
@click.option("--off", is_flag=True, help="Everything may be promised again.")
@json_option
def policy(
    place: str, most_live: int | None, least_survival: float | None, override: tuple[str, ...], off: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Show what may be promised, or set it: what is given replaces all that stood.

    It is kept in the ledger, and every way into it obeys: the service, runs, records from files.
    """
    from holdtrue.ledger import Ledger, Policy

    with Ledger(place) as ledger:
        if off or override or most_live is not None or least_survival is not None:
            who = {"override": override} if override else {}
            ledger.set_policy(Policy(most_live=most_live, least_survival=least_survival, **who))
        stands = ledger.policy()
    _give(stands.to_dict(), str(stands), as_json)


@command.command("expire")
@ledger_option
@json_option
def expire(place: str, as_json: bool) -> None:
    """Mark the promises that have run out."""
    from holdtrue.ledger import Ledger

    with Ledger(place) as ledger:
        count = ledger.expire()
    _give({"expired": count}, f"{count:,} promises have run out.", as_json)


@command.command("forget")
@click.argument("subject", metavar="SUBJECT")
@ledger_option
@click.option("--yes", is_flag=True, help="Do not ask first.")
@json_option
def forget(subject: str, place: str, yes: bool, as_json: bool) -> None:
    """Erase all that is kept about SUBJECT. The chain of hashes and the counts stay; it cannot be undone."""
    from holdtrue.ledger import Ledger

    with Ledger(place) as ledger:
        if not yes:
            n = len(ledger.history(subject))
            click.confirm(f"Erase what {n:,} events say about this subject?", abort=True, err=True)
        count = ledger.forget(subject)
    _give({"erased": count}, f"Erased from {count:,} events." if count else "Nothing was kept.", as_json)


key_option = click.option(
    "--key",
    "key_file",
    metavar="FILE",
    help="A file with the key that anchors are signed with, at least 16 bytes.",
)


@command.command("anchor")
@ledger_option
@click.option("--out", required=True, metavar="FILE.json", help="Where; keep it outside of the ledger's machine.")
@key_option
@json_option
def anchor(place: str, out: str, key_file: str | None, as_json: bool) -> None:
    """Write the end of the chain to a file; `verify --anchor` sees by it that a tail was cut off or replaced."""
    from dataclasses import asdict

    from holdtrue.ledger import Ledger, read_key

    with Ledger(place) as ledger:
        made = ledger.anchor(None if key_file is None else read_key(key_file))
    made.save(out)
    _give(asdict(made), f"{out} holds the end of the chain, event {made.seq:,}.", as_json)


@command.command("verify")
@ledger_option
@click.option("--head", "noted", metavar="HASH", help="The last hash as you noted it: the chain must contain it.")
@click.option(
    "--anchor", "anchor_file", metavar="FILE.json", help="What `holdtrue ledger anchor` wrote, likewise."
)
@key_option
@json_option
@click.pass_context
def verify(
    ctx: click.Context, place: str, noted: str | None, anchor_file: str | None, key_file: str | None, as_json: bool
) -> None:
    """Walk the chain of hashes and name the first break. Exit code 1 where there is one."""
    from dataclasses import asdict

    from holdtrue.ledger import Anchor, Ledger, read_key

    if noted is not None and anchor_file is not None:
        raise click.UsageError("Give --head or --anchor, not both.")
    end = noted if anchor_file is None else Anchor.load(anchor_file)
    with Ledger(place) as ledger:
        found = ledger.verify(end, key=None if key_file is None else read_key(key_file))
    _give(asdict(found), str(found), as_json)
    if end is None and found.ok and not as_json:
        say("Note the hash elsewhere, and give it to the next verify with --head; `holdtrue ledger anchor` does.")
    ctx.exit(0 if found.ok else 1)


def _give(value: Json, text: str, as_json: bool) -> None:
    if as_json:
        print_json(value)
    else:
        click.echo(text)
