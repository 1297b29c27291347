"""Models of scikit-learn that spread their own work, trained side by side: one process a model, one core each."""

import operator
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from holdtrue._types import Estimator, JsonObject
from holdtrue.models import n_cores

Task = TypeVar("Task")
WORTH = 8.0
"""Seconds of training that must be left: to start processes takes about two for each core."""
KINDS = (
    "sklearn.ensemble._forest", "sklearn.ensemble._bagging", "sklearn.ensemble._voting", "sklearn.tree.",
    "sklearn.calibration", "sklearn.pipeline", "sklearn.compose", "sklearn.preprocessing", "sklearn.impute._base",
    "sklearn.naive_bayes",
)  # fmt: skip
"""Where no matrix is multiplied while it is fitted: how many threads there are then changes no sum."""


def parts_of(recipe: Any) -> dict[str, Any]:
    """An estimator and every one inside it, by where it is in the parameters."""
    inner = {f"{name}__": part for name, part in recipe.get_params().items() if hasattr(part, "fit")}
    return {"": recipe, **inner}


def may_be_in_processes(recipe: Any) -> bool:
    """Whether an estimator is the same to the bit however many cores it takes, and takes those it is told to."""
    if not hasattr(recipe, "get_params"):
        return False
    parts = parts_of(recipe).values()
    return all(type(part).__module__.startswith(KINDS) for part in parts) and any(
        hasattr(part, "n_jobs") for part in parts
    )


def fitted_in_processes(
    tasks: Sequence[Task], prepared: Callable[[Task], tuple[Any, Any, Any]], here: Callable[[Task], Estimator]
) -> Iterator[tuple[Task, Estimator]]:
    """Every task with its model, fitted: the first here, and the rest in processes where that is quicker.

    Threads would not do: while these estimators spread their work, if only over one core, they set the warnings of
    the whole process.

    Parameters
    ----------
    tasks : sequence
    prepared : callable
        An estimator, not fitted, and its rows and labels.
    here : callable
        Trains a task's model in this process.
    """
    began = time.monotonic()
    first, *left = tasks
    yield first, here(first)
    each, n_workers = time.monotonic() - began, min(n_cores(), len(left))
    if n_workers < 2 or each * len(left) < WORTH:
        yield from ((task, here(task)) for task in left)
        return
    from sklearn.utils.parallel import Parallel, delayed  # which hands the warnings' filters on

    # A few at a time: what is trained is told, and kept, as it is done.
    size = 2 * n_workers
    with Parallel(n_jobs=n_workers) as workers:
        for start in range(0, len(left), size):
            some = left[start : start + size]
            calls, before = [], []
            for task in some:
                model, frame, labels = prepared(task)
                before.append(_on_one_core(model))
                calls.append(delayed(operator.methodcaller("fit", frame, labels))(model))
            fitted: Any = workers(calls)
            for task, model, jobs in zip(some, fitted, before, strict=True):
                yield task, model.set_params(**jobs)


def _on_one_core(model: Any) -> JsonObject:
    """Tell an estimator to take one core; what it was told before."""
    before = {
        f"{prefix}n_jobs": part.n_jobs for prefix, part in parts_of(model).items() if hasattr(part, "n_jobs")
    }
    model.set_params(**dict.fromkeys(before, 1))
    return before
