"""`holdtrue recourse`: a table of any length in, everyone's recourse out."""

import re
import sys
from typing import Any

import click

from holdtrue import errors
from holdtrue._cache import use_cache
from holdtrue._json import to_json
from holdtrue.cli._console import Interrupted, progress, say
from holdtrue.cli._options import (
    format_option,
    json_option,
    out_option,
    parse_settings,
    pick_label,
    ray_options,
    read_hold,
    set_option,
    where,
)
from holdtrue.errors import DataError, HoldtrueError


@click.command("recourse")
@click.argument("model", metavar="MODEL")
@click.argument("table", metavar="TABLE")
@out_option
@format_option
@click.option("--method", metavar="NAME", help="Another method than the model's own; see `holdtrue methods`.")
@set_option
@click.option("--hold", metavar="SHARE",
              help="The chance that the model trained again accepts: 95% or 0.95; none for the cheapest recourse; "
              "or a level file.  [default: as the model was fitted]")  # fmt: skip
@click.option("--reference", metavar="TABLE",
              help="Rows that the model knows: for methods that need some and, with --ledger, for the reasons "
              "of refusals, which promises keep and letters name.")  # fmt: skip
@click.option("--target", metavar="LABEL", help="The wanted class; the model's favourable one by default.")
@click.option("--deadline", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
              help="For the whole table; who is not reached by then has the status NOT_REACHED.")  # fmt: skip
@click.option(
    "--only-refused/--all", default=False, help="Leave out people who already have a yes.  [default: all]"
)
@click.option(
    "--restrictions", metavar="FILE", help='What single people may not change: {"17": {"income": "fixed"}}.'
)
@click.option("--bad-rows", type=click.Choice(["stop", "report"]), default="stop", show_default=True,
              help="Rows that the schema does not allow end the run, or get status INVALID_INPUT.")  # fmt: skip
@click.option("--chunk-rows", type=click.IntRange(min=1), default=16_384, show_default=True,
              help="Rows held at once; fewer need less memory.")  # fmt: skip
@click.option("--options", "n_recourses", type=click.IntRange(min=1), default=1, show_default=True,
              help="Recourses per person that differ from one another, a row each.")  # fmt: skip
@click.option("--ledger", metavar="PLACE",
              help="Issue what is found as promises here; needs --subject and --out FILE.")  # fmt: skip
@click.option(
    "--codes", metavar="FILE", help="With --ledger and --reference: your table of reason codes, in YAML."
)
@click.option("--subject", metavar="COLUMN", help="With --ledger: the column with your key for each person.")
@click.option("--valid-for", type=click.FloatRange(min=0, min_open=True), metavar="DAYS",
              help="With --ledger: how long the promises hold.  [default: without an end]")  # fmt: skip
@click.option("--model-version", metavar="TEXT", help="With --ledger: your own name for the model.")
@click.option("--reason", metavar="TEXT",
              help="With --ledger: why recourse that is known not to hold is promised all the same; without, "
              "it is not.")  # fmt: skip
