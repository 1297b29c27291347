"""The same classifier, trained again: other seeds, a row left out, a resample, a later table."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from sklearn.utils import check_random_state

from holdfast.batch import Predictor, map_rows
from holdfast.errors import DataError
from holdfast.models import AbstractModel, Data, Decision, EnsembleModel, Strategy, fit_many, stack
from holdfast.schema import as_table

Vary = Literal["seed", "leave_one_out", "bootstrap", "shift"]


@dataclass(frozen=True)
class TrainingData:
    """What a classifier learned from, encoded.

    Attributes
    ----------
    data : Data
        With class weights multiplied in.
    copies : array
        How many identical rows each row stands for.
    seed : int
        From which the first weights and the shuffles follow.
    """

    data: Data
    copies: np.ndarray
    seed: int


@dataclass(frozen=True)
class Retrained:
    """Many retrainings of one classifier, answering together.

    Attributes
    ----------
    predictor : Predictor
        The classifier they are retrainings of; its encoder, threshold and favourable class hold for all.
    ensemble : EnsembleModel
        The retrained models, stacked.
    vary : str
        What was varied.
    """

    predictor: Predictor
    ensemble: EnsembleModel
    vary: str

    def __len__(self) -> int:
        return self.ensemble.n_members

    def __repr__(self) -> str:
        return f"<Retrained: {len(self)} models, vary={self.vary!r}>"

    def decide(self, X: Any) -> np.ndarray:
        """Class indices of shape (models, rows), every model asked about every row in one batched call."""
        encoded = self.predictor.encoder.encode(as_table(X)).astype(np.float32)
        return map_rows(functools.partial(_decide_all, self.ensemble, self.predictor.decision), encoded).T

    def predict(self, X: Any) -> np.ndarray:
        """Labels of shape (models, rows)."""
        return self.predictor.classes[self.decide(X)]

    def accepts(self, X: Any, target: Any) -> np.ndarray:
        """Boolean (models, rows): whether each model decides each row as wanted; `target` holds labels."""
        return self.predict(X) == np.asarray(target)[None, :]

    def take(self, rows: Any) -> "Retrained":
        """Return some of the models (indices or a mask)."""
        rows = np.arange(len(self))[rows]
        members = jax.tree.map(lambda leaf: leaf[rows] if eqx.is_array(leaf) else leaf, self.ensemble.members)
        return replace(self, ensemble=EnsembleModel(members))

    def member(self, i: int) -> Predictor:
        """One retrained model as a classifier of its own."""
        decision = eqx.tree_at(lambda d: d.model, self.predictor.decision, self.ensemble.member(i))
        return Predictor(self.predictor.encoder, decision, self.predictor.classes)


@eqx.filter_jit
def _decide_all(ensemble: EnsembleModel, decision: Decision, x: Float[Array, "n d"]) -> Array:
    # Member by member: XLA's batched product loses on small matrices, and memory stays flat in members.
    def one(member_arrays: Any) -> Array:
        model: AbstractModel = eqx.combine(member_arrays, static)
        return jax.vmap(lambda row: decision.decide_of(model.logits(row)))(x)

    arrays, static = eqx.partition(ensemble.members, eqx.is_array)
    return jax.lax.map(one, arrays).T


def retrain(
    clf: Any,
    n: int = 100,
    *,
    vary: Vary = "seed",
    tables: Sequence[tuple[Any, Any]] | None = None,
    random_state: int | None = 0,
    strategy: Strategy = "auto",
    on_model: Callable[[int], None] | None = None,
) -> Retrained:
    """Train a fitted classifier again, `n` times, and return the models as one ensemble.

    Parameters
    ----------
    clf : RecourseClassifier
        Fitted in this process: a loaded model file holds no training rows, so fit again, or use
        ``vary="shift"`` with `tables`.
    n : int, default=100
        Number of models; ignored for ``shift``, which trains one per table.
    vary : {"seed", "leave_one_out", "bootstrap", "shift"}
        ``seed``: other first weights and shuffles. ``leave_one_out``: same seed, one row's weight set to zero.
        ``bootstrap``: same seed, rows resampled with replacement. ``shift``: same seed, each of `tables`.
    tables : sequence of (X, y), optional
        Later or other tables, for ``shift``. Encoded as the classifier encodes, so that all answer about the
        same rows.
    random_state : int, default=0
        Chooses seeds, rows left out and resamples.
    strategy : {"auto", "sequential", "threads", "vmap"}
        See `holdfast.models.fit_many`.
    on_model : callable, optional
        Told how many models are done.
    """
    if vary not in get_args(Vary):
        raise DataError(f"retrain: `vary` is not known; got {vary!r}. Known are {list(get_args(Vary))!r}.")
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise DataError(f"retrain: `n` must be a positive whole number; got {n!r}.")
    training: TrainingData | None = getattr(clf, "training_", None)
    if training is None and vary != "shift":
        raise DataError(
            "retrain: the classifier holds no training rows; it was loaded from a file or is not fitted. Call "
            "fit(X, y) on a clone, or use vary='shift' with `tables`."
        )
    predictor: Predictor = clf.predictor_
    rng = check_random_state(random_state)
    seed = training.seed if training is not None else 0
    if vary == "shift":
        sets = _shifted(clf, predictor, tables)
        seeds = [seed] * len(sets)
    else:
        assert training is not None
        sets, seeds = _varied(training, n, vary, rng)
    build = functools.partial(clf.architecture().build, predictor.encoder.n_columns, len(predictor.classes))
    keys = [start_keys(s) for s in seeds]
    built = {s: build(start_keys(s)[0]) for s in set(seeds)}
    held: list[Data | None] = [None] * len(sets)
    if clf.regime_.patience is not None:
        # Early stopping is part of the procedure: the same rows are held out as in the first training.
        pairs = [clf.regime_.split(data, s) for data, s in zip(sets, seeds, strict=True)]
        sets, held = [p[0] for p in pairs], [p[1] for p in pairs]
    models = fit_many(
        [built[s] for s in seeds],
        clf.regime_.step(),
        sets,
        [k[1] for k in keys],
        n_epochs=clf.regime_.n_epochs,
        batch_size=clf.regime_.batch_size,
        validation=held,
        patience=clf.regime_.patience,
        strategy=strategy,
        on_model=on_model,
    )
    return Retrained(predictor, stack(models), vary)


def start_keys(seed: int) -> tuple[Any, Any]:
    """Keys of a training run: the first weights, and the shuffles."""
    first, second = jax.random.split(jax.random.key(seed))
    return first, second


def _varied(training: TrainingData, n: int, vary: Vary, rng: Any) -> tuple[list[Data], list[int]]:
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
        for _ in range(n):
            drawn = rng.multinomial(int(copies.sum()), copies / copies.sum())
            sets.append(data._replace(weight=jnp.asarray(weight * drawn / copies, jnp.float32)))
    return sets, [training.seed] * n


def _shifted(clf: Any, predictor: Predictor, tables: Sequence[tuple[Any, Any]] | None) -> list[Data]:
    if not tables:
        raise DataError("retrain: vary='shift' needs `tables`, a list of (X, y); got none.")
    encoded = []
    index = {label: i for i, label in enumerate(predictor.classes.tolist())}
    for X, y in tables:
        labels = np.asarray(y).tolist()
        unknown = [label for label in labels if label not in index]
        if unknown:
            raise DataError(f"retrain: a shifted table has a class unseen at fit; got {unknown[0]!r}.")
        x = predictor.encoder.encode(X).astype(np.float32)
        if len(x) != len(labels):
            raise DataError(f"retrain: a shifted table has {len(x)} rows but {len(labels)} labels.")
        codes = np.array([index[label] for label in labels], np.int32)
        encoded.append((x, codes, clf.regime_.weights(codes, np.ones(len(x)), predictor.classes)))
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
