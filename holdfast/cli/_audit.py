"""`holdfast audit`: does a model's recourse work, what does it cost, does it hold?"""

from pathlib import Path
from typing import Any

import click

from holdfast.cli._cache import use_cache
from holdfast.cli._console import Interrupted, interruptible, print_json, progress, results, say
from holdfast.cli._options import json_option, parse_settings, seed_option, set_option
from holdfast.errors import DataError


@click.command("audit")
@click.argument("model", metavar="MODEL")
@click.argument("table", metavar="TABLE")
@click.option("--retrain", "n_models", type=click.IntRange(min=0), default=0, metavar="N",
              help="Train the model N times again and ask each about every recourse.")  # fmt: skip
@click.option("--vary", type=click.Choice(["seed", "leave_one_out", "bootstrap", "finetune"]), default="seed",
              show_default=True, help="What differs between retrainings.")  # fmt: skip
@click.option("--new-order", is_flag=True, help="For leave_one_out: other shuffles, too.")
@click.option("--layers", type=click.Choice(["top", "all"]), help="For finetune: what moves.  [default: top]")
@click.option("--epochs", type=click.IntRange(min=1), metavar="N",
              help="For finetune: passes over the rows.  [default: 5]")  # fmt: skip
@click.option("--target", metavar="COLUMN", help="The label column; needed to retrain.")
@click.option("--train", metavar="TABLE", help="The table to retrain on; TABLE itself by default.")
@click.option("--method", metavar="NAME", help="Another method than the model's own; see `holdfast methods`.")
@set_option
@click.option("--out", metavar="FILE", help="Write the report as JSON; - is standard output, the same as --json.")
@click.option("--people", metavar="FILE", help="Write the figures of every person, as CSV, Parquet or JSON lines.")
@seed_option
@json_option
def command(
    model: str, table: str, n_models: int, vary: str, new_order: bool, layers: str | None, epochs: int | None,
    target: str | None, train: str | None, method: str | None, settings: tuple[str, ...], out: str | None,
    people: str | None, seed: int, as_json: bool,
) -> None:  # fmt: skip
    """Find recourse for the people in TABLE under MODEL and report on it.

    A model file holds no training rows. So to retrain, name the label column with --target: the model's
    architecture and regime are fitted again on TABLE, or on the rows of --train, and each retrained model is asked
    about every recourse. With --vary finetune the model itself goes on learning from resamples of those rows.

    \b
    holdfast audit loans.holdfast applicants.csv
    holdfast audit loans.holdfast loans.csv --retrain 100 --target approved --json
    """
    from holdfast.cli._io import DATASET, Source
    from holdfast.cli._model import choose_method, load_model
    from holdfast.cli._write import check_place, format_of, write_table

    if out == "-":
        out, as_json = None, True
    for place in (out, people):
        if place is not None:
            check_place(place)
    people_format = None if people is None else format_of(people, None)
    learned_from = table if train is None else train
    if n_models and target is None and not learned_from.startswith(DATASET):
        raise DataError(
            "--retrain: needs the label column, since a model file holds no training rows; got no --target. Write "
            "--target COLUMN."
        )
    if (train is not None or target is not None) and not n_models:
        say("note: --train and --target serve retraining; without --retrain N they are not used.")
    asked = parse_settings(settings)
    use_cache()
    classifier = load_model(model)
    schema = classifier.schema_
    chosen = choose_method(classifier, method, asked, train)
    frame = Source(table).whole(schema)
    schema.check(frame, where="table")
    X = frame[schema.names]
    how = {"vary": vary, "new_order": new_order, "layers": layers, "n_epochs": epochs}
    report = make_report(classifier, X, frame, chosen, n_models, how, target, train, table, seed)
    if out is not None:
        report.write(out)
    if people is not None and people_format is not None:
        import pyarrow as pa

        write_table(pa.Table.from_pandas(report.per_person(), preserve_index=False), Path(people), people_format)
    if as_json:
        print_json(report.to_dict())
    else:
        results().print(report)
        if out is not None:
            say(f"Written to {out}.")


def make_report(
    classifier: Any, X: Any, frame: Any, method: Any, n_models: int, how: dict[str, Any], target: str | None,
    train: str | None, table: str, seed: int,
) -> Any:  # fmt: skip
    """Recourse under the model, held against its retrainings."""
    from holdfast.audit import audit

    with progress("recourse", len(X), "people") as bar:
        try:
            plan = classifier.recourse(X, method=method, on_rows=bar.by if bar.shown else None)
        except KeyboardInterrupt as error:
            raise Interrupted("Interrupted. No report was made.") from error
    against = None
    if n_models:
        rows, labels = _rows_to_learn(classifier, frame, target, train, table)
        against = retrain_again(classifier, rows, labels, n_models, seed, **how)
    return audit(plan, against)


def _rows_to_learn(
    classifier: Any, frame: Any, target: str | None, train: str | None, table: str
) -> tuple[Any, Any]:
    import numpy as np

    from holdfast.cli._io import DATASET, Source, dataset
    from holdfast.cli._training import labels_of

    names = classifier.schema_.names
    place = table if train is None else train
    if place.startswith(DATASET):
        data = dataset(place)
        rows, labels = data.X, np.asarray(data.y)
    else:
        rows = frame if train is None else Source(train).whole(classifier.schema_)
        labels = labels_of(rows, str(target))
    known, given = classifier.classes_.tolist(), sorted(set(labels.tolist()))
    if known != given:
        raise DataError(
            f"--target: the table's classes are not the model's; got {given!r} for {known!r}. Name the column "
            "that the model learned."
        )
    return classifier.schema_.check(rows, where="table").native[names], labels


def retrain_again(classifier: Any, X: Any, y: Any, n: int, seed: int, **how: Any) -> Any:
    """Fit a clone on the table, then `n` more of it; to fine-tune, the classifier itself is kept."""
    from sklearn.base import clone

    from holdfast.training import retrain, training_rows

    # The loaded schema, with its bounds and levels: the retrained models must read the same columns.
    again: Any = clone(classifier)
    again.set_params(schema=classifier.schema_)
    with progress("retraining", n, "models") as bar:
        try:
            if hasattr(classifier, "training_"):
                again = classifier
            elif how.get("vary") == "finetune":
                again = classifier
                again.training_ = training_rows(classifier, X, y)
            else:
                interruptible(lambda: again.fit(X, y))
            return interruptible(lambda: retrain(again, n, random_state=seed, on_model=bar.to, **how))
        except KeyboardInterrupt as error:
            raise Interrupted("Interrupted. The retrainings were not finished, so no report was made.") from error
