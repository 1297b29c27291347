"""Methods that see a model through a linear one: which, what it must learn, and what it says near many people."""

from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from holdtrue.encoding import AnyArray, Norm, distance
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models import Decision, LinearModel, Neighbourhood, local_model
from holdtrue.search import Problem, Problems

Surrogate = Literal["auto", "gradient", "lime"]
BLOCK = 64  # people whose surrogates are computed, and whose proposals are asked, together


def kind_of(method: Any) -> Literal["linear", "gradient", "lime"]:
    """How a fitted method sees its model: as it is where that is linear, else by a surrogate."""
    capabilities = method.predictor_.capabilities
    if method.surrogate == "lime" or (method.surrogate == "auto" and "differentiable" not in capabilities):
        return "lime"
    return "linear" if "linear" in capabilities else "gradient"


def surrogate_statistics(method: Any, rows: np.ndarray) -> dict[str, np.ndarray]:
    """What the surrogate must learn from training rows; says where it cannot serve the model."""
    name = type(method).__name__
    if method.surrogate == "gradient" and "differentiable" not in method.predictor_.capabilities:
        model = type(method.predictor_.decision.model).__name__
        raise CapabilityError(
            f"{name}: surrogate='gradient' needs a differentiable model; got {model}. Use surrogate='lime'."
        )
    if kind_of(method) != "lime":
        return {}
    if len(rows) == 0:
        raise DataError(f"{name}: LIME needs training rows; got X=None. Pass the table the model learned from.")
    return Neighbourhood.statistics(method.predictor_.encoder, rows)


def neighbourhood(method: Any) -> Neighbourhood | None:
    """Where a fitted method's LIME draws neighbours; None where it takes tangents."""
    if "lime_share" not in method.state_:
        return None
    return Neighbourhood.of(method.predictor_.encoder, method.state_, method.spread)


class Local(eqx.Module):
    """Linear scores of a model near people's proposals, and what the model itself says about them."""

    decision: Decision
    around: Neighbourhood | None
    n_samples: int = eqx.field(static=True)

    def scores(self, problems: Problems, rows: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Per person, rows and constants of the scores that must not be negative: one per class to beat."""
        weight, bias = (np.asarray(v, np.float64)[: len(rows)] for v in self._fit(_pick(problems, rows), _pad(at)))
        target = problems.target[rows]
        people = np.arange(len(rows))
        if self.decision.n_classes == 2:
            sign = np.where(target == self.decision.favourable, 1.0, -1.0)
            other = 1 - self.decision.favourable
            threshold = float(self.decision.threshold)
            gap = weight[:, self.decision.favourable] - weight[:, other]
            constant = bias[:, self.decision.favourable] - bias[:, other] - np.log(threshold / (1 - threshold))
            return sign[:, None, None] * gap[:, None], (sign * constant)[:, None]
        others = np.stack([np.delete(np.arange(self.decision.n_classes), t) for t in target])
        gaps = weight[people, target][:, None] - weight[people[:, None], others]
        return gaps, bias[people, target][:, None] - bias[people[:, None], others]

    def ask(
        self, problems: Problems, rows: np.ndarray, at: np.ndarray, weights: np.ndarray, norm: Norm
    ) -> tuple[np.ndarray, ...]:
        """Hardened points, the model's margin there (minus infinity where there is none) and their cost."""
        out = self._ask(_pick(problems, rows), _pad(at), jnp.asarray(weights), norm)
        return tuple(np.array(part)[: len(rows)] for part in out)

    @eqx.filter_jit
    def _fit(self, problems: Problems, at: AnyArray) -> tuple[Array, Array]:
        def one(problem: Problem, x: Array) -> LinearModel:
            return local_model(self.decision.model, x, problem.key, self.around, self.n_samples)

        fitted = problems.each(one, at)
        return fitted.weight, fitted.bias

    @eqx.filter_jit
    def _ask(self, problems: Problems, at: AnyArray, weights: Array, norm: Norm) -> tuple[Array, Array, Array]:
        def one(problem: Problem, proposal: Array) -> tuple[Array, Array, Array]:
            x, ok = problem.feasible.hard(proposal)
            margin = jnp.where(ok, self.decision.margin(x, problem.target), -jnp.inf)
            measured = problem.feasible.measured
            return x, margin, distance(measured(x), measured(problem.x), norm, weights)

        return problems.each(one, at)


def _size(n: int) -> int:
    """Blocks of two sizes, so that compilations are few."""
    return 8 if n <= 8 else BLOCK


def _pad(at: np.ndarray) -> np.ndarray:
    return np.concatenate([at, np.repeat(at[:1], _size(len(at)) - len(at), axis=0)]).astype(np.float32)


def _pick(problems: Problems, rows: np.ndarray) -> Problems:
    padded = np.concatenate([rows, np.repeat(rows[:1], _size(len(rows)) - len(rows))])
    return problems.take(padded)
