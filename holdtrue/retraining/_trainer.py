"""One model made elsewhere, trained from a draw of rows and a seed; many of them, side by side."""

import itertools
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.utils import resample
from threadpoolctl import threadpool_limits

from holdtrue._types import Estimator, JsonObject
from holdtrue.batch import AbstractExecutor
from holdtrue.errors import DataError
from holdtrue.models import fresh, n_cores
from holdtrue.models.adapters import BlackBox
from holdtrue.retraining._kept import described, digest, rows_digest, versions
from holdtrue.retraining._processes import fitted_in_processes, may_be_in_processes, parts_of
from holdtrue.schema import Table, shown

SIDE_BY_SIDE = ("sklearn", "xgboost", "lightgbm", "catboost")
"""Libraries whose classifiers may be trained by several threads at once: they compute without the interpreter."""
THREADS = ("n_jobs", "nthread", "num_threads")


class Refit(Protocol):
    """Trains the model again: ``refit(X, y, seed=..., sample_weight=None)`` returns one with `predict_proba`."""

    def __call__(self, X: object, y: object, *, seed: int, sample_weight: object = None) -> Any:
        """Learn from a table."""
        ...


@dataclass(frozen=True)
class Draw:
    """One model to be trained: by which recipe, from which rows of which table, with which seed."""

    recipe: int
    table: int
    rows: np.ndarray | None
    seed: int


def drawn(
    tables: Sequence[tuple[Table, np.ndarray]], n_recipes: int, n: int, vary: str, rng: np.random.RandomState
) -> Iterator[Draw]:
    """`n` draws of each table; recipes take turns, over all tables."""
    turn = itertools.cycle(range(n_recipes))
    for table, (rows, labels) in enumerate(tables):
        everyone = np.arange(rows.n_rows)
        for _ in range(n):
            seed = int(rng.randint(2**31 - 1))
            picked = None
            if vary in ("bootstrap", "anew"):
                # Within classes: a resample without one of them could not be asked.
                picked = np.sort(np.asarray(resample(everyone, stratify=labels, random_state=seed)))
            elif vary == "leave_one_out":
                picked = np.delete(everyone, seed % rows.n_rows)
            yield Draw(next(turn), table, picked, seed)


def seeded(estimator: Any, seed: int, *, only_unset: bool = False) -> Any:
    """A copy, not fitted, with every `random_state` in it set; with `only_unset`, those that are None."""
    copy: Any = fresh(estimator)
    states = {k: v for k, v in copy.get_params().items() if k == "random_state" or k.endswith("__random_state")}
    return copy.set_params(**{k: seed for k, v in states.items() if v is None or not only_unset})


def has_seed(estimator: Any) -> bool:
    """Whether a `random_state` is anywhere in an estimator."""
    return any(k == "random_state" or k.endswith("__random_state") for k in estimator.get_params())


@dataclass(frozen=True)
class Trainer:
    """Trains the model of a draw.

    Attributes
    ----------
    recipes : sequence of estimators or `Refit`
    tables : sequence of (Table, labels)
    foreign : BlackBox
        The model that they are retrainings of.
    new_seeds : bool
        Whether every seed in a recipe is set, and not only those that are None.
    """

    recipes: Sequence[Any]
    tables: Sequence[tuple[Table, np.ndarray]]
    foreign: BlackBox
    new_seeds: bool

    def rows_of(self, draw: Draw) -> tuple[Table, np.ndarray]:
        """What a draw's model learns from."""
        rows, labels = self.tables[draw.table]
        return (rows, labels) if draw.rows is None else (rows.take(draw.rows), labels[draw.rows])

    def __call__(self, draw: Draw) -> Estimator:
        """The model, fitted."""
        rows, labels = self.rows_of(draw)
        recipe, frame = self.recipes[draw.recipe], self.foreign.learning_frame(rows)
        if not hasattr(recipe, "get_params"):
            return _refitted(recipe, frame, labels, draw.seed)
        model = self.unfitted(draw)
        try:
            if may_be_side_by_side(recipe):
                _fit_on_one_core(model, frame, labels)
            else:
                model.fit(frame, labels)
        except Exception as error:
            raise _not_trained(model, error) from error
        return model

    def unfitted(self, draw: Draw) -> Any:
        """The model of a draw before it is fitted."""
        # One without a seed of its own is given one, so that the same call gives the same models.
        return seeded(self.recipes[draw.recipe], draw.seed, only_unset=not self.new_seeds)

    def all(
        self, draws: Iterable[tuple[int, Draw]], executor: AbstractExecutor | None = None
    ) -> Iterator[tuple[int, Estimator]]:
        """The number and the model of every draw, as they are done.

        Models of libraries that take threads are trained on every core, one a core, and are the same to the last
        bit as one after the other: threads *within* a model wait for one another, and CatBoost's sums depend on
        how many there are. Forests and their kin go to processes. Others, of which nothing is known, come one
        after the other.
        """
        draws = list(draws)
        n_workers = min(n_cores(), len(draws))
        if executor is not None:
            yield from executor.map(self, draws)
        elif n_workers > 1 and all(map(may_be_in_processes, self.recipes)):
            yield from self._in_processes(draws)
        elif n_workers < 2 or not all(map(may_be_side_by_side, self.recipes)):
            yield from ((number, self(draw)) for number, draw in draws)
        else:
            # Filters of warnings belong to the process, and libraries change them while they train.
            with warnings.catch_warnings(), threadpool_limits(1), ThreadPoolExecutor(n_workers) as pool:
                numbers = {pool.submit(self, draw): number for number, draw in draws}
                try:
                    for future in as_completed(numbers):
                        yield numbers[future], future.result()
                finally:
                    pool.shutdown(wait=True, cancel_futures=True)

    def _in_processes(self, draws: Sequence[tuple[int, Draw]]) -> Iterator[tuple[int, Estimator]]:
        def prepared(task: tuple[int, Draw]) -> tuple[Any, object, np.ndarray]:
            rows, labels = self.rows_of(task[1])
            return self.unfitted(task[1]), self.foreign.learning_frame(rows), labels

        try:
            for (number, _), model in fitted_in_processes(draws, prepared, lambda task: self(task[1])):
                yield number, model
        except DataError:
            raise
        except Exception as error:  # as a model's fit raised it in another process
            raise _not_trained(self.recipes[0], error) from error

    def keys(self, draws: Iterable[Draw]) -> list[str]:
        """A digest of all that each draw's model follows from."""
        tables = [rows_digest(rows.columns, labels) for rows, labels in self.tables]
        recipes = [described(recipe) for recipe in self.recipes]
        asked = [self.foreign.names, self.foreign.categories, self.new_seeds, versions()]
        return [digest(recipes[d.recipe], tables[d.table], d.rows, d.seed, asked) for d in draws]


