"""What is named, for whom, against whom, and whether it holds."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import holdtrue as ht
from holdtrue.attribution import Code, CodeTable, Reasoner, sample_codes
from holdtrue.attribution._reference import at_cutoff
from holdtrue.errors import DataError
from holdtrue.schema import Table

CODES = CodeTable(
    "ours",
    [
        Code("01", "Income and grade", ("income", "grade")),
        Code("02", "Existing obligations", ("obligations",)),
        Code("03", "Residence", ("house",)),
    ],
)


@pytest.fixture(scope="module")
def clf(people):
    frame, y, _, schema = people
    model = ht.RecourseClassifier(
        schema=schema, model=ht.Linear(), regime=ht.StandardTraining(n_epochs=8), hold=None, random_state=0
    ).fit(frame, y)
    guides = model.retrain(n=12, vary="bootstrap")
    level = ht.Level(0.9, 0.1)
    return model.with_method(ht.Holding(hold=0.9).fit(model, guides=guides, level=level))


@pytest.fixture(scope="module")
def why(clf, people):
    return ht.reasons(clf, people[0])


def test_contributions_add_up_to_the_gap_to_the_cut_off(clf, people, why):
    np.testing.assert_allclose(why.contributions.sum(axis=1), why.gap, atol=1e-9)
    # The reference's own score is the cut-off, so the gap is that of the probability to the threshold.
    assert abs(why.references[0].score) < 1e-12
    p = clf.predict_proba(people[0])[:, 1]
    np.testing.assert_allclose(why.gap, -np.log(p / (1 - p)), atol=1e-4)
    assert (why.refused == (clf.predict(people[0]) == 0)).all()


def test_a_linear_models_contribution_is_its_weight_times_the_difference(people):
    frame, y, _, _ = people
    numbers = frame[["income", "inquiries"]]
    model = LogisticRegression().fit(numbers, y)
    why = ht.reasons(model, numbers[:50], ht.Schema.infer(numbers), reference=numbers)
    at = why.references[0]
    usual = at.weights @ np.stack([at.table.columns[n] for n in numbers], axis=1)
    expected = -model.coef_[0] * (numbers[:50].to_numpy() - usual)
    np.testing.assert_allclose(why.contributions, expected, atol=1e-5)  # weights are kept in float32


def test_who_is_approved_has_no_reasons(why):
    i = int(np.flatnonzero(~why.refused)[0])
    assert why.of(i) == []
    assert why.sentences()[i] == []


def test_reasons_are_the_largest_contributions_that_widen_the_gap(why):
    names = why.players.names
    for i in np.flatnonzero(why.refused)[:20].tolist():
        told = why.of(i)
        sizes = [reason.contribution for reason in told]
        assert sizes == sorted(sizes, reverse=True)
        assert all(size > 0 for size in sizes)
        assert len(told) <= 4
        hidden = names.index("sex")
        rest = [c for j, c in enumerate(why.contributions[i]) if j != hidden and c > 1e-9]
        np.testing.assert_allclose(sizes, sorted(rest, reverse=True)[:4])


def test_protected_columns_are_never_named_and_their_contribution_is_told_to_the_owner(why):
    named = {name for i in range(len(why)) for reason in why.of(i) for name in reason.features}
    assert "sex" not in named
    np.testing.assert_allclose(why.protected, why.contributions[:, why.players.names.index("sex")])
    assert np.abs(why.protected).max() > 0
    record = why.to_dict(int(np.flatnonzero(why.refused)[0]))
    assert record["protected"] == ["sex"]
    assert "sex" in record["contributions"]


def test_a_group_is_one_reason(why):
    assert why.players.names == ["income", "obligations", "house", "grade", "sex"]
    told = [reason for i in range(len(why)) for reason in why.of(i) if reason.features == ("debt", "inquiries")]
    assert told
    assert told[0].text.startswith("obligations (debt ")


def test_another_schema_says_what_is_grouped_and_protected(clf, people):
    frame, _, _, schema = people
    other = schema.replace(grade={"protected": True}, debt={"group": None}, inquiries={"group": None})
    why = ht.reasons(clf, frame, other)
    assert why.players.names == ["income", "debt", "inquiries", "house", "grade", "sex"]
    assert why.players.protected.tolist() == [False, False, False, False, True, True]
    with pytest.raises(DataError, match="must describe the columns"):
        ht.reasons(clf, frame, ht.Schema([ht.Feature(name="income", kind="numeric")]))


def test_codes_join_features_and_each_is_given_once(clf, people):
    why = ht.reasons(clf, people[0], codes=CODES)
    income, grade = (why.players.names.index(name) for name in ("income", "grade"))
    both = why.contributions[:, income] + why.contributions[:, grade]
    for i in np.flatnonzero(why.refused)[:30].tolist():
        told = why.of(i)
        assert len({reason.code for reason in told}) == len(told)
        for reason in told:
            if reason.code == "01":
                assert reason.text == "Income and grade"
                assert reason.contribution == pytest.approx(both[i])
    assert why.to_dict(0)["codes"] == {"name": "ours", "sha256": CODES.digest(), "sample": False}


def test_a_table_that_does_not_fit_is_refused(clf, people):
    few = CodeTable("few", CODES.codes[:2])
    with pytest.raises(DataError, match="features have no code; got \\['house'\\]"):
        ht.reasons(clf, people[0], codes=few)
    odd = CodeTable("odd", [*CODES.codes, Code("09", "x", ("incom",))])
    with pytest.raises(DataError, match=r"neither a feature nor a group.*income"):
        ht.reasons(clf, people[0], codes=odd)
    sex = CodeTable("sex", [*CODES.codes, Code("09", "x", ("sex",))])
    with pytest.raises(DataError, match="neither a feature nor a group"):  # what is protected has no code
        ht.reasons(clf, people[0], codes=sex)
    with pytest.raises(DataError, match="two codes"):
        CodeTable("twice", [Code("1", "x", ("a",)), Code("2", "y", ("a",))])


def test_samples_say_that_they_are_samples(tmp_path, clf, people):
    for name in ("hmda", "regulation_b"):
        place = tmp_path / f"{name}.yaml"
        place.write_text(sample_codes(name))
        table = CodeTable.load(place)
        assert table.sample
        assert "SAMPLE" in place.read_text()
        assert CodeTable.from_dict(table.to_dict()) == table
    hmda = CodeTable.load(tmp_path / "hmda.yaml")
    why = ht.reasons(clf, people[0], codes=hmda)
    assert {reason.code for i in range(len(why)) for reason in why.of(i)} == {"9"}
    with pytest.raises(DataError, match="no such sample"):
        sample_codes("nowhere")
    (tmp_path / "bad.yaml").write_text("codes: [{code: 1}]")
    with pytest.raises(DataError, match="an entry has"):
        CodeTable.load(tmp_path / "bad.yaml")


def test_rows_at_the_cut_off():
    margins = np.array([-3.0, -1.0, -0.5, 0.25, 2.0, 5.0])
    table = Table({"a": np.arange(6.0)}, 6)
    at = at_cutoff(margins, table, np.zeros((6, 1)), 4, "here")
    assert sorted(at.table.columns["a"].tolist()) == [1.0, 2.0, 3.0, 4.0]
    assert at.weights @ margins[at.table.columns["a"].astype(int)] == pytest.approx(0.0)
    assert at.weights.sum() == pytest.approx(1.0)
    assert at.weights.min() > 0
    one_side = at_cutoff(margins[:3], table.take(np.arange(3)), np.zeros((3, 1)), 2, "here")
    assert one_side.score == pytest.approx(-0.75)
    assert (one_side.n_above, one_side.n_below) == (0, 2)
    with pytest.raises(DataError, match="reference is empty"):
        at_cutoff(margins[:0], table.take(np.arange(0)), np.zeros((0, 1)), 2, "here")


def test_retrained_models_say_which_reasons_stand(clf, people, why):
    guides = clf.method_.guides_
    assert why.panel.n_models == len(guides) == 6
    rows = np.flatnonzero(why.refused)
    for i in rows.tolist():
        for reason in why.of(i):
            assert reason.lower <= reason.agreement <= reason.upper
            assert reason.stands == (reason.agreement >= 0.8 - 1e-9)
    mean, lower, upper = why.agreement
    per_person = [np.mean([r.agreement for r in why.of(i)]) for i in np.flatnonzero(why.refused) if why.of(i)]
    assert mean == pytest.approx(np.mean(per_person))
    assert lower <= mean <= upper
    assert "retrained models" in why.holding()


def test_a_panel_of_the_model_itself_agrees_fully(clf, people):
    class Same:
        vary = "nothing"

        def __len__(self):
            return 3

        def member(self, i):
            return clf.predictor_

        def digests(self):
            return (None,) * 3

    why = ht.reasons(clf, people[0], guides=Same())
    assert why.agreement[0] == 1.0
    assert why.first_agreement[0] == 1.0
    assert all(reason.stands for i in range(len(why)) for reason in why.of(i))


def test_votes_are_counted_by_each_guides_own_reasons(clf, people, why):
    guides = clf.method_.guides_
    pool = clf.predictor_.encoder.decode(np.asarray(clf.training_.data.x, float))
    pool = Table(pool, len(clf.training_.data.x))
    refused = people[0][why.refused]
    first = why.take(why.refused)
    votes = np.zeros_like(first.panel.votes)
    for m in range(len(guides)):
        contributions = -_shares(guides.member(m), pool, refused)
        for i, row in enumerate(contributions[:, :4]):  # the last is protected
            for at in np.argsort(-row)[:4]:
                votes[i, at] += row[at] > 1e-9
    np.testing.assert_array_equal(first.panel.votes, votes)


def _shares(predictor, pool, people):
    """A linear model's shares by its weights, people at the cut-off by hand."""
    encoder = predictor.encoder
    x, z = (encoder.encode(encoder.schema.check(t)).astype(float) for t in (people, pool))
    model = predictor.decision.model
    w = np.asarray(model.weight[1] - model.weight[0], float)
    b = float(model.bias[1] - model.bias[0])
    margins = z @ w + b
    order = np.argsort(np.abs(margins), kind="stable")
    up, down = order[margins[order] >= 0][:50], order[margins[order] < 0][:50]
    high, low = margins[up].mean(), margins[down].mean()
    usual = (-low * z[up].mean(axis=0) + high * z[down].mean(axis=0)) / (high - low)
    names = encoder.layout.column_names(encoder.schema)
    of = {"income": 0, "debt": 1, "inquiries": 1, "debt is missing": 1, "grade": 3, "sex": 4}
    out = np.zeros((len(x), 5))
    for column, name in enumerate(names):
        out[:, of.get(name, 2)] += w[column] * (x[:, column] - usual[column])
    return out


