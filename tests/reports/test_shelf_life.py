"""Shelf life by hand, against closed forms, and on a trained model."""

import dataclasses
import io
import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from rich.console import Console
from scipy.stats import binomtest

import holdtrue as ht
from holdtrue.errors import CapabilityError, DataError, MissingDependencyError
from holdtrue.reports import _render, _shelf_life_text

# Of these 10, 60 passes 9 and 55 passes 6.
TEN = (*[50] * 6, 57, 58, 59, 70)


@pytest.fixture
def life(plan, make_retrained):
    return ht.shelf_life(plan, against=make_retrained(*TEN))


# ---- by hand ------------------------------------------------------------------------------------------


def test_survival_and_interval_of_each_person(life) -> None:
    np.testing.assert_allclose(life.survival, [0.9, 0.6, np.nan, np.nan])
    exact = [binomtest(k, 10).proportion_ci(0.95) for k in (9, 6)]
    np.testing.assert_allclose(life.lower, [*(ci.low for ci in exact), np.nan, np.nan], atol=1e-9)
    np.testing.assert_allclose(life.upper, [*(ci.high for ci in exact), np.nan, np.nan], atol=1e-9)
    assert (life.n_models, life.vary, life.n_found, life.n_left_out) == (10, "seed", 2, 0)
    assert life.per_model.tolist() == [1.0] * 6 + [0.5] * 3 + [0.0]
    figures = life.summary()
    assert figures["mean"] == pytest.approx(0.75)
    assert figures["std_over_models"] == pytest.approx(np.std(life.per_model, ddof=1))
    assert (figures["worst"], figures["n_always"], figures["n_rows"]) == (pytest.approx(0.6), 0, 4)


def test_audit_and_shelf_life_count_the_same(plan, make_retrained) -> None:
    against = make_retrained(*TEN)
    people = ht.audit(plan, against).per_person()
    life = ht.shelf_life(plan, against=against, confidence=0.9)
    np.testing.assert_array_equal(life.survival, people["survival"])
    # A two-sided interval at 90% has the one-sided bound at 95%.
    np.testing.assert_allclose(life.lower, people["survival_lower"])


def test_fragile_until_the_lower_bound_reaches_the_level(plan, make_retrained) -> None:
    # All n say yes: the two-sided lower bound is 0.025 ** (1 / n), which passes 0.9 from 36 on.
    few, enough = (ht.shelf_life(plan, against=make_retrained(*[50] * n)) for n in (35, 36))
    assert few.lower[0] == pytest.approx(0.025 ** (1 / 35))
    assert few.fragile.tolist() == [True, True, False, False]  # nothing to be fragile without a recourse
    assert enough.fragile.tolist() == [False] * 4
    assert "it takes 36 that all say yes" in str(few)
    assert "it takes" not in str(enough)
    assert not ht.shelf_life(plan, against=make_retrained(*[50] * 35), fragile=0.8).fragile.any()


def test_short_lived_is_shown_not_only_suspected(plan, make_retrained) -> None:
    life = ht.shelf_life(plan, against=make_retrained(*[50] * 12, *[57] * 28))
    assert life.survival[:2].tolist() == [1.0, 0.3]
    assert life.fragile.tolist() == [False, True, False, False]
    assert life.short.tolist() == [False, True, False, False]
    unsure = ht.shelf_life(plan, against=make_retrained(*[50] * 38, *[57] * 2))  # 38 of 40: 83% to 99%
    assert unsure.fragile[1]
    assert not unsure.short[1]


def test_intervals_cover(make_plan, make_retrained) -> None:
    """Boundaries drawn at random: a recourse at the 80% quantile holds with 0.8, and the interval knows it."""
    rng = np.random.default_rng(0)
    plan = make_plan([(20, 80)])
    draws = [rng.integers(1, 101, 20) for _ in range(300)]  # yes where the boundary is at most 80
    lives = [ht.shelf_life(plan, against=make_retrained(*at), confidence=0.9) for at in draws[:20]]
    for at, life in zip(draws, lives, strict=False):
        assert life.survival[0] == (at <= 80).mean()
    lower, upper = ht.metrics.clopper_pearson([(at <= 80).sum() for at in draws], 20, 0.9, "both")
    assert ((lower <= 0.8) & (upper >= 0.8)).mean() >= 0.87  # 0.9 at least, less three deviations


