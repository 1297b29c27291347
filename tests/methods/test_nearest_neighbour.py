"""The nearest accepted person, against brute force."""

import numpy as np
import pytest

import holdtrue as ht
from holdtrue.encoding import broken_limits, distance, norm_weights
from holdtrue.errors import DataError
from holdtrue.methods import NearestNeighbour
from holdtrue.schema import Table, as_table
from holdtrue.testing import _world as world


def brute_force(predictor, person, table):
    """Cheapest feasible, accepted mixture of one person and any training row, in raw columns."""
    encoder = predictor.encoder
    weights = norm_weights(encoder, "l1")
    best = np.inf
    accepted = predictor.decide(table) == predictor.decision.favourable
    for i in np.flatnonzero(accepted):
        other = table.take(np.array([i]))
        columns = {}
        for feature in encoder.schema:
            own, wish = person.columns[feature.name], other.columns[feature.name]
            trial = Table(dict(person.columns) | {feature.name: wish}, 1)
            allowed = not any(
                "constraint" not in b and "implication" not in b for b in broken_limits(encoder, person, trial)[0]
            )
            columns[feature.name] = wish if allowed else own
        mixed = Table(columns, 1)
        if broken_limits(encoder, person, mixed)[0]:
            continue
        if predictor.decide(mixed)[0] == predictor.decision.favourable:
            cost = distance(encoder.encode(mixed), encoder.encode(person), "l1", weights)
            best = min(best, float(np.asarray(cost)[0]))
    return best


def test_never_costlier_than_a_whole_row_taken_over():
    """Brute force takes what may be taken over and keeps the rest; clipping to bounds can only find more."""
    clf = world.classifier("linear")
    predictor = clf.predictor_
    rows = world.people()[0].head(120)
    table = as_table(rows)
    people = world.refused(predictor, 2)
    plan = NearestNeighbour(n_candidates=120, n_rows=10_000).fit(clf, rows).recourse(people)
    for i in range(len(people)):
        best = brute_force(predictor, as_table(people.iloc[[i]]), table)
        if np.isfinite(best):
            assert plan.found[i]
            assert plan.cost[i] <= best + 1e-4


def test_no_accepted_row_is_no_recourse():
    clf = world.classifier("linear")
    refused = world.refused(clf.predictor_, 5)
    plan = NearestNeighbour().fit(clf, refused).recourse(refused)
    assert len(plan) == 5
    assert plan.counts().keys() <= {"FOUND", "NOT_FOUND"}  # rows that are refused, mixed, may be accepted
    assert plan.valid[plan.found].all()


def test_rows_are_needed():
    with pytest.raises(DataError, match="needs training rows"):
        NearestNeighbour().fit(world.classifier("linear"))


def test_serves_a_scikit_learn_forest():
    from sklearn.ensemble import RandomForestClassifier

    bank = ht.datasets.load("loanapp")
    forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(bank.X, bank.y)
    refused = bank.X[forest.predict(bank.X) == 0].head(20)
    plan = ht.recourse(forest, refused, bank.schema, reference=bank.X.head(400))
    assert plan.found.mean() > 0.9
    assert (
        forest.predict(plan.recourse.like_native(plan.recourse.columns)[bank.X.columns])[plan.found] == 1
    ).all()


def test_refused_neighbours_do_not_crowd_out_the_accepted():
    """Where few are accepted, the nearest rows are refused ones; they must not use up the candidates."""
    clf = world.classifier("linear", threshold=0.9, limits=False)
    people = world.refused(clf.predictor_, 20)
    plan = NearestNeighbour(n_candidates=16).fit(clf, *world.people()).recourse(people)
    assert plan.found.mean() > 0.8
