"""A classifier seen as the papers see it: every encoded column a free number."""

import numpy as np
import pandas as pd

from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.schema import Feature, Schema


def relaxed(predictor: Predictor, rows: np.ndarray) -> Predictor:
    """The same model over its encoded columns, each free within the range of all training values (B.3's clamp).

    Categories may then be fractions, and whole numbers need not be whole: what a search finds here is a point of
    the encoded space, and nobody's recourse until it has been hardened.
    """
    low, high = float(rows.min()), float(rows.max())
    schema = Schema([Feature(name=f"c{i}", kind="numeric", bounds=(low, high)) for i in range(rows.shape[1])])
    plain = Encoder.fit(schema, as_frame(rows))
    ones = np.ones(rows.shape[1])
    encoder = Encoder(plain.schema, "minmax", plain.layout, ones, 0 * ones, plain.spread, {})
    return Predictor(encoder, predictor.decision, predictor.classes)


def as_frame(rows: np.ndarray) -> pd.DataFrame:
    """Encoded rows as a table of the relaxed view."""
    return pd.DataFrame(np.asarray(rows, np.float64), columns=[f"c{i}" for i in range(rows.shape[1])])
