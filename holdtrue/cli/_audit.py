"""`holdtrue audit`: does a model's recourse work, what does it cost, does it hold?"""

from typing import Any

import click

from holdtrue.cli._against_retrained import Job, held_options, retrain_again
from holdtrue.cli._console import say


@click.command("audit")
@click.option("--retrain", "n_models", type=click.IntRange(min=0), default=0, metavar="N",
              help="Train the model N times again and ask each about every recourse.")  # fmt: skip
@click.option("--prove", is_flag=True,
              help="Prove who has no recourse at all: trees, linear models, ReLU networks.")  # fmt: skip
@click.option("--group", metavar="COLUMN", help="With --prove: count by the values of this column, too.")
@click.option("--time-limit", type=click.FloatRange(min=0, min_open=True), default=10.0, show_default=True,
              metavar="SECONDS", help="With --prove: for one person.")  # fmt: skip
@held_options
def command(n_models: int, prove: bool, group: str | None, time_limit: float, **asked: Any) -> None:
    """Find recourse for the people in TABLE under MODEL and report on it.

    A model file holds no training rows. So to retrain, name the label column with --target: the model's
    architecture and regime are fitted again on TABLE, or on the rows of --train, and each retrained model is asked
    about every recourse. With --vary finetune the model itself goes on learning from resamples of those rows.

    \b
    holdtrue audit loans.holdtrue applicants.csv
    holdtrue audit loans.holdtrue loans.csv --retrain 100 --target approved --json
    holdtrue audit loans.holdtrue applicants.csv --prove --group sex
    """
    from holdtrue.reports import audit

    job = Job(**asked)
    job.check("--retrain" if n_models else None)
    if (job.train is not None or job.target is not None) and not n_models:
        say("note: --train and --target serve retraining; without --retrain N they are not used.")
    classifier, frame, plan = job.find()
    against = None
    if n_models:
        against = retrain_again(classifier, *job.rows_to_learn(classifier, frame), n_models, job.seed, **job.how)
    report = audit(plan, against, prove=prove, group=group, time_limit=time_limit)
    job.give(report, report.per_person, frame, plan)
