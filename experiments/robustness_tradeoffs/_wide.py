"""The infinitely wide network: plain, and fitted to attacked rows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from experiments._task import Rows, Task
from experiments.robustness_tradeoffs._compare import compared
from experiments.robustness_tradeoffs._measure import Judged, judge
from holdtrue.metrics import pgd
from holdtrue.models import NTK, AbstractModel, Data, Decision

N_ROWS, N_PEOPLE, BETA = 800, 100, 1.0
WIDE_RADII = (0.0, 0.05, 0.1, 0.2)


def kernel_models(
    tasks: Sequence[Task], networks: Sequence[Sequence[AbstractModel]], radii: Sequence[float]
) -> dict[str, Any]:
    """Figures of kernel models whose robust version is fitted to rows attacked in two ways.

    The paper's robust kernel model learns from attacked rows X_R and does not say whose attack: that on the plain
    kernel model, or that on the adversarially trained network of the same radius (`networks`, a list per radius).
    """
    wide = [radius for radius in WIDE_RADII if radius in radii]
    out = {}
    for name in ("attacked as the plain kernel model", "attacked as the robust network"):
        judged: list[list[Judged]] = []
        for i, task in enumerate(tasks):
            few = jax.tree.map(lambda part: part[:N_ROWS], task.data)
            plain = _solved(few)
            own = []
            for radius in wide:
                model = plain
                if radius > 0:
                    victim = plain if "plain" in name else networks[list(radii).index(radius)][i]
                    model = _solved(few._replace(x=attacked(victim, few, jnp.asarray(radius))))
                own.append(judge(_first(task), model, radius, whole=False))
            judged.append(own)
        out[name] = compared(judged, wide)
    return out


def _first(task: Task) -> Task:
    """The first people alone: a kernel model is slow to ask."""
    return replace(task, asked=Rows(task.asked.x[:N_PEOPLE], task.asked.y[:N_PEOPLE]), X=task.X.iloc[:N_PEOPLE])


def _solved(data: Data) -> AbstractModel:
    model = NTK(beta=BETA).build(data.x.shape[1], 2, jax.random.key(0))
    return model.solve(data, jax.random.key(0))[0]


@eqx.filter_jit
def attacked(model: AbstractModel, data: Data, radius: Any) -> Any:
    """Training rows moved against their label; a random start, since a kernel model has a kink at its own rows."""
    decision = Decision(model, jnp.asarray(0.5), 1)
    keys = jax.random.split(jax.random.key(0), data.x.shape[0])

    def one(row: Any, label: Any, key: Any) -> Any:
        return pgd(lambda at: -decision.margin(at, label), row, radius, key)

    return jax.vmap(one)(data.x, data.y, keys)
