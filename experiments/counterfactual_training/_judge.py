"""What is measured of a model beside its recourse: accuracy, attacks, and what its scores rest on."""

from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from experiments._task import Task
from experiments.counterfactual_training._search import Found, each
from experiments.counterfactual_training._settings import RADII, RADIUS
from holdtrue.metrics import (
    carlini_wagner,
    fgsm,
    implausibility,
    integrated_gradients,
    model_samples,
    pgd,
    sensitivity_share,
    undecided_baseline,
)
from holdtrue.models import AbstractModel, Decision

N_ATTACKED, N_NEAREST, N_ATTRIBUTED = 1000, 100, 300
PGD_STEPS = 40


def accuracies(task: Task, models: Sequence[AbstractModel], *, whole: bool) -> dict[str, Any]:
    """Clean accuracy on all test rows; accuracy under attack on some, per seed.

    `whole` adds every radius of Figure 5, restarts, and the nearest point of another decision.
    """
    x, y = (jnp.asarray(part) for part in task.tested)
    some, labels = x[:N_ATTACKED], y[:N_ATTACKED]
    key = jax.random.key(0)
    out: dict[str, Any] = {"accuracy": each(models, _right, x, y).tolist()}
    out["pgd"] = each(models, _held, some, labels, jnp.asarray(RADIUS), key, 1).tolist()
    if whole:
        radii = jnp.asarray(RADII)
        out["curve_pgd"] = [each(models, _held, some, labels, r, key, 1).tolist() for r in radii]
        out["curve_fgsm"] = [each(models, _once, some, labels, r).tolist() for r in radii]
        strong = each(models, _held, some, labels, jnp.asarray(RADIUS), key, 5)
        out["pgd_restarts"] = strong.tolist()
        near = each(models, _nearest, x[:N_NEAREST], y[:N_NEAREST])
        out["nearest_l2"] = [float(np.median(row[row > 0])) if (row > 0).any() else None for row in near]
    return out


def transferred(
    task: Task, sources: Sequence[AbstractModel], kinds: Mapping[str, Sequence[AbstractModel]]
) -> dict[str, list[float]]:
    """Accuracy of every regime, seed by seed, at points that were found by attacking another model of the seed."""
    x, y = (jnp.asarray(part[:N_ATTACKED]) for part in task.tested)
    worst = each(sources, _worst, x, y, jnp.asarray(RADIUS), jax.random.key(0))
    return {
        kind: [float(_right(m, jnp.asarray(points), y, x)) for m, points in zip(models, worst, strict=True)]
        for kind, models in kinds.items()
    }


@eqx.filter_jit
def _right(model: AbstractModel, x: Array, y: Array, own: Array | None = None) -> Array:
    right = jnp.argmax(jax.vmap(model.logits)(x), axis=1) == y
    if own is not None:
        right &= jnp.argmax(jax.vmap(model.logits)(own), axis=1) == y
    return jnp.mean(right)


@eqx.filter_jit
def _worst(
    model: AbstractModel, x: Array, y: Array, radius: Array, key: PRNGKeyArray, n_restarts: int = 1
) -> Array:
    decision = Decision(model, jnp.asarray(0.5), 1)

    def one(row: Array, label: Array, own: PRNGKeyArray) -> Array:
        return pgd(
            lambda at: -decision.margin(at, label), row, radius, own, n_steps=PGD_STEPS, n_restarts=n_restarts
        )

    return jax.vmap(one)(x, y, jax.random.split(key, x.shape[0]))


@eqx.filter_jit
def _held(model: AbstractModel, x: Array, y: Array, radius: Array, key: PRNGKeyArray, n_restarts: int) -> Array:
    return _right(model, _worst(model, x, y, radius, key, n_restarts), y, x)


@eqx.filter_jit
def _once(model: AbstractModel, x: Array, y: Array, radius: Array) -> Array:
    decision = Decision(model, jnp.asarray(0.5), 1)
    worst = jax.vmap(lambda row, label: fgsm(lambda at: -decision.margin(at, label), row, radius))(x, y)
    return _right(model, worst, y, x)


@eqx.filter_jit
def _nearest(model: AbstractModel, x: Array, y: Array) -> Array:
    """Distance to the nearest point of another decision; 0 for rows that are decided wrongly."""
    decision = Decision(model, jnp.asarray(0.5), 1)
    at = jax.vmap(
        lambda row, label: carlini_wagner(lambda z: decision.margin(z, label), row, n_rounds=5, step_size=0.03)
    )(x, y)
    return jnp.sqrt(jnp.sum((at - x) ** 2, axis=1))


def sensitivities(task: Task, models: Sequence[AbstractModel]) -> dict[str, list[float | None]]:
    """Mean share of slopes, and of integrated gradients with either baseline, on the protected columns."""
    x, y = (jnp.asarray(part[:N_ATTRIBUTED]) for part in task.tested)
    found = each(models, attributions, x, y, jax.random.key(0))
    return {
        name: [_mean(sensitivity_share(values, np.flatnonzero(task.fixed_columns))) for values in part]
        for name, part in zip(("slope", "ig_uniform", "ig_undecided"), found, strict=True)
    }


def _mean(values: np.ndarray) -> float | None:
    """Over rows that have a value; None for a model that has no slopes at all."""
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else None


@eqx.filter_jit
def attributions(model: AbstractModel, x: Array, y: Array, key: PRNGKeyArray) -> tuple[Array, Array, Array]:
    """Of the log-odds of each row's own label: slopes, and integrated gradients from U(-1, 1) and from doubt."""

    def one(row: Array, label: Array, own: PRNGKeyArray) -> tuple[Array, Array, Array]:
        def score(at: Array) -> Array:
            logits = model.logits(at)
            others = jnp.where(jnp.arange(model.n_classes) == label, -jnp.inf, logits)
            return logits[label] - jax.nn.logsumexp(others)

        start = jax.random.uniform(own, row.shape, minval=-1.0, maxval=1.0)
        doubt = undecided_baseline(model, start)
        return (
            jax.grad(score)(row),
            integrated_gradients(score, row, start),
            integrated_gradients(score, row, doubt),
        )

    return jax.vmap(one)(x, y, jax.random.split(key, x.shape[0]))


def unfaithfulness(task: Task, models: Sequence[AbstractModel], found: Found) -> list[float | None]:
    """Mean l1 distance of recourse to what the model itself holds for likely in the class, per column and seed."""
    lower, upper = (np.asarray(part) for part in (task.learned.x.min(axis=0), task.learned.x.max(axis=0)))
    out: list[float | None] = []
    for seed, model in enumerate(models):
        means = []
        for k in np.unique(found.target):
            who = found.valid[seed, -1] & (found.target == k)
            if who.any():
                samples = model_samples(model, int(k), lower, upper, n=100, n_steps=200, random_state=seed)
                means.append(implausibility(found.points[seed, -1, who], samples).mean() / len(lower))
        out.append(float(np.mean(means)) if means else None)
    return out
