"""The past replayed: a world of one feature worked out by hand, what was known by then, resuming, bad input."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier

import holdtrue as ht
from holdtrue.errors import CapabilityError, DataError
from holdtrue.hold import _backtest
from holdtrue.hold._backtest_result import Offer, Replayed
from holdtrue.search import CLEARANCE

SCHEMA = ht.Schema([ht.Feature(name="income", kind="integer", bounds=(0, 100), direction="increase")])
SLACKS = (-0.5, 0.0, 0.5, 1.0, 2.0)
EXHAUSTIVE = ht.SparseSearch(max_changes=1, n_values=200)
OPTIONS = {
    "schema": SCHEMA, "terms": (1, 2), "window": 2, "slacks": SLACKS, "people": 15, "n_guides": 6, "n_judges": 3,
    "past": 3, "method": EXHAUSTIVE,
}  # fmt: skip


def world(n=7, drift=4.0, rows=240, seed=0):
    """Periods in which what is asked for rises by a known amount; the chance of a yes is logistic in income."""
    rng = np.random.default_rng(seed)
    out = []
    for k in range(n):
        income = rng.integers(0, 101, rows)
        chance = 1 / (1 + np.exp(-(income - 40 - drift * k) / 6))
        out.append((2001 + k, pd.DataFrame({"income": income}), (rng.random(rows) < chance).astype(int)))
    return out


@pytest.fixture(scope="module")
def drifting():
    return world()


@pytest.fixture(scope="module")
def past(drifting):
    return ht.backtest(LogisticRegression(), drifting, **OPTIONS)


def log_odds(model, income):
    return model.coef_[0, 0] * income + model.intercept_[0]


def test_every_figure_is_what_a_look_at_all_incomes_gives(drifting, past):
    task = _backtest._Task(
        recipe=LogisticRegression(), periods=_backtest._read(drifting, SCHEMA), seed=0, threshold=None,
        favourable=None, **OPTIONS,
    ).prepared()  # fmt: skip
    models = {
        t: LogisticRegression().fit(
            pd.concat([X for _, X, _ in drifting[t - 1 : t + 1]]), np.r_[drifting[t - 1][2], drifting[t][2]]
        )
        for t in range(1, 7)
    }
    incomes = np.arange(101)
    assert [p.period for p in past.periods] == ["2002", "2003", "2004", "2005", "2006"]
    for period in past.periods:
        own = models[period.index]
        guides = [box.estimator for box in task.holding(period.index)[0].guides_.models]
        assert len(guides) == 6
        least = log_odds(own, incomes) > 0
        cheapest = incomes[least].min()
        for offer in period.offers:
            if offer.slack is None:
                to = cheapest
            else:
                sure = log_odds(own, incomes) >= max(offer.slack, 0.0) + CLEARANCE
                agree = np.all([log_odds(g, incomes) >= offer.slack + CLEARANCE for g in guides], axis=0)
                to = incomes[sure & agree].min()
            assert offer.people == 15
            assert offer.found == 1
            for term, kept in offer.kept.items():
                assert kept == 15 * bool(log_odds(models[period.index + term], to) > 0)
            cheap = period.cheapest.cost
            assert (offer.cost - cheap) * 100 == pytest.approx(to - cheapest, abs=1e-4)
            assert offer.price == pytest.approx(offer.cost / cheap)
    assert set(past.periods[-1].cheapest.kept) == {1}


def test_what_holds_one_period_costs_less_than_what_holds_two(past):
    frame = past.to_frame()
    kept = frame.groupby(["slack", "term"]).kept.mean().unstack()
    assert (kept[1] >= kept[2]).all()
    assert kept.loc[2.0, 2] == 1 > kept.loc[-0.5, 1]
    assert past.level(1).slack <= past.level(2).slack


def test_without_drift_little_is_asked(past):
    still = ht.backtest(LogisticRegression(), world(drift=0.0), **OPTIONS)
    calm, moved = (p.to_frame().groupby(["slack", "term"]).kept.mean() for p in (still, past))
    assert (calm >= moved).all()
    assert calm[0.5, 1] == 1 > moved[0.5, 1]
    assert still.level(1).slack < past.level(1).slack
    assert "Rests on 4 periods (2003 to 2006)" in still.level(1).note


def test_the_future_changes_no_choice(drifting, past):
    label, X, y = drifting[-1]
    poisoned = ht.backtest(LogisticRegression(), [*drifting[:-1], (label, X, y * (X.income > 95))], **OPTIONS)
    for term in (1, 2):
        before, after = past.kept(term).choices, poisoned.kept(term).choices
        assert [(c.period, c.slack, c.known, c.evidence) for c in before] == [
            (c.period, c.slack, c.known, c.evidence) for c in after
        ]
    assert past.kept(1).choices[-1].kept != poisoned.kept(1).choices[-1].kept
    assert poisoned.level(1).kept < 1


# ---- choices, by hand -------------------------------------------------------------------------------


def by_hand(kept, terms=(1,), memory=2, n_later=1, people=10):
    """A backtest whose offers at slacks 0, 1, 2 were kept so often, a row a period; cost grows with slack."""
    periods = tuple(
        Replayed(
            f"p{t}", t, 20, people,
            (
                Offer(None, people, 1.0, 1.0, 1.0, 0.5, dict.fromkeys(terms, 0)),
                *(
                    Offer(float(s), people, 1.0, 1.0 + s, 1.0 + s, 1.0, dict.fromkeys(terms, k))
                    for s, k in enumerate(row)
                ),
            ),
        )
        for t, row in enumerate(kept)
    )  # fmt: skip
    labels = tuple(f"p{t}" for t in range(len(kept) + n_later))
    return ht.Backtest(labels, periods, terms, 0.9, memory, {"guides": 3})


def test_the_smallest_slack_that_was_kept_by_then():
    past = by_hand([(9, 10, 10), (5, 9, 10), (5, 9, 10), (9, 9, 10)])
    choices = past.kept(1).choices
    assert [c.period for c in choices] == ["p1", "p2", "p3"]
    # p1 by p0 alone (.9 at slack 0); p2 by p0 and p1 (.7, .95); p3 by p1 and p2 (.5, .9).
    assert [c.slack for c in choices] == [0, 1, 1]
    assert [c.known for c in choices] == [0.9, 0.95, 0.9]
    assert [c.kept for c in choices] == [0.5, 0.9, 0.9]
    assert past.kept(1).mean == pytest.approx(0.7667, abs=1e-4)
    assert past.kept(1).worst.period == "p1"
    assert past.kept(1).price == pytest.approx((1 + 2 + 2) / 3)
    level = past.level()  # by p2 and p3: .7, .9
    assert (level.slack, level.kept, level.people, level.reached, level.term) == (1, 0.9, 20, True, 1)
    assert level.periods == (
        {"period": "p2", "slack": 1.0, "kept": 0.9, "people": 10, "cost": 2.0},
        {"period": "p3", "slack": 1.0, "kept": 0.9, "people": 10, "cost": 2.0},
    )
    assert level.price == 2
    assert level.lower < 0.9
    assert "50.0% in the worst (p1)" in level.note
    assert past.level(hold=0.96).slack == 2


def test_with_confidence_the_lower_bound_must_reach_the_level():
    by_share = by_hand([(58, 60, 60), (58, 60, 60)], people=60)
    sure = replace(by_share, confidence=0.95)
    assert by_share.level(hold=0.95).slack == 0  # 116 of 120 were kept
    level = sure.level(hold=0.95)  # whose bound is .925; that of 120 of 120 is .05 ** (1 / 120)
    assert (level.slack, level.reached, level.confidence) == (1, True, 0.95)
    assert level.lower == pytest.approx(0.05 ** (1 / 120), abs=1e-4)
    assert ht.Backtest.from_dict(sure.to_dict()).confidence == 0.95
    older = {name: value for name, value in by_share.to_dict().items() if name != "confidence"}
    assert ht.Backtest.from_dict(older).confidence is None
    few = replace(by_hand([(10, 10, 10), (10, 10, 10)]), confidence=0.95).level(hold=0.95)
    assert not few.reached
    assert (few.slack, few.kept) == (0, 1)
    assert "20 people are too few to show 95% with 95% confidence, which takes 59" in few.note
    low = replace(by_hand([(50, 50, 58), (50, 50, 58)], people=60), confidence=0.95).level(hold=0.95)
    assert (low.slack, low.reached) == (2, False)
    assert "No slack that was tried kept 95% with 95% confidence; this one kept most" in low.note


def test_a_longer_term_is_known_later():
    past = by_hand([(9, 10, 10), (0, 0, 10), (0, 0, 10), (0, 0, 10)], terms=(2,), n_later=2)
    choices = past.kept(2).choices
    assert [c.period for c in choices] == ["p2", "p3"]
    assert [c.evidence for c in choices] == [("p0",), ("p0", "p1")]
    assert [c.slack for c in choices] == [0, 2]


def test_a_level_that_nothing_kept_is_said_not_to_be_reached(tmp_path):
    past = by_hand([(1, 2, 3), (2, 3, 4)])
    level = past.level(hold=0.95)
    assert not level.reached
    assert level.slack == 2
    assert "No slack that was tried kept 95%" in level.note
    assert "No slack that was tried" in str(past)
    level.save(tmp_path / "level.json")
    assert ht.Level.load(tmp_path / "level.json") == level
    one = by_hand([(10, 10, 10)]).level()
    assert not one.reached
    assert "Too few periods" in one.note
    none = by_hand([(10, 10, 10)], terms=(2,), n_later=1).level(2)
    assert none.kept is None
    assert "Not measured" in none.note
    with pytest.raises(DataError, match="`term` was not replayed; got 5"):
        past.level(5)
    with pytest.raises(DataError, match="chance between 0 and 1; got 95"):
        past.level(hold=95)


def test_a_slack_that_hardly_anybody_is_brought_to_does_not_count():
    past = by_hand([(5, 10, 10), (5, 10, 10)])
    few = tuple(
        replace(p, offers=(*p.offers[:2], replace(p.offers[2], people=2, found=0.2, kept={1: 2}), p.offers[3]))
        for p in past.periods
    )
    assert past.level().slack == 1
    assert replace(past, periods=few).level().slack == 2
    nobody = tuple(
        replace(p, offers=(p.offers[0], *(replace(o, people=0, found=0.0, kept={1: 0}) for o in p.offers[1:])))
        for p in past.periods
    )
    level = replace(past, periods=nobody).level()
    assert not level.reached
    assert "Hardly anybody could be brought" in level.note
    assert "-" in str(replace(past, periods=nobody))


# ---- text, picture, files ---------------------------------------------------------------------------


def test_text_picture_and_file(past, tmp_path):
    text = str(past)
    assert "Backtest of LogisticRegression: 5 periods (2002 to 2006) replayed, 75 refused people" in text
    assert "1 ahead, 95% wanted:" in text
    past.plot(tmp_path / "kept.png")
    assert (tmp_path / "kept.png").stat().st_size > 10_000
    past.write(tmp_path / "past.json")
    again = ht.Backtest.read(tmp_path / "past.json")
    assert str(again) == text
    assert again.level(2) == past.level(2)
    (tmp_path / "past.json").write_text("{}")
    with pytest.raises(DataError, match="no backtest that can be read"):
        ht.Backtest.read(tmp_path / "past.json")


def test_resumed_it_is_the_same(drifting, past, tmp_path, monkeypatch):
    some = ht.backtest(LogisticRegression(), drifting, **OPTIONS, keep=tmp_path, bases=["2002", 2004])
    assert [p.period for p in some.periods] == ["2002", "2004"]
    files = sorted(tmp_path.iterdir())
    assert [f.name[:5] for f in files] == ["2002-", "2004-"]
    files[1].write_text("cut")
    done, replayed = [], _backtest._Task.replayed
    monkeypatch.setattr(_backtest._Task, "replayed", lambda task, t: done.append(t) or replayed(task, t))
    told = []
    whole = ht.backtest(
        LogisticRegression(), drifting, **OPTIONS, keep=tmp_path, progress=lambda *what: told.append(what)
    )
    assert done == [2, 3, 4, 5]
    assert whole.to_dict() == past.to_dict()
    assert told[0] == ("2002", 0, 5)
    assert told[-1] == ("done", 5, 5)
    ht.backtest(LogisticRegression(C=2.0), drifting, **OPTIONS, keep=tmp_path, bases=["2002"])
    assert done[-1] == 1  # another recipe is not what was kept
    raw = json.loads(files[0].read_text())
    assert raw["format"] == "holdtrue-backtest-period"


def test_earlier_periods_leave_the_people_the_same(drifting, past):
    later = ht.backtest(LogisticRegression(), drifting[1:], **OPTIONS, bases=["2004"])
    cheapest = past.periods[2].cheapest
    assert later.periods[0].cheapest == cheapest


# ---- recipes and tables -----------------------------------------------------------------------------


def mixed(n=5, rows=150):
    rng = np.random.default_rng(1)
    out = {}
    for k in range(n):
        trade = rng.choice(["farm", "shop"] if k != 1 else ["farm", "shop", "mill"], rows)
        X = pd.DataFrame({"income": rng.uniform(0, 1, rows).round(2), "trade": pd.Categorical(trade)})
        score = X.income + 0.1 * (trade == "shop") - 0.05 * k + 0.1 * rng.normal(size=rows)
        out[f"Q{k}"] = (X, np.where(score > 0.4, "yes", "no"))
    return out


MIXED = ht.Schema(
    [
        ht.Feature(name="income", kind="numeric", bounds=(0, 1), direction="increase"),
        ht.Feature(name="trade", kind="categorical", direction="fixed"),
    ]
)
FEW = {"terms": (1,), "window": 2, "slacks": (0.0, 1.0), "people": 8, "n_guides": 4, "n_judges": 2}


def test_trees_with_categories_that_differ_between_periods():
    recipe = XGBClassifier(n_estimators=8, max_depth=2, enable_categorical=True)
    periods = {k: (X, (y == "yes").astype(int)) for k, (X, y) in mixed().items()}
    past = ht.backtest(recipe, periods, MIXED, **FEW)
    assert [p.period for p in past.periods] == ["Q1", "Q2", "Q3"]
    assert past.setup["method"] == "SparseSearch"
    assert past.periods[0].at(1.0).share(1) >= past.periods[0].cheapest.share(1)


def test_a_classifier_of_ours_with_labels_as_text():
    quick = ht.StandardTraining(n_epochs=40, patience=None, step_size=0.05)
    recipe = ht.RecourseClassifier(model=ht.Linear(), regime=quick, method=ht.Wachter(n_steps=100))
    past = ht.backtest(recipe, mixed(), MIXED, favourable="yes", **FEW)
    assert past.setup["method"] == "Wachter"
    assert past.setup["model"] == "RecourseClassifier"
    assert past.periods[0].at(1.0).share(1) > past.periods[0].cheapest.share(1)


def test_a_small_period_guides_nobody_and_one_without_refusals_is_left_out_of_the_choice(drifting):
    X = pd.DataFrame({"income": [90, 95, 99]})
    tiny = _backtest.Period("t", X, np.array([1, 1, 0]))
    assert not tiny.enough
    assert not replace(tiny, frame=X, y=np.ones(3)).enough
    rich = [*drifting[:3], (2003.5, pd.DataFrame({"income": np.full(60, 100)}), np.ones(60, int)), *drifting[3:5]]
    past = ht.backtest(LogisticRegression(), rich, **OPTIONS)
    nobody = next(p for p in past.periods if p.period == "2003.5")
    assert (nobody.refused, nobody.cheapest.people) == (0, 0)
    assert "2003.5" not in {name for c in past.kept(1).choices for name in c.evidence}
    assert "-" in str(past)


class Stubborn(ClassifierMixin, BaseEstimator):
    """Changes what it is given, so that scikit-learn cannot clone it."""

    def __init__(self, values=()):
        self.values = list(values)

    def fit(self, X, y):
        return self


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ({"periods": world(2)}, "too few periods; got 2 for window=2 and a term of 1, which take 3"),
        ({"periods": [*world(3), (2001, *world(4)[3][1:])]}, "two periods have the same label; got '2001'"),
        ({"periods": [*world(3), 7]}, r"must be \(label, X, y\) or \(X, y\)"),
        ({"periods": 5}, "`periods` must be a list of .*; got 5"),
        ({"periods": {"2001": 7}}, r"`periods` must be \(label, X, y\) or \(X, y\).*; got int at place 1"),
        ({"terms": (0,)}, "`terms` must be whole numbers"),
        ({"window": 0}, "window"),
        ({"slacks": ()}, "`slacks` must be finite numbers"),
        ({"hold": 95}, "chance between 0 and 1; got 95"),
        ({"bases": ["1999"]}, "`bases` has no such period; got '1999'"),
    ],
)
def test_wrong_questions_are_answered(given, answer):
    options = {"periods": world(4)} | OPTIONS | given
    with pytest.raises(DataError, match=answer):
        ht.backtest(LogisticRegression(), options.pop("periods"), **options)


def test_wrong_tables_and_recipes_are_answered():
    first, second, third, last = world(4)
    other = (last[0], last[1].rename(columns={"income": "wage"}), last[2])
    with pytest.raises(DataError, match=r"period '2004': columns .* absent; got \['income'\]"):
        ht.backtest(LogisticRegression(), [first, second, third, other], **OPTIONS)
    short = (last[0], last[1], last[2][:5])
    with pytest.raises(DataError, match="period '2004': has 240 rows but 5 labels"):
        ht.backtest(LogisticRegression(), [first, second, third, short], **OPTIONS)
    sure = [(label, X, np.ones_like(y)) for label, X, y in (first, second)]
    with pytest.raises(DataError, match="the window that ends with period '2002' has one class; got 1"):
        ht.backtest(LogisticRegression(), [*sure, third, last], **OPTIONS)
    stated = ht.Schema([MIXED["income"], replace(MIXED["trade"], levels=("farm", "shop"))])
    with pytest.raises(DataError, match=r"period 'Q1'.*trade"):
        ht.backtest(LogisticRegression(), mixed(), stated, favourable="yes", **FEW)
    with pytest.raises(CapabilityError, match="cannot clone a Stubborn"):
        ht.backtest(Stubborn([1]), world(4), **OPTIONS)
    with pytest.raises(CapabilityError, match="cannot clone a dict"):
        ht.backtest({}, world(4), **OPTIONS)
