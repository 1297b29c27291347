"""The same tasks on a Ray cluster: warm workers, and the tasks of a lost one done again."""

import logging
import os
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from holdtrue import __version__
from holdtrue._optional import need
from holdtrue._types import Keywords
from holdtrue.batch._executor import AbstractExecutor, Answer, Task
from holdtrue.errors import DataError, HoldtrueError
from holdtrue.models import CORES, n_cores
from holdtrue.parameters import Count, NonNegative, Positive, Whole, check

LOG = logging.getLogger(__name__)
DEPTH = 2  # tasks that a worker has: one that it does, and one that is on its way meanwhile


class RayExecutor(AbstractExecutor):
    """Workers on a Ray cluster, each a process that keeps the function and what it has compiled.

    A worker that is lost, with its node or alone, loses nothing: its tasks go to others, and a new worker is
    started where the cluster has room. A task that has lost its worker more than `n_retries` times ends the run.

    Parameters
    ----------
    address : str, default="auto"
        Of the cluster: ``host:port``, ``ray://host:port``, ``auto`` for the one this machine belongs to, or
        ``local`` for one that is started here and ends with the run.
    cores : int, default=1
        Cores of every worker.
    gpus : float, default=0
        Accelerators of every worker.
    n_workers : int, optional
        As many as the cluster has room for when omitted.
    n_retries : int, default=3
        How often a task is begun again after its worker was lost.
    patience : float, default=300
        Seconds to wait for a worker while there is none.

    Notes
    -----
    holdtrue must be installed on every node, in the same version. Functions and tasks go to the workers by pickle,
    as everything in Ray does, so the cluster must be one you trust.
    """

    def __init__(
        self,
        address: str = "auto",
        *,
        cores: Count = 1,
        gpus: NonNegative = 0.0,
        n_workers: Count | None = None,
        n_retries: Whole = 3,
        patience: Positive = 300.0,
    ) -> None:
        self.address, self.cores, self.gpus, self.n_workers = address, cores, gpus, n_workers
        self.n_retries, self.patience = n_retries, patience
        check(self)
        self._ray: Any = None
        self._own = False

    def connect(self) -> ModuleType:
        """Join the cluster, once; says at once what is wrong with the address."""
        if self._ray is None:
            self._ray, self._own = _join(self.address)
        return self._ray

    def hush(self) -> None:
        """Keep Ray from printing what nodes say to standard output, where a command's results belong."""
        self.connect()
        printer: Any = sys.modules.get("ray._private.worker")
        if hasattr(printer, "_worker_logs_enabled"):  # Ray has no public way
            printer._worker_logs_enabled = False

    def close(self) -> None:
        """Leave the cluster, if it was joined here; one that was started here ends."""
        if self._own and self._ray.is_initialized():
            self._ray.shutdown()
        self._ray, self._own = None, False

    @property
    def width(self) -> int:
        """Workers that the cluster has room for."""
        if self.n_workers is not None:
            return self.n_workers
        total = self.connect().cluster_resources()
        room = int(total.get("CPU", 0)) // self.cores
        if self.gpus:
            room = min(room, int(total.get("GPU", 0) / self.gpus))
        if room < 1:
            raise DataError(
                f"ray: the cluster has no room for a worker of {self.cores} cores and {self.gpus:g} accelerators; "
                f"got {total.get('CPU', 0):g} cores and {total.get('GPU', 0):g} accelerators. Ask for less."
            )
        return room

    def map(
        self, function: Callable[[Task], Answer], tasks: Iterable[tuple[int, Task]]
    ) -> Iterator[tuple[int, Answer]]:
        """Yield the number and the answer of every task, as they are done."""
        ray = self.connect()
        n = min(self.width, len(tasks)) if isinstance(tasks, Sized) else self.width
        pool = _Pool(ray, self, ray.put(function), max(1, n))
        try:
            yield from pool.run(iter(tasks))
        finally:
            pool.close()


@dataclass
class _Asked:
    """A task on its way, and the worker that has it."""

    number: int
    task: Any
    worker: Any
    lost: int = 0


