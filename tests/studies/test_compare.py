"""The whole job: split, one model, methods side by side, resumed."""

import dataclasses

import numpy as np
import polars as pl
import pytest

import holdtrue as ht
from holdtrue.classifier import named_model
from holdtrue.errors import DataError
from holdtrue.studies.compare import compare

QUICK = ht.RecourseClassifier(
    model=ht.Linear(), regime=ht.StandardTraining(n_epochs=20, step_size=0.01, class_weight="balanced")
)
WACHTER = ht.Wachter(n_steps=100, patience=20)
NEAREST = ht.NearestNeighbour(n_rows=100, n_candidates=50)
OPTIONS = {"model": QUICK, "people": 20, "retrainings": 3}


@pytest.fixture(scope="module")
def bank():
    return ht.datasets.load("loanapp").subset(range(500))


@pytest.fixture(scope="module")
def pair(bank):
    return compare(bank, methods={"wachter": WACHTER, "nearest": NEAREST}, **OPTIONS)


def test_rows_agree_with_an_audit_by_hand(bank, pair):
    """The same steps, written out."""
    from sklearn.base import clone
    from sklearn.model_selection import train_test_split

    train, test = (np.sort(s) for s in train_test_split(np.arange(500), random_state=0, stratify=bank.y))
    clf = clone(QUICK).set_params(schema=bank.schema, random_state=0).fit(bank.X.iloc[train], bank.y[train])
    rows = bank.X.iloc[test]
    people = rows[clf.predict(rows) == 0][:20]
    plan = clf.recourse(people, method=WACHTER)
    report = ht.audit(plan, against=ht.retrain(clf, n=3, random_state=0))
    row = pair["wachter"]
    assert row.n_people == len(people) == 20
    assert row.counts == report.counts
    np.testing.assert_allclose(row.people["l1"][plan.found], report.people["cost_l1"][plan.found], rtol=1e-5)
    assert row.mean("survival") == pytest.approx(report.survival.mean)
    nearest = [
        np.sort(np.abs(e - clf.predictor_.encoder.encode(bank.X.iloc[train[bank.y[train] == 1]])).sum(axis=1))[:5]
        for e in clf.predictor_.encoder.encode(plan.recourse)[plan.found]
    ]
    assert row.mean("plausibility") == pytest.approx(np.mean(nearest), rel=1e-5)


def test_what_every_row_must_be(pair):
    assert [row.name for row in pair.rows] == ["wachter", "nearest"]
    for row in pair.rows:
        assert row.reason is None
        assert row.n_broken == 0
        assert row.validity == 1.0
        assert row.settings["random_state"] == 0
    assert pair.job["vary"] == "seed"
    assert pair.job["model"] == "Linear"


def test_methods_that_are_done_are_not_run_again(bank, pair, monkeypatch):
    def never(*args, **options):
        raise AssertionError("run again")

    kept = []
    methods = {"wachter": WACHTER, "nearest": NEAREST}
    with monkeypatch.context() as patch:
        patch.setattr("holdtrue.studies.compare._compare.measure", never)
        again = compare(bank, methods=methods, done=pair, on_row=kept.append, **OPTIONS)
        assert str(again) == str(pair)
        assert kept == []
    # Another parameter is another method; the rows stand in the order asked for.
    other = {"nearest": ht.NearestNeighbour(n_rows=100, n_candidates=20), "wachter": WACHTER}
    third = compare(bank, methods=other, done=pair, on_row=kept.append, **OPTIONS)
    assert [row.name for row in third.rows] == ["nearest", "wachter"]
    assert third["wachter"] is pair["wachter"]
    assert len(kept) == 1


@pytest.mark.parametrize(("option", "value"), [("people", 10), ("retrainings", 2), ("random_state", 1)])
def test_another_job_is_refused(bank, pair, option, value):
    with pytest.raises(DataError, match="differs in its"):
        compare(bank, methods={"wachter": WACHTER}, done=pair, **{**OPTIONS, option: value})


