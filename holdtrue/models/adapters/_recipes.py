"""How a raw booster was trained, read from it: what a classifier of its library is told to train it again.

LightGBM and CatBoost write their parameters into the file. XGBoost does not, but its trees keep sums from which
they follow: see `_from_xgboost_trees`.
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdtrue._types import Estimator, JsonObject, Label, NativeFrame
from holdtrue.errors import DataError
from holdtrue.models.adapters._given import LightGBMBooster

CLOSE = 0.02  # by which share the sums of a tree may miss, for roundings in float32 and an L1 penalty
ALIKE = 0.1  # how far apart, on average, the probabilities of the model and of the recipe trained anew may be
TURNS = 20
BOTTOM_SPLITS = 50  # fewer do not tell the least gain that was asked of a split
OF_LIGHTGBM = {
    "boosting": "boosting_type", "learning_rate": "learning_rate", "num_leaves": "num_leaves",
    "max_depth": "max_depth", "min_data_in_leaf": "min_child_samples",
    "min_sum_hessian_in_leaf": "min_child_weight", "bagging_fraction": "subsample",
    "bagging_freq": "subsample_freq", "feature_fraction": "colsample_bytree", "lambda_l1": "reg_alpha",
    "lambda_l2": "reg_lambda", "min_gain_to_split": "min_split_gain",
    "bin_construct_sample_cnt": "subsample_for_bin",
}  # fmt: skip
"""What LightGBM's file calls a parameter, and its classifier."""
AS_LIGHTGBM = (
    "data_sample_strategy", "pos_bagging_fraction", "neg_bagging_fraction", "feature_fraction_bynode",
    "extra_trees", "max_delta_step", "linear_tree", "linear_lambda", "drop_rate", "max_drop", "skip_drop",
    "xgboost_dart_mode", "uniform_drop", "top_rate", "other_rate", "min_data_per_group", "max_cat_threshold",
    "cat_l2", "cat_smooth", "max_cat_to_onehot", "monotone_constraints", "monotone_constraints_method",
    "monotone_penalty", "interaction_constraints", "path_smooth", "max_bin", "min_data_in_bin", "use_missing",
    "zero_as_missing", "is_unbalance", "scale_pos_weight", "boost_from_average", "sigmoid",
)  # fmt: skip
"""Those that are called the same."""
NOT_OF_CATBOOST = (
    "verbose", "silent", "logging_level", "verbose_eval", "metric_period", "train_dir", "thread_count",
    "allow_writing_files", "random_seed", "random_state", "num_boost_round", "n_estimators", "num_trees",
    "use_best_model", "od_type", "od_wait", "od_pval", "early_stopping_rounds", "cat_features", "eta",
)  # fmt: skip
"""What says nothing of the next training, or is said anew."""


@dataclass(frozen=True)
class Recipe:
    """A classifier, not fitted, that is trained as a booster was; and what was read to make it, in words."""

    estimator: Estimator
    said: str


def recipe_of(estimator: Estimator, n_rows: int | None = None) -> Recipe | None:
    """What trains a raw booster again; None where that cannot be read.

    Parameters
    ----------
    estimator : object
        What `as_classifier` made of a booster.
    n_rows : int, optional
        Of the table that it was trained on: the share of rows that each tree of XGBoost saw follows from it.
    """
    if isinstance(estimator, LightGBMBooster):
        return _from_lightgbm(estimator.booster_)
    library = type(estimator).__module__.partition(".")[0]
    if library == "xgboost":
        return _from_xgboost_trees(estimator, n_rows)
    return _from_catboost(estimator) if library == "catboost" else None


def as_it_was_fitted(estimator: Estimator) -> Estimator:
    """What is cloned to train a model again.

    CatBoost's parameters lack categories that only `fit` was told of; and a list of them, of which every copy has
    another, is what scikit-learn refuses to clone.
    """
    if type(estimator).__module__.partition(".")[0] != "catboost":
        return estimator
    model: Any = estimator
    categories = tuple(map(int, model.get_cat_feature_indices()))
    return type(model)(**model.get_params() | {"cat_features": categories}) if categories else estimator


