"""What `holdtrue tune` chooses for our setting of counterfactual training, on the experiment's own rows.

    python -m experiments.counterfactual_training.tune DATASET [TRIALS [SECONDS]]

`holdtrue.tune`, which the command runs, is given the rows that the experiment learns from; its test rows are not
looked at, and a quarter of the others is held out for validation. The weights of the adversarial loss and of the
pull, the pull itself and the maturity of a search are tried; everything else is as in the experiment. Needs the
dataset's file.
"""

import sys

from benchmarks._common import record
from experiments import experiment
from experiments.counterfactual_training._settings import OURS, SETTINGS, architecture, regimes
from experiments.counterfactual_training._task import training_table
from holdtrue.studies.tune import tune
from holdtrue.training import OneOf, Range

TRIED: dict[str, Range | OneOf] = {
    "adversarial_weight": Range(0.1, 2.0, log=True),
    "pull_weight": Range(3.0, 30.0, log=True),
    "pull": Range(2.0, 20.0, log=True),
    "maturity": Range(0.5, 0.9),
}


def main(name: str, n_trials: str = "10", seconds: str | None = None) -> None:
    """Study one dataset; the first trial has the setting that the experiment uses."""
    chosen = regimes(SETTINGS[name])[OURS]
    X, y, schema = training_table(name)
    found = tune(
        X,
        y,
        regime=chosen,
        space=TRIED,
        schema=schema,
        model=architecture(),
        favourable=1,
        scaling="standard",
        n_trials=int(n_trials),
        seconds=None if seconds is None else float(seconds),
        people=100,
        prune=False,
    )
    print(found, flush=True)
    told = found.to_dict()
    told["setup"].pop("schema", None)
    used = {key: chosen.get_params()[key] for key in TRIED}
    command = f"python -m experiments.counterfactual_training.tune {' '.join(sys.argv[1:])}"
    record(
        f"tune-{name}",
        command,
        {"used": used} | told,
        folder=experiment("counterfactual-training").results,
        shown=False,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