def test_a_plans_reasons_know_its_recourse_and_its_guides(clf, people, why):
    plan = clf.recourse(people[0][why.refused][:12])
    told = plan.reasons(reference=people[0])
    assert told.panel.n_models == 6
    changed = plan.changed()
    for i in np.flatnonzero(plan.found).tolist():
        for reason in told.of(i):
            columns = [plan.schema.names.index(name) for name in reason.features]
            assert reason.in_recourse == changed[i, columns].any()
        assert len(told.beside_recourse(i)) == len(told.of(i))
    some, all_ = told.in_recourse()
    assert 0 < some <= all_
    # Without a reference: the people as they are and as proposed lie on both sides.
    own = plan.reasons()
    assert abs(own.references[0].score) < 1e-9
    assert own.take(slice(0, 3)).contributions.shape == (3, 5)


def test_more_than_two_classes(people):
    frame, _, three, schema = people
    columns = frame[["income", "inquiries"]]
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(columns, three)
    small = ht.Schema([schema["income"], schema["inquiries"]])
    why = ht.reasons(model, columns, small, reference=columns, favourable=2)
    np.testing.assert_allclose(why.contributions.sum(axis=1), why.gap, atol=1e-9)
    assert (why.refused == (model.predict(columns) != 2)).all()
    assert len(why.references) > 1
    again = ht.reasons(model, columns[:5], small, reference=columns, target=[0, 1, 2, 0, 1])
    assert (again.refused == (model.predict(columns[:5]) != [0, 1, 2, 0, 1])).all()
    with pytest.raises(DataError, match="`target` must be a class"):
        ht.reasons(model, columns[:5], small, reference=columns, target=[7] * 5)


