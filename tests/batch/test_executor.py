"""Executors: every task answered once, whatever becomes of the workers. Ray itself is in tests/cli/test_ray.py."""

import itertools
import random
import socket
import sys
import types

import pytest

from holdtrue.batch import EmbeddedExecutor, RayExecutor, _ray
from holdtrue.errors import DataError, HoldtrueError, MissingDependencyError


class Exceptions:
    """Those of Ray, in its order."""

    class RayError(Exception):
        pass

    class RayTaskError(RayError):
        def __init__(self, cause):
            super().__init__(str(cause))
            self.cause = cause


class Cluster:
    """Ray as far as an executor uses it: workers answer in any order, and die at any time."""

    exceptions = Exceptions

    def __init__(self, seed=0, cores=3, death=0.0, births=10**9):
        self.rng, self.cores, self.death, self.births = random.Random(seed), cores, death, births
        self.alive, self.killed, self.begun = [], [], []

    def is_initialized(self):
        return True

    def cluster_resources(self):
        return {"CPU": float(self.cores)}

    def put(self, value):
        return value

    def kill(self, worker):
        self.killed.append(worker)

    def remote(self, cls):
        return Maker(self, cls)

    def wait(self, refs, num_returns, timeout):
        assert len(set(refs)) == len(refs)
        if self.alive and self.rng.random() < self.death:
            self.alive.pop(self.rng.randrange(len(self.alive))).dead = True
        ready = [ref for ref in refs if ref.ready]
        return ([self.rng.choice(ready)] if ready else []), []

    def get(self, ref):
        if ref.worker.dead:
            raise Exceptions.RayError("The node is gone.")
        try:
            return ref.call()
        except Exception as error:
            raise Exceptions.RayTaskError(error) from error


class Maker:
    def __init__(self, cluster, cls):
        self.cluster, self.cls = cluster, cls

    def options(self, **options):
        return self

    def remote(self, *args):
        return Worker(self.cluster, self.cls, args)


class Worker:
    def __init__(self, cluster, cls, args):
        self.cluster, self.dead, self.args = cluster, False, args
        self.born = len(cluster.alive) < cluster.cores and cluster.births > 0
        if self.born:
            cluster.births -= 1
            cluster.alive.append(self)
        for name in ("hello", "run"):
            setattr(self, name, Remote(self, lambda *a, name=name: getattr(self.made, name)(*a)))
        self.cls = cls

    @property
    def made(self):
        return self.cls(*self.args)


class Remote:
    def __init__(self, worker, call):
        self.worker, self.call = worker, call

    def remote(self, *args):
        if args:
            self.worker.cluster.begun.append(args[0])
        return Ref(self.worker, lambda: self.call(*args))


class Ref:
    def __init__(self, worker, call):
        self.worker, self.call = worker, call

    @property
    def ready(self):
        return self.worker.born or self.worker.dead


@pytest.fixture(autouse=True)
def _cores_stay(monkeypatch):
    monkeypatch.setenv("HOLDTRUE_CORES", "1")  # a worker sets it: here in this process


def on(cluster, **options):
    executor = RayExecutor("auto", **options)
    executor._ray = cluster
    return executor


def square(x):
    return x * x


TASKS = [(number, number + 100) for number in range(40)]
ANSWERS = {number: (number + 100) ** 2 for number in range(40)}


def test_embedded_is_in_order_and_lazy():
    taken = []

    def tasks():
        for number, task in TASKS:
            taken.append(number)
            yield number, task

    answers = EmbeddedExecutor().map(square, tasks())
    assert [next(answers) for _ in range(2)] == [(0, 10_000), (1, 10_201)]
    assert taken == [0, 1]
    assert dict(answers) == {n: a for n, a in ANSWERS.items() if n > 1}


@pytest.mark.parametrize("seed", range(40))
def test_workers_that_die_lose_and_double_nothing(seed):
    cluster = Cluster(seed, death=0.15)
    found = list(on(cluster, n_retries=1000).map(square, iter(TASKS)))
    assert len(found) == len(TASKS)
    assert dict(found) == ANSWERS
    assert len(cluster.begun) > len(TASKS)  # some were begun again


