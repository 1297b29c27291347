"""What methods share that try listed values of one feature, of two, and of more."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np

from holdtrue.batch import Predictor
from holdtrue.causal import Effects
from holdtrue.encoding import Norm, norm_weights
from holdtrue.methods._base import AbstractSolverMethod
from holdtrue.parameters import Count, Seed, configured
from holdtrue.schema import Feature
from holdtrue.search import FirstLayer, SparseSolver, value_grid

BLOCK = 64  # rows asked at a step


@configured
class AbstractListedSearch(AbstractSolverMethod):
    """A method that goes through lists of values.

    Parameters
    ----------
    n_values : int, default=24
        Values tried per number.
    width : int, default=32
        Sets of features extended beyond two changes.
    norm : {"l1", "l2", "linf", "l0", "mad"}, default="l1"
        Distance.
    random_state : int, optional
        Unused: the search is deterministic.
    """

    needs_rows: ClassVar[bool] = True

    n_values: Count = 24
    width: Count = 32
    norm: Norm = "l1"
    random_state: Seed = None

    def _listed(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Values worth trying for every number, from encoded training rows; for `state_`."""
        return {"values": listed_values(self.predictor_, x, self.n_values)}

    def _through_lists(self, most: int, effects: Effects | None = None) -> SparseSolver:
        """The search over at most so many changes."""
        encoder, decision = self.predictor_.encoder, self.predictor_.decision
        values = self.state_["values"]
        n_edits = values.size + sum(g.stop - g.start for g in encoder.layout.groups)
        blocks = -(-n_edits // BLOCK)
        deeper = self.width * max(most - 2, 0)
        model = decision.model
        return SparseSolver(
            decision=decision,
            values=jnp.asarray(values),
            cost_weights=jnp.asarray(norm_weights(encoder, self.norm)),
            n_steps=jnp.asarray(blocks * (1 + n_edits + deeper) + 4 * most + 4),
            norm=self.norm,
            max_changes=most,
            width=self.width,
            block=BLOCK,
            effects=effects,
            first=FirstLayer.of(model),
            first_alone=None if model.alone is model else FirstLayer.of(model.alone),
        )


def listed_values(predictor: Predictor, x: np.ndarray, n_values: int) -> np.ndarray:
    """Encoded values worth trying for every number, from encoded training rows."""
    encoder = predictor.encoder
    splits: dict[str, np.ndarray] = getattr(predictor.foreign, "splits", None) or {}
    lists = []
    for slot in encoder.layout.numbers:
        column = slot.start
        raw = x[:, column].astype(np.float64) * encoder.scale[column] + encoder.offset[column]
        values = candidate_values(encoder.schema[slot.name], raw, splits.get(slot.name), n_values)
        lists.append((values - encoder.offset[column]) / encoder.scale[column])
    return value_grid(lists).astype(np.float32)


def candidate_values(feature: Feature, seen: np.ndarray, splits: np.ndarray | None, n: int) -> np.ndarray:
    """Raw values worth trying for one number: all of a short grid, past each split, or quantiles of those seen."""
    low, high = (0.0, len(feature.levels or ()) - 1.0) if feature.has_levels else feature.bounds or (0.0, 0.0)
    grid = 1.0 if feature.has_levels else feature.grid
    if grid is not None and (high - low) / grid <= n:
        return np.arange(np.ceil(low / grid - 1e-9), np.floor(high / grid + 1e-9) + 1) * grid
    if splits is not None and len(splits):
        # The nearest values on either side of a split: beyond it nothing changes until the next.
        step = grid if grid is not None else 1e-6 * max(high - low, 1e-12)
        at = np.asarray(splits, np.float64)
        values = np.concatenate([np.floor(at / step) * step, np.floor(at / step) * step + step])
    else:
        values = np.unique(np.append(seen, [low, high]))
    if grid is not None:
        values = np.round(np.rint(values / grid) * grid, 10)
    values = np.unique(values[(values >= low) & (values <= high)])
    if len(values) <= n:
        return values if len(values) else np.array([low])
    return np.unique(values[np.linspace(0, len(values) - 1, n).round().astype(int)])
