"""The experiment of actionable recourse: a quick run on real data, and its parts against known answers."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner

import holdtrue as ht
from experiments import EXPERIMENTS, experiment
from experiments.actionable_recourse.__main__ import merge
from experiments.actionable_recourse._beside import taken
from experiments.actionable_recourse._descent import descended
from experiments.actionable_recourse._evaluate import best_f1, performance, recourse
from experiments.actionable_recourse._extras import _caused, _logits, _table
from experiments.actionable_recourse._figures import printed
from experiments.actionable_recourse._models import RECIPES, act, log_odds, nearest, scores, searches
from experiments.actionable_recourse._run import _chosen, kinds
from experiments.actionable_recourse._settings import SETTINGS, split
from experiments.actionable_recourse._text import Substitutions, build
from experiments.actionable_recourse._words import substitutes
from holdtrue.causal import Effects, find
from holdtrue.cli import cli
from holdtrue.errors import DataError
from holdtrue.models import MLP


def needs(name):
    try:
        return ht.datasets.load(name)
    except DataError as error:
        pytest.skip(f"the file of {name} is not here: {error}")


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    needs("german_credit")
    folder = tmp_path_factory.mktemp("papers")
    asked = ["papers", "actionable-recourse", "--quick", "--out", str(folder), "--json"]
    first = CliRunner().invoke(cli, asked, catch_exceptions=False)
    return json.loads(first.stdout)["results"][0], folder


def test_a_quick_run_shows_what_the_paper_shows(quick):
    result, folder = quick

    def share(key, search):
        counts = [f["recourse"][search] for f in result["kinds"][key]]
        return sum(c["found"] for c in counts) / sum(c["refused"] for c in counts)

    assert share("linear 0.8", "linear") > 0.9
    assert share("linear 0.8", "linear") > share("linear 0", "linear") + 0.3
    for key in ("linear 0", "linear 0.8"):
        assert share(key, "best") >= share(key, "linear")
        for one in result["kinds"][key]:
            assert one["performance"]["auc"] > 0.5
            promised = one["guarantee"]["linear"]
            assert (promised["n"], promised["k"]) == (100, 1)
            assert promised["coverage"]["exact"] >= 0.92 > 0.3 > promised["coverage"]["printed"]
    text = (folder / "tables.md").read_text("utf-8")
    assert "| printed, ours | 0.419 | 0.527 |" in text
    own = experiment("actionable-recourse")
    only = own.markdown([own.result(result)], ["table 2"])
    assert "with the guarantee (Table 2; 100 people calibrate)" in only
    assert "(Table 1)" not in only


def test_a_split_shares_nobody():
    needs("german_credit")
    one, other = split("german", 0), split("german", 1)
    sizes = [len(part.y) for part in (one.learn, one.watch, one.calibrate, one.test)]
    assert sizes == [720, 80, 100, 100]
    assert (one.test.x != other.test.x).any()
    # What may change, and by how much: age upwards, the amount either way, the rest not at all.
    permits = one.told.permits
    moves = {c: (bool(r), bool(f)) for c, r, f in zip(permits.columns, permits.rises, permits.falls, strict=True)}
    assert {c: m for c, m in moves.items() if any(m)} == {"amount": (True, True), "age": (True, False)}


def test_bail_is_drawn_from_one_cohort_without_repeats():
    needs("bail")
    drawn = split("bail", 0)
    rows = np.concatenate([part.x for part in (drawn.learn, drawn.watch, drawn.calibrate, drawn.test)])
    labels = np.concatenate([part.y for part in (drawn.learn, drawn.watch, drawn.calibrate, drawn.test)])
    assert len(rows) == 4616
    assert len(np.unique(np.c_[rows, labels], axis=0)) == 4616


def test_measures_of_a_known_case():
    y, score = np.array([1, 1, 0, 0]), np.array([0.9, 0.4, 0.6, 0.1])
    found = performance(y, score, 0.5)
    assert (found["f1"], found["accuracy"], found["auc"], found["accepted"]) == (0.5, 0.5, 0.75, 0.5)
    assert best_f1(y, score) == pytest.approx(0.15)  # the first threshold that accepts all but the last
    assert recourse(score, np.array([0.9, 0.5, 0.0, 0.4]), 0.5) == {"refused": 2, "found": 1, "n": 4}


def test_lambda_is_chosen_by_rows_that_nothing_else_has_seen():
    watch = {"linear 0": (0.9, 0.1), "linear 0.2": (0.85, 0.7), "linear 2": (0.6, 1.0), "lattice 2": (0.99, 0.99)}
    found = {key: [{"watch": {"auc": a, "recourse": r}}] for key, (a, r) in watch.items()}
    assert _chosen(found, "linear") == ["linear 0.2"]
    assert _chosen(found, "lattice") == ["lattice 2"]


def test_parts_train_no_more_than_they_need():
    assert set(kinds("german", quick=True)) == {"linear 0", "linear 0.8"}
    assert set(kinds("adult", parts=["table 4"])) == {"linear 0", "linear 0.8", "lattice 0.8"}
    assert len(kinds("adult", parts=["figure 1"])) == 21
    assert {"radius 0.25", "linear 0.8"} <= set(kinds("adult", parts=["figure 4"]))
    assert {"code 0.8", "tanh 0.8"} <= set(kinds("compas"))


def test_every_dataset_has_a_setting_and_printed_figures():
    known = EXPERIMENTS["actionable-recourse"].datasets
    assert set(known) == {*SETTINGS, "sst"}
    assert {s.printed for s in SETTINGS.values()} == set(printed()["table 1"])
    assert printed()["table 1"]["adult"]["0.8"]["f1"] == 0.636


def test_one_word_is_replaced_at_a_time():
    table = jnp.asarray([[0, 0], [5, 6], [0, 0], [7, 0]])
    rows = Substitutions(table, 5)(jnp.asarray([1.0, 2.0, 3.0, 0.0]))
    assert rows.tolist() == [[5, 2, 3, 0], [6, 2, 3, 0], [1, 2, 7, 0], [1, 2, 3, 0], [1, 2, 3, 0]]


def test_wordnet_files_are_read(tmp_path):
    """Two adjectives that are opposites, one that is similar to the first, a noun: in WordNet's own format."""
    (tmp_path / "data.adj").write_text(
        "  1 licence\n"
        "00000010 00 a 02 good 0 well 0 002 ! 00000020 a 0101 & 00000030 a 0000 | as wished\n"
        "00000020 00 a 01 bad 0 001 ! 00000010 a 0101 | not as wished\n"
        "00000030 00 s 02 superb 0 grand(p) 0 001 & 00000010 a 0000 | very good\n",
        encoding="latin-1",
    )
    (tmp_path / "data.noun").write_text(
        "00000040 00 n 02 film 0 motion_picture 0 000 | a film\n", encoding="latin-1"
    )
    found = substitutes(tmp_path)
    assert found["antonyms"] == {"good": ["bad"], "bad": ["good"], "superb": ["bad"], "grand": ["bad"]}
    assert found["synonyms"]["good"] == ["well"]
    assert "film" not in found["synonyms"]  # of one word only
    own = tmp_path / "own.txt"
    own.write_text("Good: bad, poor\n", encoding="utf-8")
    assert substitutes(own)["antonyms"] == {"good": ["bad", "poor"]}
    with pytest.raises(DataError, match="a thesaurus is needed"):
        substitutes(tmp_path / "nowhere")


