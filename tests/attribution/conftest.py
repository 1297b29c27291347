import numpy as np
import pandas as pd
import pytest

from holdtrue import Feature, Schema


@pytest.fixture(scope="session")
def people():
    """A table with every kind of feature, missing values and a group; labels of two and of three classes."""
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame(
        {
            "income": rng.normal(50, 20, n).round(1),
            "debt": rng.gamma(2.0, 10, n).round(1),
            "inquiries": rng.integers(0, 9, n),
            "house": rng.choice(["own", "rent", "other"], n),
            "grade": rng.choice(["low", "mid", "high"], n),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    points = (
        0.05 * frame.income - 0.04 * frame.debt - 0.3 * frame.inquiries + (frame.house == "own")
        + 0.5 * (frame.grade == "high") * (frame.income > 40) - 0.4 * (frame.sex == "m") + rng.normal(0, 1, n)
    )  # fmt: skip
    frame.loc[rng.random(n) < 0.1, "debt"] = np.nan
    schema = Schema(
        [
            Feature(name="income", kind="numeric", label="yearly income"),
            Feature(name="debt", kind="numeric", missing="median", group="obligations"),
            Feature(name="inquiries", kind="integer", group="obligations"),
            Feature(name="house", kind="categorical", direction="fixed"),
            Feature(name="grade", kind="ordinal", levels=("low", "mid", "high")),
            Feature(name="sex", kind="binary", levels=("f", "m"), direction="fixed", protected=True),
        ]
    )
    return (
        frame,
        (points > np.median(points)).astype(int),
        np.digitize(points, np.quantile(points, [0.3, 0.7])),
        schema,
    )
