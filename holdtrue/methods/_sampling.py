"""What methods share that ask about many sampled candidates at every step."""

from holdtrue.errors import DataError
from holdtrue.methods._base import AbstractSolverMethod


class AbstractSamplingMethod(AbstractSolverMethod):
    """A method whose solver draws candidates within some radius and asks about all of them at once."""

    def _check_sampling(self, n_candidates: int, radius: float) -> None:
        if n_candidates < 1:
            raise DataError(f"{type(self).__name__}: `n_candidates` must be at least 1; got {n_candidates!r}.")
        if not radius > 0:
            raise DataError(f"{type(self).__name__}: `radius` must be positive; got {radius!r}.")