@pytest.fixture(scope="module")
def asked():
    """German Credit with a network nobody has trained: any function of a row will do for a search."""
    needs("german_credit")
    drawn = split("german", 0)
    model = RECIPES["tanh"].build(drawn.test.x.shape[1], 2, jax.random.key(1))
    lattice = searches(drawn)["best"]
    shares = np.linspace(0, 1, 21)
    columns = [drawn.told.permits.columns.index(name) for name in ("age", "amount")]
    steps = [0.75 * shares, 1.5 * shares - 0.75]  # age may only rise
    every = np.array([(a, b) for a in steps[0] for b in steps[1]])
    return drawn, model, lattice, columns, every


def test_the_nearest_accepted_point_is_that_of_brute_force(asked):
    drawn, model, lattice, columns, every = asked
    x = drawn.test.x[:12]
    threshold = float(np.quantile(scores(model, x), 0.8))
    found = nearest(lattice, model, x, threshold)
    for row, point in zip(x, found, strict=True):
        rows = np.repeat(row[None], len(every), axis=0)
        rows[:, columns] += every.astype(np.float32)
        cost = np.where(scores(model, rows) >= threshold, np.abs(every).sum(axis=1), np.inf)
        if np.isfinite(cost.min()):
            assert scores(model, point[None])[0] >= threshold - 1e-6
            assert np.abs(point - row).sum() == pytest.approx(min(cost.min(), 9.0), abs=1e-4)
        else:
            assert scores(model, point[None])[0] < threshold + 1e-6


