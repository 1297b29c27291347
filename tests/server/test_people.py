"""Decisions and recourse over HTTP are those of the classifier, to the last digit, alone or in company."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

from holdtrue.classifier import rows_of


def frame(rows, bank):
    return pd.DataFrame(rows, columns=bank.X.columns)


def told(plan):
    """What a plan says, as the service tells it."""
    out = [[] for _ in range(int(plan.person.max()) + 1)]
    for i, person in enumerate(plan.person.tolist()):
        if plan.found[i]:
            row = rows_of(plan.recourse, plan.schema)[i]
            out[person].append((row, plan.cost[i], plan.after[i], plan.changes()[i]))
    return out


def said(answers):
    return [[(o["recourse"], o["cost"], o["probability"], o["changes"]) for o in a["options"]] for a in answers]


def ask(world, people, **rest):
    answer = world.officer.post("/v1/recourse", json={"people": people, **rest})
    assert answer.status_code == 200, answer.text
    return answer.json()["answers"]


def test_decisions_are_the_classifiers(world, clf, bank, rows):
    answer = world.officer.post("/v1/predict", json={"people": rows[:50]}).json()
    assert answer["model"] == clf.predictor_.digest()
    assert [d["decision"] for d in answer["decisions"]] == clf.predict(bank.X[:50]).tolist()
    assert [list(d["probabilities"].values()) for d in answer["decisions"]] == clf.predict_proba(
        bank.X[:50]
    ).tolist()


def test_recourse_is_the_classifiers_row_for_row(world, clf, bank, rows):
    plan = clf.recourse(bank.X[:40])
    answers = ask(world, rows[:40])
    assert said(answers) == told(plan)
    counts = pd.Series([a["status"] for a in answers]).value_counts().to_dict()
    assert counts == plan.counts()
    assert counts["FOUND"] > 2
    assert counts["ALREADY_FAVOURABLE"] > 2
    assert [a["probability"] for a in answers] == plan.before.tolist()


def test_options_and_limits_are_the_classifiers(world, clf, bank, refused):
    people = refused[:4]
    restrictions = [
        None if i != 1 else {ask(world, people[1:2])[0]["options"][0]["changed"][0]: "fixed"} for i in range(4)
    ]
    answers = ask(world, people, options=2, restrictions=restrictions)
    assert said(answers) == told(clf.recourse(frame(people, bank), n_recourses=2, restrictions=restrictions))
    assert max(len(a["options"]) for a in answers) == 2
    locked = next(iter(restrictions[1]))
    assert all(locked not in option["changed"] for option in answers[1]["options"])


def test_another_target(world, clf, bank, rows):
    plan = clf.recourse(bank.X[:5], target=0)
    assert said(ask(world, rows[:5], target=0)) == told(plan)
    assert plan.found.any()


def test_together_is_as_alone_and_shares_calls(world, refused):
    people = refused[:24]
    alone = [ask(world, [person])[0] for person in people]
    calls = world.service.metrics.value("holdtrue_batches_total")
    # While one call runs the others gather.
    gate = threading.Barrier(len(people))

    def one(person):
        gate.wait()
        return ask(world, [person])[0]

    with ThreadPoolExecutor(len(people)) as pool:
        together = list(pool.map(one, people))
    assert together == alone
    assert world.service.metrics.value("holdtrue_batches_total") - calls < len(people)


def test_who_is_not_reached_is_told_so(world, refused, monkeypatch):
    run = world.service._run
    monkeypatch.setattr(world.service._batcher, "_run", lambda jobs: (time.sleep(0.5), run(jobs))[1])
    began = time.monotonic()
    answers = ask(world, refused[:2], deadline=0.1)
    assert time.monotonic() - began < 0.45
    assert [a["status"] for a in answers] == ["NOT_REACHED"] * 2
    assert [a["options"] for a in answers] == [[], []]
    monkeypatch.undo()
    assert ask(world, refused[:1])[0]["status"] == "FOUND"


def test_one_requests_fault_is_nobody_elses(world, refused, monkeypatch):
    """A call that fails is asked again job by job."""
    run, sizes = world.service._run, []

    def fragile(jobs):
        sizes.append(len(jobs))
        if any(len(job.rows) == 3 for job in jobs):
            raise ValueError("income 4711 is odd")
        return run(jobs)

    expected = [ask(world, [person]) for person in refused[:6]]
    monkeypatch.setattr(world.service._batcher, "_run", fragile)
    monkeypatch.setattr(world.service._batcher, "_wait", 0.3)
    with ThreadPoolExecutor(7) as pool:
        bad = pool.submit(world.officer.post, "/v1/recourse", json={"people": refused[:3]})
        good = list(pool.map(lambda person: ask(world, [person]), refused[:6]))
    assert good == expected
    assert bad.result().status_code == 500
    assert "4711" not in bad.result().text
    assert max(sizes) > 1


def test_who_cannot_be_asked_about_is_refused_and_costs_the_others_nothing(world, refused, monkeypatch):
    """People are checked when their call begins, all at once: the others still share one search."""
    answered, calls = world.service._answered, []

    def counted(table, jobs):
        calls.append(len(jobs))
        return answered(table, jobs)

    expected = [ask(world, [person]) for person in refused[:6]]
    monkeypatch.setattr(world.service, "_answered", counted)
    monkeypatch.setattr(world.service._batcher, "_wait", 0.3)
    with ThreadPoolExecutor(7) as pool:
        bad = pool.submit(world.officer.post, "/v1/recourse", json={"people": [refused[0] | {"price": 1e30}]})
        good = list(pool.map(lambda person: ask(world, [person]), refused[:6]))
    assert good == expected
    assert bad.result().status_code == 422
    assert "of person 0 is too far" in bad.result().json()["error"]
    assert sum(calls) == 6
    assert max(calls) > 1
    many = [
        *refused[:5] * 8,
        refused[0] | {"price": 1e30},
    ]  # more than one call's: told by the place in the request
    answer = world.officer.post("/v1/recourse", json={"people": many})
    assert answer.status_code == 422
    assert "of person 40 is too far" in answer.json()["error"]


def test_too_many_waiting_are_refused_and_the_rest_are_served(world, refused, monkeypatch):
    run, full = world.service._run, threading.Event()
    monkeypatch.setattr(world.service._batcher, "_run", lambda jobs: (full.wait(30), run(jobs))[1])
    people = (refused * 3)[:50]

    def one(_):
        answer = world.officer.post("/v1/recourse", json={"people": people})
        if answer.status_code == 429:
            full.set()  # whoever waits is served
        return answer

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(one, range(12)))
    codes = [a.status_code for a in answers]
    assert set(codes) == {200, 429}
    late = next(a for a in answers if a.status_code == 429)
    assert late.headers["retry-after"] == "1"
    assert "too many" in late.json()["error"]
    first = next(a for a in answers if a.status_code == 200).json()
    assert all(a.json() == first for a in answers if a.status_code == 200)
    monkeypatch.undo()
    assert ask(world, refused[:1])[0]["status"] == "FOUND"


def test_compiled_programs_are_dropped_before_maps_run_out(world, refused, monkeypatch):
    before = ask(world, refused[:3])
    cleared = world.service.metrics.value("holdtrue_cache_clears_total")
    monkeypatch.setattr("holdtrue.server._service.LOOK", 1)
    world.service.many_maps = 10
    try:
        assert ask(world, refused[:3]) == before
        deadline = time.monotonic() + 60
        while world.service.metrics.value("holdtrue_cache_clears_total") == cleared:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        world.service.many_maps = 30_000
    assert ask(world, refused[:3]) == before


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/recourse"])
def test_values_beyond_the_range_learned_from_are_answered(world, rows, path):
    """A person richer than all before is a person."""
    assert world.officer.post(path, json={"people": [rows[0] | {"obrat": 99.5}]}).status_code == 200


def test_a_large_request_goes_in_pieces_with_each_ones_limits(world, clf, bank, rows):
    restrictions = [None] * 50
    restrictions[3], restrictions[45] = {"price": "fixed"}, {"obrat": "fixed", "hrat": "fixed"}
    calls = world.service.metrics.value("holdtrue_batches_total")
    answers = ask(world, rows[:50], restrictions=restrictions)
    assert said(answers) == told(clf.recourse(bank.X[:50], restrictions=restrictions))
    until = time.monotonic() + 10
    while world.service.metrics.value("holdtrue_batches_total") < calls + 2:  # counted after the answer
        assert time.monotonic() < until


def test_restrictions_are_checked_once(world, refused, monkeypatch):
    """At the edge; the shared call and the search in it are given what was checked."""
    from holdtrue.schema import _restriction

    calls, real = [], _restriction._limits
    monkeypatch.setattr(_restriction, "_limits", lambda *args: calls.append(1) or real(*args))
    body = {"people": refused[:2], "restrictions": [None, {"price": "fixed", "loanprc": "fixed"}]}
    assert world.officer.post("/v1/recourse", json=body).status_code == 200
    assert len(calls) == 2
