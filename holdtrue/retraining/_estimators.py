"""Models made elsewhere, trained again: clones with other seeds or rows, of other periods, by other recipes."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state, resample

from holdtrue._types import Estimator
from holdtrue.batch import Predictor
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models import (
    AbstractMembers,
    AbstractModel,
    BlackBox,
    SideBySide,
    Stacked,
    TreesModel,
    fresh,
    model_digest,
    stack,
)
from holdtrue.models.adapters import alike as same_trees
from holdtrue.models.adapters import can_train_again, check_recipe, is_raw, merged, recipe_of
from holdtrue.models.adapters._adapt import understand
from holdtrue.models.adapters._columns import NotUnderstood
from holdtrue.retraining._retrained import AbstractRetrained, both_kinds, places
from holdtrue.schema import Table, TableLike, shown

Kind = Literal["bootstrap", "seed", "anew", "leave_one_out", "as it is"]
CLOSE = 1e-3  # by which a guide's probability, as a search reads it, may differ from the model's own
LOOKED_AT = 256  # rows that are asked to see whether it does


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
    """

    predictor: Predictor
    models: tuple[BlackBox, ...]
    rows: Table
    vary: str

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
        kept = places(rows, len(self)).tolist()
        return replace(self, models=tuple(self.models[i] for i in kept))

    def join(self, other: AbstractRetrained) -> "Refitted":
        """These models and further ones of the same model."""
        assert isinstance(other, Refitted)
        return replace(self, models=self.models + other.models, vary=both_kinds(self, other))

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
    shapes: dict[Any, list[int]] = {}
    for i, model in enumerate(models):
        if not isinstance(model, TreesModel) and not model.on_host:
            leaves, structure = jax.tree.flatten(model)
            shapes.setdefault((structure, tuple(np.shape(leaf) for leaf in leaves)), []).append(i)
    for group in shapes.values():
        yield Stacked(stack([models[i] for i in group])), group
    asked = [i for i, model in enumerate(models) if model.on_host]
    if asked:
        yield SideBySide(tuple(models[i] for i in asked)), asked


def seeded(estimator: Any, seed: int, *, only_unset: bool = False) -> Any:
    """A copy, not fitted, with every `random_state` in it set; with `only_unset`, those that are None."""
    copy: Any = fresh(estimator)
    states = {k: v for k, v in copy.get_params().items() if k == "random_state" or k.endswith("__random_state")}
    return copy.set_params(**{k: seed for k, v in states.items() if v is None or not only_unset})


def has_seed(estimator: Any) -> bool:
    """Whether a `random_state` is anywhere in an estimator."""
    return any(k == "random_state" or k.endswith("__random_state") for k in estimator.get_params())


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
    """
    foreign = predictor.foreign
    if foreign is None:
        raise CapabilityError(
            "retrain: is asked for a model made elsewhere; got one of holdtrue's. Give the classifier."
        )
    if vary not in get_args(Kind):
        raise DataError(f"retrain: `vary` is not known; got {vary!r}. Known are {list(get_args(Kind))!r}.")
    recipes = [_own_recipe(foreign, tables) if refit is None else refit, *_recipes(alike)]
    for recipe in recipes:
        _check_recipe(recipe, vary, refit)
    draws = list(_draws(tables, len(recipes), n, vary, check_random_state(random_state)))
    models = []
    for done, draw in enumerate(draws, start=1):
        models.append(_trained(recipes[draw.recipe], draw, tables[draw.table], predictor, vary))
        if on_model is not None:
            on_model(done)
    out = Refitted(predictor, tuple(models), tables[0][0], _words(vary, len(tables), len(recipes)))
    _check_different(out)
    return out


def _own_recipe(foreign: BlackBox, tables: Sequence[tuple[Table, np.ndarray]]) -> Estimator:
    """What is cloned: the model itself, or what was read from a raw booster, held against it on its rows."""
    if not is_raw(foreign.estimator):
        return foreign.estimator
    rows, labels = tables[0]
    recipe = recipe_of(foreign.estimator, rows.n_rows if len(tables) == 1 else None)
    if recipe is None:
        return foreign.estimator  # which is refused
    if len(tables) == 1:  # one of several tables need not be what the model learned from
        foreign.recipe = check_recipe(recipe, foreign.estimator, foreign.frame(rows), labels)
    return recipe.estimator


def _recipes(alike: Mapping[str, Estimator] | Sequence[Estimator]) -> list[Estimator]:
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


def _draws(
    tables: Sequence[tuple[Table, np.ndarray]], n_recipes: int, n: int, vary: str, rng: np.random.RandomState
) -> Iterator[Draw]:
    for table, (rows, labels) in enumerate(tables):
        everyone = np.arange(rows.n_rows)
        for i in range(n):
            seed = int(rng.randint(2**31 - 1))
            picked = None
            if vary in ("bootstrap", "anew"):
                # Within classes: a resample without one of them could not be asked.
                picked = np.sort(np.asarray(resample(everyone, stratify=labels, random_state=seed)))
            elif vary == "leave_one_out":
                picked = np.delete(everyone, seed % rows.n_rows)
            yield Draw(i % n_recipes, table, picked, seed)


def _trained(
    recipe: Any, draw: Draw, learned_from: tuple[Table, np.ndarray], predictor: Predictor, vary: str
) -> BlackBox:
    assert predictor.foreign is not None
    rows, labels = learned_from
    if draw.rows is not None:
        rows, labels = rows.take(draw.rows), labels[draw.rows]
    frame = predictor.foreign.learning_frame(rows)
    if hasattr(recipe, "get_params"):
        # One without a seed of its own is given one, so that the same call gives the same models.
        model = seeded(recipe, draw.seed, only_unset=vary not in ("seed", "anew"))
        try:
            model.fit(frame, labels)
        except Exception as error:
            raise DataError(
                f"retrain: this {type(model).__name__} cannot be trained again on these rows; it raised "
                f"{type(error).__name__}: {error}. Give rows like those that it learned from, or `refit`."
            ) from error
    else:
        try:
            model = recipe(frame, labels, seed=draw.seed, sample_weight=None)
        except Exception as error:
            raise DataError(f"retrain: `refit` failed with {type(error).__name__}: {error}.") from error
        if not callable(getattr(model, "predict_proba", None)):
            raise DataError(
                f"retrain: `refit` must return a fitted model with `predict_proba`; got {shown(model)}. Return "
                "the model that it trained."
            )
    first, other = (getattr(of, "classes_", None) for of in (predictor.foreign.estimator, model))
    if first is not None and other is not None and list(first) != list(other):
        raise DataError(
            "retrain: a retrained model has other classes, or the same in another order; got "
            f"{shown(np.asarray(other).tolist())} after {shown(np.asarray(first).tolist())}. Train it on the "
            "labels that it is given."
        )
    asked = BlackBox(model, predictor.encoder, rows)
    n_classes = asked.n_classes(rows)
    if n_classes != len(predictor.classes):
        raise DataError(
            f"retrain: a retrained model has {n_classes} classes; got {len(predictor.classes)} of the first. "
            "Train it on rows of every class."
        )
    return asked


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


def _words(vary: str, n_tables: int, n_recipes: int) -> str:
    parts = [vary]
    if n_tables > 1:
        parts.append(f"{n_tables} periods")
    if n_recipes > 1:
        parts.append(f"{n_recipes} recipes")
    return ", ".join(parts)
