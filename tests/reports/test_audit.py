"""Every measure of a plan made by hand, and the same on a real classifier."""

import dataclasses
import math
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import holdtrue as ht
from holdtrue.errors import CapabilityError, DataError
from holdtrue.search import Status


def test_people_and_shares(plan) -> None:
    report = ht.audit(plan)
    assert (report.n_people, report.n_refused, report.n_found) == (4, 3, 2)
    assert report.counts == {"FOUND": 2, "ALREADY_FAVOURABLE": 1, "INFEASIBLE": 1}
    assert report.share == (pytest.approx(2 / 3), pytest.approx(3 / 4))
    assert (report.validity, report.n_at_odds, report.n_broken) == (1.0, 0, 0)
    assert report.survival is None
    assert report.seconds_per_person == 0.5


def test_costs_of_the_recourse_found(plan) -> None:
    report = ht.audit(plan)
    # 0.4 for one; 0.15 and a changed category for the other.
    assert report.costs["l1"] == pytest.approx((1.275, 1.275, np.quantile([0.4, 2.15], 0.9)))
    assert report.costs["l0"].mean == pytest.approx(1.5)
    assert report.costs["l2"].mean == pytest.approx((0.4 + math.sqrt(0.15**2 + 2)) / 2)
    assert report.costs["linf"].mean == pytest.approx(0.7)
    assert report.sparsity.mean == 1.5
    assert report.change_rates == {"income": 1.0, "town": 0.5}


def test_validity_is_asked_of_the_model_not_of_the_plan(make_plan) -> None:
    report = ht.audit(make_plan([(20, 60), (20, 45), (30, 70)]))  # 45 is refused, though the plan says valid
    assert report.validity == pytest.approx(2 / 3)
    assert report.n_at_odds == 1
    assert report.share.among_refused == pytest.approx(2 / 3)
    assert report.per_person()["valid"].tolist() == [True, False, True]
    assert "AT ODDS" in str(report)


def test_a_plan_held_against_a_changed_model_is_at_odds(plan, make_predictor) -> None:
    changed = dataclasses.replace(plan, predictor=make_predictor(58.0))
    report = ht.audit(changed)
    assert (report.validity, report.n_at_odds) == (0.5, 1)
    stricter = ht.audit(dataclasses.replace(plan, predictor=make_predictor(90.0)))
    assert stricter.n_refused == 4  # the one who was favourable is no longer
    assert stricter.n_at_odds == 3


def test_broken_limits_are_counted_and_named(make_plan) -> None:
    report = ht.audit(make_plan([(70, 60), (20, 60.5), (20, 60)], status=[Status.FOUND] * 3))
    assert report.n_broken == 2
    assert sorted(report.broken) == ["income is off its grid of 1", "income left its permitted interval"]
    assert report.share.among_refused == 0.5  # two were refused, one of them has a recourse within the limits
    assert report.per_person()["limits_kept"].tolist() == [False, False, True]
    assert "BROKEN: income left its permitted interval, 1 times." in str(report)


def test_someone_not_reached_is_refused_only_if_the_model_refuses(make_plan) -> None:
    plan = make_plan(
        [(20, 60), (80, None), (30, None)], status=[Status.FOUND, Status.NOT_REACHED, Status.NOT_REACHED]
    )
    report = ht.audit(dataclasses.replace(plan, valid=np.array([True, False, False])))
    assert report.n_refused == 2
    assert report.share == (0.5, pytest.approx(2 / 3))
    assert report.n_at_odds == 0  # the plan never claimed anything about them


def test_survival_under_known_boundaries(plan, make_retrained) -> None:
    # 60 passes boundaries up to 60, 55 up to 55.
    against = make_retrained(*[50] * 6, 57, 58, 59, 70)
    report = ht.audit(plan, against)
    s = report.survival
    assert s is not None
    assert (s.n_models, s.vary) == (10, "seed")
    assert (s.mean, s.worst) == (pytest.approx(0.75), pytest.approx(0.6))
    assert s.invalidation == pytest.approx(0.25)
    per_model = [0.0] * 6 + [0.5] * 3 + [1.0]
    assert s.invalidation_std == pytest.approx(np.std(per_model, ddof=1))
    assert s.invalidation_worst == 1.0
    people = report.per_person()
    np.testing.assert_allclose(people["survival"], [0.9, 0.6, np.nan, np.nan])
    lower = ht.metrics.clopper_pearson([9, 6], 10)[0]
    np.testing.assert_allclose(people["survival_lower"], [*lower, np.nan, np.nan])


