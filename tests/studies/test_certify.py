"""A guarantee of recourse: calibrated, carried, checked again, and refused where it does not cover."""

import dataclasses
import io
import json
import os
import zipfile

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.classifier import Certificate
from holdtrue.classifier._certificate import _digest
from holdtrue.errors import CapabilityError, DataError

SCHEMA = ht.Schema(
    [
        ht.Feature(name="income", kind="numeric", bounds=(0, 10)),
        ht.Feature(name="debt", kind="numeric", bounds=(0, 10), direction="decrease"),
        ht.Feature(name="age", kind="integer", bounds=(18, 80), direction="fixed"),
        ht.Feature(name="group", kind="categorical", levels=("a", "b"), direction="fixed"),
    ],
    [ht.LinearConstraint(coefficients={"income": 1.0}, bound=2.0, on="change", name="a raise of at most 2")],
)


def people(n, seed=0, older=0.0):
    """Group b has less income, and is a fifth of all."""
    rng = np.random.default_rng(seed)
    group = np.where(rng.random(n) < 0.2, "b", "a")
    income = (rng.gamma(4, 1, n) * np.where(group == "b", 0.5, 1.0)).clip(0, 10)
    X = pd.DataFrame(
        {
            "income": income,
            "debt": rng.gamma(2, 1, n).clip(0, 10),
            "age": (rng.beta(2 + older, 3, n) * 62 + 18).astype(int),
            "group": group,
        }
    )
    score = X["income"] - 0.7 * X["debt"] + 0.05 * X["age"] + rng.logistic(0, 1, n)
    return X, (score > 4).astype(int).to_numpy()


@pytest.fixture(scope="module")
def clf():
    regime = ht.StandardTraining(n_epochs=40, step_size=0.01)
    made = ht.RecourseClassifier(schema=SCHEMA, model=ht.MLP(widths=(8,)), regime=regime, random_state=0)
    return made.fit(*people(800))


@pytest.fixture
def fitted(clf):
    """A copy of its own, which a test may certify."""
    return clf.at_threshold(0.5)


X, Y = people(1000, seed=1)


def without(clf, X):
    """Whom the certified search leaves without recourse at the classifier's threshold."""
    plan = clf.recourse(X, method=ht.HighestScore())
    return ~(plan.found | (clf.predict(X) == 1))


def test_the_promise_is_kept_on_the_calibration_set_and_no_higher_threshold_would_do(fitted):
    made = ht.certify(fitted, X, move_threshold=True)
    assert fitted.threshold == made.threshold == made.highest
    assert (made.n, made.k) == (1000, ht.metrics.allowed_failures(1000))
    assert made.failures == made.k == without(fitted, X).sum()
    assert made.chosen == "highest"
    assert without(fitted.at_threshold(made.threshold * 1.01), X).sum() > made.k
    assert fitted.certificate_ is made
    assert made.measured["with_recourse"] == pytest.approx(1 - made.k / 1000)


def test_coverage_over_calibration_draws(clf):
    """1,000 calibration sets drawn from a population of 6,000 whose every critical threshold is known."""
    pool = ht.HighestScore().fit(clf).critical(people(6000, seed=2)[0])
    rng = np.random.default_rng(0)
    n, k = 300, ht.metrics.allowed_failures(300)
    kept = {"exact": [], "printed": []}
    for _ in range(1000):
        draw = rng.choice(pool, n)
        for bound, shares in kept.items():
            threshold = ht.metrics.guaranteed_threshold(draw, bound=bound).threshold
            shares.append((pool >= threshold).mean())
    broken = np.mean(np.array(kept["exact"]) < 0.95)
    noise = 3 * np.sqrt(0.05 * 0.95 / 1000)
    assert broken <= 0.05 + noise
    # Not loose either: with one more failure allowed the promise would be broken too often.
    from scipy.stats import binom

    assert broken >= binom.cdf(k, n, 0.05) - noise
    assert binom.cdf(k + 1, n, 0.05) > 0.05
    assert np.mean(np.array(kept["printed"]) < 0.95) > 0.85


