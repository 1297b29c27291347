"""The same question asked in every way: one answer.

python -m benchmarks.attack.same [--worlds 30] [--seed 0] [--processes 1] [--seconds 600] [--print]

In each world every registered method is asked by a classifier of the package's own about forty people, some of
them with restrictions; then again in another order, in halves, one by one (three of them), by two threads at once,
by the classifier that was saved and loaded, by a run that writes a file, and by replaying records as they are read
back. Every tenth world also by Ray, where it is installed. Statuses and proposed rows must be the same to the last
bit (of a run: statuses).
*differs* and *crashed* are wrong; the command ends with 1 where something is.
"""

import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import holdtrue as ht
from benchmarks.attack._models import model
from benchmarks.attack._tally import Attack, Job, Line, crashed
from benchmarks.attack._worlds import World, world
from holdtrue.errors import CapabilityError
from holdtrue.methods import METHODS
from holdtrue.search import Status

PEOPLE, PER_MOULD, RAY_EVERY = 40, 3, 10
WRONG = ("crashed", "differs")
Answer = list[tuple[Any, ...]]


def answer(plan: ht.RecourseFrame) -> Answer:
    """Everyone's status, proposed row and cost."""
    columns = [plan.recourse.columns[name].tolist() for name in plan.schema.names]
    rows = zip(*columns, strict=True)
    return [
        (int(s), *map(repr, row), repr(float(c))) for s, row, c in zip(plan.status, rows, plan.cost, strict=True)
    ]


def attack(seed: int, name: str, *, people: int = PEOPLE) -> list[Line]:
    """One method in one world."""
    place = world(seed, small=False, mould=seed // PER_MOULD, rows=people)
    try:
        clf = _classifier(place, name)
        counts: Counter[str] = Counter(people=people, differs=0)
        right = answer(clf.recourse(place.table, restrictions=place.restrictions))
        counts["FOUND"] = sum(row[0] in (Status.FOUND, Status.OPTIMAL) for row in right)
        told: dict[str, Any] = {}
        for way, ask in WAYS.items():
            if way == "ray" and seed % RAY_EVERY:
                continue
            there, again = ask(clf, place, right)
            counts["answers"] += len(again)
            counts[f"by {way}"] += len(again)
            differs = sum(a != b for a, b in zip(there, again, strict=True))
            counts["differs"] += differs
            if differs:
                first = next((a, b) for a, b in zip(there, again, strict=True) if a != b)
                told.setdefault("error", f"{way}: {first[0]} and {first[1]}"[:300])
        return [{"method": name, **counts, **told}]
    except CapabilityError:
        return []
    except Exception as error:  # whatever it is, it should have been an answer
        return [crashed(name, error)]


def _classifier(place: World, name: str) -> ht.RecourseClassifier:
    kind = "generator" if name == "generated" else "trained"
    made = model(place, kind)
    method = METHODS[name](random_state=0)
    if "n_guides" in method.get_params():
        method.set_params(n_guides=16)
    return made.model.with_method(method.fit(made.model, place.table, made.labels))


def _asked(clf: Any, place: World, rows: np.ndarray) -> Answer:
    restrictions = [place.restrictions[i] for i in rows]
    return answer(clf.recourse(place.table.iloc[rows], restrictions=restrictions))


def order(clf: Any, place: World, right: Answer) -> tuple[Answer, Answer]:
    """Another order of people."""
    rows = place.rng.permutation(len(right))
    return [right[i] for i in rows], _asked(clf, place, rows)


def halves(clf: Any, place: World, right: Answer) -> tuple[Answer, Answer]:
    """Two calls."""
    middle = len(right) // 2
    return right, [*_asked(clf, place, np.arange(middle)), *_asked(clf, place, np.arange(middle, len(right)))]


def alone(clf: Any, place: World, right: Answer) -> tuple[Answer, Answer]:
    """Three people, each in a call of their own."""
    rows = place.rng.integers(0, len(right), 3)
    return [right[i] for i in rows], [_asked(clf, place, np.array([i]))[0] for i in rows]


def threads(clf: Any, place: World, right: Answer) -> tuple[Answer, Answer]:
    """Two at once."""
    out: dict[int, Answer] = {}
    work = [
        threading.Thread(target=lambda i=i: out.update({i: _asked(clf, place, np.arange(len(right)))}))
        for i in range(2)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    return [*right, *right], [*out[0], *out[1]]


def loaded(clf: Any, place: World, right: Answer) -> tuple[Answer, Answer]:
    """Saved and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        clf.save(Path(folder) / "model.holdtrue")
        again = ht.load(Path(folder) / "model.holdtrue")
        return right, _asked(again, place, np.arange(len(right)))


def written(clf: Any, place: World, right: Answer, executor: Any = None) -> tuple[Answer, Answer]:
    """By a run, into a file."""
    with tempfile.TemporaryDirectory() as folder:
        table, out = Path(folder) / "people.parquet", Path(folder) / "answers.parquet"
        place.table.to_parquet(table)
        restrictions = {i: r for i, r in enumerate(place.restrictions) if r}
        more = {} if executor is None else {"executor": executor}
        ht.run(clf, table, out, restrictions=restrictions, chunk_rows=16, only_refused=False, **more)
        status = pd.read_parquet(out)["holdtrue_status"].tolist()
    return [(row[0],) for row in right], [(int(Status[name]),) for name in status]


def replayed(clf: Any, place: World, right: Answer) -> tuple[Answer, Answer]:
    """Three records, read back."""
    plan = clf.recourse(place.table, restrictions=place.restrictions)
    records = ht.records(plan, [str(i) for i in range(len(plan))])[:3]
    again = [ht.replay(ht.Record.from_json(record.to_json()), clf, reference=place.table) for record in records]
    return [(True,)] * len(again), [(one.same,) for one in again]


def ray(clf: Any, place: World, right: Answer) -> tuple[Answer, Answer]:
    """On a cluster of this machine."""
    try:
        import ray as installed
    except ImportError:
        return [], []
    from holdtrue.batch import RayExecutor

    if not installed.is_initialized():
        installed.init(num_cpus=1, include_dashboard=False, log_to_driver=False, configure_logging=False)
    return written(clf, place, right, RayExecutor())


WAYS: dict[str, Callable[..., tuple[Answer, Answer]]] = {
    "order": order, "halves": halves, "alone": alone, "threads": threads, "loaded": loaded, "written": written,
    "replayed": replayed, "ray": ray,
}  # fmt: skip


def tasks(first: int, worlds: int) -> Iterator[list[Job]]:
    """A method's worlds of one mould after another: they share compiled programs."""
    last = first + worlds
    for begin in range(first - first % PER_MOULD, last, PER_MOULD):
        seeds = [seed for seed in range(begin, begin + PER_MOULD) if first <= seed < last]
        for name in METHODS:
            yield [(seed, name) for seed in seeds]


ATTACK = Attack("same", __doc__ or "", attack, WRONG, tasks, worlds=30)

if __name__ == "__main__":
    ATTACK.main()
