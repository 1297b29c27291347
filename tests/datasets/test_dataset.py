"""Splitting and picking rows."""

import numpy as np
import pytest

from holdtrue import datasets
from holdtrue.errors import DataError


@pytest.fixture(scope="module")
def bank() -> datasets.Dataset:
    return datasets.load("loanapp")


def test_split_is_stratified_and_complete(bank: datasets.Dataset) -> None:
    train, test = bank.split(test_size=0.2, random_state=3)
    assert len(train) + len(test) == len(bank)
    assert abs(len(test) - 0.2 * len(bank)) < 1
    for part in (train, test):
        assert abs(part.y.mean() - bank.y.mean()) < 1 / len(part)
        assert part.X.index.equals(type(part.X.index)(range(len(part))))
        assert part.schema is bank.schema
    assert np.isclose(train.X.to_numpy().sum() + test.X.to_numpy().sum(), bank.X.to_numpy().sum())


def test_split_follows_the_seed(bank: datasets.Dataset) -> None:
    first, again, other = (bank.split(random_state=s)[1].X for s in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def test_split_keeps_groups_with_their_rows() -> None:
    data = datasets.load("label_shift")
    marked = np.round(data.X["x1"].to_numpy(), 12)
    train, test = data.split()
    for part in (train, test):
        assert part.groups is not None
        rows = [int(np.flatnonzero(marked == v)[0]) for v in np.round(part.X["x1"].to_numpy(), 12)]
        assert (data.groups["version"].to_numpy()[rows] == part.groups["version"].to_numpy()).all()
        assert (data.y[rows] == part.y).all()


@pytest.mark.parametrize("size", [0, 1.5, 10**6, "half"])
def test_split_of_impossible_size(bank: datasets.Dataset, size: object) -> None:
    with pytest.raises(DataError, match=r"1971 rows of 'loanapp' cannot be split so; got test_size="):
        bank.split(test_size=size)


def test_subset_by_mask_and_position(bank: datasets.Dataset) -> None:
    denied = bank.subset(bank.y == 0)
    assert denied.classes == [0]
    assert len(denied) == int((bank.y == 0).sum())
    last = bank.subset([-1])
    assert (last.X.iloc[0] == bank.X.iloc[-1]).all()
    assert len(bank.subset(np.zeros(len(bank), bool))) == 0


@pytest.mark.parametrize("rows", [[True], [5000], [[1]], ["a"], 3])
def test_subset_refuses_other_things(bank: datasets.Dataset, rows: object) -> None:
    with pytest.raises(DataError, match=r"Dataset\.subset: "):
        bank.subset(rows)


def test_a_notebook_shows_code_as_code(bank: datasets.Dataset) -> None:
    page = bank._repr_html_()
    assert "<code>hrat</code>" in page
    assert "`" not in page


def test_repr_is_short(bank: datasets.Dataset) -> None:
    assert repr(bank) == "Dataset(name='loanapp', rows=1971, features=21, target='approve', favourable=1)"
