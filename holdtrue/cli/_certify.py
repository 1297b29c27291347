"""`holdtrue certify`: that a threshold keeps a promise of recourse, and the certificate of it."""

from typing import TYPE_CHECKING, Any

import click

from holdtrue._cache import use_cache
from holdtrue._types import NativeFrame
from holdtrue.cli._console import interruptible, print_json, say
from holdtrue.cli._options import configure, json_option, parse_settings, seed_option, set_option
from holdtrue.errors import DataError

if TYPE_CHECKING:
    import numpy as np

    from holdtrue.classifier import AbstractClassifier

SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command("certify")
@click.argument("model", metavar="MODEL")
@click.argument("table", metavar="TABLE")
@click.option("--out", metavar="FILE", help="Write the model, carrying the certificate.")
@click.option("--certificate", metavar="FILE", help="Write the certificate as JSON.")
@click.option("--miscoverage", type=SHARE, default=0.05, show_default=True,
              help="Share of people who may be without recourse.")  # fmt: skip
@click.option("--failure", type=SHARE, default=0.05, show_default=True,
              help="Share of calibration draws that may break the promise.")  # fmt: skip
@click.option("--target", metavar="COLUMN",
              help="The label column: of thresholds that keep the promise propose the best F1's.")  # fmt: skip
@click.option("--threshold", type=SHARE, metavar="P", help="Certify this threshold, or refuse.")
@click.option("--move-threshold", is_flag=True, help="Take the threshold that is proposed, not the present one.")
@click.option("--groups", metavar="COLUMN", help="Make the promise to every group in this column.")
@click.option("--correction", type=click.Choice(["bonferroni", "sidak", "none"]), default="bonferroni",
              show_default=True, help="For several groups.")  # fmt: skip
@click.option("--use", metavar="TABLE", help="People whom the model will decide about; tested for drift.")
@click.option("--on-drift", type=click.Choice(["refuse", "mark", "weight"]), default="refuse", show_default=True,
              help="What to do where they are unlike the calibration set.")  # fmt: skip
@click.option("--method", default="highest_score", show_default=True, metavar="NAME",
              help="The search whose recourse is promised; HighestScore also proposes a threshold.")  # fmt: skip
@set_option
@seed_option
@json_option
def command(
    model: str, table: str, out: str | None, certificate: str | None, method: str, settings: tuple[str, ...],
    target: str | None, use: str | None, seed: int, as_json: bool, **asked: Any,
) -> None:  # fmt: skip
    """Certify that nearly everybody has recourse at MODEL's threshold, calibrated on the people in TABLE.

    The threshold stays. Another that keeps the promise is proposed, with the share of people that it would accept,
    and taken by --move-threshold.

    TABLE must hold people whom MODEL did not learn from, drawn like those whom the promise is for; 59 at least, as
    it stands. `holdtrue fit --held-out FILE` writes such a table.

    \b
    holdtrue certify loans.holdtrue calibration.csv --out certified.holdtrue --certificate loans.json
    holdtrue certify loans.holdtrue calibration.csv --groups sex --use applicants.csv --out certified.holdtrue
    """
    from holdtrue.runs import check_place

    if out is None and certificate is None:
        raise DataError("certify: nowhere to write; got no --out and no --certificate. Give one of them.")
    for place in (out, certificate):
        if place is not None:
            check_place(place)
    given = parse_settings(settings)
    use_cache()
    from holdtrue.classifier import proposed
    from holdtrue.cli._model import load_model
    from holdtrue.methods import method as by_name
    from holdtrue.studies.certify import certify

    classifier = load_model(model)
    X, y = people(classifier, table, target)
    applicants = None if use is None else people(classifier, use, None)[0]
    chosen = configure(by_name(method), given)
    made = interruptible(
        lambda: certify(classifier, X, y, method=chosen, use=applicants, random_state=seed, **asked)
    )
    if out is not None:
        classifier.save(out)
    if certificate is not None:
        made.save(certificate)
    if as_json:
        if made.proposal is not None:
            say(proposed(made.proposal))
        print_json(made.to_dict())
    else:
        click.echo(str(made))
        for place in (out, certificate):
            if place is not None:
                say(f"Written to {place}.")


def people(
    classifier: "AbstractClassifier", table: str, target: str | None
) -> tuple[NativeFrame, "np.ndarray | None"]:
    """Rows of a table, all columns of it, and their labels where a label column is named."""
    import numpy as np

    from holdtrue.cli._training import labels_of
    from holdtrue.runs import DATASET, Source, dataset

    schema = classifier.schema_
    if table.startswith(DATASET):
        data = dataset(table)
        return data.X, None if target is None else np.asarray(data.y)
    frame = Source(table).whole(schema)
    labels = None if target is None else labels_of(frame, target)
    schema.check(frame, where="table")
    return frame if target is None else frame.drop(columns=target), labels
