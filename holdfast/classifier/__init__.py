"""RecourseClassifier, the one estimator; `recourse` for any other model."""

from holdfast.classifier._classifier import RecourseClassifier
from holdfast.classifier._recourse import recourse, wrap

__all__ = ["RecourseClassifier", "recourse", "wrap"]
