"""`holdtrue evidence`: one file for whoever validates a model, and the check of such a file."""

from typing import TYPE_CHECKING

import click

from holdtrue._cache import use_cache
from holdtrue._types import Keywords, NativeFrame
from holdtrue.cli._console import interruptible, print_json, say
from holdtrue.cli._options import json_option, seed_option
from holdtrue.errors import DataError

if TYPE_CHECKING:
    from holdtrue.classifier import AbstractClassifier


@click.command("evidence")
@click.argument("model", metavar="MODEL", required=False)
@click.argument("table", metavar="TABLE", required=False)
@click.option("--out", metavar="FILE", help="Where to write the evidence, a zip.")
@click.option("--verify", "file", metavar="FILE",
              help="Check a file of evidence; with MODEL and TABLE make its tables again too.")  # fmt: skip
@click.option("--target", metavar="COLUMN", help="The label column of TABLE: how well the model decides.")
@click.option("--ledger", metavar="URL", help="The promises that were made: what was kept and broken.")
@click.option("--group", "groups", multiple=True, metavar="COLUMN[:EDGES]",
              help="Report by the values of this column, or cut at edges: age:30,50. May be repeated.  "
              "[default: the schema's protected columns]")  # fmt: skip
@click.option("--level", metavar="FILE", help="A level file, as `holdtrue backtest` writes it.")
@click.option("--certificate", metavar="FILE", help="The certificate; the one that MODEL carries by default.")
@click.option("--calibration", metavar="TABLE", help="The rows that it was made from.")
@click.option("--reference", metavar="TABLE",
              help="Rows that reasons compare people with.  [default: TABLE]")  # fmt: skip
@click.option("--codes", metavar="FILE", help="Your table of reason codes, in YAML.")
@click.option("--people", type=click.IntRange(min=1), metavar="N",
              help="Search for at most so many of the refused, drawn by the seed.")  # fmt: skip
@click.option("--reasons", "n_reasons", type=click.IntRange(min=1), default=500, show_default=True, metavar="N",
              help="Give reasons to at most so many of these.")  # fmt: skip
@click.option("--note", "notes", multiple=True, metavar="TEXT",
              help="A known weakness in your own words; may be repeated.")  # fmt: skip
@click.option("--key", metavar="FILE", help="Sign with this Ed25519 private key (PEM).")
@click.option("--public-key", metavar="FILE", help="With --verify: the key that should have signed it (PEM).")
@seed_option
@json_option
@click.pass_context
def command(
    ctx: click.Context, model: str | None, table: str | None, out: str | None, file: str | None, **asked: object
) -> None:  # fmt: skip
    """Gather what a validator asks about MODEL and the people in TABLE into one file.

    Performance, who is refused and has recourse, what it costs and whether it holds, by group with intervals; the
    level and its backtest, the certificate and its check, promises kept and broken, reasons and whether they would
    be given again, limits in words. The file holds a page (evidence.html), the figures (evidence.json) and the
    tables that they are computed from; no column of a person but the groups. Note the digest that is printed.

    With --verify every byte is checked and every figure computed from the tables; with MODEL, TABLE and the other
    inputs as they were given, the tables are made again. Exit code 1 where something differs; a file that was
    changed is refused with exit code 2.

    \b
    holdtrue evidence loans.holdtrue applicants.csv --target approved --ledger promises.db --out evidence.zip
    holdtrue evidence --verify evidence.zip
    holdtrue evidence loans.holdtrue applicants.csv --target approved --ledger promises.db --verify evidence.zip
    """
    if (out is None) == (file is None):
        raise DataError(
            "evidence: give --out FILE to make one, or --verify FILE to check one; got both or neither."
        )
    if (model is None or table is None) and (file is None or model is not None):
        raise DataError("evidence: needs a model file and a table; got not both. Write MODEL TABLE.")
    if file is None:
        _make(str(model), str(table), str(out), asked)
    else:
        _check(ctx, model, table, file, asked)


