"""The same classifier, trained again: other seeds, a row left out, a resample, a later table, a fine-tuning."""

import functools
import itertools
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from holdtrue._types import Keywords, RandomState
from holdtrue.batch import AbstractExecutor, Predictor, map_rows
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models import (
    AbstractClosedForm,
    AbstractModel,
    AbstractStep,
    Data,
    Decision,
    EnsembleModel,
    Stacked,
    Strategy,
    fit_many,
    n_cores,
    shape_of,
    stack,
)
from holdtrue.retraining._classifier import TrainedClassifier, TrainingData
from holdtrue.retraining._finetune import top_layer_step
from holdtrue.retraining._kept import Described, described, digest, versions
from holdtrue.retraining._retrained import AbstractRetrained, all_kinds, both_kinds, places, some_kinds
from holdtrue.schema import TableLike, as_table

Vary = Literal["seed", "leave_one_out", "bootstrap", "anew", "shift", "finetune"]
Layers = Literal["top", "all"]
FINETUNE_EPOCHS = 5
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@dataclass(frozen=True, repr=False)
class Retrained(AbstractRetrained):
    """Many retrainings of one classifier, answering together.

    Attributes
    ----------
    predictor : Predictor
        The classifier they are retrainings of; its encoder, threshold and favourable class hold for all.
    ensemble : EnsembleModel
        The retrained models, stacked.
    vary : str
        What was varied, with its options.
    kinds : tuple of int
        Of each model by which recipe it was trained; empty where there is one.
    """

    predictor: Predictor
    ensemble: EnsembleModel
    vary: str
    kinds: tuple[int, ...] = ()

    def __len__(self) -> int:
        return self.ensemble.n_members

    def decide(self, X: TableLike) -> np.ndarray:
        """Class indices of shape (models, rows), every model asked about every row in one batched call."""
        encoded = self.predictor.encoder.encode(as_table(X)).astype(np.float32)
        return decided(self.ensemble, self.predictor, encoded)

    def take(self, rows: ArrayLike) -> "Retrained":
        """Return some of the models (indices or a mask)."""
        (stacked,), some = self.members, places(rows, len(self))
        return replace(self, ensemble=stacked.take(some).ensemble, kinds=some_kinds(self, some))

    def member(self, i: int) -> Predictor:
        """One retrained model as a classifier of its own."""
        decision = self.predictor.decision.of(self.ensemble.member(i))
        return Predictor(self.predictor.encoder, decision, self.predictor.classes)

    def join(self, other: AbstractRetrained) -> AbstractRetrained:
        """These models and further ones of the same classifier: `Retrained`, or `SeveralKinds`."""
        if not isinstance(other, Retrained) or shape_of(self.ensemble.member(0)) != shape_of(
            other.ensemble.member(0)
        ):
            from holdtrue.retraining._kinds import SeveralKinds

            return SeveralKinds.of(self).join(other)
        whole = jax.tree.map(
            lambda a, b: jnp.concatenate([a, b]) if eqx.is_array(a) else a, self.ensemble, other.ensemble
        )
        return replace(self, ensemble=whole, vary=both_kinds(self, other), kinds=all_kinds(self, other))

    def of_kinds(self, first: int, n: int) -> Self:
        """The same models, told to be of `n` kinds in turn."""
        return replace(self, kinds=tuple(first + i % n for i in range(len(self))))

    def bind(self, predictor: Predictor) -> "Retrained":
        """The same models at another threshold."""
        return replace(self, predictor=predictor)

    @property
    def members(self) -> tuple[Stacked]:
        """The models, stacked."""
        return (Stacked(self.ensemble),)

    def digests(self) -> tuple[str, ...]:
        """Every member's digest."""
        return self.ensemble.digests()


def decided(ensemble: EnsembleModel, predictor: Predictor, encoded: np.ndarray) -> np.ndarray:
    """Class indices of shape (models, rows), by the classifier's threshold."""
    return map_rows(functools.partial(_decide_all, ensemble, predictor.decision), encoded).T


@eqx.filter_jit
def _decide_all(ensemble: EnsembleModel, decision: Decision, x: Float[Array, "n d"]) -> Array:
    # Member by member: XLA's batched product loses on small matrices, and memory stays flat in members.
    def one(member_arrays: PyTree) -> Array:
        model: AbstractModel = eqx.combine(member_arrays, static)
        return jax.vmap(lambda row: decision.decide_of(model.logits(row)))(x)

    arrays, static = eqx.partition(ensemble.members, eqx.is_array)
    return jax.lax.map(one, arrays).T


