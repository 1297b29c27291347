"""A few actions for many people: against trying everything on tiny worlds, and within every limit."""

import itertools
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import holdtrue as ht
from holdtrue.encoding import broken_limits
from holdtrue.errors import DataError
from holdtrue.studies.group_actions import Change, Trial, best_of, greedy
from holdtrue.studies.group_actions._actions import joined, sentence, taken, ways
from holdtrue.studies.group_actions._choose import cap_of, choose, chosen_of, served, swapped, worth
from holdtrue.studies.group_actions._group_actions import trial_of
from holdtrue.studies.group_actions._trial import alike


@pytest.fixture(scope="module")
def world():
    """Whole numbers from 0 to 9 and a category; refused below a line."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": rng.integers(0, 10, 240),
            "b": rng.integers(0, 10, 240),
            "home": rng.choice(["own", "rent"], 240),
            "sex": rng.choice(["f", "m"], 240),
        }
    )
    points = frame.a + 0.8 * frame.b + 2.0 * (frame.home == "own")
    schema = ht.Schema(
        [
            ht.Feature(name="a", kind="integer", bounds=(0, 9), direction="increase"),
            ht.Feature(name="b", kind="integer", bounds=(0, 9), direction="increase"),
            ht.Feature(name="home", kind="categorical", levels=("own", "rent"), direction="fixed"),
            ht.Feature(name="sex", kind="binary", levels=("f", "m"), direction="fixed"),
        ]
    )
    front = make_column_transformer((OneHotEncoder(), ["home", "sex"]), ("passthrough", ["a", "b"]))
    line = make_pipeline(front, LogisticRegression(C=1e3, max_iter=5000)).fit(frame, (points > 11).astype(int))
    predictor = ht.wrap(line, schema, frame)
    refused = frame[predictor.decide(schema.check(frame)) == 0][:60].reset_index(drop=True)
    plan = ht.SparseSearch(norm="l1", random_state=0).fit(predictor, frame).recourse(refused)
    return frame, schema, predictor, plan, line


@pytest.fixture(scope="module")
def trial(world):
    return trial_of(world[3], None)


def every(step=1):
    """All actions that raise the two numbers by at most five each."""
    for a, b in itertools.product(range(0, 6, step), repeat=2):
        changes = [Change(n, "by", float(v)) for n, v in (("a", a), ("b", b)) if v]
        if changes:
            yield tuple(changes)


def test_who_is_served_is_whom_the_model_accepts_within_their_limits(world, trial):
    plan = world[3]
    people = pd.DataFrame(plan.factual.columns)
    for action in ((Change("a", "by", 3.0), Change("b", "by", 2.0)), (Change("a", "at least", 7.0),)):
        after = people.copy()
        for change in action:
            old = people[change.feature]
            after[change.feature] = old + change.value if change.how == "by" else old.clip(lower=change.value)
        inside = ((after.a <= 9) & (after.b <= 9)).to_numpy()
        yes = world[4].predict(after) == 1
        costs = trial.costs(action)
        np.testing.assert_array_equal(np.isfinite(costs), inside & yes)
        paid = ((after.a - people.a + after.b - people.b) / 9).to_numpy()
        np.testing.assert_allclose(costs[inside & yes], paid[inside & yes], atol=1e-6)
        assert 0 < (inside & yes).sum() < len(people)


def test_the_choice_is_the_best_of_all_on_a_small_grid(trial):
    actions = list(every(2))
    costs = trial.matrix(actions)
    for k in (1, 2, 3):
        best = np.isfinite(costs[best_of(costs, k)]).any(axis=0).sum()
        chosen = greedy(costs, k)
        reached = np.isfinite(costs[chosen]).any(axis=0).sum()
        assert reached >= (1 - (1 - 1 / k) ** k) * best
        assert np.isfinite(costs[chosen_of(costs, k)]).any(axis=0).sum() == best


def test_greedy_keeps_its_bound_on_random_worlds():
    rng = np.random.default_rng(1)
    for _ in range(15):
        costs = np.where(rng.random((9, 25)) < 0.2, rng.random((9, 25)), np.inf)
        for k in (2, 3):
            best = np.isfinite(costs[best_of(costs, k)]).any(axis=0).sum()
            reached = np.isfinite(costs[greedy(costs, k)]).any(axis=0).sum()
            assert reached >= (1 - (1 - 1 / k) ** k) * best - 1e-9
            better = np.isfinite(costs[swapped(costs, greedy(costs, k))]).any(axis=0).sum()
            assert reached <= better <= best
            assert np.isfinite(costs[chosen_of(costs, k)]).any(axis=0).sum() == best


def test_within_a_mean_cost_the_choice_is_the_best_of_all():
    rng = np.random.default_rng(2)
    for _ in range(12):
        reach = rng.random((10, 20)) < 0.3
        costs = np.where(reach, rng.random((10, 20)) * 3 * rng.random((10, 1)), np.inf)
        mean = float(rng.uniform(0.1, 0.8))
        for k in (1, 2, 3):
            best = max(most_people(costs[[*some]], mean) for some in itertools.combinations(range(10), k))
            chosen = chosen_of(costs, k, mean)
            assert worth(costs[best_of(costs, k, mean)], mean)[0] == best
            assert worth(costs[chosen], mean)[0] == best
            inside = served(costs[chosen], cap_of(costs[chosen], mean))
            assert inside.covered.sum() == best
            assert inside.cost[inside.covered].sum() <= mean * best + 1e-9


def most_people(costs, mean):
    """The most people whose costs keep the mean, each at the least cost, counted one by one."""
    least = costs.min(axis=0)
    paid = sorted(c for c in least if np.isfinite(c))
    return max((n for n in range(1, len(paid) + 1) if sum(paid[:n]) <= mean * n + 1e-9), default=0)


def test_the_cheapest_who_keep_a_mean_are_the_most_people_who_can():
    rng = np.random.default_rng(3)
    for _ in range(30):
        paid = rng.random(8)
        mean = float(rng.uniform(0.05, 0.6))
        subsets = (some for n in range(9) for some in itertools.combinations(paid, n))
        assert most_people(paid[None], mean) == max(len(s) for s in subsets if sum(s) <= mean * len(s) + 1e-9)
        assert worth(paid[None], mean)[0] == most_people(paid[None], mean)
    same = np.array([[0.1, 0.2, 0.4, 0.4, 0.4]])  # of people who would pay the same all are served or none
    assert worth(same, 0.25) == (2, 0, pytest.approx(-0.3))
    # What is left to spend goes to people like those who choose, before it is saved.
    two = np.array([[0.1, 0.1, np.inf], [np.inf, 0.3, 0.3], [np.inf, np.inf, 0.1]])
    assert chosen_of(two, 2, 0.2, np.array([[np.inf], [0.2], [np.inf]])) == [0, 1]
    assert chosen_of(two, 2, 0.2) == [0, 2]
    assert chosen_of(two, 2) == [0, 2]


def test_changing_what_is_asked_loses_nobody(trial):
    some = [(Change("a", "by", 2.0),), (Change("b", "by", 5.0),)]
    before = served(trial.matrix(some))
    after = served(trial.matrix(choose(trial, some, 2, 4)))
    assert after.covered.sum() > before.covered.sum()
    most = np.isfinite(trial.matrix(list(every()))).any(axis=0).sum()
    assert after.covered.sum() <= most


def test_no_limit_is_broken_and_everybody_pays_what_is_said(world):
    predictor, plan = world[2:4]
    found = ht.group_actions(plan, by="sex", k=2, n_candidates=20, rounds=1, random_state=3)
    assert 1 <= len(found.actions) <= 2
    assert len(found.target) == 30
    for at, action in enumerate(found.actions):
        mine = np.flatnonzero(found.served.which == at)
        people = found.people.take(mine)
        after, able = taken(action, people, predictor.encoder.schema)
        assert able.all()
        assert not any(broken_limits(predictor.encoder, people, after))
        assert (predictor.decide(after) == 1).all()
    own = found.served.covered & np.isfinite(found.alone)
    assert (found.served.cost[own] >= found.alone[own] - 1e-6).all()  # nobody's own recourse is dearer


def test_groups_and_their_difference(world):
    plan = world[3]
    found = ht.group_actions(plan, by="home", k=2, n_candidates=20, rounds=1, held_out=0.0)
    of = found.to_dict()
    assert set(of["groups"]) == {"own", "rent"}
    assert not of["held_out"]
    assert of["everybody"]["coverage"]["value"] == of["chosen_by"]["served"] / len(plan)
    shares = [of["groups"][name]["coverage"]["value"] for name in ("own", "rent")]
    off = of["groups"]["own"]["difference"]["coverage"]
    assert off["value"] == pytest.approx(shares[0] - shares[1])
    assert off["lower"] < off["value"] < off["upper"]
    assert of["everybody"]["survival"] is None
    assert "no part in the choice" not in str(found)
    table = found.to_frame()
    assert set(table["home"]) == {"everybody", "own", "rent"}
    again = found.serves(pd.DataFrame(plan.factual.columns))
    np.testing.assert_array_equal(again.which, found.served.which)


def test_nobody_is_asked_more_than_the_most(world):
    plan = world[3]
    cheap = ht.group_actions(plan, k=3, max_cost=0.4, n_candidates=20, rounds=1)
    dear = ht.group_actions(plan, k=3, n_candidates=20, rounds=1)
    assert cheap.served.cost[cheap.served.covered].max() <= 0.4
    assert cheap.coverage.value <= dear.coverage.value


def test_a_mean_cost_is_kept_by_those_who_choose_and_caps_what_others_are_asked(world):
    plan = world[3]
    found = ht.group_actions(plan, k=2, mean_cost=0.3, n_candidates=20, rounds=1)
    paid = found.learned.cost[found.learned.covered]
    assert paid.mean() <= 0.3 < found.max_cost
    assert found.max_cost == pytest.approx(paid.max(), abs=1e-5)
    assert found.served.cost[found.served.covered].max() <= found.max_cost
    assert found.to_dict()["max_cost"] == found.max_cost
    capped = ht.group_actions(plan, k=2, max_cost=0.3, n_candidates=20, rounds=1)
    assert found.learned.covered.sum() >= capped.learned.covered.sum()  # nobody above is in the mean, too
    free = ht.group_actions(plan, k=2, mean_cost=100.0, n_candidates=20, rounds=1)
    assert free.max_cost is None


def test_along_a_direction_everybody_goes_as_far_as_they_need(world, trial):
    schema, people = world[1], pd.DataFrame(world[3].factual.columns)
    action = (Change("a", "up to", 5.0), Change("b", "up to", 2.0))
    assert (
        sentence(action, schema) == "Raise a by up to 5 and raise b by up to 2, in proportion, as far as needed."
    )
    steps = [(np.ceil(0.25 * s), np.ceil(0.1 * s - 1e-9)) for s in range(1, 21)]
    assert [tuple(c.value for c in way) for way in ways(action, schema)] == list(dict.fromkeys(steps))
    best = np.full(len(people), np.inf)
    for a, b in dict.fromkeys(steps):
        after = people.assign(a=people.a + a, b=people.b + b)
        inside = ((after.a <= 9) & (after.b <= 9)).to_numpy() & (world[4].predict(after) == 1)
        best = np.where(inside, np.minimum(best, (a + b) / 9), best)
    np.testing.assert_allclose(trial.costs(action), best, atol=1e-6)
    found = ht.group_actions(world[3], k=1, forms=("along",), n_candidates=20, rounds=1)
    assert "as far as needed" in found.sentences()[0]
    fixed = ht.group_actions(world[3], k=1, forms=("by",), n_candidates=20, rounds=1)
    assert found.learned.covered.sum() >= fixed.learned.covered.sum()


def test_two_actions_in_one():
    a, b, home = Change("a", "by", 2.0), Change("b", "at most", 3.0), Change("home", "to", "own")
    numbers = [ht.Feature(name=name, kind="numeric", bounds=(0, 9)) for name in ("a", "b")]
    schema = ht.Schema([*numbers, ht.Feature(name="home", kind="categorical", levels=("own", "rent"))])
    assert joined((home,), (b, a), schema) == joined((b, a), (home,), schema) == (a, b, home)
    assert joined((a, b), (Change("a", "by", 1.0), home), schema) == (a, b, home)
    assert joined((b,), (Change("b", "at most", 2.0),), schema) == (Change("b", "at most", 2.0),)
    assert joined((Change("a", "by", -1.0),), (Change("a", "by", -2.0),), schema) == (Change("a", "by", -2.0),)
    for other in (Change("a", "by", -1.0), Change("a", "at least", 1.0)):
        assert joined((a,), (other,), schema) is None
    assert joined((home,), (Change("home", "to", "rent"),), schema) is None


def test_judges_are_asked_after_the_action(people_of_a_bank):
    clf, X = people_of_a_bank
    found = ht.group_actions(clf, X, by="male", k=1, n_candidates=10, rounds=0)
    assert found.accepts.shape == (len(clf.method_.judges_), len(found.target))
    assert not found.accepts[:, ~found.served.covered].any()
    assert found.to_dict()["everybody"]["survival"]["judges"] == len(clf.method_.judges_)
    assert "judges accept" in str(found)


@pytest.fixture(scope="module")
def people_of_a_bank():
    bank = ht.datasets.load("loanapp")
    X = bank.X[["male", "loanprc", "obrat", "cons"]]
    schema = ht.Schema([bank.schema[name] for name in X])
    clf = ht.RecourseClassifier(
        schema=schema, model=ht.Linear(), hold=None, random_state=0,
        regime=ht.StandardTraining(n_epochs=5, class_weight="balanced"),
    ).fit(X, bank.y)  # fmt: skip
    base = ht.Wachter(n_steps=40, patience=10, random_state=0)
    guides = clf.retrain(n=6, vary="bootstrap")
    holding = ht.Holding(base=base, hold=0.9, random_state=0).fit(clf, guides=guides, level=ht.Level(0.9, 0.05))
    return clf.with_method(holding), X[clf.predict(X) == 0][:40]


def test_words(world):
    schema = world[2].encoder.schema
    action = (Change("a", "by", 2.0), Change("b", "at least", 7.0))
    assert sentence(action, schema) == "Raise a by 2 and raise b to 7, where it is not there."
    assert sentence((Change("home", "to", "own"),), schema) == "Change home to own."


def test_missing_values_and_levels_beyond_the_last():
    schema = ht.Schema(
        [
            ht.Feature(name="x", kind="numeric", bounds=(0, 10), missing="median", step=0.5),
            ht.Feature(name="grade", kind="ordinal", levels=("low", "mid", "high")),
        ]
    )
    frame = pd.DataFrame({"x": [1.0, np.nan, 2.3], "grade": ["low", "mid", "high"]})
    table = schema.check(frame)
    after, able = taken((Change("x", "by", 1.0),), table, schema)
    assert able.tolist() == [True, False, True]
    assert after.columns["x"][[0, 2]].tolist() == [2.0, 3.5]  # on the grid, at least as far
    after, _ = taken((Change("grade", "by", 1),), table, schema)
    assert after.columns["grade"].tolist() == ["mid", "high", None]
    after, _ = taken((Change("grade", "at least", 1),), table, schema)
    assert after.columns["grade"].tolist() == ["mid", "mid", "high"]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"k": 0}, "positive whole number"),
        ({"mean_cost": 0.0}, "`mean_cost` must be a number above 0"),
        ({"held_out": 1.0}, "`held_out` must be a share"),
        ({"forms": ("up",)}, "`forms` must be"),
        ({"by": "nothing"}, "`by` is not a column"),
        ({"by": ["x"]}, "a label per row"),
    ],
)
def test_what_makes_no_sense_is_refused(world, wrong, text):
    with pytest.raises(DataError, match=text):
        ht.group_actions(world[3], **wrong)


def test_a_model_needs_people(world):
    frame, schema, predictor, _, line = world
    with pytest.raises(DataError, match="needs people"):
        ht.group_actions(line)
    accepted = frame[predictor.decide(schema.check(frame)) == 1][:5]
    with pytest.raises(DataError, match="nobody is refused"):
        ht.group_actions(line, accepted, schema, reference=frame)


def test_trials_remember(trial):
    assert isinstance(trial, Trial)
    action = (Change("a", "by", 4.0),)
    trial.costs(action)
    known = trial.known[action]
    trial.matrix([action, (Change("b", "by", 4.0),)])
    assert trial.known[action] is known


def test_people_alike_are_refused_and_have_the_columns_of_those_who_choose(world, trial):
    _, _, predictor, plan, _ = world
    others = alike(trial, 40)
    assert others is not None
    assert 0 < others.people.n_rows <= 40
    assert (predictor.decide(others.people) != others.target).all()
    for name, values in others.people.columns.items():
        assert set(values.tolist()) <= set(plan.factual.columns[name].tolist())
    again = alike(trial, 40)
    assert all((again.people.columns[n] == v).all() for n, v in others.people.columns.items())


def test_an_action_twice_is_worth_no_more_than_once():
    """Serving the same people again by the same is nothing that others have of it."""
    costs, others = np.array([[1.0, 1.0], [1.0, 1.0], [2.0, np.inf]]), np.array([[np.inf], [np.inf], [1.0]])
    assert worth(costs[[0, 1]], 2.0, others[[0, 1]]) == worth(costs[:1], 2.0, others[:1])
    assert sorted(chosen_of(costs, 2, 2.0, others))[-1] == 2


def test_what_a_mean_cost_leaves_serves_people_who_had_no_part_in_the_choice(world):
    """Who chooses lacks least; the others are served no less than by what those who choose need themselves."""
    plan = world[3]
    order = np.argsort(-plan.before)
    near = trial_of(plan.take(np.sort(order[:30])), None)  # who choose lack least
    far = trial_of(plan.take(np.sort(order[30:])), None)
    pool = list(every())
    mean = 3 * float(served(near.matrix(choose(near, pool, 1, 0))).cost.max())
    chosen = choose(near, pool, 1, 0, mean)
    alone = [pool[i] for i in chosen_of(near.matrix(pool), 1)]
    assert worth(near.matrix(chosen))[0] >= worth(near.matrix(alone))[0]
    assert worth(far.matrix(chosen))[0] >= worth(far.matrix(alone))[0]


def test_the_benchmarks_paired_difference_and_what_it_says():
    """Agresti and Min by hand: 8 and 2 of 100 pairs, 6/102 give or take 1.96 times 0.03199."""
    from benchmarks.group_actions import difference, judged, keeping

    mine, theirs = np.full((2, 100), np.inf)
    mine[:58], theirs[8:60] = 1.0, 1.0
    found = difference(mine, theirs)
    assert (found["only ours"], found["only theirs"], found["difference"]) == (8, 2, pytest.approx(0.06))
    assert (found["lower"], found["upper"]) == pytest.approx((-0.0039, 0.1215), abs=2e-4)
    swapped_ = difference(theirs, mine)
    assert (swapped_["lower"], swapped_["upper"]) == pytest.approx((-found["upper"], -found["lower"]))
    up, down, none = ({"lower": a, "upper": b} for a, b in ((0.1, 0.2), (-0.2, -0.1), (-0.1, 0.1)))
    verdicts = {judged({"theirs": a, "ours": b}) for a, b in ((up, none), (none, up), (up, up))}
    assert verdicts == {"ours"}
    assert judged({"theirs": none, "ours": down}) == "theirs"
    assert judged({"theirs": up, "ours": down}) == judged({"theirs": none, "ours": none}) == "not told apart"
    # As many, the cheapest first, as keep a mean of 2: 1, 2 and 3, and not 5.
    assert keeping(np.array([3.0, 1.0, 5.0, 2.0, np.inf]), 2.0).tolist() == [3.0, 1.0, np.inf, 2.0, np.inf]


def test_the_page_reads_a_share_at_their_mean_however_it_was_written():
    place = Path(__file__).parents[2] / "docs" / "how-to" / "make_measured.py"
    told = runpy.run_path(str(place))["at_their_mean"]
    assert told({"at their mean": 0.915}) == told({"at their mean": {"coverage": 0.915, "cost": 1.0}}) == "91.5%"
