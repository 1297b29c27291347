"""Recourse training and its guarantee on Adult: seconds to train, compilation included, and seconds to certify.

    python -m experiments.actionable_recourse.speed

A network of two layers of 100 learns 26,048 rows with the best permitted action in the loss (weight 0.8, 15 epochs
of batches of 15, as in *Learning models for actionable recourse*); 6,000 further rows are certified twice, and the
second call is timed. Needs the file of Adult.
"""

import time

import numpy as np

import holdtrue as ht
from benchmarks._common import record
from experiments import experiment

N_TRAIN, N_CALIBRATE = 26_048, 6_000


def main() -> None:
    """Train and certify once, and time both."""
    data = ht.datasets.load("adult")
    order = np.random.default_rng(0).permutation(len(data.X))
    train, calibrate = order[:N_TRAIN], order[N_TRAIN : N_TRAIN + N_CALIBRATE]
    regime = ht.RecourseTraining(recourse_weight=0.8, n_epochs=15, batch_size=15)
    clf = ht.RecourseClassifier(
        schema=data.schema,
        model=ht.MLP(widths=(100, 100)),
        regime=regime,
        favourable=data.favourable,
        random_state=0,
    )
    began = time.perf_counter()
    clf.fit(data.X.iloc[train], np.asarray(data.y)[train])
    trained = time.perf_counter() - began
    seconds, thresholds = [], []
    for _ in range(2):
        began = time.perf_counter()
        thresholds.append(ht.certify(clf, data.X.iloc[calibrate], move_threshold=True).threshold)
        seconds.append(time.perf_counter() - began)
    values = {
        "training rows": N_TRAIN,
        "seconds to train, with compilation": trained,
        "calibration rows": N_CALIBRATE,
        "seconds to certify, first call": seconds[0],
        "seconds to certify": seconds[1],
        "certified threshold": float(thresholds[-1]),
    }
    folder = experiment("actionable-recourse").results
    record("speed", "python -m experiments.actionable_recourse.speed", values, folder=folder)


if __name__ == "__main__":
    main()
