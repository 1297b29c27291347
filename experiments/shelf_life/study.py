"""Six ways to train a model, held against one another: ``python -m experiments.shelf_life.study [DATASET]``.

A cell is a table, a split and a training. In each, the model is trained; people are offered recourse by a plain
search and by `hold` at 95%, and by the generator where the training makes one; all of it is asked of 20 models
trained again that no search has seen. A certificate (PARE) is made before these retrainings and counted after each
of them. What is in ``results/`` is not run again; ``--processes 16`` runs cells side by side, a core each.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

import holdtrue as ht
from experiments._report import write
from experiments.shelf_life._result import Cell, Certified, Offers

DATASETS = ("german_credit", "loanapp", "heloc", "adult")
TRAININGS = ("plain", "early", "adversarial", "recourse", "counterfactual", "rocoursenet")
SPLITS = (0, 1, 2)
RESULTS = Path(__file__).parent / "results"
TRAIN, TEST = 2_000, 800  # rows, at most
PEOPLE = 40
UPDATES, BATCH = 1_000, 64
GUIDES, JUDGES, UNSEEN = 20, 20, 20
MISCOVERAGE = FAILURE = 0.05


class Sizes(dict[str, int]):
    """How much of everything, where it is not the usual: ``updates``, ``people``, ``models``."""

    def of(self, name: str, usual: int) -> int:
        """A size, or the usual one."""
        return self.get(name, usual)


def regime(training: str, n_rows: int, sizes: Sizes) -> ht.training.AbstractRegime:
    """A training with the library's settings; as many minibatches for all that do not stop by themselves."""
    updates = sizes.of("updates", UPDATES)
    length: dict[str, Any] = {
        "n_epochs": max(1, round(updates * BATCH / n_rows)), "batch_size": BATCH, "weight_decay": 0.1
    }  # fmt: skip
    made: dict[str, Callable[[], ht.training.AbstractRegime]] = {
        "plain": lambda: ht.StandardTraining(**length),
        "early": ht.EarlyStopping,
        "adversarial": lambda: ht.AdversarialTraining(**length),
        "recourse": lambda: ht.RecourseTraining(**length),
        "counterfactual": lambda: ht.CounterfactualTraining(n_recourses=250, **length),
        "rocoursenet": lambda: ht.RoCourseNet(attacker="guides", min_updates=updates, **length),
    }
    return made[training]()


def again(clf: ht.RecourseClassifier, training: str, X: Any, y: np.ndarray, sizes: Sizes) -> ht.RecourseClassifier:
    """What is trained again in a classifier's place.

    RoCourseNet's generator has no say in what its predictor learns, and takes nearly all of its time: a network of
    the predictor's layers is trained again, on the labels alone as the predictor is.
    """
    if training != "rocoursenet":
        return clf
    net, own = ht.CounterNet(), clf.regime_
    assert isinstance(own, ht.RoCourseNet)
    twin = ht.StandardTraining(
        n_epochs=own.n_epochs, batch_size=own.batch_size, step_size=own.step_size, weight_decay=own.weight_decay
    )  # fmt: skip
    network = ht.MLP(widths=(*net.encoder, *net.predictor), activation="leaky_relu", dropout=net.dropout)
    return _classifier(clf.schema, network, twin, clf.random_state).fit(X, y)


def _classifier(schema: Any, model: Any, regime: Any, seed: Any) -> ht.RecourseClassifier:
    return ht.RecourseClassifier(schema=schema, model=model, regime=regime, hold=None, random_state=seed)


