"""What `audit` and `shelf-life` share: a model, a table, everyone's recourse, and the model trained again."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from holdtrue._cache import use_cache
from holdtrue._types import Estimator, Json, JsonObject, NativeFrame
from holdtrue.cli._console import Interrupted, interruptible, print_json, progress, results, say
from holdtrue.cli._options import json_option, parse_settings, ray_options, seed_option, set_option, where
from holdtrue.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from holdtrue.classifier import AbstractClassifier
    from holdtrue.methods import RecourseFrame
    from holdtrue.reports import Report, ShelfLife
    from holdtrue.retraining import AbstractRetrained

Done = TypeVar("Done")
OPTIONS = (
    click.argument("model", metavar="MODEL"),
    click.argument("table", metavar="TABLE"),
    click.option("--vary", type=click.Choice(["seed", "leave_one_out", "bootstrap", "finetune"]),
                 help="What differs between retrainings; by default seed, and bootstrap where every seed gives "
                 "the same model."),
    click.option("--new-order", is_flag=True, help="For leave_one_out: other shuffles, too."),
    click.option("--layers", type=click.Choice(["top", "all"]), help="For finetune: what moves.  [default: top]"),
    click.option("--epochs", type=click.IntRange(min=1), metavar="N",
                 help="For finetune: passes over the rows.  [default: 5]"),
    click.option("--target", metavar="COLUMN", help="The label column; needed to retrain."),
    click.option("--train", metavar="TABLE", help="The table to retrain on; TABLE itself by default."),
    click.option("--method", metavar="NAME",
                 help="Another method than the model's own; see `holdtrue methods`."),
    set_option,
    click.option("--out", metavar="FILE",
                 help="Write the report as JSON; - is standard output, the same as --json."),
    click.option("--people", metavar="FILE",
                 help="Write the figures of every person, as CSV, Parquet or JSON lines."),
    click.option("--subject", metavar="COLUMN",
                 help="With --people: the column with your key for each person, written beside the figures."),
    seed_option,
    json_option,
    ray_options,
)  # fmt: skip


def held_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the arguments of a `Job`."""
    return functools.reduce(lambda made, option: option(made), reversed(OPTIONS), command)


@dataclass(frozen=True, kw_only=True)
class Job:
    """What the command was asked, checked before any work is done."""

    model: str
    table: str
    vary: str | None
    new_order: bool
    layers: str | None
    epochs: int | None
    target: str | None
    train: str | None
    method: str | None
    settings: tuple[str, ...]
    out: str | None
    people: str | None
    subject: str | None
    seed: int
    as_json: bool
    ray: str | None
    ray_cores: int | None
    ray_gpus: float | None

    def check(self, retraining: str | None, *places: str | None) -> None:
        """Refuse files that cannot be written, and retraining (the option that asks for it) without labels."""
        from holdtrue.runs import DATASET, check_place, format_of

        for place in (None if self.out == "-" else self.out, self.people, *places):
            if place is not None:
                check_place(place)
        if self.people is not None:
            format_of(self.people, None)
        learned_from = self.table if self.train is None else self.train
        if retraining is not None and self.target is None and not learned_from.startswith(DATASET):
            raise DataError(
                f"{retraining}: needs the label column, since a model file holds no training rows; got no "
                "--target. Write --target COLUMN."
            )

    @property
    def how(self) -> JsonObject:
        """What `retrain` is told."""
        how = {"vary": self.vary, "new_order": self.new_order, "layers": self.layers, "n_epochs": self.epochs}
        return how if self.ray is None else how | {"executor": self.executor}

    @functools.cached_property
    def executor(self) -> Any:
        """Where models are trained."""
        return where(self.ray, self.ray_cores, self.ray_gpus)

    def find(self) -> tuple["AbstractClassifier", NativeFrame, "RecourseFrame"]:
        """Return the classifier, the table and everyone's recourse."""
        from holdtrue.cli._model import choose_method, load_model
        from holdtrue.runs import Source

        asked = parse_settings(self.settings)
        use_cache()
        _ = self.executor  # before jax begins: a local cluster is forked from this process
        classifier = load_model(self.model)
        schema = classifier.schema_
        chosen = choose_method(classifier, self.method, asked, self.train)
        frame = Source(self.table).whole(schema)
        schema.check(frame, where="table")
        if self.subject is not None and self.subject not in frame.columns:
            from holdtrue.schema import did_you_mean

            hint = did_you_mean(self.subject, [str(c) for c in frame.columns])
            raise DataError(f"--subject: is not a column; got {self.subject!r}. {hint}")
        X = frame[schema.names]
        with progress("recourse", len(X), "people") as bar:
            try:
                plan = classifier.recourse(X, method=chosen, on_rows=bar.by if bar.shown else None)
            except KeyboardInterrupt as error:
                raise Interrupted("Interrupted. No report was made.") from error
        return classifier, frame, plan

    def rows_to_learn(
        self, classifier: "AbstractClassifier", frame: NativeFrame
    ) -> tuple[NativeFrame, "np.ndarray"]:
        """Rows and labels to retrain on, held against the model."""
        place = self.table if self.train is None else self.train
        return rows_to_learn(classifier, place, self.target, frame if self.train is None else None)

    def give(
        self,
        report: "Report | ShelfLife",
        per_person: Callable[[], "pd.DataFrame"],
        frame: NativeFrame,
        plan: "RecourseFrame",
    ) -> None:
        """Write the report and the figures of every person where asked, by row and key, and print it."""
        from holdtrue.runs import format_of, write_table

        out = None if self.out == "-" else self.out
        if out is not None:
            report.write(out)
        if self.people is not None:
            import pyarrow as pa

            figures = per_person()
            figures.insert(0, "row", plan.person)
            if self.subject is not None:
                figures.insert(1, self.subject, _keys(frame, plan, self.subject))
            rows = pa.Table.from_pandas(figures, preserve_index=False)
            write_table(rows, Path(self.people), format_of(self.people, None))
        if self.as_json or self.out == "-":
            print_json(report.to_dict())
        else:
            results().print(report)
            if out is not None:
                say(f"Written to {out}.")