@dataclass
class _Pool:
    """Workers of one call of `map`, and who has which task."""

    ray: ModuleType
    how: RayExecutor
    function: Any
    n_workers: int
    ready: dict[Any, int] = field(default_factory=dict)
    """Workers that have said hello, and how many tasks each has."""
    starting: dict[Any, Any] = field(default_factory=dict)
    """Their hello to come, and the worker."""
    asked: dict[Any, _Asked] = field(default_factory=dict)
    """The answer to come, and what was asked."""
    again: deque[_Asked] = field(default_factory=deque)
    n_failed: int = 0

    def run(self, tasks: Iterator[tuple[int, object]]) -> Iterator[tuple[int, Any]]:
        actor = self.ray.remote(_Worker).options(
            num_cpus=self.how.cores, num_gpus=self.how.gpus, max_restarts=0, max_task_retries=0
        )
        without = time.monotonic()  # since when there is no worker
        more = True
        while True:
            while len(self.ready) + len(self.starting) < self.n_workers:
                worker = actor.remote(self.function, self.how.cores)
                self.starting[worker.hello.remote()] = worker
            more = self._hand_out(tasks, more)
            if not (more or self.asked or self.again):
                return
            done, _ = self.ray.wait([*self.asked, *self.starting], num_returns=1, timeout=1.0)
            for answer in done:
                if answer in self.starting:
                    self._welcome(answer)
                else:
                    yield from self._take(answer)
            if self.ready:
                without = time.monotonic()
            elif time.monotonic() - without > self.how.patience:
                total = self.ray.cluster_resources()
                raise HoldtrueError(
                    f"ray: no worker could be started in {self.how.patience:g} seconds; the cluster has "
                    f"{total.get('CPU', 0):g} cores. Add a node, or ask for smaller workers."
                )

    def close(self) -> None:
        """End the workers, busy or not."""
        if self.ray.is_initialized():
            for worker in [*self.ready, *self.starting.values()]:
                self.ray.kill(worker)

    def _hand_out(self, tasks: Iterator[tuple[int, object]], more: bool) -> bool:
        """Give everyone something to do; returns whether there may be more."""
        for depth in range(1, DEPTH + 1):  # first whoever has nothing
            for worker, has in list(self.ready.items()):
                if has >= depth:
                    continue
                if self.again:
                    next_one = self.again.popleft()
                else:
                    found = next(tasks, None) if more else None
                    if found is None:
                        return False
                    next_one = _Asked(*found, worker)
                next_one.worker = worker
                self.asked[worker.run.remote(next_one.task)] = next_one
                self.ready[worker] += 1
        return more

    def _welcome(self, hello: object) -> None:
        worker = self.starting.pop(hello)
        try:
            version = self.ray.get(hello)
        except self.ray.exceptions.RayError as error:
            self.n_failed += 1  # a node that went meanwhile, or one that lacks something
            if self.n_failed > self.n_workers + self.how.n_retries:
                raise HoldtrueError(
                    f"ray: workers cannot be started; got {_last_line(error)}. Is holdtrue on every node?"
                ) from error
            return
        if version != __version__:
            raise DataError(
                f"ray: a node has another version of holdtrue; got {version!r} beside {__version__!r} here. "
                "Install the same on all."
            )
        self.ready[worker] = 0

    def _take(self, answer: object) -> Iterator[tuple[int, Any]]:
        was = self.asked.pop(answer)
        try:
            value = self.ray.get(answer)
        except self.ray.exceptions.RayTaskError as error:  # the function's own
            cause = getattr(error, "cause", None)
            if isinstance(cause, Exception):
                raise cause from (None if isinstance(cause, HoldtrueError) else error)
            raise
        except self.ray.exceptions.RayError as error:
            if self.ready.pop(was.worker, None) is not None:
                LOG.warning("ray: a worker was lost (%s); others do its tasks.", _last_line(error))
            was.lost += 1
            if was.lost > self.how.n_retries:
                raise HoldtrueError(
                    f"ray: a task lost its worker {was.lost} times; got {_last_line(error)} with task "
                    f"{was.number}. Give workers more memory, or smaller tasks."
                ) from error
            self.again.append(was)
            return
        if was.worker in self.ready:
            self.ready[was.worker] -= 1
        yield was.number, value


class _Worker:
    """What runs on the cluster."""

    def __init__(self, function: Callable[[Any], object], cores: int) -> None:
        os.environ[CORES] = str(cores)
        self.function = function

    def hello(self) -> str:
        """Say which holdtrue this is."""
        return __version__

    def run(self, task: object) -> Any:
        """Do a task."""
        return self.function(task)


def _join(address: str) -> tuple[ModuleType, bool]:
    """Return ray, and whether it was joined here."""
    ray: Any = need("ray", extra="ray", what="ray: work on a cluster")
    if ray.is_initialized():  # by whoever uses holdtrue as a library
        return ray, False
    options: Keywords = {"log_to_driver": False, "configure_logging": False}
    if address == "local":
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        options |= {"num_cpus": n_cores(), "include_dashboard": False}
    try:
        _knock(address)
        ray.init(address=address, **options)
    except (ConnectionError, ValueError, RuntimeError, OSError, TimeoutError) as error:
        raise DataError(
            f"ray: no cluster answers; got {address!r} ({_last_line(error)}). Start one with `ray start --head`, "
            "or write local. Where the cluster asks for a token, set RAY_AUTH_MODE=token."
        ) from error
    return ray, True


def _knock(address: str) -> None:
    """Fail at once where nobody listens: Ray would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else type(error).__name__
