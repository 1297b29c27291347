"""Trials under a budget: what none beats, what is chosen, going on after an interruption."""

import json
from dataclasses import replace

import numpy as np
import pytest

import holdtrue as ht
from holdtrue.errors import DataError, MissingDependencyError
from holdtrue.studies.tune import Trial, Tuning, _tune
from holdtrue.studies.tune._bench import Bench, Measured
from holdtrue.training import REGIMES, OneOf, Range

optuna = pytest.importorskip("optuna", reason="optuna is not installed; pip install 'holdtrue[tune]' to run it")
optuna.logging.set_verbosity(optuna.logging.WARNING)


@pytest.fixture(scope="module")
def bank():
    return ht.datasets.load("loanapp").subset(range(600))


@pytest.fixture
def asked(bank):
    regime = ht.StandardTraining(n_epochs=8, step_size=0.01, class_weight="balanced")
    return {
        "schema": bank.schema, "model": ht.Linear(), "method": ht.Wachter(n_steps=40, patience=10),
        "regime": regime, "space": {"step_size": Range(1e-3, 0.1, log=True)}, "people": 30,
    }  # fmt: skip


@pytest.fixture
def known(monkeypatch):
    """Figures that follow from the parameters, instead of training: what is best is known."""

    def measure(self, rule):
        a, b = rule.divergence_weight, rule.ridge_weight
        return Measured(1 - (a - 0.3) ** 2, 2 + (a - 0.3) ** 2 + b, 1.0 + 0.1 * (1 - b), 1.0, 10)

    monkeypatch.setattr(Bench, "measure", measure)


def trial(number, accuracy, far, cost, found=1.0, state="done"):
    return Trial(number, {"a": number}, state, accuracy, far, cost, found, 10)


def test_the_front_is_what_nothing_dominates():
    rng = np.random.default_rng(0)
    points = np.round(rng.random((60, 3)), 1)  # with ties
    tuning = Tuning("standard", tuple(trial(i, *p) for i, p in enumerate(points)), {}, 0.95, 0.02)
    worth = points * [1, -1, -1]
    beaten = [any((b >= a).all() and (b > a).any() for b in worth) for a in worth]
    assert {t.number for t in tuning.front} == {i for i, no in enumerate(beaten) if not no}
    accuracies = [t.accuracy for t in tuning.front]
    assert accuracies == sorted(accuracies, reverse=True)


def test_the_choice_gives_away_no_more_accuracy_than_allowed():
    trials = (
        trial(0, 0.90, 5.0, 2.0), trial(1, 0.89, 3.0, 2.2), trial(2, 0.885, 3.2, 1.5), trial(3, 0.80, 1.0, 1.0),
        trial(4, 0.99, 1.0, 1.0, found=0.5), trial(5, None, None, None, None, state="pruned"),
    )  # fmt: skip
    tuning = Tuning("standard", trials, {}, min_found=0.95, slack=0.02)
    assert [t.number for t in tuning.front] == [0, 1, 2, 3]
    assert tuning.chosen.number == 2  # scaled: 1 + .71, 0 + 1, .1 + 0
    assert replace(tuning, slack=0.0).chosen.number == 0
    assert replace(tuning, slack=0.1).chosen.number == 3
    assert tuning.config()["set"] == {"regime.a": 2}
    assert "chosen" in str(tuning)
    assert tuning.to_dict()["chosen"] == 2
    with pytest.raises(DataError, match="no trial has recourse for 100%"):
        _ = replace(tuning, trials=trials[4:5], min_found=1.0).chosen


def test_a_trial_is_given_up_where_everything_is_worse_than_the_median():
    before = [[0.5, -5.0, -2.0]] * 3 + [[0.9, -1.0, -1.0]] * 4
    assert _tune.hopeless([0.4, -6.0, -3.0], before)
    assert not _tune.hopeless([0.95, -6.0, -3.0], before)
    assert not _tune.hopeless([0.9, -6.0, -3.0], before)  # no worse in one
    assert not _tune.hopeless([0.4, -6.0, -3.0], before[:4])  # too few to tell
    assert _tune.hopeless([0.4, None, None], before)


