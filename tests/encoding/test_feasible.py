"""Known answers of one person's feasible set: `hard`, `soft`, and whole numbers against brute force."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from holdtrue.encoding import Encoder, Feasible, FeasibleSets, broken_limits, decode_recourse, feasible_sets
from holdtrue.schema import Feature, Implication, LinearConstraint, Schema, as_table


def setup(schema: Schema, columns: dict, restrictions=None, scaling="minmax"):
    table = as_table(columns)
    encoder = Encoder.fit(schema, table, scaling)
    return table, encoder, feasible_sets(encoder, table, restrictions)


def hard(encoder: Encoder, people: FeasibleSets, x: np.ndarray):
    run = jax.jit(lambda sets, x: sets.each(Feasible.hard, x))
    return tuple(np.asarray(v) for v in run(people, np.asarray(x, np.float32)))


def soft(encoder: Encoder, people: FeasibleSets, x: np.ndarray) -> np.ndarray:
    run = jax.jit(lambda sets, x: sets.each(Feasible.soft, x))
    return np.asarray(run(people, np.asarray(x, np.float32)))


def test_every_feature_goes_where_it_may() -> None:
    schema = Schema(
        [
            Feature(name="x", kind="numeric", bounds=(0, 10)),
            Feature(name="n", kind="integer", bounds=(0, 10), direction="increase"),
            Feature(name="s", kind="numeric", bounds=(0, 10), step=2.5),
            Feature(name="fixed", kind="numeric", bounds=(0, 10), direction="fixed"),
            Feature(name="o", kind="ordinal", levels=("a", "b", "c"), direction="decrease"),
            Feature(name="c", kind="categorical", levels=("p", "q", "r"), transitions={"p": ["q"]}),
        ]
    )
    columns = {
        "x": [2, 0, 10],
        "n": [4, 0, 10],
        "s": [5, 0, 10],
        "fixed": [3, 0, 10],
        "o": ["b", "a", "c"],
        "c": ["p", "q", "r"],
    }
    table, encoder, people = setup(schema, columns)
    start = np.array([[0.333, 0.62, 0.60, 0.9, 0.9, 0.1, 0.2, 0.9]])
    point, ok = hard(encoder, people, np.repeat(start, 3, axis=0))
    assert ok.all()
    recourse = decode_recourse(encoder, point, table)
    first = {name: values[0] for name, values in recourse.columns.items()}
    assert first.pop("x") == pytest.approx(3.33, rel=1e-6)
    assert first == {"n": 6.0, "s": 5.0, "fixed": 3.0, "o": "b", "c": "q"}
    below, _ = hard(encoder, people, np.repeat(start - 0.6, 3, axis=0))
    assert decode_recourse(encoder, below, table).columns["n"][0] == 4.0  # may only rise


def test_two_levels_alike_give_one_category() -> None:
    schema = Schema([Feature(name="c", kind="categorical", levels=("p", "q", "r"))])
    _, encoder, people = setup(schema, {"c": ["p", "q", "r"]})
    for height in (0.0, 1.0, 100.0, 1e6, 1e35, -1e35):
        point, ok = hard(encoder, people, np.full((3, 3), height))
        assert ok.all()
        np.testing.assert_array_equal(point, [[1, 0, 0]] * 3)


def test_forbidden_levels_lose_however_low_the_allowed_ones_are() -> None:
    schema = Schema([Feature(name="c", kind="categorical", levels=("p", "q", "r"), transitions={"r": []})])
    _, encoder, people = setup(schema, {"c": ["r", "p", "q"]})
    point, _ = hard(encoder, people, [[9, 9, -3e38]] * 3)
    np.testing.assert_array_equal(point[0], [0, 0, 1])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_lost_search_is_flagged(bad: float) -> None:
    schema = Schema([Feature(name="x", kind="numeric"), Feature(name="c", kind="categorical", levels=("p", "q"))])
    _, encoder, people = setup(schema, {"x": [0.0, 1.0], "c": ["p", "q"]})
    for column in range(3):
        x = np.zeros((2, 3))
        x[:, column] = bad
        point, ok = hard(encoder, people, x)
        assert not ok.any()
        assert np.isfinite(point).all()


def test_implications_lead_on_or_are_given_up() -> None:
    schema = Schema(
        [
            Feature(name="home", kind="categorical", levels=("rent", "own")),
            Feature(name="kind", kind="ordinal", levels=("flat", "house", "castle"), direction="increase"),
        ],
        implications=[Implication(when={"home": ["own"]}, then={"kind": ["house"]})],
    )
    table, encoder, people = setup(schema, {"home": ["rent"] * 3, "kind": ["flat", "house", "castle"]})
    point, ok = hard(encoder, people, [[0.0, 0.0, 1.0]] * 3)  # all would own
    recourse = decode_recourse(encoder, point, table)
    assert ok.all()
    assert recourse.columns["home"].tolist() == ["own", "own", "rent"]
    assert recourse.columns["kind"].tolist() == ["house", "house", "castle"]


def test_a_person_with_no_way_out_is_flagged() -> None:
    schema = Schema(
        [
            Feature(name="x", kind="integer", bounds=(0, 10), direction="increase"),
            Feature(name="y", kind="numeric"),
        ],
        [LinearConstraint(coefficients={"x": 1}, bound=5)],
    )
    _, encoder, people = setup(schema, {"x": [3, 8], "y": [0.0, 1.0]})
    point, ok = hard(encoder, people, [[0.9, 0.5], [0.9, 0.5]])
    assert ok.tolist() == [True, False]
    assert (point[0] * encoder.scale + encoder.offset)[0] == pytest.approx(5.0)


def test_constraints_on_levels_alone() -> None:
    schema = Schema(
        [
            Feature(name="a", kind="categorical", levels=("no", "yes")),
            Feature(name="b", kind="categorical", levels=("no", "yes")),
        ],
        [LinearConstraint(coefficients={"a=yes": 1, "b=yes": 1}, bound=1)],
    )
    table, encoder, people = setup(schema, {"a": ["no", "yes"], "b": ["no", "no"]})
    point, ok = hard(encoder, people, [[0, 1, 0, 1]] * 2)
    assert ok.all()
    assert broken_limits(encoder, table, decode_recourse(encoder, point, table)) == [[], []]


def test_someone_outside_the_bounds_is_not_dragged_in_by_a_constraint_on_others() -> None:
    schema = Schema(
        [
            Feature(name="age", kind="integer", bounds=(18, 60)),
            Feature(name="debt", kind="numeric", bounds=(0, 10)),
        ],
        [LinearConstraint(coefficients={"debt": 1}, bound=5)],
    )
    _, encoder, people = setup(schema, {"age": [80, 20], "debt": [4.0, 9.0]})
    point, ok = hard(encoder, people, [[1.0, 0.9], [0.0, 0.9]])
    assert ok.all()
    assert (point * encoder.scale + encoder.offset)[0] == pytest.approx([80.0, 5.0], rel=1e-4)
    relaxed = soft(encoder, people, [[1.0, 0.9], [0.0, 0.9]])
    assert (relaxed * encoder.scale + encoder.offset)[0] == pytest.approx([80.0, 5.0], rel=1e-4)


def test_constraints_that_share_no_column_are_kept_apart() -> None:
    """Blocks are what constraints have in common, one through another; each equals itself alone."""
    features = [Feature(name=name, kind="numeric", bounds=(0, 10)) for name in "abcdef"]
    features.append(Feature(name="g", kind="categorical", levels=("p", "q")))
    rows = [
        LinearConstraint(coefficients={"a": 1, "b": 1}, bound=8),
        LinearConstraint(coefficients={"d": 1, "e": 2}, bound=9),
        LinearConstraint(coefficients={"b": 1, "c": -1}, bound=3),
        LinearConstraint(coefficients={"g=q": 1}, bound=1),
    ]
    values = {name: [0.0, 10.0, 2.0] for name in "abcdef"} | {"g": ["p", "q", "p"]}
    _, encoder, people = setup(Schema(features, rows), values)
    blocks = [(block.rows, block.columns) for block in encoder.layout.blocks]
    assert sorted(blocks) == [((0, 2), (0, 1, 2)), ((1,), (3, 4))]
    x = np.random.default_rng(3).uniform(0.3, 1.0, (3, encoder.n_columns))
    together = soft(encoder, people, x)
    for kept, columns in (((rows[0], rows[2]), [0, 1, 2]), ((rows[1],), [3, 4])):
        _, alone, same = setup(Schema(features, kept), values)
        np.testing.assert_allclose(together[:, columns], soft(alone, same, x)[:, columns], atol=1e-6)
    np.testing.assert_allclose(together[:, 5], x[:, 5], atol=1e-6)  # in no constraint
    assert not np.allclose(together[:, :5], x[:, :5], atol=0.01)


# ---- soft -----------------------------------------------------------------------------------------------

RELAXED = Schema(
    [
        Feature(name="x", kind="numeric", bounds=(0, 10)),
        Feature(name="y", kind="numeric", bounds=(0, 10)),
        Feature(name="z", kind="integer", bounds=(0, 10)),
        Feature(name="c", kind="categorical", levels=("p", "q", "r")),
    ],
    [
        LinearConstraint(coefficients={"x": 1, "y": 2}, bound=15),
        LinearConstraint(coefficients={"y": 1, "z": 1, "c=q": 1}, bound=6, on="change"),
    ],
)
PEOPLE = {"x": [1.0, 2, 9, 5], "y": [1.0, 3, 2, 0], "z": [1, 2, 3, 4], "c": ["p", "q", "r", "p"]}


def test_soft_honours_linear_constraints() -> None:
    rng = np.random.default_rng(0)
    _, encoder, people = setup(RELAXED, PEOPLE)
    for _ in range(5):
        x = rng.uniform(-0.5, 1.5, (4, encoder.n_columns))
        out = soft(encoder, people, x)
        excess = np.einsum("cd,nd->nc", np.asarray(people.a), out) - np.asarray(people.b)
        assert excess.max() < 1e-4


def test_soft_is_differentiable() -> None:
    rng = np.random.default_rng(1)
    _, encoder, people = setup(RELAXED, PEOPLE)
    weights = jnp.asarray(rng.normal(size=encoder.n_columns), jnp.float32)

    def value(x, person):
        return weights @ person.soft(x, 0.5)

    run = jax.jit(lambda sets, x: sets.each(lambda person, row: value(row, person), x))
    slope = jax.jit(lambda x, sets: sets.each(lambda person, row: jax.grad(value)(row, person), x))
    x = jnp.asarray(rng.uniform(0.1, 0.9, (4, encoder.n_columns)), jnp.float32)
    gradient = np.asarray(slope(x, people))
    assert np.isfinite(gradient).all()
    h, checked = 2e-3, 0
    for j in range(encoder.n_columns):
        step = jnp.zeros(encoder.n_columns).at[j].set(h)
        here, up, down = (np.asarray(run(people, x + k * step[None, :])) for k in (0, 1, -1))
        smooth = np.abs((up - here) - (here - down)) < 5e-2 * h + 1e-6  # no kink in between
        checked += smooth.sum()
        np.testing.assert_allclose(gradient[smooth, j], ((up - down) / (2 * h))[smooth], atol=2e-2)
    assert checked > 0.8 * gradient.size


def test_soft_at_the_factual_keeps_nearly_all_of_the_own_level() -> None:
    _, encoder, people = setup(RELAXED, PEOPLE)
    out = soft(encoder, people, np.asarray(people.x))
    np.testing.assert_allclose(out[:, 3:][np.asarray(people.x)[:, 3:] == 1], 1.0, atol=1e-3)


# ---- whole numbers against brute force ------------------------------------------------------------------


def whole_world(rng: np.random.Generator, n: int, top: int, n_rows: int, with_category: bool):
    features = [
        Feature(name=f"x{i}", kind="integer", bounds=(0, top), direction=rng.choice(["free", "free", "increase"]))
        for i in range(n)
    ]
    constraints = []
    for _ in range(n_rows):
        weights = {f"x{i}": float(w) for i, w in enumerate(rng.integers(-3, 4, n))}
        weights[f"x{rng.integers(n)}"] = float(rng.integers(1, 4))
        if with_category:
            weights["c=b"] = float(rng.integers(-4, 5))
        on = rng.choice(["value", "change"])
        constraints.append(LinearConstraint(coefficients=weights, bound=float(rng.integers(-2, 2 * top)), on=on))
    if with_category:
        features.append(Feature(name="c", kind="categorical", levels=("a", "b")))
    columns = {f"x{i}": np.r_[0, top, rng.integers(0, top + 1, 28)] for i in range(n)}
    return Schema(features, constraints), columns | ({"c": rng.choice(["a", "b"], 30)} if with_category else {})


def any_feasible(schema: Schema, person: dict) -> bool:
    """Try every point of the grid."""
    numbers = [f for f in schema if f.kind == "integer"]
    grid = np.array(list(itertools.product(*(range(int(f.bounds[1]) + 1) for f in numbers))), float)
    allowed = np.ones(len(grid), bool)
    for j, feature in enumerate(numbers):
        if feature.direction == "increase":
            allowed &= grid[:, j] >= person[feature.name]
    own = np.array([person[f.name] for f in numbers], float)
    for level in ("a", "b") if "c" in person else (None,):
        good = allowed.copy()
        for c in schema.constraints:
            weights = np.array([c.coefficients[f.name] for f in numbers])
            total = grid @ weights + c.coefficients.get("c=b", 0.0) * (level == "b")
            if c.on == "change":
                total = total - own @ weights - c.coefficients.get("c=b", 0.0) * (person.get("c") == "b")
            good &= total <= c.bound + 1e-9
        if good.any():
            return True
    return False


@pytest.mark.parametrize(("n_rows", "with_category"), [(1, False), (2, False), (3, False), (2, True)])
def test_whole_numbers_against_every_point_of_the_grid(n_rows: int, with_category: bool) -> None:
    rng = np.random.default_rng(10 * n_rows + with_category)
    exists = missed = 0
    for _ in range(2):
        schema, columns = whole_world(rng, 3, 5, n_rows, with_category)
        table, encoder, people = setup(schema, columns)
        x = rng.uniform(-0.1, 1.1, (30, encoder.n_columns))
        point, ok = hard(encoder, people, x)
        recourse = decode_recourse(encoder, point, table)
        broken = broken_limits(encoder, table, recourse)
        for i in range(30):
            person = {name: values[i] for name, values in table.columns.items()}
            possible = any_feasible(schema, person)
            assert not (ok[i] and broken[i])
            assert possible or not ok[i]  # never claims a point where there is none
            exists += possible
            missed += possible and not ok[i]
    assert exists > 20
    assert missed <= 0.03 * exists  # rounding may miss a point that is there, but seldom
