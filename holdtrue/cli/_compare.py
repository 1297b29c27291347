"""`holdtrue compare`: methods side by side on one dataset and one model."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdtrue._cache import use_cache
from holdtrue._types import Estimator, JsonObject, Keywords
from holdtrue.cli._console import Interrupted, interruptible, print_json, progress, results, say
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
    from holdtrue.schema import Schema
    from holdtrue.studies.compare import Comparison


@click.command("compare")
@click.argument("data", metavar="DATASET")
@click.option("--methods", default="all", show_default=True, metavar="NAMES",
              help="Methods, with commas; see `holdtrue methods`.")  # fmt: skip
@click.option("--model", default="mlp", show_default=True, metavar="NAME|FILE",
              help="linear, mlp, ensemble, ntk, logistic_regression, random_forest, xgboost, lightgbm, or a model "
              "file that `holdtrue fit` wrote.")  # fmt: skip
@click.option("--people", type=click.IntRange(min=1), metavar="N",
              help="Only the first N refused people of the test rows.")  # fmt: skip
@click.option("--retrainings", type=click.IntRange(min=0), default=20, show_default=True, metavar="N",
              help="Retrained models that every recourse is held against.")  # fmt: skip
@click.option("--vary", type=click.Choice(["seed", "bootstrap", "leave_one_out"]),
              help="What differs between retrainings; by default seed, and bootstrap for models of other "
              "libraries and where every seed gives the same model.")  # fmt: skip
@click.option("--test-size", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.25,
              show_default=True, help="Share of rows that the model does not learn from.")  # fmt: skip
@click.option("--target", metavar="COLUMN", help="The label column of a table. A dataset brings its own.")
@schema_option
@favourable_option
@set_option
@click.option("--output", metavar="FILE", help="Write JSON, after every method anew.")
@click.option("--resume", is_flag=True, help="Methods that are in --output already are not run again.")
@click.option("--plot", metavar="FILE", help="Draw cost against survival (PNG, SVG or PDF); needs matplotlib.")
@seed_option
@json_option
def command(
    data: str, methods: str, model: str, people: int | None, retrainings: int, vary: str | None, test_size: float,
    target: str | None, schema_file: str | None, favourable: str | None, settings: tuple[str, ...],
    output: str | None, resume: bool, plot: str | None, seed: int, as_json: bool,
) -> None:  # fmt: skip
    """Run recourse methods side by side on DATASET: a registered name, or a table with --target.

    One model is trained on a share of the rows, and every method is asked for the recourse of the same people:
    those among the other rows whom the model refuses. A method that cannot be run on this model is listed with the
    reason.

    Parameters of a method, of the model and of its training are set with the name first:

    \b
    holdtrue compare loanapp --people 100 --output loans.json --plot loans.png
    holdtrue compare loans.csv --target approved --methods wachter,sns --set wachter.norm=l2 --set model.widths=64
    """
    from holdtrue.runs import check_place

    for place in (output, plot):
        if place is not None:
            check_place(place)
    if resume and output is None:
        raise DataError("--resume: goes on with a file; got no --output. Write --output FILE.")
    if output is not None and Path(output).exists() and not resume:
        raise DataError(
            f"--output: the file is there already; got {output!r}. Add --resume to go on with it, or delete it."
        )
    given = by_owner(parse_settings(settings))
    labelled = read_any(data, target, schema_file)
    wanted = labelled.favourable
    if favourable is not None or not Path(model).is_file():  # a model file knows what people want
        wanted = choose_favourable(favourable, labelled.y, own=labelled.favourable, name=labelled.target)
    if labelled.guessed:
        say("The schema was guessed; write and correct one with `holdtrue schema`.")
    use_cache()
    from holdtrue.datasets import Dataset
    from holdtrue.studies.compare import Comparison

    chosen = _methods(methods, given)
    made = model_of(model, given, labelled.schema, seed)
    done = Comparison.read(output) if resume and output is not None and Path(output).exists() else None
    named = Dataset(
        name=Path(data.removeprefix("dataset:")).stem, X=labelled.X, y=labelled.y, schema=labelled.schema,
        target=str(target), favourable=wanted, source="", licence="",
        description="",
    )  # fmt: skip
    options: Keywords = {
        "methods": chosen, "model": made, "people": people, "retrainings": retrainings, "vary": vary,
        "test_size": test_size, "random_state": seed, "done": done,
    }  # fmt: skip
    comparison = _run(named, options, output)
    if output is not None:
        comparison.write(output)
    if plot is not None:
        comparison.plot(plot)
    if as_json:
        print_json(comparison.to_dict())
        return
    results().print(comparison)
    for place in (output, plot):
        if place is not None:
            say(f"Written to {place}.")


def _run(data: object, options: Keywords, output: str | None) -> "Comparison":
    from holdtrue.studies.compare import compare

    so_far: list[Comparison] = []

    def keep(comparison: "Comparison") -> None:
        so_far.append(comparison)
        if output is not None:
            comparison.write(output)

    with progress("comparing", 1.0, "of a method") as bar:

        def show(what: str, done: int, total: int) -> None:
            if bar.shown:
                bar.bar.update(bar.task, description=what, completed=done / max(total, 1))

        try:
            return interruptible(lambda: compare(data, **options, on_row=keep, progress=show))
        except KeyboardInterrupt as error:
            n = len(so_far[-1].rows) if so_far else 0
            kept = "Nothing was written."
            if output and n:
                kept = f"{n} of {len(options['methods'])} methods are in {output}; go on with --resume."
            raise Interrupted(f"Interrupted. {kept}") from error


def read_any(data: str, target: str | None, schema_file: str | None) -> "Labelled":
    """Read a labelled table, or a dataset by its bare name."""
    from holdtrue.cli._training import read_labelled
    from holdtrue.datasets import names
    from holdtrue.runs import DATASET

    if not data.startswith(DATASET) and not Path(data).exists() and (data in names() or not Path(data).suffix):
        data = DATASET + data
    return read_labelled(data, target, schema_file)


def by_owner(settings: Keywords) -> dict[str, JsonObject]:
    """Sort ``wachter.norm`` and the like by their first word."""
    out: dict[str, JsonObject] = {}
    for key, value in settings.items():
        owner, _, rest = key.partition(".")
        if not rest:
            raise DataError(
                f"--set: must begin with a method, model. or regime.; got {key!r}. Write for example "
                f"`--set wachter.{key}=...`."
            )
        out.setdefault(owner, {})[rest] = value
    return out


def _methods(names: str, given: dict[str, JsonObject]) -> JsonObject:
    from holdtrue.methods import METHODS
    from holdtrue.methods import method as by_name
    from holdtrue.schema import did_you_mean

    asked = list(METHODS) if names.strip() == "all" else [n.strip() for n in names.split(",") if n.strip()]
    if not asked:
        raise DataError("--methods: names no method; got nothing. Write for example `--methods wachter,sns`.")
    owners = [*asked, "model", "regime"]
    unknown = [owner for owner in given if owner not in owners]
    if unknown:
        raise DataError(
            f"--set: is not one of the methods compared; got {unknown[0]!r}. {did_you_mean(unknown[0], owners)}"
        )
    return {name: configure(by_name(name), given.get(name, {})) for name in asked}


def model_of(name: str, given: dict[str, JsonObject], schema: "Schema", seed: int) -> Estimator:
    """A classifier that is not fitted, by the name of its model, or one from a file."""
    from holdtrue.classifier import RecourseClassifier, named_model, pipeline
    from holdtrue.cli._fit import build
    from holdtrue.cli._model import load_model
    from holdtrue.models import ARCHITECTURES

    model, regime = given.get("model", {}), given.get("regime", {})
    if Path(name).is_file():
        if model or regime:
            raise DataError("--set: a model file brings its own model and regime; got parameters for them.")
        return load_model(name)
    made = configure(named_model(name), model)
    if name in ARCHITECTURES:
        return RecourseClassifier(
            schema=schema, model=made, regime=build("regime", "standard", regime), random_state=seed
        )
    if regime:
        raise DataError(f"--set: {name} has no training regime of holdtrue's; got parameters for one.")
    return pipeline(made, schema)
