"""Search by proposals: points drawn from somewhere, round by round, until one of them meets a criterion."""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from holdtrue.encoding import Norm
from holdtrue.models import Decision
from holdtrue.search._candidates import candidate_costs
from holdtrue.search._criteria import AbstractCriterion
from holdtrue.search._problem import Problem
from holdtrue.search._solver import CLEARANCE, AbstractSolver, AnyState
from holdtrue.search._space import RowSpace
from holdtrue.search._stable import FAR

AT_ONCE = 16  # ends of which the criterion is asked together, to keep memory flat in their number
ALONE = 512  # rows of a round from which on people are searched for one by one
SHELLS = 1  # folded into a person's key, so that shells are not those that the base has drawn


class AbstractProposals(eqx.Module):
    """Where a search looks, in rounds."""

    @property
    @abstractmethod
    def n_points(self) -> int:
        """Points of a round."""

    @abstractmethod
    def begin(self, solver: "ProposalSolver", problem: Problem) -> PyTree:
        """Return what is worked out once for a person."""

    @abstractmethod
    def points(
        self, problem: Problem, own: PyTree, at: Int[Array, ""]
    ) -> tuple[Float[Array, "m d"], Bool[Array, " m"]]:
        """Return the points of a round, to be hardened, and which of them count."""

    @abstractmethod
    def over(self, problem: Problem, own: PyTree, at: Int[Array, ""]) -> Bool[Array, ""]:
        """Whether nothing comes after this round."""


class ProposalSolver(AbstractSolver):
    """Ask the criterion about every proposal of a round, and about ``problem.start``; end with who first meets it.

    Of those in a round that meet it the cheapest is taken. Where none ever does, the valid point that lacks least
    is kept. Needs no gradient.
    """

    decision: Decision
    criterion: AbstractCriterion
    proposals: AbstractProposals
    cost_weights: Float[Array, " d"]
    n_steps: Int[Array, ""]
    norm: Norm = eqx.field(static=True)

    @property
    def n_asked(self) -> int:
        """What the criterion asks about all points of a round."""
        return (1 + self.proposals.n_points) * self.criterion.n_asked

    @property
    def n_lanes(self) -> int | None:
        """One where a round is large: whenever somebody is done, everybody in a slot would be begun anew."""
        return 1 if self.n_asked >= ALONE and not self.on_host else None

    @property
    def on_host(self) -> bool:
        """Whether the model or the criterion calls back to Python."""
        return super().on_host or self.criterion.on_host

    def start(self, problem: Problem) -> PyTree:
        """Work out what the proposals need."""
        return self.proposals.begin(self, problem)

    def step(self, problem: Problem, state: AnyState) -> AnyState:
        """Ask about one round."""
        points, counts = self.proposals.points(problem, state.own, state.n_steps)
        points = jnp.concatenate([problem.start[None], points])
        x, ok = jax.vmap(problem.feasible.hard)(points)
        margins = jax.vmap(lambda row: self.decision.margin(row, problem.target))(x)
        valid = ok & jnp.append(True, counts) & (margins >= CLEARANCE)
        spare = self._spare(problem, x, valid)
        met = valid & (spare >= CLEARANCE)
        lacking = 1 + jnp.maximum(-spare, 0.0)
        value = jax.vmap(lambda row: self.cost(row, problem))(x) + jnp.where(met, 0.0, FAR * lacking)
        best = jnp.argmin(jnp.where(valid, value, jnp.inf))
        state = self.offer(problem, state, x[best], margins[best], valid[best], value[best])
        over = jnp.any(met) | self.proposals.over(problem, state.own, state.n_steps)
        return eqx.tree_at(lambda s: s.done, state, state.done | over)

    def _spare(self, problem: Problem, x: Float[Array, "m d"], valid: Bool[Array, " m"]) -> Float[Array, " m"]:
        """What the criterion has to spare at the valid points; of the others it is not asked, and they have none.

        A criterion may ask about hundreds of neighbours of each point, and most points of a shell are refused.
        """
        n, block = x.shape[0], min(AT_ONCE, x.shape[0])
        order = jnp.argsort(~valid, stable=True)
        n_valid = jnp.sum(valid)

        def ask(carry: tuple[Array, Array]) -> tuple[Array, Array]:
            first, spare = carry
            at = order[jnp.minimum(first + jnp.arange(block), n - 1)]
            seen = jax.vmap(lambda row: self.criterion(self.decision, problem, row).spare)(x[at])
            return first + block, spare.at[at].set(seen)

        begun = jnp.asarray(0), jnp.full(n, -jnp.inf)
        return jax.lax.while_loop(lambda carry: carry[0] < n_valid, ask, begun)[1]


# ---- where to look ----------------------------------------------------------------------------------------


class Ends(NamedTuple):
    """The points that a person moves towards, and which of them count."""

    points: Float[Array, "m d"]
    counts: Bool[Array, " m"]


