"""Who is out of reach of a panel of trees, and who is only not found: a search with more and more boxes.

    python -m experiments.hold.reach heloc forest 0

The people and guides are those of the grid's cell. Of everybody whom the model alone can be brought to accept, the
search is asked for what the panel accepts, at several slacks and numbers of guides spared: how many are found, how
many are proved to have nothing that the panel accepts, and how many are undecided when the boxes are spent.
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
from holdtrue.hold._search import PanelSearch
from holdtrue.methods._leaves import search_leaves
from holdtrue.schema import Restrictions
from holdtrue.search import Status, is_found

RESULTS = Path(__file__).parent / "results"
BOXES = (300, 3_000, 30_000)
ASKED = ((-0.5, 1), (0.0, 1), (0.0, 4), (0.125, 4), (0.25, 4), (0.5, 4))  # slack, and guides spared of 20


def reach(dataset: str, kind: str, split: int) -> dict[str, Any]:
    """How many are found, proved out of reach and undecided, by slack, guides spared and boxes."""
    from sklearn.model_selection import train_test_split

    began = time.monotonic()
    data = ht.datasets.load(dataset)
    X, y = data.X, np.asarray(data.y)
    train, test = train_test_split(np.arange(len(X)), test_size=0.3, random_state=split, stratify=y)
    train, test = train[:TRAIN], test[:TRAIN]
    model = _trees(kind, data.schema, X.iloc[train], y[train], split)
    decided = model.decide(model.encoder.schema.check(X.iloc[test]))
    people = X.iloc[test[decided != model.decision.favourable][:PEOPLE]]
    models = ht.retrain(model, X.iloc[train], y[train], n=40, vary="anew", random_state=1000 + split)
    base = ht.SparseSearch(random_state=0).fit(model, X.iloc[train], y[train])
    table = model.encoder.schema.check(people)
    wanted = int(model.decision.favourable)
    problems = base.problems(table, np.full(table.n_rows, wanted), Restrictions())
    alone = base.answers(problems, None, None)
    search = PanelSearch(base, models.take(np.arange(20)))
    rows, some = [], problems.take(np.flatnonzero(is_found(alone.status)))
    for boxes in BOXES:
        for slack, spared in ASKED:
            found = search_leaves(search.method(slack, wanted, spared), some, boxes, None, None)
            rows.append({"boxes": boxes, "slack": slack, "spared": spared, **_counted(found.status)})
    return {
        "dataset": dataset, "kind": kind, "split": split, "alone": _counted(alone.status), "panel": rows,
        "seconds": round(time.monotonic() - began, 1),
        "command": f"python -m experiments.hold.reach {dataset} {kind} {split}", **made_with({}),
    }  # fmt: skip


def _counted(status: np.ndarray) -> dict[str, int]:
    by = Counter(Status(int(s)).name for s in status)
    return {
        "found": by["OPTIMAL"] + by["FOUND"],
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
