"""What else the paper asks of its models: noise, perturbations, recourse among people, causes, examples."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from experiments.actionable_recourse._descent import descended
from experiments.actionable_recourse._evaluate import best_f1
from experiments.actionable_recourse._models import act, log_odds, nearest, scores, searches
from experiments.actionable_recourse._settings import FAVOURABLE, RADIUS, Split
from holdtrue.batch import Predictor
from holdtrue.causal import Effects, find
from holdtrue.encoding import Feasible
from holdtrue.methods import Flipset
from holdtrue.metrics import deepfool, kept_under_noise, told_apart
from holdtrue.models import VAE, AbstractModel, Data, Decision, ReconstructionStep, Rows, build_vae, fit
from holdtrue.search import GradientAction, LatticeAction

DEVIATION = 0.1  # of the noise (Section 4.2)
NEAR = 0.2  # DeepFool counts as having turned a decision if it did so within two deviations
N_LATENT, N_CODES = 4, 50
N_PEOPLE = 100  # asked for the linear approximation
N_TOLD = 2000  # rows at most, to be told apart


def extras(model: AbstractModel, split: Split, generator: VAE) -> dict[str, Any]:
    """Tables 3, 4 and 6 and the perturbations of B.1, for one model."""
    actions = searches(split)
    lattice, gradient = actions["best"], actions["gradient"]
    assert isinstance(lattice, LatticeAction)
    assert isinstance(gradient, GradientAction)
    threshold = best_f1(split.calibrate.y, scores(model, split.calibrate.x))
    movable = np.asarray(split.told.permits.rises | split.told.permits.falls)

    def decide(x: np.ndarray) -> np.ndarray:
        return scores(model, x) >= threshold

    x = split.test.x
    refused = ~decide(x)
    points = {
        "linear": act(actions["linear"], model, x),
        "nearest": nearest(lattice, model, x, threshold),
        "descent": descended(gradient, model, x),
    }
    some = split.calibrate.x[:N_TOLD]
    robust = {}
    for name, rows in points.items():
        found = rows[refused & decide(rows)]
        kept = kept_under_noise(decide, found, movable, deviation=DEVIATION) if len(found) else np.array([])
        robust[name] = {"kept": float(kept.sum()), "n": len(found)}
    return {
        "threshold": threshold,
        "recourse_robust": robust,
        "model_robust": float(kept_under_noise(decide, x, movable, deviation=DEVIATION).mean()),
        **_perturbed(model, split, generator, movable, threshold),
        "linear_approximation": _linear_approximation(model, split, threshold, refused),
        "told_apart": _told_apart(model, split, nearest(lattice, model, some, threshold), threshold),
        "told_apart_descent": _told_apart(model, split, descended(gradient, model, some), threshold),
        "example": _example(split, points["nearest"], refused & decide(points["nearest"])),
        "example_descent": _example(split, points["descent"], refused & decide(points["descent"])),
    }


def _perturbed(
    model: AbstractModel, split: Split, generator: VAE, movable: np.ndarray, threshold: float
) -> dict[str, float]:
    """Share of people whose decision stays: under DeepFool within two deviations, and under changes that a
    generator of such people makes; of fifty such changes a random one, or the worst."""
    x = jnp.asarray(split.test.x)
    least = jnp.asarray(np.log(threshold) - np.log1p(-threshold), jnp.float32)
    before = np.asarray(_logits(model, x)) >= least
    fooled = _deepfool(model, x, jnp.asarray(movable, jnp.float32), least)
    turned = (np.asarray(_logits(model, fooled)) >= least) != before
    far = np.linalg.norm(np.asarray(fooled - x), axis=1) > NEAR
    shaken = _shaken(model, generator, x, jnp.asarray(movable)) >= least
    stays = np.asarray(shaken) == before[:, None]
    return {
        "deepfool_robust": float((~turned | far).mean()),
        "manifold_robust": float(stays.mean()),
        "manifold_worst_robust": float(stays.all(axis=1).mean()),
    }


@eqx.filter_jit
def _logits(model: AbstractModel, x: Float[Array, "n d"]) -> Float[Array, " n"]:
    return jax.vmap(lambda row: log_odds(model, row))(x)


@eqx.filter_jit
def _deepfool(model: AbstractModel, x: Array, movable: Array, least: Array) -> Array:
    return jax.vmap(lambda row: deepfool(lambda at: log_odds(model, at) - least, row, movable))(x)


@eqx.filter_jit
def _shaken(model: AbstractModel, generator: VAE, x: Array, movable: Array) -> Float[Array, "n m"]:
    noise = DEVIATION * jax.random.normal(jax.random.key(0), (N_CODES, N_LATENT))

    def one(row: Array) -> Array:
        code = generator.encode(row)
        own = generator.decode(code, row)
        moved = jax.vmap(lambda e: jnp.where(movable, row + generator.decode(code + e, row) - own, row))(noise)
        return jax.vmap(lambda at: log_odds(model, at))(moved)

    return jax.vmap(one)(x)


def generator(split: Split, n_rows: int = 5000, n_epochs: int = 30) -> VAE:
    """A variational autoencoder of the training rows, in the place of the paper's GAN."""
    x = split.learn.x[:n_rows]
    build, key = jax.random.split(jax.random.key(0))
    model: Any = build_vae(Rows.of(split.encoder, x), (32,), N_LATENT, (), build)
    step = ReconstructionStep(
        step_size=jnp.asarray(0.003), weight_decay=jnp.asarray(0.0), beta=jnp.asarray(0.1),
        n_epochs=jnp.asarray(n_epochs),
    )  # fmt: skip
    data = Data(jnp.asarray(x), jnp.zeros(len(x), jnp.int32), jnp.ones(len(x)))
    return fit(model, step, data, key, n_epochs=n_epochs, batch_size=64)[0]