def test_assured_needs_enough_models(plan, make_retrained) -> None:
    few = ht.audit(plan, make_retrained(*[50] * 28))
    enough = ht.audit(plan, make_retrained(*[50] * 29))
    assert few.survival is not None
    assert enough.survival is not None
    assert (few.survival.n_always, few.survival.n_assured) == (2, 0)
    assert (enough.survival.n_always, enough.survival.n_assured) == (2, 2)
    assert "it takes 29 that all say yes" in str(few)
    assert "it takes" not in str(enough)
    lower = ht.audit(plan, make_retrained(*[50] * 28), level=0.8)
    assert lower.survival is not None
    assert lower.survival.n_assured == 2


def test_invalidation_speaks_of_recourse_that_was_valid(make_plan, make_retrained) -> None:
    report = ht.audit(make_plan([(20, 60), (20, 45)]), make_retrained(50, 55))
    assert report.survival is not None
    assert report.survival.mean == 0.5  # what was promised: one holds, the other never did
    assert report.survival.invalidation == 0.0  # Definition 2 compares with the first model's yes


class Above:
    """A foreign model: yes above an income."""

    def __init__(self, at: float, **attributes) -> None:
        self.at = at
        self.seen: list = []
        vars(self).update(attributes)

    def predict(self, X):
        self.seen.append(X)
        income = X[:, 0].astype(float) if isinstance(X, np.ndarray) else X["income"].to_numpy()
        return np.where(income > self.at, "yes", "no")


def test_against_a_list_of_anything_with_predict(plan, make_predictor) -> None:
    models = [Above(50), Above(57), make_predictor(59), Above(61, n_features_in_=2)]
    report = ht.audit(plan, against=models)
    assert report.survival is not None
    assert report.survival.vary is None
    np.testing.assert_allclose(report.per_person()["survival"][:2], [0.75, 0.25])
    assert models[0].seen[0].columns.tolist() == ["income", "town"]
    assert isinstance(models[3].seen[0], np.ndarray)  # fitted on an array: asked with one
    one = ht.audit(plan, against=Above(57)).survival
    assert one is not None
    assert one.n_models == 1
    assert math.isnan(one.invalidation_std)


def test_against_says_what_is_wrong(plan, make_retrained, make_predictor) -> None:
    with pytest.raises(CapabilityError, match=r"`against` must be retrained models.*got int"):
        ht.audit(plan, against=100)
    with pytest.raises(DataError, match="no models"):
        ht.audit(plan, against=[])
    with pytest.raises(CapabilityError, match="no `predict`; got str"):
        ht.audit(plan, against=["model"])
    with pytest.raises(DataError, match=r"does not know the wanted class; got 'yes'"):
        ht.audit(plan, against=[make_predictor(50, classes=(0, 1))])
    with pytest.raises(DataError, match=r"does not know the wanted class"):
        ht.audit(plan, against=[Above(50, classes_=np.array([0, 1]))])
    with pytest.raises(DataError, match=r"columns that the recourse lacks; got \['wealth'\]"):
        ht.audit(plan, against=[Above(50, feature_names_in_=["income", "wealth"])])
    wrong = Above(50)
    wrong.predict = lambda X: np.zeros((3, 2))
    with pytest.raises(DataError, match=r"one label per person; got shape \(3, 2\)"):
        ht.audit(plan, against=wrong)


def test_arguments_are_checked(plan) -> None:
    with pytest.raises(CapabilityError, match=r"what recourse\(\) returned; got DataFrame"):
        ht.audit(plan.to_frame())
    with pytest.raises(DataError, match="`confidence` must lie between 0 and 1; got 95"):
        ht.audit(plan, confidence=95)
    with pytest.raises(DataError, match="`level`"):
        ht.audit(plan, level=0)


