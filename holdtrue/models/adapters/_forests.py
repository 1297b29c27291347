"""Trees of scikit-learn, XGBoost and LightGBM, read from the fitted models."""

import json

import numpy as np

from holdtrue._types import Estimator, JsonObject, Label
from holdtrue.models.adapters._columns import Column, Levels, NotUnderstood, transformed
from holdtrue.models.adapters._grow import Comparison, Sums, Tree

SKLEARN = (
    "DecisionTreeClassifier",
    "ExtraTreeClassifier",
    "RandomForestClassifier",
    "ExtraTreesClassifier",
    "GradientBoostingClassifier",
    "HistGradientBoostingClassifier",
)
XGBOOST = ("XGBClassifier", "XGBRFClassifier")
LIGHTGBM = ("LGBMClassifier",)  # and a raw booster

Read = tuple[list[Tree], list[Column], Comparison, Sums]


def sklearn_trees(estimator: Estimator, name: str, columns: list[Column]) -> Read:
    """Read scikit-learn's trees: a float32 value goes left up to a float64 threshold."""
    if name.startswith("Hist"):
        return _hist(estimator, columns)
    comparison = Comparison(strict=False, single=True)
    if name == "GradientBoostingClassifier":
        return _gradient_boosting(estimator), columns, comparison, _gradient_boosting_sums(estimator)
    if getattr(estimator, "n_outputs_", 1) != 1:
        raise NotUnderstood("trees of several outputs")
    members = [estimator] if name.endswith("TreeClassifier") else estimator.estimators_
    trees = [_sklearn_tree(member.tree_, None) for member in members]
    k = len(estimator.classes_)
    return trees, columns, comparison, Sums("mean", k, np.zeros(k), 1.0 / len(trees))


def _sklearn_tree(tree: Estimator, group: int | None) -> Tree:
    value = np.asarray(tree.value[:, 0, :], np.float64)
    if group is None:
        total = value.sum(axis=1, keepdims=True)
        value = value / np.where(total > 0, total, 1.0)
    default = getattr(tree, "missing_go_to_left", None)
    default = np.zeros(tree.node_count, bool) if default is None else np.asarray(default, bool)
    return Tree(tree.feature, tree.threshold, tree.children_left, tree.children_right, default, value, group)


def _gradient_boosting(estimator: Estimator) -> list[Tree]:
    trees = []
    for stage in estimator.estimators_:
        for group, member in enumerate(stage):
            tree = _sklearn_tree(member.tree_, group)
            trees.append(
                Tree(
                    tree.column,
                    tree.threshold,
                    tree.left,
                    tree.right,
                    tree.default_left,
                    tree.value * estimator.learning_rate,
                    group,
                )
            )
    return trees


def _gradient_boosting_sums(estimator: Estimator) -> Sums:
    if not (estimator.init_ == "zero" or type(estimator.init_).__name__ == "DummyClassifier"):
        raise NotUnderstood("a GradientBoostingClassifier with an `init` of its own")
    k = len(estimator.classes_)
    base = np.ravel(estimator._raw_predict_init(np.zeros((1, estimator.n_features_in_), np.float32)))
    factor = 2.0 if estimator.loss == "exponential" else 1.0
    return Sums("binary" if k == 2 else "softmax", k, base, factor)


def _hist(estimator: Estimator, columns: list[Column]) -> Read:
    columns = _hist_columns(estimator, columns)
    trees = []
    for stage in estimator._predictors:
        for group, member in enumerate(stage):
            nodes = member.nodes
            leaf = nodes["is_leaf"].astype(bool)
            sets = {
                int(node): (_in_bitset(member.raw_left_cat_bitsets[nodes["bitset_idx"][node]]), False)
                for node in np.flatnonzero(nodes["is_categorical"] & ~leaf)
            }
            trees.append(
                Tree(
                    nodes["feature_idx"].astype(int),
                    nodes["num_threshold"],
                    np.where(leaf, -1, nodes["left"].astype(int)),
                    np.where(leaf, -1, nodes["right"].astype(int)),
                    nodes["missing_go_to_left"].astype(bool),
                    nodes["value"],
                    group,
                    sets,
                )
            )
    k = len(estimator.classes_)
    base = np.ravel(estimator._baseline_prediction).astype(np.float64)
    sums = Sums("binary" if k == 2 else "softmax", k, base)
    return trees, columns, Comparison(strict=False, single=False), sums


def _hist_columns(estimator: Estimator, columns: list[Column]) -> list[Column]:
    """Columns as the trees number them: those with categories of their own come first, as codes."""
    if estimator.is_categorical_ is None:
        return columns
    own = np.asarray(estimator.is_categorical_, bool)
    encoder = estimator._preprocessor.named_transformers_["encoder"]
    coded = transformed(encoder, [columns[i] for i in np.flatnonzero(own)])
    return [*coded, *(columns[i] for i in np.flatnonzero(~own))]


def _in_bitset(words: np.ndarray) -> set[int]:
    return {32 * i + bit for i, word in enumerate(words.tolist()) for bit in range(32) if word >> bit & 1}


# ---- XGBoost -----------------------------------------------------------------------------------------