# ---- which models may be asked ------------------------------------------------------------------------


def test_models_that_the_search_asked_are_refused(plan, make_retrained) -> None:
    guides = make_retrained(50, 57)
    guided = dataclasses.replace(plan, consulted=guides.ensemble.digests())
    with pytest.raises(DataError, match=r"`against` must be models that neither.*got 2 of 3 that were"):
        ht.shelf_life(guided, against=make_retrained(50, 57, 58))
    with pytest.raises(DataError, match="got 1 of 2 that were"):
        ht.shelf_life(guided, against=[guides.member(0), make_retrained(60).member(0)])
    assert ht.shelf_life(guided, against=make_retrained(51, 58)).n_models == 2
    assert ht.shelf_life(plan, against=guides).n_models == 2  # this plan's search asked nobody


def test_an_audit_says_how_many_models_the_search_asked(plan, make_retrained) -> None:
    guided = dataclasses.replace(plan, consulted=make_retrained(50, 57).ensemble.digests())
    report = ht.audit(guided, make_retrained(50, 57, 58))
    assert report.survival is not None
    assert report.survival.n_consulted == 2
    assert "2 of these models guided or stopped the search" in str(report)
    plain = ht.audit(plan, make_retrained(50, 57, 58))
    assert plain.survival is not None
    assert plain.survival.n_consulted == 0
    assert "guided" not in str(plain)


def test_what_is_wrong_is_said(plan, make_retrained) -> None:
    with pytest.raises(CapabilityError, match=r"shelf_life: `plan` must be what recourse\(\) returned"):
        ht.shelf_life(plan.to_frame(), against=make_retrained(50))
    with pytest.raises(DataError, match="got neither `clf` nor `against`"):
        ht.shelf_life(plan)
    with pytest.raises(DataError, match="shelf_life: `fragile` must lie between 0 and 1; got 90"):
        ht.shelf_life(plan, against=make_retrained(50), fragile=90)
    with pytest.raises(CapabilityError, match="shelf_life: `against` must be retrained models"):
        ht.shelf_life(plan, against=7)


# ---- forms --------------------------------------------------------------------------------------------


def test_reads_as_a_table(life) -> None:
    lines = str(life).splitlines()
    assert lines[0] == "Shelf life: 2 recourses by Handmade, asked of 10 retrained models (seed)"
    assert max(map(len, lines[:-2])) <= 86
    assert next(line for line in lines if "fragile: lower bound below 90%" in line).split()[-2:] == ["2", "100.0%"]
    bars = [line for line in lines if "█" in line]
    assert [line.split()[-2:] for line in bars] == [["1", "50.0%"], ["1", "50.0%"]]
    assert bars[0].count("█") == 15
    assert repr(life) == "<ShelfLife of 2 recourses by Handmade: 2 fragile>"


def test_rich_and_html_say_the_same(life, make_retrained) -> None:
    for thing, page in (
        (life, _shelf_life_text.page(life)),
        (c := life.calibration(make_retrained(51, 56)), _shelf_life_text.calibration_page(c)),
    ):
        out = io.StringIO()
        Console(file=out, width=90, color_system=None).print(thing)
        text, html = out.getvalue(), thing._repr_html_()
        assert _render.text(page) == str(thing)
        for section in page.sections:
            for cell in [*section.heads, *(c for row in section.rows for c in row)]:
                assert cell in text
                assert cell in html