def check_recipe(recipe: Recipe, estimator: Estimator, frame: NativeFrame, labels: np.ndarray) -> str:
    """Train the recipe on the rows that the model learned from, and hold it against the model.

    Returns
    -------
    str
        What was read, and how near the two are. Models that are not alike are an error.
    """
    from sklearn.base import clone

    again: Any = clone(recipe.estimator)
    states = {name: 0 for name, value in again.get_params().items() if name == "random_state" and value is None}
    again.set_params(**states).fit(frame, labels)
    first, second = (np.asarray(model.predict_proba(frame), np.float64) for model in (estimator, again))
    apart = float(np.abs(first - second).mean()) if first.shape == second.shape else float("inf")
    if not apart <= ALIKE:
        raise DataError(
            f"retrain: the recipe that was read from the model ({recipe.said}) gives another model on these rows; "
            f"got probabilities that are {apart:.2g} apart on average. Give the table and the labels that it was "
            "trained on, or the model with its parameters: its library's classifier, written by skops.io.dump."
        )
    same = float((first.argmax(axis=1) == second.argmax(axis=1)).mean())
    return (
        f"{recipe.said}; trained anew on these rows it decides {same:.1%} of them alike, and its probabilities "
        f"are {apart:.2g} apart on average."
    )


TOLD_APART = 0.02  # by which mean chances on the rows of two words must differ, to tell which is which


def has_words(labels: np.ndarray, classes: np.ndarray) -> bool:
    """Whether labels are words for a model that was trained on 0, 1, ..., as a raw booster is."""
    names: list[Label] = sorted(set(labels.tolist()))
    return names != classes.tolist() and classes.tolist() == list(range(len(names)))


def words_of_codes(labels: np.ndarray, proba: np.ndarray) -> list[Label]:
    """Which word stands for 0, 1, ...: of two, the one whose rows the model gives the greater chance of 1.

    Who coded them may have gone by their order, or made 1 of what they wanted: "approve" comes before "deny".
    Several go by their order.

    Parameters
    ----------
    labels : array
        A word per row.
    proba : array (rows, classes)
        What the model says of these rows.
    """
    names: list[Label] = sorted(set(labels.tolist()))
    if len(names) != 2:
        return names
    first, second = (float(proba[labels == name, 1].mean()) for name in names)
    if abs(first - second) < TOLD_APART:
        raise DataError(
            f"adopt: the model knows 0 and 1, and does not tell which of the labels is which; got mean chances of "
            f"{first:.3f} and {second:.3f} for {names[0]!r} and {names[1]!r}. Write 0 and 1 in the label column."
        )
    return names if second > first else names[::-1]


# ---- LightGBM and CatBoost: as they were told --------------------------------------------------------------


def _from_lightgbm(booster: Estimator) -> Recipe | None:
    import lightgbm

    told = {name: value for name, value in booster.params.items() if value not in ("", None, [])}
    if "learning_rate" not in told or "num_leaves" not in told:
        return None
    rounds = booster.current_iteration()
    params = {ours: told[theirs] for theirs, ours in OF_LIGHTGBM.items() if theirs in told}
    params |= {name: told[name] for name in AS_LIGHTGBM if name in told}
    made = lightgbm.LGBMClassifier(n_estimators=rounds, n_jobs=1, verbose=-1, random_state=None, **params)
    shown = {name: params[name] for name in ("learning_rate", "num_leaves", "max_depth", "min_child_samples")}
    return Recipe(made, f"Parameters read from the LightGBM model: {rounds} rounds, {_listed(shown)}")


def _from_catboost(model: Estimator) -> Recipe | None:
    import catboost

    told: JsonObject = dict(model.get_params())
    every: JsonObject = model.get_all_params()
    if not every:
        return None
    rounds, categories = model.tree_count_, model.get_cat_feature_indices()
    told = {name: value for name, value in told.items() if name not in NOT_OF_CATBOOST}
    told |= {"cat_features": tuple(map(int, categories))} if len(categories) else {}
    # A rate that CatBoost chose by the number of rows and rounds is kept.
    told |= {"learning_rate": round(float(every["learning_rate"]), 8), "iterations": rounds}
    made = catboost.CatBoostClassifier(**told, verbose=0, thread_count=1, allow_writing_files=False)
    shown = {name: every[name] for name in ("learning_rate", "depth", "l2_leaf_reg") if name in every}
    return Recipe(made, f"Parameters read from the CatBoost model: {rounds} rounds, {_listed(shown)}")


# ---- XGBoost: from what its trees keep ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Trees:
    """Every node of every tree: its children (-1 in a leaf), weight, sum of second derivatives and gain."""

    left: np.ndarray
    right: np.ndarray
    weight: np.ndarray
    hessian: np.ndarray
    gain: np.ndarray
    depths: np.ndarray
    leaves: np.ndarray
    first_root: float


