"""Districts, images and sentences: sets that are not about applicants."""

import numpy as np
import pandas as pd

from holdtrue.datasets._columns import Move, balanced, fixed, number, whole
from holdtrue.datasets._files import RawFile
from holdtrue.datasets._registry import Parts, Raw, register
from holdtrue.errors import DataError
from holdtrue.schema import Schema

HOUSING = Schema(
    [
        number("medianIncome", "median income", unit="10,000 $"),
        whole("totalRooms", "rooms"),
        whole("totalBedrooms", "bedrooms"),
        whole("population", "population"),
        whole("households", "households"),
        *fixed(
            [
                whole("housingMedianAge", "median age of houses", unit="years"),
                number("latitude", "latitude"),
                number("longitude", "longitude"),
            ]
        ),
    ]
)


@register(
    "california_housing",
    rows=20640,
    features=8,
    target="medianHouseValue",
    favourable=1,
    source="Pace and Barry (1997), StatLib houses, census of 1990",
    licence="none stated",
    file=RawFile(
        name="california_housing.csv.gz", rows=20640, width=9, columns=(*HOUSING.names, "medianHouseValue")
    ),
    variants={
        "counterfactual-training": "the columns of scikit-learn's version (averages for rooms, bedrooms and "
        "occupants), both classes equally often (20,634 rows); everything free, or HouseAge fixed with "
        "protect=True. The paper does not give its rule; a value above the median, balanced, is the rule of "
        "the benchmark that its other row counts come from.",
    },
)
def california_housing(
    raw: Raw, *, variant: str | None = None, random_state: int | None = 0, protect: bool = False
) -> Parts:
    """Districts of California: median house value above the median of 179,700 dollars (1) or not (0).

    Rows are districts, not people; 1 is called favourable for want of a better. `groups` holds the value.
    """
    value = raw["medianHouseValue"].to_numpy("float64")
    y = (value > np.median(value)).astype("int64")
    groups = pd.DataFrame({"medianHouseValue": value})
    if variant is None:
        whole_columns = {f.name: "int64" for f in HOUSING if f.kind == "integer"}
        X = raw[HOUSING.names].astype(whole_columns)
        return Parts(X=X, y=y, schema=HOUSING.resolve(X), groups=groups)
    households = raw["households"]
    X = pd.DataFrame(
        {
            "MedInc": raw["medianIncome"],
            "HouseAge": raw["housingMedianAge"],
            "AveRooms": raw["totalRooms"] / households,
            "AveBedrms": raw["totalBedrooms"] / households,
            "Population": raw["population"],
            "AveOccup": raw["population"] / households,
            "Latitude": raw["latitude"],
            "Longitude": raw["longitude"],
        }
    )
    rows = balanced(y, random_state)
    X = X.iloc[rows]
    schema = Schema([number(n, move="fixed" if protect and n == "HouseAge" else "free") for n in X.columns])
    return Parts(X=X, y=y[rows], schema=schema.resolve(X), groups=groups.iloc[rows])


@register(
    "mnist",
    rows=70000,
    features=784,
    classes=10,
    target="digit",
    favourable=None,
    source="LeCun, Cortes and Burges, MNIST",
    licence="CC BY-SA 3.0, as commonly stated",
    file=RawFile(
        name="mnist.npz",
        rows=70000,
        width=784,
        arrays={
            "x_train": (60000, 28, 28),
            "y_train": (60000,),
            "x_test": (10000, 28, 28),
            "y_test": (10000,),
        },
    ),
    variants={
        "counterfactual-training": "grey levels scaled to [-1, 1] (32-bit); protect=True fixes the five top and "
        "five bottom rows of pixels.",
    },
)
def mnist(raw: Raw, *, variant: str | None = None, part: str | None = None, protect: bool = False) -> Parts:
    """Handwritten digits 0 to 9 as 28x28 images with 256 grey levels. No digit is favourable: name a target.

    ``part="train"`` gives the first 60,000 only, ``part="test"`` the last 10,000. `groups` holds `split`.
    """
    if part not in (None, "train", "test"):
        raise DataError(f"datasets.load: `part` must be 'train', 'test' or None; got {part!r}.")
    parts = ("train", "test") if part is None else (part,)
    pixels = np.concatenate([raw[f"x_{p}"].reshape(-1, 784) for p in parts])
    y = np.concatenate([raw[f"y_{p}"] for p in parts]).astype("int64")
    groups = pd.DataFrame({"split": np.repeat(parts, [len(raw[f"y_{p}"]) for p in parts])})
    names = [f"pixel_{i}_{j}" for i in range(28) for j in range(28)]
    rows: list[Move] = ["fixed" if protect and not 5 <= i < 23 else "free" for i in range(28)]
    moves: list[Move] = [row for row in rows for _ in range(28)]
    if variant is None:
        features = [whole(n, move=m, bounds=(0, 255)) for n, m in zip(names, moves, strict=True)]
    else:
        pixels = (pixels / np.float32(127.5) - 1).astype("float32")
        features = [number(n, move=m, bounds=(-1, 1)) for n, m in zip(names, moves, strict=True)]
    return Parts(X=pd.DataFrame(pixels, columns=names), y=y, schema=Schema(features), groups=groups)


@register(
    "sst",
    rows=9613,
    features=1,
    target="label",
    favourable=1,
    source="Socher et al. (2013), Stanford Sentiment Treebank, sentences with their root label",
    licence="none stated",
    file=RawFile(name="sst.csv.gz", rows=11855, width=3, columns=("split", "label", "sentence")),
)
def sst(raw: Raw, *, classes: int = 2) -> Parts:
    """Sentences from film reviews: positive (1, favourable) or negative (0).

    `X` has the one column `sentence`, and `schema` is None: a schema describes columns, not texts. Neutral
    sentences are left out (SST-2); ``classes=5`` keeps all 11,855 with labels 0 (very negative) to 4 (very
    positive, favourable). `groups` holds `split`: train, dev, test.
    """
    if classes not in (2, 5):
        raise DataError(f"datasets.load: `classes` must be 2 or 5; got {classes!r}.")
    kept = raw[raw["label"] != 2] if classes == 2 else raw
    label = kept["label"].to_numpy("int64")
    return Parts(
        X=kept[["sentence"]],
        y=label if classes == 5 else (label > 2).astype("int64"),
        schema=None,
        groups=kept[["split"]],
        favourable=4 if classes == 5 else 1,
    )
