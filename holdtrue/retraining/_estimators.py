"""Models made elsewhere, trained again: clones with other seeds or rows, of other periods, by other recipes."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from holdtrue._types import Estimator
from holdtrue.batch import AbstractExecutor, Predictor
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models import (
    AbstractMembers,
    AbstractModel,
    BlackBox,
    SideBySide,
    Stacked,
    TreesModel,
    by_shape,
    model_digest,
)
from holdtrue.models.adapters import alike as same_trees
from holdtrue.models.adapters import as_it_was_fitted, can_train_again, check_recipe, is_raw, merged, recipe_of
from holdtrue.models.adapters._adapt import understand
from holdtrue.models.adapters._columns import NotUnderstood
from holdtrue.retraining._kept import Kept, stored
from holdtrue.retraining._retrained import AbstractRetrained, all_kinds, both_kinds, places, some_kinds
from holdtrue.retraining._trainer import Draw, Refit, Trainer, asked_as, drawn, has_seed
from holdtrue.schema import Table, TableLike

Kind = Literal["bootstrap", "seed", "anew", "leave_one_out", "as it is"]
CLOSE = 1e-3  # by which a guide's probability, as a search reads it, may differ from the model's own
LOOKED_AT = 256  # rows that are asked to see whether it does


@dataclass(frozen=True, repr=False)
class Refitted(AbstractRetrained):
    """Retrainings of a model made elsewhere, answering together.

    Each is asked in its own columns, so that its answer is the one that it would give in use.

    Attributes
    ----------
    predictor : Predictor
        The model that they are retrainings of; its encoder, threshold and favourable class hold for all.
    models : tuple of BlackBox
    rows : Table
        Some rows that the model knows.
    vary : str
        What was varied.
    kinds : tuple of int
        Of each model by which recipe it was trained; empty where there is one.
    """

    predictor: Predictor
    models: tuple[BlackBox, ...]
    rows: Table
    vary: str
    kinds: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.models)

    def decide(self, X: TableLike) -> np.ndarray:
        """Class indices of shape (models, rows)."""
        table = self.predictor.encoder.schema.check(X)
        # Whoever reads the same columns is given the same frame: making one takes as long as asking.
        first = self.models[0]
        frame = first.frame(table) if all(model.reads_as(first) for model in self.models) else None
        return np.stack([self.predictor.decide_of(model.log_proba(table, frame)) for model in self.models])

    def take(self, rows: ArrayLike) -> "Refitted":
        """Return some of the models (indices or a mask)."""
        kept = places(rows, len(self))
        return replace(self, models=tuple(self.models[i] for i in kept.tolist()), kinds=some_kinds(self, kept))

    def join(self, other: AbstractRetrained) -> "Refitted":
        """These models and further ones of the same model."""
        assert isinstance(other, Refitted)
        kinds = all_kinds(self, other)
        return replace(self, models=self.models + other.models, vary=both_kinds(self, other), kinds=kinds)

    def of_kinds(self, first: int, n: int) -> Self:
        """The same models, told to be of `n` kinds in turn."""
        return replace(self, kinds=tuple(first + i % n for i in range(len(self))))

    def bind(self, predictor: Predictor) -> "Refitted":
        """The same models at another threshold."""
        return replace(self, predictor=predictor)

    def member(self, i: int) -> Predictor:
        """One retrained model as a classifier of its own."""
        decision = self.predictor.decision.of(self._read[i])
        return Predictor(self.predictor.encoder, decision, self.predictor.classes, self.models[i])

    @functools.cached_property
    def _read(self) -> tuple[AbstractModel, ...]:
        return _read(self.models, self.rows)

    @functools.cached_property
    def members(self) -> tuple[AbstractMembers, ...]:  # type: ignore[override]
        """The models as a search asks them: those of one kind together, others side by side."""
        return tuple(members for members, _ in _together(self._read))

    def digests(self) -> tuple[str | None, ...]:
        """What tells each model from others; None for one that cannot be read."""
        return tuple(None if model.on_host else model_digest(model) for model in self._read)


def _read(models: Sequence[BlackBox], rows: Table) -> tuple[AbstractModel, ...]:
    """What a search asks in place of each model: its adapter, where one reads it and agrees with it."""
    some = rows.take(np.arange(min(rows.n_rows, LOOKED_AT)))
    encoded = jnp.asarray(models[0].encoder.encode(some), jnp.float32)
    read = [_adapter(model, rows) for model in models]
    for members, whose in _together(read):
        if members.on_host:
            continue
        # All members of a kind in one program: alone, each would be compiled, since no two have as many leaves.
        ours = np.asarray(_probabilities(members, encoded))
        for place, own in zip(whose, ours.swapaxes(0, 1), strict=True):
            theirs = np.exp(models[place].log_proba(some))
            if theirs.shape != own.shape or not np.abs(theirs - own).max() <= CLOSE:
                read[place] = models[place].model(models[place].n_classes(rows))
    return tuple(read)


def _adapter(foreign: BlackBox, rows: Table) -> AbstractModel:
    try:
        return understand(foreign, rows)[0]
    except NotUnderstood:
        return foreign.model(foreign.n_classes(rows))


@eqx.filter_jit
def _probabilities(members: AbstractMembers, x: Float[Array, "n d"]) -> Float[Array, "n m k"]:
    return jax.nn.softmax(jax.vmap(members.member_logits)(x), axis=-1)


def _together(models: Sequence[AbstractModel]) -> Iterator[tuple[AbstractMembers, list[int]]]:
    """Group models that can share arrays, with the places of each group's members."""
    trees = {i: model for i, model in enumerate(models) if isinstance(model, TreesModel)}
    while trees:
        first = next(iter(trees.values()))
        group = {i: model for i, model in trees.items() if same_trees([first, model])}
        trees = {i: model for i, model in trees.items() if i not in group}
        yield merged(list(group.values())), list(group)
    others = {i: m for i, m in enumerate(models) if not isinstance(m, TreesModel) and not m.on_host}
    for ensemble, group in by_shape(others):
        yield Stacked(ensemble), group
    asked = [i for i, model in enumerate(models) if model.on_host]
    if asked:
        yield SideBySide(tuple(models[i] for i in asked)), asked


