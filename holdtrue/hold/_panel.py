"""The model and its guides as one decision."""

import functools
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from holdtrue.batch import Predictor, map_rows
from holdtrue.models import AbstractMembers, AbstractModel, Decision, PanelModel, TreesModel, sharing
from holdtrue.models.adapters import TreesMembers, TreesPanel


def with_guides(
    predictor: Predictor,
    guides: tuple[AbstractMembers, ...],
    slack: float,
    wanted: int | None = None,
    spared: int = 0,
) -> Predictor:
    """The classifier as a search asks it: a yes is what the model and all guides give, with something to spare.

    Parameters
    ----------
    predictor : Predictor
        The model alone: what it tells people stays its own.
    guides : tuple of AbstractMembers
        `AbstractRetrained.members`.
    slack : float
        By how much, in log-odds, each must clear the threshold; below 0, how much a guide may lack.
    wanted : int, optional
        Index of the class that people want; the favourable one when omitted.
    spared : int, default=0
        How many guides may refuse.
    """
    wanted = predictor.decision.favourable if wanted is None else wanted
    model = predictor.decision.model.alone
    return replace(predictor, decision=predictor.decision.of(_panel(model, guides, slack, wanted, spared)))


def _panel(
    model: AbstractModel, guides: tuple[AbstractMembers, ...], slack: float, wanted: int, spared: int
) -> PanelModel | TreesPanel:
    by = jnp.asarray(slack, jnp.float32)
    if isinstance(model, TreesModel) and len(guides) == 1 and isinstance(guides[0], TreesMembers):
        return TreesPanel(model=model, guides=guides[0], slack=by, wanted=wanted, spared=spared)  # pyright: ignore[reportCallIssue]
    return PanelModel(model, tuple(sharing(model, part) for part in guides), by, wanted, spared)


def margins(decision: Decision, x: np.ndarray, target: np.ndarray) -> np.ndarray:
    """How far, in logits, each encoded row is inside its target, by the panel where the model is one."""
    both = np.concatenate([np.asarray(x, np.float32), np.asarray(target, np.float32)[:, None]], axis=1)
    return map_rows(functools.partial(_margins, decision), both)


@eqx.filter_jit
def _margins(decision: Decision, both: Float[Array, "n e"]) -> Float[Array, " n"]:
    target: Int[Array, " n"] = both[:, -1].astype(jnp.int32)
    return jax.vmap(decision.margin)(both[:, :-1], target)
