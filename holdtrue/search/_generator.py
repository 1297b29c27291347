"""Recourse in one pass: a model's own generator proposes, and is asked once."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from holdtrue.encoding import Norm
from holdtrue.models import CounterNetModel, Decision
from holdtrue.search._problem import Problem
from holdtrue.search._solver import AbstractSolver, AnyState


class GeneratorSolver(AbstractSolver):
    """One step: generate, harden, ask. What the model does not accept is no recourse."""

    decision: Decision
    cost_weights: Float[Array, " d"]
    n_steps: Int[Array, ""]
    norm: Norm = eqx.field(static=True)

    def start(self, problem: Problem) -> None:
        """Nothing to begin with."""

    def step(self, problem: Problem, state: AnyState) -> AnyState:
        """Offer what the generator writes."""
        model = self.decision.model
        assert isinstance(model, CounterNetModel)
        x, ok = problem.feasible.hard(model.generate(problem.x, problem.feasible, problem.target))
        state = self.offer(problem, state, x, self.decision.margin(x, problem.target), ok)
        return eqx.tree_at(lambda s: s.done, state, jnp.asarray(True))
