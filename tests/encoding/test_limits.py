"""`broken_limits` catches every kind of violation, each made by hand; and the sets people get."""

import jax
import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.encoding import (
    Encoder,
    Feasible,
    FeasibleSets,
    Permits,
    broken_limits,
    decode_recourse,
    feasible_sets,
)
from holdtrue.schema import Feature, Implication, LinearConstraint, Schema, Table, as_table

SCHEMA = Schema(
    [
        Feature(name="free", kind="numeric", bounds=(0, 10)),
        Feature(name="up", kind="numeric", bounds=(0, 10), direction="increase"),
        Feature(name="down", kind="integer", bounds=(0, 10), direction="decrease"),
        Feature(name="still", kind="numeric", bounds=(0, 10), direction="fixed"),
        Feature(name="tens", kind="numeric", bounds=(0, 100), step=10.0),
        Feature(name="gap", kind="numeric", bounds=(0, 10), missing=5.0),
        Feature(name="school", kind="ordinal", levels=("none", "some", "all"), direction="increase"),
        Feature(name="home", kind="categorical", levels=("own", "rent", "free"), transitions={"own": ["rent"]}),
        Feature(name="town", kind="categorical", levels=("x", "y"), missing="level"),
        Feature(name="race", kind="binary", levels=("b", "w"), direction="fixed"),
    ],
    [
        LinearConstraint(coefficients={"free": 1, "up": 1}, bound=12, name="sum"),
        LinearConstraint(coefficients={"free": 1, "home=free": 3}, bound=4, on="change", name="pace"),
    ],
    [
        Implication(when={"home": ["free"]}, then={"school": ["all"]}, name="guest"),
        Implication(was={"home": ["rent"]}, then={"home": ["rent", "own"]}, name="tenant"),
    ],
)
PERSON = {
    "free": 3.0,
    "up": 4.0,
    "down": 5,
    "still": 6.0,
    "tens": 37.0,
    "gap": None,
    "school": "some",
    "home": "own",
    "town": None,
    "race": "b",
}
OTHER = PERSON | {
    "free": 8.0,
    "down": 9,
    "tens": 80.0,
    "gap": 7.0,
    "school": "all",
    "home": "rent",
    "town": "x",
    "race": "w",
}
TABLE = as_table({name: [PERSON[name], OTHER[name]] for name in PERSON})
ENCODER = Encoder.fit(SCHEMA, TABLE)


def broken(restrictions=None, *, base=PERSON, **changes) -> list[str]:
    factual = as_table({name: [value] for name, value in base.items()})
    recourse = as_table({name: [value] for name, value in (base | changes).items()})
    return broken_limits(ENCODER, factual, recourse, restrictions)[0]


def test_what_is_allowed() -> None:
    assert broken() == []
    assert broken(free=0.0, up=10.0, down=0, tens=40.0, school="all", home="rent", town="y") == []
    assert broken(free=7.0) == []
    assert broken(base=OTHER, school="all", town="y", gap=1.0) == []


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"free": 10.5}, "free left its permitted interval"),
        ({"free": -0.5}, "free left its permitted interval"),
        ({"up": 3.9}, "up left its permitted interval"),
        ({"up": 10.1}, "up left its permitted interval"),
        ({"down": 6}, "down left its permitted interval"),
        ({"down": -1}, "down left its permitted interval"),
        ({"still": 6.1}, "still left its permitted interval"),
        ({"tens": 38.0}, "tens is off its grid of 10"),
        ({"gap": 5.0}, "gap left its permitted interval"),
        ({"free": None}, "free became missing"),
        ({"school": "none"}, "school left its permitted interval"),
        ({"home": "free"}, "home may not take that level"),
        ({"race": "w"}, "race left its permitted interval"),
        ({"free": 9.0, "up": 4.0}, "constraint sum is broken"),
        ({"free": 7.1}, "constraint pace is broken"),
        ({"home": "free"}, "constraint pace is broken"),
        ({"home": "free"}, "implication guest is broken"),
    ],
)
def test_every_violation_is_caught(changes: dict, text: str) -> None:
    if changes.get("home") == "free" and text.startswith("constraint"):
        changes = changes | {"free": 4.5}
    if "became missing" in text:  # no table can be read so; the recourse is built without the check
        factual = as_table({name: [value] for name, value in PERSON.items()})
        schema = SCHEMA.replace(free={"missing": "median"})
        encoder = Encoder.fit(schema, TABLE)
        recourse = as_table({name: [value] for name, value in (PERSON | changes).items()})
        assert text in broken_limits(encoder, factual, recourse)[0]
        return
    assert text in broken(**changes)


