"""Run a solver for many people: fixed slots, refilled as people finish, on every core."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from holdtrue.models import n_cores
from holdtrue.models.adapters import cause_of
from holdtrue.search import AbstractSolver, AnyState, Problems, Solutions, Status, is_found

_Arrays = tuple[PyTree, ...]
_States = AnyState
"""Of every slot: with a leading axis over them."""

BLOCK_SECONDS = 0.02  # between two looks at the clock and at who has finished
BLOCK_STEPS = 50  # while others wait for a slot; with nobody left, a block ends when all are done
LAST_STEPS = 2000
GROWTH = 4  # of a block's steps, at most, from one to the next
BATCH_ROWS = 1024  # asked about at once, where a person's step asks about several
FEW = 32  # people whom one core answers about as fast as two
REFILLS = 4  # people per slot, from which on many slots are worth it


def slots_for(n: int, n_asked: int = 1, n_lanes: int | None = None) -> int:
    """How many people are searched for at once: one of a few fixed sizes, so that compilations are few.

    256 rows keep a small network's activations in a core's cache; an accelerator wants more. Slots save time only
    where they are refilled, so there are 256 for 1024 people and more: fewer people would all be begun at once,
    and wait for the slowest of them. For the same reason few people fill a batch where one person's step asks
    about many rows (`n_asked`).

    Parameters
    ----------
    n : int
        People that one worker will have.
    n_asked : int, default=1
        Rows that one person's step asks about.
    n_lanes : int, optional
        What the solver wants a core to search for at once; an accelerator is not asked about so few.
    """
    if jax.default_backend() != "cpu":
        sizes = (16, 512, 8192) if n_asked < 64 else (256,)
    elif n_lanes is not None:
        sizes = (n_lanes,)
    else:
        sizes = tuple(size for size in (16, FEW, 64, 256) if size == 16 or size * n_asked <= BATCH_ROWS)
        if n < REFILLS * sizes[-1]:
            sizes = tuple(size for size in sizes if size <= 64)
    return next((size for size in sizes if n <= size), sizes[-1])


def solve(
    solver: AbstractSolver,
    problems: Problems,
    *,
    slots: int | None = None,
    deadline: float | None = None,
    on_rows: Callable[[int], None] | None = None,
) -> Solutions:
    """Solve every person's problem; arrays of the answer are numpy, in the order of the problems.

    People's searches differ in length, so a slot whose search is done takes the next person at once. A row's
    answer depends on the row alone: not on its neighbours, their order or number.

    Parameters
    ----------
    problems : Problems
    slots : int, optional
        People searched for at once, per core.
    deadline : float, optional
        A time of `time.monotonic`. Returns by then; people not done have the best found so far, or the status
        NOT_REACHED.
    on_rows : callable, optional
        Told how many more people are done, for a progress bar.
    """
    n_workers = _workers(solver)
    if slots is None:
        slots = usual_slots(solver, len(problems))
        # Where the program for twice as many is compiled already, it is sooner done than another is made.
        if slots == FEW and 2 * FEW in _sizes(_Kind(solver, problems)):
            slots = 2 * FEW
    run = _Run(solver, problems, slots, deadline, on_rows)
    n_workers = max(1, min(n_workers, -(-run.n // run.slots)))
    workers = [threading.Thread(target=run.work, daemon=True) for _ in range(n_workers)]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            worker.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
    finally:
        run.close()  # also when interrupted: nobody searches on unseen
    return run.result()


def usual_slots(solver: AbstractSolver, n: int) -> int:
    """How many of `n` people a core searches for at once."""
    # Few people are hardly answered sooner by two cores, and whoever else works here gets the other.
    share = n if n <= FEW else -(-n // _workers(solver))
    return slots_for(share, solver.n_asked, solver.n_lanes)


def _workers(solver: AbstractSolver) -> int:
    return 1 if solver.on_host or jax.default_backend() != "cpu" else n_cores()


class _Run:
    """One call of `solve`: the queue of people and the table of answers, shared by the workers."""

    def __init__(
        self,
        solver: AbstractSolver,
        problems: Problems,
        slots: int,
        deadline: float | None,
        on_rows: Callable[[int], None] | None,
    ) -> None:
        self.solver, self.problems, self.slots = solver, problems, slots
        self.deadline, self.on_rows = deadline, on_rows
        self.n = len(problems)
        self.lock = threading.Lock()
        self.next_row = 0
        self.closed = False
        self.error: BaseException | None = None
        self.answer = Solutions.unreached(problems)

    def close(self) -> None:
        """Whoever still works takes nobody new, and stops at the next look at the clock."""
        with self.lock:
            self.next_row = self.n
            self.closed = True

    def result(self) -> Solutions:
        with self.lock:
            if self.error is not None:
                raise self.error
            # A worker that outlives the deadline writes into its own copy from here on.
            return jax.tree.map(np.copy, self.answer)

    def work(self) -> None:
        try:
            self._work()
        except BaseException as error:  # reported by the caller's thread
            with self.lock:
                self.error = self.error or cause_of(error)

    def late(self) -> bool:
        return self.closed or (self.deadline is not None and time.monotonic() >= self.deadline)

    def _take(self, count: int) -> np.ndarray:
        with self.lock:
            start = self.next_row
            self.next_row = min(self.n, start + count)
            return np.arange(start, self.next_row)

    def _work(self) -> None:
        rows = np.full(self.slots, -1)
        pace = _pace(_Kind(self.solver, self.problems), self.slots)
        steps = pace.steps
        arrays: _Arrays = ()
        state: PyTree = None  # of every slot, once somebody was begun
        while True:
            empty = np.flatnonzero(rows < 0)
            taken = self._take(len(empty))
            rows[empty[: len(taken)]] = taken
            fresh = np.isin(np.arange(self.slots), empty[: len(taken)])
            if (rows < 0).all():
                return
            began, begun = time.monotonic(), state
            if len(taken):
                arrays = _arrays(self.solver, self.problems.take(np.maximum(rows, 0)))
                begun = _begin(pace.kind, arrays)
            state = begun if state is None else state
            most = np.int32(min(steps, BLOCK_STEPS if self.next_row < self.n else LAST_STEPS))
            state, made = _round(pace.kind, arrays, state, begun, fresh, rows < 0, most)
            done = np.asarray(state.done)
            _sizes(pace.kind).add(self.slots)
            seconds = time.monotonic() - began
            late = self.late()
            leaving = (rows >= 0) & (done | late)
            if leaving.any():
                self._write(rows, leaving, _finish(pace.kind, arrays, state), done)
                rows = np.where(leaving, -1, rows)
            # Short blocks when the clock or the model is slow, long ones when steps are cheap.
            fitting = int(made) * BLOCK_SECONDS / max(seconds, 1e-4)
            steps = pace.steps = int(np.clip(fitting, max(1, steps // 2), GROWTH * steps))
            if late:
                return

    def _write(
        self, rows: np.ndarray, leaving: np.ndarray, found: tuple[jax.Array, ...], done: np.ndarray
    ) -> None:
        solution = Solutions(*map(np.asarray, found))
        status = np.where(done | is_found(solution.status), solution.status, int(Status.NOT_REACHED))
        at = rows[leaving]
        with self.lock:
            self.answer.x[at] = solution.x[leaving]
            self.answer.status[at] = status[leaving]
            self.answer.cost[at] = solution.cost[leaving]
            self.answer.n_steps[at] = solution.n_steps[leaving]
        if self.on_rows is not None:
            self.on_rows(len(at))


class _Kind:
    """What those who share a compiled program have in common: all of a solver and its problems but the arrays.

    `eqx.filter_jit` would take them apart at every call, and no other thread can run Python meanwhile. Here it is
    done once for all calls.
    """

    def __init__(self, solver: AbstractSolver, problems: Problems) -> None:
        leaves, self.structure = jax.tree.flatten((solver, problems))
        self.fixed = tuple(None if eqx.is_array(leaf) else (type(leaf), leaf) for leaf in leaves)
        self.hash = hash((self.structure, self.fixed))

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, _Kind)
            and self.hash == other.hash
            and self.fixed == other.fixed
            and self.structure == other.structure
        )

    def join(self, arrays: _Arrays) -> tuple[AbstractSolver, Problems]:
        """Solver and problems, from their arrays."""
        leaves = [a if fixed is None else fixed[1] for a, fixed in zip(arrays, self.fixed, strict=True)]
        return jax.tree.unflatten(self.structure, leaves)


def _arrays(solver: AbstractSolver, problems: Problems) -> _Arrays:
    return tuple(leaf if eqx.is_array(leaf) else None for leaf in jax.tree.leaves((solver, problems)))


@dataclass
class _Pace:
    """Steps that take about `BLOCK_SECONDS`, as the last block took them."""

    kind: _Kind
    steps: int = 1


@lru_cache(maxsize=256)
def _pace(kind: _Kind, slots: int) -> _Pace:
    """How fast a program was when it was last run: who comes next need not find out again."""
    return _Pace(kind)


@lru_cache(maxsize=256)
def _sizes(kind: _Kind) -> set[int]:
    """For how many slots programs of a kind were compiled."""
    return set()


@partial(jax.jit, static_argnums=0)
def _begin(kind: _Kind, arrays: _Arrays) -> _States:
    """Everyone's state before the first step."""
    solver, problems = kind.join(arrays)
    state = problems.each(solver.begin)
    # Without jax's weak types: a state that was begun and one that comes from a round share a program.
    return jax.tree.map(lambda a: jax.lax.convert_element_type(a, a.dtype), state)


