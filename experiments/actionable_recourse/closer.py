"""What the paper has and the main run has not: ``python -m experiments.actionable_recourse.closer PART ...``.

``footnote``: the guarantee at 0.25 and 0.25 on Adult (footnote 6). ``bail``: the paper's file as published, with
its test cohort scaled by the training part and by itself. ``drift``: how far the cohorts of Bail's original
records are apart, and what weighting leaves of a certificate (docs/explanation/what-a-guarantee-says.md).
``states``: which of two states trainings of Compas end in, by where they begin. Each writes
``results/closer-PART.json``.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from experiments._report import write
from experiments._results import made_with
from experiments._task import Rows
from experiments.actionable_recourse._evaluate import best_f1, performance, recourse
from experiments.actionable_recourse._models import Kind, act, scores, searches, spread, train, train_all, weighted
from experiments.actionable_recourse._settings import Split, split
from holdtrue.classifier import RecourseClassifier
from holdtrue.datasets import load
from holdtrue.encoding import Encoder
from holdtrue.errors import DataError
from holdtrue.metrics import best_f1_threshold, drift_test, guaranteed_threshold
from holdtrue.models import AbstractModel, Linear
from holdtrue.schema import Schema
from holdtrue.studies.certify import certify
from holdtrue.training import RecourseTraining

RESULTS = Path(__file__).parent / "results"
FOLLOWED, HALVINGS = "FOLLOW", 20
"""The time for which a person was followed, which differs between the cohorts; random halvings of one of them."""
WEAK = 0.25
"""Of footnote 6: miscoverage and failure."""
PAPER, N_STARTS = 0.8, 1
BEGUN: dict[str, tuple[float, ...]] = {
    "fresh": (), "from 2": (2.0,), "from 2, longer": (2.0, PAPER, PAPER, PAPER),
}  # fmt: skip
"""Where trainings of Compas begin: lambda of those before, each as long."""


def footnote(n_splits: int) -> dict[str, Any]:
    """Adult with the guarantee at 0.25 and 0.25: the exact bound and the derived step, and both as published."""
    splits = [split("adult", seed) for seed in range(n_splits)]
    kinds = {"derived": Kind(0.8), "published": Kind(0.8, direction="code", paper_epoch=True)}
    models = train_all("adult", splits, kinds)

    def one(job: tuple[str, int]) -> dict[str, Any]:
        key, i = job
        own, model = splits[i], models[key][i]
        derived = key == "derived"
        action = searches(own)["linear" if derived else "code"]
        held, test = scores(model, own.calibrate.x), scores(model, own.test.x)
        lowered, after = (scores(model, act(action, model, part.x)) for part in (own.calibrate, own.test))
        critical = np.maximum(held, lowered) if derived else lowered
        bound = guaranteed_threshold(critical, WEAK, WEAK, bound="exact" if derived else "printed").threshold
        if derived:
            threshold, _ = best_f1_threshold(held, own.calibrate.y == 1, bound)
        else:
            tried = np.linspace(0, bound, 10)
            threshold = float(max(tried, key=lambda t: performance(own.calibrate.y, held, t)["f1"]))
        has = (test >= threshold) | (after >= threshold)
        return performance(own.test.y, test, threshold) | {"recourse_all": float(has.mean())}

    found = spread(one, [(key, i) for key in kinds for i in range(n_splits)])
    return {key: [found[key, i] for i in range(n_splits)] for key in kinds}


def bail(n_splits: int) -> dict[str, Any]:
    """The paper's Bail as published, with the test cohort scaled by the training part or by itself."""
    out: dict[str, Any] = {"by training": [], "by itself": []}
    for seed in range(n_splits):
        own = split("bail-paper", seed)
        model = train("bail-paper", own, Kind(0.8, direction="code", paper_epoch=True), seed=seed)
        numbers = [s.start for s in own.encoder.layout.numbers]
        x = own.test.x.copy()
        x[:, numbers] = (x[:, numbers] - x[:, numbers].mean(axis=0)) / (x[:, numbers].std(axis=0) + 1e-9)
        for name, part in (("by training", own.test), ("by itself", Rows(x, own.test.y))):
            there = replace(own, test=part)
            score = scores(model, part.x)
            threshold = best_f1(own.calibrate.y, scores(model, own.calibrate.x))
            actions = searches(there)
            after = {k: scores(model, act(actions[k], model, part.x)) for k in ("code", "linear", "best")}
            out[name].append(
                performance(part.y, score, threshold)
                | {key: recourse(score, values, threshold) for key, values in after.items()}
            )
        _keep("bail", out, n_splits)
    return out


