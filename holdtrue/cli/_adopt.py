"""`holdtrue adopt`: a model made elsewhere, as a model file that every command takes."""

from typing import Any

import click

from holdtrue._cache import use_cache
from holdtrue._types import Keywords
from holdtrue.cli._console import interruptible, print_json, progress, say
from holdtrue.cli._options import (
    choose_favourable,
    configure,
    favourable_option,
    json_option,
    keep_option,
    parse_settings,
    seed_option,
    set_option,
)
from holdtrue.errors import DataError


@click.command("adopt")
@click.argument("model", metavar="MODEL")
@click.option("--reference", metavar="TABLE", required=True,
              help="Rows that the model knows: bounds, levels and scaling come from them.")  # fmt: skip
@click.option("--schema", "schema_file", metavar="FILE", help="What each column may do; guessed when omitted.")
@click.option("--out", metavar="FILE", required=True, help="Write the model file here.")
@click.option("--threshold", type=click.FloatRange(0, 1, min_open=True, max_open=True), metavar="P",
              help="Say yes from this probability on; as the model itself when omitted.")  # fmt: skip
@favourable_option
@click.option(
    "--method", default="sparse_search", show_default=True, metavar="NAME", help="How recourse is found."
)
@click.option("--target", metavar="COLUMN", help="The label column of the table, for --guides.")
@click.option("--guides", type=click.IntRange(2), metavar="N",
              help="Train so many copies to search with, and as many to judge by.")  # fmt: skip
@click.option("--architecture", metavar="LAYERS",
              help="For weights of torch: its layers, such as 'Linear(6, 16), ReLU, Linear(16, 1)'.")  # fmt: skip
@click.option("--reads", metavar="FILE",
              help="For torch: the fitted transformer that makes its input, written by skops.")  # fmt: skip
@click.option("--outputs", type=click.Choice(["logits", "probabilities", "log_probabilities"]),
              help="For torch: what it gives; told from its last layer when omitted.")  # fmt: skip
