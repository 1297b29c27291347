"""Random schemas, tables and restrictions: what must hold of every one of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdtrue.encoding import SCALINGS, Encoder, Feasible, broken_limits, decode_recourse, differs, feasible_sets
from holdtrue.schema import MISSING_LEVEL, Feature, Implication, LinearConstraint, Schema, Table, as_table

COMMON = {"deadline": None, "derandomize": True, "database": None, "suppress_health_check": list(HealthCheck)}
N = 12

LEVELS = [("a", "b", "c"), ("low", "high"), (1, 2, 3, 4), (False, True), ("x", 1, 2.5), (10, 5, 0)]
STEPS = [None, None, 1.0, 5.0, 0.1, 0.25, 1 / 3, 250.0]
SPANS = [(0.0, 1.0), (18.0, 90.0), (-50.0, 50.0), (0.0, 1e6), (2000.0, 2010.0), (-1e-3, 1e-3)]


@st.composite
def features(draw, name: str) -> Feature:
    kind = draw(st.sampled_from(["numeric", "numeric", "integer", "binary", "ordinal", "categorical"]))
    fields = {"name": name, "kind": kind, "cost_weight": draw(st.sampled_from([1.0, 0.5, 3.0]))}
    missing = draw(st.booleans())
    if kind in ("numeric", "integer"):
        low, high = draw(st.sampled_from(SPANS if kind == "numeric" else SPANS[1:5]))
        step = draw(st.sampled_from(STEPS if kind == "numeric" else [None, 1.0, 5.0]))
        # A step that leaves a few grid points at least; the narrowest spans are left to the continuum.
        fields |= {"bounds": (low, high), "step": step if step is not None and step < (high - low) / 3 else None}
        fields["missing"] = draw(st.sampled_from(["median", "mean", low])) if missing else None
    else:
        levels = draw(st.sampled_from([v for v in LEVELS if (len(v) == 2) == (kind == "binary")]))
        fields["levels"] = levels
        if missing:
            fields["missing"] = (
                "level" if kind == "categorical" else draw(st.sampled_from(["most_frequent", levels[0]]))
            )
        if kind == "categorical" and draw(st.booleans()):
            fields["transitions"] = {levels[0]: draw(st.lists(st.sampled_from(levels), unique=True))}
    directions = ["free", "free", "fixed"] + (["increase", "decrease"] if kind != "categorical" else [])
    return Feature(**fields, direction=draw(st.sampled_from(directions)))


def column(feature: Feature, rng: np.random.Generator) -> list:
    """Values a person may have: on the grid and off it, inside the bounds and outside, missing where allowed."""
    if feature.has_levels:
        values = [feature.levels[i] for i in rng.integers(0, len(feature.levels), N)]
        values[:2] = feature.levels[:2]
    else:
        low, high = feature.bounds
        raw = rng.uniform(low, high, N)
        raw[2] = high + (high - low) * 0.1
        if feature.kind == "integer":
            raw = np.rint(raw)
        if feature.step is not None:
            on_grid = np.round(np.rint(raw / feature.step) * feature.step, 6 if feature.step != 1 / 3 else 20)
            raw = np.where(rng.uniform(size=N) < 0.8, on_grid, raw)
        values = raw.tolist()
    if feature.missing is not None:
        values = [None if i > 3 and rng.uniform() < 0.2 else v for i, v in enumerate(values)]
    return values


def terms(feature: Feature, rng: np.random.Generator) -> str:
    return feature.name if feature.kind != "categorical" else f"{feature.name}={rng.choice(feature.levels[:2])}"


def size(feature: Feature) -> float:
    return len(feature.levels) - 1.0 if feature.has_levels else feature.bounds[1] - feature.bounds[0]


@st.composite
def worlds(draw, max_features: int = 5):
    """A schema, a table that fits it, restrictions for some rows, and a source of further numbers."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    parts = [draw(features(f"f{i}")) for i in range(draw(st.integers(1, max_features)))]
    table = as_table({f.name: np.array(column(f, rng), object) for f in parts})
    constraints = []
    for _ in range(draw(st.integers(0, 2))):
        chosen = [f for f in parts if rng.uniform() < 0.7] or parts[:1]
        weights = {terms(f, rng): float(rng.choice([-1, 1, 2]) / size(f)) for f in chosen}
        on = draw(st.sampled_from(["value", "change"]))
        middle = [0.5 * (sum(f.bounds) if not f.has_levels else size(f)) for f in chosen]
        bound = 0.3 if on == "change" else sum(w * m for w, m in zip(weights.values(), middle, strict=True)) + 0.2
        constraints.append(LinearConstraint(coefficients=weights, bound=bound, on=on))
    levelled = [f for f in parts if f.has_levels]
    rules = []
    for _ in range(draw(st.integers(0, 2)) if levelled else 0):
        sets = [
            {f.name: [f.levels[i] for i in rng.permutation(len(f.levels))[:2]]} for f in rng.permutation(levelled)
        ]
        when = draw(st.sampled_from([{}, sets[0]]))
        rules.append(Implication(was=draw(st.sampled_from([{}, sets[0]])), when=when, then=sets[-1]))
    schema = Schema(parts, constraints, rules)
    restrictions = {}
    for row in range(draw(st.integers(0, 3))):
        feature = draw(st.sampled_from(parts))
        limit = draw(st.sampled_from(["fixed", "narrow"]))
        if limit == "narrow":
            low_high = (
                {} if feature.has_levels else {"bounds": (feature.bounds[0], np.mean(feature.bounds).item())}
            )
            limit = {"levels": list(feature.levels[:2])} if feature.has_levels else low_high
        restrictions[row] = {feature.name: limit}
    return schema, table, restrictions, rng


