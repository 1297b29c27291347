# %% [markdown]
# # Add a method and compare it
#
# A method is a solver that knows how to take a step for one person, and an object that holds its parameters. Feasible
# sets, batching, decoding and the last check are the library's. Here is a small one, held against three others.

# %%
import equinox as eqx
import jax
import jax.numpy as jnp

import holdtrue as ht
from holdtrue.encoding import norm_weights
from holdtrue.methods import AbstractSolverMethod
from holdtrue.search import AbstractSolver

# %% [markdown]
# Coordinate search: each step tries every feature at a random place of its own, alone, from the best point so far (or
# from the person), and offers what it saw.


# %%
class CoordinateSolver(AbstractSolver):
    """Move one feature at a time."""

    decision: eqx.Module
    cost_weights: jax.Array
    n_steps: jax.Array
    norm: str = eqx.field(static=True)

    def start(self, problem):
        """The point that moves: where the person is."""
        return problem.x

    def step(self, problem, state):
        """Try every feature by itself; keep the move that comes nearest to a yes for what it costs."""
        feasible, at = problem.feasible, state.own
        key = jax.random.fold_in(problem.key, state.n_steps)
        u = jax.random.uniform(key, at.shape)
        there = feasible.lower + u * (feasible.upper - feasible.lower)
        members = jnp.asarray(feasible.layout.members)
        points, ok = jax.vmap(lambda member: feasible.hard(jnp.where(member, there, at)))(members)
        points, ok = jnp.vstack([points, at]), jnp.append(ok, True)  # or stay
        margins = jax.vmap(lambda x: self.decision.margin(x, problem.target))(points)
        costs = jax.vmap(lambda x: self.cost(x, problem))(points)
        best = jnp.argmax(jnp.where(ok, jnp.minimum(margins, 0.0) - 0.01 * costs, -jnp.inf))
        state = self.offer(problem, state, points[best], margins[best], ok[best])
        return eqx.tree_at(lambda s: s.own, state, points[best])


class CoordinateSearch(AbstractSolverMethod):
    """Recourse by coordinate search.

    Parameters
    ----------
    n_steps : int, default=200
    norm : str, default="l1"
    random_state : int, optional
    """

    trims = True  # what it does not need is taken back

    def __init__(self, *, n_steps: int = 200, norm: str = "l1", random_state: int | None = None):
        self.n_steps = n_steps
        self.norm = norm
        self.random_state = random_state

    def solver(self):
        """The search for one person."""
        weights = jnp.asarray(norm_weights(self.predictor_.encoder, self.norm))
        return CoordinateSolver(self.predictor_.decision, weights, jnp.asarray(self.n_steps), self.norm)


# %% [markdown]
# It is a scikit-learn object and can be asked at once.

# %%
bank = ht.datasets.load("loanapp").subset(range(800))
clf = ht.RecourseClassifier(
    schema=bank.schema, model=ht.Linear(), hold=None, random_state=0,
    regime=ht.StandardTraining(n_epochs=20, class_weight="balanced"),
).fit(bank.X, bank.y)  # fmt: skip
refused = bank.X[clf.predict(bank.X) == 0]
plan = CoordinateSearch(random_state=0).fit(clf, bank.X).recourse(refused[:8])
plan

# %% [markdown]
# The same people, asked of four methods; what each finds is asked of five retrained models. Seconds are those of the
# machine that ran this, which had other work.

# %%
methods = {
    "coordinate search": CoordinateSearch(random_state=0),
    "wachter": ht.Wachter(n_steps=150, random_state=0),
    "growing spheres": ht.GrowingSpheres(random_state=0),
    "nearest neighbour": "nearest_neighbour",
}
quick = ht.RecourseClassifier(
    model=ht.Linear(), hold=None, regime=ht.StandardTraining(n_epochs=20, class_weight="balanced")
)
comparison = ht.compare(bank, methods=methods, model=quick, people=16, retrainings=5, random_state=0)
comparison

# %%
comparison.plot()

# %% [markdown]
# What every method must keep is a class of tests: derive one from `holdtrue.testing.MethodChecks` with a fixture that
# returns yours. [Add a method](../how-to/add-a-method.md) goes on from here.
