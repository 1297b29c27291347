"""Methods that learn to write recourse: trained for every subset and seed, asked in one pass, judged."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from experiments.rocoursenet._data import Tasks, alike
from experiments.rocoursenet._judge import Answer, judge, performance, wishes
from experiments.rocoursenet._train import fit_all
from holdtrue.encoding import Permits
from holdtrue.models import AbstractModel, AbstractStep, CounterNet, CounterNetModel, Data, fit_inside
from holdtrue.retraining import start_keys
from holdtrue.training import AbstractRegime, TrainingContext


@dataclass(frozen=True)
class Recipe:
    """A network and how it is trained."""

    network: CounterNet
    regime: AbstractRegime


@eqx.filter_jit
def _written(
    model: CounterNetModel, permits: Permits, x: Float[Array, "n d"], wanted: Int[Array, " n"]
) -> tuple[Float[Array, "n d"], Bool[Array, " n"]]:
    def one(row: Array, target: Array) -> tuple[Array, Array]:
        feasible = permits(row)
        return feasible.hard(model.generate(row, feasible, target))

    return jax.vmap(one)(x, wanted)


def written(tasks: Tasks, models: Sequence[AbstractModel]) -> list[Answer]:
    """Hardened recourse of every subset's people, by their own model, whether it is valid or not."""
    permits, out = Permits.of(tasks[0].encoder), []
    for subset, model, wish in zip(tasks, models, wishes(tasks, models), strict=True):
        assert isinstance(model, CounterNetModel)
        x, ok = _written(model, permits, jnp.asarray(subset.asked.x), jnp.asarray(wish))
        out.append(Answer(np.asarray(x), np.asarray(ok), wish))
    return out


def ms_per_person(tasks: Tasks, model: AbstractModel, n: int = 10_000) -> float:
    """Milliseconds that a recourse takes in a batch of so many people, compiled before."""
    subset = tasks[0]
    permits = Permits.of(subset.encoder)
    assert isinstance(model, CounterNetModel)
    rows = jnp.asarray(np.resize(subset.asked.x, (n, subset.asked.x.shape[1])))
    wanted = jnp.zeros(n, jnp.int32)
    jax.block_until_ready(_written(model, permits, rows, wanted))
    began = time.monotonic()
    jax.block_until_ready(_written(model, permits, rows, wanted))
    return 1000 * (time.monotonic() - began) / n


def trained(
    tasks: Tasks, recipes: Mapping[str, Recipe], seeds: Sequence[int], *, rows: Sequence[Data] | None = None
) -> tuple[dict[str, list[list[AbstractModel]]], float]:
    """Models of some recipes that share one compiled program, a list per seed, and the seconds that all took.

    The recipes' networks must be equal, and their regimes differ in numbers only. `rows` are those of `fit_all`.
    """
    chosen = list(recipes.values())
    began = time.monotonic()
    models = fit_all(tasks, chosen[0].network, [r.regime for r in chosen], seeds, rows=rows)
    n = len(seeds)
    grouped = {name: models[i * n : (i + 1) * n] for i, name in enumerate(recipes)}
    return grouped, time.monotonic() - began


def judged(tasks: Tasks, models: Sequence[Sequence[AbstractModel]]) -> tuple[list[Any], list[Any]]:
    """Figures of the recourse and of the predictions, a dict per seed."""
    return (
        [judge(tasks, own, written(tasks, own)) for own in models],
        [performance(tasks, own) for own in models],
    )


def curves(tasks: Tasks, recipe: Recipe, seeds: Sequence[int]) -> dict[str, list[list[float | None]]]:
    """What trainings told, epoch by epoch, for every seed in the mean over subsets (Figure 11); None where there
    was nothing."""
    rows = alike(tasks)
    n = len(rows[0].y)
    context = TrainingContext(Permits.of(tasks[0].encoder), 1, n_rows=n)
    step, n_epochs = recipe.regime.step(context), recipe.regime.epochs(n)
    told: dict[str, list[list[float | None]]] = {}
    for seed in seeds:
        build_key, fit_key = start_keys(seed)
        model = recipe.network.build(tasks[0].encoder.n_columns, 2, build_key)
        kept = _histories(model, step, rows, fit_key, n_epochs, recipe.regime.batch_size)
        for name, values in kept.items():
            seen = np.isfinite(values)
            means = np.where(seen, values, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
            own = [round(float(v), 5) if n > 0 else None for v, n in zip(means, seen.sum(axis=0), strict=True)]
            told.setdefault(name, []).append(own)
    return told


def _histories(
    model: AbstractModel, step: AbstractStep, rows: Sequence[Data], key: PRNGKeyArray, n_epochs: int, size: int
) -> dict[str, np.ndarray]:
    """By name, what the training of every subset told, an epoch a column; side by side on an accelerator."""

    def one(data: Data) -> dict[str, Array]:
        history = fit_inside(model, step, data, key, n_epochs=n_epochs, batch_size=min(size, data.x.shape[0]))[1]
        return {"loss": history.loss, **history.notes}

    if jax.default_backend() == "cpu":
        found = [one(data) for data in rows]
        return {name: np.stack([np.asarray(own[name]) for own in found]) for name in found[0]}
    stacked: Data = jax.tree.map(lambda *leaves: jnp.stack(leaves), *rows)
    return {name: np.asarray(values) for name, values in eqx.filter_jit(jax.vmap(one))(stacked).items()}
