"""Judges outside the guides' recipe: ``python -m experiments.consistent_counterfactuals.outside DATASET [SPLIT]``.

Guides and judges of the page's tables are new seeds. Here recourse within the schema, by a plain search, SNS,
`StableSearch` and `hold`, is asked of models that differ otherwise: trained on resamples, fine-tuned on them, with
other layers, and on other rows of the same data; ``loan`` has three later years in the place of these. Both guided
methods are given new seeds (as on the page), and resamples with new seeds (what `hold` draws by itself). Writes
``results/outside-DATASET-SPLIT.json``, each as soon as it is there.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments._report import write
from experiments._results import AbstractResult
from experiments.consistent_counterfactuals._settings import SETTINGS, RetrainedDataset
from experiments.hold.sba import years
from holdtrue.batch import distances
from holdtrue.classifier import RecourseClassifier
from holdtrue.datasets import load
from holdtrue.hold import Holding
from holdtrue.methods import SNS, AbstractMethod, ElasticNet, StableSearch
from holdtrue.models import MLP, AbstractArchitecture, Linear
from holdtrue.retraining import Retrained
from holdtrue.schema import LAST
from holdtrue.training import StandardTraining

RESULTS = Path(__file__).parent / "results"
LOAN, LATER = 2004, (2005, 2006, 2007)
LOANS = RetrainedDataset("Loan, 2004", "sba_loans", "minmax", (100, 32), 4000, 1000, 128, 0.5, n_epochs=30)
NAMES = {**SETTINGS, "loan": LOANS}
SPLITS = (0, 1, 2)
N_GUIDES, N_MODELS, N_PEOPLE = 20, 20, 60
MOST_EPOCHS, MOST_ROWS = 50, 4000
"""Less than the paper has, on its larger tables: some 250 models are trained for a split."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One method: share of people with recourse, its mean l2 cost, and by kind of judge the share that accept."""

    found: float
    l2: float | None
    accepted: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Outside(AbstractResult):
    """One split of a dataset: every method under every kind of judge."""

    split: int
    accuracy: float
    n_train: int
    n_people: int
    n_models: int
    methods: dict[str, Asked]


@dataclass(frozen=True)
class Split:
    """Rows that a model learns from, who is asked about, and tables that come later or lie beside."""

    X: Any
    y: np.ndarray
    people: Any
    labels: np.ndarray
    tables: list[tuple[Any, np.ndarray]]
    schema: Any
    favourable: Any


def split_of(name: str, setting: RetrainedDataset, split: int) -> Split:
    """A split, as the experiment makes it; tables of other rows where there are enough of them."""
    rng = np.random.default_rng(split)
    if name == "loan":
        periods, schema = years(LOAN)
        by = {label: (X, y) for label, X, y in periods}
        X, y = by[str(LOAN)]
        order = rng.permutation(len(y))
        later = [_drawn(*by[str(year)], setting.n_train, rng) for year in LATER]
        favourable = load(setting.dataset).favourable
    else:
        data = load(setting.dataset, **setting.options)
        X, y, schema = data.X, np.asarray(data.y), data.schema
        favourable = LAST if data.favourable is None else data.favourable
        order = rng.permutation(len(y))
        rest = order[setting.n_train + setting.n_test :]
        enough = len(rest) >= setting.n_train // 2
        later = [_drawn(X.iloc[rest], y[rest], setting.n_train, rng) for _ in range(3)] if enough else []
    train, test = order[: setting.n_train], order[setting.n_train : setting.n_train + setting.n_test]
    return Split(X.iloc[train], y[train], X.iloc[test], y[test], later, schema, favourable)


