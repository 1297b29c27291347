"""One job, holdtrue beside other libraries: recourse for 100 refused applicants of German Credit.

    python -m benchmarks.peers [--people 100] [--methods sparse_search,wachter,...] [--peers FOLDER]

The job: 61 inputs, 60/40 split, MLP 128-64-16, the first refused people of the test rows; age and personal status
may not change, everything else may. Cost is l1 in units scaled to [0, 1]; a changed category counts 2. A recourse
is valid if the model accepts it as a row of the table; `broken` counts those that change what may not or leave
the bounds. Speed is people per second of a later call, from the table to the checked table; peers compile nothing
and are called once.

With `--peers`, each library is installed from the package index into a virtual environment of its own in FOLDER
(kept for the next time) and given the same model as numpy arrays; one that does not install or run is named with
the reason. The figures of peers printed without it were measured on the same job on two quiet cores.
"""

import argparse
import dataclasses
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

import holdtrue as ht
from benchmarks._common import WIDTHS, best_of, record
from holdtrue.encoding import broken_limits
from holdtrue.methods import METHODS
from holdtrue.metrics import costs
from holdtrue.schema import as_table

FIXED = ("age", "personal_status_sex")
GRADIENT = ("wachter", "elastic_net", "min_pgd", "generic")
YARDSTICKS = {"sparse_search": (1.0, 1.09, 200.0), "best gradient method": (1.0, 1.5, 1000.0)}
"""Valid at least, mean l1 at most, people per second at least."""
MEASURED = {
    "DiCE random": (1.00, 3.1, 4.0),
    "DiCE genetic": (1.00, 10.7, 2.5),
    "ReLax VanillaCF": (0.59, 6.1, 243.0),
    "ReLax C-CHVAE": (1.00, 10.8, 269.0),
    "NICE (cannot fix columns)": (1.00, 2.8, 774.0),
    "alibi CFProto": (1.00, 5.6, 0.03),
    "cfnow random": (0.60, 1.1, 0.1),
}
"""Valid, mean l1, people per second, as measured on this job before."""
PACKAGES = {
    "DiCE random": "dice-ml",
    "DiCE genetic": "dice-ml",
    "NICE": "NICEx",
    "cfnow random": "cfnow",
    "alibi CFProto": "alibi",
    "ReLax": "jax-relax",
}


@dataclasses.dataclass(frozen=True)
class Job:
    """The fitted classifier, its training rows and the people to be answered."""

    clf: ht.RecourseClassifier
    X: pd.DataFrame
    y: np.ndarray
    people: pd.DataFrame


def make_job(n_people: int, seed: int = 0) -> Job:
    """Train the model and find whom it refuses."""
    bank = ht.datasets.load("german_credit")
    assert bank.schema is not None
    features = [
        ht.Feature(name=f.name, kind=f.kind, levels=f.levels, bounds=f.bounds, direction=_may(f.name))
        for f in bank.schema
    ]
    train, test = train_test_split(np.arange(len(bank)), test_size=0.4, random_state=seed, stratify=bank.y)
    clf = ht.RecourseClassifier(schema=ht.Schema(features), model=ht.MLP(widths=WIDTHS), random_state=seed)
    clf.fit(bank.X.iloc[train], bank.y[train])
    test_rows = bank.X.iloc[test]
    refused = test_rows[clf.predict(test_rows) != clf.predictor_.favourable]
    return Job(clf, bank.X.iloc[train], bank.y[train], refused.iloc[:n_people].reset_index(drop=True))


def _may(name: str) -> Any:
    return "fixed" if name in FIXED else "free"


