"""CausalRecourse against brute force, closed forms, and SparseSearch."""

import itertools

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.causal import SCM, Equation, Node, Term
from holdtrue.encoding import Encoder, broken_limits, distance, norm_weights
from holdtrue.errors import DataError, SchemaError
from holdtrue.methods import CausalRecourse, SparseSearch
from holdtrue.models import Decision, LinearModel
from holdtrue.schema import as_table
from holdtrue.search import Status
from holdtrue.testing import _world as world


def linear(**coefficients):
    return Equation(terms=[Term(of=k.replace("__", "="), coefficient=v) for k, v in coefficients.items()])


# ---- brute force ----------------------------------------------------------------------------------------

SMALL = ht.Schema(
    [
        ht.Feature(name="a", kind="integer", bounds=(0, 5), direction="increase"),
        ht.Feature(name="b", kind="integer", bounds=(0, 4)),
        ht.Feature(name="c", kind="categorical", levels=("x", "y", "z"), transitions={"z": ("y",)}),
        ht.Feature(name="d", kind="binary", levels=("no", "yes"), cost_weight=0.5, direction="decrease"),
        ht.Feature(name="e", kind="integer", bounds=(0, 3), direction="fixed"),
    ],
    [ht.LinearConstraint(coefficients={"a": 1, "b": 1}, bound=8)],
)
SMALL_SCM = SCM(
    [
        Node(name="a"),
        Node(name="c"),
        Node(name="e", parents=["a", "c"], equation=linear(a=0.55, c__y=0.9)),
        Node(name="b", parents=["e"], equation=linear(e=-0.7)),
        Node(name="d", parents=["b"], equation=linear(b=-0.3)),
    ]
)


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(0)
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
    score = table["a"] - 1.2 * table["b"] + 2 * (table["c"] == "y") + (table["d"] == "yes") + 0.5 * table["e"]
    y = (score + rng.normal(0, 0.5, n) > 3).astype(int).to_numpy()
    clf = ht.RecourseClassifier(
        schema=SMALL,
        model=ht.MLP(widths=(8,)),
        regime=ht.StandardTraining(n_epochs=40, step_size=0.02),
        random_state=0,
    )
    return clf.fit(table, y), table


def follow(person, action):
    """The small world's causal model written out, apart from `SCM`."""
    now = {**person, **action}

    def moved(value, shift):
        return value if abs(shift) < 0.5 else int(np.rint(value + shift))

    if "e" not in action:
        shift = 0.55 * (now["a"] - person["a"]) + 0.9 * (int(now["c"] == "y") - int(person["c"] == "y"))
        now["e"] = moved(person["e"], shift)
    if "b" not in action:
        now["b"] = moved(person["b"], -0.7 * (now["e"] - person["e"]))
    if "d" not in action:
        at = np.clip(moved(int(person["d"] == "yes"), -0.3 * (now["b"] - person["b"])), 0, 1)
        now["d"] = ("no", "yes")[at]
    return now


def permitted(person, k):
    """Every action on at most k features that the schema allows this person, and where it leads."""
    domains = {f.name: list(f.levels or range(int(f.bounds[0]), int(f.bounds[1]) + 1)) for f in SMALL}
    for values in itertools.product(*domains.values()):
        action = {name: v for name, v in zip(domains, values, strict=True) if v != person[name]}
        if (
            not 0 < len(action) <= k
            or "e" in action
            or action.get("d") == "yes"
            or action.get("a", 9) < person["a"]
        ):
            continue
        if person["c"] == "z" and action.get("c") == "x":
            continue
        after = follow(person, action)
        if 0 <= after["b"] <= 4 and 0 <= after["e"] <= 3 and after["a"] + after["b"] <= 8:
            yield {**person, **action}, after


def brute_force(predictor, people, k, norm):
    """Cost of everyone's cheapest permitted action whose counterfactual is accepted; inf where there is none."""
    encoder, names = predictor.encoder, SMALL.names
    tried = [(i, *pair) for i, person in enumerate(people) for pair in permitted(person, k)]
    who = np.array([i for i, _, _ in tried])
    own, action, after = (
        pd.DataFrame(rows)[names]
        for rows in ([people[i] for i in who], [a for _, a, _ in tried], [r for _, _, r in tried])
    )
    accepted = predictor.decide(as_table(after)) == predictor.decision.favourable
    cost = np.asarray(distance(encoder.encode(action), encoder.encode(own), norm, norm_weights(encoder, norm)))
    return np.array([np.min(cost[(who == i) & accepted], initial=np.inf) for i in range(len(people))])


