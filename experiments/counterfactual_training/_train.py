"""All models of a dataset: every regime, every seed, in one compiled program per regime."""

from collections.abc import Collection, Mapping, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from experiments._task import Task
from experiments.counterfactual_training._settings import AS_PRINTED, HELD, architecture
from experiments.counterfactual_training._task import training_permits
from holdtrue.models import AbstractArchitecture, AbstractModel, batch_logits, fit_many, stack
from holdtrue.retraining import start_keys
from holdtrue.training import AbstractRegime, ContrastStep, TrainingContext


def context_of(task: Task, kind: str) -> TrainingContext:
    """What training may know of the task; kinds that end in `HELD` hold the protected features.

    The regimes of the paper have its domain; ours keeps levels where people can be.
    """
    return TrainingContext(training_permits(task, kind.endswith(HELD), relaxed=kind in AS_PRINTED), 1)


def trained(
    task: Task,
    jobs: Sequence[tuple[str, AbstractRegime]],
    n_seeds: int,
    model: AbstractArchitecture | None = None,
) -> list[list[AbstractModel]]:
    """Models of regimes that differ in their numbers only, a list per regime, a model per seed.

    Models of one seed share first weights and shuffles.
    """
    seeds = range(n_seeds)
    n_inputs, kind = task.encoder.n_columns, model or architecture()
    starts = [kind.build(n_inputs, task.n_classes, start_keys(seed)[0]) for seed in seeds]
    steps = [regime.step(context_of(task, kind)) for kind, regime in jobs]
    first = jobs[0][1]
    models = fit_many(
        starts * len(jobs),
        [step for step in steps for _ in seeds],
        [task.data] * (n_seeds * len(jobs)),
        [start_keys(seed)[1] for seed in seeds] * len(jobs),
        n_epochs=first.n_epochs,
        batch_size=first.batch_size,
    )
    jax.block_until_ready(jax.tree.leaves(eqx.filter(models, eqx.is_array)))
    return [models[i : i + n_seeds] for i in range(0, len(models), n_seeds)]


def ensembles(models: Sequence[AbstractModel]) -> list[AbstractModel]:
    """For every seed the ensemble of all other seeds' models."""
    return [stack([m for j, m in enumerate(models) if j != i]) for i in range(len(models))]


def matured(task: Task, kind: str, regime: AbstractRegime, models: Sequence[AbstractModel]) -> list[float] | None:
    """Share of searches that mature when training has ended; None where the regime does not search."""
    step = regime.step(context_of(task, kind))
    if not isinstance(step, ContrastStep) or step.marginal:
        return None
    out = []
    for seed, model in enumerate(models):
        out.append(float(_matured(step, model, task.data, jax.random.key(seed))))
    return out


@eqx.filter_jit
def _matured(step: ContrastStep, model: AbstractModel, data: object, key: jax.Array) -> jax.Array:
    ready = step.prepare(data, key)  # type: ignore[arg-type]
    found, _ = ready.contrasts(model, data, 500, key)  # type: ignore[arg-type]
    return found.mature.mean()


def largest_logit(models: Sequence[AbstractModel], x: np.ndarray) -> list[float]:
    """Largest logit in size on test rows, per model."""
    return [float(jnp.abs(batch_logits(m, jnp.asarray(x))).max()) for m in models]


def groups(chosen: Mapping[str, AbstractRegime], names: Collection[str]) -> list[list[str]]:
    """Regimes that differ in their numbers only, so that one program trains them."""
    numbers = {"divergence_weight", "adversarial_weight", "ridge_weight", "step_size"}
    found: dict[str, list[str]] = {}
    for name in names:
        regime = chosen[name]
        rules = {k: v for k, v in sorted(regime.get_params().items()) if k not in numbers}
        found.setdefault(f"{type(regime).__name__} {rules}", []).append(name)
    return list(found.values())
