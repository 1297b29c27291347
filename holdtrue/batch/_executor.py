"""Where the tasks of a long run are done: in this process, or by workers elsewhere."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Task = TypeVar("Task")
Answer = TypeVar("Answer")


class AbstractExecutor(ABC):
    """Does a function's tasks and hands back every answer once.

    Chunks of a table, retrainings and the datasets of a paper all go through `map`. Whoever calls it numbers the
    tasks, keeps what is finished, and leaves finished tasks out when a run goes on: an executor remembers nothing.
    """

    @property
    @abstractmethod
    def width(self) -> int:
        """How many tasks are done at once."""

    @abstractmethod
    def map(
        self, function: Callable[[Task], Answer], tasks: Iterable[tuple[int, Task]]
    ) -> Iterator[tuple[int, Answer]]:
        """Yield the number and the answer of every task, as they are done.

        Tasks are taken one by one as there is room for them, so that their number does not matter. An error of the
        function ends the run and is raised here as it is; answers yielded before stay good.

        Parameters
        ----------
        function : callable
            Must not depend on what it was asked before: a task may be begun twice, though it is answered once. It
            is copied to every worker once (by pickle) and stays there with what it has compiled.
        tasks : iterable of (int, task)
        """


class EmbeddedExecutor(AbstractExecutor):
    """In this process, one task after another, in order; the function itself uses every core."""

    @property
    def width(self) -> int:
        """One."""
        return 1

    def map(
        self, function: Callable[[Task], Answer], tasks: Iterable[tuple[int, Task]]
    ) -> Iterator[tuple[int, Answer]]:
        """Yield the answers, in the order of the tasks."""
        for number, task in tasks:
            yield number, function(task)