def retrain_own(
    clf: TrainedClassifier,
    n: int,
    *,
    each: int = 1,
    vary: Vary | None = None,
    tables: Sequence[tuple[TableLike, ArrayLike]] | None = None,
    new_order: bool = False,
    layers: Layers | None = None,
    n_epochs: int | None = None,
    random_state: RandomState = 0,
    strategy: Strategy = "auto",
    on_model: Callable[[int], None] | None = None,
    executor: AbstractExecutor | None = None,
    keep: str | Path | None = None,
    some: Sequence[int] | None = None,
) -> Retrained:
    """Train one of holdtrue's classifiers again; the parameters are those of `holdtrue.retrain`.

    Of each of `tables` there are `each` models, resamples where these are more than one. With `some` only the
    models of these places are trained.
    """
    vary = vary or usual_vary(clf)
    if vary not in get_args(Vary):
        raise DataError(f"retrain: `vary` is not known; got {vary!r}. Known are {list(get_args(Vary))!r}.")
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise DataError(f"retrain: `n` must be a positive whole number; got {n!r}.")
    _check_options(vary, tables, new_order, layers, n_epochs)
    if vary == "seed" and not clf.regime_.uses_seed:
        raise CapabilityError(
            f"retrain: {type(clf.regime_).__name__} has one solution, so every seed gives the same model. Use "
            "vary='bootstrap'."
        )
    if getattr(clf, "training_", None) is None and vary != "shift" and tables is None:
        raise DataError(
            "retrain: the classifier holds no training rows; it was loaded from a file or is not fitted. Call "
            "fit(X, y) on a clone, or use vary='shift' or 'finetune' with `tables`."
        )
    asked: Keywords = {
        "n": n, "each": each, "vary": vary, "tables": tables, "new_order": new_order, "layers": layers,
        "n_epochs": n_epochs, "random_state": random_state, "strategy": strategy,
    }  # fmt: skip
    from holdtrue.retraining._parallel import all_models

    models = all_models(clf, asked, executor, on_model, keep, some)
    return Retrained(
        clf.predictor_, stack(models), _how(vary, new_order, layers, each if tables is not None else 1)
    )


def usual_vary(clf: TrainedClassifier) -> Vary:
    """What differs between retrainings where nobody says: the seed, or the rows where a seed changes nothing."""
    return "seed" if clf.regime_.uses_seed else "bootstrap"


@dataclass(frozen=True)
class Trainings:
    """Every model of one call of `retrain`, to be trained at once or some at a time.

    Attributes
    ----------
    starts, sets, seeds, orders : sequences
        Of every model: what it begins as, its rows, and the seeds of its weights and of its shuffles.
    step : AbstractStep
    n_epochs, patience, strategy
        As `fit_many` has them.
    """

    clf: TrainedClassifier
    vary: Vary
    starts: Sequence[AbstractModel]
    sets: Sequence[Data]
    seeds: Sequence[int]
    orders: Sequence[int]
    step: AbstractStep
    n_epochs: int
    patience: int | None
    strategy: Strategy

    def fit(
        self,
        some: Sequence[int],
        on_model: Callable[[int], None] | None = None,
        on_fitted: Callable[[int, AbstractModel], None] | None = None,
    ) -> list[AbstractModel]:
        """Train the models of some places; `on_fitted` is told the place among these and the model."""
        starts, sets = [self.starts[i] for i in some], [self.sets[i] for i in some]
        orders = [self.orders[i] for i in some]
        regime, held = self.clf.regime_, [None] * len(sets)
        if isinstance(starts[0], AbstractClosedForm) or (self.vary != "finetune" and regime.solves(starts[0])):
            return _solved(self.clf, self.vary, starts, sets, orders, on_model, on_fitted)
        if self.patience is not None:
            # Early stopping is part of the procedure: the same rows are held out as in the first training.
            seeds = [self.seeds[i] for i in some]
            pairs = [regime.split(data, s) for data, s in zip(sets, seeds, strict=True)]
            sets, held = [p[0] for p in pairs], [p[1] for p in pairs]
        return fit_many(
            starts,
            self.step,
            sets,
            [start_keys(s)[1] for s in orders],
            n_epochs=self.n_epochs,
            batch_size=regime.rows_per_update(len(sets[0].x)),
            validation=held,
            patience=self.patience,
            strategy=self.strategy,
            on_model=on_model,
            on_fitted=on_fitted,
        )

    def keys(self) -> list[str]:
        """A digest of all that each model follows from."""
        seen: dict[int, tuple[object, Described]] = {}  # an array that many share is looked at once

        def of(tree: PyTree) -> Described:
            arrays, rest = eqx.partition(tree, lambda leaf: isinstance(leaf, (jax.Array, np.ndarray)))
            leaves = jax.tree.leaves(arrays)
            for leaf in leaves:  # which is held, since another could have its id later
                if id(leaf) not in seen:
                    plain = np.asarray(jax.random.key_data(leaf) if is_key(leaf) else leaf)
                    seen[id(leaf)] = (leaf, described(plain))
            return [seen[id(leaf)][1] for leaf in leaves], ADDRESS.sub("", eqx.tree_pformat(rest))

        clf = self.clf
        alike = digest(
            clf.regime_, of(clf.context_), of(self.step), self.vary, self.n_epochs, self.patience, self.strategy,
            versions(),
        )  # fmt: skip
        parts = zip(self.starts, self.sets, self.seeds, self.orders, strict=True)
        return [digest(alike, of(start), of(rows), seed, order) for start, rows, seed, order in parts]


