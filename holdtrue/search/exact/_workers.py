"""People searched for one after the other by a worker a core, until their time is over."""

import threading
import time
from collections.abc import Callable

import numpy as np

from holdtrue.models import n_cores
from holdtrue.search.exact._arrays import Handed
from holdtrue.search.exact._desk import (
    BEST,
    FOUND,
    FULL,
    LEFT,
    LOOKED,
    MORE,
    NODES,
    SHORT,
    Desk,
    desk_of,
    with_more_boxes,
)
from holdtrue.search.exact._grove import Ground, Grove
from holdtrue.search.exact._program import loaded

FEWEST = 2  # people that a second core is worth
LEAVES = 4096  # that a desk has room for at first
WATCHED = 0.02  # seconds between two looks at a worker's time, at most


class Answers:
    """What was found for each person, and what it proves.

    Attributes
    ----------
    reached : who was searched for at all.
    cost : of the best point, in units that add up; infinite where there is none.
    value, level : the best point.
    bound : nothing costs less; infinite where nothing is left at all.
    n_boxes : how many were looked at.
    cuts : how boxes were cut, where that was asked for.
    """

    def __init__(self, room: Ground) -> None:
        n = len(room.own)
        self.reached = np.zeros(n, bool)
        self.cost, self.bound = np.full(n, np.inf), np.zeros(n)
        self.value, self.level = room.own.copy(), room.level.copy()
        self.n_boxes = np.zeros(n, np.int64)
        self.cuts: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def put(self, p: int, desk: Desk, writes: bool) -> None:
        """Write down what is on a desk."""
        if desk.tally[FOUND]:
            self.cost[p] = desk.number[BEST]
            self.value[p], self.level[p] = desk.point, desk.level
        self.bound[p] = min(desk.number[LEFT], self.cost[p])
        self.n_boxes[p] = desk.tally[LOOKED]
        self.reached[p] = True
        if writes:
            n = desk.tally[NODES]
            self.cuts[p] = desk.made[:n].copy(), desk.edges[:n].copy()


class _Worker(threading.Thread):
    """Takes the next person until there is none."""

    def __init__(self, work: "_Work") -> None:
        super().__init__(daemon=True)
        self.work, self.desk, self.until = (
            work,
            Handed(desk_of(work.grove.arrays, work.room.arrays, LEAVES)),
            np.inf,
        )

    def run(self) -> None:
        work = self.work
        try:
            while (p := work.next()) is not None:
                if work.seconds is not None:
                    self.until = time.monotonic() + work.seconds
                self.answer(p)
        except BaseException as error:  # raised again in the caller's thread
            work.failed.append(error)

    def answer(self, p: int) -> None:
        """Search for a person; on a larger desk where this one is too small."""
        work, desk = self.work, self.desk.arrays
        desk.stop[0] = time.monotonic() >= self.until  # before anything is looked at
        desk.tally[FULL] = 0
        work.search(work.grove, work.room, p, self.desk, work.writes)
        while desk.tally[SHORT] or desk.tally[FULL]:
            if desk.tally[SHORT]:
                larger = desk_of(work.grove.arrays, work.room.arrays, MORE * len(desk.leaf))
                desk = larger._replace(stop=desk.stop)
            else:
                desk = with_more_boxes(desk)
            self.desk = Handed(desk)
            work.search(work.grove, work.room, p, self.desk, work.writes)
        work.answers.put(p, desk, work.writes)
        if work.on_people is not None:
            work.on_people(1)

    def watch(self, now: float, deadline: float) -> None:
        """Stop the search for the person at hand where their time is over."""
        if now >= min(self.until, deadline):
            self.desk.arrays.stop[0] = 1


class _Work:
    """People still to be searched for, and what was found."""

    def __init__(
        self,
        grove: Handed[Grove],
        room: Handed[Ground],
        seconds: float | None,
        deadline: float,
        on_people: Callable[[int], None] | None,
        writes: bool,
    ) -> None:
        self.search = loaded().search
        self.grove, self.room, self.seconds, self.deadline = grove, room, seconds, deadline
        self.on_people, self.writes = on_people, writes
        self.answers, self.failed = Answers(room.arrays), list[BaseException]()
        self._people, self._lock = iter(range(len(room.arrays.own))), threading.Lock()

    def next(self) -> int | None:
        """A person; none where all have been taken, or the time is over."""
        if self.failed or time.monotonic() >= self.deadline:
            return None
        with self._lock:
            return next(self._people, None)


def search_all(
    grove: Handed[Grove],
    room: Handed[Ground],
    *,
    seconds: float | None,
    deadline: float | None,
    on_people: Callable[[int], None] | None,
    writes: bool,
) -> Answers:
    """Search for everybody, on all cores; each for so many seconds, and all until the deadline."""
    until = np.inf if deadline is None else deadline
    work = _Work(grove, room, seconds, until, on_people, writes)
    workers = [_Worker(work) for _ in range(max(1, min(n_cores(), len(room.arrays.own) // FEWEST)))]
    timed = seconds is not None or deadline is not None
    if len(workers) == 1 and not timed:  # nothing to watch: a thread would only cost its start
        workers[0].run()
        if work.failed:
            raise work.failed[0]
        return work.answers
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            while worker.is_alive():
                worker.join(WATCHED if timed else None)
                for other in workers if timed else ():
                    other.watch(time.monotonic(), until)
    except BaseException as error:  # interrupted: nobody takes further people
        work.failed.append(error)
        for worker in workers:
            worker.desk.arrays.stop[0] = 1
        raise
    if work.failed:
        raise work.failed[0]
    return work.answers
