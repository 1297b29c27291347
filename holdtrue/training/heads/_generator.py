"""The step of every regime that trains a generator of recourse: predictor, judges, generator."""

from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from holdtrue.models import (
    AbstractModel,
    AbstractStep,
    CounterNetModel,
    Data,
    Decision,
    adam,
    averaged,
    weighted_mean,
)
from holdtrue.training._base import TrainingContext
from holdtrue.training._losses import training_logits
from holdtrue.training.heads._codes import hidden
from holdtrue.training.heads._panels import AbstractPanel, Scene, harshest
from holdtrue.training.heads._proposals import mixtures, unlike
from holdtrue.training.heads._rare_classes import Watch
from holdtrue.training.heads._tally import Tally

Loss = Literal["cross_entropy", "squared"]
Cost = Literal["l1", "squared"]
Wanted = Literal["other", "favourable"]
SEEN = 512  # rows on which an epoch's notes are taken
PACE = 0.01  # largest change of the logarithm of the cost's weight per update, while it is adjusted
RANGE = 4.0  # largest change of that logarithm in all


class GeneratorState(NamedTuple):
    """Adam's states of both heads, the predictor's weights before averaging, what the panel has learned, the
    logarithm of the cost's adjustment, the watch over the classes, and the tally of rows."""

    predictor: PyTree
    latest: PyTree
    generator: PyTree
    panel: PyTree
    adjusted: Float[Array, ""]
    watch: Watch
    tally: Tally


