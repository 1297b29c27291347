"""Theorem 2 of *Consistent counterfactuals* on German Credit: does it hold for fine-tunings, and how tightly?

    python -m experiments.consistent_counterfactuals.influence [--models 100] [--people 100] [--epochs 5]

An MLP 128-64-16 is fine-tuned in its top layer on resampled rows. For every fine-tuning and every person, and
again at the person's recourse, the change of the distributional influence is set beside four right sides; see
`holdtrue.metrics.influence_bound` for what they are. Then, what of all this goes with survival: rank correlations
over people, with the share of fine-tunings and of new seeds that accept their recourse.
"""

import argparse
from typing import Any

import numpy as np
from scipy.stats import spearmanr

import holdtrue as ht
from benchmarks._common import german_job, record
from experiments import experiment
from holdtrue.metrics import influence_bound

FORMS = ("corrected", "triangle", "printed", "along")


def main() -> None:
    """Set both sides beside one another for people and for their recourse."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    clf, refused, data = german_job()
    tuned = clf.retrain(options.models, vary="finetune", layers="top", n_epochs=options.epochs)
    plan = clf.recourse(refused.iloc[: options.people], method=ht.Wachter())
    groups = {"people": refused.iloc[: options.people], "recourse": plan.recourse.take(plan.found)}
    values: dict[str, object] = {"data": data, "models": len(tuned), "epochs": options.epochs}
    bounds = {
        name: influence_bound(clf.predictor_.decision.model, tuned.ensemble, clf.predictor_.encoder.encode(table))
        for name, table in groups.items()
    }
    for name, sides in bounds.items():
        values[f"{name}"] = len(groups[name])
        if name == "people":
            values["top layer moved, of its norm (median)"] = float(np.median(sides.radius / sides.weight_norm))
        values[f"{name}: K over K along the path (median)"] = float(
            np.median(sides.lipschitz / sides.lipschitz_along)
        )
        for form in FORMS:
            filled = sides.tightness(form)
            values[f"{name}: {form}, share held"] = float(sides.held(form).mean())
            values[f"{name}: {form}, change over bound (median)"] = float(np.nanmedian(filled))
            values[f"{name}: {form}, change over bound (largest)"] = float(np.nanmax(filled))
    signs = {
        "corrected bound": bounds["recourse"].corrected.mean(axis=0),
        "K": bounds["recourse"].lipschitz,
        "probability": plan.after[plan.found],
    }
    labels = np.full(len(groups["recourse"]), clf.predictor_.favourable)
    for models in (tuned, clf.retrain(options.models)):
        survival = models.accepts(groups["recourse"], labels).mean(axis=0)
        values[f"{models.vary}: survival (mean)"] = float(survival.mean())
        for sign, of in signs.items():
            correlation: Any = spearmanr(survival, of)
            values[f"{models.vary}: survival and {sign}"] = float(correlation.statistic)
    command = "python -m experiments.consistent_counterfactuals.influence"
    command += f" --models {options.models} --people {options.people} --epochs {options.epochs}"
    folder = experiment("consistent-counterfactuals").results
    record("influence", command, values, folder=folder)


if __name__ == "__main__":
    main()