# ---- encoding -------------------------------------------------------------------------------------------


@settings(max_examples=150, **COMMON)
@given(worlds(), st.sampled_from(SCALINGS))
def test_a_table_survives_encoding(world, scaling) -> None:
    schema, table, _, rng = world
    encoder = Encoder.fit(schema, table, scaling)
    other = as_table({f.name: np.array(column(f, rng), object) for f in schema})
    for data in (table, other):
        x = encoder.encode(data)
        assert x.dtype == np.float64
        assert np.isfinite(x).all()
        back = Table(encoder.decode(x), data.n_rows)
        np.testing.assert_array_equal(encoder.encode(back), x)  # encode-decode-encode is the identity
        for feature in schema:
            name = feature.name
            np.testing.assert_array_equal(back.missing(name), data.missing(name))
            if feature.has_levels or feature.kind == "integer":
                assert not differs(data, back, name).any()
                continue
            slot = encoder.layout.slot(name)
            before, after = data.columns[name].astype(float), back.columns[name].astype(float)
            unit = np.spacing(
                np.maximum(np.abs(np.nan_to_num(before)), abs(encoder.offset[slot.start]))
                + encoder.scale[slot.start]
            )
            assert not (np.abs(before - after) > 4 * unit).any()
            if feature.step is not None and feature.step != 1 / 3:
                clean = np.abs(before / feature.step - np.rint(before / feature.step)) < 1e-12
                assert (after[clean] == before[clean]).all()
        kept = encoder.decode(x, data)
        assert not any(differs(data, Table(kept, data.n_rows), name).any() for name in schema.names)


@settings(max_examples=40, **COMMON)
@given(worlds(), st.sampled_from(SCALINGS))
def test_an_encoder_survives_a_file(world, scaling) -> None:
    schema, table, _, _ = world
    encoder = Encoder.fit(schema, table, scaling)
    arrays = {"scale": encoder.scale, "offset": encoder.offset, "spread": encoder.spread}
    back = Encoder.from_dict(encoder.to_dict(), arrays)
    np.testing.assert_array_equal(back.encode(table), encoder.encode(table))
    assert back.schema == encoder.schema
    assert back.layout == encoder.layout