def methods(
    clf: ht.RecourseClassifier, training: str, X: Any, y: np.ndarray, guides: Any, judges: Any
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Searches by name, as something that returns them fitted."""
    yield "plain", lambda: ht.Wachter(random_state=0).fit(clf, X, y)
    held = ht.Holding(base="wachter", hold=0.95, random_state=0)
    yield "held", lambda: held.fit(clf, X, y, guides=guides, judges=judges)
    if training == "rocoursenet":
        yield "generated", lambda: ht.Generated().fit(clf, X, y)


def run(dataset: str, split: int, training: str, sizes: Sizes) -> Cell:
    """One cell."""
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import train_test_split

    began, seconds = time.process_time(), {}

    def clock(what: str) -> None:
        seconds[what] = round(time.process_time() - began - sum(seconds.values()), 1)

    data = ht.datasets.load(dataset)
    X, y = data.X, np.asarray(data.y)
    train, test = train_test_split(np.arange(len(X)), test_size=0.3, random_state=split, stratify=y)
    train, test = train[:TRAIN], test[:TEST]
    calibration, use = test[: len(test) // 2], test[len(test) // 2 :]
    learned, labels = X.iloc[train], y[train]
    network = None if training == "rocoursenet" else ht.MLP()
    clf = _classifier(data.schema, network, regime(training, len(train), sizes), split).fit(learned, labels)
    clock("training")
    n = sizes.of("models", UNSEEN)
    source = again(clf, training, learned, labels, sizes)
    models = ht.retrain(source, n=3 * n, vary="anew", random_state=1000 + split)
    guides, judges, unseen = (models.take(np.arange(i * n, (i + 1) * n)) for i in range(3))
    clock("training again")
    predictor = clf.predictor_
    favourable = predictor.favourable
    score = clf.predict_proba(X.iloc[use])[:, predictor.decision.favourable]
    yes = clf.predict(X.iloc[use]) == favourable
    plainly = _classifier(data.schema, ht.MLP(), regime("plain", len(train), sizes), split).fit(learned, labels)
    # Whom the plainly trained model refuses too comes first, so that trainings have people in common.
    order = np.argsort(plainly.predict(X.iloc[use]) == favourable, kind="stable")
    others = unseen.decide(predictor.encoder.schema.check(X.iloc[use]))
    places = order[~yes[order]][: sizes.of("people", PEOPLE)]
    offers = {}
    for name, fitted in methods(clf, training, learned, labels, guides, judges):
        offers[name] = offered(fitted(), X.iloc[use[places]], unseen)
        clock(f"{name} recourse")
    certified = promised(clf, X.iloc[calibration], X.iloc[use], unseen)
    clock("certificate")
    return Cell(
        dataset=dataset, title=training, split=split, n_train=len(train), n_test=len(use), n_models=n,
        accuracy=float((yes == (y[use] == favourable)).mean()),
        auc=float(roc_auc_score(y[use] == favourable, score)), accepted=float(yes.mean()),
        accuracy_again=float((predictor.classes[others] == y[use]).mean()),
        moved=float((others != predictor.decide(predictor.encoder.schema.check(X.iloc[use]))).mean()),
        people=[int(row) for row in use[places]], offers=offers, certified=certified, seconds=seconds,
        command=f"python -m experiments.shelf_life.study {dataset} {split} {training}"
        + "".join(f" --{name} {value}" for name, value in sizes.items()),
    ).made_with(dict(sizes))  # fmt: skip


def offered(method: Any, people: Any, unseen: Any) -> Offers:
    """Recourse of everybody by one search: cost in ranges of the columns, and what unseen models say of it."""
    plan = method.recourse(people)
    encoder, found = plan.predictor.encoder, plan.found
    cost = ht.metrics.costs(encoder, encoder.encode(plan.factual), encoder.encode(plan.recourse))["l1"]
    yes = unseen.accepts(plan.recourse, plan.target)
    return Offers(
        found=[int(f) for f in found],
        cost=_short(np.where(found, cost, np.nan)),
        survival=_short(np.where(found, yes.mean(axis=0), np.nan)),
        stated=None if plan.held is None else _short(plan.held.survival),
        by_model=_short(yes[:, found].mean(axis=1)) if found.any() else [],
    )


def promised(clf: ht.RecourseClassifier, X: Any, use: Any, unseen: Any) -> Certified:
    """The highest threshold at which recourse can be promised, and who lacks it there and at the present one."""
    try:
        made = ht.certify(clf, X, move_threshold=True, apply=False, miscoverage=MISCOVERAGE, failure=FAILURE)
    except ht.errors.DataError as error:
        return Certified(refused=str(error).split(";")[0])
    at = [made.highest, *([clf.threshold] if clf.threshold <= made.highest else [])]
    before = ht.HighestScore().fit(clf).critical(use)
    after = [ht.HighestScore().fit(unseen.member(i)).critical(use) for i in range(len(unseen))]
    return Certified(
        thresholds=[float(t) for t in at], n=made.n, n_use=len(before),
        before=[int((before < t).sum()) for t in at],
        after=[[int((critical < t).sum()) for critical in after] for t in at],
    )  # fmt: skip


def _short(values: np.ndarray) -> list[float | None]:
    return [None if v != v else round(float(v), 4) for v in values]


def _place(folder: Path, dataset: str, split: int, training: str) -> Path:
    return folder / f"{dataset}-{split}-{training}.json"


def _write(which: tuple[str, int, str], folder: Path, sizes: Sizes, number: int | None = None) -> str:
    if number is not None and hasattr(os, "sched_setaffinity"):  # a core each, whatever jax makes of their number
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[number % len(cores)]})
    write(_place(folder, *which), run(*which, sizes).to_dict())
    return " ".join(str(part) for part in which)


def main() -> None:
    """Run what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", nargs="?", choices=DATASETS)
    parser.add_argument("split", nargs="?", type=int, choices=SPLITS)
    parser.add_argument("training", nargs="?", choices=TRAININGS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--updates", type=int, help="minibatches that every model learns from")
    parser.add_argument("--people", type=int, help="asked about in a cell, at most")
    parser.add_argument("--models", type=int, help="guides, judges and unseen models, so many of each")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    names = ("updates", "people", "models")
    sizes = Sizes({name: value for name in names if (value := getattr(given, name)) is not None})
    cells = [
        (dataset, split, training)
        for split in (SPLITS if given.split is None else [given.split])
        for dataset in ([given.dataset] if given.dataset else DATASETS)
        for training in reversed([given.training] if given.training else TRAININGS)  # the longest first
        if not _place(given.out, dataset, split, training).exists()
    ]
    if given.processes == 1:
        for which in cells:
            print(_write(which, given.out, sizes), flush=True)
        return
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(given.processes, context, max_tasks_per_child=1) as pool:
        jobs = [pool.submit(_write, which, given.out, sizes, i) for i, which in enumerate(cells)]
        for done in as_completed(jobs):
            error = done.exception()
            print(f"failed: {error!r}" if error else done.result(), flush=True)


if __name__ == "__main__":
    main()
