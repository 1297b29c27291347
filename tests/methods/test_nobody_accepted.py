"""A model that accepts no training row at all: methods that build on such rows say so person by person."""

import numpy as np
import pytest

import holdtrue as ht
from holdtrue.search import Status
from holdtrue.testing import _world as world

SMALL = {"n_samples": 10, "n_rows": 100, "n_steps": 10}


@pytest.fixture(scope="module")
def strict():
    table, y = world.people()
    regime = ht.StandardTraining(n_epochs=30, step_size=0.02)
    clf = ht.RecourseClassifier(schema=world.SCHEMA, model=ht.Linear(), regime=regime, random_state=0, hold=None)
    clf = clf.fit(table, y)
    best = clf.predict_proba(table)[:, 1].max()
    clf.set_threshold(float((1 + best) / 2))
    assert not clf.predict(table).any()
    return clf, table


@pytest.mark.parametrize(
    "method",
    [
        ht.NearestNeighbour(), ht.CFProto(n_rounds=2, n_steps=20),
        ht.CFProto(n_rounds=2, n_steps=20, autoencoder=True, n_epochs=2),
        ht.RBR(n_rows=100, n_neighbours=5, n_samples=10, n_steps=20), ht.RobX(**SMALL),
        ht.TRex(**SMALL, base=ht.NearestNeighbour()),
    ],
    ids=lambda m: type(m).__name__,
)  # fmt: skip
def test_each_person_has_a_status(strict, method):
    clf, table = strict
    people = table.head(8)
    plan = method.fit(clf, table).recourse(people)
    assert len(plan) == len(people)
    assert set(plan.status) <= {int(s) for s in (Status.FOUND, Status.NOT_FOUND, Status.INFEASIBLE)}
    assert (clf.predict(plan.to_frame()[list(table.columns)]) == 1)[plan.found].all()
    assert not np.isnan(plan.cost[plan.found]).any()
