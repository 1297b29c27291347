"""Any model file, whatever kind of classifier it holds."""

from pathlib import Path

from holdtrue.classifier import _file
from holdtrue.classifier._abstract import AbstractClassifier
from holdtrue.classifier._adopted import KIND, Adopted
from holdtrue.classifier._classifier import RecourseClassifier
from holdtrue.errors import DataError
from holdtrue.schema import hinted


@hinted()
def load(path: str | Path) -> AbstractClassifier:
    """Read a model file: a `RecourseClassifier`, or a model that was adopted. Nothing in the file is run.

    Examples
    --------
    >>> import holdtrue as ht
    >>> clf = ht.load("bank.holdtrue")  # doctest: +SKIP
    """
    header, arrays = _file.read(path)
    kind = header.get("kind")
    if kind not in (None, KIND):
        raise DataError(f"load: the file holds an unknown kind of model; got {kind!r}. Upgrade holdtrue.")
    cls = RecourseClassifier if kind is None else Adopted
    return _file.fitting_together(path, lambda: cls.from_parts(header, arrays))
