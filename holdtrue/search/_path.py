"""What training takes from a search: where it ended, and the last point at which it had hardly begun."""

from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from holdtrue.encoding import Feasible, Permits
from holdtrue.models import VAE, AbstractModel, Data, Decision, Rows, build_vae, fit_autoencoder
from holdtrue.search._gradient import shrunk
from holdtrue.search._losses import AbstractLoss, CrossEntropy, ask, log_odds
from holdtrue.search._solver import CLEARANCE

BATCH_SIZE = 128  # of the autoencoder's fit


class Path(NamedTuple):
    """One person's search: where it ended, the last iterate near the factual, and whether it got there."""

    recourse: Float[Array, " d"]
    nascent: Float[Array, " d"]
    mature: Bool[Array, ""]


class AbstractSampler(eqx.Module):
    """Gives training one point of a class, for one person, from the model as it stands."""

    @abstractmethod
    def __call__(self, decision: Decision, feasible: Feasible, target: Int[Array, ""], key: PRNGKeyArray) -> Path:
        """One search from `feasible.x`."""

    def learn(self, permits: Permits, data: Data, key: PRNGKeyArray) -> "AbstractSampler":
        """What is to be learned from the training rows before the first search; nothing, as a rule."""
        return self


class DescentSampler(AbstractSampler):
    """The search of `Generic` and `ECCCo`, of `n_steps` steps, up to a probability `wanted` of the target.

    The nascent point is the last iterate that moved no column by more than `radius` (eq. 5). With `n_halvings` the
    last step is halved so often, back towards the iterate before it, that recourse lies on the threshold and not
    where a steep model was left behind by a long step.
    """

    loss: AbstractLoss
    radius: Float[Array, ""]
    step_size: Float[Array, ""]
    cost_weight: Float[Array, ""]
    wanted: float = eqx.field(static=True)
    n_steps: int = eqx.field(static=True)
    harden: bool = eqx.field(static=True)
    n_halvings: int = eqx.field(static=True, default=0)

    def __call__(self, decision: Decision, feasible: Feasible, target: Int[Array, ""], key: PRNGKeyArray) -> Path:
        """Descend, and keep what eq. 2 asks for."""
        x, (low, high) = feasible.x, feasible.box
        enough, shrink = logit_of(self.wanted), self.step_size * self.cost_weight

        def look(u: Float[Array, " d"], n: Int[Array, ""]) -> Look:
            at, ok = feasible.hard(u) if self.harden else (u, jnp.asarray(True))

            def objective(point: Float[Array, " d"]) -> tuple[Array, Array]:
                reply = ask(decision, point, target, n)
                return self.loss(reply), reply.logits

            # The slope where the model was asked moves the relaxed iterate.
            slope, logits = jax.grad(objective, has_aux=True)(jax.lax.stop_gradient(at))
            already = (n == 0) & (decision.decide_of(logits) == target)
            reached = ok & good_enough(decision, logits, target, enough)
            return Look(u, slope, reached & ~already, already)

        def move(u: Float[Array, " d"], slope: Float[Array, " d"]) -> Float[Array, " d"]:
            return jnp.clip(x + shrunk(u - self.step_size * slope - x, shrink), low, high)

        end = descend(look, move, x, x, self.radius, self.n_steps, look_back=self.n_halvings > 0)
        recourse = end.at
        if self.harden:
            recourse = jnp.where(end.mature, feasible.hard(end.at)[0], end.at)
        if end.before is not None:
            back = self._back(decision, feasible, target, end.before, end.at, recourse)
            recourse = jnp.where(end.mature, back, recourse)
        return Path(recourse, end.nascent, end.mature)

    def _back(
        self, decision: Decision, feasible: Feasible, target: Int[Array, ""],
        before: Float[Array, " d"], last: Float[Array, " d"], best: Float[Array, " d"],
    ) -> Float[Array, " d"]:  # fmt: skip
        """The first point that is good enough between the last two iterates, by bisection."""
        enough = logit_of(self.wanted)

        def halve(_: Array, carry: tuple) -> tuple:
            low, high, kept = carry
            middle = (low + high) / 2
            u = before + middle * (last - before)
            x, ok = feasible.hard(u) if self.harden else (u, jnp.asarray(True))
            ok &= good_enough(decision, decision.model.logits(x), target, enough)
            return jnp.where(ok, low, middle), jnp.where(ok, middle, high), jnp.where(ok, x, kept)

        ends = (jnp.asarray(0.0), jnp.asarray(1.0), best)
        return jax.lax.fori_loop(0, self.n_halvings, halve, ends)[2]