@set_option
@keep_option
@seed_option
@json_option
def command(
    model: str, reference: str, schema_file: str | None, out: str, threshold: float | None, favourable: str | None,
    method: str, target: str | None, guides: int | None, architecture: str | None, reads: str | None,
    outputs: Any, settings: tuple[str, ...], keep: str | None, seed: int, as_json: bool,
) -> None:  # fmt: skip
    """Adopt MODEL, the file of a model made elsewhere, so that every command takes it.

    MODEL is a file of XGBoost (json, ubj), LightGBM (txt), CatBoost (cbm, json), ONNX, torch (a program of
    torch.export.save, or weights with --architecture) or skops (for scikit-learn). A pickle is refused: reading
    one runs whatever its author wanted to run.

    \b
    holdtrue adopt bank.json --reference train.csv --schema bank.yaml --threshold 0.62 --out bank.holdtrue
    holdtrue adopt forest.skops --reference train.csv --target approved --guides 20 --out bank.holdtrue
    holdtrue adopt bank.txt --reference train.csv --target approved --guides 20 --out bank.holdtrue
    holdtrue adopt net.pt --architecture "Linear(6, 9), Tanh, Linear(9, 1)" --reference train.csv --out a.holdtrue
    """
    from holdtrue.runs import check_place

    check_place(out)
    if guides is not None and target is None and not reference.startswith("dataset:"):
        raise DataError("--guides: copies of the model learn from labels; got no --target. Name the label column.")
    if keep is not None and guides is None:
        raise DataError("--keep: is for copies of the model; got no --guides. Leave one of them out.")
    given = parse_settings(settings)
    use_cache()
    import numpy as np

    from holdtrue.batch import wrap
    from holdtrue.classifier import adopt
    from holdtrue.cli._fit import how_it_holds, told_level
    from holdtrue.methods import method as by_name
    from holdtrue.models.adapters import from_torch, has_words, read_transformer, words_of_codes
    from holdtrue.models.adapters import given as read_model
    from holdtrue.schema import LAST, Schema, plain

    theirs: Any
    if architecture or reads or outputs:
        front = None if reads is None else read_transformer(reads)
        theirs = from_torch(model, front, outputs=outputs, architecture=architecture)
    else:
        theirs = read_model(model)
    schema = None if schema_file is None else Schema.load(schema_file)
    table, labels, schema = _rows(reference, target, schema, theirs)
    guessed = schema is None
    classes = getattr(theirs, "classes_", None)
    words, wanted = None, None
    if classes is not None and labels is not None and has_words(np.asarray(labels), np.asarray(classes)):
        asked = wrap(theirs, schema, table, favourable=LAST)
        words = words_of_codes(labels, asked.proba(asked.encoder.schema.check(table)))
        if favourable is not None and favourable in map(str, range(len(words))):  # said as the model knows it
            wanted = int(favourable)
        else:
            wanted = words.index(choose_favourable(favourable, labels, name=target))
        labels = np.array([words.index(label) for label in labels.tolist()])
    elif classes is not None:
        wanted = choose_favourable(favourable, _outcomes(labels, classes), name=target)
    elif favourable is not None:
        wanted = parse_settings([f"favourable={favourable}"])["favourable"]  # classes are counted from 0
    how: Keywords = {
        "reference": table, "labels": None if guides is None else labels, "threshold": threshold,
        "method": configure(by_name(method), given), "favourable": wanted, "n_guides": guides or 20,
        "random_state": seed, "keep": keep,
    }  # fmt: skip
    with progress("guides", 2 * (guides or 0), "models") as bar:
        made = interruptible(lambda: adopt(theirs, schema, **how, on_model=bar.to))
    made.save(out)
    foreign: Any = made.predictor_.foreign
    told = {
        "format": made.format_, "sha256": foreign.digest, "classes": made.classes_.tolist(),
        "favourable": made.predictor_.favourable, "threshold": made.threshold,
        "method": type(made.method_).__name__, "note": foreign.note,
        "recipe": foreign.recipe, "words": words, "hold": told_level(made),
    }  # fmt: skip
    if as_json:
        print_json(told)
        return
    called = "" if words is None else f" ({words[told['favourable']]})"
    click.echo(f"{foreign.note} A yes is {plain(told['favourable'])!r}{called}, from {told['threshold']:g} on.")
    if foreign.recipe is not None:
        say(foreign.recipe)
    if guides is not None:
        click.echo(how_it_holds(told["hold"]))
    if guessed:
        say("The schema was guessed; write and correct one with `holdtrue schema`, and adopt again.")
    say(f"Written to {out}.")


def _outcomes(labels: Any, classes: object) -> Any:
    """What the shares of classes are told from: the table's labels where they are the model's, or its classes."""
    import numpy as np

    theirs = np.asarray(classes)
    known = labels is not None and set(np.unique(labels).tolist()) == set(theirs.tolist())
    return labels if known else theirs


def _rows(place: str, target: str | None, schema: Any, model: Any) -> tuple[Any, Any, Any]:
    """The table, its labels where a column is named, and a schema: the given one, or a dataset's own."""
    from holdtrue.cli._training import labels_of
    from holdtrue.models.adapters import names_of, unread_by
    from holdtrue.runs import DATASET, Source, dataset

    if place.startswith(DATASET):
        data = dataset(place)
        return data.X, data.y, data.schema if schema is None else schema
    frame = Source(place).whole(schema)
    labels = None if target is None else labels_of(frame, target)
    if schema is None:  # a column that the model does not read is none of its features
        there, unread = list(frame.columns), unread_by(model)
        names = [name for name in names_of(model, there) or [] if name in there or name not in unread]
        frame = frame[names] if names and set(names) <= set(there) else frame.drop(columns=target or [])
    return frame, labels, schema
