"""SparseSearch against brute force."""

import itertools
import time

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import holdtrue as ht
from holdtrue.batch import Predictor, solve
from holdtrue.encoding import Encoder, broken_limits, distance, norm_weights
from holdtrue.errors import DataError
from holdtrue.methods import SparseSearch
from holdtrue.methods._listed import candidate_values
from holdtrue.models import Decision, LinearModel
from holdtrue.schema import as_table, normalise_restrictions
from holdtrue.search import Status, is_found
from holdtrue.testing import _world as world


def small_world(seed=0):
    """Few values per feature, so that every row can be tried."""
    rng = np.random.default_rng(seed)
    n = 200
    table = pd.DataFrame(
        {
            "a": rng.integers(0, 6, n),
            "b": rng.integers(0, 5, n),
            "c": rng.choice(["x", "y", "z"], n),
            "d": rng.choice(["no", "yes"], n),
            "e": rng.integers(0, 4, n),
        }
    )
    schema = ht.Schema(
        [
            ht.Feature(name="a", kind="integer", bounds=(0, 5), direction="increase"),
            ht.Feature(name="b", kind="integer", bounds=(0, 4)),
            ht.Feature(name="c", kind="categorical", levels=("x", "y", "z"), transitions={"z": ("y",)}),
            ht.Feature(name="d", kind="binary", levels=("no", "yes"), cost_weight=0.5),
            ht.Feature(name="e", kind="integer", bounds=(0, 3), direction="fixed"),
        ],
        [ht.LinearConstraint(coefficients={"a": 1, "b": 1}, bound=8)],
    )
    score = table["a"] - 1.2 * table["b"] + 2 * (table["c"] == "y") + (table["d"] == "yes") + 0.5 * table["e"]
    y = (score + rng.normal(0, 0.5, n) > 3).astype(int).to_numpy()
    clf = ht.RecourseClassifier(
        schema=schema,
        model=ht.MLP(widths=(8,)),
        regime=ht.StandardTraining(n_epochs=40, step_size=0.02),
        random_state=0,
    )
    return clf.fit(table, y), table


def brute_force(predictor, person, k, norm):
    """Cheapest accepted, permitted row that differs from the person in at most k features; inf if none."""
    schema, encoder = predictor.encoder.schema, predictor.encoder
    domains = {f.name: list(f.levels or range(int(f.bounds[0]), int(f.bounds[1]) + 1)) for f in schema}
    rows = []
    for combo in itertools.product(*domains.values()):
        row = dict(zip(domains, combo, strict=True))
        if sum(row[name] != person[name] for name in row) <= k:
            rows.append(row)
    trial = as_table(pd.DataFrame(rows))
    factual = as_table(pd.DataFrame([dict(person)] * len(rows)))
    fine = np.array([not b for b in broken_limits(encoder, factual, trial)])
    fine &= predictor.decide(trial) == predictor.decision.favourable
    cost = np.asarray(
        distance(encoder.encode(trial), encoder.encode(factual), norm, jnp.asarray(norm_weights(encoder, norm)))
    )
    return cost[fine].min() if fine.any() else np.inf


@pytest.mark.parametrize(("norm", "k"), [("l1", 1), ("l1", 2), ("l2", 2), ("linf", 2), ("l0", 2), ("mad", 2)])
def test_equals_brute_force(norm, k):
    clf, table = small_world()
    refused = table[clf.predict(table) == 0].drop_duplicates().head(25)
    plan = SparseSearch(max_changes=k, norm=norm).fit(clf, table).recourse(refused)
    for i, (_, person) in enumerate(refused.iterrows()):
        best = brute_force(clf.predictor_, person, k, norm)
        if np.isfinite(best):
            assert plan.status[i] == int(Status.OPTIMAL)
            assert plan.cost[i] == pytest.approx(best, abs=1e-5)
        else:
            assert plan.status[i] == int(Status.INFEASIBLE)


