"""`holdtrue reasons`: why people were refused."""

import sys
from pathlib import Path
from typing import Any

import click

from holdtrue._cache import use_cache
from holdtrue.cli._console import say
from holdtrue.cli._options import format_option, json_option, out_option, seed_option
from holdtrue.errors import DataError


@click.command("reasons")
@click.argument("model", metavar="MODEL", required=False)
@click.argument("table", metavar="TABLE", required=False)
@click.option("--reference", metavar="TABLE",
              help="Rows that the model knows, whose nearest to the cut-off people are compared with.  "
              "[default: TABLE]")  # fmt: skip
@click.option("-n", "n", type=click.IntRange(min=1), default=4, show_default=True, help="Reasons, at most.")
@click.option("--rows", "n_reference", type=click.IntRange(min=1), default=100, show_default=True,
              help="Rows at the cut-off.")  # fmt: skip
@click.option("--codes", metavar="FILE", help="Your table of reason codes, in YAML.")
@click.option("--schema", metavar="FILE", help="Groups and protected columns, where not as MODEL has them.")
@click.option("--sample-codes", metavar="NAME", help="Print a sample table of codes: hmda or regulation_b.")
@out_option
@format_option
@seed_option
@json_option
def command(
    model: str | None, table: str | None, reference: str | None, n: int, n_reference: int, codes: str | None,
    schema: str | None, sample_codes: str | None, out: str, format_: Any, seed: int, as_json: bool,
) -> None:  # fmt: skip
    """Say for every refused person in TABLE why MODEL refused them.

    The gap between a person's score and the cut-off is shared out between the columns (Shapley values, exact for
    linear models and trees): the columns that widen it most are the reasons. A person is compared with people at
    the cut-off, and contributions add up to the gap. Columns of one `group` in the schema are one reason; columns
    that are `protected` are never named, and what they contribute is in holdtrue_protected.

    The output has a row for each refused person, with every column of TABLE and holdtrue_gap, then for each reason
    holdtrue_reason_1, _code, _contribution and, where the model was fitted with --hold, the share of its guides
    that give the reason too, _agreement, and whether these are enough (four of five) for it to stand, _stands.
    With --json each row is what a record keeps of reasons.

    \b
    holdtrue reasons loans.holdtrue applicants.csv --reference training.csv
    holdtrue reasons --sample-codes hmda > codes.yaml
    holdtrue reasons loans.holdtrue applicants.csv --reference training.csv --codes codes.yaml --out reasons.csv
    """
    if sample_codes is not None:
        from holdtrue.attribution import sample_codes as sample

        sys.stdout.write(sample(sample_codes))
        return
    if model is None or table is None:
        raise DataError("reasons: needs a model file and a table; got none. Write MODEL TABLE.")
    use_cache()
    from holdtrue.cli._model import load_model, reasoner_of
    from holdtrue.runs import Source, reasons_of

    classifier = load_model(model)
    place = table if reference is None else reference
    reasoner = reasoner_of(classifier, place, codes, schema, n=n, n_reference=n_reference, random_state=seed)
    told = reasons_of(reasoner, Source(table), out, format="jsonl" if as_json else format_, as_record=as_json)
    if Path(out).name != "-":
        say(f"{told.refused:,} of {told.rows:,} people are refused; their reasons are in {out}. {told.holding}")