@pytest.fixture(scope="module")
def refused(small):
    clf, table = small
    return table[clf.predict(table) == 0].drop_duplicates().head(16)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_equals_brute_force(small, refused, norm):
    clf, table = small
    plan = CausalRecourse(scm=SMALL_SCM, max_changes=2, norm=norm).fit(clf, table).recourse(refused)
    best = brute_force(clf.predictor_, refused.to_dict("records"), 2, norm)
    exists = np.isfinite(best)
    assert exists.sum() > 5
    assert (plan.status == np.where(exists, int(Status.OPTIMAL), int(Status.INFEASIBLE))).all()
    np.testing.assert_allclose(plan.cost[exists], best[exists], atol=1e-5)
    assert plan.consequences is not None
    assert plan.consequences[:, SMALL.names.index("e")].any()  # fixed for action, and yet it follows


def test_the_row_is_the_counterfactual_of_the_action(small, refused):
    """Recomputed from the decoded values by the hand-written model, equal in every cell."""
    clf, table = small
    plan = CausalRecourse(scm=SMALL_SCM, max_changes=2).fit(clf, table).recourse(refused)
    assert plan.found.sum() > 5
    names, acted = plan.schema.names, plan.acted()
    before, after, action = (pd.DataFrame(t.columns)[names] for t in (plan.factual, plan.recourse, plan.action))
    for i in np.flatnonzero(plan.found):
        own = before.iloc[i].to_dict()
        done = {name: after.iloc[i][name] for j, name in enumerate(names) if acted[i, j]}
        assert follow(own, done) == after.iloc[i].to_dict()
        assert {**own, **done} == action.iloc[i].to_dict()
    assert (acted | plan.consequences)[plan.changed()].all()
    assert not (acted & plan.consequences).any()


def test_without_a_causal_model_it_is_sparse_search():
    clf = world.classifier()
    X = world.refused(clf.predictor_, 16)
    a = CausalRecourse(max_changes=2).fit(clf, *world.people()).recourse(X)
    b = SparseSearch(max_changes=2).fit(clf, *world.people()).recourse(X)
    assert a.status.tolist() == b.status.tolist()
    assert a.cost[a.found].tolist() == b.cost[b.found].tolist()
    assert a.to_frame().equals(b.to_frame())
    assert a.consequences is None


# ---- a plane with a known answer -------------------------------------------------------------------------


def plane(weights, features, bias):
    """A linear classifier in raw units: yes where ``weights @ x + bias >= 0``."""
    names = list(weights)
    table = pd.DataFrame({name: [0.0, 1.0] for name in names})
    table = table.astype({f.name: int for f in features if f.kind == "integer"})
    encoder = Encoder.fit(ht.Schema(features), table)  # the training range is [0, 1], so nothing is scaled
    w = np.array([weights[s.name] for s in encoder.layout.numbers], np.float32)
    model = LinearModel(np.stack([np.zeros_like(w), w]), np.array([0, bias], np.float32))
    return Predictor(encoder, Decision(model, np.float32(0.5), 1), np.array([0, 1])), table


def number(name, direction="free", bounds=(-10, 10), **more):
    return ht.Feature(name=name, kind="numeric", bounds=bounds, direction=direction, **more)


def test_downstream_effects_that_help_make_recourse_cheaper():
    """Accepted where a + b >= 3; b follows a by one half: a must rise by 2 with the causal model, by 3 without."""
    predictor, table = plane({"a": 1.0, "b": 1.0}, [number("a"), number("b", "fixed")], -3.0)
    scm = SCM([Node(name="a"), Node(name="b", parents=["a"], equation=linear(a=0.5))])
    nobody = table.head(1)
    with_scm = CausalRecourse(scm=scm, n_values=41).fit(predictor, table).recourse(nobody)
    without = CausalRecourse(n_values=41).fit(predictor, table).recourse(nobody)
    assert with_scm.cost[0] == pytest.approx(2.0, abs=0.01)
    assert without.cost[0] == pytest.approx(3.0, abs=0.01)
    assert with_scm.cost[0] <= without.cost[0]
    after = {name: float(values[0]) for name, values in with_scm.recourse.columns.items()}
    assert after["b"] == 0.5 * after["a"]
    assert with_scm.acted().tolist() == [[True, False]]
    assert with_scm.changes()[0].startswith("Raise a from 0 to 2")
    assert "As a consequence, b goes from 0 to about 1." in with_scm.changes()[0]


