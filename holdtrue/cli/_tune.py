"""`holdtrue tune`: a regime's parameters chosen by trials."""

import contextlib
from typing import TYPE_CHECKING

import click

from holdtrue._cache import use_cache
from holdtrue._types import Keywords, NativeFrame
from holdtrue.cli._console import Interrupted, interruptible, print_json, progress, say
from holdtrue.cli._options import (
    choose_favourable,
    favourable_option,
    json_option,
    parameter,
    parse_settings,
    schema_option,
    seed_option,
    set_option,
)
from holdtrue.errors import DataError

if TYPE_CHECKING:
    import numpy as np

    from holdtrue.studies.tune import Tuning
    from holdtrue.training import OneOf, Range


@click.command("tune")
@click.argument("table", metavar="TABLE")
@click.option("--target", metavar="COLUMN", help="The label column. A dataset brings its own.")
@schema_option
@favourable_option
@click.option("--regime", default="counterfactual", show_default=True, metavar="NAME", help="What is tuned.")
@click.option("--try", "tries", multiple=True, metavar="KEY=VALUES",
              help="What is tried, instead of the regime's own: LOW:HIGH, LOW:HIGH:log, or values with commas; "
              "may be repeated.")  # fmt: skip
@click.option("--model", metavar="NAME", help="By default what the regime needs.")
@click.option("--method", metavar="NAME", help="How recourse is found; wachter, unless the regime is for another.")
@set_option
@click.option("--scaling", type=click.Choice(["minmax", "standard", "standard-all"]), default="minmax",
              show_default=True, help="How numbers are scaled.")  # fmt: skip
@click.option("--trials", type=click.IntRange(min=1), default=30, show_default=True, metavar="N",
              help="Trials in all, with those that the study holds already.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), help="No trial is begun after this.")
@click.option("--study", metavar="FILE", help="An SQLite file that keeps every trial: the same command goes on.")
@click.option("--people", type=click.IntRange(min=1), default=200, show_default=True, metavar="N",
              help="Validation rows that recourse is sought for.")  # fmt: skip
@click.option("--min-found", type=click.FloatRange(0, 1), default=0.95, show_default=True,
              help="Share of people who must have recourse.")  # fmt: skip
@click.option("--slack", type=click.FloatRange(0, 1), default=0.02, show_default=True,
              help="How much accuracy the chosen setting may give away.")  # fmt: skip
@click.option("--prune/--no-prune", default=True, show_default=True, help="Give up hopeless trials early.")
@click.option("--test-size", type=click.FloatRange(0, 1, max_open=True), default=0.2, show_default=True,
              help="Share of rows held out and not looked at; `fit` with this and --seed holds out the "
              "same.")  # fmt: skip
@click.option("--out", metavar="FILE", help="Write the chosen setting, for `holdtrue fit --config`.")
@click.option(
    "--report",
    metavar="FILE",
    help="Write every trial, the front and the choice as JSON, or a picture of them (.png, .svg, .pdf).",
)
@seed_option
@json_option
def command(
    table: str, target: str | None, schema_file: str | None, favourable: str | None, regime: str,
    tries: tuple[str, ...], model: str | None, method: str | None, settings: tuple[str, ...], scaling: str,
    trials: int,
    seconds: float | None, study: str | None, people: int, min_found: float, slack: float, prune: bool,
    test_size: float, out: str | None, report: str | None, seed: int, as_json: bool,
) -> None:  # fmt: skip
    """Try parameters of a training regime on TABLE: accuracy, how plausible recourse is, and what it costs.

    Prints the settings that no other beats in all three, and chooses the one that gives away at most --slack of
    accuracy for the most plausible and cheapest recourse. Every figure is measured on validation rows; the share
    of --test-size is held out and never looked at, so that it can judge the setting afterwards.

    Parameters that hold for all trials are set with their family first, and are not tried:

    \b
    holdtrue tune loans.csv --target approved --schema loans.yaml --study loans.db --out setting.json
    holdtrue fit loans.csv --target approved --schema loans.yaml --config setting.json --out loans.holdtrue
    """
    from holdtrue.cli._fit import by_family, parts, split
    from holdtrue.cli._training import read_labelled
    from holdtrue.runs import check_place

    for place in (out, report):
        if place is not None:
            check_place(place)
    given = by_family(parse_settings(settings))
    labelled = read_labelled(table, target, schema_file)
    wanted = choose_favourable(favourable, labelled.y, own=labelled.favourable, name=labelled.target)
    if labelled.guessed:
        say("The schema was guessed; write and correct one with `holdtrue schema`.")
    use_cache()
    objects = parts(model, regime, method, given)
    rule = objects["regime"]
    space = dict(_space(text, rule) for text in tries) or {
        key: what for key, what in rule.search_space.items() if key.replace("__", ".") not in given["regime"]
    }
    both = sorted({key.replace("__", ".") for key in space} & set(given["regime"]))
    if both:
        raise DataError(f"--try: a parameter is either tried or set; got {both[0]!r} in both.")
    train, _ = split(len(labelled.y), labelled.y, test_size, seed)
    options: Keywords = {
        **objects, "space": space, "schema": labelled.schema, "scaling": scaling, "n_trials": trials,
        "favourable": wanted, "seconds": seconds, "study": study,
        "people": people, "min_found": min_found, "slack": slack, "prune": prune, "random_state": seed,
    }  # fmt: skip
    found = _run(labelled.X.iloc[train], labelled.y[train], options, trials, study)
    if report is not None:
        found.write(report)
    if out is not None:
        found.write_config(out)
    if as_json:
        print_json(found.to_dict() | ({"config": found.config()} if found.front else {}))
        return
    click.echo(str(found))
    if out is not None:
        say(f"The chosen setting was written to {out}.")


def _run(X: NativeFrame, y: "np.ndarray", options: Keywords, trials: int, study: str | None) -> "Tuning":
    from holdtrue.studies.tune import tune

    with contextlib.suppress(ImportError):  # said by `tune`
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
    with progress("trials", trials, "trials") as bar:
        try:
            return interruptible(lambda: tune(X, y, **options, on_trial=bar.to))
        except KeyboardInterrupt as error:
            kept = "Nothing was written." if study is None else f"Give the same command to go on with {study}."
            raise Interrupted(f"Interrupted. {kept}") from error


def _space(text: str, rule: object) -> "tuple[str, Range | OneOf]":
    from holdtrue.training import OneOf, Range

    key, equals, values = text.partition("=")
    key = key.strip().replace(".", "__")  # as scikit-learn names the parameter of a part
    wrong = DataError(
        f"--try: must be KEY=LOW:HIGH, KEY=LOW:HIGH:log or KEY=VALUE,VALUE; got {text!r}. Write for example "
        "maturity=0.5:0.9."
    )
    if not equals or not key or not values.strip():
        raise wrong
    if ":" not in values:
        read = parse_settings([f"value={values}"])["value"]
        return key, OneOf(read if isinstance(read, tuple) else (read,))
    parts = values.split(":")
    if len(parts) > 3 or (len(parts) == 3 and parts[2].strip() != "log"):
        raise wrong
    try:
        low, high = float(parts[0]), float(parts[1])
    except ValueError as error:
        raise wrong from error
    return key, Range(low, high, log=len(parts) == 3, whole=parameter(rule, key).whole)