def test_tasks_are_taken_as_there_is_room():
    taken = itertools.count()

    def tasks():
        for number, task in TASKS:
            next(taken)
            yield number, task

    cluster = Cluster(cores=3)
    answers = on(cluster).map(square, tasks())
    next(answers)
    assert next(taken) <= 3 * _ray.DEPTH + 1
    answers.close()
    assert len(cluster.killed) == 3


def test_no_more_workers_than_tasks():
    cluster = Cluster(cores=50)
    assert dict(on(cluster).map(square, TASKS[:2])) == {n: ANSWERS[n] for n in (0, 1)}
    assert len(cluster.alive) == 2


def test_an_error_of_the_function_is_raised_as_it_is():
    def fails(x):
        raise DataError(f"bad: row; got {x}.")

    with pytest.raises(DataError, match=r"^bad: row; got 10\d\.$"):
        list(on(Cluster()).map(fails, TASKS))


def test_a_task_that_kills_its_workers_ends_the_run():
    cluster = Cluster()
    real = Cluster.get

    def get(self, ref):
        found = real(self, ref)
        if found == 107**2:
            self.alive.remove(ref.worker)
            ref.worker.dead = True
            raise Exceptions.RayError("Out of memory.")
        return found

    cluster.get = get.__get__(cluster)
    with pytest.raises(HoldtrueError, match=r"lost its worker 3 times; got Out of memory with task 7\."):
        list(on(cluster, n_retries=2).map(square, TASKS))


def test_without_workers_it_does_not_wait_for_ever():
    cluster = Cluster(births=0)
    with pytest.raises(HoldtrueError, match="no worker could be started"):
        list(on(cluster, patience=0.05).map(square, TASKS))


def test_workers_that_cannot_start():
    cluster = Cluster()
    executor = on(cluster)
    real = Cluster.get

    def get(self, ref):
        if ref.worker in self.alive:
            self.alive.remove(ref.worker)
        ref.worker.dead = True
        return real(self, ref)

    cluster.get = get.__get__(cluster)
    with pytest.raises(HoldtrueError, match="cannot be started; got The node is gone"):
        list(executor.map(square, TASKS))


def test_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(_ray._Worker, "hello", lambda self: "0.0.0")
    with pytest.raises(DataError, match=r"another version of holdtrue; got '0\.0\.0'"):
        list(on(Cluster()).map(square, TASKS))


def test_room_for_workers():
    assert on(Cluster(cores=8), cores=3).width == 2
    assert on(Cluster(cores=8), n_workers=5).width == 5
    with pytest.raises(DataError, match="no room for a worker of 16 cores"):
        _ = on(Cluster(cores=8), cores=16).width
    with pytest.raises(DataError, match="1 accelerators"):
        _ = on(Cluster(cores=8), gpus=1).width


def test_ray_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'holdtrue\[ray\]'"):
        RayExecutor().connect()


def test_an_address_where_nobody_listens(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", types.SimpleNamespace(is_initialized=lambda: False))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listened on
        for start in ("", "ray://"):
            address = f"{start}127.0.0.1:{taken.getsockname()[1]}"
            with pytest.raises(DataError, match=rf"no cluster answers; got '{address}' \(.*refused\)"):
                RayExecutor(address).connect()


@pytest.mark.parametrize(("asked", "cores"), [("1", 1), ("100000", None), ("", None)])
def test_fewer_cores_can_be_asked_for(monkeypatch, asked, cores):
    from holdtrue.models import n_cores

    monkeypatch.delenv("HOLDTRUE_CORES")
    there = n_cores()
    monkeypatch.setenv("HOLDTRUE_CORES", asked)
    assert n_cores() == (there if cores is None else cores)
    monkeypatch.setenv("HOLDTRUE_CORES", "two")
    with pytest.raises(DataError, match="HOLDTRUE_CORES: must be a positive whole number; got 'two'"):
        n_cores()