def test_frames_keep_kind_and_index(make_plan, make_retrained) -> None:
    people, against = [(20, 60), (60, None), (10, None)], make_retrained(*TEN)
    frame = ht.shelf_life(
        make_plan(people, frame=lambda c: pd.DataFrame(c, index=[7, 3, 9])), against=against
    ).to_frame()
    assert frame.index.tolist() == [7, 3, 9]
    assert frame.columns.tolist() == ["status", "survival", "lower", "upper", "fragile"]
    assert frame["fragile"].tolist() == [True, False, False]
    other = ht.shelf_life(make_plan(people, frame=pl.DataFrame), against=against).to_frame()
    assert isinstance(other, pl.DataFrame)
    assert other["survival"].to_list()[0] == 0.9


def test_several_options_each_have_a_life(plan, make_retrained) -> None:
    pair = dataclasses.replace(plan.take([0, 1]), person=np.array([0, 0]))
    frame = ht.shelf_life(pair, against=make_retrained(*TEN)).to_frame()
    assert frame["option"].tolist() == [0, 1]
    assert frame.loc[frame["survival"].idxmax(), "option"] == 0


def test_json(life, tmp_path) -> None:
    path = tmp_path / "life.json"
    life.write(path, people=True)
    read = json.loads(path.read_text(encoding="utf-8"))
    assert read == life.to_dict(people=True)
    assert (read["format"], read["n_models"], read["n_fragile"]) == ("holdtrue-shelf-life", 10, 2)
    assert read["people"]["survival"] == [0.9, 0.6, None, None]
    assert sum(b["n"] for b in read["bins"]) == 2
    assert "people" not in life.to_dict()


def test_nobody_with_a_recourse(make_plan, make_retrained, tmp_path) -> None:
    life = ht.shelf_life(make_plan([(10, None), (60, None)]), against=make_retrained(50, 55))
    assert np.isnan(life.survival).all()
    assert not life.fragile.any()
    assert "none can hold" in str(life)
    assert json.loads(life.to_json())["mean"] is None
    assert math.isnan(life.calibration(make_retrained(51)).reliability.mae)
    with pytest.raises(DataError, match="nothing to draw"):
        life.plot()


# ---- calibration --------------------------------------------------------------------------------------


def test_calibration_by_hand(life, make_retrained, tmp_path) -> None:
    calibration = life.calibration(make_retrained(51, 56, 61, 52))  # 60 passes three, 55 two
    r = calibration.reliability
    assert calibration.estimated.tolist() == [0.9, 0.6]
    assert calibration.observed.tolist() == [0.75, 0.5]
    assert (r.mae, r.bias) == (pytest.approx(0.125), pytest.approx(0.125))
    variance = np.var(life.per_model, ddof=1) / 10 + np.var([1, 0.5, 0, 1], ddof=1) / 4
    assert calibration.bias_error == pytest.approx(math.sqrt(variance))
    assert calibration.to_frame()["n"].sum() == 2
    assert "bias: stated less observed" in str(calibration)
    calibration.write(tmp_path / "c.json")
    read = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
    assert read == calibration.to_dict()
    assert read["bias_error"] == calibration.bias_error
    assert [b["n"] for b in read["bins"]] == calibration.to_frame()["n"].tolist()


def test_fresh_means_fresh(life, make_retrained) -> None:
    with pytest.raises(DataError, match=r"calibration: `fresh` must be models that neither.*got 1 of 2"):
        life.calibration(make_retrained(70, 71))
    guided = dataclasses.replace(life.plan, consulted=make_retrained(65).ensemble.digests())
    with pytest.raises(DataError, match="got 1 of 1"):
        dataclasses.replace(life, plan=guided).calibration(make_retrained(65))


# ---- pictures -----------------------------------------------------------------------------------------


def test_pictures(life, make_retrained, tmp_path) -> None:
    figure = life.plot(tmp_path / "life.png")
    assert (tmp_path / "life.png").stat().st_size > 5_000
    at = np.concatenate([c.get_offsets() for c in figure.axes[0].collections if len(c.get_offsets()) > 1])
    assert np.asarray(at).tolist() == [[1, 0.6], [2, 0.9]]  # the shortest-lived first
    calibration = life.calibration(make_retrained(51, 56, 61, 52))
    figure = calibration.plot(tmp_path / "curve.svg")
    assert (tmp_path / "curve.svg").stat().st_size > 5_000
    curve = figure.axes[0].lines[1].get_xydata()
    assert np.asarray(curve).tolist() == [[0.6, 0.5], [0.9, 0.75]]
    with pytest.raises(DataError, match="does not name a picture"):
        calibration.plot(tmp_path / "curve.xyz")