def test_a_consequence_keeps_its_bounds():
    """b may not exceed 0.8, so a, which would take it there, stops at 1.6; the rest must come from c."""
    tenths = {"bounds": (-5, 5), "step": 0.1}
    features = [
        number("a", **tenths),
        number("b", "fixed", bounds=(0, 0.8)),
        number("c", cost_weight=5.0, **tenths),
    ]
    predictor, table = plane({"a": 1.0, "b": 1.0, "c": 1.0}, features, -2.95)
    scm = SCM([Node(name="a"), Node(name="b", parents=["a"], equation=linear(a=0.5))])
    method = CausalRecourse(scm=scm, n_values=101, max_changes=2).fit(predictor, table)
    plan = method.recourse(table.head(1))
    assert plan.status.tolist() == [int(Status.OPTIMAL)]
    after = {name: float(values[0]) for name, values in plan.recourse.columns.items()}
    assert after == pytest.approx({"a": 1.6, "b": 0.8, "c": 0.6})
    assert plan.cost[0] == pytest.approx(1.6 + 5 * 0.6, abs=1e-5)


def test_immutable_descendants_close_their_ancestors():
    predictor, table = plane({"a": 1.0, "b": 1.0, "c": 1.0}, [number(n) for n in "abc"], -3.0)
    nodes = [Node(name="a"), Node(name="b", parents=["a"], equation=linear(a=0.5), immutable=True), Node(name="c")]
    plan = CausalRecourse(scm=SCM(nodes), n_values=41).fit(predictor, table).recourse(table.head(1))
    assert plan.acted().tolist() == [[False, False, True]]
    assert plan.cost[0] == pytest.approx(3.0, abs=0.01)
    alone = CausalRecourse(scm=SCM(nodes[:2]), n_values=41).fit(predictor, table)
    nothing_else = alone.recourse(table.head(1), restrictions={0: {"c": "fixed"}})
    assert nothing_else.status.tolist() == [int(Status.INFEASIBLE)]


def test_what_is_missing_cannot_follow():
    tenths = {"bounds": (-5, 5), "step": 0.1}
    features = [number("a", **tenths), number("b", missing="median", **tenths), number("c", **tenths)]
    table = pd.DataFrame({"a": [0.0, 1.0, 0.0], "b": [0.0, 1.0, np.nan], "c": [0.0, 1.0, 0.0]})
    encoder = Encoder.fit(ht.Schema(features), table)
    w = np.array([2.0, 0.1, 1.0, 0.0], np.float32)
    model = LinearModel(np.stack([0 * w, w]), np.array([0, -3], np.float32))
    predictor = Predictor(encoder, Decision(model, np.float32(0.5), 1), np.array([0, 1]))
    scm = SCM([Node(name="a"), Node(name="b", parents=["a"], equation=linear(a=0.5))])
    method = CausalRecourse(scm=scm, n_values=101, max_changes=2)
    plan = method.fit(predictor, table).recourse(table.iloc[[0, 2]])
    assert plan.found.all()
    assert plan.acted()[0].tolist() == [True, False, False]
    assert plan.acted()[1].tolist() == [False, False, True]
    np.testing.assert_allclose(plan.cost, [1.5, 3.0], atol=1e-5)


def test_a_row_on_which_an_equation_has_no_value_gets_no_recourse_by_it():
    """A logarithm of what is below its range: nothing is claimed."""
    predictor, table = plane({"a": 1.0, "b": 0.0}, [number("a"), number("b", "fixed")], -3.0)
    log = Equation(terms=[Term(of="a", coefficient=1.0)], link="log", low=0.5)
    scm = SCM([Node(name="a"), Node(name="b", parents=["a"], equation=log)])
    plan = CausalRecourse(scm=scm, max_changes=2).fit(predictor, table).recourse(table.head(1))
    assert plan.status.tolist() == [int(Status.INFEASIBLE)]


# ---- in the house ----------------------------------------------------------------------------------------

