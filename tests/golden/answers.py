"""What must not change while the house is rebuilt: every kind of answer, asked once, kept as a digest.

    python tests/golden/answers.py write before.json     # before a change that should change no answer
    python tests/golden/answers.py compare before.json   # after it, on the same machine

Digests are of values, not of names of files, classes or columns. What is in the file is not asked again, so that a
killed run goes on. Compiled arithmetic differs between processors: the digests are not kept in the tree.
"""

import argparse
import hashlib
import importlib
import json
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd

NAMES = ("holdtrue", "holdfast")
WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PEOPLE = 40
TRAIN = 400
SEEDS = (0, 1)


def package() -> Any:
    """The package under the name that it has in this tree."""
    for name in NAMES:
        if importlib.util.find_spec(name) is not None:
            return importlib.import_module(name)
    raise ImportError(f"none of {NAMES} can be imported")


def digest(*values: Any) -> str:
    """SHA-256 of values, arrays and tables to the last bit."""
    whole = hashlib.sha256()
    for value in values:
        whole.update(_bytes(value))
    return whole.hexdigest()[:16]


def _bytes(value: Any) -> bytes:
    if isinstance(value, pd.DataFrame):
        return b"".join(_bytes(value[name].to_numpy()) for name in value.columns)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()
    if isinstance(value, np.ndarray):
        return repr(value.tolist()).encode()
    if isinstance(value, (dict, list, tuple)):
        return json.dumps(value, sort_keys=True, default=repr).encode()
    return repr(value).encode()


def of_plan(plan: Any) -> str:
    """Everything that a plan says."""
    columns = {name: values.tolist() for name, values in plan.recourse.columns.items()}
    parts = [np.asarray(part) for part in (plan.cost, plan.before, plan.after)]
    return digest(columns, [str(s) for s in plan.status], *parts, list(map(str, plan.changes())))


class World:
    """Two tables with a network and a boosted model each, made once."""

    def __init__(self, ht: Any, name: str) -> None:
        self.ht = ht
        self.data = ht.datasets.load(name).subset(range(1000))
        self._made: dict[Any, Any] = {}

    def classifier(self, seed: int, **options: Any) -> Any:
        """A short fit of the default network, or of what is asked for."""
        key = ("classifier", seed, repr(sorted(options.items())))
        if key not in self._made:
            options.setdefault("regime", self.ht.StandardTraining(n_epochs=10))
            data = self.data.subset(range(TRAIN))
            made = self.ht.RecourseClassifier(schema=data.schema, random_state=seed, **options)
            self._made[key] = made.fit(data.X, data.y)
        return self._made[key]

    def boosted(self, seed: int) -> Any:
        """A small XGBoost model."""
        from xgboost import XGBClassifier

        if ("xgb", seed) not in self._made:
            data = self.data.subset(range(TRAIN))
            model = XGBClassifier(n_estimators=20, max_depth=3, random_state=seed, n_jobs=1)
            self._made["xgb", seed] = model.fit(_numbers(data.X), data.y == data.favourable)
        return self._made["xgb", seed]

    def refused(self, model: Any, X: Any, yes: Any) -> Any:
        """The first people whom a model refuses."""
        return X[np.asarray(model.predict(X)) != yes][:PEOPLE]


def _numbers(X: Any) -> Any:
    """XGBoost takes numbers."""
    X = pd.DataFrame(X).copy()
    for name in X.columns:
        if X[name].dtype.kind not in "biuf":
            X[name] = pd.factorize(X[name], sort=True)[0]
    return X


def methods(ht: Any, worlds: dict[str, World]) -> Iterator[tuple[str, Callable[[], str]]]:
    """Every method, two seeds, two tables, a network and a boosted model."""
    for table, world in worlds.items():
        for name, cls in ht.methods.METHODS.items():
            for seed in SEEDS:
                yield f"method/{table}/{name}/{seed}", lambda w=world, c=cls, s=seed, n=name: _asked(w, n, c, s)
                yield f"method-xgboost/{table}/{name}/{seed}", lambda w=world, c=cls, s=seed: _foreign(w, c, s)


def _configured(cls: Any, seed: int) -> Any:
    made = cls()
    if "random_state" in made.get_params():
        made.set_params(random_state=seed)
    return made


def _asked(world: World, name: str, cls: Any, seed: int) -> str:
    ht = world.ht
    options = {"regime": ht.CounterNetTraining(n_epochs=3)} if name == "generated" else {}
    clf = world.classifier(seed, **options)
    people = world.refused(clf, world.data.X, world.data.favourable)
    return of_plan(_configured(cls, seed).fit(clf, world.data.X[:TRAIN]).recourse(people))


def _foreign(world: World, cls: Any, seed: int) -> str:
    model, X = world.boosted(seed), _numbers(world.data.X)
    people = X[np.asarray(model.predict(X)) == 0][:PEOPLE]
    method = _configured(cls, seed)
    return of_plan(world.ht.recourse(model, people, None, method, reference=X[:TRAIN]))


def regimes(ht: Any, worlds: dict[str, World]) -> Iterator[tuple[str, Callable[[], str]]]:
    """Every regime, a short fit: what the model says of everybody, and the losses."""
    for table, world in worlds.items():
        for name, cls in importlib.import_module(f"{ht.__name__}.training").REGIMES.items():
            yield f"regime/{table}/{name}", lambda w=world, c=cls: _trained(w, c)


