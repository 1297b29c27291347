"""The boxes of an ensemble's leaves: which rows end where, and what they add up to."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline

import holdtrue as ht
from holdtrue.models.adapters import TreesModel, boxes_of, sums_at
from holdtrue.testing._world import SCHEMA, people

from .conftest import labels, mixed, ordinal


def ensemble(estimator, k):
    table, _ = people()
    model = make_pipeline(ordinal(), estimator).fit(table, labels(k))
    predictor = ht.wrap(model, SCHEMA, table, favourable="(last)")
    assert isinstance(predictor.decision.model, TreesModel)
    return predictor, mixed(table, 6, seed=1)


@pytest.mark.parametrize(
    ("estimator", "k"),
    [
        (RandomForestClassifier(8, random_state=0), 2),
        (RandomForestClassifier(5, max_depth=6, random_state=0), 3),
        (HistGradientBoostingClassifier(max_iter=12, random_state=0), 2),
        (HistGradientBoostingClassifier(max_iter=6, random_state=0), 3),
    ],
)
def test_a_row_is_in_one_box_of_every_tree(estimator, k):
    predictor, table = ensemble(estimator, k)
    model = predictor.decision.model
    assert isinstance(model, TreesModel)
    boxes, flat = boxes_of(model), model.flat()
    n_missing = 0
    for row in predictor.encoder.encode(table).astype(np.float32):
        numbers, codes = (np.asarray(part) for part in model.slots(row))
        numbers, codes = numbers[: boxes.n_numbers, None], codes[boxes.n_numbers :]
        missing = np.isnan(numbers)
        n_missing += int(missing.sum())
        within = (boxes.low < numbers) & (numbers <= boxes.high)
        inside = np.where(missing, boxes.absent, within).all(axis=0)
        for j, members in enumerate(boxes.members):
            inside &= members[boxes.sets[j], codes[j]]
        assert boxes.tree[inside].tolist() == list(range(len(boxes.output)))
        sums = boxes.base.copy()
        for leaf in np.flatnonzero(inside):
            first = boxes.output[boxes.tree[leaf]]
            sums[first : first + boxes.value.shape[1]] += boxes.value[leaf]
        np.testing.assert_allclose(sums, model.sums(row), atol=1e-5)
        np.testing.assert_allclose(sums_at(flat, numbers.T, codes[None])[0], sums, atol=1e-9)
    assert n_missing > 0


def test_leaves_are_those_that_a_row_can_reach():
    predictor, _ = ensemble(RandomForestClassifier(4, max_depth=3, random_state=0), 2)
    model = predictor.decision.model
    assert isinstance(model, TreesModel)
    boxes = boxes_of(model)
    assert len(boxes.output) == 4
    assert 4 <= len(boxes.tree) <= 4 * 8
    assert (np.diff(boxes.tree) >= 0).all()
