"""Parts of RoCourseNet's experiment that processes share: attacks by subset and seed, shares of the rows."""

import json
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import numpy as np
import pandas as pd
import pytest

from experiments._task import Rows, Task
from experiments.rocoursenet import __main__ as parts
from experiments.rocoursenet import attacked
from experiments.rocoursenet._data import alike, read_tasks
from experiments.rocoursenet._generators import curves
from experiments.rocoursenet._recipes import Sizes
from experiments.rocoursenet._settings import SETTINGS
from experiments.rocoursenet._sweeps import attacked as against
from experiments.rocoursenet._sweeps import sweeps
from experiments.rocoursenet._train import fit_all
from holdtrue.encoding import Encoder
from holdtrue.errors import DataError
from holdtrue.models import MLP
from holdtrue.schema import Feature, Schema
from holdtrue.training import StandardTraining


def two_subsets() -> tuple[Task[Any], Task[Any]]:
    """Three rows, and eight: a number in [0, 1] and a category."""
    levels = ("a", "b", "c")
    schema = Schema([
        Feature(name="u", kind="numeric", bounds=(0.0, 1.0)),
        Feature(name="c", kind="categorical", levels=levels),
    ])  # fmt: skip
    X = pd.DataFrame({"u": np.linspace(0, 1, 8), "c": [levels[i % 3] for i in range(8)]})
    encoder = Encoder.fit(schema, X)
    rows = Rows(encoder.encode(X).astype(np.float32), np.arange(8, dtype=np.int32) % 2)
    long = Task(SETTINGS["german"], encoder, rows, rows, rows, X, name="two")
    return replace(long, learned=Rows(rows.x[:3], rows.y[:3]), name="one"), long


def test_a_subset_trained_apart_is_the_one_trained_with_all():
    tasks = two_subsets()
    regime = StandardTraining(n_epochs=3, batch_size=4)
    both = fit_all(tasks, MLP(widths=(3,)), regime, [5])[0]
    apart = fit_all(tasks[:1], MLP(widths=(3,)), regime, [5], rows=alike(tasks)[:1])[0][0]
    alone = fit_all(tasks[:1], MLP(widths=(3,)), regime, [5])[0][0]
    leaves = (jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)) for model in (both[0], apart, alone))
    weights = [np.concatenate([np.ravel(leaf) for leaf in own]) for own in leaves]
    np.testing.assert_allclose(weights[1], weights[0], atol=1e-6)
    assert np.abs(weights[2] - weights[0]).max() > 1e-4  # its rows were not made alike


def test_attacks_of_subsets_become_means_over_them_and_lists_over_seeds(tmp_path):
    def cell(subset, seed, survival):
        figures = {"RoCourseNet": {"7": {"survival": [survival], "accuracy": [0.5 + seed / 4]}}}
        return {"subset": subset, "seed": seed, "attacks": {"steps T": figures}, "device": "d", "command": "c"}

    cells = [cell("one", 1, 0.2), cell("two", 1, 0.4), cell("one", 0, 0.6), cell("two", 0, None)]
    told = attacked.together(cells)["steps T"]["RoCourseNet"]["7"]
    assert told == {"survival": [0.6, pytest.approx(0.3)], "accuracy": [0.5, 0.75]}
    # None is where nobody had recourse. A file is made of them when every subset has the same seeds.
    tasks, head = two_subsets(), {"dataset": "d", "title": "D", "command": "c"}
    (tmp_path / "attacked").mkdir()
    for own in cells[:3]:
        place = tmp_path / "attacked" / f"d-{own['subset']}-{own['seed']}.json"
        place.write_text(json.dumps(own), "utf-8")
    assert attacked.put_together(tmp_path, tasks, head) is None
    (tmp_path / "attacked" / "d-two-0.json").write_text(json.dumps(cells[3]), "utf-8")
    place = attacked.put_together(tmp_path, tasks, head)
    assert place is not None
    found = json.loads(place.read_text("utf-8"))
    assert found["seeds"] == [0, 1]
    before = "python -m experiments.rocoursenet run loan FOLDER attacks --seeds 1 && other"
    merged = parts.merge({"methods": {"A": [1]}, "attacks": {}, "command": before}, found)
    assert merged["attacks"] == found["attacks"]
    assert merged["methods"] == {"A": [1]}
    assert merged["command"].split(" && ") == ["other", "c", "python -m experiments.rocoursenet merge FOLDER"]
    with pytest.raises(DataError, match="cells of another command"):
        attacked.put_together(tmp_path, tasks, head | {"command": "b"})


