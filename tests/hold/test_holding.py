"""Recourse that holds: closed forms in one dimension, judges asked one by one, files, levels, other models."""

import copy
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import holdtrue as ht
from holdtrue.causal import SCM, Equation, Node, Term
from holdtrue.errors import CapabilityError, DataError
from holdtrue.hold._draws import spared_for

rng = np.random.default_rng(0)
N = 300
X = pd.DataFrame({"income": rng.uniform(0, 1, N).round(3), "debt": rng.uniform(0, 1, N).round(3)})
y = (X.income + 0.25 * rng.normal(size=N) > 0.6).astype(int).to_numpy()
SCHEMA = ht.Schema(
    [
        ht.Feature(name="income", kind="numeric", bounds=(0, 1), direction="increase"),
        ht.Feature(name="debt", kind="numeric", bounds=(0, 1), direction="fixed"),
    ]
)
LEVEL = ht.Level(0.95, 0.4)


class OfOneLine(ht.Wachter):
    """A method that can ask one linear model alone."""

    needs = frozenset({"linear"})


@pytest.fixture(scope="module")
def clf():
    quick = ht.StandardTraining(n_epochs=100, patience=None, step_size=0.05)
    return ht.RecourseClassifier(schema=SCHEMA, model=ht.Linear(), regime=quick, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def holding(clf):
    return ht.Holding(base=ht.Wachter(n_steps=300), n_guides=6, n_judges=8, random_state=0).fit(clf, X, y)


@pytest.fixture(scope="module")
def people(clf):
    return X[clf.predict(X) == 0][:25]


def line(model, slack, people, encoder):
    """Income from which on a linear model gives a probability of a half, and a slack more in log-odds."""
    weight = np.asarray(model.weight[1] - model.weight[0])
    bias = float(model.bias[1] - model.bias[0])
    scaled = (slack - bias - weight[1] * encoder.encode(people)[:, 1]) / weight[0]
    return scaled * encoder.scale[0] + encoder.offset[0]


@pytest.mark.parametrize("slack", [0.0, 0.4])
def test_goes_exactly_to_where_the_least_sure_says_yes(clf, holding, people, slack):
    plan = holding.recourse(people, hold=ht.Level(0.95, slack))
    models = [clf.predictor_.decision.model, *(holding.guides_.member(i).decision.model for i in range(6))]
    encoder = clf.predictor_.encoder
    needed = np.max([line(model, slack, people, encoder) for model in models], axis=0)
    reachable = needed <= 1
    assert reachable.sum() > 15
    np.testing.assert_allclose(plan.recourse.columns["income"][reachable], needed[reachable], atol=0.01)
    assert (plan.recourse.columns["income"][reachable] >= needed[reachable] - 1e-5).all()
    alone = line(models[0], 0.0, people, encoder) - people.income
    np.testing.assert_allclose(plan.held.cheapest * encoder.scale[0], alone, atol=0.01)


def test_some_guides_may_be_spared(clf, holding, people):
    plan = holding.recourse(people, hold=ht.Level(0.95, 0.0, spared=2))
    encoder, own = clf.predictor_.encoder, clf.predictor_.decision.model
    guides = [line(holding.guides_.member(i).decision.model, 0.0, people, encoder) for i in range(6)]
    needed = np.maximum(line(own, 0.0, people, encoder), np.sort(guides, axis=0)[-3])
    reachable = needed <= 1
    np.testing.assert_allclose(plan.recourse.columns["income"][reachable], needed[reachable], atol=0.01)
    assert [spared_for(hold, 20) for hold in (0.9, 0.95, 0.97, 0.99)] == [2, 1, 1, 1]


def test_who_cannot_be_brought_to_agreement_gets_what_lacks_least(holding, people):
    """Nobody can earn more than 1: beyond a slack that takes more, that is the surest point there is."""
    plan = holding.recourse(people, hold=ht.Level(0.95, 60.0))
    assert plan.found.all()
    np.testing.assert_allclose(plan.recourse.columns["income"], 1.0, atol=0.02)


def test_says_what_each_judge_says(clf, holding, people):
    plan = holding.recourse(people)
    asked = [holding.judges_.member(i).decide(plan.recourse) == 1 for i in range(8)]
    np.testing.assert_array_equal(plan.held.survival, np.mean(asked, axis=0))
    assert (plan.held.lower <= plan.held.survival).all()
    assert (plan.held.survival <= plan.held.upper).all()
    np.testing.assert_array_equal(plan.held.holds, plan.held.survival >= 0.95)
    assert not set(plan.consulted) & set(holding.judges_.digests())
    assert set(holding.guides_.digests()) <= set(plan.consulted)
    frame = plan.to_frame()
    assert (frame.holdtrue_survival == plan.held.survival).all()
    assert "hold at 95%" in repr(plan)


def test_survival_told_is_what_unseen_models_do(clf, holding):
    everyone = X[clf.predict(X) == 0]
    cheapest, held = holding.recourse(everyone, hold=None), holding.recourse(everyone)
    unseen = ht.retrain(clf, n=60, vary="anew", random_state=99)
    observed = [float(unseen.accepts(p.recourse, p.target).mean()) for p in (cheapest, held)]
    assert observed[1] > 0.9 > observed[0]
    assert held.held.survival.mean() == pytest.approx(observed[1], abs=0.06)  # eight judges
    assert holding.level_.kept == pytest.approx(observed[1], abs=0.06)


def test_without_hold_it_is_the_base(clf, holding, people):
    base = ht.Wachter(n_steps=300, random_state=0).fit(clf, X, y).recourse(people)
    plan = holding.recourse(people, hold=None)
    for name in X:
        np.testing.assert_array_equal(plan.recourse.columns[name], base.recourse.columns[name])
    np.testing.assert_allclose(plan.held.cheapest, plan.cost, rtol=1e-5)
    assert not plan.held.guided
    assert base.held is None
    assert "not known" in repr(base)


def test_several_options_parts_and_one_by_one_are_the_same(holding, people):
    plan = holding.recourse(people)
    alone = holding.recourse(people[3:4])
    assert alone.cost[0] == pytest.approx(plan.cost[3], abs=1e-6)
    assert alone.held.survival[0] == plan.held.survival[3]
    some = plan.take(np.array([4, 2]))
    np.testing.assert_array_equal(some.held.survival, plan.held.survival[[4, 2]])
    options = holding.recourse(people[:5], n_recourses=2)
    assert len(options.held.survival) == len(options)
    hurried = holding.recourse(people, deadline=1e-6)
    assert (hurried.status == int(ht.Status.NOT_REACHED)).all()
    assert not hurried.held.holds.any()


def test_a_level_that_was_not_measured_is_refused(holding, people):
    with pytest.raises(DataError, match=r"no margin was measured that keeps hold=0\.9999"):
        holding.recourse(people, hold=0.9999)
    with pytest.raises(DataError, match="chance between 0 and 1"):
        holding.recourse(people, hold=95)
    assert holding.recourse(people, hold=0.5).held.level.hold == 0.5
    assert holding.recourse(people, hold=LEVEL).held.level is LEVEL


def test_of_margins_that_keep_another_level_the_smallest_is_taken_and_to_whom_it_leads_is_said(holding):
    own = copy.copy(holding)
    few = replace(holding.level_, slack=6.0, lower=0.98, price=2.0, found=0.3)
    many = replace(few, slack=3.0, price=4.0, found=0.9)
    own.levels_ = [holding.level_, few, many]
    assert (own.at(0.975).level_.slack, own.at(0.975).level_.note) == (3.0, "")
    own.levels_ = [holding.level_, few]
    assert own.at(0.975).level_.note.startswith("30% of the people were brought there")
    asked = replace(few, hold=0.99, reached=False, note="None keeps it.", lower=0.97)
    own.levels_ = [holding.level_, asked, few]
    assert own.at(0.99).level_ is asked  # the surest, as it was found when it was fitted


def test_level_files(tmp_path: Path, holding):
    path = tmp_path / "level.json"
    holding.level_.save(path)
    assert ht.Level.load(path) == holding.level_
    text = json.loads(path.read_text())
    for broken in ({"hold": 0.9}, [], text | {"more": 1}, text | {"hold": 3}, text | {"slack": None}):
        path.write_text(json.dumps(broken))
        with pytest.raises(DataError, match="level"):
            ht.Level.load(path)
    with pytest.raises(DataError, match="cannot be read"):
        ht.Level.load(tmp_path / "none.json")


def test_too_few_to_measure_by_is_said(clf):
    few = ht.Holding(n_guides=3, n_judges=2, random_state=0).fit(clf, X, y)
    assert few.level_.kept is None
    assert "2 judges: too few" in few.level_.note
    assert few.recourse(X[clf.predict(X) == 0][:3]).found.all()
    nobody = ht.Holding(n_guides=3, n_judges=6).fit(clf, X[clf.predict(X) == 1][:20])
    assert "0 refused people" in nobody.level_.note
    hard = ht.Holding(n_guides=3, n_judges=6, hold=0.999, random_state=0).fit(clf, X, y)
    assert not hard.level_.reached
    assert hard.level_.note


class Cut:
    """Says yes from an income on."""

    classes_ = np.array([0, 1])

    def __init__(self, cut):
        self.cut = cut

    def predict_proba(self, rows):
        p = 1 / (1 + np.exp(-20 * (np.asarray(rows)[:, 0].astype(float) - self.cut)))
        return np.stack([1 - p, p], axis=1)


def test_a_level_is_told_as_it_is():
    """Not 99.9% as 100%, nor twice that nothing was measured."""
    level = ht.Level(0.999, 0.5, kept=1.0, lower=0.98, people=90, judges=5)
    assert str(level) == "hold 99.9%: 100.0% kept (at least 98.0% with 95% confidence), on 90 people and 5 judges."
    none = ht.Level(0.95, 0.0, note="Not measured: 95 refused people and 3 judges: too few to measure by.")
    assert str(none) == "hold 95%: not measured. 95 refused people and 3 judges: too few to measure by."


def test_a_guide_that_refuses_everybody_is_told():
    cuts = iter([5.0, *np.linspace(0.55, 0.65, 11)])  # the first is a guide
    models = ht.retrain(
        Cut(0.6), X, y, n=12, schema=SCHEMA, favourable=1, vary="bootstrap",
        refit=lambda rows, labels, *, seed, sample_weight=None: Cut(next(cuts)),
    )  # fmt: skip
    model = ht.wrap(Cut(0.6), SCHEMA, X, favourable=1)
    method = ht.Holding(base="sparse_search", random_state=0).fit(model, X, y, guides=models)
    assert not method.level_.reached
    assert "Does a guide refuse everybody?" in method.level_.note
    plan = method.recourse(X[X.income < 0.5][:5])
    assert plan.found.all()  # what lacks least
    assert plan.held.level.note == method.level_.note
    assert not plan.held.holds.any()


def test_a_base_that_cannot_be_guided_is_judged(clf, people):
    base = OfOneLine(n_steps=300, random_state=0)
    method = ht.Holding(base=base, n_guides=4, n_judges=6, random_state=0).fit(clf, X, y)
    plan, alone = method.recourse(people), ht.Wachter(n_steps=300, random_state=0).fit(clf, X).recourse(people)
    np.testing.assert_array_equal(plan.cost, alone.cost)
    assert not plan.held.guided
    assert "cannot be guided" in method.level_.note
    assert np.isfinite(plan.held.survival).all()


def test_a_classifier_holds_by_default(default_hold, tmp_path, people):
    quick = ht.StandardTraining(n_epochs=100, patience=None, step_size=0.05)
    clf = ht.RecourseClassifier(schema=SCHEMA, model=ht.Linear(), regime=quick, n_guides=6, random_state=0)
    assert clf.hold == default_hold == 0.95
    clf.fit(X, y)
    plan, cheapest = clf.recourse(people), clf.recourse(people, hold=None)
    assert plan.held.survival.mean() > cheapest.held.survival.mean() + 0.1
    assert plan.cost.mean() > cheapest.cost.mean()
    other = clf.recourse(people, method="growing_spheres")
    assert other.held is not None
    assert not other.held.guided
    both = clf.recourse(people, method=ht.GrowingSpheres(random_state=0), hold=0.95)
    assert both.held.survival.mean() > other.held.survival.mean()
    clf.save(tmp_path / "model.holdtrue")
    again = ht.RecourseClassifier.load(tmp_path / "model.holdtrue")
    same = again.recourse(people)
    pd.testing.assert_frame_equal(same.to_frame(), plan.to_frame())
    assert same.held.level == plan.held.level
    stricter = again.at_threshold(0.7)
    asked = [stricter.method_.judges_.member(i).decide(people) for i in range(6)]
    assert stricter.method_.judges_.member(0).threshold == 0.7
    assert len(asked) == 6
    np.testing.assert_array_equal(stricter.method_.judges_.decide(people), asked)


def test_without_guides_hold_is_refused(clf, people):
    with pytest.raises(CapabilityError, match="fitted with hold=None"):
        clf.recourse(people, hold=0.95)
    with pytest.raises(DataError, match="does not know what it learned from"):
        ht.Holding().fit(clf.predictor_)
    with pytest.raises(DataError, match="two retrained models at least"):
        ht.Holding().fit(clf, X, y, guides=ht.retrain(clf, n=1))


def test_boosted_trees_hold_too():
    model = XGBClassifier(n_estimators=12, max_depth=3, random_state=0).fit(X, y)
    refused = X[model.predict(X) == 0][:15]
    models = ht.retrain(model, X, y, n=14, vary="anew", schema=SCHEMA)
    plan = ht.recourse(model, refused, SCHEMA, reference=X, guides=models, hold=LEVEL)
    cheapest = ht.recourse(model, refused, SCHEMA, reference=X)
    assert cheapest.method == "SparseSearch"
    assert cheapest.held is None
    unseen = ht.retrain(model, X, y, n=20, vary="anew", schema=SCHEMA, random_state=5)
    both = plan.found & cheapest.found
    assert both.sum() > 10
    kept = [unseen.accepts(p.recourse.take(both), p.target[both]).mean() for p in (cheapest, plan)]
    assert kept[1] > kept[0] + 0.2
    with pytest.raises(DataError, match="got no labels"):
        ht.recourse(model, refused, SCHEMA, reference=X, hold=0.9)


def test_past_periods_make_guides_that_differ_as_they_did(clf):
    early, late = (X[:150], y[:150]), (X[150:], 1 - y[150:])
    method = ht.Holding(n_guides=4, n_judges=5, random_state=0).fit(clf, X, y, tables=[early, late], level=LEVEL)
    assert len(method.guides_) == 4
    assert len(method.judges_) == 5
    assert "shift" in method.judges_.vary
    alike = (method.guides_.predict(X) == clf.predict(X)[None, :]).mean(axis=1)
    assert alike.max() > 0.9
    assert alike.min() < 0.5


BITS = ht.Schema([ht.Feature(name=name, kind="integer", bounds=(0, 1), direction="increase") for name in "abc"])
CELLS = pd.DataFrame([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], columns=list("abc"))


def world(chances, shift=0):
    """A table of a thousand rows a cell, of which as many are a yes as told, and a few more; else one in ten."""
    table, labels = [], []
    for i, cell in enumerate(CELLS.itertuples(index=False)):
        yes = int(1000 * chances.get(tuple(cell), 0.1)) + shift * (1 + i % 3)
        table.append(np.repeat([list(cell)], 1000, axis=0))
        labels.append(np.repeat([1, 0], [yes, 1000 - yes]))
    return pd.DataFrame(np.concatenate(table), columns=list("abc")), np.concatenate(labels)


def held_in(guides, judges, slack):
    """What is told somebody with nothing, by a tree of these chances, guides of the same, and judges of others."""
    learned, labels = world(guides)
    tree = DecisionTreeClassifier(random_state=0).fit(learned, labels)
    panel, bench = (
        ht.retrain(tree, tables=[world(chances, i) for i in range(5)], n=1, schema=BITS, favourable=1)
        for chances in (guides, judges)
    )
    method = ht.Holding(base=ht.SparseSearch(), random_state=0)
    method.fit(ht.wrap(tree, BITS, learned), learned, guides=panel, judges=bench, level=ht.Level(0.95, slack))
    plan = method.recourse(CELLS[:1])
    return [int(plan.recourse.columns[name][0]) for name in "abc"], plan.held


@pytest.mark.parametrize("liked", [(1, 0, 0), (0, 1, 1)])
def test_of_what_smaller_margins_find_the_largest_is_taken_whatever_judges_say(liked):
    """Of two changes guides are surer by far than of one; judges say what they think of it, and choose nothing."""
    told, held = held_in({(1, 0, 0): 0.65, (0, 1, 1): 0.9}, {liked: 0.9}, slack=3.0)
    assert told == [0, 1, 1]
    assert held.survival.tolist() == [float(liked == (0, 1, 1))]


@pytest.mark.parametrize("slack", [1.25, 2.0, 3.0, 6.0])
def test_a_stricter_margin_is_no_worse_for_who_cannot_be_brought_there(slack):
    """A yes by 1.1 in log-odds is in reach, and the cheapest, by 0.2, is what judges refuse."""
    assert held_in({(1, 0, 0): 0.55, (0, 1, 1): 0.75}, {(0, 1, 1): 0.7}, slack)[0] == [0, 1, 1]


def test_what_follows_from_an_action_follows_when_it_is_to_hold_too(clf, people):
    """Debt falls by half of what income rises by: judges are asked about where people end, not the action."""
    falls = Equation(terms=[Term(of="income", coefficient=-0.5)])
    scm = SCM([Node(name="income"), Node(name="debt", parents=["income"], equation=falls)])
    base = ht.CausalRecourse(scm=scm, max_changes=1, random_state=0)
    holding = ht.Holding(base=base, n_guides=2, n_judges=4, random_state=0).fit(clf, X, y)
    plan, alone = holding.recourse(people), base.fit(clf, X).recourse(people)
    assert plan.found.any()
    np.testing.assert_array_equal(plan.consequences, alone.consequences)
    np.testing.assert_allclose(plan.cost, alone.cost)
    there = plan.to_frame()[plan.found]
    rise, fall = there["income"] - people["income"][plan.found], people["debt"][plan.found] - there["debt"]
    np.testing.assert_allclose(fall, np.minimum(0.5 * rise, people["debt"][plan.found]), atol=1e-3)
    yes = holding.judges_.accepts(plan.recourse.take(plan.found), plan.target[plan.found])
    np.testing.assert_allclose(plan.held.survival[plan.found], yes.mean(axis=0))
