"""Scores of a network on the way from one row to another: its first layer is a sum that a step adds a part to."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from holdtrue.attribution._players import Players
from holdtrue.attribution._sampled import Along
from holdtrue.models import AbstractModel, MLPModel, PiecewiseModel, n_cores


def along_network(
    model: AbstractModel, players: Players, score: Callable[[np.ndarray], np.ndarray]
) -> Along | None:
    """How the scores on the way come about for a network; None for a model that is none.

    A person's values replace a reference row's one player after the other. Asked about as rows, each of them would
    go through the whole first layer, which is nine tenths of a network on pieces of numbers; but from one to the
    next only one player's part of its sums is another.

    Parameters
    ----------
    model : AbstractModel
    players : Players
    score : callable
        From logits to scores.
    """
    if isinstance(model, PiecewiseModel):
        network, pieces = model.network, model.knots.shape[1] - 1
        numbers = players.owner[: len(model.knots)]
        owner = np.concatenate([players.owner, np.repeat(numbers, pieces)])
    elif isinstance(model, MLPModel):
        network, owner = model, players.owner
    else:
        return None
    weight, bias = network.first
    whose = jnp.asarray(np.eye(len(players.names), dtype=np.float32)[owner])

    def along(x: np.ndarray, reference: np.ndarray, orders: np.ndarray) -> np.ndarray:
        theirs = np.asarray(_parts(model, weight, whose, jnp.asarray(reference, jnp.float32)))
        own = np.asarray(_parts(model, weight, whose, jnp.asarray(_padded(x))))[: len(x)]
        start, order = jnp.asarray(theirs.sum(axis=1) + np.asarray(bias)), jnp.asarray(orders)

        def one(mine: np.ndarray) -> np.ndarray:
            logits = np.asarray(_walked(network, start, jnp.asarray(mine - theirs), order), np.float64)
            return score(logits.reshape(-1, logits.shape[-1])).reshape(logits.shape[:3])

        with ThreadPoolExecutor(n_cores()) as pool:  # compiled code holds no lock
            return np.stack(list(pool.map(one, own)))

    return along


def _padded(x: np.ndarray) -> np.ndarray:
    """To a whole number of sixteens, so that few sizes are compiled."""
    short = -len(x) % 16
    return np.concatenate([x, np.repeat(x[:1], short, axis=0)]) if short else x


@eqx.filter_jit
def _parts(
    model: AbstractModel, weight: Float[Array, "h i"], whose: Float[Array, "i players"], x: Float[Array, "n d"]
) -> Float[Array, "n players h"]:
    """What each player adds to the first layer's sums."""
    inputs = jax.vmap(model.pieces)(x) if isinstance(model, PiecewiseModel) else x
    return jnp.einsum("ni,hi,ip->nph", inputs, weight, whose)


@eqx.filter_jit
def _walked(
    network: MLPModel,
    start: Float[Array, "r h"],
    step: Float[Array, "r players h"],
    orders: Int[Array, "r orders players"],
) -> Float[Array, "steps r orders k"]:
    """Logits after every step but the last, along every order."""
    sums = jnp.broadcast_to(start[:, None], (*orders.shape[:2], start.shape[1]))

    def taken(sums: Array, player: Array) -> tuple[Array, Array]:
        sums = sums + jnp.take_along_axis(step, player[:, :, None], axis=1)
        logits = jax.vmap(network.rest)(sums.reshape(-1, sums.shape[-1]))
        return sums, logits.reshape(*player.shape, -1)

    return jax.lax.scan(taken, sums, jnp.moveaxis(orders[:, :, :-1], 2, 0))[1]