def drift(n_splits: int) -> dict[str, Any]:
    """Releases of 1978 and of 1980 told apart; and a certificate of 1978 weighted for the people of 1980."""
    data = load("bail")
    features = data.schema
    assert features is not None
    assert data.groups is not None
    X: Any = data.X
    y, cohort = np.asarray(data.y), data.groups["cohort"].to_numpy()
    before, after = (np.flatnonzero((cohort == year) & ~X.duplicated().to_numpy()) for year in (1978, 1980))
    rng = np.random.default_rng(0)
    before = before[rng.permutation(len(before))]
    rest = [f.name for f in features if f.name != FOLLOWED]

    def told(names: list[str], a: np.ndarray, b: np.ndarray, seed: int = 0) -> dict[str, float]:
        encoder = Encoder.fit(Schema([features[n] for n in names]), X[names])
        found = drift_test(*(encoder.encode(X[names].iloc[rows]) for rows in (a, b)), random_state=seed)
        return {"auc": found.auc, "p_value": found.p_value, "n": [len(a), len(b)]}  # type: ignore[dict-item]

    names = [f.name for f in features]
    out: dict[str, Any] = {"all": told(names, before, after), "without": told(rest, before, after), "halves": []}
    for seed in range(HALVINGS):
        order = np.random.default_rng(seed).permutation(before)
        out["halves"].append(told(names, order[: len(order) // 2], order[len(order) // 2 :], seed)["p_value"])
    cut = len(before) * 3 // 4
    learned, calibrated = before[:cut], before[cut:]
    out["calibrated"] = len(calibrated)
    for key, some in (("all", names), ("without", rest)):
        schema = Schema([features[n] for n in some])
        clf = RecourseClassifier(
            schema=schema, model=Linear(), favourable=data.favourable, hold=None, random_state=0
        )
        clf.fit(X[some].iloc[learned], y[learned])
        try:
            made = certify(
                clf, X[some].iloc[calibrated], use=X[some].iloc[after], on_drift="weight", move_threshold=True
            )  # fmt: skip
            kept = {"threshold": made.threshold, "n": made.n, "accepted": made.measured["accepted"]}
            out[f"weighted, {key}"] = kept
        except DataError as error:
            out[f"weighted, {key}"] = {"refused": str(error)}
    return out


def states(n_splits: int) -> dict[str, Any]:
    """Compas at lambda 0.8 from fresh weights, and from those of trainings at another lambda or the same.

    Of each the two terms of the loss on the watched rows, and what the model gives there and on the test part.
    """
    out: dict[str, Any] = {key: [] for key in BEGUN}
    for number in range(n_splits):
        own = split("compas", number)
        regime = RecourseTraining(recourse_weight=PAPER, action="linear")
        step, plain = (regime.set_params(recourse_weight=w).step(own.told) for w in (PAPER, 0.0))
        watch = weighted(own.watch, own.learn.y)
        for key, before in BEGUN.items():
            found = []
            for seed in range(number, number + N_STARTS):
                model = None
                for stage, weight in enumerate((*before, PAPER)):
                    model = train("compas", own, Kind(weight), seed=seed + 1000 * stage, began=model)
                assert model is not None
                whole, supervised = (float(s.loss(model, watch, None, jnp.asarray(0))) for s in (step, plain))
                told = {"loss": whole, "supervised": supervised, "owed": (whole - supervised) / PAPER}
                found.append({"seed": seed} | told | _both(model, own))
            out[key].append(found)
            _keep("states", out, n_splits)
    return out


def _both(model: AbstractModel, own: Split) -> dict[str, Any]:
    """Accuracy and recourse on the watched rows and on the test part, each with its threshold of the best F1."""
    lattice = searches(own)["coarse"]
    out: dict[str, Any] = {}
    for name, rows, chosen_on in (("watch", own.watch, own.watch), ("test", own.test, own.calibrate)):
        threshold = best_f1(chosen_on.y, scores(model, chosen_on.x))
        score = scores(model, rows.x)
        after = np.maximum(score, scores(model, act(lattice, model, rows.x)))
        out[name] = performance(rows.y, score, threshold) | recourse(score, after, threshold)
    return out


PARTS = {"footnote": footnote, "bail": bail, "drift": drift, "states": states}


def _keep(part: str, found: dict[str, Any], n_splits: int, folder: Path = RESULTS) -> None:
    command = f"python -m experiments.actionable_recourse.closer {part} --splits {n_splits}"
    kept = {"command": command, "n_splits": n_splits, "found": found} | made_with({})
    write(folder / f"closer-{part}.json", kept)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="+", choices=list(PARTS))
    parser.add_argument("--splits", type=int, default=5)
    given = parser.parse_args()
    for name in given.parts:
        _keep(name, PARTS[name](given.splits), given.splits)
        print(name, "done", flush=True)
