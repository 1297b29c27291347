"""Cost against survival: four tables, five kinds of model, `hold` at seven levels, and methods of the field.

    python -m experiments.hold.grid                    # all of it; what is in results/ is not run again
    python -m experiments.hold.grid german_credit xgboost 0 --processes 16

A cell is a table, a kind of model and a split. In each, everybody's recourse is asked of 50 models trained on
resamples and 50 of other seeds, none of which any search has seen; of 20 models of the same kind with other
hyper-parameters and of 20 of other kinds; and once more as it is when people follow it to within 5%.
"""

import argparse
import functools
import json
import os
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import holdtrue as ht
from experiments._results import made_with
from experiments.hold._judges import Judges, closely, judges_of, recipe

DATASETS = ("german_credit", "loanapp", "heloc", "adult")
KINDS = ("logistic", "mlp", "forest", "xgboost", "lightgbm")
SPLITS = (0, 1, 2)
RESULTS = Path(__file__).parent / "results" / "grid"
TRAIN = 4_000  # rows learned from, at most
PEOPLE = 40
UNSEEN = 50  # of resamples, and as many of other seeds
LEVEL = 0.99  # by which the number of people is chosen that margins are measured by
LEVELS = (0.95, LEVEL, 0.9, 0.8, 0.7, 0.6, 0.999)
SLOW = 5.0  # seconds after which a call is not made a second time for a time without compilation


@dataclass(frozen=True)
class Cell:
    """A table, a kind of model and a split, with all that methods are given."""

    model: Any
    X: Any
    y: Any
    schema: ht.Schema | None
    people: Any
    net: bool
    models: Any
    bootstraps: Any
    seeds: Any
    outside: dict[str, Judges]
    measuring: Any


def cell(dataset: str, kind: str, split: int, limits: dict[str, int] | None = None) -> Cell:
    """Train everything that a cell needs.

    Parameters
    ----------
    dataset, kind, split
    limits : dict, optional
        ``people`` who are asked about, and ``measured``: by whom slacks are measured, at most.
    """
    limits = limits or {}
    from sklearn.model_selection import train_test_split

    data = ht.datasets.load(dataset)
    X, y = data.X, np.asarray(data.y)
    train, test = train_test_split(np.arange(len(X)), test_size=0.3, random_state=split, stratify=y)
    train, test = train[:TRAIN], test[:TRAIN]
    learned, labels = X.iloc[train], y[train]
    net = kind in ("logistic", "mlp")
    made: Any = _own if net else _trees
    model = made(kind, data.schema, learned, labels, split)
    predictor = model.predictor_ if net else model
    decided = predictor.decide(predictor.encoder.schema.check(X.iloc[test]))
    refused = test[decided != predictor.decision.favourable][: limits.get("people", PEOPLE)]
    again = lambda n, vary, seed: ht.retrain(model, learned, labels, n=n, vary=vary, random_state=seed)  # noqa: E731
    measuring = learned, labels
    if "measured" in limits:
        known = predictor.decide(predictor.encoder.schema.check(learned)) != predictor.decision.favourable
        measuring = learned[known][: limits["measured"]], labels[known][: limits["measured"]]
    return Cell(
        model, learned, labels, data.schema, X.iloc[refused], net, again(40, "anew", 1000 + split),
        again(UNSEEN, "bootstrap", 2000 + split), again(UNSEEN, "seed", 3000 + split),
        judges_of(kind, learned, labels, 4000 + split), measuring,
    )  # fmt: skip


def _own(kind: str, schema: ht.Schema | None, X: Any, y: Any, seed: int) -> ht.RecourseClassifier:
    model = ht.Linear() if kind == "logistic" else ht.MLP()
    return ht.RecourseClassifier(schema=schema, model=model, hold=None, random_state=seed).fit(X, y)


def _trees(kind: str, schema: ht.Schema | None, X: Any, y: Any, seed: int) -> Any:
    return ht.wrap(recipe(kind, X, seed).fit(X, y), schema, X)