def test_three_changes_are_found_where_two_do_not_suffice():
    """Six switches, a yes needs three: no pair will do, and the beam finds a triple."""
    table = pd.DataFrame(np.eye(6, dtype=int), columns=list("abcdef"))
    features = [ht.Feature(name=c, kind="binary", levels=(0, 1)) for c in table]
    encoder = Encoder.fit(ht.Schema(features), table)
    model = LinearModel(jnp.stack([jnp.zeros(6), jnp.ones(6)]), jnp.array([0, -2.5]))
    predictor = Predictor(encoder, Decision(model, jnp.float32(0.5), 1), np.array([0, 1]))
    nobody = table.head(1) * 0
    two = SparseSearch(max_changes=2).fit(predictor, table).recourse(nobody)
    assert two.status.tolist() == [int(Status.INFEASIBLE)]
    assert "of all that was searched" in Status.INFEASIBLE.message  # not: of all that there is
    three = SparseSearch(max_changes=3).fit(predictor, table).recourse(nobody)
    assert three.status.tolist() == [int(Status.FOUND)]
    assert three.cost.tolist() == [3.0]
    assert three.changed().sum() == 3


def test_continuous_changes_are_moved_back_to_the_boundary():
    """One number decides: the answer is the boundary, not the nearest listed value."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(0, 1, 300), "noise": rng.uniform(0, 1, 300)})
    y = (table["x"] > 0.6).astype(int).to_numpy()
    clf = ht.RecourseClassifier(
        schema=ht.Schema(
            [
                ht.Feature(name="x", kind="numeric", bounds=(0, 1)),
                ht.Feature(name="noise", kind="numeric", direction="fixed"),
            ]
        ),
        model=ht.Linear(),
        regime=ht.StandardTraining(n_epochs=300, step_size=0.1),
        random_state=0,
    ).fit(table, y)
    refused = table[clf.predict(table) == 0].head(20)
    plan = SparseSearch(n_values=5, max_changes=1).fit(clf, table).recourse(refused)
    encoder, model = clf.predictor_.encoder, clf.predictor_.decision.model
    assert isinstance(model, LinearModel)
    w, b = np.asarray(model.weight[1] - model.weight[0]), float(model.bias[1] - model.bias[0])
    gap = -(encoder.encode(refused) @ w + b) / abs(w[encoder.layout.slot("x").start])
    # Three rounds of 64 points, ever finer near the boundary.
    np.testing.assert_allclose(plan.cost, gap, atol=2e-3)


def test_where_no_number_changed_none_is_moved_back():
    """One block of edits holds the answer; no pair can be cheaper; there is nothing to polish."""
    table = pd.DataFrame({"a": list("xyz"), "b": list("uvw"), "n": [0.0, 0.5, 1.0]})
    features = [ht.Feature(name=c, kind="categorical", levels=tuple(table[c])) for c in "ab"]
    features.append(ht.Feature(name="n", kind="numeric", bounds=(0, 1), direction="fixed"))
    encoder = Encoder.fit(ht.Schema(features), table)
    weights = np.zeros((2, encoder.n_columns), np.float32)
    weights[1, encoder.layout.slot("a").start + 2] = 2.0  # level z of a decides
    predictor = Predictor(
        encoder,
        Decision(LinearModel(jnp.asarray(weights), jnp.array([0.0, -1.0])), jnp.float32(0.5), 1),
        np.array([0, 1]),
    )
    plan = SparseSearch(max_changes=2).fit(predictor, table).recourse(table.head(1))
    assert plan.status.tolist() == [int(Status.OPTIMAL)]
    assert plan.cost.tolist() == [2.0]
    assert plan.n_steps.tolist() == [1]


def test_values_come_from_the_grid_the_splits_or_the_data():
    grid = ht.Feature(name="a", kind="integer", bounds=(0, 4))
    np.testing.assert_array_equal(candidate_values(grid, np.array([1.0]), None, 10), [0, 1, 2, 3, 4])
    wide = ht.Feature(name="a", kind="integer", bounds=(0, 1000))
    np.testing.assert_array_equal(
        candidate_values(wide, np.array([1.0]), np.array([10.5, 20.0]), 10), [10, 11, 20, 21]
    )
    free = ht.Feature(name="a", kind="numeric", bounds=(0, 1))
    values = candidate_values(free, np.linspace(0, 1, 1001), None, 11)
    np.testing.assert_allclose(values, np.linspace(0, 1, 11), atol=1e-2)


def test_a_forest_is_served():
    from sklearn.ensemble import RandomForestClassifier

    bank = ht.datasets.load("loanapp")
    forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(bank.X, bank.y)
    refused = bank.X[forest.predict(bank.X) == 0].head(10)
    plan = ht.recourse(forest, refused, bank.schema, method=SparseSearch(max_changes=2), reference=bank.X)
    assert plan.found.mean() > 0.8
    assert plan.valid[plan.found].all()


@pytest.fixture(scope="module")
def boosted():
    """Boosted trees over the small world, whose every row can be tried."""
    clf, table = small_world()
    labels = clf.predict(table)
    schema = clf.schema_
    front = make_column_transformer((OrdinalEncoder(), ["c", "d"]), remainder="passthrough")
    model = make_pipeline(
        front.set_output(transform="pandas"), GradientBoostingClassifier(n_estimators=20, random_state=0)
    )
    model.fit(table, labels)
    return ht.wrap(model, schema, table), table, table[model.predict(table) == 0].head(40)


@pytest.mark.parametrize(("norm", "k"), [("l1", None), ("l2", None), ("linf", None), ("l1", 3)])
def test_dives_over_the_leaves_of_trees_come_near_brute_force(boosted, norm, k):
    predictor, table, people = boosted
    plan = SparseSearch(norm=norm, max_changes=k).fit(predictor, table).recourse(people)
    best = np.array([brute_force(predictor, row, k or 5, norm) for _, row in people.iterrows()])
    np.testing.assert_array_equal(plan.found, np.isfinite(best))
    assert plan.valid[plan.found].all()
    assert not any(broken_limits(predictor.encoder, plan.factual, plan.recourse))
    if k is not None:
        assert plan.changed().sum(axis=1).max() <= k
    cost, best = plan.cost[plan.found], best[plan.found]
    assert (cost > best - 1e-5).all()
    assert (cost < best + 1e-5).mean() > 0.85
    assert cost.mean() < 1.05 * best.mean()


def test_fitted_again_it_looks_at_the_new_trees():
    """The leaves that were looked at belong to one model: another one has others."""
    from sklearn.ensemble import RandomForestClassifier

    bank = ht.datasets.load("loanapp").subset(range(300))
    method, plans = ht.SparseSearch(), []
    for seed in (0, 1):
        forest = RandomForestClassifier(n_estimators=5, random_state=seed).fit(bank.X, bank.y)
        predictor = ht.wrap(forest, bank.schema, bank.X)
        people = bank.X[forest.predict(bank.X) == 0][:5]
        again = method.fit(predictor, bank.X).recourse(people)
        plans.append((again, ht.SparseSearch().fit(predictor, bank.X).recourse(people)))
    for again, fresh in plans:
        np.testing.assert_array_equal(again.cost, fresh.cost)


def test_two_changes_on_trees_are_still_proven(boosted):
    predictor, table, people = boosted
    plan = SparseSearch(max_changes=2).fit(predictor, table).recourse(people)
    assert set(plan.status) <= {int(Status.OPTIMAL), int(Status.INFEASIBLE)}


def test_where_no_dive_arrives_an_accepted_row_is_the_start():
    """Features that help only together, once all have moved far: no single change brings anything."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(0, 1, (600, 3)), columns=["a", "b", "c"])
    y = ((table["a"] > 0.6) & (table["b"] > 0.6) & (table["c"] > 0.6)).astype(int).to_numpy()
    schema = ht.Schema([ht.Feature(name=name, kind="numeric", bounds=(0, 1)) for name in table])
    tree = DecisionTreeClassifier(max_depth=3, min_samples_leaf=30, random_state=0).fit(table, y)
    predictor = ht.wrap(tree, schema, table)
    people = table[(table < 0.5).all(axis=1)].head(10)
    plan = SparseSearch().fit(predictor, table).recourse(people)
    assert plan.valid.all()
    # A path of three questions, one about each feature: past all three thresholds, and no farther.
    at, asked, nodes = 0, {}, tree.tree_
    while nodes.children_right[at] >= 0:
        asked[int(nodes.feature[at])] = float(nodes.threshold[at])
        at = nodes.children_right[at]
    assert set(asked) == {0, 1, 2}
    exact = sum(asked[j] - people[name] for j, name in enumerate(table)) / (table.max() - table.min()).mean()
    np.testing.assert_allclose(plan.cost, exact, rtol=0.01)


