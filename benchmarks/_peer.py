"""Run by `benchmarks.peers` in another library's environment: the job from files, the answer to files.

Knows nothing of holdtrue. The model is numpy arrays, asked with one-hot columns made from the people's own.
"""

import json
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

warnings.filterwarnings("ignore")


class Network:
    """The exported network behind the interface that these libraries ask for."""

    classes_ = np.array([0, 1])

    def __init__(self, place):
        self.about = json.loads((place / "about.json").read_text())
        with np.load(place / "model.npz") as arrays:
            self.layers = [arrays[f"arr_{i}"].astype(float) for i in range(len(arrays.files))]
        self.columns = self.about["columns"]
        self.names = [c["name"] for c in self.columns]

    def encode(self, frame):
        x = np.zeros((len(frame), self.about["n_columns"]))
        for c in self.columns:
            values = np.asarray(frame[c["name"]])
            if "levels" in c:
                for i, level in enumerate(c["levels"]):
                    x[:, c["start"] + i] = values.astype(str) == str(level)
            else:
                x[:, c["start"]] = (values.astype(float) - c["offset"]) / c["scale"]
        return x

    def of_codes(self, rows):
        """Probabilities of an array whose categories are positions in their lists of levels."""
        x = np.zeros((len(rows), self.about["n_columns"]))
        for j, c in enumerate(self.columns):
            if "levels" in c:
                x[np.arange(len(rows)), c["start"] + rows[:, j].astype(int)] = 1.0
            else:
                x[:, c["start"]] = (rows[:, j] - c["offset"]) / c["scale"]
        return self.of_encoded(x)

    def predict_proba(self, frame):
        return self.of_encoded(self.encode(frame))

    def of_encoded(self, h):
        pairs = list(zip(self.layers[::2], self.layers[1::2]))  # noqa: B905 - older Pythons too
        for i, (weight, bias) in enumerate(pairs):
            h = h @ weight.T + bias
            h = np.maximum(h, 0) if i < len(pairs) - 1 else h
        p = np.exp(h - h.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)

    def predict(self, frame):
        return (self.predict_proba(frame)[:, 1] >= self.about["threshold"]).astype(int)


def dice(how, network, train, people):
    """DiCE, one counterfactual each."""
    import dice_ml

    numbers = [c["name"] for c in network.columns if "levels" not in c]
    # Its genetic search decodes by position, and expects the numbers first.
    order = numbers + [n for n in network.names if n not in numbers]
    train, people = _texts(network, train)[[*order, "_label"]], _texts(network, people)[order]
    data = dice_ml.Data(dataframe=train, continuous_features=numbers, outcome_name="_label")
    model = dice_ml.Model(model=network, backend="sklearn")
    explainer = dice_ml.Dice(data, model, method=how)
    free = [n for n in network.names if n not in network.about["fixed"]]
    rows = []
    began = time.perf_counter()
    for i in range(len(people)):
        try:
            made = explainer.generate_counterfactuals(
                people.iloc[i : i + 1], total_CFs=1, desired_class=1, features_to_vary=free, verbose=False
            )
            frame = made.cf_examples_list[0].final_cfs_df
        except Exception as error:  # the library raises where it finds nothing
            frame = None
            print(f"person {i}: {type(error).__name__}: {error}", file=sys.stderr)
        rows.append(None if frame is None or not len(frame) else frame.iloc[0][network.names])
    return rows, time.perf_counter() - began, "dice-ml"


def nice(network, train, people):
    """NICE for sparsity; it has no way to fix a column."""
    from nice import NICE

    coded = [c for c in network.columns if "levels" in c]
    places = [i for i, c in enumerate(network.columns) if "levels" in c]
    numbers = [i for i, c in enumerate(network.columns) if "levels" not in c]

    def to_codes(frame):
        out = frame[network.names].copy()
        for c in coded:
            index = {str(level): i for i, level in enumerate(c["levels"])}
            out[c["name"]] = [index[str(v)] for v in out[c["name"]]]
        return out.to_numpy(float)

    def to_frame(rows):
        out = pd.DataFrame(np.atleast_2d(rows), columns=network.names)
        for c in coded:
            out[c["name"]] = [c["levels"][int(v)] for v in out[c["name"]]]
        return out

    labels = train["_label"].to_numpy()
    explainer = NICE(
        X_train=to_codes(train), predict_fn=network.of_codes, y_train=labels,
        cat_feat=places, num_feat=numbers, optimization="sparsity", justified_cf=True,
    )  # fmt: skip
    codes = to_codes(people)
    rows = []
    began = time.perf_counter()
    for i in range(len(codes)):
        try:
            rows.append(to_frame(explainer.explain(codes[i : i + 1])).iloc[0])
        except Exception as error:
            rows.append(None)
            print(f"person {i}: {type(error).__name__}: {error}", file=sys.stderr)
    return rows, time.perf_counter() - began, "NICEx"


def _texts(network, frame):
    frame = frame.copy()
    for c in network.columns:
        if "levels" in c:
            frame[c["name"]] = frame[c["name"]].astype(str)
    return frame


def main():
    name, place = sys.argv[1], Path(sys.argv[2])
    network = Network(place)
    train, people = (pd.read_csv(place / f"{name}.csv", keep_default_na=False) for name in ("train", "people"))
    if not np.allclose(network.predict_proba(people), np.load(place / "expected.npy"), atol=1e-4):
        sys.exit("the exported model does not answer as the first one does")
    if name.startswith("DiCE"):
        rows, seconds, package = dice(name.split()[1], network, train, people[network.names])
    elif name == "NICE":
        rows, seconds, package = nice(network, train, people[network.names])
    else:
        sys.exit(f"installs, but there is no driver for it here: {name}")
    has = np.array([row is not None for row in rows])
    if not has.any():
        sys.exit("found nothing for anybody")
    answer = pd.DataFrame([people.iloc[i][network.names] if row is None else row for i, row in enumerate(rows)])
    for c in network.columns:
        if "levels" not in c:
            answer[c["name"]] = np.rint(answer[c["name"]].astype(float)).astype(int)
    answer.assign(has=has).to_csv(place / "answer.csv", index=False)
    (place / "facts.json").write_text(json.dumps({"seconds": seconds, "version": version(package)}))


if __name__ == "__main__":
    main()