def is_key(leaf: Array) -> bool:
    """Whether an array holds keys of jax's random numbers."""
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def trainings(
    clf: TrainedClassifier,
    *,
    n: int,
    each: int,
    vary: Vary,
    tables: Sequence[tuple[TableLike, ArrayLike]] | None,
    new_order: bool,
    layers: Layers | None,
    n_epochs: int | None,
    random_state: RandomState,
    strategy: Strategy,
) -> Trainings:
    """Draw the seeds and rows of every model; the parameters are those of `retrain`, checked."""
    training, predictor = clf.training_, clf.predictor_
    rng = check_random_state(random_state)
    seed = training.seed if training is not None else 0
    if vary == "shift" or tables is not None:
        sets = [one for rows in _shifted(clf, tables, vary) for one in _each(rows, each, rng)]
        seeds = [seed] * len(sets)
    else:
        assert training is not None
        sets, seeds = _varied(training, n, vary, rng)
    orders = [int(s) for s in rng.randint(0, 2**31 - 1, len(seeds))] if new_order else seeds
    step, patience = clf.regime_.step(clf.context_), clf.regime_.waits(len(sets[0].x))
    if vary == "finetune":
        epochs, patience = n_epochs or FINETUNE_EPOCHS, None
        starts = [predictor.decision.model] * len(sets)
        step = top_layer_step(step, starts[0]) if (layers or "top") == "top" else step
    else:
        build = functools.partial(clf.architecture().build_on, predictor.encoder.layout, len(predictor.classes))
        built = {s: build(start_keys(s)[0]).prepared_as(predictor.decision.model) for s in set(seeds)}
        starts, epochs = [built[s] for s in seeds], clf.regime_.epochs(len(sets[0].x))
    return Trainings(clf, vary, starts, sets, seeds, orders, step, epochs, patience, strategy)


def _how(vary: Vary, new_order: bool, layers: Layers | None, each: int) -> str:
    """What was varied, in words."""
    if each > 1:
        return f"{_how(vary, new_order, layers, 1)}, bootstrap"
    if vary == "finetune":
        return f"{vary}, {'all layers' if layers == 'all' else 'top layer'}"
    return f"{vary}, new order" if new_order else vary


def _solved(
    clf: TrainedClassifier,
    vary: Vary,
    starts: Sequence[PyTree],
    sets: Sequence[Data],
    seeds: Sequence[int],
    on_model: Callable[[int], None] | None,
    on_fitted: Callable[[int, AbstractModel], None] | None,
) -> list[AbstractModel]:
    """Models that are solved for: one solution each, which remembers nothing of a start."""
    if vary == "finetune":
        raise CapabilityError(
            f"retrain: {type(starts[0]).__name__} is solved in closed form and cannot be fine-tuned. Use another "
            "`vary`."
        )
    done, context = itertools.count(1), clf.context_

    def run(i: int) -> AbstractModel:
        model, _ = clf.regime_.solve(starts[i], sets[i], start_keys(seeds[i])[1], context)
        if on_fitted is not None:
            on_fitted(i, model)
        if on_model is not None:
            on_model(next(done))
        return model

    # Side by side where that takes little memory; a kernel of all rows takes much.
    n_workers = 1 if isinstance(starts[0], AbstractClosedForm) else n_cores()
    with threadpool_limits(1 if n_workers > 1 else None), ThreadPoolExecutor(n_workers) as pool:
        return list(pool.map(run, range(len(sets))))


