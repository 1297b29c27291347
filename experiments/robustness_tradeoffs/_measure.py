"""What is measured of one model on one split: who is refused, whether a yes exists, its cost, who finds it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from experiments._task import Task
from experiments.robustness_tradeoffs._exists import (
    best_hardened,
    climb,
    coefficients,
    exists,
    linear_cost,
)
from experiments.robustness_tradeoffs._settings import BUDGETS, N_METHOD
from experiments.robustness_tradeoffs._sweep import number_columns, space
from holdtrue.encoding import Norm
from holdtrue.methods import AbstractMethod, AbstractSolverMethod, ElasticNet
from holdtrue.metrics import AttackNorm, robust_accuracy
from holdtrue.models import AbstractModel, LinearModel, batch_logits
from holdtrue.schema import Table
from holdtrue.search import CrossEntropy, GradientSolver

COMMON_RADIUS = 0.1  # at which every model's robust accuracy is read, beside its own radius
NOISE = 0.05  # of every number, for Figure 16


class FirstCrossing(AbstractSolverMethod):
    """SCFE as CARLA runs it: Adam on cross-entropy + cost_weight l1, ended at the first accepted point."""

    needs: ClassVar[frozenset[str]] = frozenset({"differentiable"})

    def __init__(
        self,
        *,
        n_steps: int = BUDGETS[-1],
        cost_weight: float = 0.01,
        norm: Norm = "l1",
        random_state: int | None = None,
    ) -> None:
        self.n_steps = n_steps
        self.cost_weight = cost_weight
        self.norm: Norm = norm
        self.random_state = random_state

    def solver(self) -> GradientSolver:
        """Adam of step 0.01 with a fixed cost weight."""
        f32 = jnp.float32
        return GradientSolver(
            decision=self.predictor_.decision,
            loss=CrossEntropy(),
            cost_weights=jnp.ones(self.predictor_.encoder.n_columns),
            n_steps=jnp.asarray(self.n_steps),
            step_size=jnp.asarray(0.01, f32),
            cost_weight=jnp.asarray(self.cost_weight, f32),
            decay=jnp.asarray(1.0, f32),
            patience=jnp.asarray(10**6),
            norm=self.norm,
            enough=jnp.asarray(0.0, f32),
            follow=False,
        )


def nearest_method() -> ElasticNet:
    """The nearest accepted point where there is no closed form; on linear models within 0.1% of it in the mean."""
    return ElasticNet(norm="l2", first_weight=0.1, n_rounds=12, step_size=0.05)


@dataclass(frozen=True)
class Judged:
    """Figures of one model on one split, and what later comparisons need of single people.

    Attributes
    ----------
    figures : dict
        Plain numbers; None where there is nobody to measure.
    refused : array of bool, over people.
    cost : array, over people: of the nearest accepted point in [0, 1]^d; NaN where there is none or no need.
    points : array, over people: where SCFE ended; NaN where it found nothing.
    """

    figures: dict[str, Any]
    refused: np.ndarray
    cost: np.ndarray
    points: np.ndarray


def judge(
    task: Task,
    model: AbstractModel,
    radius: float,
    *,
    norm: AttackNorm = "linf",
    movable: np.ndarray | None = None,
    methods: Mapping[str, AbstractMethod] | None = None,
    whole: bool = True,
) -> Judged:
    """Measure one model; `methods` have been fitted to another model of the split; not `whole`: no searches but
    the nearest point."""
    predictor = task.predictor(model)
    decision = predictor.decision
    tested, x = task.tested, task.asked.x
    scores = predictor.logits_of(tested.x)
    accepted = scores[:, 1] - scores[:, 0] >= 0
    refused = ~accepted[: len(x)]
    answer = exists(model, decision, tested.x, bool(accepted.any()))
    attack = {"norm": norm, "movable": movable}
    figures: dict[str, Any] = {
        "accuracy": float((accepted == (tested.y == 1)).mean()),
        "robust": robust_accuracy(decision, tested.x, tested.y, radius, **attack),
        "robust_common": robust_accuracy(decision, tested.x, tested.y, COMMON_RADIUS, **attack),
        "favourable": float(accepted.mean()),
        "n_people": len(x),
        "n_refused": int(refused.sum()),
        "exists": answer,
    }
    cost, points = np.full(len(x), np.nan), np.full(x.shape, np.nan)
    figures |= _shares(task, model)
    if refused.any() and answer == "yes":
        people = x[refused]
        cost[refused] = _nearest(task, model, people)
        figures["near"] = float(np.isfinite(cost[refused]).mean())
        figures["near_cost"] = _mean(cost[refused])
        figures |= _held(task, model, people)
        if whole:
            found, points[refused] = _scfe(task, model, people)
            figures |= found
            if methods is not None:
                figures["methods"] = _methods(task, model, refused, methods)
    return Judged(figures, refused, cost, points)


def _mean(values: np.ndarray) -> float | None:
    values = np.asarray(values, np.float64)
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else None


def _nearest(task: Task, model: AbstractModel, people: np.ndarray) -> np.ndarray:
    """l2 distance to the nearest accepted point of [0, 1]^d, NaN where none is found: exact for linear models."""
    if isinstance(model, LinearModel):
        cost = linear_cost(*coefficients(model), people.astype(np.float64))
        return np.where(np.isfinite(cost), cost, np.nan)
    own = space(task, model)
    nearest = own.recourse(own.fitted(nearest_method()), people)
    return np.where(nearest.found, nearest.cost, np.nan)


def _scfe(task: Task, model: AbstractModel, people: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
    """Validity of SCFE over its budget, relaxed, and hardened afterwards."""
    own = space(task, model)
    found = own.recourse(own.fitted(FirstCrossing()), people)
    x, ok = found.x, found.found
    predictor = task.predictor(model)
    hard = np.zeros(len(x), bool)
    if ok.any():
        hard[ok] = predictor.decide(Table(task.encoder.decode(x[ok]), int(ok.sum()))) == 1
    # Where a slope is smaller than the cost's, the search never moves: without a cost it is budget alone.
    eager = own.recourse(own.fitted(FirstCrossing(cost_weight=0.0)), people)
    within = [ok & (found.n_steps <= budget) for budget in BUDGETS]
    points = np.where(ok[:, None], x, np.nan)
    noisy = np.random.default_rng(0).normal(size=(20, *x.shape)) * NOISE * number_columns(task)
    asked = predictor.logits_of((x[None] + noisy)[:, ok].reshape(-1, x.shape[1])) if ok.any() else None
    return {
        "scfe": [float(w.mean()) for w in within],
        "scfe_without_cost": [float((eager.found & (eager.n_steps <= b)).mean()) for b in BUDGETS],
        "scfe_hardened": [float((w & hard).mean()) for w in within],
        "scfe_cost": _mean(np.linalg.norm(points - people, axis=1)),
        "noise": None if asked is None else float((asked[:, 1] >= asked[:, 0]).mean()),
    }, points


def _methods(
    task: Task, model: AbstractModel, refused: np.ndarray, methods: Mapping[str, AbstractMethod]
) -> dict[str, Any]:
    """The four methods in points a person could be at: one category each, whole numbers whole."""
    people = task.X.iloc[np.flatnonzero(refused)[:N_METHOD]]
    predictor, out = task.predictor(model), {}
    for name, method in methods.items():
        plan = method.restore(predictor, method.state_).recourse(people)
        ok = plan.found & plan.valid
        out[name] = {"valid": float(ok.mean()), "cost": _mean(plan.cost[ok]), "n": len(people)}
    return out


def _held(task: Task, model: AbstractModel, people: np.ndarray) -> dict[str, Any]:
    """Share of the refused for whom a yes exists while what nobody can change is held; exact for linear models."""
    movable = ~task.fixed_columns
    if isinstance(model, LinearModel):
        weight, bias = coefficients(model)
        rows = people.astype(np.float64)
        every = np.ones(len(movable), bool)
        layout = task.encoder.layout
        return {
            "held": float(np.isfinite(linear_cost(weight, bias, rows, movable)).mean()),
            "held_hardened": float((best_hardened(weight, bias, rows, layout, movable) >= 0).mean()),
            "free_hardened": float((best_hardened(weight, bias, rows, layout, every) >= 0).mean()),
        }
    best = climb(task.predictor(model).decision, jnp.asarray(people), jnp.asarray(movable, jnp.float32))
    return {"held": float((np.asarray(best) >= 0).mean())}


def _shares(task: Task, model: AbstractModel) -> dict[str, float | None]:
    """Shares of the mean absolute slope: on what nobody can change, and on numbers that people can change."""
    slope = np.asarray(_slopes(model, jnp.asarray(task.tested.x[:200])), np.float64)
    total = slope.sum()
    if total < 1e-3:  # no weights left to share out
        return {"slope": float(total), "on_fixed": None, "on_actionable_numbers": None}
    return {
        "slope": float(total),
        "on_fixed": float(slope[task.fixed_columns].sum() / total),
        "on_actionable_numbers": float(slope[number_columns(task) & ~task.fixed_columns].sum() / total),
    }


@eqx.filter_jit
def _slopes(model: AbstractModel, x: Any) -> Any:
    def odds(row: Any) -> Any:
        logits = model.logits(row)
        return logits[1] - logits[0]

    return jnp.mean(jnp.abs(jax.vmap(jax.grad(odds))(x)), axis=0)


def accepts(model: AbstractModel, x: np.ndarray) -> np.ndarray:
    """Which encoded rows a model accepts."""
    logits = np.asarray(batch_logits(model, jnp.asarray(x, jnp.float32)))
    return logits[:, 1] >= logits[:, 0]