def test_what_others_were_does_not_bind() -> None:
    assert "implication tenant is broken" in broken(base=OTHER, home="free")
    assert "implication tenant is broken" not in broken(home="free")


def test_a_category_never_becomes_missing() -> None:
    assert "town became missing" in broken(base=OTHER, town=None)


@pytest.mark.parametrize(
    ("restriction", "changes", "text"),
    [
        ({"free": "fixed"}, {"free": 3.5}, "free left its permitted interval"),
        ({"free": "increase"}, {"free": 2.5}, "free left its permitted interval"),
        ({"free": {"bounds": (2, 4)}}, {"free": 4.5}, "free left its permitted interval"),
        ({"up": "decrease"}, {"up": 5.0}, "up left its permitted interval"),  # narrows to nothing
        ({"up": {"bounds": (0, 99)}}, {"up": 10.5}, "up left its permitted interval"),  # never loosens
        ({"school": {"levels": ["none", "some"]}}, {"school": "all"}, "school left its permitted interval"),
        ({"home": "fixed"}, {"home": "rent"}, "home may not take that level"),
        ({"home": {"levels": ["own", "free"]}}, {"home": "rent"}, "home may not take that level"),
    ],
)
def test_restrictions_bind_one_person(restriction, changes: dict, text: str) -> None:
    assert text in broken({0: restriction}, **changes)
    assert broken({0: restriction}) == []


def test_imputed_levels_count_in_implications_for_both() -> None:
    schema = Schema(
        [
            Feature(name="a", kind="binary", levels=(0, 1), missing=1),
            Feature(name="c", kind="categorical", levels=("x", "y", "z")),
        ],
        implications=[Implication(when={"a": [1]}, then={"c": ["x", "y"]})],
    )
    table = as_table({"a": [0.0, 1.0, np.nan], "c": ["z", "x", "y"]})
    encoder = Encoder.fit(schema, table)
    people = feasible_sets(encoder, table)
    to_z = people.x.copy()
    to_z[:, 1:4] = [0, 0, 1]
    point, ok = jax.jit(lambda sets: sets.each(Feasible.hard, to_z))(people)
    recourse = decode_recourse(encoder, np.asarray(point), table)
    assert np.asarray(ok).all()
    assert recourse.columns["c"].tolist() == ["z", "x", "x"]
    assert broken_limits(encoder, table, recourse) == [[], [], []]
    recourse.columns["c"] = np.array(["z", "z", "z"], object)
    assert [len(b) for b in broken_limits(encoder, table, recourse)] == [0, 1, 1]


def test_a_person_outside_the_bounds_may_stay_or_come_in() -> None:
    schema = Schema([Feature(name="x", kind="integer", bounds=(0, 10)), Feature(name="y", kind="numeric")])
    table = as_table({"x": [15, 5], "y": [0.0, 1.0]})
    encoder = Encoder.fit(schema, table)
    moved = as_table({"x": [10, 5], "y": [0.0, 1.0]})
    further = as_table({"x": [14, 5], "y": [0.0, 1.0]})
    assert broken_limits(encoder, table, table) == [[], []]
    assert broken_limits(encoder, table, moved) == [[], []]
    assert broken_limits(encoder, table, further)[0] == ["x left its permitted interval"]