def test_with_labels_the_best_f1_that_keeps_the_promise_is_taken(fitted):
    made = ht.certify(fitted, X, Y, move_threshold=True)
    assert made.chosen == "f1"
    assert made.threshold <= made.highest
    assert made.failures <= made.k
    yes = fitted.predict(X) == 1
    assert made.measured["f1"] == pytest.approx(
        2 * (yes & (Y == 1)).sum() / (yes.sum() + (Y == 1).sum()), abs=1e-6
    )
    assert made.measured["accepted"] == pytest.approx(yes.mean(), abs=2e-3)


def test_too_few_people_are_refused_with_the_number_needed(fitted):
    with pytest.raises(DataError, match=r"got 58\..*needs 59"):
        ht.certify(fitted, X[:58])
    assert fitted.certificate_ is None
    assert ht.certify(fitted, X[:59]).k == 0
    with pytest.raises(DataError, match="needs 299"):
        ht.certify(fitted, X[:100], miscoverage=0.01)


def test_the_present_threshold_stays_where_it_keeps_the_promise(clf):
    highest = ht.certify(clf.at_threshold(0.5), X, move_threshold=True, apply=False).highest
    mine = clf.at_threshold(round(highest / 2, 3))
    before = mine.threshold
    made = ht.certify(mine, X, Y)
    assert mine.threshold == made.threshold == before
    assert made.chosen == "present"
    assert made.highest == highest
    assert made.failures == without(mine, X).sum() <= made.k
    # What else would do is told with what it costs, and is no part of the document.
    proposal = made.proposal
    assert before != proposal["threshold"] <= highest
    assert proposal["accepted_now"] == pytest.approx((mine.predict(X) == 1).mean(), abs=2e-3)
    there = clf.at_threshold(proposal["threshold"])
    assert proposal["accepted"] == pytest.approx((there.predict(X) == 1).mean(), abs=2e-3)
    assert f"stays {before:g}" in str(made)
    assert "proposal" not in made.to_dict()
    assert Certificate.from_json(made.to_json()) == made
    assert ht.verify(made, mine, X).ok
    assert ht.certify(mine, X, Y, move_threshold=True).threshold == mine.threshold == proposal["threshold"]


def test_a_present_threshold_that_breaks_the_promise_is_not_moved_unasked(clf):
    mine = clf.at_threshold(0.99)
    with pytest.raises(DataError, match=r"threshold, 0.99.*everybody.*accepts .*%.*--move-threshold"):
        ht.certify(mine, X)
    assert mine.threshold == 0.99
    assert mine.certificate_ is None
    with pytest.raises(DataError, match="two ways"):
        ht.certify(mine, X, threshold=0.1, move_threshold=True)


def test_a_promise_to_all_can_fail_a_group_and_one_to_each_group_does_not(fitted):
    fresh_people = people(4000, seed=3)[0]
    ht.certify(fitted, X, move_threshold=True)
    is_b = (fresh_people["group"] == "b").to_numpy()
    gone = without(fitted, fresh_people)
    # Of group b more than 5% are without recourse, beyond doubt.
    assert ht.metrics.clopper_pearson(gone[is_b].sum(), is_b.sum(), 0.999)[0] > 0.05
    made = ht.certify(fitted, X, groups="group", move_threshold=True)
    assert [part["group"] for part in made.groups["each"]] == ["a", "b"]
    assert sum(part["n"] for part in made.groups["each"]) == 1000
    assert all(part["failures"] <= part["k"] for part in made.groups["each"])
    assert all(part["failure"] == 0.025 for part in made.groups["each"])
    gone = without(fitted, fresh_people)
    assert gone[is_b].mean() < 0.06
    assert gone[~is_b].mean() < 0.05
    assert (
        ht.certify(fitted, X, groups=X["group"], correction="none", move_threshold=True).threshold
        >= made.threshold
    )
    with pytest.raises(DataError, match=r"groups are too small.*'b'"):
        ht.certify(fitted, X[:200], groups="group")


