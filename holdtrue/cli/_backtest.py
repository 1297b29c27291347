"""`holdtrue backtest`: how long would recourse have held, by the models that really came?"""

from pathlib import Path
from typing import Any

import click

from holdtrue._cache import use_cache
from holdtrue._types import Keywords
from holdtrue.cli._console import Interrupted, interruptible, print_json, progress, say
from holdtrue.cli._options import (
    choose_favourable,
    favourable_option,
    json_option,
    parse_settings,
    read_hold,
    schema_option,
    seed_option,
    set_option,
)
from holdtrue.errors import DataError

TERMS = (1, 2, 3)


@click.command("backtest")
@click.argument("tables", metavar="TABLES...", nargs=-1, required=True)
@click.option("--target", metavar="COLUMN", required=True, help="The label column, the same in every table.")
@click.option("--term", type=click.IntRange(min=1), default=1, show_default=True, metavar="N",
              help="For how many periods a promise is to hold.")  # fmt: skip
@click.option("--hold", default="95%", show_default=True, metavar="CHANCE", help="Wanted share of promises kept.")
@click.option("--window", type=click.IntRange(min=1), default=3, show_default=True, metavar="N",
              help="Periods that a model learns from.")  # fmt: skip
@schema_option
@favourable_option
@click.option("--model", default="mlp", show_default=True, metavar="NAME",
              help="linear, mlp, ensemble, logistic_regression, random_forest, xgboost or lightgbm.")  # fmt: skip
@click.option("--method", metavar="NAME", help="How recourse is found; by default what suits the model.")
@click.option("--people", type=click.IntRange(min=1), default=60, show_default=True, metavar="N",
              help="Refused people asked about in each period.")  # fmt: skip
@click.option("--guides", type=click.IntRange(min=2), default=30, show_default=True, metavar="N",
              help="Models of the window and of single past periods that must say yes, too.")  # fmt: skip
@set_option
@click.option("--out", metavar="FILE", help="Write the level file, for `recourse --hold`.")
@click.option("--plot", metavar="FILE", help="Draw what is kept against cost (PNG, SVG or PDF); needs matplotlib.")
@click.option("--keep", metavar="FOLDER", help="Keep each period as it is done; the same command then goes on.")
@seed_option
@json_option
def command(
    tables: tuple[str, ...], target: str, term: int, hold: str, window: int, schema_file: str | None,
    favourable: str | None, model: str, method: str | None, people: int, guides: int, settings: tuple[str, ...],
    out: str | None, plot: str | None, keep: str | None, seed: int, as_json: bool,
) -> None:  # fmt: skip
    """Replay the past: TABLES are periods in order of time, a file each.

    In each period a model is trained on the last --window of them, recourse is found for people whom it refuses,
    at several margins, and the models that really came one, two, three periods later are asked. Prints what was
    kept and what it cost, and for every period the margin that would have been chosen by what was known then.
    --out writes the margin to ask for now, as a level file.

    Parameters of the model, of its training and of the method are set with the name first:

    \b
    holdtrue backtest 2001.parquet 2002.parquet 2003.parquet 2004.parquet 2005.parquet \\
        --target approved --term 1 --hold 95% --out level.json --plot kept.png
    holdtrue backtest 20*.csv --target approved --model xgboost --set model.n_estimators=150 --keep kept
    """
    from holdtrue.cli._compare import by_owner, model_of
    from holdtrue.cli._fit import build
    from holdtrue.runs import check_place

    for place in (out, plot):
        if place is not None:
            check_place(place)
    wanted = read_hold(hold)
    given = by_owner(parse_settings(settings))
    odd = [owner for owner in given if owner not in ("model", "regime", "method")]
    if odd:
        raise DataError(f"--set: must begin with model., regime. or method.; got {odd[0]!r}.")
    if Path(model).is_file():
        raise DataError(f"--model: must be a name, since it is trained anew in each period; got {model!r}.")
    periods, schema = _periods(tables, target, schema_file)
    every = [label for _, _, y in periods for label in y.tolist()]
    label = choose_favourable(favourable, every, name=target)
    use_cache()
    options: Keywords = {
        "schema": schema, "terms": sorted({*TERMS, term}), "window": window, "hold": wanted, "people": people,
        "n_guides": guides, "favourable": label, "random_state": seed, "keep": keep,
        "method": None if method is None else build("method", method, given.get("method", {})),
    }  # fmt: skip
    past = _run(model_of(model, given, schema, seed), periods, options)
    level = past.level(term)
    if out is not None:
        level.save(out)
    if plot is not None:
        past.plot(plot)
    if as_json:
        print_json(past.to_dict() | {"level": level.to_dict()})
        return
    click.echo(f"{past}\n\n{level}")
    for place in (out, plot):
        if place is not None:
            say(f"Written to {place}.")


def _labelled(table: str, target: str, schema_file: str | None) -> Any:
    from holdtrue.cli._training import read_labelled

    try:
        return read_labelled(table, target, schema_file)
    except DataError as error:  # an option that suits the first table: which other it does not, is to be seen
        raise DataError(f"backtest, {table}: {str(error).partition(': ')[2]}") from error


def _periods(tables: tuple[str, ...], target: str, schema_file: str | None) -> tuple[list[Any], Any]:
    """A table of each period by the name of its file, and the schema of all."""
    from holdtrue.cli._training import read_labelled

    read = [read_labelled(tables[0], target, schema_file)]
    read += [_labelled(table, target, schema_file) for table in tables[1:]]
    if read[0].guessed:
        say("The schema was guessed from all periods; write and correct one with `holdtrue schema`.")
    names = [Path(table).stem for table in tables]
    names = names if len(set(names)) == len(names) else list(tables)
    periods = [(name, part.X, part.y) for name, part in zip(names, read, strict=True)]
    if not read[0].guessed:
        return periods, read[0].schema
    import pandas as pd

    from holdtrue.schema import Schema

    for name, part in zip(names, read, strict=True):
        if list(part.X.columns) != list(read[0].X.columns):
            raise DataError(
                f"backtest: period {name!r} has other columns than {names[0]!r}; got {list(part.X.columns)!r}. "
                "Give tables with the same columns, or a --schema that names those to read."
            )
    whole = pd.concat([part.X.assign(**{target: part.y}) for part in read], ignore_index=True)
    return periods, Schema.infer(whole, target)


def _run(recipe: Any, periods: list[Any], options: Keywords) -> Any:
    from holdtrue.hold import backtest

    with progress("replaying", 1.0, "of the periods") as bar:

        def show(what: str, done: int, total: int) -> None:
            if bar.shown:
                bar.bar.update(bar.task, description=what, completed=done / max(total, 1))

        try:
            return interruptible(lambda: backtest(recipe, periods, **options, progress=show))
        except KeyboardInterrupt as error:
            kept = "Nothing was written." if options["keep"] is None else f"What was done is in {options['keep']}."
            raise Interrupted(f"Interrupted. {kept}") from error