def test_the_best_of_a_known_function_is_found(bank, known):
    tuning = ht.tune(bank.X, bank.y, schema=bank.schema, n_trials=40, prune=False)
    assert tuning.trials[0].settings["divergence_weight"] == 0.5  # the defaults come first
    assert abs(tuning.chosen.settings["divergence_weight"] - 0.3) < 0.1
    assert all(
        t.accuracy == pytest.approx(1 - (t.settings["divergence_weight"] - 0.3) ** 2) for t in tuning.trials
    )
    frame = tuning.to_frame()
    assert frame["not_dominated"].sum() == len(tuning.front)


def test_a_range_over_a_parameter_that_is_off_by_default(bank, known):
    """`patience` is None at first: no number to begin with, so the first trial draws one."""
    space = {"divergence_weight": Range(0.0, 1.0), "patience": Range(2, 9, whole=True)}
    tuning = ht.tune(bank.X, bank.y, schema=bank.schema, space=space, n_trials=3, prune=False)
    assert tuning.trials[0].settings["divergence_weight"] == 0.5
    assert all(2 <= t.settings["patience"] <= 9 for t in tuning.trials)


def test_pruned_and_failed_trials_are_told(bank, monkeypatch):
    def measure(self, rule):
        bad = rule.divergence_weight > 0.3
        if rule.n_recourses == 250:
            raise DataError("measure: nothing came of it; got 250.")
        return Measured(0.5 if bad else 0.9, 9.0 if bad else 1.0 + rule.ridge_weight, 9.0 if bad else 1.0, 1.0, 5)

    monkeypatch.setattr(Bench, "measure", measure)
    tuning = ht.tune(bank.X, bank.y, schema=bank.schema, n_trials=40)
    states = {t.state for t in tuning.trials}
    assert states == {"done", "pruned", "failed"}
    assert len(tuning.trials) == 40
    assert all(t.settings["divergence_weight"] > 0.3 for t in tuning.trials if t.state == "pruned")
    assert all(t.settings["n_recourses"] == 250 for t in tuning.trials if t.state == "failed")


def test_a_study_goes_on(bank, known, tmp_path):
    ask = {"schema": bank.schema, "study": tmp_path / "s.db", "prune": False}
    first = ht.tune(bank.X, bank.y, n_trials=3, **ask)
    assert len(first.trials) == 3
    kept = optuna.load_study(study_name=_tune.NAME, storage=f"sqlite:///{tmp_path / 's.db'}")
    cut = kept.ask()  # what kill -9 leaves: begun, never ended
    cut.suggest_float("ridge_weight", 0.003, 1.0, log=True)
    told = []
    second = ht.tune(bank.X, bank.y, n_trials=6, on_trial=told.append, **ask)
    assert second.trials[:3] == first.trials
    assert len(second.trials) == told[-1] == 6
    assert cut.number not in [t.number for t in second.trials]
    assert len({tuple(t.settings.values()) for t in second.trials}) == 6  # nothing drawn twice
    again = ht.tune(bank.X, bank.y, n_trials=6, **ask)
    assert again.to_dict() == second.to_dict()
    with pytest.raises(DataError, match="made with another seed; got 1 after 0"):
        ht.tune(bank.X, bank.y, n_trials=6, random_state=1, **ask)
    with pytest.raises(DataError, match="made with another rows"):
        ht.tune(bank.X.iloc[::-1], bank.y, n_trials=6, **ask)
    (tmp_path / "foreign.db").write_text("not a database, but long enough to be taken for the head of one" * 20)
    with pytest.raises(DataError, match="the study cannot be read"):
        ht.tune(bank.X, bank.y, **ask | {"study": tmp_path / "foreign.db"})


def test_seconds_end_it(bank, known):
    assert (
        len(ht.tune(bank.X, bank.y, schema=bank.schema, n_trials=10_000, seconds=0.5, prune=False).trials) < 5000
    )