def _keys(frame: NativeFrame, plan: "RecourseFrame", subject: str) -> "np.ndarray":
    """Whose each row of a plan is, by a column of the table."""
    return frame[subject].to_numpy()[plan.person]


def rows_to_learn(
    classifier: "AbstractClassifier", place: str, target: str | None, frame: NativeFrame = None
) -> tuple[NativeFrame, "np.ndarray"]:
    """Rows and labels of a table to retrain on (`frame`, where it was read already), held against the model."""
    import numpy as np

    from holdtrue.cli._training import labels_of
    from holdtrue.runs import DATASET, Source, dataset

    if place.startswith(DATASET):
        data = dataset(place)
        rows, labels = data.X, np.asarray(data.y)
    else:
        rows = Source(place).whole(classifier.schema_) if frame is None else frame
        labels = labels_of(rows, str(target))
    known, given = classifier.classes_.tolist(), sorted(set(labels.tolist()))
    if known != given:
        raise DataError(
            f"--target: the table's classes are not the model's; got {given!r} for {known!r}. Name the column "
            "that the model learned."
        )
    return classifier.schema_.check(rows, where="table").native[classifier.schema_.names], labels


def retrain_again(
    classifier: Estimator, X: NativeFrame, y: "np.ndarray", n: int, seed: int, **how: Json
) -> "AbstractRetrained":
    """`n` retrainings of the classifier, on the rows."""
    from holdtrue.retraining import retrain

    return with_rows(classifier, X, y, n, functools.partial(retrain, n=n), random_state=seed, **how)


def with_rows(
    classifier: Estimator,
    X: NativeFrame,
    y: "np.ndarray",
    n: int,
    work: Callable[..., Done],
    *args: object,
    **how: Json,
) -> Done:
    """Call ``work(classifier, *args, on_model=..., **how)``, which trains `n` models, under a progress bar.

    A loaded classifier holds no training rows: a clone is fitted on the table. To fine-tune, it is kept itself.
    """
    from sklearn.base import clone

    from holdtrue.retraining import training_rows

    if classifier.predictor_.foreign is not None:
        return _adopted_with_rows(classifier, X, y, n, work, *args, **how)
    # The loaded schema, with its bounds and levels: the retrained models must read the same columns.
    again: Estimator = clone(classifier)
    again.set_params(schema=classifier.schema_, hold=None)  # guides are not what is trained again here
    with progress("retraining", n, "models") as bar:
        try:
            if classifier.training_ is not None:
                again = classifier
            elif how.get("vary") == "finetune":
                again = classifier
                again.training_ = training_rows(classifier, X, y)
            else:
                interruptible(lambda: again.fit(X, y))
            return interruptible(lambda: work(again, *args, on_model=bar.to, **how))
        except KeyboardInterrupt as error:
            raise Interrupted("Interrupted. The retrainings were not finished, so no report was made.") from error


def _adopted_with_rows(
    classifier: Estimator,
    X: NativeFrame,
    y: "np.ndarray",
    n: int,
    work: Callable[..., Done],
    *args: object,
    **how: Json,
) -> Done:
    """The same for an adopted model, of which copies are trained as its own library trains them."""
    given = {name: value for name, value in how.items() if value not in (None, False)}
    if given.get("vary", "seed") == "seed":
        given["vary"] = "bootstrap"
        say("Copies of an adopted model are trained on resampled rows; many learn the same from every seed.")
    with progress("retraining", n, "models") as bar:
        try:
            return interruptible(lambda: work(classifier, *args, X=X, y=y, on_model=bar.to, **given))
        except KeyboardInterrupt as error:
            raise Interrupted("Interrupted. The retrainings were not finished, so no report was made.") from error
