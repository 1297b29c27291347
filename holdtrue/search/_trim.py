"""What a change is held against before it is taken back."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from holdtrue.encoding import Norm
from holdtrue.models import Decision
from holdtrue.search._losses import log_odds
from holdtrue.search._problem import Problem
from holdtrue.search._solver import AbstractPriced


class Trimmer(AbstractPriced):
    """A decision and a price, asked about a recourse with some of its changes taken back.

    With `required`, the log-odds of the wanted class must reach that too.
    """

    decision: Decision
    cost_weights: Float[Array, " d"]
    norm: Norm = eqx.field(static=True)
    required: Float[Array, ""] | None = None

    def tried(
        self, problem: Problem, x: Float[Array, " d"]
    ) -> tuple[Float[Array, " m"], Bool[Array, ""], Float[Array, ""], Float[Array, ""]]:
        """What a point has to spare, whether it keeps the limits, its price, and its cost as an option.

        The price is without what a further option pays for being like those before it: that is no reason to change
        more. The cost is infinite for a point that is no option of its own.
        """
        kept = problem.feasible.satisfied(x)
        return self._spares(problem, x), kept, self.distance(x, problem), self.cost(x, problem)

    def _spares(self, problem: Problem, x: Float[Array, " d"]) -> Float[Array, " m"]:
        """What a point has beyond what is asked of it, in logits; of a panel, also what the model itself has."""
        model = self.decision.model
        logits = model.logits(x)
        spare = self.decision.margin_of(logits, problem.target)
        if self.required is not None:
            spare = jnp.minimum(spare, log_odds(logits, problem.target) - self.required)
        if model.alone is model:
            return spare[None]
        return jnp.stack([spare, self.decision.of(model.alone).margin(x, problem.target)])