def test_drift_is_refused_or_marked_and_an_exchangeable_set_is_not(fitted):
    same = ht.certify(fitted, X, use=people(500, seed=5)[0])
    assert same.covers_use
    older = people(500, seed=5, older=2.0)[0]
    with pytest.raises(DataError, match=r"not exchangeable.*age"):
        ht.certify(fitted, X, use=older)
    marked = ht.certify(fitted, X, use=older, on_drift="mark")
    assert not marked.covers_use
    assert "DRIFT" in str(marked)
    assert marked.drift["columns"][0] == "age"
    weighted = ht.certify(fitted, X, use=older, on_drift="weight")
    assert weighted.covers_use
    assert weighted.weighting["kind"] == "estimated"
    assert 59 <= weighted.n < 1000
    assert any("estimates" in note for note in weighted.notes)
    again = ht.verify(weighted, fitted, X, use=older)
    assert again.ok, str(again)


def test_known_weights_thin_the_calibration_set(fitted):
    made = ht.certify(fitted, X, weights=np.where(X["group"] == "b", 1.0, 0.25))
    assert 250 < made.n < 500
    assert made.weighting == {"kind": "given", "n_before": 1000, "seed": 0}
    again = ht.verify(made, fitted, X, weights=np.where(X["group"] == "b", 1.0, 0.25))
    assert again.ok, str(again)
    assert not ht.verify(made, fitted, X).ok


def test_a_given_threshold_is_certified_for_any_method_or_refused(fitted):
    quick = ht.Wachter(n_steps=60, patience=20)
    with pytest.raises(CapabilityError, match="Give the `threshold`"):
        ht.certify(fitted, X, method=quick, move_threshold=True)
    made = ht.certify(fitted, X, method=quick, threshold=0.05)
    assert (made.chosen, made.threshold, made.method["name"]) == ("given", 0.05, "wachter")
    assert ht.verify(made, fitted, X).ok
    assert ht.certify(fitted, X, method=quick).chosen == "present"
    with pytest.raises(DataError, match=r"without recourse at `threshold` 0\.999"):
        ht.certify(fitted, X, method=quick, threshold=0.999)


def test_only_two_classes_and_only_our_classifiers(clf):
    with pytest.raises(CapabilityError, match="fitted RecourseClassifier"):
        ht.certify(object(), X)
    for bad in ({"y_cal": Y[:5]}, {"y_cal": Y + 5}, {"groups": "absent"}, {"on_drift": "ignore"}):
        with pytest.raises(DataError, match="certify: "):
            ht.certify(clf, X, apply=False, **bad)


def test_rows_seen_in_training_are_noted(fitted):
    seen = people(800)[0]
    assert "100.0% equal a training row" in ht.certify(fitted, seen).notes[0]


# ---- files ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certified(clf):
    mine = clf.at_threshold(0.5)
    return mine, ht.certify(mine, X, groups="group", move_threshold=True)


def test_a_model_file_carries_its_certificate(certified, tmp_path):
    clf, made = certified
    clf.save(tmp_path / "m.holdtrue")
    back = ht.RecourseClassifier.load(tmp_path / "m.holdtrue")
    assert back.certificate_ == made
    assert back.threshold == made.threshold
    assert ht.verify(back.certificate_, back, X).ok
    made.save(tmp_path / "c.json")
    assert Certificate.load(tmp_path / "c.json") == made