class Lines(AbstractProposals):
    """Points on the way from ``problem.start`` to the nearest rows, all at one share of it in a round.

    A row is what the person could make of it. Of the `n_candidates` nearest the criterion is asked first: the ways
    lead to the `n_neighbours` nearest that meet it, and to others where those are fewer.

    Attributes
    ----------
    rows : where ways may lead.
    counts : whether a row is worth moving to, for each wanted class.
    """

    rows: Float[Array, "m d"]
    counts: Bool[Array, "m k"]
    n_candidates: int = eqx.field(static=True)
    n_neighbours: int = eqx.field(static=True)
    n_shares: int = eqx.field(static=True)

    @property
    def n_points(self) -> int:
        """One on each way."""
        return self.n_neighbours

    def begin(self, solver: "ProposalSolver", problem: Problem) -> Ends:
        """Find the rows nearest to the start that the person could become like."""
        costs = candidate_costs(solver, about_start(problem), self.rows, self.counts[:, problem.target])
        nearness, nearest = jax.lax.top_k(-costs, self.n_candidates)
        ends, _ = jax.vmap(problem.feasible.hard)(self.rows[nearest])
        spare = jax.lax.map(
            lambda end: solver.criterion(solver.decision, problem, end).spare, ends, batch_size=AT_ONCE
        )
        # They are in order of distance, so the first that meet it are the nearest.
        late = jnp.where(spare >= CLEARANCE, 0, self.n_candidates)
        _, kept = jax.lax.top_k(-(late + jnp.arange(self.n_candidates)), self.n_neighbours)
        return Ends(ends[kept], jnp.isfinite(nearness[kept]))

    def points(
        self, problem: Problem, own: Ends, at: Int[Array, ""]
    ) -> tuple[Float[Array, "m d"], Bool[Array, " m"]]:
        """The next point on every way."""
        share = (at + 1) / self.n_shares
        return problem.start + share * (own.points - problem.start), own.counts

    def over(self, problem: Problem, own: Ends, at: Int[Array, ""]) -> Bool[Array, ""]:
        """Whether the ways end here."""
        return at + 1 >= self.n_shares


class Ranked(NamedTuple):
    """Indices of the cheapest rows, in order, and which of them count."""

    order: Int[Array, " m"]
    counts: Bool[Array, " m"]


class Neighbours(AbstractProposals):
    """Rows to become like, as far as the person may, the cheapest first, `block` in a round."""

    rows: Float[Array, "m d"]
    counts: Bool[Array, "m k"]
    n_candidates: int = eqx.field(static=True)
    block: int = eqx.field(static=True)

    @property
    def n_points(self) -> int:
        """Rows of a round."""
        return self.block

    def begin(self, solver: "ProposalSolver", problem: Problem) -> Ranked:
        """Order the rows by what they would cost this person."""
        costs = candidate_costs(solver, problem, self.rows, self.counts[:, problem.target])
        best, order = jax.lax.top_k(-costs, self.n_candidates)
        return Ranked(order, jnp.isfinite(best))

    def points(
        self, problem: Problem, own: Ranked, at: Int[Array, ""]
    ) -> tuple[Float[Array, "m d"], Bool[Array, " m"]]:
        """The next rows."""
        first = jnp.minimum(at * self.block, self.n_candidates - self.block)
        here = jax.lax.dynamic_slice(own.order, (first,), (self.block,))
        return self.rows[here], jax.lax.dynamic_slice(own.counts, (first,), (self.block,))

    def over(self, problem: Problem, own: Ranked, at: Int[Array, ""]) -> Bool[Array, ""]:
        """Whether these were the last."""
        return (at + 1) * self.block >= self.n_candidates


class Shells(AbstractProposals):
    """Points of shells about ``problem.start``, each `width` farther out (see `RowSpace`)."""

    width: Float[Array, ""]
    n_candidates: int = eqx.field(static=True)

    @property
    def n_points(self) -> int:
        """Points of a shell."""
        return self.n_candidates

    def begin(self, solver: "ProposalSolver", problem: Problem) -> Float[Array, ""]:
        """How far it can be worth to look."""
        return RowSpace().reach(about_start(problem))

    def points(
        self, problem: Problem, own: Float[Array, ""], at: Int[Array, ""]
    ) -> tuple[Float[Array, "m d"], Bool[Array, " m"]]:
        """Draw from the next shell."""
        key = jax.random.fold_in(jax.random.fold_in(problem.key, SHELLS), at)
        low, space, n = at * self.width, RowSpace(), self.n_candidates
        moved = about_start(problem)
        return space.draw(moved, space.centre(moved), key, low, low + self.width, n), jnp.ones(n, bool)

    def over(self, problem: Problem, own: Float[Array, ""], at: Int[Array, ""]) -> Bool[Array, ""]:
        """Whether the next shell lies beyond all that a person may change."""
        return (at + 1) * self.width > own


def about_start(problem: Problem) -> Problem:
    """The same person where another method's recourse would bring them, with the same limits."""
    return eqx.tree_at(lambda p: p.x, problem, problem.start)
