"""The most promising sets of changes first, for many people of a model that is asked in batches."""

import functools
import threading
import time
from collections.abc import Callable

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Bool, Float

from holdtrue.models import BlackBoxModel, ComposedModel, Decision, n_cores
from holdtrue.models.adapters import cause_of
from holdtrue.search import Lists, Problems, Solutions, cheapest_by_promise
from holdtrue.search.exact import Walks

FEWEST = 4  # people that a second core is worth
SIZE = 128  # rows that a compiled program is given: one size, so that one program is compiled
CALLING_SIZE = 1024  # the same where it calls Python, which costs time by itself
WALKED_SIZE = 1024  # the same where the trees have been walked, and little is left to compute
HOST_SIZE = 8192  # rows at once where Python alone is called


def solve_by_promise(
    decision: Decision,
    problems: Problems,
    lists: Lists,
    *,
    walks: Walks | None = None,
    deadline: float | None = None,
    on_rows: Callable[[int], None] | None = None,
) -> Solutions:
    """Search for everybody; arrays of the answer are numpy, in the order of the problems.

    A model behind Python is asked there, without a compiled program about it.

    Parameters
    ----------
    decision : Decision
    problems : Problems
        Of people whom the model refuses.
    lists : Lists
    walks : Walks, optional
        The trees of a composed model, laid out: people are then searched for on all cores.
    deadline : float, optional
        A time of `time.monotonic`. Returns by then; who is not done has the best found so far, or the status
        NOT_REACHED.
    on_rows : callable, optional
        Told how many more people are done.
    """
    out = Solutions.unreached(problems)
    closed = threading.Event()

    def late() -> bool:
        return closed.is_set() or (deadline is not None and time.monotonic() >= deadline)

    rest = None if walks is None else decision.of(walks.rest)
    ask = functools.partial(_asked, decision, problems, walks, rest)
    work = functools.partial(cheapest_by_promise, ask, problems, lists, out, late=late, on_rows=on_rows)
    failed: list[BaseException] = []

    def run(people: np.ndarray) -> None:
        try:
            work(people)
        except BaseException as error:  # raised again below, in the caller's thread
            failed.append(cause_of(error))
            closed.set()

    # Trees are walked without the interpreter's lock; whatever calls Python is called by one thread.
    n_workers = 1 if walks is None else max(1, min(n_cores(), len(problems) // FEWEST))
    parts = [np.arange(i, len(problems), n_workers) for i in range(n_workers)]
    if deadline is None and n_workers == 1:
        run(*parts)
    else:
        workers = [threading.Thread(target=run, args=(part,), daemon=True) for part in parts]
        for worker in workers:
            worker.start()
        try:
            for worker in workers:
                worker.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
        finally:
            closed.set()
    if failed:
        raise failed[0]
    # Whoever is in the middle of an answer writes into what nobody reads any more.
    return jax.tree.map(np.copy, out)


def _asked(
    decision: Decision,
    problems: Problems,
    walks: Walks | None,
    rest: Decision | None,
    people: np.ndarray,
    rows: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    layout = problems.feasible.layout
    allowed = np.ones(len(rows), bool)
    if layout.clauses or layout.n_constraints:
        allowed = _by_parts(lambda who, some: _allowed(problems.take(who), some), SIZE, people, rows)
    model, targets = decision.model, problems.target[people]
    if isinstance(model, BlackBoxModel):
        parts = [model.ask(rows[start : start + HOST_SIZE]) for start in range(0, len(rows), HOST_SIZE)]
        return decision.margins_of(np.concatenate(parts), targets), allowed
    if walks is not None and rest is not None:
        size = SIZE if len(rows) <= SIZE else WALKED_SIZE
        return _by_parts(functools.partial(_margins_given, rest), size, rows, targets, *walks.sums(rows)), allowed
    size = CALLING_SIZE if model.on_host else SIZE
    return _by_parts(functools.partial(_margins, decision), size, rows, targets), allowed


def _by_parts(function: Callable[..., Array], size: int, *arrays: np.ndarray) -> np.ndarray:
    """A function of arrays of rows, `size` rows at a time: the last are filled up with others."""
    parts = []
    for start in range(0, len(arrays[0]), size):
        some = np.arange(start, min(start + size, len(arrays[0])))
        padded = np.resize(some, size)
        parts.append(np.asarray(function(*(array[padded] for array in arrays)))[: len(some)])
    return np.concatenate(parts)


@eqx.filter_jit
def _margins(decision: Decision, rows: Float[Array, "m d"], targets: Array) -> Float[Array, " m"]:
    return jax.vmap(decision.margin)(rows, targets)


@eqx.filter_jit
def _margins_given(
    decision: Decision, rows: Float[Array, "m d"], targets: Array, *sums: Float[Array, "m o"]
) -> Float[Array, " m"]:
    """`_margins` by a composed model, where the sums over its trees are known."""
    model = decision.model
    assert isinstance(model, ComposedModel)

    def margin(row: Array, target: Array, *own: Array) -> Array:
        return decision.margin_of(model.logits_given(iter(own), row), target)

    return jax.vmap(margin)(rows, targets, *sums)


@eqx.filter_jit
def _allowed(problems: Problems, rows: Float[Array, "m d"]) -> Bool[Array, " m"]:
    return problems.each(lambda problem, row: problem.feasible.satisfied(row), rows)
