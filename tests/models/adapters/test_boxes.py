"""The boxes of an ensemble's leaves: one look tells what the model says of every single change."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import softmax
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline

import holdtrue as ht
from holdtrue.models import batch_logits
from holdtrue.models.adapters import TreesModel, boxes_of
from holdtrue.models.adapters._boxes import running_sums
from holdtrue.testing._world import SCHEMA, people

from .conftest import labels, mixed, ordinal


def ensemble(estimator, k):
    table, _ = people()
    model = make_pipeline(ordinal(), estimator).fit(table, labels(k))
    predictor = ht.wrap(model, SCHEMA, table)
    assert isinstance(predictor.decision.model, TreesModel)
    return predictor, mixed(table, 6, seed=1)


def changed_rows(predictor, boxes, row):
    """Every cell that the person could be moved to, and the encoded row with that one feature in it."""
    encoder, cells, slots = predictor.encoder, boxes.cells, predictor.decision.model.slots
    scale, offset = encoder.scale, encoder.offset
    raw = row * scale + offset
    for cell, (slot, rank) in enumerate(zip(cells.slot.tolist(), cells.rank.tolist(), strict=True)):
        new = row.copy()
        if slot < cells.n_numbers:
            column, flag = slots.numbers[slot]
            low, high = float(cells.low[cell]), float(cells.high[cell])
            if (flag != column and raw[flag] > 0.5) or low == np.inf:
                continue
            new[column] = (low + high) / 2 if np.isfinite(low + high) else (high if np.isfinite(high) else low + 1)
        elif slot < cells.n_numbers + len(slots.positions):
            column, flag, n_levels = slots.positions[slot - cells.n_numbers]
            if (flag != column and raw[flag] > 0.5) or rank >= n_levels:
                continue
            new[column] = (rank - offset[column]) / scale[column]
        else:
            a, b = slots.groups[slot - cells.n_numbers - len(slots.positions)]
            new[a:b] = (np.eye(b - a)[rank] - offset[a:b]) / scale[a:b]
        yield cell, new


@pytest.mark.parametrize(
    ("estimator", "k"),
    [
        (RandomForestClassifier(8, random_state=0), 2),
        (RandomForestClassifier(5, max_depth=6, random_state=0), 3),
        (HistGradientBoostingClassifier(max_iter=12, random_state=0), 2),
        (HistGradientBoostingClassifier(max_iter=6, random_state=0), 3),
    ],
)
def test_one_look_equals_asking_about_every_change(estimator, k):
    predictor, table = ensemble(estimator, k)
    model = predictor.decision.model
    boxes = boxes_of(model)
    look = jax.jit(lambda b, ranks, missing: b.sums(ranks, missing))
    logits_of = jax.jit(lambda m, sums: m.logits_of(sums))
    slots_of, sums_of = eqx.filter_jit(lambda m, x: m.slots(x)), eqx.filter_jit(lambda m, x: m.sums(x))
    rows = predictor.encoder.encode(table).astype(np.float32)
    n_missing = 0
    for row in rows:
        numbers, codes = (np.asarray(part) for part in slots_of(model, row))
        slot, n = np.asarray(boxes.cells.slot), boxes.cells.n_numbers
        passed = [int((np.asarray(boxes.cells.high)[slot == j] < numbers[j]).sum()) for j in range(n)]
        ranks, missing = (
            np.concatenate([passed, codes[n:]]).astype(int),
            np.isnan(numbers) & (np.arange(len(codes)) < n),
        )
        n_missing += int(missing.sum())
        total, moved = look(boxes, ranks, missing)
        np.testing.assert_allclose(total, sums_of(model, row), atol=1e-5)
        cells, new = zip(*changed_rows(predictor, boxes, row), strict=True)
        whole = np.resize(np.arange(len(new)), -(-len(new) // 256) * 256)  # few sizes: few programs
        asked = np.asarray(batch_logits(model, np.stack(new).astype(np.float32)[whole]))[: len(new)]
        told = np.asarray(logits_of(model, moved))[:, list(cells)].T
        # Probabilities, since a vote of zero has no logarithm.
        np.testing.assert_allclose(softmax(told, axis=1), softmax(asked, axis=1), atol=2e-5)
    assert n_missing > 0


def test_leaves_are_those_that_a_row_can_reach():
    predictor, _ = ensemble(RandomForestClassifier(4, max_depth=3, random_state=0), 2)
    boxes = boxes_of(predictor.decision.model)
    assert boxes.n_trees == 4
    assert len(boxes.slot) <= 3
    assert 4 <= len(boxes.tree) <= 4 * 8
    assert boxes.n_rows >= 1


@pytest.mark.parametrize("n", [0, 1, 16, 17, 256, 1000])
def test_running_sums_are_cumulative(n):
    x = np.random.default_rng(0).integers(-9, 9, (3, n)).astype(np.float32)
    np.testing.assert_array_equal(running_sums(jnp.asarray(x)), np.cumsum(x, axis=1))