def test_consequences_are_those_of_the_causal_model(asked):
    """Every action on age, amount or both, its consequences by the SCM itself in double precision."""
    drawn, model, lattice, columns, every = asked
    encoder = drawn.encoder
    scm = find("german_credit").fit(_table(drawn), encoder.schema)
    x = drawn.test.x[:6]
    ours = np.asarray(_caused(lattice, Effects.of(scm, encoder), model, jnp.asarray(x)))
    names = drawn.told.permits.columns
    for row, best in zip(x, ours, strict=True):
        raw = np.repeat(row[None], len(every), axis=0) * encoder.scale + encoder.offset
        to = raw[:, columns] + every * encoder.scale[columns]
        to[np.abs(every) < 1e-6] = np.nan  # to stay is no action: what depends on others follows
        before = dict(zip(names, raw.T, strict=True))
        now = before | scm.counterfactual(before, {"age": to[:, 0], "amount": to[:, 1]}, schema=encoder.schema)
        rows = (np.stack([now[name] for name in names], axis=1) - encoder.offset) / encoder.scale
        expected = float(_logits(model, jnp.asarray(rows, jnp.float32)).max())
        assert best == pytest.approx(max(expected, float(log_odds(model, jnp.asarray(row)))), abs=1e-3)
        assert (np.abs(rows - row)[:, names.index("duration")] > 0.01).any()  # something did follow


def test_a_sentence_is_the_mean_of_its_words_and_pairs():
    model = build(9, jax.random.key(0))
    words, pairs = np.asarray(model.words), np.asarray(model.pairs)
    found = model.logits(jnp.asarray([4.0, 2.0, 7.0, 0.0, 0.0]))
    hashed = [(4 * 7919 + 2 * 104729) % len(pairs), (2 * 7919 + 7 * 104729) % len(pairs)]
    middle = (words[[4, 2, 7]].sum(axis=0) + pairs[hashed].sum(axis=0)) / 5
    np.testing.assert_allclose(
        found, np.asarray(model.layer) @ middle + np.asarray(model.bias), rtol=1e-4, atol=1e-6
    )


def test_parts_are_put_together_and_fewer_splits_do_not_replace_more():
    old = {"dataset": "d", "n_test": 1, "n_calibrate": 2, "n_train": 3, "kinds": {"a": [1, 2], "b": [3]}}
    new = old | {"kinds": {"a": [9], "b": [8]}, "extras": {"b": [7]}}
    assert merge(old, new) == old | {"kinds": {"a": [1, 2], "b": [8]}, "extras": {"b": [7]}}
    with pytest.raises(DataError, match="`n_test` of 'd' differs; got 1 and 5"):
        merge(old, new | {"n_test": 5})


def test_of_the_trainings_that_leave_enough_recourse_the_most_accurate_is_taken():
    def run(found, accuracy):
        return {"watch": {"found": found, "refused": 10, "accuracy": accuracy}}

    assert taken([run(9, 0.6), run(10, 0.5), run(6, 0.7)]) == run(9, 0.6)
    assert taken([run(5, 0.6), run(6, 0.5)]) == run(6, 0.5)


def test_gradient_descent_reaches_the_far_edge_of_the_box_of_a_linear_model():
    needs("compas")
    own = split("compas", 0)
    model = MLP(widths=(), dropout=0.0).build(own.learn.x.shape[1], 2, jax.random.key(0))
    x = own.test.x[:20]
    action = searches(own)["gradient"]
    found = descended(action, model, x)
    # On a linear model the best corner is the linear step's; the cost holds back who is all but sure of a yes.
    corner = np.asarray(act(searches(own)["linear"], model, x))
    raised = (scores(model, corner) - scores(model, x) > 0.02) & (scores(model, corner) < 0.95)
    assert raised.any()
    np.testing.assert_allclose(scores(model, found)[raised], scores(model, corner)[raised], atol=1e-3)