def test_everyone_favourable(make_plan, make_retrained) -> None:
    report = ht.audit(make_plan([(60, None), (70, None)]), make_retrained(50, 65))
    assert math.isnan(report.share.among_refused)
    assert report.share.among_all == 1.0
    assert math.isnan(report.validity)
    assert report.per_person()["cost_l1"].tolist() == [0, 0]
    assert report.survival is not None
    assert math.isnan(report.survival.invalidation)
    assert report.survival.n_assured == 0


def test_nobody_found_and_nobody_at_all(make_plan, make_retrained, plan) -> None:
    report = ht.audit(make_plan([(10, None), (20, None)]), make_retrained(50))
    assert report.share == (0.0, 0.0)
    assert np.isnan(report.per_person()["cost_l2"]).all()
    assert math.isnan(report.costs["l2"].mean)
    empty = ht.audit(plan.take([]), make_retrained(50))
    assert empty.n_people == 0
    assert len(empty.per_person()) == 0
    for quiet in (report, empty):
        assert str(quiet)
        assert quiet.to_json()
        assert quiet._repr_html_()


def test_polars_in_polars_out(make_plan, make_retrained) -> None:
    people = [(20, 60), (40, 55), (80, None)]
    against = make_retrained(50, 57)
    report, same = (ht.audit(make_plan(people, frame=f), against) for f in (pl.DataFrame, dict))
    frame = report.per_person()
    assert isinstance(frame, pl.DataFrame)
    assert isinstance(report.to_frame(), pl.DataFrame)
    np.testing.assert_array_equal(frame["survival"].to_numpy(), same.per_person()["survival"].to_numpy())
    models = [Above(57)]
    ht.audit(make_plan(people, frame=pl.DataFrame), models)
    assert isinstance(models[0].seen[0], pl.DataFrame)


def test_chunks_do_not_matter(plan, make_retrained, monkeypatch) -> None:
    against = make_retrained(50, 57)
    whole = ht.audit(plan, against)
    monkeypatch.setattr("holdtrue.reports._parts.CHUNK", 1)
    assert ht.audit(plan, against).to_dict(people=True) == whole.to_dict(people=True)


def test_a_folder_is_never_a_function() -> None:
    """Whatever is imported first, the functions stay functions and the rooms stay rooms."""
    code = (
        "import holdtrue as ht; import holdtrue.reports, holdtrue.studies.compare;"
        "from inspect import isfunction, ismodule;"
        "assert all(map(isfunction, (ht.audit, ht.compare, ht.certify, ht.tune, ht.tradeoff, ht.gate)));"
        "assert all(map(ismodule, (ht.reports, ht.studies, ht.studies.compare, ht.promises, ht.retraining)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_classifier_from_fit_to_report() -> None:
    bank = ht.datasets.load("loanapp")
    X, y = bank.X[:600], bank.y[:600]
    regime = ht.StandardTraining(n_epochs=20)
    # A high threshold, so that the few epochs leave enough people refused.
    parts = {"schema": bank.schema, "model": ht.Linear(), "regime": regime, "threshold": 0.85}
    method = ht.Wachter(n_steps=100, patience=20)
    clf = ht.RecourseClassifier(**parts, method=method, random_state=0).fit(X, y)
    plan = clf.recourse(X)
    against = ht.retrain(clf, n=5, vary="bootstrap")
    report = ht.audit(plan, against)
    assert report.n_found > 20
    assert report.survival is not None
    assert 0 < report.survival.invalidation < 1
    assert report.n_refused == (clf.predict(X) == 0).sum()
    assert (report.validity, report.n_at_odds, report.n_broken) == (1.0, 0, 0)
    people = report.per_person()
    np.testing.assert_allclose(people[f"cost_{plan.norm}"], plan.cost, rtol=1e-6)
    assert people.index.equals(X.index)
    assert report.model == clf.predictor_.digest()
    # Asked one by one, the retrained models answer the same.
    single = ht.audit(plan, against=[against.member(i) for i in range(len(against))])
    np.testing.assert_array_equal(single.per_person()["survival"], people["survival"])
    assert clf.audit(X, against=against).to_dict()["survival"] == report.to_dict()["survival"]
