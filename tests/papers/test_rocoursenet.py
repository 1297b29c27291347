"""RoCourseNet's experiment: judging and oracle against brute force, and a quick run on simulated shifts."""

import itertools
import json
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from holdfast.cli import cli
from holdfast.encoding import Encoder
from holdfast.models import LinearModel
from holdfast.papers import experiment
from holdfast.papers.rocoursenet._data import Subset, Task
from holdfast.papers.rocoursenet._judge import Answer, judge, patterns, performance, wishes
from holdfast.papers.rocoursenet._oracle import ceiling, cheapest
from holdfast.papers.rocoursenet._settings import SETTINGS
from holdfast.papers.rocoursenet._tables import markdown, printed
from holdfast.schema import Feature, Schema


def linear(weight, bias):
    return LinearModel(jnp.asarray([np.zeros(len(weight)), weight], jnp.float32), jnp.asarray([0.0, bias]))


def small_task(people, n_levels=3):
    """Two subsets of the same people: a number in [0, 1] and a category."""
    levels = tuple("abcde"[:n_levels])
    schema = Schema([
        Feature(name="u", kind="numeric", bounds=(0.0, 1.0)),
        Feature(name="c", kind="categorical", levels=levels),
    ])  # fmt: skip
    ends = pd.DataFrame({"u": [0.0, 1.0], "c": [levels[0], levels[-1]]})
    encoder = Encoder.fit(schema, ends)
    X = pd.DataFrame(people, columns=["u", "c"])
    x = encoder.encode(X).astype(np.float32)
    y = np.zeros(len(x), np.int32)
    subset = Subset("one", X, x, y, x, y)
    return Task(SETTINGS["german"], encoder, (subset, replace(subset, name="two")))


def test_the_first_rows_are_learned_from_and_the_last_are_asked_about():
    task = Task.load("covariate")
    data = experiment("rocoursenet")
    assert set(data.datasets) == set(SETTINGS)
    for subset in task.subsets:
        assert (len(subset.learned_y), len(subset.y)) == (750, 250)
    chosen = Task.load("covariate", choosing=True)
    for whole, part in zip(task.subsets, chosen.subsets, strict=True):
        # While settings are chosen no test row is seen: people are the last of those learned from.
        np.testing.assert_array_equal(part.x, whole.learned_x[600:])
        np.testing.assert_array_equal(part.learned_x, whole.learned_x[:600])
    scaled = Task.load("covariate", scaled_on="learned")
    assert np.concatenate([s.learned_x for s in scaled.subsets]).max() == pytest.approx(1.0)
    assert not np.array_equal(scaled.encoder.spread, task.encoder.spread)


def test_shorter_subsets_are_repeated_and_every_row_counts_the_same():
    task = small_task([(0.1, "a"), (0.2, "b"), (0.3, "c")])
    longer = replace(task.subsets[1], learned_x=np.repeat(task.subsets[1].learned_x, 3, axis=0)[:8],
                     learned_y=np.zeros(8, np.int32))  # fmt: skip
    short, long = replace(task, subsets=(task.subsets[0], longer)).rows()
    assert short.x.shape == long.x.shape == (8, 4)
    per_row = [float(short.weight[np.asarray(short.x[:, 0]) == v].sum()) for v in np.float32([0.1, 0.2, 0.3])]
    assert per_row == pytest.approx([8 / 3] * 3)
    np.testing.assert_allclose(long.weight, 1.0)


def test_a_matrix_is_that_of_a_count_by_hand():
    # Model one says yes from u = 0.5 on; model two says yes to category c only.
    task = small_task([(0.2, "a"), (0.4, "b"), (0.9, "a"), (0.1, "c")])
    models = [linear([2.0, 0, 0, 0], -1.0), linear([0, -1.0, -1.0, 1.0], 0.0)]
    first, second = wishes(task, models)
    assert first.tolist() == [1, 1, 0, 1]
    assert second.tolist() == [1, 1, 1, 0]
    moved = task.encoder.encode(pd.DataFrame({"u": [0.7, 0.7, 0.3, 0.7], "c": ["c", "b", "a", "c"]}))
    none = np.array([True, True, True, False])
    answers = [
        Answer(moved.astype(np.float32), none, first),
        Answer(moved.astype(np.float32), np.ones(4, bool), second),
    ]
    found = judge(task, models, answers)
    # One's people: their own model gives the first three what they want; the second model the first and the third.
    assert found["matrix"] == [[0.75, 0.5], [0.5, 0.25]]
    assert found["validity"] == pytest.approx(0.5)
    assert found["robust"] == pytest.approx(0.5)
    assert found["found"] == pytest.approx(0.875)
    # Changes: (0.5 + 2), 0.3, 0.6, and for the last, who has an answer in the second subset alone, 0.6.
    assert found["proximity"] == pytest.approx((3.4 / 3 + 4.0 / 4) / 2, abs=1e-5)
    assert found["patterns"] == pytest.approx(3.0)
    assert found["inside"] == 1.0
    soft = Answer(np.array([[0.5, 0.4, 0.4, 0.2]] * 4, np.float32), np.ones(4, bool), second)
    assert judge(task, models, [answers[0], soft])["inside"] == pytest.approx(0.5)
    assert patterns(task, [soft, soft]) == 1.0
    assert performance(task, models)["accuracies"] == [0.75, 0.75]