class LatentSampler(AbstractSampler):
    """The search of `REVISE`: plain descent among the codes of an autoencoder that has learned the training rows.

    Every point is a decoded row, put back into the person's box. The nascent point is the last of them that lies
    within `radius` of the person; the person, where none does, as when the autoencoder does not give them back.
    """

    radius: Float[Array, ""]
    step_size: Float[Array, ""]
    cost_weight: Float[Array, ""]
    autoencoder: VAE | None
    wanted: float = eqx.field(static=True)
    n_steps: int = eqx.field(static=True)
    harden: bool = eqx.field(static=True)
    n_latent: int = eqx.field(static=True, default=8)
    n_updates: int = eqx.field(static=True, default=2000)

    def learn(self, permits: Permits, data: Data, key: PRNGKeyArray) -> "LatentSampler":
        """Fit the autoencoder to the rows of positive weight."""
        build_key, fit_key = jax.random.split(key)
        # A row of weight 0 may hold anything, and 0 times infinity is no number: it stands for one that counts.
        counts = data.weight > 0
        data = data._replace(x=jnp.where(counts[:, None], data.x, data.x[jnp.argmax(counts)]))
        rows = Rows.weighted(permits.layout, permits.scale, permits.offset, data.x, data.weight)
        blank = build_vae(rows, (32,), self.n_latent, (), build_key)
        n_epochs = -(-self.n_updates // -(-data.x.shape[0] // BATCH_SIZE))
        fitted = fit_autoencoder(blank, data, fit_key, n_epochs=n_epochs, batch_size=BATCH_SIZE)
        return LatentSampler(
            self.radius, self.step_size, self.cost_weight, jax.lax.stop_gradient(fitted),
            self.wanted, self.n_steps, self.harden, self.n_latent, self.n_updates,
        )  # fmt: skip

    def __call__(self, decision: Decision, feasible: Feasible, target: Int[Array, ""], key: PRNGKeyArray) -> Path:
        """Descend among codes."""
        model = self.autoencoder
        assert model is not None  # `learn` comes before the first search
        person, enough = feasible.x, logit_of(self.wanted)

        def objective(z: Array) -> tuple[Array, tuple[Array, Array, Array]]:
            row, ok = feasible.clip(model.decode(z, person)), jnp.asarray(True)
            if self.harden:
                x, ok = feasible.hard(jax.lax.stop_gradient(row))
                row = row + jax.lax.stop_gradient(x - row)  # asked there, moved as the relaxed row
            reply = ask(decision, row, target, jnp.asarray(0))
            loss = CrossEntropy()(reply) + self.cost_weight * jnp.sum(jnp.abs(row - person))
            return loss, (row, reply.logits, ok)

        def look(z: Array, n: Int[Array, ""]) -> Look:
            slope, (asked, logits, ok) = jax.grad(objective, has_aux=True)(z)
            mature = ok & good_enough(decision, logits, target, enough)
            return Look(asked, slope, mature, jnp.asarray(False))

        def move(z: Array, slope: Array) -> Array:
            return z - self.step_size * slope

        end = descend(look, move, model.encode(person), person, self.radius, self.n_steps)
        return Path(objective(end.at)[1][0], end.nascent, end.mature)


class Look(NamedTuple):
    """What is seen from one iterate: the row that it stands for, the slope, and whether to go no farther."""

    row: Float[Array, " d"]
    slope: Array
    mature: Bool[Array, ""]
    hopeless: Bool[Array, ""]


class End(NamedTuple):
    """Where a descent ended: the last iterate and the one before it, the last row that was near, and whether it
    matured."""

    at: Array
    before: Array | None
    nascent: Float[Array, " d"]
    mature: Bool[Array, ""]


def descend(
    look: Callable[[Array, Int[Array, ""]], Look],
    move: Callable[[Array, Array], Array],
    start: Array,
    person: Float[Array, " d"],
    radius: Float[Array, ""],
    n_steps: int,
    *,
    look_back: bool = False,
) -> End:
    """Go from `start` to the first iterate that is mature, at most `n_steps` steps.

    What is carried from step to step a batch of searches must move about in memory, which with a small model takes
    as long as the model: no more than is needed. A coordinate that is lost (NaN or infinity) stays where it was.
    """

    def advance(carry: tuple) -> tuple:
        end, _, n = carry
        seen = look(end.at, n)
        over = seen.mature | seen.hopeless | (n >= n_steps)
        near = jnp.max(jnp.abs(seen.row - person)) <= radius
        moved = move(end.at, seen.slope)
        moved = jnp.where(over | ~jnp.isfinite(moved), end.at, moved)
        before = jnp.where(over, end.before, end.at) if look_back else None
        return End(moved, before, jnp.where(near, seen.row, end.nascent), seen.mature), over, n + 1

    begin = End(start, start if look_back else None, person, jnp.asarray(False))
    return jax.lax.while_loop(lambda c: ~c[1], advance, (begin, jnp.asarray(False), jnp.asarray(0)))[0]


def logit_of(probability: float) -> float:
    """Log-odds of a probability."""
    return float(np.log(probability) - np.log1p(-probability))


def good_enough(
    decision: Decision, logits: Float[Array, " k"], target: Int[Array, ""], enough: float
) -> Bool[Array, ""]:
    """Whether a row is decided as the target, clear of the boundary, with log-odds of `enough` at least."""
    return (decision.margin_of(logits, target) >= CLEARANCE) & (log_odds(logits, target) >= enough)


class LangevinSampler(AbstractSampler):
    """A sample of what the model holds for likely, as in a joint energy model: noisy descent on the energy.

    Starts at a random point of the box ``lower <= x <= upper`` and forgets the person. The energy is
    ``-logit(target)``, or, where `marginal`, ``-logsumexp(logits)``.
    """

    lower: Float[Array, " d"]
    upper: Float[Array, " d"]
    step_size: Float[Array, ""]
    noise: Float[Array, ""]
    n_steps: int = eqx.field(static=True)
    marginal: bool = eqx.field(static=True)

    def __call__(self, decision: Decision, feasible: Feasible, target: Int[Array, ""], key: PRNGKeyArray) -> Path:
        """One sample; always mature, and the factual is its nascent point."""
        end = self.sample(decision.model, target, key)
        real = jnp.all(jnp.isfinite(end))
        return Path(jnp.where(real, end, feasible.x), feasible.x, real)

    def sample(self, model: AbstractModel, target: Int[Array, ""], key: PRNGKeyArray) -> Float[Array, " d"]:
        """One sample of the target's rows under the model."""

        def energy(at: Float[Array, " d"]) -> Float[Array, ""]:
            logits = model.logits(at)
            return -(jax.nn.logsumexp(logits) if self.marginal else logits[target])

        def step(at: Float[Array, " d"], own: PRNGKeyArray) -> tuple[Float[Array, " d"], None]:
            moved = at - self.step_size * jax.grad(energy)(at) + self.noise * jax.random.normal(own, at.shape)
            return jnp.clip(moved, self.lower, self.upper), None

        start_key, walk_key = jax.random.split(key)
        start = jax.random.uniform(start_key, self.lower.shape, minval=self.lower, maxval=self.upper)
        return jax.lax.scan(step, start, jax.random.split(walk_key, self.n_steps))[0]