def methods(of: Cell, known: Collection[str] = ()) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every method by name, as something that returns it fitted; levels that are known are not measured again."""
    guides, judges = of.models.take(np.arange(20)), of.models.take(np.arange(20, 40))
    base = "wachter" if of.net else "sparse_search"

    def plain(method: Any) -> Callable[[], Any]:
        return lambda: method.fit(of.model, of.X, of.y)

    def guided(method: Any) -> Callable[[], Any]:
        return lambda: method.fit(of.model, of.X, of.y, guides=guides)

    def held(name: str) -> Iterator[tuple[str, Callable[[], Any]]]:
        """All levels from one fitting, which measures the margins of each."""
        method = ht.Holding(base=name, hold=LEVEL, random_state=0)
        for level in LEVELS:
            yield f"hold {level}, {name}", functools.partial(at, method, level)

    def at(method: ht.Holding, level: float) -> Any:
        if not hasattr(method, "levels_"):
            left = [other for other in LEVELS if f"hold {other}, {method.base}" not in known]
            method.fit(of.model, *of.measuring, guides=guides, judges=judges, also=left)
        return method.at(level)

    yield "cheapest", plain(ht.SparseSearch(random_state=0))
    if not of.net:
        yield from held("sparse_search")
    else:
        yield "wachter", plain(ht.Wachter(random_state=0))
        yield from held("wachter")
        yield "stable_search", guided(ht.StableSearch(random_state=0))
        yield "sns", plain(ht.SNS(random_state=0))
        for tolerance in (0.01, 0.03):
            yield f"ellice {tolerance}", plain(ht.ElliCE(base=base, tolerance=tolerance, random_state=0))
    for radius in (0.1, 0.2):
        yield f"roar {radius}", plain(ht.ROAR(radius=radius, random_state=0))
    for slack in (0.2, 0.4):
        yield f"rbr {slack}", plain(ht.RBR(slack=slack, random_state=0))
    for stability in (0.5, 0.7):
        yield f"robx {stability}", plain(ht.RobX(base=base, min_stability=stability, random_state=0))
        yield f"trex {stability}", plain(ht.TRex(base=base, min_stability=stability, random_state=0))
    yield "beta_rce", guided(ht.BetaRCE(base=base, random_state=0))
    for rate in (0.1, 0.01):
        yield f"probe {rate}", plain(ht.PROBE(base=base, rate=rate, random_state=0))


def run(
    dataset: str,
    kind: str,
    split: int,
    limits: dict[str, int],
    so_far: Callable[[dict[str, Any]], None],
    known: dict[str, Any],
) -> dict[str, Any]:
    """One cell: everybody's cost and survival under every method, told method by method; `known` ones are kept."""
    began = time.monotonic()
    of = cell(dataset, kind, split, limits)
    seconds = {"trained": time.monotonic() - began}
    rows: dict[str, Any] = dict(known)
    command = f"python -m experiments.hold.grid {dataset} {kind} {split}"
    out = {
        "dataset": dataset, "kind": kind, "split": split, "n_train": len(of.X), "n_people": len(of.people),
        "methods": rows, "seconds": {},
        "command": command + "".join(f" --{name} {n}" for name, n in limits.items()), **made_with(dict(limits)),
    }  # fmt: skip
    for name, fitted in methods(of, known):
        if name in known:
            if name == "cheapest" and asked(of, fitted)["cost"] != known[name]["cost"]:
                raise ht.errors.DataError(
                    f"grid: what is kept of {dataset}-{kind}-{split} is of other people or models, as other "
                    "versions of the libraries train them. Remove its .part to begin anew."
                )
            continue
        try:
            rows[name] = asked(of, fitted)
        except Exception as error:  # a method that fails in a cell is told on the page, and the others go on
            rows[name] = {"error": f"{type(error).__name__}: {error}"[:300]}
        seconds["all"] = time.monotonic() - began
        out["seconds"] = {k: round(v, 1) for k, v in seconds.items()}
        so_far(out)
    return out