def _drawn(X: Any, y: np.ndarray, n: int, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    rows = rng.choice(len(y), n, replace=len(y) < n)
    return X.iloc[rows], y[rows]


def network(setting: RetrainedDataset, of: Split, seed: int, model: AbstractArchitecture) -> RecourseClassifier:
    """A model of the experiment, or of other layers, fitted."""
    regime = StandardTraining(n_epochs=setting.n_epochs, batch_size=setting.batch_size)
    made = RecourseClassifier(
        schema=of.schema, model=model, regime=regime, scaling=setting.scaling, favourable=of.favourable,
        hold=None, random_state=seed,
    )  # fmt: skip
    return made.fit(of.X, of.y)


def layers(setting: RetrainedDataset) -> list[AbstractArchitecture]:
    """Other architectures that a bank may take next."""
    half, twice = tuple(max(2, w // 2) for w in setting.widths), tuple(2 * w for w in setting.widths)
    return [MLP(widths=half), MLP(widths=twice), MLP(widths=setting.widths, activation="tanh"), Linear()]


def judges(clf: RecourseClassifier, setting: RetrainedDataset, of: Split, n: int) -> dict[str, list[Retrained]]:
    """Models that no search has seen, by what is otherwise in them."""
    again = lambda **how: clf.retrain(n, **how)  # noqa: E731
    out = {
        "new seeds": [again(random_state=1)],
        "resamples": [again(vary="bootstrap", random_state=2)],
        "resamples, new seeds": [again(vary="anew", random_state=3)],
        "fine-tuned, top layer": [again(vary="finetune", layers="top", random_state=4)],
        "fine-tuned, all layers": [again(vary="finetune", layers="all", random_state=5)],
        "other layers": [
            network(setting, of, 100 + i, model).retrain(max(1, n // 4), vary="anew", random_state=6)
            for i, model in enumerate(layers(setting))
        ],
    }
    if of.tables:
        beside = "later years" if setting.dataset == LOANS.dataset else "other rows"
        out[beside] = [clf.retrain(len(of.tables), vary="shift", tables=of.tables)]
        tuned = clf.retrain(len(of.tables), vary="finetune", layers="all", tables=of.tables, random_state=7)
        out[f"fine-tuned on {beside}"] = [tuned]
    return out


def methods(
    clf: RecourseClassifier, setting: RetrainedDataset, of: Split, n: int
) -> Iterator[tuple[str, AbstractMethod]]:
    """Searches by name, fitted; all start from the cheapest l2 point."""
    base = ElasticNet(norm="l2")
    yield "Min l2", base.fit(clf, of.X)
    yield "Min l2 + SNS", SNS(base=base, radius=setting.sns_radius, random_state=0).fit(clf, of.X)
    for kind, how in (("seeds", "seed"), ("resamples", "anew")):
        guides, held = (clf.retrain(n, vary=how, random_state=seed) for seed in (11, 12))
        yield f"Stable, {kind}", StableSearch(base=base, random_state=0).fit(clf, of.X, guides=guides)
        method = Holding(base=base, hold=0.95, random_state=0)
        yield f"hold, {kind}", method.fit(clf, of.X, of.y, guides=guides, judges=held)


def run(name: str, split: int, n_people: int, n_models: int, place: Path, command: str) -> Outside:
    """One split of a dataset; the file has what is there after every method."""
    began, setting = time.process_time(), NAMES[name]
    setting = replace(
        setting, n_epochs=min(setting.n_epochs, MOST_EPOCHS), n_train=min(setting.n_train, MOST_ROWS)
    )
    of = split_of(name, setting, split)
    clf = network(setting, of, split, MLP(widths=setting.widths))
    predictor = clf.predictor_
    decided = predictor.classes[predictor.decide(predictor.encoder.schema.check(of.people))]
    people = of.people[decided != predictor.favourable].iloc[:n_people]
    asked = judges(clf, setting, of, n_models)
    found: dict[str, Asked] = {}
    out = Outside(
        dataset=name, title=setting.title, split=split, accuracy=float((decided == of.labels).mean()),
        n_train=len(of.y), n_people=len(people), n_models=n_models, methods=found, seconds={}, command=command,
    ).made_with({"n_epochs": setting.n_epochs})  # fmt: skip
    for label, method in methods(clf, setting, of, N_GUIDES):
        plan = method.recourse(people)
        ok, encoder = plan.found, plan.predictor.encoder
        cost = distances(encoder, encoder.encode(plan.factual), encoder.encode(plan.recourse), "l2")
        accepted = {
            kind: float(np.concatenate([m.accepts(plan.recourse, plan.target)[:, ok] for m in models]).mean())
            for kind, models in asked.items()
            if ok.any()
        }
        found[label] = Asked(
            found=float(ok.mean()), l2=float(cost[ok].mean()) if ok.any() else None, accepted=accepted
        )
        out = replace(out, seconds={"processor": round(time.process_time() - began, 1)})
        write(place, out.to_dict())
    return out


def main() -> None:
    """Run the splits that are not there yet."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("dataset", choices=list(NAMES))
    parser.add_argument("split", nargs="?", type=int, choices=SPLITS)
    parser.add_argument("--people", type=int, default=N_PEOPLE)
    parser.add_argument("--models", type=int, default=N_MODELS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for split in SPLITS if given.split is None else [given.split]:
        name = f"outside-{given.dataset}-{split}"
        if (given.out / f"{name}.json").exists():
            continue
        command = (
            f"python -m experiments.consistent_counterfactuals.outside {given.dataset} {split} "
            f"--people {given.people} --models {given.models}"
        )
        part = given.out / f"{name}.part"
        run(given.dataset, split, given.people, given.models, part, command)
        part.rename(given.out / f"{name}.json")
        print(name, flush=True)


if __name__ == "__main__":
    main()