def test_pictures_say_what_is_missing(life, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"holdtrue\[plots\]"):
        life.plot()


# ---- a trained model ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained():
    bank = ht.datasets.load("loanapp")
    X, y = bank.X[:600], bank.y[:600]
    regime = ht.StandardTraining(n_epochs=20)
    parts = {"schema": bank.schema, "model": ht.MLP(widths=(8,)), "regime": regime, "threshold": 0.85}
    clf = ht.RecourseClassifier(**parts, random_state=0).fit(X, y)
    return clf, clf.recourse(X, method=ht.Wachter(n_steps=100))


def test_on_a_trained_model_what_is_stated_is_observed(trained) -> None:
    clf, plan = trained
    life = ht.shelf_life(plan, clf, n=30)
    assert life.n_found > 50
    assert 0.05 < life.summary()["mean"] < 0.95
    calibration = life.calibration(ht.retrain(clf, n=30, random_state=1))
    r = calibration.reliability
    assert abs(r.bias) < 4 * calibration.bias_error
    assert r.mae < 2 * r.mae_by_chance
    assert r.mae < np.mean(np.abs(calibration.observed - calibration.observed.mean()))  # beats one number for all


def test_models_are_drawn_anew_and_repeatably(trained) -> None:
    clf, plan = trained
    life = ht.shelf_life(plan, clf, n=3, random_state=5)
    again = ht.shelf_life(plan, clf, n=3, random_state=5)
    assert life.digests == again.digests
    np.testing.assert_array_equal(life.survival, again.survival)
    same_number = ht.retrain(clf, n=3, random_state=5)
    assert not set(life.digests) & set(same_number.ensemble.digests())
    assert ht.shelf_life(plan, clf, 2, "bootstrap").vary == "bootstrap"


def test_what_guided_the_search_is_left_out_of_a_draw(trained) -> None:
    clf, plan = trained
    drawn = ht.shelf_life(plan, clf, n=3)
    guided = dataclasses.replace(plan, consulted=drawn.digests[1:2])
    life = ht.shelf_life(guided, clf, n=3)
    assert (life.n_models, life.n_left_out) == (2, 1)
    assert life.digests == (drawn.digests[0], drawn.digests[2])
    assert "1 more were drawn, but left out" in str(life)
    with pytest.raises(DataError, match="asked all 3 models"):
        ht.shelf_life(dataclasses.replace(plan, consulted=drawn.digests), clf, n=3)


def test_guides_of_a_search_are_known_by_its_plan(trained, tmp_path) -> None:
    clf, plan = trained
    guides = ht.retrain(clf, n=2, random_state=9)
    people = plan.factual.native[plan.found][:8]
    method = ht.StableSearch(base=ht.Wachter(n_steps=50), n_steps=40).fit(clf, people, guides=guides)
    guided = method.recourse(people)
    assert guided.consulted == guides.ensemble.digests()
    # The seeds of two begin those of four: another object, but the same models.
    with pytest.raises(DataError, match="got 2 of 4 that were"):
        ht.shelf_life(guided, against=ht.retrain(clf, n=4, random_state=9))
    assert ht.shelf_life(guided, clf, n=2, random_state=9).n_left_out == 0
    restored = ht.StableSearch(base=ht.Wachter(n_steps=50), n_steps=40).restore(method.predictor_, method.state_)
    assert restored.consulted() == guided.consulted  # a model file knows them too


def test_retrained_models_in_the_place_of_the_classifier_are_sent_to_theirs(plan, make_retrained) -> None:
    with pytest.raises(DataError, match=r"`clf` must be the classifier .*; got a \w+\. Give .* as `against`"):
        ht.shelf_life(plan, make_retrained(*TEN))