def every_point(steps, n_levels):
    for u, level in itertools.product(np.linspace(0, 1, steps), range(n_levels)):
        yield np.concatenate([[u], np.eye(n_levels)[level]])


@pytest.mark.parametrize("seed", range(3))
def test_the_oracle_finds_what_an_enumeration_finds(seed):
    rng = np.random.default_rng(seed)
    people = [(float(u), "abc"[i % 3]) for i, u in enumerate(rng.uniform(size=6).round(2))]
    task = small_task(people)
    models = [linear(rng.normal(size=4) * 3, rng.normal()) for _ in range(2)]
    found = cheapest(task, models, n_values=5, depth=3, beam=16)
    assert found.shape == (2, 6, 2)
    weights = [(np.asarray(m.weight)[1], float(m.bias[1])) for m in models]

    def enumerate_costs(x, own, steps):
        sign = -1.0 if x @ weights[own][0] + weights[own][1] >= 0 else 1.0
        least = [np.inf, np.inf]
        points = [*every_point(steps, 3), *(np.concatenate([x[:1], e]) for e in np.eye(3))]
        for point in points:
            yes = [sign * (point @ w + b) >= 1e-3 for w, b in weights]
            if yes[own]:
                others = sum(yes) - 1
                least[others] = min(least[others], np.abs(point - x).sum())
        return least

    checked = 0
    for i, subset in enumerate(task.subsets):
        for p, x in enumerate(subset.x.astype(float)):
            coarse, fine = enumerate_costs(x, i, 5), enumerate_costs(x, i, 2001)
            for c in range(2):
                assert found[i, p, c] <= coarse[c] + 1e-4
                assert found[i, p, c] >= fine[c] - 1e-3
                checked += np.isfinite(coarse[c])
    assert checked >= 6


def test_the_ceiling_of_a_table_of_costs():
    # Two models, four people: both accept at 3; only the own one; both at a higher price; none.
    costs = np.array([[[np.inf, 3.0], [1.0, np.inf]], [[1.0, 2.0], [np.inf, np.inf]]])
    found = ceiling(costs)
    assert found["validity"] == pytest.approx(0.75)
    assert found["robust"] == pytest.approx(0.5)
    assert found["proximity"] == pytest.approx((3 + 1 + 2) / 3)
    assert found["under_all"] == pytest.approx(0.5)
    assert found["nearest"] == pytest.approx((3 + 1 + 1) / 3)
    # A low rate takes the cheap point of the third person, a high one the accepted one.
    assert found["front"][0] == pytest.approx([5 / 3, 0.25], abs=1e-3)
    assert found["front"][-1] == pytest.approx([2.0, 0.5], abs=1e-3)


def test_every_part_of_the_paper_has_its_figures():
    paper = experiment("rocoursenet")
    tables = {part for part in printed() if part.startswith("table")}
    assert tables <= set(paper.parts)
    assert printed()["table 2"]["RoCourseNet"]["loan"]["robust"] == [0.969, 0.106]
    for name, by_dataset in printed()["table 2"].items():
        assert set(by_dataset) == {"loan", "german", "student"}, name


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers")
    asked = ["papers", "rocoursenet", "--dataset", "covariate", "--quick", "--out", str(folder), "--json"]
    done = CliRunner().invoke(cli, asked, catch_exceptions=False)
    return json.loads(done.stdout)["results"][0], (folder / "tables.md").read_text("utf-8")


def test_a_quick_run_has_recourse_that_the_other_half_accepts(quick):
    result, text = quick
    assert set(result["methods"]) == {"RoCourseNet", "RoCourseNet, guides", "VanillaCF"}
    for name, seeds in result["methods"].items():
        assert [s["inside"] for s in seeds] == [1.0] * len(seeds), name
    guided = result["methods"]["RoCourseNet, guides"][0]
    assert guided["validity"] >= 0.95
    assert guided["robust"] > result["methods"]["VanillaCF"][0]["robust"]
    # No method beats who sees both models.
    oracle = result["oracle"]["RoCourseNet, guides"][0]
    assert oracle["robust"] >= 0.99
    assert oracle["nearest"] <= oracle["proximity"]
    for seeds in result["performance"].values():
        assert seeds[0]["accuracy"] > 0.8
    assert "| RoCourseNet, guides | " in text
    assert "/ 1.000" in text  # the printed figure stands beside ours


def test_a_single_table_can_be_asked_for(quick):
    result, _ = quick
    text = markdown([result], ["table 6"])
    assert text.startswith("### Accuracy and AUC")
    assert "Table 9" not in text
