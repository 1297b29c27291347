"""ElliCE beside the package of its authors, `ellice`: the worst case of a row, and recourse for the same people.

    python -m benchmarks.ellice PYTHON [--people 30]

PYTHON is the interpreter of an environment of its own that has the package, from the package index, which brings
torch. Two models of the mortgage applications as numbers, a logistic one and a network of eight units, trained
here and rebuilt there from their weights; no limits but each column's range. For 50 rows both say how low the
log-odds of a nearly optimal top layer may be. Then both look for recourse that the worst of them accepts: `robust`
is the share of people for whom the package's own formula says so of the answer, `cost` the mean l2 distance in
encoded columns over those for whom both are, `ms` processor time a person.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import holdtrue as ht
from benchmarks._common import record
from benchmarks.panel import as_numbers

TOLERANCE, RIDGE = 0.01, 1e-4
ROWS = 50
THEIRS = """
import importlib.metadata, json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np, pandas as pd, torch
from torch import nn
import ellice
from ellice.generators.continuous import ContinuousGenerator
from ellice.models import load_model
place, eps, ridge = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
torch.manual_seed(0)
kept = np.load(place + "/job.npz")
names = [f"x{i}" for i in range(kept["x"].shape[1])]
layers = []
for i in range(int(kept["layers"])):
    weight, bias = kept[f"weight{i}"], kept[f"bias{i}"]
    layer = nn.Linear(weight.shape[1], weight.shape[0])
    layer.weight.data, layer.bias.data = torch.tensor(weight), torch.tensor(bias)
    layers += [layer, nn.ReLU()]
model = nn.Sequential(*layers[:-1])
data = ellice.Data(pd.DataFrame(kept["x"], columns=names).assign(y=kept["y"]), "y", continuous_features=names)
search = ContinuousGenerator(load_model(model), data, eps=eps, reg_coef=ridge, device="cpu")
frame = lambda rows: pd.DataFrame(rows, columns=names)
worst = lambda rows: np.log(p := search.get_worst_case_prob(frame(rows))) - np.log1p(-p)
began, found = time.process_time(), []
for _, row in frame(kept["people"]).iterrows():
    told = search.generate(query_instance=row, progress_bar=False, requires="robust", features_to_vary="all")
    found.append(told[names].to_numpy(np.float32)[0] if len(told) else np.full(len(names), np.nan, np.float32))
spent = time.process_time() - began
ours = kept["ours"]
print(json.dumps({
    "version": importlib.metadata.version("ellice"), "worst": worst(kept["rows"]).tolist(), "seconds": spent,
    "found": np.array(found).tolist(),
    "theirs": [float(worst(one[None])[0]) if np.isfinite(one).all() else None for one in found],
    "ours": [float(worst(one[None])[0]) for one in ours],
}))
"""


def layers_of(model: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights and biases, the last of them of the log-odds."""
    top = [(np.asarray(part) for part in model.top)]
    below = zip(model.weights[:-1], model.biases[:-1], strict=True) if hasattr(model, "weights") else ()
    out = [(np.asarray(weight), np.asarray(bias)) for weight, bias in below]
    ((weight, bias),) = (tuple(pair) for pair in top)
    return [*out, (weight[1:] - weight[:1], bias[1:] - bias[:1])]


def worst_of(method: ht.ElliCE, layers: list[tuple[np.ndarray, np.ndarray]], rows: np.ndarray) -> np.ndarray:
    """The worst log-odds by the factor that the method learned: its layers are of both logits."""
    inner = rows
    for weight, bias in layers[:-1]:
        inner = np.maximum(inner @ weight.T + bias, 0)
    (weight, bias), phi = layers[-1], np.column_stack([inner, np.ones(len(inner))])
    reach = np.linalg.norm(np.column_stack([-phi, phi]) @ method.state_["factor"].T, axis=1)
    return (inner @ weight.T + bias)[:, 0] - np.sqrt(2 * TOLERANCE) * reach


def compare(kind: str, python: str, n_people: int) -> dict[str, Any]:
    """One model in both packages."""
    X, y, _ = as_numbers("loanapp")
    schema = ht.Schema([ht.Feature(name=str(name), kind="numeric") for name in X])
    architecture = ht.Linear() if kind == "logistic" else ht.MLP(widths=(8,), activation="relu", dropout=0.0)
    regime = ht.StandardTraining(n_epochs=100, step_size=0.01)
    clf = ht.RecourseClassifier(schema=schema, model=architecture, regime=regime, hold=None, random_state=0).fit(
        X, y
    )
    method = ht.ElliCE(base=ht.Wachter(norm="l2"), tolerance=TOLERANCE, ridge=RIDGE, random_state=0).fit(clf, X, y)
    encoder, layers = clf.predictor_.encoder, layers_of(clf.predictor_.decision.model)
    people = X[clf.predict(X) != clf.predictor_.favourable].iloc[:n_people]
    method.recourse(people)
    began = time.process_time()
    plan = method.recourse(people)
    spent = time.process_time() - began
    x, asked, ours = (np.asarray(encoder.encode(t), np.float32) for t in (X, people, plan.recourse))
    with tempfile.TemporaryDirectory() as folder:
        kept = {
            f"{name}{i}": part
            for i, pair in enumerate(layers)
            for name, part in zip(("weight", "bias"), pair, strict=True)
        }
        np.savez(
            Path(folder) / "job.npz", x=x, y=y, rows=x[:ROWS], people=asked, ours=ours, layers=len(layers), **kept
        )
        told = subprocess.run(
            [python, "-c", THEIRS, folder, str(TOLERANCE), str(RIDGE)], capture_output=True, text=True
        )
    if told.returncode:
        return {"failed": told.stderr.strip().splitlines()[-1]}
    said = json.loads(told.stdout.strip().splitlines()[-1])
    theirs, mine = (np.array(said[who], float) for who in ("theirs", "ours"))
    both = (theirs >= 0) & (mine >= 0)
    cost = lambda rows: float(np.linalg.norm(np.array(rows, float) - asked, axis=1)[both].mean())  # noqa: E731
    return {
        "ellice": said["version"],
        "people": len(people),
        "worst log-odds differ by at most": float(
            np.abs(worst_of(method, layers, x[:ROWS]) - said["worst"]).max()
        ),
        "robust, holdtrue": float((mine >= 0).mean()),
        "robust, ellice": float((theirs >= 0).mean()),
        "cost, holdtrue": cost(ours),
        "cost, ellice": cost(said["found"]),
        "ms, holdtrue": 1000 * spent / len(people),
        "ms, ellice": 1000 * said["seconds"] / len(people),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("python")
    parser.add_argument("--people", type=int, default=30)
    options = parser.parse_args()
    values = {kind: compare(kind, options.python, options.people) for kind in ("logistic", "network")}
    record("ellice", f"python -m benchmarks.ellice PYTHON --people {options.people}", values)


if __name__ == "__main__":
    main()
