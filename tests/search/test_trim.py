"""Needless changes: after `trim` no single change can be taken back, and nothing that was needed was."""

import equinox as eqx
import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.batch import Predictor, trimmed
from holdtrue.encoding import Encoder
from holdtrue.methods import Wachter
from holdtrue.models import Decision, LinearModel
from holdtrue.schema import Restrictions
from holdtrue.search import CLEARANCE, Solutions, Status

W = np.array([2.0, -1.0, 0.5, 0.1], np.float32)
PEOPLE = 40


@pytest.fixture(scope="module")
def method():
    """A linear score over four numbers that are encoded as they are; the third is at most the first and one."""
    names = [f"x{i}" for i in range(4)]
    table = pd.DataFrame(np.random.default_rng(0).uniform(-3, 3, (50, 4)), columns=names)
    schema = ht.Schema(
        [ht.Feature(name=name, kind="numeric", bounds=(-10, 10)) for name in names],
        constraints=[ht.LinearConstraint(coefficients={"x2": 1, "x0": -1}, bound=1.0)],
    )
    encoder = Encoder.fit(schema, table)
    ones = np.ones(4)
    encoder = Encoder(encoder.schema, "minmax", encoder.layout, ones, 0 * ones, ones, {})
    model = LinearModel(np.stack([0 * W, W]), np.array([0, -0.2], np.float32))
    return Wachter().fit(Predictor(encoder, Decision(model, np.float32(0.5), 1), np.array([0, 1])))


@pytest.fixture(scope="module")
def trimming(method):
    """Random points that keep the constraint, before and after."""
    rng = np.random.default_rng(1)
    factual = rng.uniform(-2, 0, (PEOPLE, 4))
    factual[:, 2] = np.minimum(factual[:, 2], factual[:, 0] + 0.9)
    x = factual + rng.uniform(-2, 2, (PEOPLE, 4)) * (rng.random((PEOPLE, 4)) < 0.8)
    x[:, 2] = np.minimum(x[:, 2], x[:, 0] + 1)
    table = method.predictor_.encoder.schema.check(pd.DataFrame(factual, columns=[f"x{i}" for i in range(4)]))
    problems = method.problems(table, np.ones(PEOPLE, int), Restrictions())
    given = Solutions(
        x.astype(np.float32), np.full(PEOPLE, int(Status.FOUND), np.int32),
        np.abs(x - factual).sum(axis=1).astype(np.float32), np.zeros(PEOPLE, np.int32),
    )  # fmt: skip
    return problems.x, given.x, trimmed(method.trimmer(), problems, given)


def score(x):
    return x @ W - 0.2


def test_nothing_that_is_left_is_needless(trimming):
    factual, x, after = trimming
    needed = np.minimum(score(x), CLEARANCE)
    assert (score(after.x) >= needed - 1e-6).all()  # who lacked something does not lack more
    kept = (after.x == x) | (after.x == factual)
    assert kept.all()  # nothing is moved anywhere else
    assert (after.x != x).any(axis=1).sum() > PEOPLE / 4
    for j in range(4):
        without = after.x.copy()
        without[:, j] = factual[:, j]
        changed = (after.x[:, j] != factual[:, j]) & ((after.x != factual).sum(axis=1) > 1)  # the last one stays
        limits = without[:, 2] - without[:, 0] <= 1
        assert not (changed & limits & (score(without) >= needed + 1e-6)).any()


def test_the_constraint_is_kept_and_the_cost_is_what_is_left(trimming):
    factual, _, after = trimming
    assert (after.x[:, 2] - after.x[:, 0] <= 1 + 1e-5).all()
    np.testing.assert_allclose(after.cost, np.abs(after.x - factual).sum(axis=1), rtol=1e-5)


def test_who_has_no_answer_is_left_alone(method, trimming):
    factual, _, _ = trimming
    table = method.predictor_.encoder.schema.check(pd.DataFrame(factual, columns=[f"x{i}" for i in range(4)]))
    problems = method.problems(table, np.ones(PEOPLE, int), Restrictions())
    nothing = Solutions.unreached(problems)
    after = trimmed(method.trimmer(), problems, nothing)
    np.testing.assert_array_equal(after.x, nothing.x)
    np.testing.assert_array_equal(after.cost, nothing.cost)


def test_what_differs_by_needless_changes_alone_is_no_option(method):
    """Two people were offered to raise x0. One may do that or x1 instead; the other's x1 is there for nothing."""
    factual = np.array([[-1.0, 0.0, -1.0, 0.0]] * 2)
    table = method.predictor_.encoder.schema.check(pd.DataFrame(factual, columns=[f"x{i}" for i in range(4)]))
    problems = method.problems(table, np.ones(2, int), Restrictions())
    before = np.zeros((2, 1, 4), np.float32)
    before[:, 0, 0] = 1.0
    problems = eqx.tree_at(lambda p: p.options, problems, before, is_leaf=lambda leaf: leaf is None)
    x = factual + np.array([[0.1, -3.0, 0, 0], [1.6, 0.0, 0, 3.0]])
    given = Solutions(
        x.astype(np.float32), np.full(2, int(Status.FOUND), np.int32), np.abs(x - factual).sum(axis=1), np.zeros(2)
    )
    after = trimmed(method.trimmer(), problems, given)
    assert after.status.tolist() == [int(Status.FOUND), int(Status.NOT_FOUND)]
    np.testing.assert_array_equal(after.x, np.float32([[-1.0, -3.0, -1.0, 0.0], factual[1]]))
