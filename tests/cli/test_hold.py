"""`--hold` and `--reason`: what the command line says of how long recourse holds, and what it asks of others."""

import json

import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.cli._model import choose_method
from holdtrue.cli._options import read_hold
from holdtrue.errors import DataError

QUICK = ("--model", "linear", "--set", "regime.n_epochs=20", "--set", "method.n_steps=40", "--test-size", 0)
LEVEL = ht.Level(0.9, 0.25, kept=0.96, term=1)


@pytest.fixture(scope="module")
def held(tmp_path_factory, bank):
    """A model that holds, in a file."""
    regime = ht.StandardTraining(n_epochs=30, step_size=0.01, class_weight="balanced")
    method = ht.Wachter(n_steps=40, patience=10)
    path = tmp_path_factory.mktemp("held") / "loans.holdtrue"
    ht.RecourseClassifier(
        schema=bank.schema, model=ht.Linear(), regime=regime, method=method, hold=0.8, n_guides=5, random_state=0
    ).fit(bank.X, bank.y).save(path)
    return path


@pytest.mark.parametrize(("text", "hold"), [("95%", 0.95), ("0.8", 0.8), ("99.5 %", 0.995), ("None", None)])
def test_chances_as_people_write_them(text, hold):
    assert read_hold(text) == hold


@pytest.mark.parametrize("text", ["95", "1", "0", "100%", "-5%", "often", "level.json"])
def test_what_is_no_chance_is_refused(text):
    with pytest.raises(DataError, match=r"--hold: must be a chance between 0 and 1; got .* Write 95%"):
        read_hold(text)


def test_a_level_file(tmp_path):
    LEVEL.save(tmp_path / "level.json")
    assert read_hold(str(tmp_path / "level.json"), files=True) == LEVEL
    with pytest.raises(DataError, match="level: cannot be read"):
        read_hold(str(tmp_path / "absent.json"), files=True)


@pytest.fixture
def rows(table, tmp_path):
    """The same people without their key."""
    frame = pd.read_csv(table).drop(columns="who")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return frame, tmp_path / "rows.csv"


def test_fit_trains_guides(run, run_json, rows, tmp_path):
    out = tmp_path / "m.holdtrue"
    base = ("fit", rows[1], "--target", "approve", "--out", out, *QUICK)
    told = run_json(*base, "--hold", "90%", "--guides", 5)["hold"]
    method = ht.RecourseClassifier.load(out).method_
    assert (told["hold"], told["guides"], told["judges"]) == (0.9, 5, 5)
    assert method.level_.hold == 0.9
    assert (len(method.guides_), len(method.judges_)) == (5, 5)
    assert method.base.n_steps == 40  # `--set method.` means the search within
    text = run(*base, "--hold", "none").stdout
    assert "How long it holds is not known: it was fitted with --hold none." in text
    assert isinstance(ht.RecourseClassifier.load(out).method_, ht.Wachter)


def test_fit_with_past_periods(run, run_json, rows, tmp_path):
    """A third of the models are resamples of the table, the rest of single periods."""
    frame, table = rows
    for i in range(2):
        frame[i::2].to_csv(tmp_path / f"{i}.csv", index=False)
    periods = [part for i in range(2) for part in ("--period", tmp_path / f"{i}.csv")]
    base = ("fit", table, "--target", "approve", "--out", tmp_path / "m.holdtrue", *QUICK)
    told = run_json(*base, "--hold", "80%", "--guides", 5, *periods)["hold"]
    assert told["vary"] == "anew and shift"
    refused = run(*base, "--hold", "none", *periods, code=2).stderr
    assert "--period: is for guides; got --hold none" in refused


def test_a_run_says_how_long_it_holds(run, run_json, held, table, tmp_path):
    out = tmp_path / "out.csv"
    text = run("recourse", held, table, "--out", out).stdout
    frame = pd.read_csv(out)
    found = frame.holdtrue_status == "FOUND"
    n, holds = int(found.sum()), int(frame.holdtrue_holds.sum())
    assert 0 < holds <= n
    assert "300 people by Holding about Wachter: " in text
    assert (
        f"{holds} of {n} hold at 80%; on average {frame.holdtrue_survival[found].mean():.0%} of 5 models" in text
    )
    assert f"at a cost of {frame.holdtrue_cost[found].mean():.2f} instead of" in text
    assert frame.holdtrue_survival[~found].isna().all()
    clf = ht.RecourseClassifier.load(held)
    people = pd.read_csv(table)[clf.schema_.names]
    plan = clf.recourse(people)
    assert (frame.holdtrue_survival[found] == plan.held.survival[plan.found]).all()
    cheap = run_json("recourse", held, table, "--out", out, "--hold", "none", "--chunk-rows", 90)["holding"]
    alone = clf.recourse(people, hold=None)
    assert (cheap["recourses"], cheap["holds"]) == (int(alone.found.sum()), int(alone.held.holds.sum()))
    assert cheap["mean_survival"] == pytest.approx(alone.held.survival[alone.found].mean())
    assert cheap["mean_cheapest_cost"] is None  # it is the cheapest
    LEVEL.save(tmp_path / "level.json")
    run("recourse", held, table, "--out", out, "--hold", tmp_path / "level.json")
    further = clf.recourse(people, hold=LEVEL)
    assert pd.read_csv(out).holdtrue_cost[found].to_numpy() == pytest.approx(further.cost[further.found])
    assert "no margin was measured that keeps" in run("recourse", held, table, "--hold", "0.9999", code=2).stderr