def _not_trained(model: object, error: Exception) -> DataError:
    return DataError(
        f"retrain: this {type(model).__name__} cannot be trained again on these rows; it raised "
        f"{type(error).__name__}: {error}. Give rows like those that it learned from, or `refit`."
    )


def _refitted(refit: Refit, frame: object, labels: np.ndarray, seed: int) -> Estimator:
    try:
        model = refit(frame, labels, seed=seed, sample_weight=None)
    except Exception as error:
        raise DataError(
            f"retrain: `refit` failed with {type(error).__name__}: {error}. It is called as "
            "refit(X, y, seed=..., sample_weight=None) with rows like those of the model."
        ) from error
    if not callable(getattr(model, "predict_proba", None)):
        raise DataError(
            f"retrain: `refit` must return a fitted model with `predict_proba`; got {shown(model)}. Return "
            "the model that it trained."
        )
    return model


def may_be_side_by_side(recipe: Any) -> bool:
    """Whether an estimator, and every one inside it, is of a library whose classifiers take threads.

    Not those of scikit-learn that spread their own work, such as forests: while they do, they set the warnings of
    the whole process, and would set one another's. Their `n_jobs` says how many cores they take.
    """
    if not hasattr(recipe, "get_params"):
        return False
    parts = list(parts_of(recipe).values())
    libraries = [type(part).__module__.partition(".")[0] for part in parts]
    spread = any(of == "sklearn" and hasattr(part, "n_jobs") for of, part in zip(libraries, parts, strict=True))
    return set(libraries) <= set(SIDE_BY_SIDE) and not spread


def _fit_on_one_core(model: Any, frame: object, labels: np.ndarray) -> None:
    """Fit; afterwards it predicts with as many threads as before."""
    before: JsonObject = {}
    for prefix, part in parts_of(model).items():
        library, params = type(part).__module__.partition(".")[0], part.get_params(deep=False)
        if library == "catboost":  # takes no parameters once it is fitted, and writes what it does to a folder
            model.set_params(**{f"{prefix}thread_count": 1, f"{prefix}allow_writing_files": False})
        else:  # where nothing is said, scikit-learn's own take one, and some warn of a number
            given = {name: params[name] for name in THREADS if name in params}
            before |= {f"{prefix}{k}": v for k, v in given.items() if v is not None or library != "sklearn"}
    model.set_params(**dict.fromkeys(before, 1))
    with threadpool_limits(1):
        model.fit(frame, labels)
    if before:
        model.set_params(**before)


def asked_as(model: Estimator, foreign: BlackBox, rows: Table, classes: np.ndarray) -> BlackBox:
    """A retrained model as it is asked; one with other classes is refused."""
    first, other = (getattr(of, "classes_", None) for of in (foreign.estimator, model))
    if first is not None and other is not None and list(first) != list(other):
        raise DataError(
            "retrain: a retrained model has other classes, or the same in another order; got "
            f"{shown(np.asarray(other).tolist())} after {shown(np.asarray(first).tolist())}. Train it on the "
            "labels that it is given."
        )
    asked = BlackBox(model, foreign.encoder, rows)
    n_classes = asked.n_classes(rows)
    if n_classes != len(classes):
        raise DataError(
            f"retrain: a retrained model has {n_classes} classes; got {len(classes)} of the first. "
            "Train it on rows of every class."
        )
    return asked