def test_bad_settings():
    with pytest.raises(DataError, match="`max_changes` must be a whole number of at least 1"):
        SparseSearch(max_changes=0).fit(world.classifier("linear"), *world.people())


def test_a_table_of_categories_alone():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.choice(["a", "b", "c"], 200) for name in ("one", "two", "three")})
    y = ((X == "c").sum(axis=1) >= 2).astype(int)
    schema = ht.Schema([ht.Feature(name=str(n), kind="categorical", levels=("a", "b", "c")) for n in X])
    clf = ht.RecourseClassifier(schema=schema, model=ht.Linear(), method=ht.SparseSearch(), random_state=0).fit(
        X, y
    )
    plan = clf.recourse(X[clf.predict(X) == 0][:10])
    assert plan.valid[plan.found].all()
    assert plan.found.any()


def test_three_changes_may_be_cheaper_than_two():
    loans = ht.datasets.load("loanapp")
    clf = ht.RecourseClassifier(schema=loans.schema, model=ht.Linear(), random_state=0).fit(loans.X, loans.y)
    people = loans.X[clf.predict(loans.X) == 0][:20]
    some, many = (ht.SparseSearch(max_changes=most).fit(clf, loans.X) for most in (2, 3))
    assert "OPTIMAL" in some.recourse(people).counts()
    assert "OPTIMAL" not in many.recourse(people).counts()