def asked(of: Cell, fitted: Callable[[], Any]) -> dict[str, Any]:
    """Recourse of everybody by one method, and what the unseen models say of it."""
    began = time.monotonic()
    method = fitted()
    fit = time.monotonic() - began
    began = time.monotonic()
    plan = method.recourse(of.people)
    again = time.monotonic() - began
    if again < SLOW:
        began = time.monotonic()
        plan = method.recourse(of.people)
        again = time.monotonic() - began
    found = plan.found
    encoder = plan.predictor.encoder
    cost = ht.metrics.costs(encoder, encoder.encode(plan.factual), encoder.encode(plan.recourse))["l1"]
    out: dict[str, Any] = {
        "found": found.astype(int).tolist(),
        "cost": _short(np.where(found, cost, np.nan)),
        "fit_seconds": round(fit, 2),
        "seconds": round(again, 3),
    }
    judges = {"bootstraps": of.bootstraps, "seeds": of.seeds, **of.outside}
    for name, models in judges.items():
        yes = models.accepts(plan.recourse, plan.target)
        out[name] = _short(np.where(found, yes.mean(axis=0), np.nan))
        if found.any():
            out[f"{name}, by model"] = _short(yes[:, found].mean(axis=1))
    near, target = closely(plan)
    own = plan.predictor.classes[plan.predictor.decide(near)] == target
    for name, yes in (("model", own[None]), ("bootstraps", of.bootstraps.accepts(near, target))):
        shares = yes.mean(axis=0).reshape(-1, len(plan)).mean(axis=0)
        out[f"closely, {name}"] = _short(np.where(found, shares, np.nan))
    if plan.held is not None:
        out["stated"] = _short(plan.held.survival)
        out["holds"] = plan.held.holds.astype(int).tolist()
        out["level"] = {k: v for k, v in plan.held.level.to_dict().items() if k not in ("format", "periods")}
    return out


def _short(values: np.ndarray) -> list[float | None]:
    return [None if v != v else round(float(v), 4) for v in values]


def _kept(dataset: str, kind: str, split: int, folder: Path) -> Path:
    return folder / f"{dataset}-{kind}-{split}.json"


def _write(which: tuple[str, str, int], folder: Path, limits: dict[str, int]) -> str:
    path = _kept(*which, folder)
    beside = path.with_suffix(".part")

    def so_far(result: dict[str, Any]) -> None:
        beside.write_text(json.dumps(result, allow_nan=False) + "\n", encoding="utf-8")

    known = json.loads(beside.read_text("utf-8"))["methods"] if beside.exists() else {}
    run(*which, limits, so_far, known)
    os.replace(beside, path)
    return path.name


def main() -> None:
    """Run what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", nargs="?", choices=DATASETS)
    parser.add_argument("kind", nargs="?", choices=KINDS)
    parser.add_argument("split", nargs="?", type=int, choices=SPLITS)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--people", type=int, help="asked about in a cell, at most")
    parser.add_argument("--measured", type=int, help="people by whom slacks are measured, at most")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    limits = {name: n for name in ("people", "measured") if (n := getattr(given, name)) is not None}
    cells = [
        (dataset, kind, split)
        for split in (SPLITS if given.split is None else [given.split])
        for dataset in ([given.dataset] if given.dataset else DATASETS)
        for kind in ([given.kind] if given.kind else KINDS)
        if not _kept(dataset, kind, split, given.out).exists()
    ]
    if given.processes == 1:
        for which in cells:
            print(_write(which, given.out, limits), flush=True)
        return
    import multiprocessing

    with ProcessPoolExecutor(given.processes, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        for done in as_completed([pool.submit(_write, which, given.out, limits) for which in cells]):
            error = done.exception()
            print(f"failed: {error!r}" if error else done.result(), flush=True)


if __name__ == "__main__":
    main()