def _linear_approximation(
    model: AbstractModel, split: Split, threshold: float, refused: np.ndarray
) -> dict[str, int]:
    """The integer programme on LIME's stand-in for the model, asked once, within the same box."""
    who = np.flatnonzero(refused)[:N_PEOPLE]
    if len(who) == 0:
        return {"refused": 0, "found": 0}
    decision = Decision(model, jnp.asarray(threshold, jnp.float32), FAVOURABLE)
    predictor = Predictor(split.encoder, decision, np.arange(2))
    X, encoder = split.X.iloc[who], split.encoder
    reach = {s.name: RADIUS * encoder.scale[s.start] for s in encoder.layout.numbers}
    names = [f.name for f in encoder.schema if f.direction != "fixed"]
    boxes = [{n: {"bounds": (row[n] - reach[n], row[n] + reach[n])} for n in names} for _, row in X.iterrows()]
    method = Flipset(surrogate="lime", n_steps=1, random_state=0)
    plan = method.fit_encoded(predictor, split.learn.x[:2000], None).recourse(X, restrictions=boxes)
    return {"refused": len(who), "found": int(plan.found.sum())}


def _told_apart(
    model: AbstractModel, split: Split, points: np.ndarray, threshold: float
) -> dict[str, float] | None:
    """Recourse of the refused among the first calibration rows, against people of the training part."""
    x = split.calibrate.x[:N_TOLD]
    found = (scores(model, x) < threshold) & (scores(model, points) >= threshold)
    if found.sum() < 20:
        return None
    return told_apart(split.learn.x[:N_TOLD], points[found]) | {"n": int(found.sum())}


def _example(split: Split, points: np.ndarray, found: np.ndarray) -> dict[str, Any] | None:
    """The first person with recourse: what changes, in their own units."""
    if not found.any():
        return None
    row = int(np.flatnonzero(found)[0])
    before = split.encoder.decode(split.test.x[row : row + 1].astype(np.float64))
    after = split.encoder.decode(points[row : row + 1].astype(np.float64))
    return {
        name: [float(before[name][0]), float(after[name][0])]
        for name in before
        if not split.encoder.schema[name].has_levels and abs(after[name][0] - before[name][0]) > 1e-4
    }


# ---- causes -----------------------------------------------------------------------------------------


def causal(model: AbstractModel, split: Split, scm: str = "german_credit") -> dict[str, int]:
    """How many of the refused have an action, within the box, whose consequences bring the yes.

    Abduct, act, predict: the noise of every column is the person's own, what they act on takes its value, and what
    depends on it follows. `ignoring` counts the same actions with nothing following from them.
    """
    known = find(scm).fit(_table(split), split.encoder.schema)
    effects = Effects.of(known, split.encoder)
    threshold = best_f1(split.calibrate.y, scores(model, split.calibrate.x))
    lattice = searches(split)["best"]
    assert isinstance(lattice, LatticeAction)
    score = scores(model, split.test.x)
    followed = 1 / (1 + np.exp(-np.asarray(_caused(lattice, effects, model, jnp.asarray(split.test.x)))))
    plain = np.maximum(score, scores(model, act(lattice, model, split.test.x)))
    refused = score < threshold
    return {
        "refused": int(refused.sum()),
        "found": int((refused & (followed >= threshold)).sum()),
        "ignoring": int((refused & (plain >= threshold)).sum()),
    }


def _table(split: Split) -> dict[str, np.ndarray]:
    return split.encoder.decode(split.learn.x.astype(np.float64))


@eqx.filter_jit
def _caused(
    lattice: LatticeAction, effects: Effects, model: AbstractModel, x: Float[Array, "n d"]
) -> Float[Array, " n"]:
    def one(row: Float[Array, " d"]) -> Float[Array, ""]:
        feasible: Feasible = lattice.permits(row)

        def score(at: Float[Array, " d"]) -> Float[Array, ""]:
            action = jnp.where(jnp.abs(at - row) < RADIUS * 1e-4, row, at)  # to stay is no action
            outcome, ok = effects.after(row, action, feasible)
            return jnp.where(ok, log_odds(model, outcome), -jnp.inf)

        # The corner of the linearised step is of no use with consequences: any slope will do.
        best = lattice(lambda at: jax.lax.stop_gradient(score(jax.lax.stop_gradient(at))), row)
        return jnp.maximum(score(best), log_odds(model, row))

    return jax.lax.map(one, x, batch_size=64)