@settings(max_examples=60, **COMMON)
@given(worlds())
def test_nobody_is_told_that_staying_breaks_their_own_limits(world) -> None:
    schema, table, restrictions, _ = world
    encoder = Encoder.fit(schema, table)
    only_across = encoder.schema.constraints or encoder.schema.implications
    for broken in broken_limits(encoder, table, table, restrictions):
        assert not broken or only_across
        assert all(text.startswith(("constraint", "implication")) for text in broken)


# ---- projection -----------------------------------------------------------------------------------------


def over_people(method):
    return jax.jit(lambda people, x: people.each(method, x))


def proposals(encoder: Encoder, table: Table, rng: np.random.Generator) -> list[np.ndarray]:
    """Where a search may be: anywhere, near the person, at another person, far off."""
    own = encoder.encode(table).astype(np.float32)
    noise = rng.normal(size=own.shape).astype(np.float32)
    return [rng.uniform(-0.5, 1.5, own.shape).astype(np.float32), own + 0.1 * noise, own[::-1].copy(), 1e4 * noise]


@settings(max_examples=20, **COMMON)
@given(worlds(), st.sampled_from(SCALINGS))
def test_hard_is_feasible_or_flagged(world, scaling) -> None:
    schema, table, restrictions, rng = world
    encoder = Encoder.fit(schema, table, scaling)
    people = feasible_sets(encoder, table, restrictions)
    hard = over_people(Feasible.hard)
    for x in proposals(encoder, table, rng):
        point, ok = (np.asarray(v) for v in hard(people, x))
        assert np.isfinite(point).all()
        recourse = decode_recourse(encoder, point, table, restrictions)
        broken = broken_limits(encoder, table, recourse, restrictions)
        assert not [b for b, fine in zip(broken, ok, strict=True) if fine and b]
        for feature in schema:
            changed = differs(table, recourse, feature.name)[ok]
            assert not (recourse.missing(feature.name) != table.missing(feature.name))[
                ok & ~table.missing(feature.name)
            ].any()
            if feature.direction == "fixed" or (feature.kind != "categorical" and feature.missing is not None):
                gone = table.missing(feature.name)[ok]
                assert not changed[gone | (feature.direction == "fixed")].any()
        # Idempotent, to the bit; and what was decoded is a feasible point too, which stays what it is.
        again, still = (np.asarray(v) for v in hard(people, point))
        np.testing.assert_array_equal(again[ok], point[ok])
        assert still[ok].all()
        encoded = encoder.encode(recourse).astype(np.float32)
        once_more, fine = (np.asarray(v) for v in hard(people, encoded))
        assert fine[ok].all()
        decoded = decode_recourse(encoder, once_more, table, restrictions)
        for feature in schema:
            before, after = recourse.columns[feature.name][ok], decoded.columns[feature.name][ok]
            if feature.has_levels:
                assert before.tolist() == after.tolist()
                continue
            # Exact, unless the grid is finer than the seven digits of float32.
            fine = feature.grid is None or feature.grid < 4e-6 * size(feature)
            slack = (1e-6 * size(feature) + (feature.grid or 0.0)) if fine else 0.0
            gap, magnitude = np.abs(before.astype(float) - after.astype(float)), np.abs(before.astype(float))
            # A grid of thirds has no exact numbers: a person's own and the grid's may differ in the last bit.
            assert not (gap > slack + 1e-6 * fine * magnitude + np.spacing(magnitude)).any()
    # A person whose limits all hold is left alone.
    own = np.asarray(people.x)
    at_home = np.array([not b for b in broken_limits(encoder, table, table, restrictions)])
    point, ok = (np.asarray(v) for v in hard(people, own))
    assert ok[at_home].all()
    np.testing.assert_array_equal(point[at_home], own[at_home])
    # What a search lost on the way is flagged.
    assert not np.asarray(hard(people, np.full_like(own, np.nan))[1]).any()


