"""RecourseClassifier, the one estimator; `recourse` for any other model; `compare` for methods side by side."""

from holdtrue.classifier._certificate import Certificate
from holdtrue.classifier._certify import certify
from holdtrue.classifier._classifier import RecourseClassifier
from holdtrue.classifier._compare import compare
from holdtrue.classifier._named import named_model, pipeline
from holdtrue.classifier._records import Replay, records, replay, survival_of
from holdtrue.classifier._recourse import recourse, wrap
from holdtrue.classifier._rows import rows_of, table_of
from holdtrue.classifier._tradeoff import tradeoff
from holdtrue.classifier._tune import tune
from holdtrue.classifier._verify import CertificateCheck, verify

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