def judge(job: Job, rows: pd.DataFrame, has: np.ndarray) -> dict[str, float]:
    """Valid among everyone, limits broken, and the mean l1 and number of changes of what is valid."""
    predictor = job.clf.predictor_
    encoder = predictor.encoder
    factual, proposed = as_table(job.people), as_table(rows)
    valid = has & (predictor.decide(proposed) == predictor.decision.favourable)
    broken = np.array([bool(b) for b in broken_limits(encoder, factual, proposed, None)]) & has
    cost = costs(encoder, encoder.encode(factual), encoder.encode(proposed))
    return {
        "valid": float(valid.mean()),
        "limits broken": float(broken.sum()),
        "l1": float(cost["l1"][valid].mean()) if valid.any() else float("nan"),
        "l0": float(cost["l0"][valid].mean()) if valid.any() else float("nan"),
    }


def run_method(job: Job, name: str) -> dict[str, Any]:
    """One of holdtrue's methods with its defaults."""
    method: Any = METHODS[name]()
    if "random_state" in method.get_params():
        method.set_params(random_state=0)
    try:
        method.fit(job.clf, job.X, job.y)
        first = best_of(lambda: method.recourse(job.people), 1)
        seconds = best_of(lambda: method.recourse(job.people), 3)
        plan = method.recourse(job.people)
    except ht.errors.HoldtrueError as error:
        return {"not run": str(error)}
    found = judge(job, pd.DataFrame(plan.recourse.columns), plan.found)
    return found | {"people per second": len(job.people) / seconds, "compile seconds": max(first - seconds, 0.0)}


# ---- other libraries --------------------------------------------------------------------------------


def run_peer(job: Job, name: str, folder: Path) -> dict[str, Any]:
    """Another library, in an environment of its own, on the same model."""
    python, problem = environment(PACKAGES[name], folder)
    if python is None:
        return {"not run": problem}
    with tempfile.TemporaryDirectory() as place:
        export(job, Path(place))
        script = Path(__file__).with_name("_peer.py")
        command = [str(python), str(script), name, place]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
        except subprocess.TimeoutExpired:
            return {"not run": "took longer than half an hour"}
        answer = Path(place) / "answer.csv"
        if done.returncode != 0 or not answer.exists():
            return {"not run": (done.stderr.strip().splitlines() or ["no answer"])[-1][:200]}
        rows = pd.read_csv(answer, keep_default_na=False)
        has = rows.pop("has").to_numpy(bool)
        rows = rows.astype(job.people.dtypes.to_dict())
        facts = json.loads((Path(place) / "facts.json").read_text())
    return judge(job, rows, has) | {
        "people per second": len(job.people) / facts["seconds"],
        "version": facts["version"],
    }


