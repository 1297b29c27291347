"""Cardiotocograms, warfarin, EEG."""

import numpy as np
import pytest

from holdtrue import datasets

pytestmark = pytest.mark.usefixtures("data_dir")


def test_three_classes_of_cardiotocograms() -> None:
    data = datasets.load("cardiotocography", classes=3)
    labels, counts = np.unique(data.y, return_counts=True)
    assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == {
        "normal": 1655,
        "suspect": 295,
        "pathologic": 176,
    }
    assert data.favourable == "normal"


def test_warfarin_doses() -> None:
    data = datasets.load("warfarin")
    dose = data.groups["dose"].to_numpy()
    assert (dose[data.y == "low"] < 21).all()
    assert (dose[data.y == "high"] > 49).all()
    assert ((dose[data.y == "medium"] >= 21) & (dose[data.y == "medium"] <= 49)).all()
    assert {k: int((data.y == k).sum()) for k in data.classes} == {"low": 1495, "medium": 3382, "high": 651}
    assert set(data.X["age"].dropna()) == set(range(10, 100, 10))


def test_warfarin_of_the_paper_is_complete() -> None:
    data = datasets.load("warfarin", variant="consistent-counterfactuals")
    assert len(data) == 4386
    assert not data.X[["age", "height", "weight"]].isna().any().any()
    assert all(f.direction == "free" for f in data.schema)


def test_seizure_groups() -> None:
    data = datasets.load("seizure")
    assert data.groups.groupby("recording").size().eq(23).all()
    assert ((data.groups["state"] != 1) == (data.y == 1)).all()