def retrain_estimator(
    predictor: Predictor,
    tables: Sequence[tuple[Table, np.ndarray]],
    *,
    n: int,
    vary: Kind = "bootstrap",
    alike: Mapping[str, Estimator] | Sequence[Estimator] = (),
    refit: Refit | None = None,
    random_state: int | None = 0,
    on_model: Callable[[int], None] | None = None,
    executor: AbstractExecutor | None = None,
    keep: str | Path | None = None,
) -> Refitted:
    """Train a model made elsewhere again.

    Parameters
    ----------
    predictor : Predictor
        What `holdtrue.wrap` returned.
    tables : sequence of (Table, labels)
        What to learn from: the training table, or one of each period, `n` models of each.
    n : int
        Models of each table.
    vary : {"bootstrap", "seed", "anew", "leave_one_out", "as it is"}
        ``bootstrap``: rows resampled within each class. ``seed``: every `random_state` in the model.
        ``anew``: both.
        ``leave_one_out``: one row missing. ``as it is``: the table itself.
    alike : sequence or mapping of estimators
        Other recipes, which take turns with the model's own.
    refit : callable, optional
        Trains the model, where it is not an estimator that scikit-learn can clone.
    random_state : int, default=0
        Chooses resamples, seeds and rows left out.
    on_model : callable, optional
        Told how many models are done.
    executor : AbstractExecutor, optional
        Where they are trained.
    keep : path, optional
        A folder in which every model is kept as it is trained.
    """
    foreign = predictor.foreign
    if foreign is None:
        raise CapabilityError(
            "retrain: is asked for a model made elsewhere; got one of holdtrue's. Give the classifier."
        )
    if vary not in get_args(Kind):
        raise DataError(f"retrain: `vary` is not known; got {vary!r}. Known are {list(get_args(Kind))!r}.")
    recipes = [_own_recipe(foreign, tables) if refit is None else refit, *recipes_of(alike)]
    for recipe in recipes:
        _check_recipe(recipe, vary, refit)
    draws = list(drawn(tables, len(recipes), n, vary, check_random_state(random_state)))
    trainer = Trainer(recipes, tables, foreign, new_seeds=vary in ("seed", "anew"))
    if len(draws) < len(recipes):
        raise too_few(len(draws), len(recipes))
    models = _all_of(trainer, draws, predictor.classes, on_model, executor, keep)
    kinds = tuple(draw.recipe for draw in draws) if len(recipes) > 1 else ()
    out = Refitted(predictor, models, tables[0][0], _words(vary, len(tables), len(recipes)), kinds)
    _check_different(out)
    return out


