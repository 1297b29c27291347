"""Housing, images, sentences."""

import numpy as np
import pytest

from holdtrue import datasets

pytestmark = pytest.mark.usefixtures("data_dir")


def test_california_of_the_paper() -> None:
    data = datasets.load("california_housing", variant="counterfactual-training", protect=True)
    assert (len(data), data.y.mean()) == (20634, 0.5)
    assert [f.name for f in data.schema if f.direction == "fixed"] == ["HouseAge"]
    assert data.schema.names.index("HouseAge") == 1
    first = data.X.iloc[0]
    assert np.allclose(first[["MedInc", "AveRooms", "AveOccup"]].astype(float), [8.3252, 6.984127, 2.555556])


def test_mnist_scaled_and_protected() -> None:
    test = datasets.load("mnist", variant="counterfactual-training", part="test", protect=True)
    assert (len(test), test.X.to_numpy().min(), test.X.to_numpy().max()) == (10000, -1, 1)
    guarded = [f.name for f in test.schema if f.direction == "fixed"]
    assert len(guarded) == 280
    assert guarded[139:141] == ["pixel_4_27", "pixel_23_0"]
    assert set(test.groups["split"]) == {"test"}


def test_sst_sizes() -> None:
    two, five = datasets.load("sst"), datasets.load("sst", classes=5)
    assert two.groups["split"].value_counts().to_dict() == {"train": 6920, "test": 1821, "dev": 872}
    assert five.groups["split"].value_counts().to_dict() == {"train": 8544, "test": 2210, "dev": 1101}
    assert (five.classes, five.favourable) == ([0, 1, 2, 3, 4], 4)
    assert two.schema is None
