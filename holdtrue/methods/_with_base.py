"""What methods share that build on another method's search."""

import time
from abc import abstractmethod
from collections.abc import Callable

import equinox as eqx
import numpy as np

from holdtrue._registry import made
from holdtrue.batch import Predictor, solve
from holdtrue.encoding import Norm
from holdtrue.methods._base import AbstractMethod
from holdtrue.methods._sparse_search import SparseSearch
from holdtrue.methods._wachter import Wachter
from holdtrue.models import fresh
from holdtrue.parameters import configured
from holdtrue.search import AbstractSolver, Problems, Solutions, Status, is_found

PREFIX = "base/"
BASE_SHARE = 0.5  # of a deadline, for the base method


@configured
class AbstractBasedMethod(AbstractMethod):
    """A method with a `base`: another method, fitted with it and kept in its state.

    When omitted, `Wachter`; `SparseSearch` for a method that serves models without a gradient.
    """

    base: AbstractMethod | str | None = None

    @property
    def norm(self) -> Norm:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The base's norm."""
        return self._fresh_base().norm

    def _learn_base(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Fit the base; its state is kept under its own prefix."""
        base = self._fresh_base().fit_encoded(self.predictor_, x if len(x) else None, y)
        return _under_prefix(base.state_)

    def state_at(self, predictor: Predictor) -> dict[str, np.ndarray]:
        """Its own part as it is, and the base's for the other threshold."""
        return self.state_ | _under_prefix(self._fitted_base().state_at(predictor))

    def consulted(self) -> tuple[str, ...]:
        """What the base asked."""
        return self._fitted_base().consulted()

    def _fresh_base(self) -> AbstractMethod:
        if self.base is None:
            base: AbstractMethod = Wachter() if "differentiable" in self.needs else SparseSearch()
        else:
            base = fresh(made(AbstractMethod, self.base))
        return base if base.random_state is not None else base.set_params(random_state=self.random_state)

    def _fitted_base(self) -> AbstractMethod:
        """The base as it was fitted: from the state alone, so that a model file needs nothing else."""
        state = {name.removeprefix(PREFIX): v for name, v in self.state_.items() if name.startswith(PREFIX)}
        return self._fresh_base().restore(self.predictor_, state)


def _under_prefix(state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {PREFIX + name: value for name, value in state.items()}


class AbstractClimbingMethod(AbstractBasedMethod):
    """A method that starts from each recourse its base found, and looks for a better one by its own solver."""

    @abstractmethod
    def solver(self) -> AbstractSolver:
        """Return the search for one person, from ``problem.start``."""

    def search(
        self, problems: Problems, deadline: float | None, on_rows: Callable[[int], None] | None
    ) -> Solutions:
        """Let the base answer, then climb from each recourse it found."""
        now = time.monotonic()
        until = None if deadline is None else now + BASE_SHARE * (deadline - now)
        found = self._fitted_base().answers(problems, until, None)
        rows = np.flatnonzero(is_found(found.status))
        if on_rows is not None:
            on_rows(len(problems) - len(rows))
        if len(rows) == 0:
            return found
        start = found.x[rows].astype(np.float32)
        above = eqx.tree_at(lambda p: p.start, problems.take(rows), start)
        climbed = solve(self.solver(), above, deadline=deadline, on_rows=on_rows)
        better = is_found(climbed.status)
        x, status, cost, n_steps = (np.array(leaf) for leaf in (found.x, found.status, found.cost, found.n_steps))
        x[rows[better]], cost[rows[better]] = climbed.x[better], climbed.cost[better]
        status[rows[better]] = int(Status.FOUND)
        n_steps[rows] += climbed.n_steps
        return Solutions(x, status, cost, n_steps)
