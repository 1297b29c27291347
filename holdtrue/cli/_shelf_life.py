"""`holdtrue shelf-life`: how likely is each recourse to hold after a retraining?"""

from typing import Any

import click

from holdtrue.cli._against_retrained import Job, held_options, with_rows
from holdtrue.cli._console import say

SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command("shelf-life")
@click.option("--models", "n_models", type=click.IntRange(min=1), default=100, show_default=True, metavar="N",
              help="Retrained models that every recourse is asked of.")  # fmt: skip
@click.option("--confidence", type=SHARE, default=0.95, show_default=True, help="Of each recourse's interval.")
@click.option("--fragile", type=SHARE, default=0.9, show_default=True,
              help="A recourse is fragile unless its lower bound reaches this.")  # fmt: skip
@click.option("--plot", metavar="FILE", help="Draw every recourse's interval (PNG, SVG or PDF); needs matplotlib.")
@held_options
def command(n_models: int, confidence: float, fragile: float, plot: str | None, **asked: Any) -> None:
    """Find recourse for the people in TABLE under MODEL, and state how likely each is to hold after a retraining.

    A model file holds no training rows, so name the label column with --target: the model's architecture and
    regime are fitted again on TABLE, or on the rows of --train. --people writes each person's chance, its interval
    and whether it is fragile. Models that guided the search are not asked.

    \b
    holdtrue shelf-life loans.holdtrue loans.csv --target approved
    holdtrue shelf-life loans.holdtrue applicants.csv --train loans.csv --target approved --people life.csv
    """
    from holdtrue.reports import shelf_life

    job = Job(**asked)
    job.check("shelf-life", plot)
    classifier, frame, plan = job.find()

    def ask(again: Any, **how: Any) -> Any:
        return shelf_life(
            plan, again, n_models, random_state=job.seed, confidence=confidence, fragile=fragile, **how
        )

    life = with_rows(classifier, *job.rows_to_learn(classifier, frame), n_models, ask, **job.how)
    if plot is not None:
        life.plot(plot)
        say(f"Written to {plot}.")
    job.give(life, life.to_frame, frame, plan)
