"""RecourseClassifier, the one estimator; `recourse` for any other model; `compare` for methods side by side."""

from holdfast.classifier._classifier import RecourseClassifier
from holdfast.classifier._compare import compare
from holdfast.classifier._named import named_model, pipeline
from holdfast.classifier._recourse import recourse, wrap

__all__ = ["RecourseClassifier", "compare", "named_model", "pipeline", "recourse", "wrap"]