def test_a_frame_of_the_same_kind(why, people):
    frame = why.to_frame()
    assert (frame.index == people[0].index).all()
    i = int(np.flatnonzero(why.refused)[0])
    assert frame["holdtrue_reason_1"].iloc[i] == why.of(i)[0].text
    assert frame["holdtrue_reason_1_agreement"].iloc[i] == why.of(i)[0].agreement
    assert frame["holdtrue_reason_1_stands"].iloc[i] == why.of(i)[0].stands
    assert set(frame["holdtrue_reason_1_stands"]) == {True, False, None}  # who is approved has none


@pytest.mark.parametrize("kind", ["linear", "curves", "network", "pipeline", "trees", "opaque"])
def test_reasons_do_not_depend_on_who_else_is_asked_about(kind, clf, people):
    """To the last bit: a record is made again, from a table that was cut up otherwise, and must be the same."""
    frame, y, _, schema = people
    if kind == "linear":
        model = clf
    elif kind in ("curves", "network"):
        inner = {"curves": ht.Additive(), "network": ht.MLP(widths=(8, 4))}[kind]
        regime = {} if kind == "curves" else {"regime": ht.StandardTraining(n_epochs=3)}
        model = ht.RecourseClassifier(schema=schema, model=inner, hold=None, random_state=0, **regime).fit(
            frame, y
        )
    else:
        numbers, texts = ["income", "inquiries"], ["house", "grade", "sex"]
        front = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(), texts))
        last = LogisticRegression() if kind == "pipeline" else GradientBoostingClassifier(n_estimators=10)
        fitted = make_pipeline(front, last).fit(frame, y)
        model = ht.wrap(fitted.predict_proba if kind == "opaque" else fitted, schema, frame, favourable=1)
    reasoner = Reasoner(
        model if kind in ("pipeline", "trees", "opaque") else model.predictor_, frame, n_reference=20
    )
    some = frame[:37]
    whole = reasoner.of(some)
    for size in (1, 5, 16):
        parts = [reasoner.of(some[i : i + size]) for i in range(0, len(some), size)]
        for name in ("contributions", "gap", "unit_contributions"):
            assert np.array_equal(np.concatenate([getattr(p, name) for p in parts]), getattr(whole, name)), name


@pytest.mark.parametrize("wrong", [{"n": 0}, {"n_reference": 0}, {"n": 1.5}])
def test_bad_numbers_are_refused(clf, people, wrong):
    with pytest.raises(DataError, match="positive whole number"):
        ht.reasons(clf, people[0], **wrong)
