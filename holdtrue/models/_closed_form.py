"""Models whose weights are the solution of equations, not the end of a descent."""

from abc import abstractmethod
from typing import Self

from jaxtyping import PRNGKeyArray

from holdtrue.models._base import AbstractModel
from holdtrue.models._fit import Data, History


class AbstractClosedForm(AbstractModel):
    """A model that is solved for. It need not know at its build how many rows it will keep: an axis of length 0 in
    one of its arrays is filled when it is solved, or read from a file."""

    @abstractmethod
    def solve(self, data: Data, key: PRNGKeyArray) -> tuple[Self, History]:
        """Return the model solved for these rows, and its loss before and after. Outside jit.

        A row of weight 0 is as good as absent; the shapes of the arrays do not depend on the weights.
        """