# ---- models that are asked row by row ---------------------------------------------------------------


def opaque(predictor, table, proba=lambda p: p):
    """The same decision behind a function of a dataframe, which counts the rows that it is asked about."""
    n_rows = [0]

    def function(rows):
        n_rows[0] += len(rows)
        return proba(predictor.proba(as_table(rows)))

    return ht.wrap(function, predictor.encoder.schema, table, threshold=0.5, favourable=1), n_rows


@pytest.fixture(scope="module")
def unread(boosted):
    """Boosted trees that nothing can read, over the small world."""
    predictor, table, _ = boosted
    hidden, n_rows = opaque(predictor, table)
    decided = hidden.decide(as_table(table))
    return hidden, table, table[decided != hidden.decision.favourable].drop_duplicates().head(25), n_rows


@pytest.mark.parametrize(("norm", "k"), [("l1", 1), ("l1", 2), ("l2", 2), ("linf", 2), ("l0", 2), ("mad", 2)])
def test_what_is_asked_by_promise_equals_brute_force(unread, norm, k):
    predictor, table, people, _ = unread
    plan = SparseSearch(max_changes=k, norm=norm).fit(predictor, table).recourse(people)
    best = np.array([brute_force(predictor, row, k, norm) for _, row in people.iterrows()])
    proofs = np.where(np.isfinite(best), int(Status.OPTIMAL), int(Status.INFEASIBLE))
    np.testing.assert_array_equal(plan.status, proofs)
    np.testing.assert_allclose(plan.cost[plan.found], best[plan.found], atol=1e-5)
    assert np.isfinite(best).any()


@pytest.mark.parametrize("norm", ["l1", "l2", "linf", "l0", "mad"])
def test_three_changes_by_promise_come_near_brute_force(unread, norm):
    predictor, table, people, _ = unread
    plan = SparseSearch(max_changes=3, norm=norm).fit(predictor, table).recourse(people)
    best = np.array([brute_force(predictor, row, 3, norm) for _, row in people.iterrows()])
    np.testing.assert_array_equal(plan.found, np.isfinite(best))
    assert not any(broken_limits(predictor.encoder, plan.factual, plan.recourse))
    assert plan.changed().sum(axis=1).max() <= 3
    cost, best = plan.cost[plan.found], best[plan.found]
    assert (cost > best - 1e-5).all()
    assert (cost < best + 1e-5).mean() > 0.85
    assert cost.mean() < 1.02 * best.mean()


def test_a_yes_or_no_tells_nothing_of_how_near_it_is(unread):
    """Probabilities of 0 and 1: no set promises more than another, and they are gone through all the same."""
    predictor, table, people, _ = unread
    blunt, _ = opaque(predictor, table, lambda p: (p >= 0.5).astype(float))
    for k in (2, None):
        search = SparseSearch(max_changes=k)
        plan, sharp = (search.fit(asked, table).recourse(people) for asked in (blunt, predictor))
        np.testing.assert_array_equal(plan.found, sharp.found)
        if k is not None:
            np.testing.assert_allclose(plan.cost, sharp.cost, atol=1e-5)