def test_trained_trials_are_measured_on_validation_rows(bank, asked):
    tuning = ht.tune(bank.X, bank.y, n_trials=2, min_found=0.3, **asked)
    assert [t.state for t in tuning.trials] == ["done"] * 2
    bench = Bench.of(bank.X, bank.y, 0.25, 30, None, 0, **{k: asked[k] for k in ("schema", "model", "method")})
    assert not set(bench.train) & set(bench.held)
    assert set(bench.asked) <= set(bench.held)
    assert set(np.asarray(bank.y)[bench.asked]) == {0}
    best = tuning.chosen
    rule = ht.StandardTraining(n_epochs=8, class_weight="balanced", **best.settings)
    assert bench.measure(rule) == (best.accuracy, best.implausibility, best.cost, best.found, best.n_asked)
    clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), regime=rule, random_state=0)
    clf.fit(bank.X.iloc[bench.train], np.asarray(bank.y)[bench.train])
    assert best.accuracy == (clf.predict(bank.X.iloc[bench.held]) == np.asarray(bank.y)[bench.held]).mean()


@pytest.mark.parametrize("name", list(REGIMES))
def test_every_regime_declares_what_to_try(name):
    rule = REGIMES[name]()
    assert rule.search_space
    for key, what in rule.search_space.items():
        own = rule.get_params()[key]
        assert _tune._inside(own, what) == own or isinstance(what, Range)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"regime": "counterfactal"}, "Did you mean 'counterfactual'"),
        ({"space": {"divergence": Range(0, 1)}}, "names no parameter of CounterfactualTraining; got 'divergence'"),
        ({"space": {}}, "nothing to try"),
        ({"favourable": 7}, "`favourable` is not a class; got 7"),
    ],
)
def test_wrong_arguments(bank, known, change, words):
    with pytest.raises(DataError, match=words):
        ht.tune(bank.X, bank.y, schema=bank.schema, n_trials=1, **change)


def test_spaces_that_make_no_sense():
    with pytest.raises(DataError, match="must not exceed"):
        Range(2, 1)
    with pytest.raises(DataError, match="positive with `log`"):
        Range(0, 1, log=True)
    with pytest.raises(DataError, match="needs a value"):
        OneOf(())


def test_optuna_is_named_where_it_is_missing(bank, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'holdtrue\[tune\]'"):
        ht.tune(bank.X, bank.y)


def test_files(bank, known, tmp_path):
    tuning = ht.tune(bank.X, bank.y, schema=bank.schema, n_trials=3, prune=False)
    tuning.write(tmp_path / "t.json")
    tuning.write_config(tmp_path / "c.json")
    assert json.loads((tmp_path / "t.json").read_text())["chosen"] == tuning.chosen.number
    assert json.loads((tmp_path / "c.json").read_text())["regime"] == "counterfactual"


def test_the_picture_has_every_finished_trial_and_marks_the_chosen(tmp_path):
    trials = (
        trial(0, 0.90, 5.0, 2.0), trial(1, 0.89, 3.0, 2.2), trial(2, 0.885, 3.2, 1.5), trial(3, 0.80, 6.0, 3.0),
        trial(4, None, None, None, None, state="pruned"),
    )  # fmt: skip
    tuning = Tuning("standard", trials, {}, min_found=0.95, slack=0.02)
    figure = tuning.plot()
    tuning.write(tmp_path / "tune.png")
    everything, chosen = figure.axes[0].collections
    assert everything.get_offsets().tolist() == [[2.0, 5.0], [2.2, 3.0], [1.5, 3.2], [3.0, 6.0]]
    assert everything.get_array().tolist() == [0.90, 0.89, 0.885, 0.80]
    assert (everything.get_sizes() > 50).tolist() == [True, True, True, False]
    assert chosen.get_offsets().tolist() == [[1.5, 3.2]]
    assert (tmp_path / "tune.png").stat().st_size > 5_000
    with pytest.raises(DataError, match="nothing to draw"):
        replace(tuning, trials=trials[4:]).plot()