def _make(model: str, table: str, out: str, asked: Keywords) -> None:
    from holdtrue.runs import check_place

    check_place(out)
    groups = _groups(asked["groups"])
    use_cache()
    from holdtrue.classifier import Certificate
    from holdtrue.handover import evidence
    from holdtrue.methods import Level

    classifier, X, y, inputs = _inputs(model, table, asked)
    level, certificate = asked["level"], asked["certificate"]
    files = {"model": model, "table": table} | {
        name: asked[name]
        for name in ("level", "certificate", "calibration", "reference", "codes")
        if asked[name] is not None
    }
    made = interruptible(
        lambda: evidence(
            classifier, X, y, **inputs, groups=groups,
            level=None if level is None else Level.load(level),
            certificate=None if certificate is None else Certificate.load(certificate),
            n_people=asked["people"], n_reasons=asked["n_reasons"], notes=asked["notes"], files=files,
            command=_command(model, table, asked), random_state=asked["seed"],
        )
    )  # fmt: skip
    digest = made.save(out, key=asked["key"])
    if asked["as_json"]:
        print_json(made.to_dict() | {"digest": digest})
    else:
        say(f"{made}\nWritten to {out}. Note its digest elsewhere: {digest}")


def _check(ctx: click.Context, model: str | None, table: str | None, file: str, asked: Keywords) -> None:
    use_cache()
    from holdtrue.handover import verify_evidence

    key = asked["public_key"]
    if model is None or table is None:
        found = verify_evidence(file, public_key=key)
    else:
        classifier, X, y, inputs = _inputs(model, table, asked)
        found = interruptible(lambda: verify_evidence(file, classifier, X, y, **inputs, public_key=key))
    print_json(found.to_dict()) if asked["as_json"] else click.echo(str(found))
    ctx.exit(0 if found.ok else 1)


def _inputs(
    model: str, table: str, asked: Keywords
) -> tuple["AbstractClassifier", NativeFrame, NativeFrame, Keywords]:
    """The classifier, its people and labels, and what else evidence is made from."""
    from holdtrue.attribution import CodeTable
    from holdtrue.cli._certify import people
    from holdtrue.cli._model import load_model
    from holdtrue.ledger import Ledger

    classifier = load_model(model)
    X, y = people(classifier, table, asked["target"])
    calibration, reference, codes = asked["calibration"], asked["reference"], asked["codes"]
    X_cal = None if calibration is None else people(classifier, calibration, None)[0]
    return classifier, X, y, {
        "ledger": None if asked["ledger"] is None else Ledger(asked["ledger"]),
        "reference": None if reference is None else people(classifier, reference, None)[0],
        "codes": None if codes is None else CodeTable.load(codes),
        "X_cal": X_cal,
    }  # fmt: skip


def _groups(texts: tuple[str, ...]) -> dict[str, list[float] | None] | None:
    """Columns, with edges after a colon."""
    out: dict[str, list[float] | None] = {}
    for text in texts:
        name, colon, edges = text.rpartition(":")
        try:
            out[name if colon else text] = [float(edge) for edge in edges.split(",")] if colon else None
        except ValueError as error:
            raise DataError(f"--group: edges must be numbers; got {text!r}. Write age:30,50.") from error
    return out or None


def _command(model: str, table: str, asked: Keywords) -> str:
    """What was asked, with the names of files and without their folders."""
    import shlex
    from pathlib import Path

    words = ["holdtrue", "evidence", Path(model).name, Path(table).name]
    for name in ("target", "level", "certificate", "calibration", "reference", "codes", "people"):
        if asked[name] is not None:
            words += [f"--{name}", Path(str(asked[name])).name]
    words += [part for text in asked["groups"] for part in ("--group", text)]
    words += [part for text in asked["notes"] for part in ("--note", text)]
    if asked["ledger"] is not None:
        words += ["--ledger", "..."]  # a URL may hold a password
    return shlex.join([*words, "--reasons", str(asked["n_reasons"]), "--seed", str(asked["seed"])])
