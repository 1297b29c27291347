"""RoCourseNet's experiment: judging and oracle against brute force, and a quick run on simulated shifts."""

import itertools
import json
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from experiments import experiment
from experiments._task import Rows, Task
from experiments.rocoursenet import __main__ as parts
from experiments.rocoursenet._attack import attacks
from experiments.rocoursenet._data import alike, read_tasks
from experiments.rocoursenet._judge import Answer, judge, patterns, performance, wishes
from experiments.rocoursenet._oracle import ceiling, cheapest
from experiments.rocoursenet._people import known
from experiments.rocoursenet._recipes import Sizes
from experiments.rocoursenet._result import Attacked, OfSeed, Result
from experiments.rocoursenet._run import PARTS
from experiments.rocoursenet._settings import SETTINGS
from experiments.rocoursenet._sweeps import sweeps
from experiments.rocoursenet._tables import markdown, printed
from holdtrue.cli import cli
from holdtrue.encoding import Encoder, Permits
from holdtrue.models import CounterNet, LinearModel
from holdtrue.schema import Feature, Schema
from holdtrue.training import TrainingContext


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
    rows = Rows(x, y)
    subset = Task(SETTINGS["german"], encoder, rows, rows, rows, X, name="one")
    return subset, replace(subset, name="two")


def test_the_first_rows_are_learned_from_and_the_last_are_asked_about():
    tasks = read_tasks("covariate")
    data = experiment("rocoursenet")
    assert set(data.datasets) == set(SETTINGS)
    for subset in tasks:
        assert (len(subset.learned.y), len(subset.asked.y)) == (750, 250)
    chosen = read_tasks("covariate", choosing=True)
    for whole, part in zip(tasks, chosen, strict=True):
        # While settings are chosen no test row is seen: people are the last of those learned from.
        np.testing.assert_array_equal(part.asked.x, whole.learned.x[600:])
        np.testing.assert_array_equal(part.learned.x, whole.learned.x[:600])
    scaled = read_tasks("covariate", scaled_on="learned")
    assert np.concatenate([s.learned.x for s in scaled]).max() == pytest.approx(1.0)
    assert not np.array_equal(scaled[0].encoder.spread, tasks[0].encoder.spread)


def test_shorter_subsets_are_repeated_and_every_row_counts_the_same():
    tasks = small_task([(0.1, "a"), (0.2, "b"), (0.3, "c")])
    more = Rows(np.repeat(tasks[1].learned.x, 3, axis=0)[:8], np.zeros(8, np.int32))
    short, long = alike((tasks[0], replace(tasks[1], learned=more)))
    assert short.x.shape == long.x.shape == (8, 4)
    per_row = [float(short.weight[np.asarray(short.x[:, 0]) == v].sum()) for v in np.float32([0.1, 0.2, 0.3])]
    assert per_row == pytest.approx([8 / 3] * 3)
    np.testing.assert_allclose(long.weight, 1.0)


def test_a_matrix_is_that_of_a_count_by_hand():
    # Model one says yes from u = 0.5 on; model two says yes to category c only.
    tasks = small_task([(0.2, "a"), (0.4, "b"), (0.9, "a"), (0.1, "c")])
    models = [linear([2.0, 0, 0, 0], -1.0), linear([0, -1.0, -1.0, 1.0], 0.0)]
    first, second = wishes(tasks, models)
    assert first.tolist() == [1, 1, 0, 1]
    assert second.tolist() == [1, 1, 1, 0]
    moved = tasks[0].encoder.encode(pd.DataFrame({"u": [0.7, 0.7, 0.3, 0.7], "c": ["c", "b", "a", "c"]}))
    none = np.array([True, True, True, False])
    answers = [
        Answer(moved.astype(np.float32), none, first),
        Answer(moved.astype(np.float32), np.ones(4, bool), second),
    ]
    found = judge(tasks, models, answers)
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
    assert judge(tasks, models, [answers[0], soft])["inside"] == pytest.approx(0.5)
    assert patterns(tasks, [soft, soft]) == 1.0
    assert performance(tasks, models)["accuracies"] == [0.75, 0.75]
    # Fewer are asked about recourse; accuracy stays that of everybody.
    fewer = tuple(s.few(1) for s in tasks)
    assert performance(fewer, models)["accuracies"] == [0.75, 0.75]


def every_point(steps, n_levels):
    for u, level in itertools.product(np.linspace(0, 1, steps), range(n_levels)):
        yield np.concatenate([[u], np.eye(n_levels)[level]])


