"""Training that stops where it no longer helps: what a classifier takes by default."""

from collections.abc import Mapping
from typing import Any

from holdtrue.models import AbstractArchitecture, PiecewiseMLP
from holdtrue.parameters import Count, NonNegative, Positive
from holdtrue.training._cross_entropy import AbstractCrossEntropy

FEWEST = 100
"""Rows below which none is held out: a tenth of them would say nothing."""
UPDATES = 64
"""Updates per epoch at least, as far as batches of 32 to 256 rows allow."""


class EarlyStopping(AbstractCrossEntropy):
    """Minimise cross-entropy with Adam until held-out rows stop gaining, and keep the best model.

    A classifier that is given neither model nor regime is trained so, as a `PiecewiseMLP`. Of fewer than 100 rows
    none is held out, and all epochs are run.

    Parameters
    ----------
    n_epochs : int, default=100
        Passes over the data at most.
    batch_size : int, optional
        Rows per update; when omitted a power of two from 32 to 256, the larger the longer the table.
    step_size : float, default=0.001
        Of Adam.
    weight_decay : float, default=0.1
        Decoupled, as in AdamW.
    class_weight : None, "balanced" or mapping, default=None
        Weight per class label.
    validation_fraction : float, default=0.15
        Share of rows held out.
    patience : int, default=8
        Stop after so many epochs without a better validation loss.

    Examples
    --------
    >>> EarlyStopping().rows_per_update(10_000)
    128
    """

    batch_size: Count | None

    def __init__(
        self,
        *,
        n_epochs: int = 100,
        batch_size: int | None = None,
        step_size: Positive = 0.001,
        weight_decay: NonNegative = 0.1,
        class_weight: str | Mapping[Any, float] | None = None,
        validation_fraction: float = 0.15,
        patience: int = 8,
    ) -> None:
        self.n_epochs = n_epochs
        self.batch_size = batch_size  # type: ignore[assignment]
        self.step_size = step_size
        self.weight_decay = weight_decay
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.patience = patience

    def default_model(self) -> AbstractArchitecture:
        """A network that neither units nor tails matter to."""
        return PiecewiseMLP()

    def rows_per_update(self, n_rows: int) -> int:
        """`batch_size`, or what makes about 64 updates an epoch."""
        if self.batch_size is not None:
            return self.batch_size
        return min(256, max(32, 2 ** max(0, (n_rows // UPDATES).bit_length() - 1)))

    def waits(self, n_rows: int) -> int | None:
        """`patience`; None where there are too few rows to hold some out."""
        return None if n_rows < FEWEST else self.patience