def xgboost_trees(
    estimator: Estimator, columns: list[Column], categories: dict[str, list[Label]], *, sparse: bool
) -> Read:
    """Read XGBoost's trees: a float32 value goes left below a float32 threshold; NaN has its own way.

    Leaves are added to the base score in float32, one after the other.
    """
    if not (isinstance(estimator.missing, float) and estimator.missing != estimator.missing):
        raise NotUnderstood(f"an XGBClassifier with missing={estimator.missing!r}")
    booster = estimator.get_booster()
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    boosted, objective = learner["gradient_booster"], learner["objective"]["name"]
    if boosted["name"] != "gbtree" or objective not in ("binary:logistic", "multi:softprob", "multi:softmax"):
        raise NotUnderstood(f"XGBoost with {boosted['name']} and {objective}")
    info = learner["learner_model_param"]
    k = max(2, int(info["num_class"]))
    n_outputs = 1 if k == 2 else k
    score = np.ravel(json.loads(info["base_score"])).astype(np.float32)
    # The odds in float32 as the library has them; their logarithm to the nearest float32, which numpy's is not.
    odds = np.float32(1) / score - np.float32(1)
    base = -np.log(odds.astype(np.float64)) if k == 2 else np.broadcast_to(score, k)
    model = boosted["model"]
    raw, groups = model["trees"], model["tree_info"]
    best = getattr(booster, "attr", lambda _: None)("best_iteration")
    if best is not None:  # after early stopping the library asks only the rounds up to the best
        per_round = n_outputs * int(model["gbtree_model_param"]["num_parallel_tree"])
        raw, groups = raw[: (int(best) + 1) * per_round], groups[: (int(best) + 1) * per_round]
    trees = [_xgboost_tree(tree, int(group)) for tree, group in zip(raw, groups, strict=True)]
    sums = Sums("binary" if k == 2 else "softmax", k, np.asarray(base, np.float64), single=True)
    comparison = Comparison(strict=True, single=True, zero_is_missing=sparse)
    return trees, with_codes(columns, categories), comparison, sums


def _xgboost_tree(raw: JsonObject, group: int) -> Tree:
    left = np.asarray(raw["left_children"], int)
    condition = np.asarray(raw["split_conditions"], np.float32).astype(np.float64)
    sets = {}
    for node, start, size in zip(
        raw["categories_nodes"], raw["categories_segments"], raw["categories_sizes"], strict=True
    ):
        # The listed categories go right, all others left.
        sets[int(node)] = ({int(c) for c in raw["categories"][start : start + size]}, True)
    return Tree(
        np.asarray(raw["split_indices"], int),
        condition,
        left,
        np.asarray(raw["right_children"], int),
        np.asarray(raw["default_left"], bool),
        condition,
        group,
        sets,
    )


# ---- LightGBM ----------------------------------------------------------------------------------------


def lightgbm_trees(estimator: Estimator, columns: list[Column], categories: dict[str, list[Label]]) -> Read:
    """Read LightGBM's trees: a float64 value goes left up to a float64 threshold."""
    dump = estimator.booster_.dump_model()
    objective, *options = str(dump["objective"]).split()
    settings = dict(option.split(":") for option in options if ":" in option)
    k = len(estimator.classes_)
    if objective not in ("binary", "multiclass") or dump.get("average_output"):
        raise NotUnderstood(f"LightGBM with {objective}")
    n_outputs = int(dump["num_tree_per_iteration"])
    trees = [_lightgbm_tree(t["tree_structure"], i % n_outputs) for i, t in enumerate(dump["tree_info"])]
    known = dump.get("pandas_categorical") or []
    names = [c.name for c in columns if c.name in categories]
    if len(known) == len(names):  # categories as they were in training, in the order of the columns
        categories = dict(zip(names, known, strict=True))
    factor = float(settings.get("sigmoid", 1.0)) if k == 2 else 1.0
    sums = Sums("binary" if k == 2 else "softmax", k, np.zeros(n_outputs), factor)
    return trees, with_codes(columns, categories), Comparison(strict=False, single=False), sums


def _lightgbm_tree(root: JsonObject, group: int) -> Tree:
    rows: list[tuple[int, float, int, int, bool, float]] = []
    sets: dict[int, tuple[set[int], bool]] = {}
    waiting: list[tuple[JsonObject, int, int]] = [(root, -1, 0)]
    while waiting:
        node, parent, side = waiting.pop()
        at = len(rows)
        if parent >= 0:
            row = list(rows[parent])
            row[side] = at
            rows[parent] = tuple(row)  # type: ignore[assignment]
        if "split_feature" not in node:
            rows.append((0, 0.0, -1, -1, False, float(node["leaf_value"])))
            continue
        if "leaf_const" in node or node.get("missing_type") == "Zero":
            raise NotUnderstood("LightGBM trees that take zero for missing, or have linear leaves")
        default = bool(node["default_left"])
        threshold = 0.0
        if node["decision_type"] == "==":
            sets[at] = ({int(c) for c in str(node["threshold"]).split("||")}, False)
            default = False
        else:
            threshold = float(node["threshold"])
            if node["missing_type"] == "None":
                default = threshold >= 0.0  # a missing value is then read as 0
        rows.append((int(node["split_feature"]), threshold, -2, -2, default, 0.0))
        waiting += [(node["left_child"], at, 2), (node["right_child"], at, 3)]
    column, threshold, left, right, default, value = (np.array(part) for part in zip(*rows, strict=True))
    return Tree(column, threshold, left, right, default, value, group, sets)


def with_codes(columns: list[Column], categories: dict[str, list[Label]]) -> list[Column]:
    """Columns of a categorical dtype as the codes that a library gets."""
    out: list[Column] = []
    for column in columns:
        if isinstance(column, Levels) and column.name in categories:
            codes = {level: float(i) for i, level in enumerate(categories[column.name])}
            column = Levels(column.name, np.array([codes.get(v, np.nan) for v in column.values], np.float64))
        out.append(column)
    return out