@partial(jax.jit, static_argnums=0)
def _finish(kind: _Kind, arrays: _Arrays, state: _States) -> tuple[jax.Array, ...]:
    """Everyone's answer, in the order of `Solutions`."""
    solver, problems = kind.join(arrays)
    return problems.each(lambda p, s: solver.finish(p, s).parts, state)


@partial(jax.jit, static_argnums=0)
def _round(
    kind: _Kind,
    arrays: _Arrays,
    state: _States,
    begun: _States,
    fresh: jax.Array,
    idle: jax.Array,
    n_steps: jax.Array,
) -> tuple[_States, jax.Array]:
    """Take what was begun for the fresh slots, then up to `n_steps` steps of each neither idle nor done.

    Returns everyone's state, and the steps that were made.
    """
    solver, problems = kind.join(arrays)

    def renew(new: jax.Array, old: jax.Array) -> jax.Array:
        return jnp.where(fresh.reshape(-1, *[1] * (old.ndim - 1)), new, old)

    state = jax.tree.map(renew, begun, state)
    state = eqx.tree_at(lambda s: s.done, state, state.done | idle)

    def body(carry: tuple[jax.Array, _States]) -> tuple[jax.Array, _States]:
        i, current = carry
        return i + 1, problems.each(solver.advance, current)

    def go_on(carry: tuple[jax.Array, _States]) -> jax.Array:
        i, current = carry
        return (i < n_steps) & ~jnp.all(current.done)

    made, state = jax.lax.while_loop(go_on, body, (jnp.asarray(0), state))
    return state, made