class GeneratorStep(AbstractStep):
    """Block-wise coordinate descent (Algorithm 2): Adam on the prediction loss moves the predictor alone, then
    Adam on validity and cost of the generated recourse moves the generator alone.

    Recourse is judged by the models that the panel gives, held fixed. What the generator does never reaches the
    predictor, so regimes that differ in the panel only have the same predictor, to the bit.

    Attributes
    ----------
    prediction_weight, validity_weight, cost_weight : lambda_1, lambda_2, lambda_3 of eq. 4.
    own_weight : of the validity under the model as it is, against 1 under the panel's judges.
    charge_weight : of what a generator charges for how it writes (a variational one, for its codes).
    strange_weight : of numbers that hardly anybody has (`Tally.strangeness`); None is no such loss.
    margin : log-odds beyond the decision that recourse is to reach.
    guard : share of its true frequency below which a class that is hardly ever decided is given more weight.
    average : the predictor is the running mean of its weights over this share of the updates so far.
    hide : share of people whose level of a category the predictor is not told in training; None is nobody.
    rare : share of people below which the predictor does not know a level (`Tally.known`); None is no level.
    proposals : rows tried for each person beside the generator's; it also learns to write the best, where that is
        better than its own (`mixtures`).
    goal : share of people whose recourse should be valid under the panel's held-out models; while it is, the
        cost weighs more, and while it is not, less. None leaves the weight alone.
    n_epochs : over which the panel's strength grows.
    n_first : epochs of the predictor alone, after which it stays as it is; None trains both throughout. No array:
        models that are trained side by side would otherwise run both stages in every epoch, and throw one away.
    """

    step_size: Float[Array, ""]
    weight_decay: Float[Array, ""]
    prediction_weight: Float[Array, ""]
    validity_weight: Float[Array, ""]
    own_weight: Float[Array, ""]
    cost_weight: Float[Array, ""]
    charge_weight: Float[Array, ""]
    strange_weight: Float[Array, ""] | None
    margin: Float[Array, ""]
    guard: Float[Array, ""]
    average: Float[Array, ""]
    hide: Float[Array, ""] | None
    rare: Float[Array, ""] | None
    goal: Float[Array, ""] | None
    n_epochs: Float[Array, ""]
    panel: AbstractPanel
    context: TrainingContext
    loss: Loss = eqx.field(static=True)
    cost: Cost = eqx.field(static=True)
    wanted: Wanted = eqx.field(static=True)
    balance: bool = eqx.field(static=True)
    harden: bool = eqx.field(static=True)
    proposals: int = eqx.field(static=True, default=0)
    n_first: int | None = eqx.field(static=True, default=None)

    # ---- the loop's view ----------------------------------------------------------------------------

    def init(self, model: AbstractModel) -> GeneratorState:
        """State of both optimisers and of the panel."""
        assert isinstance(model, CounterNetModel)
        predictor, generator = (
            optax.scale_by_adam().init(eqx.filter(part, eqx.is_inexact_array))
            for part in (model.predictor, model.generator)
        )
        panel = self.panel.init(model.predictor)
        latest = eqx.filter(model.predictor, eqx.is_inexact_array)
        watch, tally = Watch.begin(model.n_classes), Tally.begin(self.context.permits)
        return GeneratorState(predictor, latest, generator, panel, jnp.zeros(()), watch, tally)

    def update(
        self, model: AbstractModel, state: GeneratorState, batch: Data, key: PRNGKeyArray, epoch: Int[Array, ""]
    ) -> tuple[CounterNetModel, GeneratorState, Float[Array, ""]]:
        """Predictor, panel, generator."""
        assert isinstance(model, CounterNetModel)
        predict_key, rest_key = jax.random.split(key)
        if self.n_first is None:
            model, state, loss = self._predictor(model, state, batch, predict_key)
            model, state, charged = self._generator(model, state, batch, rest_key)
            return model, state, loss + charged
        first = epoch < self.n_first
        arrays, static = eqx.partition(model, eqx.is_array)

        def run(what: PyTree, key: PRNGKeyArray) -> PyTree:
            def branch(carry: PyTree) -> PyTree:
                moved, after, value = what(eqx.combine(carry[0], static), carry[1], batch, key)
                return eqx.filter(moved, eqx.is_array), after, value

            return branch

        branches = (run(self._predictor, predict_key), run(self._generator, rest_key))
        arrays, state, loss = jax.lax.cond(first, *branches, (arrays, state))
        return eqx.combine(arrays, static), state, loss

    def validate(self, model: AbstractModel, data: Data) -> Float[Array, ""]:
        """Both losses on held-out rows, judged by the model as it is."""
        assert isinstance(model, CounterNetModel)
        target = self.targets(model, data, None)
        rows, charge, _ = self.recourse(model, data.x, target, None)
        validity = self.validity_losses(jax.vmap(model.logits)(rows), target, self.margin)
        losses = (
            self.prediction_weight * self.prediction_losses(model, data.x, data.y, None)
            + self.validity_weight * validity
            + self.cost_weight * self.costs(rows, data.x)
            + self.charge_weight * charge
        )
        return weighted_mean(losses, data.weight)

    @property
    def notes(self) -> tuple[str, ...]:
        """Share decided favourable, loss of prediction, and of some of the refused: loss of validity under the
        model as it is, share whose recourse is valid once hardened, its mean cost, and how many different
        recourses there are."""
        return ("favourable", "prediction_loss", "validity_loss", "validity", "cost", "patterns")

    def begin_epoch(
        self, model: AbstractModel, data: Data, n_batches: int, key: PRNGKeyArray, epoch: Int[Array, ""]
    ) -> tuple[Float[Array, " b"], dict[str, Float[Array, ""]]]:
        """Share of the training that is over after this epoch, for every minibatch, and the notes."""
        assert isinstance(model, CounterNetModel)
        first = 0 if self.n_first is None else self.n_first
        done = jnp.clip((epoch + 1 - first) / (self.n_epochs - first), 0.0, 1.0)
        decided = jax.vmap(self._decision(model).decide_of)(jax.vmap(model.logits)(data.x))
        return jax.lax.stop_gradient((jnp.full(n_batches, done), self._noted(model, data, decided, key)))

    # ---- the parts ----------------------------------------------------------------------------------

    def _predictor(
        self, model: CounterNetModel, state: GeneratorState, batch: Data, key: PRNGKeyArray
    ) -> tuple[CounterNetModel, GeneratorState, Float[Array, ""]]:
        decided = jax.vmap(self._decision(model).decide_of)(jax.vmap(model.logits)(batch.x))
        watch = state.watch.after(decided, batch, self.guard)
        weight = batch.weight * watch.weights()[batch.y]
        x = batch.x
        if self.hide is not None:
            x = hidden(batch, self.context.permits.layout, self.hide, jax.random.fold_in(key, 2))

        tally, known = state.tally.after(batch), None
        if self.rare is not None:
            known = tally.known(self.context.permits, self.rare, jnp.full(x.shape[1], 0.5))
            x = x * known

        def loss(predictor: PyTree) -> Float[Array, ""]:
            losses = self.prediction_losses(predictor, x, batch.y, key)
            return self.prediction_weight * weighted_mean(losses, weight)

        latest = eqx.combine(state.latest, eqx.filter(model.predictor, eqx.is_inexact_array, inverse=True))
        value, grads = eqx.filter_value_and_grad(loss)(latest)
        latest, own = adam(latest, grads, state.predictor, self.step_size, self.weight_decay)
        moved = averaged(model.predictor, latest, own, self.average)
        if self.rare is not None:  # what a rare level meant before training, or while it was not yet, is forgotten
            latest, moved = (
                eqx.tree_at(lambda m: m.weights[0], part, part.weights[0] * known) for part in (latest, moved)
            )
        learn_key = jax.random.fold_in(key, 1)
        learned = self.panel.learn(state.panel, model.predictor, batch, tally, self.prediction_losses, learn_key)
        latest = eqx.filter(latest, eqx.is_inexact_array)
        state = state._replace(predictor=own, latest=latest, panel=learned, watch=watch, tally=tally)
        return eqx.tree_at(lambda m: m.predictor, model, moved), state, value

    def _generator(
        self, model: CounterNetModel, state: GeneratorState, batch: Data, key: PRNGKeyArray
    ) -> tuple[CounterNetModel, GeneratorState, Float[Array, ""]]:
        target_key, attack_key, write_key = jax.random.split(key, 3)
        target = self.targets(model, batch, target_key)
        weight = self._people(model, batch, target)

        def write(generator: PyTree) -> PyTree:
            made = eqx.tree_at(lambda m: m.generator, model, generator)
            return self.recourse(made, batch.x, target, write_key)

        (rows, charge, relaxed), back = eqx.filter_vjp(write, model.generator)
        scene = self._scene(model, batch, state.tally, jax.lax.stop_gradient(rows), target, weight)
        judges = self.panel.judges(state.panel, scene, attack_key)
        cost_weight = self.cost_weight * jnp.exp(state.adjusted)

        def losses(at: Float[Array, "n d"]) -> Float[Array, " n"]:
            logits = jax.vmap(judges)(at)
            judged = jax.vmap(lambda each: self.validity_losses(each, target, self.margin), in_axes=1)(logits)
            own = self.validity_losses(jax.vmap(model.predictor.logits)(at), target, self.margin)
            share = self.own_weight / (1.0 + self.own_weight)
            validity = (1.0 - share) * harshest(judged, self.panel.tail) + share * own
            total = self.validity_weight * validity + cost_weight * self.costs(at, batch.x)
            if self.strange_weight is None:
                return total
            return total + self.strange_weight * state.tally.strangeness(at, batch.x)

        def loss(at: Float[Array, "n d"], charged: Float[Array, " n"], soft: Float[Array, "n d"]) -> Array:
            total = losses(at) + self.charge_weight * charged
            if self.proposals:
                better, gain = self._better(losses, rows, batch.x, target, jax.random.fold_in(key, 3))
                total = total + gain * unlike(soft, better, self.context.permits)
            return weighted_mean(total, weight)

        value, slopes = jax.value_and_grad(loss, argnums=(0, 1, 2))(rows, charge, relaxed)
        moved, own = adam(model.generator, back(slopes)[0], state.generator, self.step_size)
        adjusted = self._adjusted(state, scene, rows, target, weight)
        state = state._replace(generator=own, adjusted=adjusted)
        return eqx.tree_at(lambda m: m.generator, model, moved), state, value

    def _better(
        self, losses: PyTree, rows: Array, x: Float[Array, "n d"], target: Array, key: PRNGKeyArray
    ) -> tuple[Float[Array, "n d"], Float[Array, " n"]]:
        """The best of some mixtures for everybody, hardened, and how much less its loss is, up to 1."""
        permits = self.context.permits
        tried = mixtures(rows, x, target, permits.layout, self.proposals, key)
        hard, ok = jax.vmap(jax.vmap(lambda own, row: permits(own).hard(row)), in_axes=(None, 0))(x, tried)
        found = jnp.where(ok, jax.vmap(losses)(hard), jnp.inf)
        best = jnp.argmin(found, axis=0)
        gain = jnp.clip(losses(rows) - jnp.min(found, axis=0), 0.0, 1.0)
        better = jnp.take_along_axis(hard, best[None, :, None], axis=0)[0]
        return jax.lax.stop_gradient((better, gain))

    def _scene(
        self, model: CounterNetModel, batch: Data, tally: Tally, rows: Array, target: Array, weight: Array
    ) -> Scene:
        def learn(predictor: PyTree, x: Float[Array, "n d"]) -> Float[Array, ""]:
            return weighted_mean(self.prediction_losses(predictor, x, batch.y, None), batch.weight)

        def harm(predictor: PyTree, anew: bool) -> Float[Array, ""]:
            at, goal = rows, target
            if anew:
                shifted = eqx.tree_at(lambda m: m.predictor, model, predictor)
                goal = self.targets(shifted, batch, None)
                at, _, _ = self.recourse(shifted, batch.x, goal, None)
            return weighted_mean(self.validity_losses(jax.vmap(predictor.logits)(at), goal, 0.0), weight)

        done = jnp.ones(()) if batch.beside is None else batch.beside
        return Scene(model.predictor, batch, tally, learn, harm, done)

    def _adjusted(
        self, state: GeneratorState, scene: Scene, rows: Array, target: Array, weight: Array
    ) -> Float[Array, ""]:
        """The cost weighs more while held-out models accept as many as the goal asks, and else less."""
        if self.goal is None:
            return state.adjusted
        hard = (
            rows
            if self.harden
            else jax.vmap(lambda x, row: self.context.permits(x).hard(row)[0])(scene.batch.x, rows)
        )
        logits = jax.vmap(self.panel.held_out(state.panel, scene))(hard)
        margins = jax.vmap(jax.vmap(self._decision(scene.predictor).margin_of, in_axes=(0, None)))(logits, target)
        valid = weighted_mean(jnp.mean(margins >= 0, axis=1), weight)
        moved = state.adjusted + PACE * jnp.clip((valid - self.goal) / (1.0 - self.goal), -1.0, 1.0)
        return jnp.clip(moved, -RANGE, RANGE)

    def targets(self, model: CounterNetModel, data: Data, key: PRNGKeyArray | None) -> Int[Array, " n"]:
        """The class that everybody wants: one that is not decided for them, or the favourable one.

        With several others one is drawn; without a key it is the next.
        """
        n, k = data.x.shape[0], model.n_classes
        if self.wanted == "favourable":
            return jnp.full(n, self.context.favourable)
        decided = jax.vmap(self._decision(model).decide_of)(jax.vmap(model.logits)(data.x))
        ahead = jnp.ones(n, int) if key is None or k == 2 else jax.random.randint(key, (n,), 1, k)
        return (decided + ahead) % k

    def recourse(
        self, model: CounterNetModel, x: Float[Array, "n d"], target: Int[Array, " n"], key: PRNGKeyArray | None
    ) -> tuple[Float[Array, "n d"], Float[Array, " n"], Float[Array, "n d"]]:
        """Generated rows of a minibatch, what the generator charges, and the rows relaxed. The former are relaxed
        too, or with `harden` the hardened rows with the slopes of the relaxed ones."""

        def one(row: Array, aim: Array, own: PRNGKeyArray | None) -> tuple[Array, Array, Array]:
            relaxed, charge, hard, ok = self._written(model, row, aim, own)
            # Where there is no permitted row near, the relaxed one stands.
            at = jax.lax.stop_gradient(relaxed)
            return (relaxed + jnp.where(ok, hard - at, 0.0) if self.harden else relaxed), charge, relaxed

        if key is None:
            return jax.vmap(lambda row, aim: one(row, aim, None))(x, target)
        return jax.vmap(one)(x, target, jax.random.split(key, x.shape[0]))

    def _written(
        self, model: CounterNetModel, row: Array, aim: Array, key: PRNGKeyArray | None
    ) -> tuple[Array, Array, Array, Array]:
        """The relaxed row, its charge, the row as the person would get it, and whether that is permitted."""
        feasible = self.context.permits(row)
        relaxed, charge = model.write(row, feasible, aim, key=key, project=not self.harden)
        return relaxed, charge, *feasible.hard(jax.lax.stop_gradient(relaxed))

    def prediction_losses(
        self, model: PyTree, x: Float[Array, "n d"], y: Int[Array, " n"], key: PRNGKeyArray | None
    ) -> Float[Array, " n"]:
        """Loss of every label; a `key` switches on dropout."""
        return self._losses(jax.vmap(_log_odds)(training_logits(model, x, key), y))

    def validity_losses(
        self, logits: Float[Array, "n k"], target: Int[Array, " n"], margin: Array | float
    ) -> Float[Array, " n"]:
        """Loss of not being decided as wanted, by the classifier's threshold and a margin beyond it."""
        odds = jax.vmap(_log_odds)(logits, target)
        if logits.shape[1] == 2:
            over = jax.scipy.special.logit(jnp.asarray(self.context.threshold))
            odds = odds - jnp.where(target == self.context.favourable, over, -over)
        return self._losses(odds - margin)

    def _losses(self, odds: Float[Array, " n"]) -> Float[Array, " n"]:
        # Of log-odds: cross-entropy, or half the squared distance of the probability from 1.
        return jax.nn.softplus(-odds) if self.loss == "cross_entropy" else 0.5 * jax.nn.sigmoid(-odds) ** 2

    def costs(self, rows: Float[Array, "n d"], x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """What recourse costs: l1 by the schema's weights, or half the mean square of the columns' changes."""
        change = rows - x
        if self.cost == "l1":
            return jnp.abs(change) @ self.context.permits.price
        return 0.5 * jnp.mean(change**2, axis=1)

    def _decision(self, model: AbstractModel) -> Decision:
        return Decision(model, jnp.asarray(self.context.threshold, jnp.float32), self.context.favourable)

    def _people(self, model: CounterNetModel, batch: Data, target: Int[Array, " n"]) -> Float[Array, " n"]:
        """Weights of people in the generator's loss: equal for every wanted class, 0 for who has it already."""
        weight = batch.weight
        if self.wanted == "favourable":
            decided = jax.vmap(self._decision(model).decide_of)(jax.vmap(model.logits)(batch.x))
            weight = jnp.where(decided == target, 0.0, weight)
        if not self.balance:
            return weight
        among = jax.nn.one_hot(target, model.n_classes)
        return weight / jnp.maximum(among @ (weight @ among), 1e-12)

    def _noted(
        self, model: CounterNetModel, data: Data, decided: Int[Array, " n"], key: PRNGKeyArray
    ) -> dict[str, Float[Array, ""]]:
        n, wanted = min(SEEN, data.x.shape[0]), jnp.asarray(self.context.favourable)
        # The refused come first, in random order; who is not refused counts for nothing.
        refused = (decided != wanted) & (data.weight > 0)
        rows = jnp.argsort(jax.random.uniform(key, refused.shape) + ~refused)[:n]
        x, weight = data.x[rows], jnp.where(refused[rows], data.weight[rows], 0.0)
        _, _, hard, ok = jax.vmap(lambda row: self._written(model, row, wanted, None))(x)
        valid = jax.vmap(self._decision(model).is_target, in_axes=(0, None))(hard, wanted) & ok
        lost = self.validity_losses(jax.vmap(model.logits)(hard), jnp.full(n, wanted), self.margin)
        # Told apart to a tenth of a column's unit.
        pattern = jnp.round(10.0 * hard) @ jax.random.normal(jax.random.key(0), (hard.shape[1],))
        ordered = jnp.sort(jnp.where(weight > 0, pattern, jnp.inf))
        different = (jnp.diff(ordered, prepend=-jnp.inf) > 1e-3) & jnp.isfinite(ordered)
        some = jnp.where(jnp.any(weight > 0), 1.0, jnp.nan)
        return {
            "favourable": weighted_mean((decided == wanted).astype(jnp.float32), data.weight),
            "prediction_loss": weighted_mean(self.prediction_losses(model, data.x, data.y, None), data.weight),
            "validity_loss": some * weighted_mean(lost, weight),
            "validity": some * weighted_mean(valid.astype(jnp.float32), weight),
            "cost": some * weighted_mean(jnp.abs(hard - x) @ self.context.permits.price, weight),
            "patterns": jnp.sum(different).astype(jnp.float32),
        }


def _log_odds(logits: Float[Array, " k"], label: Int[Array, ""]) -> Float[Array, ""]:
    """Logarithm of the odds of a class against all others."""
    others = jnp.where(jnp.arange(logits.shape[0]) == label, -jnp.inf, logits)
    return logits[label] - jax.nn.logsumexp(others)
