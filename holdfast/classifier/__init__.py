"""RecourseClassifier, the one estimator; `recourse` for any other model; `compare` for methods side by side."""

from holdfast.classifier._classifier import RecourseClassifier
from holdfast.classifier._compare import compare
from holdfast.classifier._named import named_model, pipeline
from holdfast.classifier._records import Replay, records, replay
from holdfast.classifier._recourse import recourse, wrap

__all__ = [
    "RecourseClassifier",
    "Replay",
    "compare",
    "named_model",
    "pipeline",
    "records",
    "recourse",
    "replay",
    "wrap",
]
