"""Costs by percentile: heights of numbers among people, in every search and figure."""

import itertools

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import holdtrue as ht
from holdtrue.encoding import Encoder
from holdtrue.metrics import costs

SCHEMA = ht.Schema(
    [
        ht.Feature(name="assets", kind="integer", bounds=(0, 60), step=5, cost="percentile"),
        ht.Feature(name="debt", kind="integer", bounds=(0, 10)),
    ]
)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    assets = np.where(rng.random(300) < 0.4, 0, 5 * np.rint(np.exp(rng.normal(1.2, 1.0, 300))))
    return pd.DataFrame({"assets": assets.astype(int), "debt": rng.integers(0, 11, 300)})


@pytest.fixture(scope="module")
def labels(people: pd.DataFrame) -> np.ndarray:
    noise = np.random.default_rng(0).normal(0, 3, len(people))
    return ((np.minimum(people.assets, 60) / 4 - people.debt + noise) > 0).astype(int).to_numpy()


def height(values: np.ndarray, at: float) -> float:
    return float(((values < at).sum() + (values <= at).sum()) / (2 * len(values)))


def test_heights_are_mid_ranks_and_costs_their_differences() -> None:
    values = np.array([0, 0, 0, 0, 1, 2, 3, 100])
    schema = ht.Schema([ht.Feature(name="v", kind="numeric", cost="percentile")])
    encoder = Encoder.fit(schema, {"v": values})
    x = encoder.encode({"v": values})
    assert encoder.tails is not None
    # Half of the four at 0, then by the half of both; from 3 to 100 is far, whoever is there.
    np.testing.assert_allclose(
        encoder.tails.rise(x)[:, 0], [0.25] * 4 + [4.5 / 8, 5.5 / 8, 6.5 / 8, 6.5 / 8 + 0.97]
    )
    paid = costs(encoder, encoder.encode({"v": [0, 3, 50, 100]}), encoder.encode({"v": [1, 100, 100, 0]}))
    np.testing.assert_allclose(paid["l1"], [2.5 / 8, 0.97, 0.5, 4.5 / 8 + 0.97], atol=1e-6)
    beyond = encoder.encode({"v": [100.0]}), encoder.encode({"v": [200.0]})
    np.testing.assert_allclose(costs(encoder, *beyond)["l2"], [1.0], atol=1e-6)


def test_a_search_and_a_table_measure_alike(people: pd.DataFrame) -> None:
    for scaling in ("minmax", "standard"):
        encoder = Encoder.fit(SCHEMA, people, scaling)
        x = encoder.encode(people)
        assert encoder.tails is not None
        own, single = encoder.tails.rise(x), encoder.tails.single()
        np.testing.assert_allclose(single.rise(jnp.asarray(x, jnp.float32)), own, atol=2e-6)
        np.testing.assert_array_equal(own[:, 1], x[:, 1])
        unit = 1.0 if scaling == "minmax" else np.sqrt(12)
        known = np.sort(people.assets.to_numpy())
        exact = unit * np.array([height(known, v) for v in known])
        few = np.searchsorted(known, 20)  # where many are, what is passed are people
        np.testing.assert_allclose(np.sort(own[:, 0])[:few], exact[:few], atol=0.02 * unit)
        assert (np.sort(own[:, 0])[few:] >= exact[few:] - 0.02 * unit).all()
        again = Encoder.from_dict(encoder.to_dict(), encoder.arrays)
        assert again.tails is not None
        np.testing.assert_array_equal(again.tails.rise(x), own)


@pytest.mark.parametrize(
    ("method", "norm"),
    [
        ("ExactSearch", "l1"),
        ("ExactSearch", "l2"),
        ("SparseSearch", "l1"),
        ("SparseSearch", "l2"),
        ("Flipset", "l1"),
    ],
)
def test_proofs_are_about_the_same_cost(people: pd.DataFrame, labels: np.ndarray, method: str, norm: str) -> None:
    """Brute force over everything a person can do finds nothing cheaper than what is called OPTIMAL."""
    trees = method != "Flipset"
    model = DecisionTreeClassifier(max_depth=6, random_state=0) if trees else LogisticRegression()
    model.fit(people, labels)
    refused = people[model.predict(people) == 0][:25]
    plan = ht.recourse(model, refused, SCHEMA, getattr(ht, method)(norm=norm), reference=people)
    encoder = plan.predictor.encoder
    grid = pd.DataFrame(list(itertools.product(range(0, 61, 5), range(11))), columns=list(people.columns))
    accepted = grid[model.predict(grid) == 1]
    target = encoder.encode(accepted)
    proved = 0
    for i in range(len(refused)):
        own = np.repeat(encoder.encode(refused[i : i + 1]), len(target), axis=0)
        best = costs(encoder, own, target)[norm].min()
        # Either stays where it is off the grid.
        for name in people.columns:
            kept = accepted.assign(**{name: refused[name].iloc[i]}).drop_duplicates()
            kept = kept[model.predict(kept) == 1]
            if len(kept):
                rows = encoder.encode(kept)
                best = min(best, costs(encoder, own[: len(rows)], rows)[norm].min())
        assert plan.cost[i] >= best - 1e-5
        if ht.Status(plan.status[i]) == ht.Status.OPTIMAL:
            proved += 1
            assert plan.cost[i] == pytest.approx(best, abs=1e-5)
    assert proved == len(refused)
    np.testing.assert_allclose(
        plan.cost, costs(encoder, encoder.encode(plan.factual), encoder.encode(plan.recourse))[norm], atol=1e-6
    )


def test_a_programme_proves_who_has_a_way_and_no_cost(people: pd.DataFrame, labels: np.ndarray) -> None:
    """Under linear models costs by percentile are told and not proved."""
    model = LogisticRegression().fit(people, labels)
    refused = people[model.predict(people) == 0][:5]
    plan = ht.recourse(model, refused, SCHEMA, ht.ExactSearch(), reference=people)
    assert plan.found.all()
    assert (plan.status == ht.Status.FOUND).all()
    encoder = plan.predictor.encoder
    known = costs(encoder, encoder.encode(plan.factual), encoder.encode(plan.recourse))["l1"]
    np.testing.assert_allclose(plan.cost, known, atol=1e-5)
    assert plan.bound is not None
    np.testing.assert_array_equal(plan.bound, 0.0)


def test_far_away_is_no_longer_cheap() -> None:
    """A few have millions: by the range, from nothing to what one in five has costs next to nothing."""
    rng = np.random.default_rng(0)
    assets = np.exp(rng.normal(9, 2, 400)).round(-2)
    for cost, least, most in (("range", 0.0, 0.05), ("percentile", 0.6, 1.0)):
        schema = ht.Schema([ht.Feature(name="assets", kind="numeric", cost=cost)])
        encoder = Encoder.fit(schema, {"assets": assets})
        far = float(np.quantile(assets, 0.8))
        paid = costs(encoder, encoder.encode({"assets": [0.0]}), encoder.encode({"assets": [far]}))["l1"][0]
        assert least < paid < most


def test_levels_have_no_percentile() -> None:
    with pytest.raises(ht.errors.SchemaError, match="`cost` of feature 'sex' only fits numeric and integer"):
        ht.Feature(name="sex", kind="binary", cost="percentile")
    with pytest.raises(ht.errors.SchemaError, match="`cost` of feature 'age' is not known; got 'percent'"):
        ht.Feature(name="age", kind="integer", cost="percent")