def test_features_that_help_only_together_are_found_by_promise():
    """No single change brings anything, nor any pair: three switches of six, and no more than that is known."""
    table = pd.DataFrame(np.eye(6, dtype=int), columns=list("abcdef"))
    schema = ht.Schema([ht.Feature(name=c, kind="binary", levels=(0, 1)) for c in table])

    def function(rows):
        yes = (np.asarray(rows).sum(axis=1) >= 3).astype(float)
        return np.stack([1 - yes, yes], axis=1)

    predictor = ht.wrap(function, schema, table, threshold=0.5, favourable=1)
    nobody = table.head(1) * 0
    two, three = (SparseSearch(max_changes=k).fit(predictor, table).recourse(nobody) for k in (2, 3))
    assert two.status.tolist() == [int(Status.INFEASIBLE)]
    assert three.status.tolist() == [int(Status.FOUND)]
    assert three.cost.tolist() == [3.0]


@pytest.mark.parametrize("norm", ["l1", "l0"])
def test_more_changes_are_made_where_three_are_not_enough(norm):
    """Five steps up of five columns of four: found with no more changes than that, and not for who named three."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 5, (300, 8)), columns=list("abcdefgh")).assign(
        k=rng.choice(["x", "y"], 300)
    )
    schema = ht.Schema([
        *(ht.Feature(name=c, kind="integer", bounds=(0, 4)) for c in table.columns[:8]),
        ht.Feature(name="k", kind="categorical", levels=("x", "y"), direction="fixed"),
    ])  # fmt: skip

    def function(rows):
        score = rows[list("abcdefgh")].to_numpy().sum(axis=1) + 2.0 * (rows["k"] == "y") - 16.5
        return np.stack([1 / (1 + np.exp(score)), 1 / (1 + np.exp(-score))], axis=1)

    predictor = ht.wrap(function, schema, table, threshold=0.5, favourable=1)
    people = table.head(2).assign(**dict.fromkeys("abcdefgh", 0), k=["x", "y"])
    three = SparseSearch(max_changes=3, norm=norm).fit(predictor, table).recourse(people)
    assert three.status.tolist() == [int(Status.NOT_FOUND)] * 2
    plan = SparseSearch(norm=norm).fit(predictor, table).recourse(people)
    assert plan.status.tolist() == [int(Status.FOUND)] * 2
    assert plan.valid.all()
    assert plan.changed().sum(axis=1).tolist() == [5, 4]  # 17 steps of four at most; 15 where two are given
    raised = pd.DataFrame(plan.recourse.columns)[list("abcdefgh")].to_numpy(int)
    assert raised.sum(axis=1).tolist() == [17, 15]  # and not one too many


def test_who_else_is_asked_changes_no_answer_by_promise(unread):
    predictor, table, people, _ = unread
    search = SparseSearch().fit(predictor, table)
    together = search.recourse(people)
    order = np.random.default_rng(0).permutation(len(people))
    np.testing.assert_array_equal(search.recourse(people.iloc[order]).cost, together.cost[order])
    for i in range(3):
        alone = search.recourse(people.iloc[[i]])
        np.testing.assert_array_equal(alone.cost, together.cost[[i]])
        np.testing.assert_array_equal(alone.n_steps, together.n_steps[[i]])


def test_restrictions_and_options_hold_by_promise(unread):
    predictor, table, people, _ = unread
    search = SparseSearch().fit(predictor, table)
    own = [{"a": "fixed", "c": "fixed"}] * len(people)
    plan = search.recourse(people, restrictions=own)
    assert not any(broken_limits(predictor.encoder, plan.factual, plan.recourse, own))
    assert not plan.changed()[:, [0, 2]].any()
    several = search.recourse(people, n_recourses=3)
    assert (np.bincount(several.person[several.found]) > 1).any()
    assert several.valid[several.found].all()
    everything = dict.fromkeys(table.columns, "fixed")
    nobody = search.recourse(people, restrictions=dict.fromkeys(range(len(people)), everything))
    assert set(nobody.status) == {int(Status.INFEASIBLE)}


def test_asking_by_promise_takes_a_fraction_of_the_rows():
    """Beside the search that goes through the lists: as many people, no dearer, and far fewer rows."""
    loans = ht.datasets.load("loanapp").subset(range(800))
    numbers = list(loans.X.columns)[:12]
    assert loans.schema is not None
    X, schema = pd.DataFrame(loans.X)[numbers], ht.Schema([loans.schema[name] for name in numbers])
    forest = RandomForestClassifier(10, max_depth=6, random_state=0).fit(X, np.asarray(loans.y) == 1)
    n_rows = [0]

    def function(rows):
        n_rows[0] += len(rows)
        return forest.predict_proba(rows)

    predictor = ht.wrap(function, schema, X, threshold=0.8, favourable=1)
    people = X.iloc[np.flatnonzero(np.asarray(forest.predict_proba(X))[:, 1] < 0.8)[:20]]
    search = SparseSearch().fit(predictor, X)
    plan, by_promise = search.recourse(people), n_rows[0]
    table = as_table(people)
    problems = search.problems(
        table, np.full(len(people), 1), normalise_restrictions(None, predictor.encoder.schema, len(people))
    )
    assert predictor.foreign is not None
    predictor.foreign._answers.clear()
    n_rows[0] = 0
    through = solve(search.solver(), problems)
    assert plan.found.sum() >= is_found(through.status).sum()
    both = plan.found & is_found(through.status)
    assert plan.cost[both].mean() <= 1.005 * through.cost[both].mean()
    assert by_promise < n_rows[0] / 3


def test_what_a_model_raises_by_promise_is_raised():
    table = pd.DataFrame({"a": np.linspace(0, 1, 50), "b": np.linspace(1, 0, 50)})

    def function(rows):
        if (np.asarray(rows)[:, 0] > 0.9).any() and len(rows) != len(table):
            raise KeyError("too large")
        p = np.clip(np.asarray(rows)[:, 0], 0, 1)
        return np.stack([1 - p, p], axis=1)

    predictor = ht.wrap(function, None, table, threshold=0.5, favourable=1)
    search = SparseSearch().fit(predictor, table)
    for deadline in (None, 30.0):
        with pytest.raises(KeyError, match="too large"):
            search.recourse(table.head(3), deadline=deadline)


def test_a_deadline_is_kept_by_promise(unread):
    predictor, table, people, _ = unread

    def slow(p):
        time.sleep(0.05)
        return p

    late, _ = opaque(predictor, table, slow)
    search = SparseSearch().fit(late, table)
    began = time.monotonic()
    plan = search.recourse(people, deadline=0.15)
    assert time.monotonic() - began < 2.0
    assert (plan.status == int(Status.NOT_REACHED)).any()
    assert plan.valid[plan.found].all()


def test_one_person_is_one_question_to_the_models_own_library(monkeypatch):
    """About the person and the recourse together; who turns out to have a yes is told so, as among many."""
    loans = ht.datasets.load("loanapp").subset(range(400))
    X = loans.X.select_dtypes("number").fillna(0)
    model = RandomForestClassifier(10, max_depth=4, random_state=0).fit(X, np.asarray(loans.y) == 1)
    predictor = ht.wrap(model, None, X, threshold=0.85, favourable=True)
    search = SparseSearch().fit(predictor, X)
    accepted = model.predict_proba(X)[:, 1] >= 0.86
    people = pd.concat([X[~accepted].head(3), X[accepted].head(3)])
    together = search.recourse(people)
    calls, asked = [], type(model).predict_proba
    monkeypatch.setattr(type(model), "predict_proba", lambda own, X: (calls.append(len(X)), asked(own, X))[1])
    for i in range(len(people)):
        calls.clear()
        alone = search.recourse(people.iloc[[i]])
        assert calls == ([2] if together.found[i] else [1, 1] if i < 3 else [2])
        assert alone.status.tolist() == [together.status[i]]
        for mine, theirs in (("cost", "cost"), ("before", "before"), ("after", "after"), ("valid", "valid")):
            np.testing.assert_array_equal(getattr(alone, mine), getattr(together, theirs)[[i]])