def _trained(world: World, cls: Any) -> str:
    regime = cls()
    known = regime.get_params()
    wanted = {"n_epochs": 3, "n_steps": 200, "n_updates": 20}
    regime.set_params(
        **{k: v for k, v in wanted.items() if k in known and (k != "n_steps" or "n_epochs" not in known)}
    )
    clf = world.classifier(0, regime=regime)
    return digest(clf.predict_proba(world.data.X))


def studies(ht: Any, worlds: dict[str, World]) -> Iterator[tuple[str, Callable[[], str]]]:
    """Reports, certificates, comparisons."""
    world = worlds["loanapp"]

    def audit() -> str:
        clf = world.classifier(0)
        plan = clf.recourse(world.refused(clf, world.data.X, world.data.favourable))
        report = ht.audit(plan, against=ht.retrain(clf, n=5)).to_dict()
        return digest(_without(report, ("seconds", "software", "date", "time", "version")))

    def bootstraps() -> str:
        return digest(ht.retrain(world.classifier(0), n=5, vary="bootstrap").decide(world.data.X))

    def shelf_life() -> str:
        clf = world.classifier(0)
        plan = clf.recourse(world.refused(clf, world.data.X, world.data.favourable))
        life = ht.shelf_life(plan, clf, n=40)
        return digest(life.survival, life.lower, life.upper)

    def certify() -> str:
        clf = world.classifier(1)
        made = ht.certify(clf, world.data.X[400:900], move_threshold=True, apply=False).to_dict()
        return digest({k: made[k] for k in ("threshold", "n", "k", "miscoverage", "failure", "failures")})

    def compare() -> str:
        done = ht.compare(world.data, methods=["nearest_neighbour", "sparse_search"], people=8,
                          model="random_forest", retrainings=3)  # fmt: skip
        rows = json.loads(json.dumps(done.to_dict(), default=repr))
        return digest(_without(rows, ("seconds", "software", "date", "time", "version", "train_seconds")))

    yield from (("audit", audit), ("bootstraps", bootstraps), ("shelf_life", shelf_life), ("certify", certify),
                ("compare", compare))  # fmt: skip


def _without(value: Any, names: tuple[str, ...]) -> Any:
    if isinstance(value, dict):
        return {k: _without(v, names) for k, v in value.items() if not any(n in k for n in names)}
    return [_without(v, names) for v in value] if isinstance(value, list) else value


def promises(ht: Any, worlds: dict[str, World]) -> Iterator[tuple[str, Callable[[], str]]]:
    """One record, one gate, one letter, one HTTP answer."""
    world = worlds["loanapp"]
    kept = ("subject", "factual", "recourse", "changes", "decision_before", "decision_after", "probability_before",
            "probability_after", "target", "cost", "threshold", "schema", "issued", "valid_until")  # fmt: skip

    def made() -> list[Any]:
        clf = world.classifier(0)
        plan = clf.recourse(world.refused(clf, world.data.X, world.data.favourable)[:10])
        keys = [f"application {i}" for i in range(len(plan))]
        return ht.records(plan, keys, valid_for=90, issued=WHEN)

    def record() -> str:
        return digest([{k: r.to_dict()[k] for k in kept} for r in made()])

    def gate() -> str:
        with tempfile.TemporaryDirectory() as folder, ht.Ledger.create(Path(folder) / "l.db") as ledger:
            ledger.issue(made())
            report = ht.gate(world.classifier(1), ledger, at=WHEN).to_dict()
        return digest({k: report[k] for k in ("ok", "n_live", "n_broken", "share", "lower", "upper", "shortfall")})

    def letter() -> str:
        first = next(iter(ht.letters(made(), schema=world.data.schema, at=WHEN)))
        return digest(first.text, first.html)

    def http() -> str:
        from fastapi.testclient import TestClient

        server = importlib.import_module(f"{ht.__name__}.server")
        clf = world.classifier(0)
        people = world.refused(clf, world.data.X, world.data.favourable)[:3]
        rows = [{k: None if v != v else v for k, v in row.items()}
                for row in people.astype(object).to_dict(orient="records")]  # fmt: skip
        with TestClient(server.create_app(server.Service(clf), None)) as client:
            answer = client.post("/v1/recourse", json={"people": rows})
        body = answer.json()
        return digest(answer.status_code, _without(body, ("seconds", "model", "version", "time")))

    yield from (("record", record), ("gate", gate), ("letter", letter), ("http", http))


def questions(ht: Any) -> Iterator[tuple[str, Callable[[], str]]]:
    """All of them."""
    worlds = {name: World(ht, name) for name in ("loanapp", "recid")}
    yield from studies(ht, worlds)
    yield from promises(ht, worlds)
    yield from regimes(ht, worlds)
    yield from methods(ht, worlds)


def main() -> int:
    """Write the digests of all answers, or compare them with those that were written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("write", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="", help="Part of the name of a question.")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    ht = package()
    known: dict[str, str] = json.loads(asked.file.read_text()) if asked.file.exists() else {}
    different = 0
    n = 0
    for name, answer in questions(ht):
        if asked.only not in name or (asked.what == "write" and name in known):
            continue
        n += 1
        if n % 25 == 0:
            jax.clear_caches()  # each program holds memory maps, of which a process may have 65,530
        try:
            got = answer()
        except Exception as error:  # an answer too: it must stay the same kind of refusal
            got = f"{type(error).__name__}"
            if not type(error).__module__.endswith("errors"):
                traceback.print_exc()
        if asked.what == "write":
            known[name] = got
            asked.file.write_text(json.dumps(known, indent=0))
            print(name, got, flush=True)
        elif known.get(name) != got:
            different += 1
            print(f"{name}: {known.get(name)} -> {got}", flush=True)
    print(f"{n} answers, {different} different")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
