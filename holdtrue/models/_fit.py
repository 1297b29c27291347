"""The one minibatch loop: a whole run in one compiled call."""

import itertools
import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, Literal, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.experimental import io_callback
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from holdtrue.errors import DataError
from holdtrue.models._base import AbstractModel
from holdtrue.models._maps import spare_maps

Strategy = Literal["auto", "sequential", "threads", "vmap"]
Learner = TypeVar("Learner", bound=eqx.Module)
PREPARING = 2**31 - 1  # folded into the key: no epoch


class Data(NamedTuple):
    """Encoded rows, class indices and sample weights. A row of weight 0 is as good as absent.

    `beside` is what the step prepared for this minibatch when the epoch began; None elsewhere.
    """

    x: Float[Array, "n d"]
    y: Int[Array, " n"]
    weight: Float[Array, " n"]
    beside: PyTree = None


class History(NamedTuple):
    """What a fit went through: losses per epoch (NaN after an early stop) and the number of epochs run.

    `notes` are the numbers that a step tells of every epoch, by name: `AbstractStep.notes`.
    """

    loss: Float[Array, " epochs"]
    validation_loss: Float[Array, " epochs"]
    n_epochs: Int[Array, ""]
    notes: dict[str, Float[Array, " epochs"]] = {}  # noqa: RUF012  (a pytree, and nobody writes to it)


class AbstractStep(eqx.Module, Generic[Learner]):
    """What a training regime does with one minibatch. Numbers that may vary are array leaves, so that a
    changed step size does not compile again. What learns is a classifier as a rule; an autoencoder does, too."""

    @abstractmethod
    def init(self, model: Learner) -> PyTree:
        """State of the optimiser."""

    @abstractmethod
    def update(
        self, model: Learner, state: PyTree, batch: Data, key: PRNGKeyArray, epoch: Int[Array, ""]
    ) -> tuple[Learner, PyTree, Float[Array, ""]]:
        """One update: new model, new state, loss."""

    @abstractmethod
    def validate(self, model: Learner, data: Data) -> Float[Array, ""]:
        """Loss on held-out rows, without dropout; early stopping watches it."""

    def prepare(self, data: Data, key: PRNGKeyArray) -> "AbstractStep[Learner]":
        """The step with what it must learn from the rows before the first epoch; itself, as a rule."""
        return self

    @property
    def notes(self) -> tuple[str, ...]:
        """Names of the numbers that `begin_epoch` tells."""
        return ()

    def begin_epoch(
        self, model: Learner, data: Data, n_batches: int, key: PRNGKeyArray, epoch: Int[Array, ""]
    ) -> tuple[PyTree, dict[str, Float[Array, ""]]]:
        """What is made once per epoch from all rows, and the epoch's `notes`.

        The first has a leading axis of `n_batches`; each minibatch finds its own share in `Data.beside`.
        """
        return None, {}


class AbstractGradientStep(AbstractStep[Learner]):
    """Adam on a loss. A regime that only changes the loss derives from this."""

    step_size: eqx.AbstractVar[Float[Array, ""]]
    weight_decay: eqx.AbstractVar[Float[Array, ""]]

    @abstractmethod
    def loss(
        self, model: Learner, batch: Data, key: PRNGKeyArray | None, epoch: Int[Array, ""]
    ) -> Float[Array, ""]:
        """Loss of a minibatch; no `key` means no dropout."""

    def init(self, model: Learner) -> PyTree:
        """State of Adam."""
        return optax.scale_by_adam().init(eqx.filter(model, eqx.is_inexact_array))

    def update(
        self, model: Learner, state: PyTree, batch: Data, key: PRNGKeyArray, epoch: Int[Array, ""]
    ) -> tuple[Learner, PyTree, Float[Array, ""]]:
        """One Adam update, with decoupled weight decay."""
        loss, grads = eqx.filter_value_and_grad(self.loss)(model, batch, key, epoch)
        model, state = adam(model, grads, state, self.step_size, self.weight_decay)
        return model, state, loss

    def validate(self, model: Learner, data: Data) -> Float[Array, ""]:
        """Return the loss itself, without dropout."""
        return self.loss(model, data, None, jnp.asarray(0))