@pytest.mark.parametrize("seed", range(3))
def test_the_oracle_finds_what_an_enumeration_finds(seed):
    rng = np.random.default_rng(seed)
    people = [(float(u), "abc"[i % 3]) for i, u in enumerate(rng.uniform(size=6).round(2))]
    tasks = small_task(people)
    models = [linear(rng.normal(size=4) * 3, rng.normal()) for _ in range(2)]
    found = cheapest(tasks, models, n_values=5, depth=3, beam=16)
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
    for i, subset in enumerate(tasks):
        for p, x in enumerate(subset.asked.x.astype(float)):
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


def test_recipes_of_a_sweep_share_one_program_and_no_name():
    tasks, seen = read_tasks("covariate"), set()
    context = TrainingContext(Permits.of(tasks[0].encoder), 1, n_rows=750)
    parts = {"fronts", "fronts, guides", "sweeps", "sweeps, l2", "schedule", "sizes"}
    found = list(sweeps(tasks, tasks, Sizes(100, 64, range(1), 10), parts))
    assert parts <= set(PARTS)
    for sweep in found:
        recipes = [recipe for _, recipe in sweep.group.values()]
        assert all(r.network.get_params() == recipes[0].network.get_params() for r in recipes)
        shapes = [jax.tree.structure(eqx.filter(r.regime.step(context), eqx.is_array)) for r in recipes]
        assert shapes == shapes[:1] * len(shapes), sweep.title
        assert sweep.title == "schedule" or seen & set(sweep.group) <= {"E = 0.1", "E = 0.1, l2"}
        seen |= set(sweep.group)
    assert {alike(s.tasks)[0].x.shape[0] for s in found if "of the rows" in s.title} == {75, 225}
    # The printed attacker is in the sweeps of its steps and of its radius.
    assert sum("E = 0.1" in s.group for s in found) == 3
    assert {"T = 14", "E = 0.1", "E = 0.5, l2", "E = 0.3, static", "CounterNet, cost 0.1"} <= seen


def test_attacks_are_told_for_every_seed(monkeypatch):
    monkeypatch.setattr("experiments.rocoursenet._attack.STEPS", (7,))
    monkeypatch.setattr("experiments.rocoursenet._attack.RADII", (0.1,))
    tasks = small_task([(0.2, "a"), (0.4, "b"), (0.9, "a"), (0.1, "c")])
    architecture = CounterNet(encoder=(4,), predictor=(4,), generator=(4,))
    networks = [architecture.build(4, 2, jax.random.key(s)) for s in (0, 1)]
    told = attacks(tasks, {"one": [networks, networks[::-1], networks]}, "l2")
    assert set(told) == {"steps T, l2, adam", "radius E, l2, adam"}
    figures = told["steps T, l2, adam"]["one"]["7"]
    assert figures == told["radius E, l2, adam"]["one"]["0.1"]  # T = 7 and E = 0.1 are in both
    assert len(figures["survival"]) == 3
    assert figures["survival"][0] == figures["survival"][2]
    assert all(0 <= v <= 1 for v in figures["accuracy"])


def test_figures_are_told_with_their_deviation_over_seeds():
    same = {"validity_std": 0.0, "robust_std": 0.0, "proximity_std": 0.0, "found": 1.0, "inside": 1.0}
    seeds = [
        OfSeed(robust=r, validity=1.0, proximity=2.0, towards={}, patterns=None, matrix=[], **same)
        for r in (0.5, 0.7)
    ]
    survived = Attacked(survival=[0.25, 0.75], accuracy=[0.6, 0.6])
    result = Result(
        dataset="german",
        title="Made up",
        seconds={},
        subsets=["one", "two"],
        n_learned=[3, 3],
        n_people=[1, 1],
        n_searched=1,
        n_columns=4,
        seeds=[0, 1],
        n_updates=1,
        main=[],
        methods={"T = 7": seeds, "T = 7, l2": seeds[:1]},
        performance={},
        oracle={},
        times={},
        sweeps_of={"attacker steps T": {"T = 7": "7"}, "attacker steps T, l2": {"T = 7, l2": "7"}},
        attacks={"steps T, linf, adam": {"RoCourseNet": {"7": survived}}},
        losses={"cost": [[None, 1.0], [3.0, 1.0]]},
    )
    assert Result.from_dict(result.to_dict()) == result
    four = markdown([result], ["figure 4"])
    assert "| attacker steps T: 7 | 0.600 ± 0.14 | 1.000 ± 0.00 | 2.00 ± 0.00 | 2 |" in four
    assert "| RoCourseNet | 0.500 ± 0.35 |" in four
    assert "T, l2" not in four
    assert "| attacker steps T, l2: 7 | 0.500 | 1.000 | 2.00 | 1 |" in markdown([result], ["figure 12"])
    assert "| Made up, cost | 3.000 |" in markdown([result], ["figure 11"])


