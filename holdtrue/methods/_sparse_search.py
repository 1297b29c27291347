"""The cheapest recourse that changes one or two features."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import jax.numpy as jnp
import numpy as np

from holdtrue.batch import Predictor
from holdtrue.causal import Effects
from holdtrue.encoding import Encoder, Norm, norm_weights
from holdtrue.methods._base import AbstractSolverMethod
from holdtrue.methods._leaves import search_leaves, with_leaves_of
from holdtrue.models import AbstractTrees, TreesPanel
from holdtrue.parameters import Count
from holdtrue.schema import Feature
from holdtrue.search import FirstLayer, Problems, Solutions, SparseSolver, value_grid

BLOCK = 64  # rows asked at a step
DEFAULT_CHANGES = 3
N_BOXES = 3000  # of one person, in a tree ensemble
PANEL_BOXES = 300  # the same in a panel, whose boxes take about ten times as long


class SparseSearch(AbstractSolverMethod):
    """Try every permitted value of one feature, then of every pair: people want one or two changes.

    Minimises ``distance(x, x')`` over rows that differ from the factual in at most `max_changes` features, each
    taking a value from a list: the schema's grid where it is short, else quantiles of the training rows, or, for
    tree ensembles, values just past each split. With `max_changes` of one or two the search is complete: the
    status OPTIMAL says that no cheaper row with so few changes was on the lists, INFEASIBLE that none was
    accepted. Otherwise it goes on with a beam, and says FOUND or NOT_FOUND. Needs only predictions, so it serves
    every model.

    Tree ensembles that have been read into arrays are searched otherwise: by branch and bound over the boxes of
    their leaves, over all thresholds and any number of changes (see `ExactSearch`, which this is with a budget).
    OPTIMAL and INFEASIBLE are then proofs; FOUND and NOT_FOUND say that the budget was spent before there was one.

    Parameters
    ----------
    max_changes : int, optional
        Features changed at most. When omitted, three, and as many as it takes for tree ensembles.
    n_values : int, default=24
        Values tried per number; all that matter are, in a tree ensemble.
    width : int, default=32
        Sets of features extended beyond two changes.
    norm : {"l1", "l2", "linf", "l0", "mad"}, default="l1"
        Distance.
    random_state : int, optional
        Unused: the search is deterministic.

    Notes
    -----
    Each changed number is moved back towards the factual in the end, so the cost may lie below that of the best
    listed value. Where a linear first layer exists (linear models, MLPs), it is updated for a change instead of
    computed again.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(
    ...     schema=bank.schema, model=ht.Linear(), method=ht.SparseSearch(max_changes=2), random_state=0
    ... )
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> int(plan.changed().sum(axis=1).max()) <= 2
    True
    """

    needs_rows: ClassVar[bool] = True
    trims: ClassVar[bool] = True

    def __init__(
        self,
        *,
        max_changes: Count | None = None,
        n_values: Count = 24,
        width: Count = 32,
        norm: Norm = "l1",
        random_state: int | None = None,
    ) -> None:
        self.max_changes = max_changes
        self.n_values = n_values
        self.width = width
        self.norm: Norm = norm
        self.random_state = random_state

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """List the values of every number, but for trees, whose leaves tell them."""
        if isinstance(self.predictor_.decision.model, AbstractTrees):
            return {}
        return {"values": listed_values(self.predictor_, x, self.n_values)}

    def solver(self) -> SparseSolver:
        """Exhaustive search over the lists."""
        return sparse_solver(self)

    def search(
        self, problems: Problems, deadline: float | None, on_rows: Callable[[int], None] | None
    ) -> Solutions:
        """Go through the lists, or, for a tree ensemble, through its leaves."""
        if not isinstance(self.predictor_.decision.model, AbstractTrees):
            return super().search(problems, deadline, on_rows)
        panel = isinstance(self.predictor_.decision.model, TreesPanel)
        return search_leaves(self, problems, PANEL_BOXES if panel else N_BOXES, deadline, on_rows)

    def rebind(self, predictor: Predictor) -> Self:
        """Return this method, fitted, for another threshold; the same leaves are not looked up anew."""
        return with_leaves_of(super().rebind(predictor), self)


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


def sparse_solver(method: Any, effects: Effects | None = None) -> SparseSolver:
    """The solver of a fitted method that has `max_changes`, `width` and `norm`, and listed ``values``."""
    encoder: Encoder = method.predictor_.encoder
    values = method.state_["values"]
    n_edits = values.size + sum(g.stop - g.start for g in encoder.layout.groups)
    blocks = -(-n_edits // BLOCK)
    most = DEFAULT_CHANGES if method.max_changes is None else method.max_changes
    deeper = method.width * max(most - 2, 0)
    model = method.predictor_.decision.model
    return SparseSolver(
        decision=method.predictor_.decision,
        values=jnp.asarray(values),
        cost_weights=jnp.asarray(norm_weights(encoder, method.norm)),
        n_steps=jnp.asarray(blocks * (1 + n_edits + deeper) + 4 * most + 4),
        norm=method.norm,
        max_changes=most,
        width=method.width,
        block=BLOCK,
        effects=effects,
        first=FirstLayer.of(model),
        first_alone=None if model.alone is model else FirstLayer.of(model.alone),
    )


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
