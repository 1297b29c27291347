"""Searches on the predictors of our own rows: ``python -m experiments.rocoursenet.equal DATASET [--seeds N]``.

Our rows of Table 2 have predictors of their own (hidden categories, decay, merged rare levels, averaged weights),
searches in that table face plain base models. Here every search is asked of the very predictors that the generator
of *RoCourseNet, guides* was trained with, at several settings each, so that cost can be matched. Writes
``results/equal-DATASET.json``; on Loan of four of the years.
"""

import argparse
from pathlib import Path
from typing import Any

from experiments._report import write
from experiments._results import made_with
from experiments.rocoursenet._baselines import ask
from experiments.rocoursenet._data import Tasks, read_tasks
from experiments.rocoursenet._generators import Recipe, trained, written
from experiments.rocoursenet._judge import judge, performance, wishes
from experiments.rocoursenet._recipes import GUIDED, Sizes, counts, guided, headed, network
from experiments.rocoursenet._settings import SETTINGS
from holdtrue.methods import RBR, ROAR, AbstractMethod, Wachter
from holdtrue.training import RoCourseNet

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


def run(name: str, seeds: list[int], n_people: int, n_updates: int | None) -> None:
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
        _keep(name, tasks, seeds, rows, predicted)
        wanted = wishes(tasks, models)
        for label, method in searches().items():
            answers = [ask(t, m, method, w) for t, m, w in zip(tasks, models, wanted, strict=True)]
            rows.setdefault(label, []).append(judge(tasks, models, answers))
            _keep(name, tasks, seeds, rows, predicted)


def _keep(name: str, tasks: Tasks, seeds: list[int], rows: dict[str, Any], predicted: list[Any]) -> None:
    command = (
        f"python -m experiments.rocoursenet.equal {name} --seeds {len(seeds)} --people {len(tasks[0].asked.y)}"
    )
    kept = {
        "dataset": name, "title": SETTINGS[name].title, "subsets": [t.name for t in tasks], "seeds": seeds,
        "n_people": [len(t.asked.y) for t in tasks], "methods": rows, "performance": predicted,
    }  # fmt: skip
    write(RESULTS / f"equal-{name}.json", kept | {"command": command} | made_with({}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("dataset", choices=("german", "student", "loan"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--updates", type=int)
    given = parser.parse_args()
    run(given.dataset, list(range(given.seeds)), given.people, given.updates)