def test_results_of_processes_are_put_together_and_more_seeds_win():
    old = {"dataset": "german", "methods": {"A": [1, 2, 3], "B": [1]}, "times": {"A": 5, "B": 6},
           "seconds": {"x": 1}}  # fmt: skip
    new = {"dataset": "german", "methods": {"A": [4], "B": [7], "C": [8]}, "times": {"A": 0, "B": 9, "C": 9},
           "sweeps_of": {"T": {"A": "7"}}, "device": "d", "seconds": {"y": 2}}  # fmt: skip
    both = parts.merge(old, new)
    assert both["methods"] == {"A": [1, 2, 3], "B": [7], "C": [8]}
    assert both["times"] == {"A": 5, "B": 9, "C": 9}
    assert both["device_of"] == {"B": "d", "C": "d"}
    assert both["sweeps_of"] == {"T": {"A": "7"}}
    assert both["seconds"] == {"x": 1, "y": 2}


def test_parts_on_every_subset_replace_what_some_had_in_their_place():
    old = {"dataset": "loan", "methods": {"0.1, A": [1], "1, A": [2], "A": [3]}, "seconds": {},
           "device_of": {"1, A": "d"},
           "sweeps_of": {"0.1 of the rows, A": {"0.1, A": ""}, "1 of the rows, A": {"1, A": ""}}}  # fmt: skip
    new = {"dataset": "loan", "methods": {"0.1, A": [4]}, "sweeps_of": {"0.1 of the rows, A": {"0.1, A": ""}}}
    assert parts.merge(old, new)["methods"] == {"0.1, A": [4], "1, A": [2], "A": [3]}
    whole = parts.merge(old, new | {"whole": True})
    assert whole["methods"] == {"0.1, A": [4], "A": [3]}
    assert list(whole["sweeps_of"]) == ["0.1 of the rows, A"]


def test_seeds_of_other_processes_are_joined():
    second, first, other = (
        {"dataset": "d", "seeds": seeds, "methods": {"A": rows}, "performance": {}, "oracle": {}}
        for seeds, rows in (([1], [11]), ([0], [10]), ([0, 1, 2], [7, 8, 9]))
    )
    joined = parts.join([second, first, other, {"dataset": "d", "choice": {"rows": [1]}}])
    assert sorted(f["methods"]["A"] for f in joined if "methods" in f) == [[7, 8, 9], [10, 11]]
    (chosen,) = (f for f in joined if "choice" in f)
    assert parts.merge({"choice": {"rows": []}}, chosen)["choice"] == {"rows": [1]}


def test_a_single_table_can_be_asked_for(quick):
    result, _ = quick
    text = markdown([Result.from_dict(result)], ["table 6"])
    assert text.startswith("### Accuracy and AUC")
    assert "Table 9" not in text


def test_an_interval_over_people_is_the_score_interval_where_every_training_agrees():
    share = np.array([[1.0, 0.5], [0.5, 1.0]])
    found = known(np.stack([share, share]), [100, 120])
    assert found["mean"] == 0.5
    assert found["trainings"] == [0.5, 0.5]
    # 50 of 100: Wilson (1927).
    assert found["people"] == pytest.approx([0.4038, 0.5962], abs=1e-4)
    everybody = known(np.ones((2, 2, 2)), [100, 120])
    assert everybody["trainings"] == [1.0, 1.0]
    assert everybody["people"] == pytest.approx([0.9630, 1.0], abs=1e-4)


def test_an_interval_over_people_is_never_narrower_than_over_trainings():
    rng = np.random.default_rng(0)
    for k in (2, 2, 2):
        matrices = rng.uniform(0.2, 0.9, (5, k, k))
        found = known(matrices, [57, 90])
        assert found["people"][0] <= found["trainings"][0]
        assert found["people"][1] >= found["trainings"][1]


def test_years_are_the_draws_where_there_are_many():
    rows = np.array([0.6, 0.8, 1.0])
    found = known(np.repeat(rows[:, None], 3, axis=1)[None].repeat(2, axis=0), [1000] * 3)
    assert found["mean"] == pytest.approx(0.8)
    # t of two degrees of freedom, 4.303, times 0.2 / sqrt(3).
    assert found["people"] == pytest.approx([0.8 - 0.4968, 1.0], abs=1e-3)