def edited(path, out, change):
    """A model file whose header was changed by somebody."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            blob = old.read(info)
            if info.filename == "holdtrue.json":
                header = json.loads(blob)
                change(header)
                blob = json.dumps(header).encode()
            new.writestr(info.filename, blob)
    return out


def test_an_edited_model_file_is_refused(certified, clf, tmp_path):
    mine, made = certified
    mine.save(tmp_path / "m.holdtrue")

    def raise_threshold(header):
        header["params"]["threshold"] = 0.9

    def better_promise(header):
        header["certificate"]["miscoverage"] = 0.01

    def turned(header):
        header["favourable"] = 0

    def foreign(header):
        body = dataclasses.asdict(made) | {"model": "0" * 64}
        header["certificate"] = dataclasses.replace(made, **body).to_dict()

    for change, words in (
        (raise_threshold, "another model"),
        (better_promise, "changed"),
        (foreign, "another model"),
        (turned, "another model"),
    ):
        with pytest.raises(DataError, match=words):
            ht.RecourseClassifier.load(edited(tmp_path / "m.holdtrue", tmp_path / "x.holdtrue", change))


def test_a_new_threshold_or_fit_loses_the_certificate(certified, tmp_path):
    mine = certified[0].at_threshold(0.7)
    assert mine.certificate_ is None
    again = ht.RecourseClassifier(schema=SCHEMA, model=ht.Linear(), regime=ht.StandardTraining(n_epochs=1))
    assert again.fit(*people(100)).certificate_ is None
    with pytest.raises(DataError, match="another model or threshold"):
        mine.certificate_ = certified[1]
    other = certified[0].at_threshold(certified[1].threshold)
    other.certificate_ = certified[1]
    other.set_params(threshold=0.7)
    with pytest.raises(DataError, match="another model or threshold"):
        other.save(tmp_path / "m.holdtrue")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"k": 99}, "allowed failures"),
        ({"miscoverage": 0.1}, "allowed failures"),
        ({"failures": 900}, "failures"),
        ({"n": 10}, "too few"),
        ({"threshold": 0.99}, "above the highest"),
        ({"threshold": 0.0}, "a threshold of 0.0"),
        ({"n": "many"}, "wrong kind"),
        ({"chosen": "by lot"}, "chosen as 'by lot'"),
        ({"chosen": "f1"}, "not measured"),
        ({"measured": {"accepted": 0.5, "with_recourse": 0.1}}, "0.1 with recourse"),
        ({"measured": {"accepted": 7, "with_recourse": 1}}, "beyond 0 and 1"),
        ({"date": "2999-01-01T00:00:00+00:00"}, "a date of"),
        ({"date": "yesterday"}, "wrong kind"),
        ({"notes": [1]}, "no text"),
    ],
)
def test_a_forged_certificate_with_a_fresh_checksum_contradicts_itself(clf, change, words):
    made = ht.certify(clf.at_threshold(0.5), X[:200], apply=False)
    raw = made.to_dict() | change
    with pytest.raises(DataError, match="was changed"):
        Certificate.from_dict(raw)
    body = {key: value for key, value in raw.items() if key != "sha256"}
    with pytest.raises(DataError, match=words):
        Certificate.from_dict({**body, "sha256": _digest(body)})


def test_what_is_no_certificate_is_refused(tmp_path):
    for text, words in (
        ("{}", "is not one of"),
        ("[1", "not JSON"),
        ('{"format": "holdtrue-record"}', "is not one"),
    ):
        with pytest.raises(DataError, match=words):
            Certificate.from_json(text)
    with pytest.raises(DataError, match="cannot be read"):
        Certificate.load(tmp_path / "absent.json")


def test_records_have_the_terms(certified, clf):
    mine, made = certified
    refused = X[mine.predict(X) == 0][:20]
    plan = mine.recourse(refused, method=ht.HighestScore())
    written = ht.records(plan, [str(i) for i in range(len(plan))], certificates=mine.certificate_)
    assert len(written) == plan.found.sum() > 0
    terms = written[0].certificate
    assert terms["sha256"] == made.to_dict()["sha256"]
    assert (terms["miscoverage"], terms["n"], terms["k"]) == (made.miscoverage, made.n, made.k)
    with pytest.raises(DataError, match="another model or threshold"):
        ht.records(clf.recourse(refused, method=ht.HighestScore()), ["x"] * len(refused), certificates=made)


# ---- verify -----------------------------------------------------------------------------------------


def test_verify_names_what_differs(certified, clf):
    mine, made = certified
    good = ht.verify(made, mine, X.sample(frac=1, random_state=0), use=people(400, seed=7)[0])
    assert good.ok, str(good)
    assert "certificate holds" in str(good)
    wrong = {
        "model and threshold": ht.verify(made, clf),
        "calibration rows": ht.verify(made, mine, X[:999]),
        "drift between calibration and use": ht.verify(made, mine, X, use=people(400, seed=7, older=3.0)[0]),
    }
    for what, result in wrong.items():
        assert not result.ok
        assert next(f.what for f in result.findings if not f.ok) == what
        assert result.to_dict()["ok"] is False
    assert ht.verify(made, mine).unchecked[1:] == ["calibration rows", "people in use"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"measured": {"accepted": 0.99}}, "accepted was 0.99"),
        ({"measured": {"f1": 0.99}}, "f1 is no measure"),
        ({"measured": {"glory": 1.0}}, "glory is no measure"),
        ({"notes": ["Approved by the regulator."]}, "is added"),
    ],
)
def test_verify_holds_every_field_against_the_rows(certified, change, words):
    """Consistent lies with a fresh checksum, about what is no part of the bound."""
    mine, made = certified
    for name, value in change.items():
        new = {**made.measured, **value} if name == "measured" else value
        made = dataclasses.replace(made, **{name: new})
    lie = Certificate.from_json(made.to_json())
    result = ht.verify(lie, mine, X, Y)
    assert not result.ok
    assert words in str(result)


def test_verify_with_labels_holds_f1_against_them(clf):
    mine = clf.at_threshold(0.5)
    made = ht.certify(mine, X, Y, move_threshold=True)
    assert ht.verify(made, mine, X, Y).ok
    lie = dataclasses.replace(made, measured={**made.measured, "f1": 0.99})
    assert "f1 was 0.99" in str(ht.verify(lie, mine, X, Y))
    assert "its author's word" in ht.verify(made, mine, X, Y).unchecked[0]
    assert any("labels" in what for what in ht.verify(made, mine, X).unchecked)


def test_verify_computes_again_and_sees_a_consistent_lie(certified):
    """Everything adds up, but the threshold is not what these rows give."""
    mine, made = certified
    lie = dataclasses.replace(made, highest=made.highest + 0.01, chosen="given")
    assert lie.contradictions() == []
    result = ht.verify(lie, mine, X)
    assert not result.ok
    assert "highest was" in str(result)


def test_verify_counts_those_without_recourse_among_the_people_in_use(certified):
    mine, made = certified
    poor = people(600, seed=8)[0].assign(income=0.0, debt=0.0)
    found = ht.verify(made, mine, use=poor).findings[-1]
    assert not found.ok
    assert "are without recourse" in found.said


# ---- real data --------------------------------------------------------------------------------------


@pytest.mark.skipif("HOLDTRUE_DATA" not in os.environ, reason="needs the bail records; set HOLDTRUE_DATA")
def test_bail_of_1978_does_not_cover_1980():
    bail = ht.datasets.load("bail", variant="actionable-recourse")
    cohort = bail.groups["cohort"].to_numpy()
    rows = np.random.default_rng(0).permutation(np.flatnonzero(cohort == 1978))
    learn, calibrate, later = rows[:1500], rows[1500:2500], rows[2500:3500]
    quick = ht.RecourseClassifier(
        schema=bail.schema, model=ht.Linear(), regime=ht.StandardTraining(n_epochs=3), scaling="standard"
    ).fit(bail.X.iloc[learn], np.asarray(bail.y)[learn])
    assert ht.certify(quick, bail.X.iloc[calibrate], move_threshold=True, use=bail.X.iloc[later]).covers_use
    with pytest.raises(DataError, match=r"not exchangeable.*FOLLOW"):
        ht.certify(quick, bail.X.iloc[calibrate], move_threshold=True, use=bail.X.iloc[cohort == 1980])
    with pytest.raises(DataError, match=r"even after weighting|left after weighting"):
        ht.certify(
            quick, bail.X.iloc[calibrate], move_threshold=True, use=bail.X.iloc[cohort == 1980], on_drift="weight"
        )


def test_nothing_of_a_person_is_in_a_certificate(certified):
    text = io.StringIO(certified[1].to_json()).read()
    assert "income" not in text
