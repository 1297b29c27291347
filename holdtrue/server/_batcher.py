"""Requests that come together share one compiled call."""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from holdtrue._types import Cell, Json
from holdtrue.errors import HoldtrueError
from holdtrue.hold import AS_FITTED, Hold
from holdtrue.schema import Restrictions


class Overloaded(HoldtrueError):
    """More waits than may."""


@dataclass(frozen=True, eq=False)
class Job:
    """One request's people, waiting.

    Attributes
    ----------
    kind : {"predict", "recourse"}
    rows : sequence of dict
        People, not yet checked against the schema: that is done for all of a call's people at once.
    target : list
        The wanted class of each person.
    restrictions : Restrictions
        What single people, by position, are not asked to change.
    n_recourses : int
    hold : float, None or "as fitted"
        The wanted chance of holding; None for the cheapest recourse.
    until : float
        A time of `time.monotonic` after which nobody waits for the answer.
    keep : bool
        Whether the plan itself is wanted, not only what is told of it.
    future : Future
        Gets the answer; None where the time was over before the turn came.
    """

    kind: str
    rows: Sequence[Mapping[str, Cell]]
    target: list[Cell]
    restrictions: Restrictions
    n_recourses: int
    until: float
    keep: bool = False
    hold: Hold = AS_FITTED
    future: "Future[Any]" = field(default_factory=Future)

    @property
    def shape(self) -> tuple[str, int, Hold]:
        """What jobs of one call have in common."""
        return self.kind, self.n_recourses, self.hold


class Batcher:
    """One thread that takes what waits, oldest first, and answers it together.

    While a call runs the next requests gather, so that calls grow with the load. Where a call fails, each of its
    jobs is run by itself: one request's fault is nobody else's.

    Parameters
    ----------
    run : callable
        Answers a list of jobs of one shape, in order; an answer that is an exception is raised to whoever waits.
    rows : int
        People in one call; a larger job goes alone.
    queue : int
        People who may wait.
    wait : float
        Seconds to wait for company.
    on_batch : callable
        Told the jobs of every call, after it.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Job]], list[Json]],
        *,
        rows: int,
        queue: int,
        wait: float,
        on_batch: Callable[[Sequence[Job]], None],
    ) -> None:
        self._run, self._rows, self._queue, self._wait, self._on_batch = run, rows, queue, wait, on_batch
        self._waiting: deque[Job] = deque()
        self._n_waiting = 0
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="holdtrue-batcher", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def close(self) -> None:
        """Take nothing new, answer what waits, and end."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    @property
    def alive(self) -> bool:
        """Whether somebody works."""
        return self._thread.is_alive()

    @property
    def n_waiting(self) -> int:
        """People whose turn has not come."""
        return self._n_waiting

    def submit(self, jobs: Sequence[Job]) -> None:
        """Queue a request's jobs, all of them; `Overloaded` where too many wait."""
        n = sum(len(job.rows) for job in jobs)
        with self._changed:
            if self._closed:
                raise Overloaded("service: is closing. Ask again later.")
            if self._n_waiting and self._n_waiting + n > self._queue:
                raise Overloaded("service: too many people wait for an answer. Ask again in a second.")
            self._waiting.extend(jobs)
            self._n_waiting += n
            self._changed.notify_all()

    def _work(self) -> None:
        while jobs := self._take():
            live = [job for job in jobs if job.future.set_running_or_notify_cancel()]
            late = [job for job in live if time.monotonic() >= job.until]
            for job in late:
                job.future.set_result(None)
            live = [job for job in live if job not in late]
            if live:
                self._answer(live)
                with suppress(Exception):  # whoever counts must not stop the work
                    self._on_batch(live)

    def _answer(self, jobs: Sequence[Job]) -> None:
        try:
            answers = self._run(jobs)
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].future.set_exception(error)
                return
            for job in jobs:
                self._answer([job])
            return
        for job, answer in zip(jobs, answers, strict=True):
            with suppress(InvalidStateError):
                if isinstance(answer, Exception):
                    job.future.set_exception(answer)
                else:
                    job.future.set_result(answer)

    def _take(self) -> list[Job]:
        """Jobs of one shape, as many as fit one call; none when closed and done."""
        with self._changed:
            while not self._waiting:
                if self._closed:
                    return []
                self._changed.wait()
            until = time.monotonic() + self._wait
            while self._n_waiting < self._rows and not self._closed:
                left = until - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            shape, taken, n = self._waiting[0].shape, [], 0
            rest: deque[Job] = deque()
            for job in self._waiting:
                if job.shape == shape and (not taken or n + len(job.rows) <= self._rows):
                    taken.append(job)
                    n += len(job.rows)
                else:
                    rest.append(job)
            self._waiting = rest
            self._n_waiting -= n
            return taken
