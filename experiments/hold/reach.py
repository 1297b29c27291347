"""What more boxes bring: who is found under a panel of trees, who is proved out of reach, and what recourse costs.

    python -m experiments.hold.reach heloc forest 0

The people and guides are those of the grid's cell. Of everybody whom the model alone can be brought to accept, the
search is asked for what the panel accepts, at several slacks and numbers of guides spared, with more and more
boxes: how many are found, how many are proved to have nothing that the panel accepts, how many are undecided when
the boxes are spent; what those pay who are found with the fewest boxes, how many of 20 models that took no part
accept, and the processor time of a person.
"""

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import holdtrue as ht
from experiments._results import made_with
from experiments.hold.grid import DATASETS, KINDS, PEOPLE, SPLITS, TRAIN, _trees
from holdtrue._json import write_result
from holdtrue.hold import Holding
from holdtrue.hold._search import PanelSearch
from holdtrue.methods import Level
from holdtrue.methods._leaves import search_leaves
from holdtrue.schema import Restrictions
from holdtrue.search import Status, is_found

RESULTS = Path(__file__).parent / "results"
BOXES = (300, 1_000, 3_000, 10_000, 30_000)
ASKED = ((-0.5, 1), (0.0, 1), (0.0, 4), (0.125, 4), (0.25, 4), (0.5, 4))  # slack, and guides spared of 20
WHICH = (
    ("heloc", "forest", 0),
    ("loanapp", "xgboost", 0),
    ("heloc", "xgboost", 0),
    ("german_credit", "xgboost", 0),
    ("adult", "lightgbm", 0),
)
"""What is run, by `python -m experiments.hold`."""


def reach(dataset: str, kind: str, split: int) -> dict[str, Any]:
    """Who is found and what it costs, by slack, guides spared and boxes."""
    from sklearn.model_selection import train_test_split

    began = time.monotonic()
    data = ht.datasets.load(dataset)
    X, y = data.X, np.asarray(data.y)
    train, test = train_test_split(np.arange(len(X)), test_size=0.3, random_state=split, stratify=y)
    train, test = train[:TRAIN], test[:TRAIN]
    learned = X.iloc[train], y[train]
    model = _trees(kind, data.schema, *learned, split)
    decided = model.decide(model.encoder.schema.check(X.iloc[test]))
    people = X.iloc[test[decided != model.decision.favourable][:PEOPLE]]
    models = ht.retrain(model, *learned, n=40, vary="anew", random_state=1000 + split)
    guides, judges = models.take(np.arange(20)), models.take(np.arange(20, 40))
    base = ht.SparseSearch(random_state=0)
    holding = Holding(base=base, random_state=0)
    holding.fit(model, *learned, guides=guides, judges=guides, level=Level(0.5, 0.0))  # nobody is judged by them
    base = holding.panel_search.base
    table = model.encoder.schema.check(people)
    wanted = int(model.decision.favourable)
    problems = base.problems(table, np.full(table.n_rows, wanted), Restrictions())
    alone = base.answers(problems, None, None)
    reachable = np.flatnonzero(is_found(alone.status))
    search = PanelSearch(base, guides)
    some, rows = problems.take(reachable), []
    for slack, spared in ASKED:
        fewest, method = None, search.method(slack, wanted, spared)
        search_leaves(method, some.take(np.arange(1)), 1, None, None)  # what is made once is not a person's time
        for boxes in BOXES:
            worked = time.process_time()
            found = search_leaves(method, some, boxes, None, None)
            worked = time.process_time() - worked
            fewest = is_found(found.status) if fewest is None else fewest
            row = {"boxes": boxes, "slack": slack, "spared": spared, **_counted(found.status)}
            if fewest.any():
                plan = holding.unjudged(found, table.take(reachable), np.full(len(reachable), wanted))
                yes = judges.accepts(plan.recourse.take(fewest), plan.target[fewest])
                row |= {"cost": round(float(plan.cost[fewest].mean()), 4), "survival": round(float(yes.mean()), 4)}
            rows.append(row | {"ms": round(1000 * worked / len(reachable), 2)})
    return {
        "dataset": dataset, "kind": kind, "split": split, "alone": _counted(alone.status), "panel": rows,
        "seconds": round(time.monotonic() - began, 1),
        "command": f"python -m experiments.hold.reach {dataset} {kind} {split}", **made_with({}),
    }  # fmt: skip


def _counted(status: np.ndarray) -> dict[str, int]:
    by = Counter(Status(int(s)).name for s in status)
    return {
        "found": by["OPTIMAL"] + by["FOUND"],
        "cheapest, proved": by["OPTIMAL"],
        "out of reach": by["INFEASIBLE"],
        "undecided": by["NOT_FOUND"],
    }


def main() -> None:
    """Ask, and write the answer beside the other results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", choices=DATASETS)
    parser.add_argument("kind", choices=KINDS[2:])
    parser.add_argument("split", type=int, choices=SPLITS)
    which = vars(parser.parse_args())
    out = reach(**which)
    path = RESULTS / f"reach-{which['dataset']}-{which['kind']}-{which['split']}.json"
    write_result(path, out)
    print(json.dumps(out["panel"]))


if __name__ == "__main__":
    main()
