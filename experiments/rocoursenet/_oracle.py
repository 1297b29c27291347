"""The ceiling: the cheapest points that many of the models accept, found with all of the models in view.

No method may do this, since it asks models of other years and places. It shows how much robust validity there is
to be had, and at what cost. The search is not exhaustive: the true ceiling lies at or above what it finds.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from experiments.rocoursenet._data import Tasks
from holdtrue.encoding import Encoder, Permits
from holdtrue.models import AbstractModel, EnsembleModel, stack

COST_WEIGHTS = (0.02, 0.3)
"""Of the searches whose findings are put together: one that looks for acceptance, one that stays near."""
MARGIN = 1.0  # log-odds beyond which a model's acceptance is worth no more to the search
LEAST = 1e-3  # log-odds by which a model must accept, so that another order of summation does not undo it
BLOCK = 32  # people searched for together
RATES = tuple(float(r) for r in np.geomspace(0.05, 200.0, 24))
"""What a share of 1 is worth in units of cost, along the front."""


class Moves(NamedTuple):
    """Ways to change one feature: ``x * keep + value``."""

    keep: Float[Array, "m d"]
    value: Float[Array, "m d"]


def moves(encoder: Encoder, n_values: int) -> Moves:
    """Every level of every category, and so many values of every number across its range."""
    permits, layout, d = Permits.of(encoder), encoder.layout, encoder.n_columns
    lower, upper = np.asarray(permits.lower), np.asarray(permits.upper)
    keep, value = [], []
    for slot in layout.numbers:
        for at in np.linspace(lower[slot.start], upper[slot.start], n_values):
            keep.append(np.arange(d) != slot.start)
            value.append(np.where(np.arange(d) == slot.start, at, 0.0))
    for group in layout.groups:
        inside = (np.arange(d) >= group.start) & (np.arange(d) < group.stop)
        for level in range(group.start, group.stop):
            keep.append(~inside)
            value.append(np.where(inside, np.where(np.arange(d) == level, upper, lower), 0.0))
    return Moves(jnp.asarray(np.array(keep), jnp.float32), jnp.asarray(np.array(value), jnp.float32))


def cheapest(
    tasks: Tasks,
    models: Sequence[AbstractModel],
    *,
    n_people: int = 100,
    n_values: int = 9,
    depth: int = 4,
    beam: int = 4,
) -> np.ndarray:
    """Least cost found for each person and number of other models that accept, the person's own always among them.

    Shape (subsets, people, models): entry ``c`` is for exactly ``c`` other models; infinite where no point was
    seen. People are the first `n_people` of each subset, evenly spaced.
    """
    ensemble, ways = stack(list(models)), moves(tasks[0].encoder, n_values)
    numbers = len(tasks[0].encoder.layout.numbers)
    features = _features(tasks[0].encoder)
    out = []
    for i, subset in enumerate(tasks):
        x = subset.few(n_people).asked.x
        padded = np.concatenate([x, np.repeat(x[:1], -len(x) % BLOCK, axis=0)])
        found = []
        for block in np.split(padded, len(padded) // BLOCK):
            both = [
                _search(ensemble, ways, features, jnp.asarray(block), jnp.asarray(i), jnp.asarray(weight), numbers,
                        depth, beam)
                for weight in COST_WEIGHTS
            ]  # fmt: skip
            found.append(np.minimum.reduce([np.asarray(costs) for costs in both]))
        out.append(np.concatenate(found)[: len(x)])
    return np.stack(out)


def _features(encoder: Encoder) -> Float[Array, "f d"]:
    """Which columns belong to each feature."""
    d = encoder.n_columns
    rows = [(np.arange(d) >= s.start) & (np.arange(d) < s.stop) for s in encoder.layout.slots]
    return jnp.asarray(np.array(rows), jnp.float32)


@eqx.filter_jit
def _search(
    ensemble: EnsembleModel,
    ways: Moves,
    features: Float[Array, "f d"],
    x: Float[Array, "p d"],
    own: Int[Array, ""],
    weight: Float[Array, ""],
    numbers: int,
    depth: int,
    beam: int,
) -> Float[Array, "p k"]:
    arrays, static = eqx.partition(ensemble.members, eqx.is_array)
    k = ensemble.n_members

    def gap(rows: Float[Array, "n d"]) -> Float[Array, "k n"]:
        def one(member: Any) -> Array:
            model: AbstractModel = eqx.combine(member, static)
            logits = jax.vmap(model.logits)(rows)
            return logits[:, 1] - logits[:, 0]

        return jax.lax.map(one, arrays)

    sign = jnp.where(gap(x)[own] >= 0, -1.0, 1.0)  # everybody wants the class they do not have
    best = jnp.full((x.shape[0], k), jnp.inf)
    front = jnp.repeat(x[:, None], beam, axis=1)
    for _ in range(depth):
        changed = front[:, :, None] * ways.keep + ways.value
        # Back to the person as they are, and half-way back in a number: what was gone too far is mended.
        back = front[:, :, None] * (1 - features) + x[:, None, None] * features
        half = (front[:, :, None] + back)[:, :, :numbers] / 2
        points = jnp.concatenate([front[:, :, None], changed, back, half], axis=2)
        points = points.reshape(x.shape[0], -1, x.shape[1])
        margin = gap(points.reshape(-1, x.shape[1])).reshape(k, x.shape[0], -1) * sign[None, :, None]
        cost = jnp.sum(jnp.abs(points - x[:, None]), axis=-1)
        yes = margin >= LEAST
        others = jnp.sum(yes, axis=0) - 1
        valid = jnp.where(yes[own], cost, jnp.inf)
        for_each = jnp.where(others[:, :, None] == jnp.arange(k), valid[:, :, None], jnp.inf)
        best = jnp.minimum(best, jnp.min(for_each, axis=1))
        lacking = jnp.mean(jnp.maximum(MARGIN - margin, 0.0), axis=0)
        front = _best(points, lacking + weight * cost, beam)
    return best


def _best(points: Float[Array, "p n d"], score: Float[Array, "p n"], beam: int) -> Float[Array, "p b d"]:
    """The best-scored points, each once: of two points with one score, one will do."""
    order = jnp.argsort(score, axis=1)
    sorted_score = jnp.take_along_axis(score, order, axis=1)
    again = jnp.diff(sorted_score, axis=1, prepend=-jnp.inf) <= 1e-6
    first = jnp.argsort(jnp.where(again, jnp.inf, sorted_score), axis=1)[:, :beam]
    chosen = jnp.take_along_axis(order, first, axis=1)
    return jnp.take_along_axis(points, chosen[:, :, None], axis=1)


def ceiling(costs: np.ndarray) -> dict[str, Any]:
    """Figures of the oracle, and its front: mean share of other models that accept against mean cost.

    For a rate `r` each person takes the point with the least ``cost - r * share``; over all rates this is the
    lower convex envelope of what can be had together.
    """
    k = costs.shape[-1]
    flat = costs.reshape(-1, k)
    n = len(flat)
    valid = np.asarray(np.isfinite(flat).any(axis=1))
    flat = flat[valid]
    share = np.arange(k) / (k - 1)
    most = np.where(np.isfinite(flat), np.arange(k), -1).max(axis=1)
    front = []
    for rate in RATES:
        chosen = np.argmin(flat - rate * share, axis=1)
        front.append([float(flat[np.arange(len(flat)), chosen].mean()), float(share[chosen].sum() / n)])
    return {
        "n_people": n,
        "validity": float(valid.mean()),
        "robust": float(share[most].sum() / n),
        "proximity": float(flat[np.arange(len(flat)), most].mean()),
        "under_all": float((most == k - 1).sum() / n),
        "nearest": float(flat.min(axis=1).mean()),
        "front": [list(p) for p in dict.fromkeys(tuple(round(v, 4) for v in p) for p in front)],
    }
