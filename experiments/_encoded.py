"""A model over its encoded columns, each a free number: arrays in, arrays out, as the papers search."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.encoding._layout import make_layout
from holdtrue.methods import AbstractMethod, StableSearch
from holdtrue.retraining import Retrained
from holdtrue.schema import Feature, Schema, Table


class Points(NamedTuple):
    """What a search found: a point per person, their own where it found nothing.

    `found` says for whom it found one, `valid` where the model decides it as wanted; `cost` is by the method's
    norm, NaN where there is none; `n_steps` is how long it searched.
    """

    x: np.ndarray
    found: np.ndarray
    valid: np.ndarray
    cost: np.ndarray
    n_steps: np.ndarray


@dataclass(frozen=True)
class EncodedSpace:
    """A predictor whose rows are encoded rows.

    Categories may be fractions here, and whole numbers need not be whole: what a search finds is a point of the
    encoded space, and nobody's recourse until it has been hardened.
    """

    predictor: Predictor

    @staticmethod
    def of(predictor: Predictor, low: float, high: float) -> "EncodedSpace":
        """The same model over its encoded columns, each free from `low` to `high`."""
        n = predictor.encoder.n_columns
        schema = Schema([Feature(name=f"c{i}", kind="numeric", bounds=(low, high)) for i in range(n)])
        ones = np.ones(n)
        encoder = Encoder(schema, "minmax", make_layout(schema), ones, 0 * ones, ones, {})
        return EncodedSpace(Predictor(encoder, predictor.decision, predictor.classes))

    def fitted(
        self, method: AbstractMethod, x: np.ndarray | None = None, guides: Retrained | None = None
    ) -> AbstractMethod:
        """A method prepared for this space, from encoded training rows and guides where it takes them."""
        if isinstance(method, StableSearch):
            return method.fit(self.predictor, None if x is None else self.view(x), guides=guides)
        return method.fit_encoded(self.predictor, None if x is None else np.asarray(x, np.float32), None)

    def recourse(self, method: AbstractMethod, x: np.ndarray, target: np.ndarray | None = None) -> Points:
        """Ask a method that was fitted here about encoded rows; `target` holds class indices, or is favourable."""
        wanted = None if target is None else self.predictor.classes[target]
        plan = method.recourse(self.view(x), target=wanted)
        points = np.stack(list(plan.recourse.columns.values()), axis=1)
        return Points(points, np.asarray(plan.found), np.asarray(plan.valid), plan.cost, np.asarray(plan.n_steps))

    def decided(self, models: Retrained, x: np.ndarray) -> np.ndarray:
        """Class indices (models, rows) that retrained models decide for encoded rows."""
        return replace(models, predictor=self.predictor).decide(self.view(x))

    def view(self, x: np.ndarray) -> Table:
        """Encoded rows as what methods read: the same numbers, by columns."""
        rows = np.asarray(x, np.float64)
        return Table({name: rows[:, i] for i, name in enumerate(self.predictor.encoder.schema.names)}, len(rows))
