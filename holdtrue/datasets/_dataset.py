"""One table with what is known about it: the columns, the label, and where it comes from."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from holdtrue._html import paragraph, table
from holdtrue._types import Label
from holdtrue.errors import DataError
from holdtrue.schema import Schema


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """A table, its labels, and the description that every other part reads.

    Parameters
    ----------
    name : str
        Name in the registry.
    X : DataFrame
        The features, one row per person, index 0 to n - 1.
    y : ndarray
        The labels. In two-class sets 1 is the good outcome for the person and 0 the other.
    schema : Schema or None
        How each column may change. None for text, which a schema cannot describe.
    target : str
        What the label is called in the source.
    favourable : object
        The label a person hopes for, or None where no class is better than another (digits).
    source, licence, description : str
        Where the data come from, what their owners allow, and what a row and a label mean.
    groups : DataFrame or None
        Columns that no model should read but an experiment splits by: year, version, school, cohort.
    """

    name: str
    X: pd.DataFrame
    y: np.ndarray
    schema: Schema | None
    target: str
    favourable: Label
    source: str
    licence: str
    description: str
    groups: pd.DataFrame | None = None

    def __repr__(self) -> str:
        return (
            f"Dataset(name={self.name!r}, rows={len(self.X)}, features={self.X.shape[1]}, "
            f"target={self.target!r}, favourable={self.favourable!r})"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: what it is, how often each label, and the first rows."""
        labels, counts = np.unique(self.y, return_counts=True)
        shown = ", ".join(
            f"{label}: {n:,}" for label, n in zip(labels.tolist()[:10], counts.tolist()[:10], strict=True)
        )
        wanted = "" if self.favourable is None else f"; people hope for {self.favourable}"
        first = self.X.head()
        rows = [[f"{value:,g}" if isinstance(value, float) else str(value) for value in row] for row in
                first.astype(object).to_numpy().tolist()]  # fmt: skip
        size = f"{self.name}: {len(self.X):,} rows, {self.X.shape[1]} columns; the first {len(first)}"
        return (
            table(list(map(str, self.X.columns)), rows, size)
            + paragraph(f"Label {self.target}: {shown}{wanted}.")
            + paragraph(f"{self.description} Source: {self.source}. Licence: {self.licence}.", code=True)
        )

    def __len__(self) -> int:
        return len(self.X)

    @property
    def classes(self) -> list[Label]:
        """The distinct labels, sorted."""
        return np.unique(self.y).tolist()

    def subset(self, rows: object) -> "Dataset":
        """Return some rows, renumbered from 0.

        Parameters
        ----------
        rows : array of bool or int
            A mask with one entry per row, or positions.

        Examples
        --------
        >>> from holdtrue import datasets
        >>> bank = datasets.load("loanapp")
        >>> denied = bank.subset(bank.y == 0)
        >>> denied.classes
        [0]
        """
        picked = np.asarray(rows)
        if picked.ndim != 1 or picked.dtype.kind not in "biu":
            raise DataError(
                f"Dataset.subset: `rows` must be a mask or positions; got an array of shape {picked.shape} "
                f"and type {picked.dtype}. Write for example `data.subset(data.y == 0)`."
            )
        if picked.dtype == bool and len(picked) != len(self.X):
            raise DataError(
                f"Dataset.subset: a mask needs one entry per row; got {len(picked)} for {len(self.X)} rows."
            )
        n = len(self.X)
        if picked.dtype != bool and len(picked) and not -n <= picked.min() <= picked.max() < n:
            raise DataError(
                f"Dataset.subset: `rows` name a row that is not there; got {int(picked.min())} to "
                f"{int(picked.max())} of {len(self.X)} rows."
            )
        groups = None if self.groups is None else self.groups.iloc[picked].reset_index(drop=True)
        return replace(self, X=self.X.iloc[picked].reset_index(drop=True), y=self.y[picked], groups=groups)

    def split(self, *, test_size: float | int = 0.25, random_state: int | None = 0) -> "tuple[Dataset, Dataset]":
        """Split at random into a train and a test set with the same share of each class.

        Parameters
        ----------
        test_size : float or int, default=0.25
            Share or number of test rows.
        random_state : int or None, default=0
            Seed of the shuffle; None draws a new split each time.

        Examples
        --------
        >>> from holdtrue import datasets
        >>> train, test = datasets.load("moons", n_samples=200).split(test_size=50)
        >>> len(train), len(test), int(test.y.sum())
        (150, 50, 25)
        """
        from sklearn.model_selection import train_test_split

        try:
            train, test = train_test_split(
                np.arange(len(self.X)), test_size=test_size, random_state=random_state, stratify=self.y
            )
        except ValueError as error:
            raise DataError(
                f"Dataset.split: {len(self.X)} rows of {self.name!r} cannot be split so; got "
                f"test_size={test_size!r}. {str(error).split('. ')[0].rstrip('.')}."
            ) from error
        return self.subset(train), self.subset(test)
