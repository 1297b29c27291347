"""RecourseClassifier, the one estimator; `recourse` for any other model; `compare` for methods side by side."""

from holdfast.classifier._certificate import Certificate
from holdfast.classifier._certify import certify
from holdfast.classifier._classifier import RecourseClassifier
from holdfast.classifier._compare import compare
from holdfast.classifier._named import named_model, pipeline
from holdfast.classifier._records import Replay, records, replay, survival_of
from holdfast.classifier._recourse import recourse, wrap
from holdfast.classifier._rows import rows_of, table_of
from holdfast.classifier._tradeoff import tradeoff
from holdfast.classifier._tune import tune
from holdfast.classifier._verify import CertificateCheck, verify

__all__ = [
    "Certificate",
    "CertificateCheck",
    "RecourseClassifier",
    "Replay",
    "certify",
    "compare",
    "named_model",
    "pipeline",
    "records",
    "recourse",
    "replay",
    "rows_of",
    "survival_of",
    "table_of",
    "tradeoff",
    "tune",
    "verify",
    "wrap",
]
