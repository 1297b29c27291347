"""Branch and bound over leaves, held against every row there is."""

import functools
import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

import holdtrue as ht
from holdtrue.encoding import broken_limits
from holdtrue.hold import with_guides
from holdtrue.methods._leaves import search_leaves
from holdtrue.schema import Restrictions, Table
from holdtrue.search import Status, is_found

ROWS = 300


def world(seed: int) -> tuple[pd.DataFrame, np.ndarray, ht.Schema]:
    """A small table of every kind of feature, limits across them, and a label that depends on all."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "income": rng.integers(0, 6, ROWS),
            "debt": rng.integers(0, 6, ROWS),
            "age": rng.integers(20, 25, ROWS),
            "school": rng.choice(["none", "some", "full"], ROWS),
            "home": rng.choice(["rent", "own", "family"], ROWS),
            "job": rng.choice(["no", "yes"], ROWS),
        }
    )
    score = X.income - X.debt + (X.school == "full") * 2 + (X.home == "own") * 1.5 + (X.job == "yes")
    y = (score + rng.normal(0, 1.5, ROWS) > 1.5).astype(int).to_numpy()
    directions = ["free", "decrease"]
    features = [
        ht.Feature(name="income", kind="integer", bounds=(0, 5), cost_weight=float(rng.choice([0.5, 1.0, 2.0]))),
        ht.Feature(name="debt", kind="integer", bounds=(0, 5), direction=str(rng.choice(directions))),  # type: ignore[arg-type]
        ht.Feature(name="age", kind="integer", bounds=(20, 24), direction="increase"),
        ht.Feature(name="school", kind="ordinal", levels=("none", "some", "full"), direction="increase"),
        ht.Feature(name="home", kind="categorical", levels=("rent", "own", "family")),
        ht.Feature(name="job", kind="binary", levels=("no", "yes"), direction=str(rng.choice(["free", "fixed"]))),  # type: ignore[arg-type]
    ]
    constraints, implications = [], []
    if seed % 2:
        constraints.append(
            ht.LinearConstraint(coefficients={"income": 1.0, "debt": 1.0}, bound=float(rng.integers(5, 8)))
        )
    if seed % 3 == 0:
        implications.append(ht.Implication(when={"home": ("own",)}, then={"job": ("yes",)}))
    return X, y, ht.Schema(features, constraints, implications)


@functools.cache
def every_row(*names: str) -> pd.DataFrame:
    """Every row of the schema's grid."""
    values = [
        range(6),
        range(6),
        range(20, 25),
        ["none", "some", "full"],
        ["rent", "own", "family"],
        ["no", "yes"],
    ]
    return pd.DataFrame(list(itertools.product(*values)), columns=list(names))


def cheapest(method, person: pd.Series, accepted, max_changes: int | None = None) -> float:
    """Cost of the cheapest row that keeps every limit and is accepted, by asking about all; NaN if none is."""
    predictor = method.predictor_
    encoder = predictor.encoder
    rows = every_row(*person.index)
    if max_changes is not None:
        rows = rows[(rows != person).sum(axis=1) <= max_changes]
    own = pd.DataFrame({name: [value] * len(rows) for name, value in person.items()})
    rows = rows.reset_index(drop=True)
    factual, other = (encoder.schema.check(part, where="test") for part in (own, rows))
    kept = np.array([not b for b in broken_limits(encoder, factual, other)]) & accepted(other)
    cost = ht.batch.distances(encoder, encoder.encode(factual), encoder.encode(other), method.norm)
    return float(cost[kept].min()) if kept.any() else float("nan")


def by_model(predictor):
    """Rows that a model accepts."""
    return lambda table: predictor.decide(table) == list(predictor.classes).index(predictor.favourable)


