"""What methods share that look for a point near another method's recourse which meets a criterion."""

from typing import Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from sklearn.utils import check_random_state

from holdtrue.batch import Predictor, map_rows
from holdtrue.encoding import norm_weights
from holdtrue.methods._base import AbstractMethod
from holdtrue.methods._with_base import AbstractClimbingMethod
from holdtrue.models import Decision
from holdtrue.search import (
    POLISH_STEPS,
    AbstractCriterion,
    AbstractProposals,
    AbstractStability,
    ProposalSolver,
    StableSolver,
)

BALL_STEPS, GROWTH = 10, 1.2  # of the ball that a climb goes up in: in 600 steps from any start to anywhere
AT_ONCE = 32  # rows whose neighbours are asked about together: each has many


def climbing(method: AbstractMethod, criterion: AbstractCriterion, n_steps: int) -> StableSolver:
    """Follow the criterion's gradient in a ball that grows; for differentiable models."""
    return StableSolver(
        decision=method.predictor_.decision,
        criterion=criterion,
        cost_weights=jnp.asarray(norm_weights(method.predictor_.encoder, method.norm)),
        n_steps=jnp.asarray(n_steps + POLISH_STEPS),
        ball_steps=jnp.asarray(BALL_STEPS),
        growth=jnp.asarray(GROWTH, jnp.float32),
        norm=method.norm,
    )


def proposing(
    method: AbstractClimbingMethod, criterion: AbstractCriterion, proposals: AbstractProposals, n_steps: int
) -> ProposalSolver:
    """Ask the criterion about proposals; for any model."""
    return ProposalSolver(
        decision=method.predictor_.decision,
        criterion=criterion,
        proposals=proposals,
        cost_weights=jnp.asarray(norm_weights(method.predictor_.encoder, method.norm)),
        n_steps=jnp.asarray(n_steps),
        norm=method.norm,
    )


class Noisy(Protocol):
    """A method that adds noise to rows."""

    predictor_: Predictor
    sigma: float
    n_samples: int
    random_state: int | None


def noise_of(method: Noisy) -> Array:
    """Gaussian noise of a method, in encoded units: the same for everyone, from its seed alone."""
    rng = check_random_state(0 if method.random_state is None else method.random_state)
    shape = (int(method.n_samples), method.predictor_.encoder.n_columns)
    return jnp.asarray(method.sigma * rng.standard_normal(shape), jnp.float32)


def stability_of(criterion: AbstractStability, decision: Decision, x: np.ndarray) -> np.ndarray:
    """Stability of encoded rows, for each class that may be wanted: shape (rows, classes)."""
    classes = jnp.arange(decision.n_classes)

    @eqx.filter_jit
    def ask(criterion: AbstractStability, decision: Decision, rows: Array) -> Array:
        def one(row: Array) -> Array:
            return jax.vmap(lambda wanted: criterion.of(decision, wanted, row))(classes)

        return jax.lax.map(one, rows, batch_size=AT_ONCE)

    return map_rows(lambda rows: ask(criterion, decision, rows), np.asarray(x, np.float32))