@settings(max_examples=10, **COMMON)
@given(worlds(4), st.sampled_from(SCALINGS))
def test_soft_stays_in_the_simplex_and_the_box(world, scaling) -> None:
    schema, table, restrictions, rng = world
    encoder = Encoder.fit(schema, table, scaling)
    people = feasible_sets(encoder, table, restrictions)
    soft = over_people(Feasible.soft)
    n = len(encoder.layout.numbers)
    low = np.where(people.movable, np.minimum(people.lower, people.x), people.x)[:, :n]
    high = np.where(people.movable, np.maximum(people.upper, people.x), people.x)[:, :n]
    for x in proposals(encoder, table, rng):
        out = np.asarray(soft(people, x))
        assert np.isfinite(out).all()
        assert (out[:, :n] >= low).all()
        assert (out[:, :n] <= high).all()
        unit = out * encoder.scale + encoder.offset
        for group in encoder.layout.groups:
            share = unit[:, group.start : group.stop]
            allowed = np.asarray(people.movable)[:, group.start : group.stop]
            np.testing.assert_allclose(share.sum(axis=1), 1.0, atol=1e-4)
            assert (share > -1e-5).all()
            assert np.abs(share[~allowed]).max(initial=0.0) < 1e-5
        for indicator in encoder.layout.indicators:
            np.testing.assert_array_equal(out[:, indicator.start], np.asarray(people.x)[:, indicator.start])


def test_no_level_is_missing_in_the_tables_of_this_file() -> None:
    assert all(MISSING_LEVEL not in levels for levels in LEVELS)


def test_the_generator_reaches_what_it_should() -> None:
    seen = set()

    @settings(max_examples=60, **COMMON)
    @given(worlds())
    def look(world) -> None:
        schema, table, restrictions, _ = world
        seen.update(f.kind for f in schema)
        seen.update(c.on for c in schema.constraints)
        seen.update(["rule"] * len(schema.implications), ["restriction"] * len(restrictions))
        seen.update("missing" for f in schema if table.missing(f.name).any())
        seen.update("transitions" for f in schema if f.transitions)

    look()
    assert seen == {
        *("numeric", "integer", "binary", "ordinal", "categorical"),
        *("value", "change", "rule", "restriction", "missing", "transitions"),
    }


@pytest.mark.parametrize("n_rows", [1, 3])
def test_one_by_one_is_the_batch(n_rows: int) -> None:
    schema = Schema(
        [
            Feature(name="x", kind="numeric", bounds=(0, 10)),
            Feature(name="n", kind="integer", bounds=(0, 9), direction="increase"),
            Feature(name="c", kind="categorical", levels=("a", "b", "c")),
        ],
        [LinearConstraint(coefficients={"x": 1, "n": 1, "c=b": 2}, bound=9)],
        [Implication(when={"c": ["c"]}, then={"c": ["a", "b"]})],
    )
    rng = np.random.default_rng(0)
    table = as_table({"x": rng.uniform(0, 5, 12), "n": rng.integers(0, 4, 12), "c": rng.choice(["a", "b"], 12)})
    encoder = Encoder.fit(schema, table)
    people = feasible_sets(encoder, table)
    x = rng.uniform(-0.2, 1.2, (12, encoder.n_columns)).astype(np.float32)
    point, ok = over_people(Feasible.hard)(people, x)
    relaxed = over_people(Feasible.soft)(people, x)
    one_hard, one_soft = jax.jit(Feasible.hard), jax.jit(Feasible.soft)
    for i in range(n_rows):
        person = people.one(i)
        alone, fine = one_hard(person, jnp.asarray(x[i]))
        np.testing.assert_allclose(alone, point[i], atol=1e-6)
        assert bool(fine) == bool(ok[i])
        np.testing.assert_allclose(one_soft(person, jnp.asarray(x[i])), relaxed[i], atol=1e-5)