def fitted(model, X, y, schema, **options):
    numbers = X.apply(lambda column: column if column.dtype.kind in "iu" else column.astype("category"))
    if not isinstance(model, XGBClassifier):
        from sklearn.compose import make_column_transformer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OrdinalEncoder

        text = [c for c in X if X[c].dtype.kind not in "iu"]
        model = make_pipeline(make_column_transformer((OrdinalEncoder(), text), remainder="passthrough"), model)
        numbers = X
    predictor = ht.wrap(model.fit(numbers, y), schema, numbers)
    assert "trees" in predictor.capabilities
    return ht.SparseSearch(**options).fit(predictor, numbers), numbers


MODELS = {
    "boosting": lambda seed: XGBClassifier(
        n_estimators=12, max_depth=3, enable_categorical=True, random_state=seed, n_jobs=1
    ),
    "forest": lambda seed: RandomForestClassifier(15, max_depth=4, random_state=seed),
    "extra": lambda seed: ExtraTreesClassifier(10, max_depth=4, random_state=seed),
    "gradient": lambda seed: GradientBoostingClassifier(n_estimators=12, max_depth=3, random_state=seed),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_cheaper_among_all_rows(kind, seed):
    X, y, schema = world(seed)
    method, table = fitted(MODELS[kind](seed), X, y, schema)
    predictor = method.predictor_
    refused = np.flatnonzero(predictor.decide(schema.check(table, where="test")) == 0)[:8]
    plan = method.recourse(table.iloc[refused])
    assert {Status(s) for s in plan.status} <= {Status.OPTIMAL, Status.INFEASIBLE}
    for i, row in enumerate(refused):
        best = cheapest(method, X.iloc[row], by_model(predictor))
        if np.isnan(best):
            assert plan.status[i] == Status.INFEASIBLE
        else:
            assert plan.cost[i] == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf", "l0", "mad"])
@pytest.mark.parametrize("max_changes", [1, 2, None])
def test_every_norm_and_number_of_changes(norm, max_changes):
    X, y, schema = world(1)
    method, table = fitted(MODELS["boosting"](0), X, y, schema, norm=norm, max_changes=max_changes)
    refused = np.flatnonzero(method.predictor_.decide(schema.check(table, where="test")) == 0)[:6]
    plan = method.recourse(table.iloc[refused])
    for i, row in enumerate(refused):
        best = cheapest(method, X.iloc[row], by_model(method.predictor_), max_changes)
        if np.isnan(best):
            assert plan.status[i] == Status.INFEASIBLE
        else:
            assert plan.status[i] == Status.OPTIMAL
            assert plan.cost[i] == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("spared", [0, 1])
@pytest.mark.parametrize("slack", [-0.2, 0.1])
def test_a_panel_is_asked_as_a_whole(slack, spared):
    X, y, schema = world(2)
    method, table = fitted(MODELS["boosting"](0), X, y, schema)
    predictor = method.predictor_
    guides = ht.retrain(predictor, table, y, 4, vary="bootstrap", random_state=0)
    panel = with_guides(predictor, guides.members, slack, 1, spared)
    held = method.rebind(panel)

    def accepted(other: Table) -> np.ndarray:
        own = predictor.decide(other) == 1
        encoded = panel.encoder.encode(other).astype(np.float32)
        logits = ht.models.batch_logits(panel.decision.model, encoded)
        return own & (np.asarray(logits[:, 1] - logits[:, 0]) >= 1e-4)

    refused = np.flatnonzero(predictor.decide(schema.check(table, where="test")) == 0)[:8]
    plan = held.recourse(table.iloc[refused])
    for i, row in enumerate(refused):
        best = cheapest(held, X.iloc[row], accepted)
        if np.isnan(best):
            assert plan.status[i] in (Status.INFEASIBLE, Status.NOT_FOUND)
        else:
            assert plan.found[i]
            if plan.status[i] == Status.OPTIMAL:
                assert plan.cost[i] == pytest.approx(best, abs=1e-5)
            assert plan.cost[i] >= best - 1e-5
    assert (plan.status == Status.OPTIMAL).mean() > 0.5


@pytest.mark.parametrize("seed", range(3))
def test_dives_under_a_panel_end_near_what_is_proved_to_be_cheapest(seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(0, 1, (600, 8)).round(2), columns=list("abcdefgh"))
    y = (X.sum(axis=1) + rng.normal(0, 0.5, 600) > 4.5).astype(int).to_numpy()
    schema = ht.Schema([ht.Feature(name=name, kind="numeric", bounds=(0.0, 1.0)) for name in X])
    predictor = ht.wrap(XGBClassifier(n_estimators=30, max_depth=3, n_jobs=1, random_state=0).fit(X, y), schema, X)
    guides = ht.retrain(predictor, X, y, 10, vary="anew", random_state=0)
    method = ht.SparseSearch().fit(predictor, X).rebind(with_guides(predictor, guides.members, 0.0, 1, 2))
    people = schema.check(X.iloc[np.flatnonzero(predictor.decide(schema.check(X)) == 0)[:20]])
    problems = method.problems(people, np.full(20, 1), Restrictions())
    dived, best = (search_leaves(method, problems, boxes, None, None) for boxes in (1, 20_000))
    assert (best.status == Status.OPTIMAL).sum() >= 19
    assert is_found(dived.status).all()
    # By the guide alone that lacks most, though it may be spared, dives ended 9 to 18% above it.
    assert best.cost.mean() <= dived.cost.mean() <= 1.03 * best.cost.mean()


def test_what_is_missing_stays_so_and_what_is_known_stays_known():
    """Trees that ask whether a number is missing have leaves where nobody gets whose number is known."""
    X, y, _ = world(2)
    rng = np.random.default_rng(0)
    X = X[["age", "debt", "income"]].astype(float)
    X.loc[rng.random(ROWS) < 0.4, "debt"] = np.nan
    y = np.where(X.debt.isna(), rng.random(ROWS) < 0.7, y).astype(int)
    income, age = (
        ht.Feature(name=n, kind="integer", bounds=b) for n, b in (("income", (0, 5)), ("age", (20, 24)))
    )
    debt = ht.Feature(name="debt", kind="integer", bounds=(0, 5), missing="median", direction="fixed")
    schema = ht.Schema([age, debt, income])
    forest = RandomForestClassifier(10, max_depth=6, random_state=0).fit(X, y)
    assert any(np.isinf(tree.tree_.threshold).any() for tree in forest.estimators_)
    predictor = ht.wrap(forest, schema, X)
    people = X[forest.predict(X) == 0]
    known = people.debt.notna().to_numpy()
    people = pd.concat([people[known][:8], people[~known][:8]]).reset_index(drop=True)
    assert people.debt.isna().any()
    plan = ht.ExactSearch().fit(predictor, X).recourse(people)
    encoder = predictor.encoder
    for i, person in people.iterrows():
        rows = itertools.product(range(20, 25), [person.debt], range(6))
        rows = pd.DataFrame(list(rows), columns=list(X)).astype(float)
        rows = rows[forest.predict(rows) == 1].reset_index(drop=True)
        own = pd.DataFrame([person] * len(rows)).reset_index(drop=True)
        encoded = [encoder.encode(schema.check(part, where="test")) for part in (own, rows)]
        best = ht.batch.distances(encoder, *encoded, "l1").min(initial=np.inf)
        assert plan.status[i] == (Status.OPTIMAL if np.isfinite(best) else Status.INFEASIBLE)
        if np.isfinite(best):
            assert plan.cost[i] == pytest.approx(best, abs=1e-5)


def test_the_gap_says_what_is_not_proved():
    X, y, schema = world(0)
    forest = MODELS["forest"](0)
    method, table = fitted(forest, X, y, schema)
    people = table[method.predictor_.decide(schema.check(table, where="test")) == 0][:6]
    proved = ht.ExactSearch(time_limit=60.0).fit(method.predictor_, table).recourse(people)
    assert {Status(s) for s in proved.status} <= {Status.OPTIMAL, Status.INFEASIBLE}
    np.testing.assert_allclose(proved.gap[proved.found], 0.0, atol=1e-4)
    # No time at all: what a dive found, and a bound that is true of it.
    hasty = ht.ExactSearch(time_limit=1e-9).fit(method.predictor_, table).recourse(people)
    assert hasty.bound is not None
    assert (hasty.bound <= proved.cost + 1e-5)[proved.found].all()


@pytest.fixture(scope="module")
def served():
    """A forest in a world with limits of every kind, and people it refuses."""
    X, y, schema = world(3)
    method, table = fitted(MODELS["forest"](1), X, y, schema)
    people = table[method.predictor_.decide(schema.check(table, where="test")) == 0][:12]
    return ht.ExactSearch().fit(method.predictor_, table), people.reset_index(drop=True)


def test_order_and_company_do_not_matter(served):
    method, people = served
    plan = method.recourse(people)
    backwards = method.recourse(people.iloc[::-1])
    np.testing.assert_allclose(plan.cost, backwards.cost[::-1], atol=1e-6)
    for i in range(len(people)):
        alone = method.recourse(people.iloc[[i]])
        np.testing.assert_allclose(alone.cost, plan.cost[[i]], atol=1e-6)
        assert alone.status[0] == plan.status[i]


def test_restrictions_hold(served):
    method, people = served
    plan = method.recourse(people, restrictions={i: {"income": "fixed"} for i in range(len(people))})
    names = list(plan.schema.names)
    assert not plan.changed()[:, names.index("income")].any()
    assert (plan.cost >= method.recourse(people).cost - 1e-6)[plan.found].all()


def test_options_differ(served):
    method, people = served
    plan = method.recourse(people, n_recourses=2)
    assert (plan.option == 1).any()
    assert plan.valid[plan.found].all()
    first = plan.take(plan.option == 0)
    for row in np.flatnonzero(plan.option == 1):
        own = np.flatnonzero(first.person == plan.person[row])[0]
        assert (plan.changed()[row] != first.changed()[own]).any() or plan.cost[row] > first.cost[own]


def test_a_deadline_is_kept(served):
    method, people = served
    many = pd.concat([people] * 50, ignore_index=True)
    plan = method.recourse(many, deadline=0.5)
    assert plan.seconds < 3
    assert plan.valid[plan.found].all()


def test_people_with_a_yes_are_left_alone(served):
    method, people = served
    accepted = people.copy()
    done = method.recourse(people)
    for name in people:
        accepted[name] = done.recourse.columns[name]
    again = method.recourse(accepted[done.found])
    assert set(again.counts()) == {"ALREADY_FAVOURABLE"}


def test_a_table_of_categories_alone():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.choice(list("xyz"), ROWS) for name in "abc"})
    y = ((X["a"] == "x").astype(int) + (X["b"] == "y") + (X["c"] == "z") >= 2).to_numpy(int)
    model = make_pipeline(OneHotEncoder(sparse_output=False), RandomForestClassifier(8, random_state=0)).fit(X, y)
    schema = ht.Schema([ht.Feature(name=name, kind="categorical", levels=("x", "y", "z")) for name in "abc"])
    people = X[model.predict(X) == 0][:20]
    plan = ht.recourse(model, people, schema, reference=X, method=ht.ExactSearch())
    assert (plan.status == Status.OPTIMAL).all()
    rows = pd.DataFrame(itertools.product("xyz", repeat=3), columns=list("abc"))
    accepted = rows[model.predict(rows) == 1].to_numpy()
    fewest = (people.to_numpy()[:, None] != accepted[None]).sum(axis=2).min(axis=1)
    np.testing.assert_allclose(plan.cost, 2.0 * fewest)  # a changed category counts twice