def _all_of(
    trainer: Trainer, draws: Sequence[Draw], classes: np.ndarray, on_model: Callable[[int], None] | None,
    executor: AbstractExecutor | None, keep: str | Path | None,
) -> tuple[BlackBox, ...]:  # fmt: skip
    """The models of all draws: those that were kept, and the rest trained."""
    found: dict[int, BlackBox] = {}
    kept, keys = None if keep is None else Kept.at(keep), []
    if kept is not None:
        if any(recipe is trainer.foreign.estimator for recipe in trainer.recipes):
            stored(trainer.foreign.estimator)  # one that cannot be kept is told of before any is trained
        keys = trainer.keys(draws)
        for i, (key, draw) in enumerate(zip(keys, draws, strict=True)):
            model = kept.estimator(key)
            if model is not None:
                found[i] = asked_as(model, trainer.foreign, trainer.rows_of(draw)[0], classes)
        if found and on_model is not None:
            on_model(len(found))
    left = [(i, draw) for i, draw in enumerate(draws) if i not in found]
    for i, model in trainer.all(left, executor):
        found[i] = asked_as(model, trainer.foreign, trainer.rows_of(draws[i])[0], classes)
        if kept is not None:
            kept.put_estimator(keys[i], model)
        if on_model is not None:
            on_model(len(found))
    return tuple(found[i] for i in range(len(draws)))


def _own_recipe(foreign: BlackBox, tables: Sequence[tuple[Table, np.ndarray]]) -> Estimator:
    """What is cloned: the model itself, or what was read from a raw booster, held against it on its rows."""
    if not is_raw(foreign.estimator):
        return as_it_was_fitted(foreign.estimator)
    rows, labels = tables[0]
    recipe = recipe_of(foreign.estimator, rows.n_rows if len(tables) == 1 else None)
    if recipe is None:
        return foreign.estimator  # which is refused
    if len(tables) == 1:  # one of several tables need not be what the model learned from
        foreign.recipe = check_recipe(recipe, foreign.estimator, foreign.frame(rows), labels)
    return recipe.estimator


def recipes_of(alike: Mapping[str, Estimator] | Sequence[Estimator]) -> list[Estimator]:
    """Other recipes, however they were given."""
    return list(alike.values()) if isinstance(alike, Mapping) else list(alike)


def _check_recipe(recipe: object, vary: str, refit: Refit | None) -> None:
    if recipe is refit:
        return
    if not can_train_again(recipe):
        raise CapabilityError(
            f"retrain: a {type(recipe).__name__} that does not say how it was trained cannot be cloned. Adopt the "
            "classifier itself, written by skops.io.dump where it was trained, or in Python give `refit`, a "
            "function refit(X, y, seed=..., sample_weight=None) that returns the model trained on them."
        )
    if vary == "seed" and not has_seed(recipe):
        raise CapabilityError(
            f"retrain: {type(recipe).__name__} has no `random_state`, so every seed gives the same model. Use "
            "vary='bootstrap'."
        )


def _check_different(models: Refitted) -> None:
    """Refuse models that all say the same of every row: then nothing was varied."""
    if len(models) < 2:
        return
    some = models.rows.take(np.arange(min(models.rows.n_rows, LOOKED_AT)))
    first, *others = (model.log_proba(some) for model in models.models)
    if all(np.array_equal(first, other) for other in others):
        raise DataError(
            f"retrain: all {len(models)} models are the same; got vary={models.vary!r}. Does `refit` heed its "
            "rows and its seed? A model without randomness needs vary='bootstrap'."
        )


def too_few(n_models: int, n_recipes: int) -> DataError:
    """Not every recipe would have its turn."""
    return DataError(
        f"retrain: fewer models than recipes; got {n_models} for the model's own and {n_recipes - 1} of `alike`. "
        f"Ask for n={n_recipes} at least."
    )


def _words(vary: str, n_tables: int, n_recipes: int) -> str:
    parts = [vary]
    if n_tables > 1:
        parts.append(f"{n_tables} periods")
    if n_recipes > 1:
        parts.append(f"{n_recipes} recipes")
    return ", ".join(parts)
