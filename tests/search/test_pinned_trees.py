"""What is found in tree ensembles, and after how many boxes: work on speed must not change it."""

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.search import Status

lightgbm = pytest.importorskip("lightgbm")

COLUMNS, DEPTH, TREES = list("abcdefghij"), 4, 60
HEAD = """tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx={most}
objective=binary sigmoid:1
feature_names={names}
feature_infos={infos}

"""
TREE = """Tree={i}
num_leaves={leaves}
num_cat=0
split_feature={features}
split_gain={ones}
threshold={thresholds}
decision_type={twos}
left_child={left}
right_child={right}
leaf_value={values}
shrinkage=1

"""


def booster(seed: int):
    """Full trees whose splits and leaves are drawn here, and not by a library that may draw otherwise tomorrow."""
    rng = np.random.default_rng(seed)
    n = 2**DEPTH - 1
    said = HEAD.format(most=len(COLUMNS) - 1, names=" ".join(COLUMNS), infos=" ".join(["[0:100]"] * len(COLUMNS)))
    for i in range(TREES):
        children = np.arange(1, 2 * n + 1)  # of a node, 2 j + 1 and 2 j + 2; from n on they are leaves
        places = np.where(children < n, children, -(children - n) - 1)
        parts = {
            "features": rng.integers(0, len(COLUMNS), n), "thresholds": rng.integers(0, 100, n) + 0.5,
            "left": places[::2], "right": places[1::2], "values": np.round(rng.normal(-0.02, 0.3, n + 1), 6),
            "ones": np.ones(n, int), "twos": np.full(n, 2),
        }  # fmt: skip
        said += TREE.format(i=i, leaves=n + 1, **{k: " ".join(map(str, v)) for k, v in parts.items()})
    return lightgbm.Booster(model_str=said + "end of trees\n")


# Answers as they were before leaves were put in order and seen in two steps; boxes since dives have five strides.
PINNED: dict[tuple[str, int | None], tuple[list[str], list[float], list[int]]] = {
    ("l1", None): (
        ["OPTIMAL", "OPTIMAL", "FOUND", "OPTIMAL", "OPTIMAL", "OPTIMAL", "OPTIMAL", "OPTIMAL"],
        [0.0407133, 0.0808081, 0.364564, 0.2026386, 0.3552876, 0.1212121, 0.0909091, 0.0707071],
        [23, 88, 3000, 629, 1774, 473, 79, 37],
    ),
    ("linf", None): (
        ["OPTIMAL", "OPTIMAL", "OPTIMAL", "OPTIMAL", "OPTIMAL", "OPTIMAL", "OPTIMAL", "OPTIMAL"],
        [0.030303, 0.0306122, 0.0918367, 0.0808081, 0.1212121, 0.040404, 0.050505, 0.050505],
        [23, 62, 66, 362, 835, 50, 62, 31],
    ),
    ("l0", None): (
        ["OPTIMAL", "OPTIMAL", "FOUND", "OPTIMAL", "OPTIMAL", "OPTIMAL", "OPTIMAL", "OPTIMAL"],
        [1.0, 1.0, 3.0, 2.0, 2.0, 2.0, 1.0, 1.0],
        [28, 31, 3000, 954, 493, 664, 41, 33],
    ),
    ("l2", 2): (
        ["OPTIMAL", "OPTIMAL", "NOT_FOUND", "FOUND", "FOUND", "OPTIMAL", "OPTIMAL", "OPTIMAL"],
        [0.0322357, 0.0931267, np.nan, 0.7189479, 1.0226493, 0.1961261, 0.0714249, 0.1929795],
        [18, 207, 3500, 3000, 3000, 738, 81, 685],
    ),
}


@pytest.mark.parametrize(("norm", "most"), [("l1", None), ("linf", None), ("l0", None), ("l2", 2)])
def test_answers_and_boxes_are_those_of_before(norm, most):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.integers(0, 100, (400, len(COLUMNS))).astype(float), columns=COLUMNS)
    features = [ht.Feature(name=c, kind="integer", bounds=(0, 100)) for c in COLUMNS[1:]]
    schema = ht.Schema([ht.Feature(name="a", kind="integer", bounds=(0, 100), direction="increase"), *features])
    predictor = ht.wrap(booster(0), schema, X, threshold=0.9, favourable=1)
    assert "trees" in predictor.capabilities
    refused = X[predictor.decide(schema.check(X, where="test")) == 0].head(8)
    plan = ht.SparseSearch(norm=norm, max_changes=most).fit(predictor, X).recourse(refused)
    statuses, costs, boxes = PINNED[norm, most]
    assert [Status(status).name for status in plan.status] == statuses
    np.testing.assert_allclose(plan.cost, costs, atol=1e-6)
    assert plan.n_steps.tolist() == boxes