def test_a_model_without_guides_knows_nothing(run, model, table, tmp_path):
    out = tmp_path / "out.csv"
    assert "How long it holds is not known." in run("recourse", model, table, "--out", out).stdout
    assert "holdtrue_survival" not in pd.read_csv(out).columns
    assert (
        "needs guides, and the classifier has none"
        in run("recourse", model, table, "--hold", "0.9", code=2).stderr
    )


def test_a_method_and_its_settings_are_those_within(held):
    clf = ht.RecourseClassifier.load(held)
    own = clf.method_
    assert choose_method(clf, None, {}, None) is own
    assert choose_method(clf, "wachter", {}, None) is own
    assert choose_method(clf, "holding", {}, None) is own
    other = choose_method(clf, None, {"n_steps": 7}, None)
    assert other.base.n_steps == 7
    assert other.guides_ is own.guides_
    assert isinstance(choose_method(clf, "growing_spheres", {}, None), ht.GrowingSpheres)


def test_another_method_is_judged_and_with_hold_it_holds(run_json, held, table, tmp_path):
    few = tmp_path / "few.csv"
    pd.read_csv(table)[:60].to_csv(few, index=False)
    base = ("recourse", held, few, "--out", tmp_path / "o.csv", "--method", "elastic_net", "--set", "n_steps=40")
    alone, guided = run_json(*base), run_json(*base, "--hold", "80%")
    assert alone["method"] == guided["method"] == "Holding about ElasticNet"
    assert guided["holding"]["mean_survival"] > alone["holding"]["mean_survival"]


def test_another_level_is_another_run(run, held, table, tmp_path):
    """What one level found is not gone on with at another."""
    base = ("recourse", held, table, "--out", tmp_path / "o.csv", "--chunk-rows", 100)
    run(*base)
    state = {p.name for p in tmp_path.iterdir()}
    assert state == {"o.csv"}
    from holdtrue.runs._identity import hold_of

    assert len({json.dumps(hold_of(h)) for h in ("as fitted", None, 0.8, LEVEL)}) == 4


def test_a_reason_given_later_adds_what_was_left_out(run, run_json, held, table, tmp_path):
    with ht.Ledger.create(tmp_path / "l.db") as ledger:
        base = ("recourse", held, table, "--out", tmp_path / "o.csv", "--hold", "none", "--ledger", ledger.place,
                "--subject", "who")  # fmt: skip
        first = run_json(*base)
        holds = first["holding"]["holds"]
        assert (first["promises"], first["unpromised"]) == (holds, first["holding"]["recourses"] - holds)
        assert first["unpromised"] > 0
        later = run_json(*base, "--reason", "an exception, by the board")
        assert (later["promises"], later["repeated"]) == (first["holding"]["recourses"], holds)
        promised = [promise.record for batch in ledger.live() for promise in batch]
        assert all((r.reason is None) == r.survival["holds"] for r in promised)
    assert "--reason: is for promises" in run("recourse", held, table, "--reason", "x", code=2).stderr


def test_audit_and_gate_keep_working(run, run_json, held, table, tmp_path):
    report = run_json("audit", held, table, "--target", "approve", "--retrain", 3)
    assert report["validity"] == 1.0
    with ht.Ledger.create(tmp_path / "l.db") as ledger:
        run("recourse", held, table, "--out", tmp_path / "o.csv", "--ledger", ledger.place, "--subject", "who")
        gate = run_json("gate", held, "--ledger", ledger.place)
    assert gate["n_broken"] == 0
    assert gate["expected"]["n"] == gate["n_live"]
    assert 0 <= gate["expected"]["share"] < 0.2


def test_a_guided_method_takes_the_files_guides(run, held, rows, model, tmp_path):
    out = tmp_path / "o.csv"
    few = tmp_path / "few.csv"
    rows[0][:30].to_csv(few, index=False)
    run("recourse", held, few, "--method", "stable_search", "--set", "n_steps=20", "--only-refused", "--out", out)
    assert (pd.read_csv(out)["holdtrue_status"] == "FOUND").any()
    refused = run("recourse", model, few, "--method", "stable_search", "--out", tmp_path / "p.csv", code=2).stderr
    assert "StableSearch: searches with models trained again, of which the model file has none" in refused