def _from_xgboost_trees(model: Estimator, n_rows: int | None) -> Recipe | None:
    """Rate and penalty from sums that every tree keeps; depth, rounds and the rest from its shape.

    A node's weight is ``w = -G / (H + lambda)``, and a leaf's is that times the rate ``eta``. G, the sum of first
    derivatives, is not kept, but a parent's is the sum of its children's, so that every split gives an equation
    ``w (H + lambda) = wl (Hl + lambda) + wr (Hr + lambda)``, with ``w / eta`` in place of w for leaves: two
    unknowns, and as many equations as splits. Where they do not hold, the model was trained in a way that this
    does not know.
    """
    import xgboost

    learner = json.loads(bytes(model.get_booster().save_raw("json")))["learner"]
    if learner["gradient_booster"]["name"] != "gbtree":
        return None
    forest = learner["gradient_booster"]["model"]
    parallel = int(forest["gbtree_model_param"]["num_parallel_tree"])
    if any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in forest["trees"]):
        return None
    trees = _gathered(forest["trees"])
    solved = None if trees is None else _rate_and_penalty(trees)
    if trees is None or solved is None:
        return None
    n_groups = max(1, int(learner["learner_model_param"]["num_class"]))
    attributes = learner["attributes"]
    rounds = len(forest["trees"]) // (parallel * n_groups)
    if "best_iteration" in attributes:
        rounds = int(attributes["best_iteration"]) + 1
    rate, penalty = solved
    params: JsonObject = {
        "n_estimators": rounds, "learning_rate": _round(rate * parallel), "reg_lambda": _round(penalty),
        "objective": learner["objective"]["name"], "num_parallel_tree": parallel,
        "min_child_weight": _least_weight(trees),
    }  # fmt: skip
    params |= _shape(trees) | _columns(forest["trees"], int(learner["learner_model_param"]["num_feature"]))
    gains = trees.gain[_bottom(trees)]
    stopped = params["max_depth"] and trees.leaves.mean() < 0.98 * 2 ** params["max_depth"]
    if stopped and len(gains) >= BOTTOM_SPLITS and gains.min() > 0.1:
        params["gamma"] = _floor(float(gains.min()))
    params |= _given_rows(learner, trees, n_rows, n_groups) | ({"num_class": 2} if n_groups == 2 else {})
    made = xgboost.XGBClassifier(**params, enable_categorical=True, n_jobs=1)
    shown = {name: value for name, value in params.items() if name not in ("n_estimators", "objective")}
    if parallel == 1:
        del shown["num_parallel_tree"]
    said = f"Parameters worked out from the trees of the XGBoost model: {rounds} rounds, {_listed(shown)}"
    return Recipe(made, said)


def _gathered(trees: list[JsonObject]) -> _Trees | None:
    parts, depths, leaves, at = [], [], [], 0
    for tree in trees:
        left, right = (np.asarray(tree[f"{side}_children"]) for side in ("left", "right"))
        inner = left >= 0
        weight = np.asarray(tree["base_weights"], np.float64)
        if not inner.any():
            continue
        # Of a leaf, what it adds; of other nodes, what they would add at a rate of one.
        weight = np.where(inner, weight, np.asarray(tree["split_conditions"], np.float64))
        hessian, gain = (np.asarray(tree[name], np.float64) for name in ("sum_hessian", "loss_changes"))
        parts.append((np.where(inner, left + at, -1), np.where(inner, right + at, -1), weight, hessian, gain))
        depth = np.zeros(len(left), int)
        for node in np.flatnonzero(inner):  # parents come before their children
            depth[[left[node], right[node]]] = depth[node] + 1
        depths.append(depth.max())
        leaves.append((~inner).sum())
        at += len(left)
    if not parts:
        return None
    left, right, weight, hessian, gain = (np.concatenate(part) for part in zip(*parts, strict=True))
    shape = np.asarray(depths), np.asarray(leaves)
    return _Trees(left, right, weight, hessian, gain, *shape, float(hessian[0]))


