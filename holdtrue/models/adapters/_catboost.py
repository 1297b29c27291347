"""CatBoost's trees, read from the model as CatBoost writes it."""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from holdtrue._optional import need
from holdtrue._types import Cell, Estimator, JsonObject, NativeFrame
from holdtrue.models.adapters._columns import Column, Levels, NotUnderstood
from holdtrue.models.adapters._forests import Read
from holdtrue.models.adapters._grow import Comparison, Sums, Tree

CATBOOST = ("CatBoostClassifier",)
LOSSES = ("Logloss", "CrossEntropy", "MultiClass")


def catboost_trees(estimator: Estimator, columns: list[Column], rows: NativeFrame) -> Read:
    """Read CatBoost's trees: a float32 value goes right above a float32 border; leaves add up in float64.

    Parameters
    ----------
    estimator : CatBoostClassifier
    columns : list of Column
    rows : dataframe
        People in the model's own columns, from whom CatBoost knows its categories by their names.
    """
    raw = _as_json(estimator, rows)
    info = raw["features_info"]
    if any(info.get(kind) for kind in ("text_features", "embedding_features")):
        raise NotUnderstood("CatBoost with texts or embeddings")
    params = raw["model_info"]["params"]
    loss = (json.loads(params) if isinstance(params, str) else params)["loss_function"]["type"]
    if loss not in LOSSES:
        raise NotUnderstood(f"CatBoost with {loss}")
    k = len(estimator.classes_)
    width = 1 if k == 2 and loss != "MultiClass" else k
    reader = _Splits(info, columns)
    nested = raw.get("trees")
    if nested is None:
        trees = [_oblivious(tree, reader, width) for tree in raw["oblivious_trees"]]
    else:
        trees = [_nested(tree, reader, width) for tree in nested]
    scale, bias = raw["scale_and_bias"]
    base = np.broadcast_to(np.asarray(bias, np.float64), width) / scale
    sums = Sums("binary" if width == 1 else "softmax", k, base, float(scale))
    return trees, reader.columns, Comparison(strict=False, single=True), sums


def _as_json(estimator: Estimator, rows: NativeFrame) -> JsonObject:
    pool = None
    if len(estimator.get_cat_feature_indices()):
        catboost = need("catboost", extra="catboost", what="recourse: a CatBoost model")
        pool = catboost.Pool(rows, cat_features=estimator.get_cat_feature_indices())
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "model.json"
        estimator.save_model(str(place), format="json", pool=pool)
        return json.loads(place.read_text(encoding="utf-8"))


class _Splits:
    """What each split asks, in the terms of `Tree`."""

    def __init__(self, info: JsonObject, columns: list[Column]) -> None:
        self.numbers = {f["feature_index"]: f for f in info.get("float_features", ())}
        self.levels = {f["feature_index"]: f["flat_feature_index"] for f in info.get("categorical_features", ())}
        known = {h["hash"]: h["value"] for h in info.get("cat_features_hash", ())}
        self.columns = list(columns)
        self.codes: dict[int, dict[int, int]] = {}
        for at in self.levels.values():
            column = columns[at]
            if not isinstance(column, Levels):
                raise NotUnderstood(f"categories of the number {column.name!r}")
            texts = [_text(value) for value in column.values]
            self.codes[at] = {h: texts.index(text) for h, text in known.items() if text in texts}
            self.columns[at] = Levels(column.name, np.arange(len(texts), dtype=np.float64))

    def of(self, split: JsonObject) -> tuple[int, float, bool, set[int] | None]:
        """Column, threshold, where a missing value goes, and the codes that go left where it asks for some."""
        kind = split["split_type"]
        if kind == "FloatFeature":
            feature = self.numbers[split["float_feature_index"]]
            left = feature["nan_value_treatment"] != "AsTrue"
            return feature["flat_feature_index"], float(np.float32(split["border"])), left, None
        if kind == "OneHotFeature":
            at = self.levels[split["cat_feature_index"]]
            wanted = self.codes[at].get(split["value"] % 2**32)
            others = {code for code in range(len(self.columns[at].values)) if code != wanted}
            return at, 0.0, True, others
        raise NotUnderstood("CatBoost with counters of categories (set one_hot_max_size to read them)")


def _oblivious(tree: JsonObject, reader: _Splits, width: int) -> Tree:
    """A tree that asks the same at all nodes of one depth; answers are the bits of the leaf's number."""
    splits = [reader.of(split) for split in tree.get("splits") or ()]
    depth = len(splits)
    inner, n = 2**depth - 1, 2 ** (depth + 1) - 1
    level = np.log2(np.arange(1, n + 1)).astype(int)
    column, threshold, default = np.zeros(n, int), np.zeros(n), np.zeros(n, bool)
    left = np.where(np.arange(n) < inner, 2 * np.arange(n) + 1, -1)
    sets: dict[int, tuple[set[int], bool]] = {}
    for node in range(inner):
        column[node], threshold[node], default[node], chosen = splits[level[node]]
        if chosen is not None:
            sets[node] = (chosen, False)
    # Along the path of a node the first answer is the highest bit here, and the lowest of CatBoost's number.
    paths = np.arange(2**depth)
    number = sum(((paths >> (depth - 1 - i)) & 1) << i for i in range(depth)) if depth else np.zeros(1, int)
    values = np.zeros((n, width))
    values[inner:] = np.asarray(tree["leaf_values"], np.float64).reshape(-1, width)[number]
    return _tree(column, threshold, left, np.where(left < 0, -1, left + 1), default, values, sets)


def _nested(root: JsonObject, reader: _Splits, width: int) -> Tree:
    """A tree of any shape."""
    rows: list[list[Cell]] = []
    sets: dict[int, tuple[set[int], bool]] = {}
    values: list[np.ndarray] = []

    def add(node: JsonObject) -> int:
        at = len(rows)
        rows.append([0, 0.0, -1, -1, False])
        values.append(np.zeros(width))
        if "split" not in node:
            values[at] = np.broadcast_to(np.asarray(node["value"], np.float64), width)
            return at
        column, threshold, default, chosen = reader.of(node["split"])
        if chosen is not None:
            sets[at] = (chosen, False)
        rows[at] = [column, threshold, add(node["left"]), add(node["right"]), default]
        return at

    add(root)
    column, threshold, left, right, default = (np.array(part) for part in zip(*rows, strict=True))
    return _tree(column, threshold, left, right, default, np.stack(values), sets)


def _tree(
    column: np.ndarray,
    threshold: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    default: np.ndarray,
    values: np.ndarray,
    sets: dict[int, tuple[set[int], bool]],
) -> Tree:
    several = values.shape[1] > 1
    return Tree(
        column, threshold, left, right, default, values if several else values[:, 0], None if several else 0, sets
    )


def _text(value: Any) -> str:
    """A category as CatBoost has it: whole numbers without a point."""
    return str(int(value)) if isinstance(value, float) and value == int(value) else str(value)
