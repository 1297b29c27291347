"""`holdtrue fit`: a table in, a model file out."""

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from holdtrue._cache import use_cache
from holdtrue._types import Json, JsonObject, NativeFrame
from holdtrue.cli._console import Interrupted, interruptible, print_json, progress, say
from holdtrue.cli._options import (
    choose_favourable,
    configure,
    drop_option,
    dropped,
    favourable_option,
    json_option,
    keep_option,
    parse_settings,
    read_hold,
    schema_option,
    seed_option,
    set_option,
)
from holdtrue.errors import DataError, HoldtrueError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from holdtrue.classifier import AbstractClassifier
    from holdtrue.encoding import Scaling
    from holdtrue.schema import Schema

FAMILIES = ("model", "regime", "method")


@click.command("fit")
@click.argument("table", metavar="TABLE")
@click.option("--target", metavar="COLUMN", help="The label column. A dataset brings its own.")
@click.option("--out", required=True, metavar="FILE", help="The model file to write, for example loans.holdtrue.")
@schema_option
@click.option("--write-schema", metavar="FILE", help="Write the schema that was used.")
@favourable_option
@drop_option
@click.option("--model", metavar="NAME",
              help="additive, linear, mlp, piecewise_mlp, ensemble, ntk, counternet; by default what the "
              "regime needs.")  # fmt: skip
@click.option("--regime", metavar="NAME",
              help="How the model is trained; additive, or standard where another --model is given.")  # fmt: skip
@click.option("--method", metavar="NAME",
              help="How recourse is found; wachter, unless the regime is for another.")  # fmt: skip
@click.option("--config", metavar="FILE",
              help="A setting that `holdtrue tune` wrote; what is given beside it counts more.")  # fmt: skip
@set_option
@click.option(
    "--threshold", type=float, default=0.5, show_default=True, help="Probability from which the answer is yes."
)
@click.option("--hold", metavar="SHARE",
              help="The wanted chance that the model trained again still accepts a recourse: 95% or 0.95; none "
              "trains one model, and nothing is then known about how long recourse holds.  [default: 95%]",
              )  # fmt: skip
@click.option("--guides", type=click.IntRange(min=1), metavar="N",
              help="Further trainings that guide a search, and as many that judge.  [default: 20]")  # fmt: skip
@click.option("--period", "periods", multiple=True, metavar="TABLE",
              help="Rows of a past period, with labels; may be repeated. Most guides and judges are then trained "
              "on single periods, so that they differ as periods differed.")  # fmt: skip
@click.option("--scaling", type=click.Choice(["minmax", "standard", "standard-all"]), default="minmax",
              show_default=True, help="How numbers are scaled.")  # fmt: skip
@click.option("--test-size", type=click.FloatRange(0, 1, max_open=True), default=0.2, show_default=True,
              help="Share of rows held out to measure accuracy; 0 trains on all.")  # fmt: skip
@click.option("--held-out", metavar="FILE",
              help="Write the held-out rows with their labels, as CSV, Parquet or JSON lines.")  # fmt: skip
@keep_option
@seed_option
@json_option
def command(
    table: str, target: str | None, out: str, schema_file: str | None, write_schema: str | None,
    favourable: str | None, drop: tuple[str, ...], model: str | None, regime: str | None, method: str | None,
    config: str | None,
    settings: tuple[str, ...], threshold: float, hold: str | None, guides: int | None, periods: tuple[str, ...],
    scaling: "Scaling", test_size: float, held_out: str | None, keep: str | None, seed: int, as_json: bool,
) -> None:  # fmt: skip
    """Train a classifier on TABLE and write a model file.

    Without --schema the columns are guessed and every guess is printed; read them, since only you know what a
    person can change. `holdtrue schema` writes the guess to a file for you to correct.

    The model file carries the model, and further trainings of it (--hold, --guides) by which `holdtrue recourse`
    finds recourse that a retraining accepts too.

    Parameters of the model, the regime and the method are set with their family first:

    \b
    holdtrue fit loans.csv --target approved --out loans.holdtrue
    holdtrue fit dataset:loanapp --out l.holdtrue --set model.widths=128,64 --set regime.n_epochs=50
    """
    from holdtrue.cli._training import read_labelled
    from holdtrue.runs import check_place, format_of

    began = time.monotonic()
    check_place(out)
    if held_out is not None:
        check_place(held_out)
        format_of(held_out, None)
        if test_size == 0:
            raise DataError("--held-out: no rows are held out; got --test-size 0. Hold some out.")
    names: JsonObject = {"model": model, "regime": regime, "method": method}
    given = by_family(with_config(config, names) | parse_settings(settings))
    held: JsonObject = {} if hold is None else {"hold": read_hold(hold)}
    held |= {} if guides is None else {"n_guides": guides}
    data = read_labelled(table, target, schema_file, dropped(drop))
    labels = sorted(set(data.y.tolist()))
    wanted = choose_favourable(favourable, data.y, own=data.favourable, name=data.target)
    use_cache()
    objects = parts(**names, given=given)
    if data.guessed:
        say("The schema was guessed. Nobody but you knows what a person can change, so read this:")
        for note in data.schema.notes:
            say(f"  {note}")
    if write_schema is not None:
        save_schema(data.schema, write_schema)
    from holdtrue.classifier import RecourseClassifier

    classifier = RecourseClassifier(
        schema=data.schema,
        threshold=threshold,
        favourable=wanted,
        scaling=scaling,
        random_state=seed,
        **objects,
        **held,
    )
    past = [read_period(period, target, data) for period in periods]
    if past and classifier.hold is None:
        raise DataError("--period: is for guides; got --hold none. Leave one of them out.")
    if keep is not None and classifier.hold is None:
        raise DataError("--keep: is for guides; got --hold none. Leave one of them out.")
    train, test = split(len(data.y), data.y, test_size, seed)
    fit_with_progress(classifier, data.X.iloc[train], data.y[train], past, keep)
    classifier.save(out)
    if held_out is not None:
        write_rows(held_out, data.X.iloc[test], "label" if target is None else target, data.y[test])
    judged = test if len(test) else train
    decided = classifier.predict(data.X.iloc[judged])
    everyone = classifier.predict(data.X) if len(test) else decided
    good = classifier.predictor_.favourable
    summary = {
        "out": out,
        "rows": len(data.y),
        "classes": {str(label): int((data.y == label).sum()) for label in labels},
        "favourable": good,
        "features": len(data.schema),
        "trained_on": len(train),
        "accuracy": float((decided == data.y[judged]).mean()),
        "accuracy_on": "held-out rows" if len(test) else "training rows",
        "refused": int((everyone != good).sum()),
        "beside": None if classifier.beside_ is None else asdict(classifier.beside_),
        "hold": told_level(classifier),
        "seconds": round(time.monotonic() - began, 2),
    }
    print_json(summary) if as_json else click.echo(describe(summary, classifier.beside_))