def adam(
    model: PyTree,
    grads: PyTree,
    state: PyTree,
    step_size: Float[Array, ""],
    weight_decay: Float[Array, ""] | float = 0.0,
) -> tuple[PyTree, PyTree]:
    """Return a model after one Adam update with decoupled weight decay, and the new state of Adam.

    The state begins as ``optax.scale_by_adam().init`` of the model's float arrays.
    """
    params = eqx.filter(model, eqx.is_inexact_array)
    updates, state = optax.scale_by_adam().update(grads, state, params)
    updates = jax.tree.map(lambda u, p: -step_size * (u + weight_decay * p), updates, params)
    return eqx.apply_updates(model, updates), state


def averaged(mean: PyTree, latest: PyTree, state: PyTree, average: Float[Array, ""]) -> PyTree:
    """Return the running mean of a model's float arrays after one more update of Adam, whose state has counted it.

    It reaches back over a share `average` of the updates so far, so that what was learned first is forgotten in
    short and in long trainings alike. With 0 it is the latest model.
    """
    share = 1.0 / (1.0 + average * state.count)
    before, rest = eqx.partition(mean, eqx.is_inexact_array)
    moved = optax.incremental_update(eqx.filter(latest, eqx.is_inexact_array), before, share)
    return eqx.combine(moved, rest)


def weighted_mean(values: Float[Array, " n"], weight: Float[Array, " n"]) -> Float[Array, ""]:
    """Mean under weights; 0 where all weights are 0, so that an empty batch moves nothing."""
    return jnp.sum(weight * values) / jnp.maximum(jnp.sum(weight), 1e-12)


def fit(
    model: Learner,
    step: AbstractStep[Learner],
    data: Data,
    key: PRNGKeyArray,
    *,
    n_epochs: int,
    batch_size: int,
    validation: Data | None = None,
    patience: int | None = None,
    on_epoch: Callable[[int, float], None] | None = None,
) -> tuple[Learner, History]:
    """Fit a model: shuffled minibatches, every epoch in one compiled program.

    Every row takes part in every epoch; the last batch is filled up with rows of weight 0. With
    `validation` and `patience`, stops after `patience` epochs without a better validation loss and returns
    the best model seen. The same key gives the same model.

    Parameters
    ----------
    on_epoch : callable, optional
        Told the epoch and its loss, for a progress bar.
    """
    spare_maps()
    with _reporter(on_epoch) as handle:
        model, history = _fit(
            model, step, data, key, validation, handle, n_epochs, min(batch_size, len(data.x)), patience
        )
        jax.block_until_ready(history)
    return model, history


def fit_inside(
    model: Learner, step: AbstractStep[Learner], data: Data, key: PRNGKeyArray, *, n_epochs: int, batch_size: int
) -> tuple[Learner, History]:
    """`fit` without progress or early stopping, for use inside another compiled program."""
    return _fit(model, step, data, key, None, None, n_epochs, min(batch_size, data.x.shape[0]), None)