def _rate_and_penalty(trees: _Trees) -> tuple[float, float] | None:
    """Learning rate of a tree and L2 penalty, where the equations of all splits agree on them."""
    node = np.flatnonzero(trees.left >= 0)
    node = node[np.abs(trees.weight[node]) < 1e6]
    w, h, leaf = trees.weight, trees.hessian, trees.left < 0
    children = np.stack([trees.left[node], trees.right[node]])
    of_leaves, of_others = (np.where(leaf[children] == kind, w[children], 0.0) for kind in (True, False))
    # With a = 1 / eta: w H - sum of inner wi Hi = a (sum wl Hl + lambda sum wl) + lambda (sum of inner wi - w).
    own = w[node] * h[node] - (of_others * h[children]).sum(axis=0)
    matrix = np.stack(
        [(of_leaves * h[children]).sum(axis=0), of_leaves.sum(axis=0), (of_others.sum(axis=0) - w[node])], axis=1
    )
    last = leaf[children].any(axis=0)
    if last.sum() < 3:
        return None
    (a, _, penalty), *_ = np.linalg.lstsq(matrix, own, rcond=None)
    if not a > 0:
        return None
    # The penalty is in the second, times a, and in the third: from there on a and it take turns.
    for _ in range(TURNS):
        joint = matrix[:, 0] + penalty * matrix[:, 1]
        a = float(joint @ (own - penalty * matrix[:, 2]) / (joint @ joint))
        slope = a * matrix[:, 1] + matrix[:, 2]
        penalty = max(0.0, float(slope @ (own - a * matrix[:, 0]) / max(slope @ slope, 1e-30)))
    rate = 1.0 / a if a > 0 else np.nan
    missed = own - (matrix[:, 0] / rate + penalty * (matrix[:, 1] / rate + matrix[:, 2]))
    size = np.abs(own).mean() + np.abs(matrix[:, 0] / rate).mean()
    if not (np.abs(missed).mean() <= CLOSE * size and 0 < rate <= 10):
        return None
    return float(rate), penalty


def _shape(trees: _Trees) -> JsonObject:
    deepest, most = int(trees.depths.max()), int(trees.leaves.max())
    if most < 2**deepest and (trees.leaves == most).mean() > 0.9 and len(trees.leaves) > 1:
        return {"max_depth": 0, "max_leaves": most, "grow_policy": "lossguide"}
    return {"max_depth": deepest}


def _columns(trees: list[JsonObject], n_features: int) -> JsonObject:
    """The share of columns that each tree was given: none uses more, though all of them together do."""
    used = [
        set(np.asarray(tree["split_indices"])[np.asarray(tree["left_children"]) >= 0].tolist()) for tree in trees
    ]
    splits = [int((np.asarray(tree["left_children"]) >= 0).sum()) for tree in trees]
    most = max(map(len, used))
    # A tree that splits twice as often as there are columns, and misses some every time, was not given them.
    told = len(used) >= 5 and min(splits) >= 2 * most and most < len(set().union(*used))
    return {"colsample_bytree": _round(most / n_features)} if told and min(map(len, used)) == most else {}


def _bottom(trees: _Trees) -> np.ndarray:
    """Splits whose both sides are leaves: those that a least gain would have spared."""
    inner = np.flatnonzero(trees.left >= 0)
    leaf = trees.left < 0
    return inner[leaf[trees.left[inner]] & leaf[trees.right[inner]]]


def _least_weight(trees: _Trees) -> float:
    """What no leaf lies below: the model kept to it, whether it was told so or not."""
    least = float(trees.hessian[trees.left < 0].min())
    return float(np.floor(least + 1e-4)) if least >= 1 else (_floor(least) if least > 1e-3 else 0.0)


def _given_rows(learner: JsonObject, trees: _Trees, n_rows: int | None, n_groups: int) -> JsonObject:
    """The weight of the second class, and the share of rows that a tree saw, of two classes."""
    if n_groups > 1:
        return {}
    extra = float(learner["objective"].get("reg_loss_param", {}).get("scale_pos_weight", 1))
    if extra != 1:
        return {"scale_pos_weight": extra}
    if n_rows is None:
        return {}
    base = float(str(learner["learner_model_param"]["base_score"]).strip("[]"))
    share = trees.first_root / (n_rows * base * (1 - base)) if 0 < base < 1 else 1.0
    return {"subsample": round(share, 2)} if 0.02 < share < 0.985 else {}


def _round(value: float) -> float:
    """To three significant digits: what people write."""
    return float(f"{value:.3g}") if value > 1e-3 else 0.0


def _floor(value: float) -> float:
    """Down to one significant digit."""
    unit = 10.0 ** np.floor(np.log10(value))
    return float(np.floor(value / unit) * unit)


def _listed(params: JsonObject) -> str:
    return ", ".join(f"{name}={value:g}" if isinstance(value, (int, float)) and not isinstance(value, bool)
                     else f"{name}={value}" for name, value in params.items())  # fmt: skip
