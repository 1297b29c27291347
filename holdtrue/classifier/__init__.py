"""RecourseClassifier, the one estimator, and its file; `recourse` for any other model."""

from holdtrue.classifier._abstract import AbstractClassifier
from holdtrue.classifier._adopted import Adopted, adopt
from holdtrue.classifier._beside import Beside
from holdtrue.classifier._certificate import Certificate, proposed
from holdtrue.classifier._classifier import RecourseClassifier
from holdtrue.classifier._load import load
from holdtrue.classifier._named import named_model, pipeline
from holdtrue.classifier._objects import describe, rebuild
from holdtrue.classifier._recourse import recourse, wrap
from holdtrue.classifier._rows import rows_of, some_rows, table_of

__all__ = [
    "AbstractClassifier",
    "Adopted",
    "Beside",
    "Certificate",
    "RecourseClassifier",
    "adopt",
    "describe",
    "load",
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
