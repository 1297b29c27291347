"""What a classifier that owes people recourse can be asked, however it came about."""

import copy
from abc import abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from holdtrue._registry import made
from holdtrue._types import JsonObject
from holdtrue.batch import Predictor
from holdtrue.classifier import _file
from holdtrue.classifier._certificate import Certificate
from holdtrue.errors import DataError
from holdtrue.hold import AS_FITTED, Hold, held_method
from holdtrue.methods import AbstractMethod, RecourseFrame
from holdtrue.models import fresh
from holdtrue.parameters import AbstractConfigured
from holdtrue.retraining import TrainingData
from holdtrue.schema import Schema, Table, TableLike, hinted, plain


class AbstractClassifier(ClassifierMixin, AbstractConfigured):
    """A fitted classifier, its decision, and the method that finds recourse.

    Attributes
    ----------
    threshold : float
        With two classes, the favourable one is decided when its probability reaches this.
    classes_ : array of labels
    predictor_ : Predictor
    method_ : AbstractMethod, fitted
    training_ : TrainingData or None
        Encoded training rows, where it has them.
    """

    method: Any
    threshold: Any
    classes_: np.ndarray
    predictor_: Predictor
    method_: AbstractMethod
    training_: TrainingData | None

    @abstractmethod
    def set_threshold(self, threshold: float) -> Self:
        """Decide from another probability on; a certificate is lost."""

    @abstractmethod
    def save(self, path: str | Path) -> None:
        """Write a model file."""

    @classmethod
    @abstractmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model file of this kind."""

    @abstractmethod
    def _read(self, X: TableLike) -> Table:
        """A table as the classifier reads it."""

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Probabilities of shape (n, classes)."""
        table = self._read(X)
        return self.predictor_.proba(table)

    def predict(self, X: TableLike) -> np.ndarray:
        """Decisions: with two classes, the favourable one where its probability reaches the threshold."""
        table = self._read(X)
        return self.classes_[self.predictor_.decide(table)]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "predictor_")

    # ---- recourse -----------------------------------------------------------------------------------

    @property
    def schema_(self) -> Schema:
        """The schema with bounds and levels filled in."""
        return self.predictor_.encoder.schema

    @hinted(AbstractMethod.recourse)
    def recourse(
        self,
        X: TableLike,
        *,
        method: str | AbstractMethod | None = None,
        hold: Hold = AS_FITTED,
        **options: Any,
    ) -> RecourseFrame:
        """Find recourse for every row; see `AbstractMethod.recourse` for the options.

        Parameters
        ----------
        X : dataframe or array
            People as they are.
        method : str or AbstractMethod, optional
            Another method than the classifier's own; one that needs training rows must have been fitted to this
            classifier. It searches for the model alone unless `hold` is given, and is judged all the same.
        hold : float, Level or None, optional
            Another chance of holding than the classifier's own; None: the cheapest recourse, judged where there
            are judges. A number that was not measured when the classifier was fitted is refused.
        """
        check_is_fitted(self)
        table = self._read(X)
        asked = held_method(self._chosen(method), self.method_, hold, own=method is None)
        return asked.recourse(table, **options)

    def at_threshold(self, threshold: float) -> Self:
        """Return a copy with another threshold; see `set_threshold`."""
        return copy.copy(self).set_threshold(threshold)

    def with_method(self, method: AbstractMethod) -> Self:
        """Return a copy whose own method is this one, which was fitted to the classifier."""
        out = copy.copy(self)
        out.method = out.method_ = method
        return out

    # ---- certificate --------------------------------------------------------------------------------

    @property
    def certificate_(self) -> Certificate | None:
        """The certificate of this model at this threshold, if it was certified."""
        carried = self.predictor_.certificate
        return carried if isinstance(carried, Certificate) else None

    @certificate_.setter
    def certificate_(self, certificate: Certificate | None) -> None:
        if certificate is not None:
            self._check_certificate(certificate)
        self.predictor_ = replace(self.predictor_, certificate=certificate)
        self.method_ = copy.copy(self.method_)  # others may hold the one of before, and share it
        self.method_.predictor_ = self.predictor_

    def _write(self, path: str | Path, header: JsonObject, arrays: dict[str, np.ndarray]) -> None:
        """Write a model file, with the certificate where there is one."""
        if self.certificate_ is not None:
            self._check_certificate(self.certificate_)
            header["certificate"] = self.certificate_.to_dict()
        _file.write(path, header, arrays)

    def _check_certificate(self, certificate: Certificate) -> None:
        """Refuse to carry a certificate that was made for another model, or another threshold of this one."""
        mine = (self.predictor_.digest(), self.threshold, plain(self.predictor_.favourable))
        if (certificate.model, certificate.threshold, certificate.favourable) != mine:
            raise DataError(
                f"{type(self).__name__}: its certificate was made for another model or threshold; got threshold "
                f"{self.threshold!r} with a certificate for {certificate.threshold!r}. Certify this model, or set "
                "certificate_ to None."
            )

    def _chosen(self, method: str | AbstractMethod | None) -> AbstractMethod:
        if method is None:
            return self.method_
        method = made(AbstractMethod, method)
        if not hasattr(method, "predictor_"):
            return fresh(method).fit(self)
        if method.predictor_ is not self.predictor_:
            raise DataError(
                f"recourse: {type(method).__name__} was fitted to another classifier. Call fit(clf, X) with this "
                "one."
            )
        return method
