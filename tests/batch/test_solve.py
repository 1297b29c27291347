"""The batch runner: slots, refilling, deadlines, errors."""

import threading
import time

import equinox as eqx
import jax
import numpy as np
import pytest

from holdtrue.batch import _solve, map_rows, padded_size, slots_for, solve
from holdtrue.encoding import feasible_sets
from holdtrue.methods import Wachter
from holdtrue.models import BlackBoxModel
from holdtrue.models.adapters import TorchModel
from holdtrue.schema import as_table
from holdtrue.search import Problems, Status
from holdtrue.testing import _world as world


@pytest.fixture(scope="module")
def job():
    clf = world.classifier()
    method = Wachter(n_steps=60).fit(clf)
    table = as_table(world.people()[0])
    feasible = feasible_sets(clf.predictor_.encoder, table)
    x = feasible.x
    return method.solver(), Problems(x, np.ones(len(x), np.int32), feasible, method._keys(x), x)


def test_slots_do_not_change_the_answers(job):
    solver, problems = job
    few, many = solve(solver, problems, slots=16), solve(solver, problems, slots=300)
    assert few.status.tolist() == many.status.tolist()
    np.testing.assert_allclose(few.cost, many.cost, rtol=1e-3, atol=1e-4)


def test_everyone_is_answered_once(job):
    solver, problems = job
    told = []
    answer = solve(solver, problems, slots=16, on_rows=told.append)
    assert sum(told) == len(problems.x)
    assert (answer.status != int(Status.NOT_REACHED)).all()
    assert (answer.n_steps <= 60).all()


def test_a_passed_deadline_reaches_nobody_or_reports_what_was_found(job):
    solver, problems = job
    solve(solver, problems, slots=16)
    answer = solve(solver, problems, slots=16, deadline=time.monotonic() + 1e-3)
    unreached = answer.status == int(Status.NOT_REACHED)
    assert unreached.any()
    np.testing.assert_array_equal(answer.x[unreached], problems.x[unreached])


@pytest.mark.parametrize("on_host", [False, True])
def test_a_model_that_calls_back_is_asked_by_one_worker(job, on_host, monkeypatch):
    solver, problems = job
    begun = []

    class Counted(threading.Thread):
        def start(self):
            begun.append(self)
            super().start()

    monkeypatch.setattr(_solve, "n_cores", lambda: 2)
    monkeypatch.setattr(_solve.threading, "Thread", Counted)
    monkeypatch.setattr(type(solver.decision.model), "on_host", on_host)
    solve(solver, problems, slots=16)
    assert len(begun) == (1 if on_host else 2)
    assert BlackBoxModel.on_host
    assert TorchModel.on_host


def test_an_error_in_a_worker_reaches_the_caller(job):
    solver, problems = job
    broken = eqx.tree_at(lambda p: p.target, problems, np.zeros((len(problems.x), 2), np.int32))
    with pytest.raises(Exception, match=r".+"):
        solve(solver, broken)


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 5000])
def test_map_rows_pads_and_cuts(n):
    sizes = set()

    def double(x):
        sizes.add(len(x))
        return 2 * x

    x = np.arange(n, dtype=np.float32)[:, None]
    np.testing.assert_array_equal(map_rows(double, x), 2 * x)
    assert sizes == {padded_size(n)}


def test_one_compilation_serves_every_number_of_rows(job):
    solver, problems = job
    programs = [_solve._begin, _solve._round, _solve._finish]
    for program in programs:
        program.clear_cache()
    solve(solver, problems.take(np.arange(7)), slots=16)
    solve(solver, problems, slots=16)  # more people than slots: some begin in the middle
    solve(Wachter(n_steps=50).fit(world.classifier()).solver(), problems.take(np.arange(7)), slots=16)
    assert [program._cache_size() for program in programs] == [1, 1, 1]


def test_what_is_fixed_in_a_program_keeps_programs_apart(job):
    """Numbers that are no arrays are part of the program, and 1, 1.0 and True are three."""
    solver, problems = job
    kinds = [_solve._Kind(solver, eqx.tree_at(lambda p: p.target, problems, t)) for t in (1, 1.0, True, 1)]
    assert kinds[0] == kinds[3]
    assert len(set(kinds)) == 3
    rebuilt, _ = kinds[0].join(_solve._arrays(solver, problems))
    assert jax.tree.structure(rebuilt) == jax.tree.structure(solver)


def test_a_block_is_as_long_as_the_last_run_left_it(job):
    """The steps that a run found to fit a block are where the next one of its kind begins."""
    solver, problems = job
    few = problems.take(np.arange(7))
    pace = _solve._pace(_solve._Kind(solver, few), 16)
    for _ in range(6):
        solve(solver, few, slots=16)
    assert pace is _solve._pace(_solve._Kind(solver, problems), 16)
    assert pace.steps > 1


def test_slots_fit_the_work(monkeypatch):
    """Few sizes, so few compilations; people are spread over cores; no batch waits for more rows than it must."""
    monkeypatch.setattr("jax.default_backend", lambda: "cpu")
    assert [slots_for(n) for n in (1, 16, 17, 33, 65, 1023, 1024, 10_000)] == [16, 16, 32, 64, 64, 64, 256, 256]
    assert [slots_for(10_000, n_asked) for n_asked in (4, 16, 64, 1000)] == [256, 64, 16, 16]
    assert [slots_for(n, 64, 1) for n in (1, 100, 10_000)] == [1, 1, 1]  # as the solver wants it


def test_cores_share_the_people(job, monkeypatch):
    solver, problems = job
    seen = []
    run = _solve._Run
    monkeypatch.setattr(_solve, "n_cores", lambda: 2)
    monkeypatch.setattr(_solve, "_Run", lambda *args: seen.append(run(*args)) or seen[-1])
    solve(solver, problems.take(np.arange(32)))
    solve(solver, problems.take(np.arange(40) % len(problems.x)))
    assert [one.slots for one in seen] == [32, 32]  # few are one worker's; then two of 32, not one of 64