def test_steps_finer_than_float32_come_back_on_the_grid() -> None:
    schema = Schema([Feature(name="x", kind="numeric", bounds=(0, 1e6), step=0.01)])
    table = as_table({"x": [0.0, 123456.78, 1e6]})
    encoder = Encoder.fit(schema, table)
    x = np.array([[0.3], [0.7], [0.123]], np.float32)
    recourse = decode_recourse(encoder, x, table)
    assert broken_limits(encoder, table, recourse) == [[], [], []]
    np.testing.assert_allclose(recourse.columns["x"], [3e5, 7e5, 123e3], rtol=1e-6)
    assert (np.round(recourse.columns["x"], 2) == recourse.columns["x"]).all()


# ---- the same sets as a function of the encoded row -----------------------------------------------------


def both_ways(encoder: Encoder, table) -> tuple[Feasible, FeasibleSets]:
    rows = encoder.encode(table).astype(np.float32)
    permits = Permits.of(encoder)
    return jax.jit(jax.vmap(permits))(rows), feasible_sets(encoder, table)


def agree(ours: Feasible, theirs: FeasibleSets) -> None:
    for name in ("movable", "active"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), name)
    for name in ("x", "lower", "upper", "step", "b"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=2e-6, atol=2e-6, err_msg=name)
    np.testing.assert_array_equal(ours.a[0], theirs.a)


@pytest.mark.parametrize("scaling", ["minmax", "standard", "standard-all"])
def test_every_kind_of_limit(scaling):
    # Directions, grids, a factual off its grid, missing values, transitions, constraints on values and on changes.
    agree(*both_ways(Encoder.fit(SCHEMA, TABLE, scaling), TABLE))


@pytest.mark.parametrize("name", ["loanapp", "recid"])
def test_real_people(name):
    data = ht.datasets.load(name)
    table = as_table(data.X[:300])
    agree(*both_ways(Encoder.fit(data.schema, table), table))


def test_a_fixed_feature_may_not_move():
    permits = Permits.of(Encoder.fit(SCHEMA, TABLE))
    encoder = Encoder.fit(SCHEMA, TABLE)
    one = jax.jit(lambda x: permits(x))(encoder.encode(TABLE)[0].astype(np.float32))
    column = encoder.layout.slot("still").start
    assert not bool(one.movable[column])
    assert float(one.lower[column]) == float(one.upper[column]) == float(one.x[column])


@pytest.mark.parametrize("width", [1e3, 1e6, 1e8])
@pytest.mark.parametrize("kind", ["integer", "numeric"])
def test_a_linear_constraint_is_kept_to_the_last_unit_on_a_wide_range(width, kind):
    """Single precision is off by dozens at 1e8; what is decoded is not."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({n: np.rint(rng.uniform(0, width, 200)) for n in "ab"})
    features = [Feature(name=n, kind=kind, bounds=(0, width)) for n in "ab"]
    schema = Schema(features, constraints=[LinearConstraint(coefficients={"a": 1, "b": 1}, bound=width)])
    encoder = Encoder.fit(schema, frame)
    inside = frame[frame.a + frame.b < 0.9 * width]
    table = schema.check(inside)
    edge = np.stack([inside.a, width - inside.a], axis=1)  # exactly on the constraint
    x = ((edge - encoder.offset) / encoder.scale).astype(np.float32) + np.float32(1e-6)
    recourse = decode_recourse(encoder, x, table)
    a, b = (recourse.columns[n].astype(float) for n in "ab")
    assert (a + b <= width * (1 + 1e-10)).all()
    assert (a + b >= width * (1 - 1e-5) - 1).all()
    assert not any(broken_limits(encoder, table, recourse))
    over = Table({"a": a, "b": b + 1.0}, len(a))
    assert all(broken_limits(encoder, table, over))