def test_other_rows_are_refused(bank, pair):
    with pytest.raises(DataError, match="rows_sha256"):
        compare(bank.subset(range(499, -1, -1)), methods={"wachter": WACHTER}, done=pair, **OPTIONS)


def test_another_schema_or_model_is_refused(bank, pair):
    from sklearn.base import clone

    narrow = ht.Schema([dataclasses.replace(f, cost_weight=2.0) for f in bank.schema])
    with pytest.raises(DataError, match="differs in its schema"):
        compare(bank, schema=narrow, methods={"wachter": WACHTER}, done=pair, **OPTIONS)
    longer = clone(QUICK).set_params(regime__n_epochs=21)
    with pytest.raises(DataError, match="differs in its model_settings"):
        compare(bank, methods={"wachter": WACHTER}, done=pair, **{**OPTIONS, "model": longer})


def test_a_model_made_elsewhere(bank):
    frame = pl.from_pandas(bank.X[["loanprc", "obrat", "atotinc", "unver"]])
    schema = ht.Schema([bank.schema[name] for name in frame.columns])
    methods = {"nearest": ht.NearestNeighbour(n_candidates=32), "wachter": WACHTER}
    made = named_model("random_forest")().set_params(n_estimators=3, max_depth=3, class_weight="balanced")
    told = []
    result = compare(
        frame, bank.y, schema=schema, methods=methods, model=made, people=5, retrainings=2,
        progress=lambda *what: told.append(what),
    )  # fmt: skip
    assert result.job["vary"] == "bootstrap"
    assert result["nearest"].validity == 1.0
    assert result["wachter"].reason.startswith("Wachter: needs a differentiable model")
    assert told[:2] == [("retraining", 1, 2), ("retraining", 2, 2)]
    assert ("nearest", 10, 10) in told


def test_a_fitted_model_is_asked_as_it_is(bank, pair):
    from sklearn.base import clone

    clf = clone(QUICK).set_params(schema=bank.schema, random_state=3).fit(bank.X, bank.y)
    result = compare(bank, methods=[WACHTER], model=clf, people=5, retrainings=0)
    assert result.job["model_settings"] == clf.predictor_.digest()
    assert "survival" not in result["wachter"].people


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"methods": []}, "`methods` is empty"),
        ({"methods": ["wachter", "wachter"]}, "named twice"),
        ({"methods": [3]}, "must be names or methods"),
        ({"methods": "wachtr"}, "Did you mean 'wachter'"),
        ({"people": 0}, "`people` must be a whole number"),
        ({"retrainings": -1}, "`retrainings` must be"),
        ({"test_size": 3.0}, "cannot be split"),
        ({"model": "forest"}, "unknown model"),
    ],
)
def test_bad_input(bank, options, words):
    with pytest.raises(DataError, match=words):
        compare(bank, **{"methods": "wachter", **options})


def test_labels_must_be_there(bank):
    with pytest.raises(DataError, match="one label per row"):
        compare(bank.X, methods="wachter")


def test_stable_search_gets_guides_that_survival_is_not_measured_on() -> None:
    """Its guides are trained for it, and none of them is among the models that its recourse is held against."""
    method = ht.StableSearch(n_guides=2, n_steps=50)
    found = compare("loanapp", methods=[method], **OPTIONS | {"people": 5})
    assert found.rows[0].reason is None
    assert found.rows[0].n_found >= 4
    bank = ht.datasets.load("loanapp")
    clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), regime=QUICK.regime, random_state=0)
    clf.fit(bank.X, bank.y)
    guides = ht.StableSearch(n_guides=2, random_state=0).fit(clf, bank.X)._ensemble()
    others = ht.retrain(clf, n=3, random_state=0).ensemble
    for i in range(2):
        for j in range(3):
            assert not np.allclose(guides.member(i).weight, others.member(j).weight)