def describe(summary: JsonObject, beside: object = None) -> str:
    """A summary in words."""
    compared = "" if beside is None else f"{beside}\n"
    classes = ", ".join(f"{label}: {count:,}" for label, count in summary["classes"].items())
    return (
        f"{summary['rows']:,} rows, {summary['features']} features; classes {classes}; favourable is "
        f"{summary['favourable']}.\n"
        f"Trained on {summary['trained_on']:,} rows. "
        f"Accuracy {summary['accuracy']:.1%} on {summary['accuracy_on']}. "
        f"Of all rows, {summary['refused']:,} are refused.\n"
        f"{compared}{how_it_holds(summary['hold'])}\n"
        f"Written to {summary['out']}. ({summary['seconds']:.1f} s)"
    )


def told_level(classifier: "AbstractClassifier") -> JsonObject | None:
    """What is known about how long recourse holds, in plain types; None where nothing is."""
    level = getattr(classifier.method_, "level_", None)
    return None if level is None else level.to_dict()


def how_it_holds(level: JsonObject | None) -> str:
    """The same in words."""
    from holdtrue.methods import UNKNOWN, Level

    if level is None:
        return f"{UNKNOWN}: it was fitted with --hold none."
    known = Level.from_dict(level)
    return f"Recourse: {known} {known.guides} models guide the search."


def read_period(place: str, target: str | None, data: Any) -> tuple[Any, Any]:
    """Rows and labels of a past period, held against the table's schema."""
    from holdtrue.runs import DATASET

    if target is None and not place.startswith(DATASET):
        raise DataError("--period: needs the label column; got no --target. Write --target COLUMN.")
    try:
        return _period(place, target, data)
    except DataError as error:  # which of several periods it is, is to be seen
        raise DataError(f"--period {place}: {str(error).partition(': ')[2]}") from error


def _period(place: str, target: str | None, data: Any) -> tuple[Any, Any]:
    import numpy as np

    from holdtrue.cli._training import labels_of
    from holdtrue.runs import DATASET, Source, dataset

    if place.startswith(DATASET):
        read = dataset(place)
        return read.X, read.y
    rows = Source(place).whole(data.schema)
    if target in rows.columns:
        some = sorted({str(label) for label in rows[target].tolist()})
        if len(some) == 1:
            raise DataError(f"period: has one class; no model can be made of it; got {some[0]!r}. Leave it out.")
    X, y = data.schema.check(rows, where="--period").native[data.schema.names], labels_of(rows, str(target))
    odd = sorted(map(str, set(np.asarray(y).tolist()) - set(np.asarray(data.y).tolist())))
    if odd:
        raise DataError(f"period: has a class unseen in the table; got {odd[0]!r}. Write labels as there.")
    return X, y


def write_rows(out: str, X: NativeFrame, target: str, y: "np.ndarray") -> None:
    """Write rows with their labels as a table."""
    from pathlib import Path

    import pyarrow as pa

    from holdtrue.runs import format_of, write_table

    rows = pa.Table.from_pandas(X.assign(**{target: y}), preserve_index=False)
    write_table(rows, Path(out), format_of(out, None))
    say(f"Held-out rows written to {out}.")