def test_trainings_on_fewer_rows_may_be_asked_for_one_share_at_a_time():
    tasks, sizes = read_tasks("covariate"), Sizes(100, 64, range(1), 10)
    both = [sweep.title for sweep in sweeps(tasks, tasks, sizes, {"sizes"})]
    assert len(both) == 4
    apart = [s.title for share in ("0.1", "0.3") for s in sweeps(tasks, tasks, sizes, {f"sizes, {share}"})]
    assert apart == both


def test_a_command_of_before_loses_the_parts_that_another_replaces():
    run = "python -m experiments.rocoursenet run loan FOLDER"
    before = [f"{run} guides 'CF Model, printed' --seeds 5", f"{run} fronts sizes losses --seeds 3", "choose"]
    assert parts._without(before, f"{run} guides --seeds 3") == before  # fewer seeds replace nothing
    assert parts._without(before, f"{run} guides --seeds 5 --whole")[0] == f"{run} 'CF Model, printed' --seeds 5"
    after = parts._without(before, f"{run} 'fronts, generators' 'sizes, 0.1' --seeds 3")
    assert after[1:] == [f"{run} 'fronts, searches' 'sizes, 0.3' losses --seeds 3", "choose"]
    assert parts._without(after, f"{run} 'fronts, searches' 'sizes, 0.3' losses --seeds 3") == [
        before[0],
        "choose",
    ]
    five = [f"{run} guides losses --seeds 5"]  # of which curves have three
    assert parts._without(five, f"{run} losses --seeds 3") == [f"{run} guides --seeds 5"]
    some = [f"{run} 'sizes, 0.3' 'sizes, guides' --seeds 3"]
    assert parts._without(some, f"{run} 'sizes, 0.3' --seeds 3 --whole") == []
    on_all = [f"{run} sweeps --seeds 3 --whole"]
    assert parts._without(on_all, f"{run} sweeps --seeds 3") == on_all


def test_seeds_of_processes_have_the_command_of_all_of_them():
    def of(seed):
        ending = f" --first {seed}" if seed else ""
        rows = {"methods": {"A": [seed]}, "performance": {}, "oracle": {}}
        told = {"times": {"A": {"ms_per_person": 3 - seed}}, "command": f"run d FOLDER searches --seeds 1{ending}"}
        return rows | told | {"dataset": "d", "seeds": [seed]}

    (joined,) = parts.join([of(1), of(0)])
    assert joined["command"] == "run d FOLDER searches --seeds 2"
    assert joined["times"] == {"A": {"ms_per_person": 2}}  # the other had more beside it


def test_curves_are_means_over_subsets():
    _, one = two_subsets()
    other = replace(one, learned=Rows(one.learned.x, 1 - one.learned.y))
    recipe = against((one, other), Sizes(4, 4, range(2), 1))
    both, *apart = (curves(tasks, recipe, [0, 1]) for tasks in ((one, other), (one,), (other,)))
    assert {"loss", "validity"} <= set(both)
    for name, seeds in both.items():
        for seed, curve in enumerate(seeds):
            told = [np.array([np.nan if v is None else v for v in own[name][seed]]) for own in (both, *apart)]
            np.testing.assert_allclose(told[0], (told[1] + told[2]) / 2, atol=2e-5)
            assert len(curve) == 2
    assert apart[0]["loss"] != apart[1]["loss"]
