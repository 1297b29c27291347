"""What methods share that ask about many sampled candidates at every step."""

from collections.abc import Callable

import jax

from holdfast.batch import solve
from holdfast.errors import DataError
from holdfast.methods._base import AbstractSolverMethod
from holdfast.search import Problem, Solution

SLOTS = 16  # people searched for at once on a CPU: with a thousand candidates each, their rows stay in cache


class AbstractSamplingMethod(AbstractSolverMethod):
    """A method whose solver asks about many candidates at a step, so that few people fill a batch."""

    def search(self, problems: Problem, deadline: float | None, on_rows: Callable[[int], None] | None) -> Solution:
        """Run the solver for every person, few at a time."""
        slots = SLOTS if jax.default_backend() == "cpu" else 256
        return solve(self.solver(), problems, slots=slots, deadline=deadline, on_rows=on_rows)

    def _check_sampling(self, n_candidates: int, radius: float) -> None:
        if n_candidates < 1:
            raise DataError(f"{type(self).__name__}: `n_candidates` must be at least 1; got {n_candidates!r}.")
        if not radius > 0:
            raise DataError(f"{type(self).__name__}: `radius` must be positive; got {radius!r}.")
