"""`holdtrue tradeoff`: what robust training gives and takes, on the user's own table."""

from typing import TYPE_CHECKING

import click

from holdtrue._cache import use_cache
from holdtrue._types import Keywords
from holdtrue.cli._console import Interrupted, interruptible, print_json, progress, say
from holdtrue.cli._options import (
    choose_favourable,
    configure,
    favourable_option,
    json_option,
    parse_settings,
    schema_option,
    seed_option,
    set_option,
)
from holdtrue.errors import DataError

if TYPE_CHECKING:
    from holdtrue.cli._training import Labelled
    from holdtrue.studies.tradeoff import Tradeoff


@click.command("tradeoff")
@click.argument("data", metavar="DATA")
@click.option("--target", metavar="COLUMN", help="The label column of a table. A dataset brings its own.")
@schema_option
@favourable_option
@click.option("--regimes", default="standard,adversarial", show_default=True, metavar="NAMES",
              help="Training regimes, with commas; adversarial is trained at every radius.")  # fmt: skip
@click.option("--radii", default="0,0.02,0.05,0.1,0.15,0.2,0.25,0.3", show_default=True, metavar="NUMBERS",
              help="Radii of the adversary in training.")  # fmt: skip
@click.option("--sweep", "sweeps", multiple=True, metavar="REGIME.KEY=NUMBERS",
              help="Another parameter to vary, such as recourse.recourse_weight=0.2,0.8; repeatable.")  # fmt: skip
@click.option("--model", default="mlp", show_default=True, metavar="NAME", help="linear, mlp, ensemble or ntk.")
@click.option("--method", default="wachter", show_default=True, metavar="NAME", help="How recourse is found.")
@click.option("--attack", type=click.FloatRange(min=0), default=0.05, show_default=True, metavar="RADIUS",
              help="Of the attack under which every model's accuracy is measured.")  # fmt: skip
@click.option("--norm", type=click.Choice(["linf", "l2"]), default="linf", show_default=True,
              help="Shape of the ball, in that attack and in adversarial training.")  # fmt: skip
@click.option("--people", type=click.IntRange(min=1), default=200, show_default=True, metavar="N",
              help="The first N refused people of the held-out rows are asked about.")  # fmt: skip
@click.option("--retrainings", type=click.IntRange(min=0), default=10, show_default=True, metavar="N",
              help="Retrained models that every recourse is held against.")  # fmt: skip
@set_option
@click.option("--out", metavar="FILE", help="Write the page (.html) or the numbers (.json); may be repeated.",
              multiple=True)  # fmt: skip
@seed_option
@json_option
def command(
    data: str, target: str | None, schema_file: str | None, favourable: str | None, regimes: str, radii: str,
    sweeps: tuple[str, ...], model: str, method: str, attack: float, norm: str, people: int, retrainings: int,
    settings: tuple[str, ...], out: tuple[str, ...], seed: int, as_json: bool,
) -> None:  # fmt: skip
    """Train DATA under several settings and show what each gives in accuracy, robustness and recourse.

    Every setting's model is measured on held-out rows: accuracy, accuracy under attack, the share of the refused
    who have recourse, its cost, and how many retrained models keep it. Settings that no other beats in everything
    are marked, so that a model owner can choose among them. DATA is a table with --target, or a dataset's name.

    Parameters of a regime, of the model and of the method are set with the name first:

    \b
    holdtrue tradeoff loans.csv --target approved --schema loans.yaml --out loans.html
    holdtrue tradeoff loanapp --regimes standard,adversarial,recourse --set adversarial.columns=numeric
    """
    from holdtrue.cli._compare import by_owner, read_any
    from holdtrue.cli._fit import build
    from holdtrue.runs import check_place

    for place in out:
        check_place(place)
    given = by_owner(parse_settings(settings))
    names = [name.strip() for name in regimes.split(",") if name.strip()]
    labelled = read_any(data, target, schema_file)
    wanted = choose_favourable(favourable, labelled.y, own=labelled.favourable, name=labelled.target)
    if labelled.guessed:
        say("The schema was guessed; write and correct one with `holdtrue schema`.")
    use_cache()
    from holdtrue.schema import did_you_mean
    from holdtrue.training import regime

    owners = [*names, "model", "method"]
    for owner in given:
        if owner not in owners:
            raise DataError(
                f"--set: is not one of the regimes trained; got {owner!r}. {did_you_mean(owner, owners)}"
            )
    rules = {name: configure(regime(name), given.get(name, {})) for name in names}
    if "adversarial" in rules:
        rules["adversarial"].set_params(norm=norm)
    options: Keywords = {
        "schema": labelled.schema, "regimes": rules, "radii": _numbers(radii, "--radii"),
        "sweeps": dict(_sweep(text) for text in sweeps), "model": build("model", model, given.get("model", {})),
        "method": build("method", method, given.get("method", {})), "attack": attack, "norm": norm,
        "people": people, "retrainings": retrainings, "random_state": seed,
        "favourable": wanted,
    }  # fmt: skip
    found = _run(labelled, options)
    for place in out:
        found.write(place)
    if as_json:
        print_json(found.to_dict())
        return
    click.echo(str(found))
    for place in out:
        say(f"Written to {place}.")


def _run(labelled: "Labelled", options: Keywords) -> "Tradeoff":
    from holdtrue.studies.tradeoff import tradeoff

    with progress("training", 1.0, "of the settings") as bar:

        def show(what: str, done: int, total: int) -> None:
            if bar.shown:
                bar.bar.update(bar.task, description=what, completed=done / max(total, 1))

        try:
            return interruptible(lambda: tradeoff(labelled.X, labelled.y, **options, progress=show))
        except KeyboardInterrupt as error:
            raise Interrupted("Interrupted. Nothing was written.") from error


def _numbers(text: str, option: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise DataError(
            f"{option}: must be numbers with commas; got {text!r}. Write for example 0,0.05."
        ) from error


def _sweep(text: str) -> tuple[str, list[float]]:
    key, equals, values = text.partition("=")
    if not equals or "." not in key:
        raise DataError(f"--sweep: must be REGIME.KEY=NUMBERS; got {text!r}.")
    return key.strip(), _numbers(values, "--sweep")