def environment(package: str, folder: Path, *more: str) -> tuple[Path | None, str]:
    """The interpreter of a virtual environment that has the package (and others), or why there is none."""
    import venv

    place = folder / package
    python = place / "bin" / "python"
    if not (place / "installed").exists():
        print(f"installing {package} ...", flush=True)
        venv.create(place, with_pip=True)
        command = [str(python), "-m", "pip", "install", "--quiet", package, *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            return None, f"does not install: {(errors or ['pip failed'])[-1][:200]}"
        (place / "installed").touch()
    return python, ""


def export(job: Job, place: Path) -> None:
    """Write the model as arrays, how columns are encoded, the training rows and the people."""
    encoder, model = job.clf.predictor_.encoder, job.clf.predictor_.decision.model
    layers = [np.asarray(part) for pair in zip(model.weights, model.biases, strict=True) for part in pair]  # type: ignore[attr-defined]
    np.savez(place / "model.npz", *layers)
    np.save(place / "expected.npy", job.clf.predict_proba(job.people))
    columns = []
    for slot in encoder.layout.slots:
        feature = encoder.schema[slot.name]
        column: dict[str, Any] = {"name": slot.name, "start": slot.start, "stop": slot.stop}
        if feature.has_levels:
            column["levels"] = list(feature.levels or ())
        else:
            column |= {"offset": float(encoder.offset[slot.start]), "scale": float(encoder.scale[slot.start])}
            column["bounds"] = list(feature.bounds or ())
        columns.append(column)
    about = {"columns": columns, "fixed": list(FIXED), "n_columns": encoder.n_columns}
    about["threshold"] = float(job.clf.predictor_.decision.threshold)
    (place / "about.json").write_text(json.dumps(about))
    job.X.assign(_label=job.y).to_csv(place / "train.csv", index=False)
    job.people.to_csv(place / "people.csv", index=False)


# ---- the table --------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--methods", default="sparse_search,nearest_neighbour," + ",".join(GRADIENT))
    parser.add_argument("--peers", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    asked = list(METHODS) if options.methods == "all" else options.methods.split(",")
    job = make_job(options.people)
    ours = {name: run_method(job, name) for name in asked if name in METHODS}
    theirs = {}
    if options.peers is not None:
        options.peers.mkdir(parents=True, exist_ok=True)
        theirs = {name: run_peer(job, name, options.peers.resolve()) for name in PACKAGES}
    verdicts = yardsticks(ours)
    show(job, ours, theirs, verdicts)
    command = f"python -m benchmarks.peers --people {options.people} --methods {options.methods}"
    values = {"people": len(job.people), "holdtrue": ours, "yardsticks": verdicts}
    values |= {"peers, measured before (valid, l1, people per second)": MEASURED}
    if theirs:
        values["peers, in this run"] = theirs
    record("peers", command + (" --peers FOLDER" if theirs else ""), values, shown=False)


def yardsticks(ours: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """How what was measured stands to what is wanted."""
    ran = {name: row for name, row in ours.items() if "l1" in row}
    gradient = {name: row for name, row in ran.items() if name in GRADIENT}
    out = {}
    for wanted, (valid, l1, speed) in YARDSTICKS.items():
        if wanted == "best gradient method":
            # The cheapest of those that are fast and valid enough; where none is, of those most often valid.
            good = {n: r for n, r in gradient.items() if r["people per second"] >= speed and r["valid"] >= valid}
            name = min(good or gradient, key=lambda n: (-gradient[n]["valid"], gradient[n]["l1"]), default=None)
        else:
            name = wanted if wanted in ran else None
        if name is None:
            continue
        row = ran[name]
        met = {
            f"valid >= {valid:g}": row["valid"] >= valid,
            "no limit broken": row["limits broken"] == 0,
            f"l1 <= {l1:g}": row["l1"] <= l1,
            f"people per second >= {speed:,.0f}": row["people per second"] >= speed,
        }
        out[wanted] = {"method": name} | {key: bool(value) for key, value in met.items()}
    return out


def show(job: Job, ours: dict[str, Any], theirs: dict[str, Any], verdicts: dict[str, Any]) -> None:
    """Print everything as one table."""
    print(f"\n{len(job.people)} people, {job.clf.predictor_.encoder.n_columns} inputs, MLP {WIDTHS}")
    print(f"{'':<30}{'valid':>8}{'broken':>8}{'l1':>8}{'l0':>8}{'people/s':>12}{'compile s':>11}")
    for title, rows in (("holdtrue", ours), ("other libraries, in this run", theirs)):
        if rows:
            print(title)
        for name, row in rows.items():
            if "not run" in row:
                print(f"  {name:<28}{row['not run']}")
                continue
            numbers = f"{row['valid']:>8.2f}{row['limits broken']:>8.0f}{row['l1']:>8.2f}{row['l0']:>8.2f}"
            compiled = f"{row['compile seconds']:>11.1f}" if "compile seconds" in row else f"{'-':>11}"
            print(f"  {name:<28}{numbers}{row['people per second']:>12,.1f}{compiled}")
    print("other libraries, measured before on this job")
    for name, (valid, l1, speed) in MEASURED.items():
        print(f"  {name:<28}{valid:>8.2f}{'':>8}{l1:>8.1f}{'':>8}{speed:>12,.2f}")
    print("yardsticks")
    for wanted, verdict in verdicts.items():
        words = ", ".join(f"{key}: {'yes' if ok else 'NO'}" for key, ok in verdict.items() if key != "method")
        print(f"  {wanted} ({verdict['method']}): {words}")


if __name__ == "__main__":
    main()
