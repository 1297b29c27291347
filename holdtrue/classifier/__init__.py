"""RecourseClassifier, the one estimator, and its file; `recourse` for any other model."""

from holdtrue.classifier._certificate import Certificate, proposed
from holdtrue.classifier._classifier import RecourseClassifier
from holdtrue.classifier._named import named_model, pipeline
from holdtrue.classifier._objects import describe, rebuild
from holdtrue.classifier._recourse import recourse, wrap
from holdtrue.classifier._rows import rows_of, some_rows, table_of

__all__ = [
    "Certificate",
    "RecourseClassifier",
    "describe",
    "named_model",
    "pipeline",
    "proposed",
    "rebuild",
    "recourse",
    "rows_of",
    "some_rows",
    "table_of",
    "wrap",
]