def save_schema(schema: "Schema", path: str) -> None:
    """Write a schema file: YAML with what was guessed and every field, or JSON."""
    from pathlib import Path

    from holdtrue.runs import check_place

    check_place(path)
    if Path(path).suffix == ".json":
        schema.save(path)
    else:
        Path(path).write_text(schema.to_yaml(annotated=True), encoding="utf-8")


def by_family(settings: Mapping[str, Json]) -> dict[str, JsonObject]:
    """Sort ``model.widths`` and the like by their first word."""
    from holdtrue.schema import did_you_mean

    out: dict[str, JsonObject] = {family: {} for family in FAMILIES}
    for key, value in settings.items():
        family, _, rest = key.partition(".")
        if family not in out or not rest:
            hint = (
                did_you_mean(family, FAMILIES)
                if rest
                else f"Write for example model.{key}, regime.{key} or method.{key}."
            )
            raise DataError(f"--set: must begin with model., regime. or method.; got {key!r}. {hint}")
        out[family][rest] = value
    return out


def with_config(path: str | None, names: JsonObject) -> JsonObject:
    """Read a setting from a file: `names` that were not given are put in, parameters returned."""
    import json
    from pathlib import Path

    if path is None:
        return {}
    try:
        raw = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"--config: cannot be read; got {path!r} ({error}). Give a JSON file.") from error
    values = raw.get("set", {}) if isinstance(raw, dict) else None
    if not isinstance(values, dict) or not all(isinstance(raw.get(family, ""), str) for family in names):
        raise DataError(f"--config: is not a setting; got {path!r}. Write one with `holdtrue tune --out FILE`.")
    context = click.get_current_context()
    for family in names:
        if family in raw and context.get_parameter_source(family) == click.core.ParameterSource.DEFAULT:
            names[family] = raw[family]
    # A regime's parameters are no use to another one that was asked for.
    return {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in values.items()
        if (family := key.partition(".")[0]) not in raw or names.get(family) == raw[family]
    }


def build(family: str, name: str, settings: Mapping[str, Json]) -> Any:
    """Make a model, regime or method by its name."""
    from holdtrue.methods import method
    from holdtrue.models import architecture
    from holdtrue.training import regime

    make = {"model": architecture, "regime": regime, "method": method}[family]
    return configure(make(name), settings)


def _usual_regime(model: str | None, given: Mapping[str, Any]) -> str:
    """The regime of whom names none: what is set says whether a network is meant."""
    from holdtrue.models import Additive
    from holdtrue.training import AdditiveTraining

    if model not in (None, "additive"):
        return "standard"
    known = given["regime"].keys() <= AdditiveTraining().get_params().keys()
    if model is None and not (known and given["model"].keys() <= Additive().get_params().keys()):
        return "early_stopping"
    return "additive"


def parts(model: str | None, regime: str | None, method: str | None, given: Mapping[str, Any]) -> JsonObject:
    """Build model, regime and method; what is not named is what the regime is for."""
    how = build("regime", _usual_regime(model, given) if regime is None else regime, given["regime"])
    if method is None:
        method = "generated" if "generator" in how.needs else "wachter"
    what = configure(how.default_model, given["model"]) if model is None else build("model", model, given["model"])
    return {"model": what, "regime": how, "method": build("method", method, given["method"])}


def split(n: int, y: "ArrayLike", test_size: float, seed: int) -> tuple["np.ndarray", "np.ndarray"]:
    """Positions of training and held-out rows, classes in equal shares."""
    import numpy as np
    from sklearn.model_selection import train_test_split

    rows = np.arange(n)
    if test_size == 0:
        return rows, rows[:0]
    try:
        train, test = train_test_split(rows, test_size=test_size, random_state=seed, stratify=y)
    except ValueError as error:
        raise DataError(
            f"--test-size: too few rows to hold some out; got {n} rows and {test_size:g} ({error}). "
            "Use --test-size 0."
        ) from error
    return np.sort(train), np.sort(test)


def fit_with_progress(classifier: Any, X: Any, y: Any, periods: Any = (), keep: str | None = None) -> Any:
    """Fit with a bar, hearing Ctrl-C: first over epochs, then over the further trainings."""
    epochs = None if classifier.regime is None else classifier.regime.epochs(len(y))
    with progress("training", epochs, "epochs") as bar:
        on_epoch = (lambda epoch, loss: bar.to(epoch + 1)) if bar.shown else None
        on_model = (
            (lambda n: bar.part("training it again", n, 2 * classifier.n_guides, "models")) if bar.shown else None
        )
        how: JsonObject = {"on_epoch": on_epoch, "on_model": on_model, "periods": list(periods) or None}
        how |= {} if keep is None else {"keep": keep}
        try:
            return interruptible(lambda: classifier.fit(X, y, **how))
        except KeyboardInterrupt as error:
            kept = "" if keep is None else f" What was trained of guides and judges is in {keep}."
            raise Interrupted(f"Interrupted. The model was not finished, so nothing was written.{kept}") from error
        except HoldtrueError:
            raise
        except ValueError as error:  # scikit-learn's own checks
            raise DataError(f"fit: {str(error).strip().splitlines()[0]}") from error
