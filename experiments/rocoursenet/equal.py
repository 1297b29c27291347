"""Searches on the predictors of our own rows: ``python -m experiments.rocoursenet.equal DATASET [--seeds N]``.

Our rows of Table 2 have predictors of their own (hidden categories, decay, merged rare levels, averaged
weights), searches in that table face plain base models. Here every search is asked of the very predictors that
the generator of *RoCourseNet, guides* was trained with, at several settings each, so that cost can be matched.
`StableSearch` and `hold` are given predictors trained again in the same way, each on a resample of its subset's
rows: what somebody has who knows nothing of other years, schools or codings. Writes
``results/equal-DATASET.json``; on Loan of four years.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments._report import write
from experiments._results import made_with
from experiments._task import Rows
from experiments.rocoursenet._baselines import ask
from experiments.rocoursenet._data import Tasks, read_tasks
from experiments.rocoursenet._generators import Recipe, trained, written
from experiments.rocoursenet._judge import Answer, judge, performance, wishes
from experiments.rocoursenet._recipes import GUIDED, Sizes, counts, guided, headed, network
from experiments.rocoursenet._settings import SETTINGS
from experiments.rocoursenet._train import fit_all
from holdtrue.hold import Holding
from holdtrue.methods import RBR, ROAR, AbstractMethod, StableSearch, Wachter
from holdtrue.models import AbstractModel, stack
from holdtrue.retraining import Retrained
from holdtrue.schema import Table
from holdtrue.training import CounterNetTraining, RoCourseNet

RESULTS = Path(__file__).parent / "results"
ABOVE = (0.55, 0.6, 0.65, 0.7)
"""Probabilities that a search is to end at: these predictors are flat, and hardly anybody gets beyond."""


def searches() -> dict[str, AbstractMethod]:
    """Searches that need no further models."""
    out: dict[str, AbstractMethod] = {"Wachter": Wachter(random_state=0)}
    out |= {f"Wachter, to {p:g}": Wachter(target_probability=p, random_state=0) for p in ABOVE}
    out |= {f"ROAR, radius {r:g}": ROAR(radius=r, cost_weight=0.02, random_state=0) for r in (0.03, 0.1)}
    out |= {
        f"RBR, slack {s:g}, radii {r:g}": RBR(slack=s, refused_radius=r, accepted_radius=r, random_state=0)
        for s, r in ((0.2, 0.0), (3.0, 1.0))
    }
    return out


def again(tasks: Tasks, own: dict[str, Any], n: int, seed: int) -> list[list[AbstractModel]]:
    """Predictors of every subset trained again, `n` each on resamples; their generators go unused."""
    rng, drawn = np.random.default_rng(seed), []
    for task in tasks:
        x, y = task.learned
        places = [rng.choice(len(y), len(y)) for _ in range(n)]
        drawn += [replace(task, learned=Rows(x[rows], y[rows])) for rows in places]
    models = fit_all(tuple(drawn), network(tasks[0].setting), headed(CounterNetTraining, own), [1000 + seed])[0]
    return [models[i : i + n] for i in range(0, len(models), n)]


def held(
    tasks: Tasks, models: Sequence[AbstractModel], others: list[list[AbstractModel]], wanted: list[np.ndarray]
) -> Iterator[tuple[str, list[Answer]]]:
    """`StableSearch` and `hold` at two levels, with half of the further predictors as guides."""
    answers: dict[str, list[Answer]] = {}
    for task, model, more, wish in zip(tasks, models, others, wanted, strict=True):
        predictor, half = task.predictor(model), len(more) // 2
        guides, judges = (Retrained(predictor, stack(part), "anew") for part in (more[:half], more[half:]))
        learned = Table(task.encoder.decode(task.learned.x), len(task.learned.y))
        stable = StableSearch(random_state=0).fit(predictor, learned, guides=guides)
        fitted: dict[str, AbstractMethod] = {"StableSearch": stable}
        for level in (0.95, 0.99):
            method = Holding(base="wachter", hold=level, random_state=0)
            fitted[f"hold {level:g}"] = method.fit(predictor, learned, guides=guides, judges=judges)
        for name, method in fitted.items():
            plan = method.recourse(task.X, target=wish)
            x = task.encoder.encode(plan.recourse).astype(np.float32)
            answers.setdefault(name, []).append(Answer(x, np.asarray(plan.found), wish))
    yield from answers.items()


def run(name: str, seeds: list[int], n_people: int, n_updates: int | None, n_again: int, place: Path) -> None:
    """One dataset: the generator and every search, on one predictor a subset and seed."""
    setting = SETTINGS[name]
    tasks = read_tasks(name, n_people=n_people, subsets=setting.some)
    rows: dict[str, list[dict[str, Any]]] = {}
    predicted: list[dict[str, Any]] = []
    for seed in seeds:
        sizes = Sizes(n_updates or setting.n_updates, setting.batch_size, [seed], n_people)
        own: dict[str, Any] = {**setting.ours, **counts(sizes)}
        recipe = Recipe(network(setting), headed(RoCourseNet, {**own, **guided(setting)}))
        models = trained(tasks, {GUIDED: recipe}, [seed])[0][GUIDED][0]
        predicted.append(performance(tasks, models))
        rows.setdefault("generator", []).append(judge(tasks, models, written(tasks, models)))
        _keep(tasks, seeds, rows, predicted, sizes, n_again, place)
        wanted = wishes(tasks, models)
        if n_again:
            for label, answers in held(tasks, models, again(tasks, own, n_again, seed), wanted):
                rows.setdefault(label, []).append(judge(tasks, models, answers))
                _keep(tasks, seeds, rows, predicted, sizes, n_again, place)
        for label, method in searches().items():
            answers = [ask(t, m, method, w) for t, m, w in zip(tasks, models, wanted, strict=True)]
            rows.setdefault(label, []).append(judge(tasks, models, answers))
            _keep(tasks, seeds, rows, predicted, sizes, n_again, place)


def _keep(
    tasks: Tasks,
    seeds: list[int],
    rows: dict[str, Any],
    predicted: list[Any],
    sizes: Sizes,
    n_again: int,
    at: Path,
) -> None:
    name = at.stem.removeprefix("equal-")
    command = (
        f"python -m experiments.rocoursenet.equal {name} --seeds {len(seeds)} --people {len(tasks[0].asked.y)} "
        f"--again {n_again} --updates {sizes.n_updates}"
    )
    kept = {
        "dataset": name, "title": SETTINGS[name].title, "subsets": [t.name for t in tasks], "seeds": seeds,
        "n_people": [len(t.asked.y) for t in tasks], "methods": rows, "performance": predicted,
    }  # fmt: skip
    write(at, kept | {"command": command} | made_with({}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("dataset", choices=("german", "student", "loan"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--updates", type=int)
    parser.add_argument(
        "--again", type=int, default=20, help="predictors trained again, of every subset; 0 for none"
    )
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    place = given.out / f"equal-{given.dataset}.json"
    run(given.dataset, list(range(given.seeds)), given.people, given.updates, given.again, place)
