"""Effects on encoded rows and on tables: the two agree, and keep to what is open."""

import jax
import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.causal import SCM, Effects, Equation, Node, Term, raw_columns
from holdtrue.encoding import Encoder, feasible_sets
from holdtrue.schema import as_table
from holdtrue.testing import _world as world


def linear(**coefficients):
    return Equation(terms=[Term(of=k.replace("__", "="), coefficient=v) for k, v in coefficients.items()])


WORLD_SCM = SCM(
    [
        Node(name="income"),
        Node(name="job"),
        Node(name="debt", parents=["income", "job"], equation=linear(income=-0.3, job__full=-1.0)),
        Node(name="accounts", parents=["debt"], equation=linear(debt=0.2)),
        Node(name="education", parents=["income"], equation=linear(income=0.02)),
        Node(name="tenure", parents=["accounts"], equation=linear(accounts=-0.5)),
    ]
)


@pytest.fixture(scope="module")
def encoder():
    return Encoder.fit(world.SCHEMA, world.people()[0])


@pytest.fixture(scope="module")
def actions():
    """People, and each with one to three columns replaced by another person's."""
    table, _ = world.people()
    rng = np.random.default_rng(0)
    factual = table.head(80)
    action = factual.copy()
    for i in range(len(factual)):
        names = rng.choice(["income", "job", "debt", "accounts", "housing"], rng.integers(1, 4), replace=False)
        for name in names:
            action.loc[i, name] = table[name].iloc[rng.integers(len(table))]
    return as_table(factual), as_table(action)


def test_tables_and_encoded_rows_agree(encoder, actions):
    factual, action = actions
    effects = Effects.of(WORLD_SCM, encoder)
    after, followed = effects.after_table(encoder, factual, action)
    feasible = feasible_sets(encoder, factual)
    x, a = encoder.encode(factual).astype(np.float32), encoder.encode(action).astype(np.float32)
    rows, ok = jax.jit(lambda sets: sets.each(lambda own, *rows: effects.after(*rows, own), x, a))(feasible)
    np.testing.assert_allclose(rows[ok], encoder.encode(after)[ok], atol=2e-5)
    names = encoder.schema.names
    raw = raw_columns(encoder, after)
    same = (encoder.encode(after) == encoder.encode(factual)).all(axis=1)
    inside = ~(factual.missing("tenure") & same)  # what is missing cannot follow, so the person stays
    for name, low, high in (("debt", 0, 60), ("accounts", 0, 9), ("tenure", 0, 20)):
        changed = followed[:, names.index(name)]
        inside &= ~changed | ((raw[name] >= low) & (raw[name] <= high))
    np.testing.assert_array_equal(np.asarray(ok), inside)
    assert 5 < inside.sum() < 75
    for name in ("debt", "accounts", "education", "tenure"):
        assert followed[:, names.index(name)].any()
    for name in ("income", "job", "housing", "age"):
        assert not followed[:, names.index(name)].any()


def test_a_table_follows_exactly(encoder, actions):
    """To the bit what `SCM.counterfactual` gives for the columns that differ."""
    factual, action = actions
    after, followed = Effects.of(WORLD_SCM, encoder).after_table(encoder, factual, action)
    before, to = raw_columns(encoder, factual), raw_columns(encoder, action)
    do = {key: np.where(to[key] != before[key], to[key], np.nan) for key in to}
    true = WORLD_SCM.counterfactual(before, do, schema=encoder.schema)
    got = raw_columns(encoder, after)
    known = ~(factual.missing("tenure") & (true["tenure"] != before["tenure"]))
    assert not known.all()
    for node in WORLD_SCM.followers:
        assert got[node.name][known].tolist() == true[node.name][known].tolist()
        assert got[node.name][~known].tolist() == before[node.name][~known].tolist()
    marked = pd.DataFrame(followed, columns=encoder.schema.names)
    assert not (marked["debt"] & (to["debt"] != before["debt"])).any()


def test_without_an_action_nothing_follows(encoder, actions):
    factual, _ = actions
    after, followed = Effects.of(WORLD_SCM, encoder).after_table(encoder, factual, factual)
    assert not followed.any()
    for name in encoder.schema.names:
        assert all(
            a == b or (a != a and b != b) for a, b in zip(after.columns[name], factual.columns[name], strict=True)
        )


def test_where_one_may_act(encoder):
    table, _ = world.people()
    x = encoder.encode(table)
    layout = encoder.layout
    may = Effects.of(WORLD_SCM, encoder).may_act(encoder, x)
    missing = table["tenure"].isna().to_numpy()
    assert missing.any()
    for name in ("income", "debt", "accounts", "job"):  # all of them upstream of tenure
        slot = layout.slot(name)
        assert (may[:, slot.start : slot.stop] == ~missing[:, None]).all()
    for name in ("education", "housing", "insured"):
        slot = layout.slot(name)
        assert may[:, slot.start : slot.stop].all()
    nodes = [Node(name="a"), Node(name="b", parents=["a"], equation=linear(a=1.0), immutable=True), Node(name="c")]
    small = Encoder.fit(
        ht.Schema([ht.Feature(name=n, kind="numeric") for n in "abc"]),
        pd.DataFrame({n: [0.0, 1.0] for n in "abc"}),
    )
    may = Effects.of(SCM(nodes), small).may_act(small, np.zeros((1, 3)))
    assert may.tolist() == [[False, False, True]]