WORLD_SCM = SCM(
    [
        Node(name="income"),
        Node(name="job"),
        Node(name="debt", parents=["income", "job"], equation=linear(income=-0.3, job__full=-1.0)),
        Node(name="accounts", parents=["debt"], equation=linear(debt=0.2)),
    ]
)


@pytest.fixture(scope="module")
def in_world():
    clf = world.classifier()
    X = world.refused(clf.predictor_, 16)
    method = CausalRecourse(scm=WORLD_SCM, max_changes=2).fit(clf, *world.people())
    return clf, X, method, method.recourse(X)


def test_limits_hold_and_consequences_are_told_apart(in_world):
    _, _, _, plan = in_world
    assert plan.found.mean() > 0.5
    assert plan.valid[plan.found].all()
    encoder, people = plan.predictor.encoder, plan.found
    broken = broken_limits(encoder, plan.factual, plan.recourse, None, plan.consequences)
    assert [b for b, found in zip(broken, people, strict=True) if found and b] == []
    assert plan.consequences[people].any()
    assert not plan.consequences[~people].any()
    report = ht.audit(plan)
    assert report.n_broken == 0
    np.testing.assert_allclose(report.people["cost_l1"][people], plan.cost[people], rtol=1e-6)


def test_order_company_and_parts_do_not_matter(in_world):
    _, X, method, plan = in_world
    order = np.random.default_rng(0).permutation(len(X))
    other = method.recourse(X.iloc[order])
    assert other.status.tolist() == plan.status[order].tolist()
    np.testing.assert_allclose(other.cost, plan.cost[order], rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(plan.take([3, 1]).consequences, plan.consequences[[3, 1]])
    in_time = method.recourse(X, deadline=120.0)
    np.testing.assert_allclose(in_time.cost, plan.cost, rtol=1e-3, atol=1e-4)
    assert in_time.consequences.shape == plan.consequences.shape


def test_broken_limits_without_the_mask_would_complain():
    """What follows may go against the direction of its feature; unmarked, that is a broken limit."""
    schema = ht.Schema([number("a"), number("b", "fixed"), ht.Feature(name="k", kind="integer", bounds=(0, 5))])
    table = pd.DataFrame({"a": [0.0, 1.0], "b": [0.0, 1.0], "k": [0, 1]})
    encoder = Encoder.fit(schema, table)
    factual = as_table(table.head(1))
    mask = np.array([[False, True, True]])

    def broken(b, k, mask):
        return broken_limits(
            encoder, factual, as_table(pd.DataFrame({"a": [0.5], "b": [b], "k": [k]})), None, mask
        )

    assert broken(2.0, 1.0, mask) == [[]]
    assert broken(2.0, 1.0, None) == [["b left its permitted interval"]]
    assert broken(11.0, 1.0, mask) == [["b left its permitted interval"]]
    assert broken(2.0, 9.0, mask) == [["k left its permitted interval"]]


def test_a_forest_is_served(small):
    from sklearn.ensemble import RandomForestClassifier

    clf, table = small
    columns = table[["a", "b", "e"]]
    forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(columns, clf.predict(table))
    schema = ht.Schema([SMALL[name] for name in columns])
    scm = SCM([Node(name="a"), Node(name="e", parents=["a"], equation=linear(a=0.55))])
    refused = columns[forest.predict(columns) == 0].head(10)
    plan = ht.recourse(forest, refused, schema, method=CausalRecourse(scm=scm), reference=columns)
    assert plan.found.any()
    assert (forest.predict(plan.to_frame()[list(columns)])[plan.found] == 1).all()


def test_a_model_file_holds_the_equations(small, tmp_path):
    """A graph in a file, fitted on the rows; the model file answers the same when that file is gone."""
    clf, table = small
    graph = SCM([Node(name="a"), Node(name="c"), Node(name="e", parents=["a", "c"])])
    graph.save(tmp_path / "scm.yaml")
    by_path = CausalRecourse(scm=str(tmp_path / "scm.yaml"), max_changes=1)
    saved = ht.RecourseClassifier(
        schema=SMALL, model=ht.Linear(), regime=ht.StandardTraining(n_epochs=5), method=by_path, random_state=0
    ).fit(table, clf.predict(table))
    fitted = saved.method_.scm_
    assert fitted.complete
    assert fitted["e"].parents == ("a", "c")
    true = graph.fit(table, SMALL)
    for mine, own in zip(fitted["e"].equation.terms, true["e"].equation.terms, strict=True):
        assert mine.coefficient == pytest.approx(own.coefficient, rel=1e-4, abs=1e-6)
    saved.save(tmp_path / "model.holdtrue")
    (tmp_path / "scm.yaml").unlink()
    again = ht.RecourseClassifier.load(tmp_path / "model.holdtrue")
    assert again.method_.scm_ == fitted
    refused = table[saved.predict(table) == 0].head(5)
    assert again.recourse(refused).to_frame().equals(saved.recourse(refused).to_frame())
    given = ht.RecourseClassifier(
        schema=SMALL,
        model=ht.Linear(),
        regime=ht.StandardTraining(n_epochs=1),
        method=CausalRecourse(scm=SMALL_SCM),
    ).fit(table, clf.predict(table))
    given.save(tmp_path / "given.holdtrue")
    assert ht.RecourseClassifier.load(tmp_path / "given.holdtrue").method.scm == SMALL_SCM


def test_what_is_refused():
    clf = world.classifier()
    rows = world.people()
    with pytest.raises(SchemaError, match="unknown name; got 'german'"):
        CausalRecourse(scm="german").fit(clf, *rows)
    with pytest.raises(SchemaError, match="not a column of the schema"):
        CausalRecourse(scm="german_credit").fit(clf, *rows)
    with pytest.raises(SchemaError, match="cannot read"):
        CausalRecourse(scm="nowhere.yaml").fit(clf, *rows)
    with pytest.raises(DataError, match="`scm` must be an instance of SCM, a text or None; got 3"):
        CausalRecourse(scm=3).fit(clf, *rows)
    with pytest.raises(DataError, match="`max_changes` must be a whole number of at least 1"):
        CausalRecourse(max_changes=0).fit(clf, *rows)


def test_command_line(small, tmp_path):
    from holdtrue.cli import cli

    clf, table = small
    clf.save(tmp_path / "model.holdtrue")
    table.to_csv(tmp_path / "rows.csv", index=False)
    table[clf.predict(table) == 0].head(5).to_csv(tmp_path / "people.csv", index=False)
    SMALL_SCM.save(tmp_path / "scm.yaml")
    options = ["--method", "causal_recourse", "--set", f"scm={tmp_path / 'scm.yaml'}", "--set", "max_changes=2"]
    paths = [str(tmp_path / "model.holdtrue"), str(tmp_path / "people.csv")]
    more = ["--reference", str(tmp_path / "rows.csv"), "--out", str(tmp_path / "out.csv")]
    result = CliRunner().invoke(cli, ["recourse", *paths, *options, *more])
    assert result.exit_code == 0, result.output
    plan = CausalRecourse(scm=SMALL_SCM, max_changes=2).fit(clf, table)
    plan = plan.recourse(table[clf.predict(table) == 0].head(5))
    written = pd.read_csv(tmp_path / "out.csv")
    assert written["holdtrue_changes"].tolist() == list(plan.changes())


def test_german_credit():
    """Who asks for less gets it for a shorter time: by the fitted slope, in whole months."""
    try:
        bank = ht.datasets.load("german_credit", variant="actionable-recourse")
    except DataError:
        pytest.skip("the German credit file is not there")
    clf = ht.RecourseClassifier(
        schema=bank.schema,
        model=ht.Linear(),
        regime=ht.StandardTraining(n_epochs=40, step_size=0.02),
        method=CausalRecourse(scm="german_credit", max_changes=2),
        random_state=0,
    ).fit(bank.X, bank.y)
    X = bank.X[clf.predict(bank.X) == 0].head(60)
    plan = clf.recourse(X)
    assert plan.found.mean() > 0.5
    assert plan.valid[plan.found].all()
    names = plan.schema.names
    assert not plan.acted()[:, names.index("duration")].any()  # fixed for action
    assert plan.consequences[:, names.index("duration")].any()
    slope = clf.method_.scm_["duration"].equation.terms[0].coefficient
    change = {
        n: np.asarray(plan.recourse.columns[n] - plan.factual.columns[n], float) for n in ("amount", "duration")
    }
    found = plan.found
    assert (np.abs(change["duration"][found] - slope * change["amount"][found]) <= 0.5 + 1e-6).all()
