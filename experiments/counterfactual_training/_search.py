"""Recourse for the same people under every model, and how plausible and dear it is."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from experiments._task import Task
from experiments.counterfactual_training._settings import ENERGY_WEIGHTS, Protocol
from experiments.counterfactual_training._task import people, permits_in_use, rows_of
from holdtrue.encoding import Permits
from holdtrue.metrics import implausibility
from holdtrue.models import AbstractModel, Decision, n_cores, stack
from holdtrue.search import AbstractSampler


@dataclass(frozen=True)
class Found:
    """Recourse of people (last axis but columns) for every seed and energy weight.

    Attributes
    ----------
    points : (seeds, weights, people, d)
    asked : (seeds, people): whether the model does not decide for the target already.
    valid : (seeds, weights, people): of the asked.
    implausibility, cost : (seeds, weights, people); NaN where there is none.
    """

    points: np.ndarray
    asked: np.ndarray
    valid: np.ndarray
    implausibility: np.ndarray
    cost: np.ndarray
    target: np.ndarray

    def part(self, which: slice) -> "Found":
        """The same of some models."""
        whole = (self.points, self.asked, self.valid, self.implausibility, self.cost)
        return Found(*(values[which] for values in whole), target=self.target)

    @property
    def validity(self) -> float:
        """Share of valid recourse among those asked."""
        asked = np.broadcast_to(self.asked[:, None], self.valid.shape)
        return float(self.valid[asked].mean()) if asked.any() else float("nan")


def search(
    task: Task,
    models: Sequence[AbstractModel],
    protocol: Protocol,
    n_people: int,
    *,
    held: bool = False,
    maturity: float | None = None,
) -> Found:
    """Search for everybody under all models of a regime."""
    x, target = people(task, n_people)
    permits = permits_in_use(task, held, wide=not protocol.harden)
    rows, aims = jnp.asarray(x), jnp.asarray(target)
    parts = []
    for weight in ENERGY_WEIGHTS:
        sampler = protocol.sampler(weight, maturity)
        parts.append(each(models, walk, sampler, permits, rows, aims))
    ends, needs, ripe, decided = (np.stack([p[i] for p in parts], axis=1) for i in range(4))
    asked = needs[:, 0]
    # Hardened, a point counts only where the search itself saw it accepted; the paper counts the last iterate.
    valid = asked[:, None] & (ripe if protocol.harden else decided)
    far = np.full(valid.shape, np.nan)
    for k in np.unique(target):
        own, wanted = target == k, rows_of(task, k)
        chosen = valid & own
        if chosen.any():
            far[chosen] = implausibility(ends[chosen], wanted)
    cost = np.where(valid, np.abs(ends - x).sum(axis=-1), np.nan)
    return Found(ends, asked, valid, far, cost, target)


@eqx.filter_jit
def walk(
    model: AbstractModel, sampler: AbstractSampler, permits: Permits, x: Array, target: Array
) -> tuple[Array, Array, Array, Array]:
    decision = Decision(model, jnp.asarray(0.5), 1)

    def one(row: Array, aim: Array) -> tuple[Array, Array, Array, Array]:
        path = sampler(decision, permits(row), aim, jax.random.key(0))
        reached = decision.is_target(path.recourse, aim)
        return path.recourse, ~decision.is_target(row, aim), path.mature, reached

    return jax.vmap(one)(x, target)


def each(models: Sequence[AbstractModel], run: Callable[..., Any], *args: Any) -> Any:
    """What `run(model, *args)` gives for every model, stacked: at once on an accelerator, else by threads.

    `run` is a compiled function of a module, so that all regimes of a dataset share its program.
    """
    if jax.default_backend() != "cpu":
        return jax.tree.map(np.asarray, _at_once(run, stack(list(models)).members, args))
    first = jax.tree.map(np.asarray, run(models[0], *args))  # compiled once, before the threads start
    with ThreadPoolExecutor(n_cores()) as pool:
        rest = list(pool.map(lambda m: jax.tree.map(np.asarray, run(m, *args)), models[1:]))
    return jax.tree.map(lambda *leaves: np.stack(leaves), first, *rest)


@eqx.filter_jit
def _at_once(run: Callable[..., Any], members: AbstractModel, args: tuple) -> Any:
    return eqx.filter_vmap(lambda member: run(member, *args))(members)