@click.option("--resume", is_flag=True, help="Go on with an interrupted run.")
@ray_options
@json_option
def command(
    model: str, table: str, out: str, format_: Any, method: str | None, settings: tuple[str, ...],
    hold: str | None, reference: str | None, target: str | None, deadline: float | None, only_refused: bool,
    restrictions: str | None, bad_rows: Any, chunk_rows: int, n_recourses: int,
    ledger: str | None, codes: str | None, subject: str | None,
    valid_for: float | None, model_version: str | None, reason: str | None, resume: bool,
    as_json: bool, **ray: Any,
) -> None:  # fmt: skip
    """Find recourse for every person in TABLE under MODEL, a file that `holdtrue fit` wrote.

    The output has every column of TABLE, those that the model reads as the person could make them, and
    holdtrue_status, holdtrue_cost, holdtrue_valid, holdtrue_probability_before, holdtrue_probability_after and
    holdtrue_changes (the change in words). Who has no recourse stays as they are and has a status that says why.
    With --options, holdtrue_row says whose each row is (from 0) and holdtrue_option which of theirs.

    A model that was fitted with --hold knows how sure each recourse is to survive a retraining: holdtrue_survival,
    with its interval in holdtrue_survival_lower and holdtrue_survival_upper, holdtrue_holds, and beside the cost
    that of the cheapest recourse, holdtrue_cheapest_cost. Another --method searches for the model alone, unless
    --hold is given.

    The table is read and written in chunks, so its length does not matter. With --out FILE, finished chunks are
    kept in FILE.parts until all are there: an interrupted run goes on with --resume.

    With --ledger every recourse that is found is issued as a promise, each option one of its own; one that is
    known not to hold only with a --reason, which the promise keeps and no letter prints. The same run,
    resumed or repeated, issues none twice; with another table, model or other options it promises anew.

    With --ray the chunks go to the workers of a Ray cluster, with the same answers; what a lost worker had is done
    again by another. A run that was begun there can be resumed here, and the other way round.

    \b
    holdtrue recourse loans.holdtrue applicants.parquet --out recourse.parquet
    cat applicants.csv | holdtrue recourse loans.holdtrue - --only-refused | head
    holdtrue recourse loans.holdtrue everybody.parquet --out recourse.parquet --ray auto
    """
    from holdtrue.cli._model import choose_method, load_model, read_restrictions
    from holdtrue.runs import Source, is_stream, run

    if ray["ray"] is not None and is_stream(out):  # before anything is started
        raise DataError(
            f"--ray: chunks are finished in any order, so it needs a file; got --out {out}. Write --out FILE."
        )
    asked, restricted = parse_settings(settings), read_restrictions(restrictions)
    level: Any = {} if hold is None else {"hold": read_hold(hold, files=True)}
    use_cache()
    executor = where(**ray)  # before jax begins: a local cluster is forked from this process
    hidden = out == "-" and sys.stdout.isatty()  # a bar among the rows would garble both
    try:
        source, classifier = Source(table), load_model(model)
        chosen = choose_method(classifier, method, asked, reference)
        rows = None
        if ledger is not None and reference is not None:
            rows = Source(reference).whole(classifier.schema_)
        label = pick_label(target, classifier.classes_.tolist(), "--target")
        with progress("recourse", source.n_rows, "rows", hidden=hidden) as bar:
            done = run(
                classifier, source, out, format=format_, method=chosen, target=label, deadline=deadline,
                only_refused=only_refused, restrictions=restricted, bad_rows=bad_rows, chunk_rows=chunk_rows,
                n_recourses=n_recourses, ledger=ledger, reference=rows, codes=codes, subject=subject,
                valid_for=valid_for,
                model_version=model_version, reason=reason, resume=resume, executor=executor, on_rows=bar.by,
                **level,
            )  # fmt: skip
    except errors.Interrupted as stopped:
        raise Interrupted(in_options(str(stopped))) from stopped
    except HoldtrueError as error:
        raise type(error)(in_options(str(error))) from error
    if done.beyond:
        few = list(done.beyond[:5])
        say(f"warning: restrictions name rows that are not in the table; got {few} of {done.rows}.")
    text = to_json(done.to_dict()) if as_json else in_options(str(done))
    (say if is_stream(out) else click.echo)(text)


def in_options(text: str) -> str:
    """An error of `run`, which speaks of its parameters in backticks, in the words of the command line."""
    text = re.sub(r"^run: `(\w+)`:? ", lambda found: f"{_option(found[1]) or found[1]}: ", text)
    text = re.sub(r"^run: ", "recourse: ", text)
    return re.sub(r"`(\w+)(?:=([^`]*))?`", lambda found: _option(found[1], found[2]) or found[0], text)


def _option(parameter: str, value: str | None = None) -> str:
    """The option of a parameter, with a value; nothing where there is none of that name."""
    options = {str(p.name).rstrip("_"): p for p in command.params if isinstance(p, click.Option)}
    if parameter not in options:
        return ""
    option = options[parameter].opts[0]
    return option if value is None or value == "True" else f"{option} {value.strip(chr(39))}"
