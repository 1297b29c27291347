"""Models in MLflow: a run with what is known of a classifier, and a model that also answers recourse."""

from holdtrue.tracking._log import flat, log
from holdtrue.tracking._pyfunc import LOADER, PyfuncClassifier, signature
from holdtrue.tracking._pyfunc import load as _load_pyfunc  # the name that MLflow asks a module for

__all__ = ["LOADER", "PyfuncClassifier", "_load_pyfunc", "flat", "log", "signature"]