def _check_options(
    vary: Vary, tables: Sequence[object] | None, new_order: bool, layers: Layers | None, n_epochs: int | None
) -> None:
    """Refuse an option that the kind of retraining would not use."""
    uses: dict[str, tuple[Vary, ...]] = {
        "tables": ("shift", "finetune"),
        "new_order": ("leave_one_out",),
        "layers": ("finetune",),
        "n_epochs": ("finetune",),
    }
    given = {"tables": tables, "new_order": new_order or None, "layers": layers, "n_epochs": n_epochs}
    for name, kinds in uses.items():
        if given[name] is not None and vary not in kinds:
            raise DataError(f"retrain: `{name}` is for vary={' or '.join(map(repr, kinds))}; got vary={vary!r}.")
    if layers is not None and layers not in get_args(Layers):
        raise DataError(f"retrain: `layers` is not known; got {layers!r}. Known are {list(get_args(Layers))!r}.")
    if n_epochs is not None and (not isinstance(n_epochs, (int, np.integer)) or n_epochs < 1):
        raise DataError(f"retrain: `n_epochs` must be a positive whole number; got {n_epochs!r}.")


def start_keys(seed: int) -> tuple[PRNGKeyArray, PRNGKeyArray]:
    """Keys of a training run: the first weights, and the shuffles."""
    first, second = jax.random.split(jax.random.key(seed))
    return first, second


def _varied(
    training: TrainingData, n: int, vary: Vary, rng: np.random.RandomState
) -> tuple[list[Data], list[int]]:
    data, copies = training.data, training.copies
    if vary == "seed":
        return [data] * n, [int(s) for s in rng.randint(0, 2**31 - 1, n)]
    weight = np.asarray(data.weight)
    sets = []
    if vary == "leave_one_out":
        # A row that stands for several people loses one of them.
        left_out = rng.choice(len(weight), n, replace=n > len(weight), p=copies / copies.sum())
        for i in left_out:
            weights = weight.copy()
            weights[i] *= (copies[i] - 1) / copies[i]
            sets.append(data._replace(weight=jnp.asarray(weights)))
    else:
        sets = _resamples(data, copies, n, rng)
    if vary == "anew":
        return sets, [int(s) for s in rng.randint(0, 2**31 - 1, n)]
    return sets, [training.seed] * n


def _resamples(data: Data, copies: np.ndarray, n: int, rng: np.random.RandomState) -> list[Data]:
    """The same rows under other weights: how often each was drawn, of as many as there are."""
    weight = np.asarray(data.weight)
    drawn = (rng.multinomial(int(copies.sum()), copies / copies.sum()) for _ in range(n))
    return [
        data._replace(weight=jnp.asarray(weight * times / np.maximum(copies, 1), jnp.float32)) for times in drawn
    ]


def _each(rows: Data, n: int, rng: np.random.RandomState) -> list[Data]:
    """One table as it is, or resamples of it; rows of weight 0 fill it up and are not drawn."""
    return [rows] if n == 1 else _resamples(rows, (np.asarray(rows.weight) > 0).astype(int), n, rng)


def training_rows(clf: TrainedClassifier, X: TableLike, y: ArrayLike) -> TrainingData:
    """Encode a table as training rows, so that a classifier read from a file can be fine-tuned on resamples of it:
    ``clf.training_ = training_rows(clf, X, y)``."""
    x, codes, weight = _encoded(clf, X, y)
    data = Data(jnp.asarray(x), jnp.asarray(codes), jnp.asarray(weight, jnp.float32))
    return TrainingData(data, np.ones(len(x)), 0)


def _encoded(clf: TrainedClassifier, X: TableLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    predictor = clf.predictor_
    index = {label: i for i, label in enumerate(predictor.classes.tolist())}
    labels = np.asarray(y).tolist()
    unknown = [label for label in labels if label not in index]
    if unknown:
        raise DataError(f"retrain: a table has a class unseen at fit; got {unknown[0]!r}.")
    x = predictor.encoder.encode(X).astype(np.float32)
    if len(x) != len(labels):
        raise DataError(f"retrain: a table has {len(x)} rows but {len(labels)} labels.")
    codes = np.array([index[label] for label in labels], np.int32)
    return x, codes, clf.regime_.weights(codes, np.ones(len(x)), predictor.classes)


def _shifted(
    clf: TrainedClassifier, tables: Sequence[tuple[TableLike, ArrayLike]] | None, vary: Vary
) -> list[Data]:
    if not tables:
        raise DataError(f"retrain: vary={vary!r} needs `tables`, a list of (X, y); got none.")
    encoded = [_encoded(clf, X, y) for X, y in tables]
    # Filled up with rows of weight 0 to one length, so that one compilation serves all.
    longest = max(len(x) for x, _, _ in encoded)
    out = []
    for x, codes, weight in encoded:
        more = longest - len(x)
        out.append(
            Data(
                jnp.asarray(np.pad(x, ((0, more), (0, 0)))),
                jnp.asarray(np.pad(codes, (0, more))),
                jnp.asarray(np.pad(weight, (0, more)), jnp.float32),
            )
        )
    return out
