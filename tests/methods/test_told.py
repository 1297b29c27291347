"""What a sentence tells a person to do is what was checked: its numbers, read back, are the plan's."""

import re

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.methods import number, phrase
from holdtrue.schema import Feature, Schema

N = 300


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray, Schema]:
    """Numbers without steps on very different ranges, one of them with a limit across two."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({
        "income": rng.lognormal(10.3, 0.5, 1200),
        "ratio": rng.uniform(0, 1, 1200),
        "rate": rng.normal(0, 1e-3, 1200),
        "balance": rng.normal(0, 2e5, 1200),
    })  # fmt: skip
    score = X.income / 3e4 - 2 * X.ratio + 500 * X.rate + X.balance / 3e5 + rng.normal(0, 0.3, 1200)
    features = [Feature(name=n, kind="numeric") for n in X.columns]
    return X, (score > score.median()).to_numpy().astype(int), Schema(features)


@pytest.fixture(scope="module")
def smooth(table) -> ht.RecourseClassifier:
    X, y, schema = table
    return ht.RecourseClassifier(schema=schema, hold=None, random_state=0).fit(X, y)


@pytest.mark.parametrize("kind", [ht.SparseSearch, ht.ElasticNet, ht.Wachter])
def test_doing_what_the_sentence_says_is_accepted(table, smooth, kind) -> None:
    X, _, _ = table
    refused = X[smooth.predict(X) == 0][:N]
    plan = kind().fit(smooth, X).recourse(refused)
    assert plan.found.sum() > 0.8 * len(plan)
    done = followed(plan, refused)
    assert (smooth.predict(done)[plan.found] == 1).all()
    pd.testing.assert_frame_equal(done[plan.found], plan.to_frame()[list(X.columns)][plan.found], check_exact=True)


def test_trees_too() -> None:
    """Boxes of trees are thin; who cannot be told a round number inside is told more digits."""
    from sklearn.ensemble import RandomForestClassifier

    data = ht.datasets.load("breast_cancer")
    forest = RandomForestClassifier(30, random_state=0).fit(data.X, data.y)
    refused = data.X[forest.predict(data.X) == 0][:60]
    plan = ht.recourse(forest, refused, data.schema, reference=data.X)
    assert plan.found.any()
    done = followed(plan, refused)
    assert (forest.predict(done)[plan.found] == 1).all()


def test_numbers_are_short(table, smooth) -> None:
    """A round number, hardly dearer, in place of the search's: 4,210 and not 4,209.83712."""
    X, _, _ = table
    plan = ht.Wachter().fit(smooth, X).recourse(X[smooth.predict(X) == 0][:50])
    new = [text for sentence in plan.changes() for text in re.findall(r" to (-?[\d,.]*\d)", sentence)]
    assert len(new) > 50
    assert np.mean([len(re.sub(r"^-?0\.0*|[-,.]", "", text)) <= 6 for text in new]) > 0.95


def followed(plan: ht.RecourseFrame, people: pd.DataFrame) -> pd.DataFrame:
    """People after each has done what their sentence says, to the letter."""
    done = people.copy().reset_index(drop=True)
    for i, sentence in enumerate(plan.changes()):
        if plan.found[i]:
            for name in done.columns:
                said = re.search(rf"\b{re.escape(name)} from \S+ to (-?[\d,.e+]*\d)", sentence)
                if said:
                    done.loc[i, name] = float(said.group(1).replace(",", ""))
    done.index = people.index
    return done


@pytest.mark.parametrize(
    ("feature", "value", "text"),
    [
        (Feature(name="x", kind="numeric", bounds=(0, 1e5)), 4209.83712, "4,209.83712"),
        (Feature(name="x", kind="numeric", bounds=(0, 1e5)), 4210.0, "4,210"),
        (Feature(name="x", kind="numeric", bounds=(0, 1000), step=0.25), 0.25, "0.25"),
        (Feature(name="x", kind="numeric", bounds=(-1, 1)), -0.5, "-0.5"),
        (Feature(name="x", kind="numeric", bounds=(0, 1e-12)), 2.5e-13, "0.00000000000025"),
        (Feature(name="x", kind="numeric", bounds=(0, 1e300)), 2e299 / 3, f"{2e299 / 3!r}"),
        (Feature(name="x", kind="ordinal", levels=(0.1234567, 1234567.5)), 0.1234567, "0.1234567"),
        (Feature(name="x", kind="ordinal", levels=(0.1234567, 1234567.5)), 1234567.5, "1234567.5"),
    ],
)
def test_every_digit_that_counts_is_shown(feature: Feature, value: float, text: str) -> None:
    assert number(value, feature) == text


def test_what_is_may_be_shortened_but_not_to_the_wrong_side() -> None:
    feature = Feature(name="x", kind="numeric", bounds=(0, 10))
    assert phrase(feature, 3.14159265, 4.2) == "raise x from 3.142 to 4.2"
    assert phrase(feature, 3.13996, 3.13998) == "raise x from 3.13996 to 3.13998"
