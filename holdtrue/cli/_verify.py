"""`holdtrue verify`: does a certificate hold, for this model, these rows and these people?"""

import click

from holdtrue._cache import use_cache
from holdtrue.cli._console import interruptible, print_json
from holdtrue.cli._options import json_option, seed_option
from holdtrue.errors import DataError


@click.command("verify")
@click.argument("model", metavar="MODEL")
@click.option("--certificate", metavar="FILE", help="The certificate; the one that MODEL carries by default.")
@click.option("--calibration", metavar="TABLE", help="The rows it was made from: everything is computed again.")
@click.option("--target", metavar="COLUMN", help="Their label column, where the threshold was chosen by F1.")
@click.option("--use", metavar="TABLE",
              help="People whom the model decides about: tested for drift, and for recourse.")  # fmt: skip
@seed_option
@json_option
@click.pass_context
def command(
    ctx: click.Context, model: str, certificate: str | None, calibration: str | None, target: str | None,
    use: str | None, seed: int, as_json: bool,
) -> None:  # fmt: skip
    """Check the certificate of MODEL again: its arithmetic, the model, the calibration rows, the people in use.

    Exit code 1 where something does not hold; drift between calibration and use is such a thing. A certificate or
    model file that was changed is refused with exit code 2.

    \b
    holdtrue verify certified.holdtrue --calibration calibration.csv
    holdtrue verify certified.holdtrue --calibration calibration.csv --use applicants.csv --json
    """
    use_cache()
    from holdtrue.classifier import Certificate
    from holdtrue.cli._certify import people
    from holdtrue.cli._model import load_model
    from holdtrue.studies.certify import verify

    read = None if certificate is None else Certificate.load(certificate)
    classifier = load_model(model)
    shown = classifier.certificate_ if read is None else read
    if shown is None:
        raise DataError(
            f"verify: the model file carries no certificate; got {model!r}. Give --certificate FILE, or make one "
            "with `holdtrue certify`."
        )
    X, y = (None, None) if calibration is None else people(classifier, calibration, target)
    applicants = None if use is None else people(classifier, use, None)[0]
    found = interruptible(lambda: verify(shown, classifier, X, y, use=applicants, random_state=seed))
    print_json(found.to_dict()) if as_json else click.echo(str(found))
    ctx.exit(0 if found.ok else 1)