@eqx.filter_jit
def _fit(
    model: Learner,
    step: AbstractStep[Learner],
    data: Data,
    key: PRNGKeyArray,
    validation: Data | None,
    handle: Array | None,
    n_epochs: int,
    batch_size: int,
    patience: int | None,
) -> tuple[Learner, History]:
    step = step.prepare(data, jax.random.fold_in(key, PREPARING))
    n = data.x.shape[0]
    n_batches = -(-n // batch_size)
    padding = n_batches * batch_size - n
    watch = validation is not None and patience is not None
    arrays, static = eqx.partition(model, eqx.is_array)

    def one_batch(carry: PyTree, xs: PyTree) -> PyTree:
        params, state, epoch = carry
        batch, batch_key = xs
        updated, state, loss = step.update(eqx.combine(params, static), state, batch, batch_key, epoch)
        return (eqx.filter(updated, eqx.is_array), state, epoch), (loss, jnp.sum(batch.weight))

    def one_epoch(carry: PyTree) -> PyTree:
        params, state, best, best_loss, since, epoch, (history, notes) = carry
        shuffle_key, step_key = jax.random.split(jax.random.fold_in(key, epoch))
        order = jnp.pad(jax.random.permutation(shuffle_key, n), (0, padding))
        real = jnp.arange(n + padding) < n
        shuffled = Data(data.x[order], data.y[order], jnp.where(real, data.weight[order], 0.0))
        batches = jax.tree.map(lambda a: a.reshape(n_batches, batch_size, *a.shape[1:]), shuffled)
        # 0 and 1 folded in are the two keys above.
        begin_key = jax.random.fold_in(jax.random.fold_in(key, epoch), 2)
        beside, said = step.begin_epoch(eqx.combine(params, static), data, n_batches, begin_key, epoch)
        batches = batches._replace(beside=beside)
        keys = jax.random.split(step_key, n_batches)
        (params, state, _), (losses, weights) = jax.lax.scan(one_batch, (params, state, epoch), (batches, keys))
        loss = weighted_mean(losses, weights)
        held_out = jnp.nan
        if watch:
            assert validation is not None
            held_out = step.validate(eqx.combine(params, static), validation)
            better = held_out < best_loss
            best = jax.tree.map(lambda new, old: jnp.where(better, new, old), params, best)
            best_loss = jnp.where(better, held_out, best_loss)
            since = jnp.where(better, 0, since + 1)
        if handle is not None:
            io_callback(_tell, None, handle, epoch, loss)
        history = history.at[:, epoch].set(jnp.stack([loss, held_out]))
        notes = {name: kept.at[epoch].set(said[name]) for name, kept in notes.items()}
        return params, state, best, best_loss, since, epoch + 1, (history, notes)

    def go_on(carry: PyTree) -> PyTree:
        since, epoch = carry[4], carry[5]
        return (epoch < n_epochs) & ((since < patience) if watch else True)

    history = jnp.full((2, n_epochs), jnp.nan)
    notes = {name: jnp.full(n_epochs, jnp.nan) for name in step.notes}
    start: PyTree = (arrays, step.init(model), arrays, jnp.asarray(jnp.inf), 0, 0, (history, notes))
    params, _, best, _, _, epoch, (history, notes) = jax.lax.while_loop(go_on, one_epoch, start)
    return eqx.combine(best if watch else params, static), History(history[0], history[1], epoch, notes)


def fit_many(
    models: Sequence[AbstractModel],
    step: AbstractStep | Sequence[AbstractStep],
    data: Sequence[Data],
    keys: Sequence[PRNGKeyArray],
    *,
    n_epochs: int,
    batch_size: int,
    validation: Sequence[Data | None] | None = None,
    patience: int | None = None,
    strategy: Strategy = "auto",
    on_model: Callable[[int], None] | None = None,
    on_fitted: Callable[[int, AbstractModel], None] | None = None,
) -> list[AbstractModel]:
    """Fit many models of one shape on data of one shape.

    Parameters
    ----------
    step : AbstractStep or sequence of it
        One for all, or one each that differ in their numbers only, so that one compilation serves a whole sweep.
    validation, patience
        As in `fit`, one validation set per model.
    strategy : {"auto", "sequential", "threads", "vmap"}
        ``auto`` is ``vmap`` on an accelerator and ``threads`` on a CPU: XLA's batched matrix product loses
        on small matrices there, while two runs side by side use two cores
        (``benchmarks/retrain.py`` measures all three).
    on_model : callable, optional
        Told how many models are done.
    on_fitted : callable, optional
        Told the place of a model and the model, as each is done; with ``vmap`` all are done at once.
    """
    spare_maps()
    if strategy == "auto":
        strategy = "threads" if jax.default_backend() == "cpu" else "vmap"
    batch_size = min(batch_size, len(data[0].x))
    held = list(validation) if validation is not None else [None] * len(models)
    steps = [step] * len(models) if isinstance(step, AbstractStep) else list(step)
    if strategy == "vmap":
        arrays, static = eqx.partition(list(models), eqx.is_array)
        numbers, rules = eqx.partition(steps, eqx.is_array)
        one = _FitOne(static[0], rules[0], n_epochs, batch_size, patience)
        fitted = one(_stacked(arrays), _stacked(numbers), _stacked(data), jnp.stack(list(keys)), _stacked(held))
        every = [eqx.combine(jax.tree.map(lambda a, i=i: a[i], fitted), static[0]) for i in range(len(models))]
        if on_fitted is not None:
            for i, model in enumerate(every):
                on_fitted(i, model)
        return every

    done = itertools.count(1)

    def run(i: int) -> AbstractModel:
        model, history = _fit(models[i], steps[i], data[i], keys[i], held[i], None, n_epochs, batch_size, patience)
        jax.block_until_ready(history)
        if on_fitted is not None:
            on_fitted(i, model)
        if on_model is not None:
            on_model(next(done))
        return model

    if strategy == "sequential" or len(models) == 1:
        return [run(i) for i in range(len(models))]
    first = run(0)  # compile once, before the threads start
    with ThreadPoolExecutor(n_cores()) as pool:
        return [first, *pool.map(run, range(1, len(models)))]


def _stacked(trees: Sequence[PyTree]) -> PyTree:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


class _FitOne(eqx.Module):
    """A fit as a function of arrays only, for vmap."""

    static: AbstractModel
    rules: AbstractStep
    n_epochs: int = eqx.field(static=True)
    batch_size: int = eqx.field(static=True)
    patience: int | None = eqx.field(static=True)

    @eqx.filter_jit
    def __call__(
        self, arrays: PyTree, numbers: PyTree, rows: Data, keys: PRNGKeyArray, watched: Data | None
    ) -> PyTree:
        def run(params: PyTree, own: PyTree, data: Data, key: PRNGKeyArray, held: Data | None) -> PyTree:
            model, step = eqx.combine(params, self.static), eqx.combine(own, self.rules)
            fitted, _ = _fit(model, step, data, key, held, None, self.n_epochs, self.batch_size, self.patience)
            return eqx.filter(fitted, eqx.is_array)

        return jax.vmap(run)(arrays, numbers, rows, keys, watched)


CORES = "HOLDTRUE_CORES"
"""Environment variable: how many cores to use where a process may use more than are meant for it."""


def n_cores() -> int:
    """Cores this process may use."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    asked = os.environ.get(CORES, "").strip()
    if not asked:
        return there
    if not asked.isdigit() or int(asked) < 1:
        raise DataError(f"{CORES}: must be a positive whole number; got {asked!r}. Unset it to use every core.")
    return min(there, int(asked))


# ---- progress: a compiled loop can only call a function known when it was compiled, so it calls `_tell`, which
# looks up the listener by a number that is an argument of the program.

_LISTENERS: dict[int, Callable[[int, float], None]] = {}
_NUMBERS = itertools.count()


class _reporter:
    def __init__(self, listener: Callable[[int, float], None] | None) -> None:
        self.listener = listener
        self.number = next(_NUMBERS)

    def __enter__(self) -> Array | None:
        if self.listener is None:
            return None
        _LISTENERS[self.number] = self.listener
        return jnp.asarray(self.number)

    def __exit__(self, *_: object) -> None:
        _LISTENERS.pop(self.number, None)


def _tell(number: PyTree, epoch: PyTree, loss: PyTree) -> None:
    listener = _LISTENERS.get(int(np.asarray(number)))
    if listener is not None:
        listener(int(np.asarray(epoch)), float(np.asarray(loss)))
