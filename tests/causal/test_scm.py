"""Counterfactuals against ones worked out by hand; files; what is refused."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdtrue as ht
from holdtrue.causal import FUNCTIONS, LINKS, SCM, Equation, Node, Term
from holdtrue.errors import SchemaError


def linear(intercept=0.0, **coefficients):
    return Equation(intercept=intercept, terms=[Term(of=k, coefficient=v) for k, v in coefficients.items()])


CHAIN = SCM(
    [
        # Effects before causes, so that the order is the graph's and not the list's.
        Node(name="c", parents=["a", "b"], equation=linear(1.0, a=-1.0, b=3.0)),
        Node(name="b", parents=["a"], equation=linear(5.0, a=2.0)),
        Node(name="a"),
    ]
)
PERSON = {"a": 1.0, "b": 10.0, "c": 20.0}  # noise of b: 10 - 7 = 3; of c: 20 - (1 - 1 + 30) = -10


def numbers(values):
    return {name: float(value) for name, value in values.items()}


def test_noise_by_hand():
    assert numbers(CHAIN.noise(PERSON)) == {"c": -10.0, "b": 3.0, "a": 1.0}


@pytest.mark.parametrize(
    ("action", "after"),
    [
        # b = 5 + 2 * 4 + 3 = 16, c = 1 - 4 + 3 * 16 - 10 = 35
        ({"a": 4.0}, {"a": 4.0, "b": 16.0, "c": 35.0}),
        # a stays; c = 1 - 1 + 3 * 0 - 10 = -10
        ({"b": 0.0}, {"a": 1.0, "b": 0.0, "c": -10.0}),
        # b is set, so that a reaches c directly only: 1 - 4 + 0 - 10 = -13
        ({"a": 4.0, "b": 0.0}, {"a": 4.0, "b": 0.0, "c": -13.0}),
        # Nothing depends on c.
        ({"c": 7.0}, {"a": 1.0, "b": 10.0, "c": 7.0}),
        ({"a": 4.0, "c": 7.0}, {"a": 4.0, "b": 16.0, "c": 7.0}),
        # Held at the value it has: an intervention here, and a goes past it.
        ({"a": 4.0, "b": 10.0}, {"a": 4.0, "b": 10.0, "c": 17.0}),
        ({}, PERSON),
    ],
)
def test_three_nodes_by_hand(action, after):
    assert numbers(CHAIN.counterfactual(PERSON, action)) == after
    assert numbers(CHAIN.predict(CHAIN.noise(PERSON), action)) == after


def test_batched_inside_jit_with_actions_of_some_people_only():
    x = {name: jnp.asarray([value, value, value]) for name, value in PERSON.items()}
    run = jax.jit(CHAIN.counterfactual)
    after = run(x, {"a": jnp.asarray([4.0, jnp.nan, 4.0]), "b": jnp.asarray([jnp.nan, 0.0, 0.0])})
    assert after["b"].tolist() == [16.0, 0.0, 0.0]
    assert after["c"].tolist() == [35.0, -10.0, -13.0]
    alone = jax.vmap(lambda a: CHAIN.counterfactual({k: jnp.asarray(v) for k, v in PERSON.items()}, {"a": a}))(
        jnp.asarray([4.0, 1.0])
    )
    assert alone["c"].tolist() == [35.0, 20.0]


def test_terms_products_and_links_by_hand():
    scm = SCM(
        [
            Node(name="a"),
            Node(name="s=yes"),
            Node(
                name="d",
                parents=["a", "s=yes"],
                equation=Equation(
                    terms=[
                        Term(of="a", coefficient=2.0, function="square", shift=-1.0),
                        Term(of=("a", "s=yes"), coefficient=0.5),
                        Term(of="a", coefficient=10.0, function="positive", scale=-1.0),
                    ]
                ),
            ),
            Node(
                name="e", parents=["a"], equation=Equation(terms=[Term(of="a", coefficient=np.log(2))], link="log")
            ),
            Node(
                name="f",
                parents=["a"],
                equation=Equation(terms=[Term(of="a", coefficient=np.log(3))], link="logit", low=-1, high=1),
            ),
        ]
    )
    after = scm.counterfactual({"a": 1.0, "s=yes": 1.0, "d": 0.0, "e": 8.0, "f": 0.0}, {"a": 3.0})
    # 2 * (2 ** 2 - 0) + 0.5 * (3 - 1) + 0
    assert float(after["d"]) == pytest.approx(9.0, abs=1e-12)
    assert float(after["e"]) == pytest.approx(32.0, abs=1e-12)  # doubled twice
    assert float(after["f"]) == pytest.approx(-1 + 2 * 0.9, abs=1e-12)  # odds of 1 times 3 ** 2
    below = scm.counterfactual({"a": 1.0, "s=yes": 1.0, "d": 0.0, "e": 8.0, "f": 0.0}, {"a": -2.0})
    # 2 * 9 + 0.5 * (-3) + 10 * 2
    assert float(below["d"]) == pytest.approx(36.5, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.floats(0.1, 0.9), min_size=12, max_size=12),
    function=st.sampled_from(FUNCTIONS),
    link=st.sampled_from(LINKS),
)
def test_without_an_action_the_person_comes_back_to_the_bit(values, function, link):
    scm = SCM(
        [
            Node(name="a"),
            Node(
                name="b",
                parents=["a"],
                equation=Equation(terms=[Term(of="a", coefficient=0.7, function=function)]),
            ),
            Node(
                name="c",
                parents=["a", "b"],
                equation=Equation(
                    terms=[Term(of=("a", "b"), coefficient=-1.3), Term(of="b", coefficient=0.1)], link=link
                ),
            ),
        ]
    )
    x = {name: np.asarray(values[4 * i : 4 * i + 4]) for i, name in enumerate("abc")}
    after = scm.counterfactual(x, {})
    nobody = scm.counterfactual(x, {"a": np.full(4, np.nan), "b": np.full(4, np.nan)})
    for name in x:
        assert after[name].tolist() == x[name].tolist() == nobody[name].tolist()
    again = scm.predict(scm.noise(x))
    for name in x:
        np.testing.assert_allclose(again[name], x[name], rtol=1e-12)


SCHEMA = ht.Schema(
    [
        ht.Feature(name="a", kind="numeric", bounds=(0, 10)),
        ht.Feature(name="whole", kind="integer", bounds=(0, 100)),
        ht.Feature(name="half", kind="numeric", bounds=(0, 100), step=0.5),
        ht.Feature(name="rank", kind="ordinal", levels=("low", "mid", "high")),
        ht.Feature(name="flag", kind="binary", levels=("no", "yes")),
        ht.Feature(name="kind", kind="categorical", levels=("x", "y")),
    ]
)


def test_grids_and_levels_follow_by_rounding():
    scm = SCM(
        [
            Node(name="a"),
            Node(name="whole", parents=["a"], equation=linear(a=1.2)),
            # The effect is of the whole number, not of the score before it was rounded.
            Node(name="half", parents=["whole"], equation=linear(whole=0.3)),
            Node(name="rank", parents=["a"], equation=linear(a=0.4)),
            Node(name="flag", parents=["a"], equation=linear(a=-0.4)),
        ]
    )
    x = {"a": 0.0, "whole": 10.0, "half": 1.0, "rank": 0.0, "flag": 1.0}
    for a, whole, half, rank, flag in [
        (1.0, 11.0, 1.5, 0.0, 1.0),
        (2.0, 12.0, 1.5, 1.0, 0.0),
        (3.0, 14.0, 2.0, 1.0, 0.0),
        (9.0, 21.0, 4.5, 2.0, 0.0),  # beyond the last level is the last
        (0.2, 10.0, 1.0, 0.0, 1.0),
    ]:
        for values in (x, {k: jnp.asarray(v) for k, v in x.items()}):
            after = numbers(scm.counterfactual(values, {"a": a}, schema=SCHEMA))
            assert after == pytest.approx({"a": a, "whole": whole, "half": half, "rank": rank, "flag": flag})
    off = scm.counterfactual({**x, "whole": 10.3}, {"a": 0.2}, schema=SCHEMA)
    assert float(off["whole"]) == 10.3  # less than half a step: stays, though it is off the grid


def test_descendants():
    assert CHAIN.descendants("a") == {"b", "c"}
    assert CHAIN.descendants("b") == {"c"}
    assert CHAIN.descendants("c") == frozenset()


def test_files(tmp_path):
    scm = SCM(
        [
            Node(name="kind", immutable=True),
            Node(name="a"),
            Node(
                name="half",
                parents=["kind", "a"],
                equation=Equation(
                    intercept=None,
                    terms=[
                        Term(of="kind=y", coefficient=1e-5),
                        Term(of=("a", "kind=y"), function="sigmoid", scale=0.1, shift=3),
                    ],
                    link="logit",
                    low=-1,
                    high=101,
                ),
            ),
        ]
    )
    for name in ("m.yaml", "m.json"):
        scm.save(tmp_path / name)
        assert SCM.load(tmp_path / name) == scm
    assert SCM.from_json(scm.to_json()) == scm == SCM.from_yaml(scm.to_yaml())
    assert hash(SCM.from_yaml(scm.to_yaml())) == hash(scm)
    assert SCM.from_yaml(scm.to_yaml()).digest() == scm.digest() != CHAIN.digest()
    scm.check(SCHEMA)
    assert not scm.complete
    assert CHAIN.complete


def test_the_example_of_the_reference_is_a_model():
    page = Path(__file__).resolve().parents[2] / "docs" / "reference" / "causal.md"
    (text,) = re.findall(r"^```yaml\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    scm = SCM.from_yaml(text)
    assert scm.descendants("job") == {"savings", "score"}
    assert SCM.from_yaml(scm.to_yaml()) == scm


def nodes(**parents):
    return [Node(name=name, parents=of) for name, of in parents.items()]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: SCM(nodes(a=["c"], b=["a"], c=["b"])), "in a circle"),
        (lambda: SCM(nodes(a=["a"])), "in a circle; got a -> a"),
        (lambda: SCM(nodes(income=[], b=["incom"])), "Did you mean 'income'"),
        (lambda: SCM([Node(name="a"), Node(name="a")]), "described twice"),
        (lambda: SCM("a"), "must be a list of Node"),
        (lambda: SCM(nodes(a=[], b=["a"])).counterfactual({"a": 1.0, "b": 2.0}, {"a": 3.0}), "no equation"),
        (lambda: SCM(nodes(zzz=[])).check(SCHEMA), "not a column of the schema; got 'zzz'"),
        (lambda: SCM(nodes(a=[], kind=["a"])).check(SCHEMA), "categorical column cannot have parents"),
        (
            lambda: SCM([Node(name="kind"), Node(name="a", parents=["kind"], equation=linear(kind=1.0))]).check(
                SCHEMA
            ),
            "by its levels",
        ),
        (lambda: Node(name="b", parents=["a"], equation=linear(z=1.0)), "not a parent; got 'z'"),
        (lambda: Node(name="b", parents=["a", "c"], equation=linear(a=1.0)), "not in its equation; got 'c'"),
        (lambda: Node(name="b", parents="a"), "must be a list of names"),
        (lambda: Term(of="a", function="sqare"), "Did you mean 'square'"),
        (lambda: Term(of=()), "must name columns"),
        (lambda: Term(of="a", coefficient=float("nan")), "finite number"),
        (lambda: Equation(link="probit"), "`link` is not known"),
        (lambda: Equation(link="logit", low=1, high=0), "reversed"),
        (lambda: CHAIN.counterfactual(PERSON, {"z": 1.0}), "not there; got 'z'"),
        (lambda: SCM.from_yaml("nodes: [{name: a, parent: [b]}]"), "Did you mean 'parents'"),
        (lambda: SCM.from_yaml("nodes: [{parents: []}]"), "needs `name`"),
        (lambda: SCM.from_yaml("[1, 2]"), "must be a mapping"),
        (lambda: SCM.from_yaml("nodes: 3"), "`nodes` must be a list"),
        (lambda: SCM.from_yaml("{holdtrue_scm: 2, nodes: []}"), "must be 1; got 2"),
        (lambda: SCM.from_yaml("!!python/object:os.system {}"), "not valid YAML"),
        (lambda: SCM.from_json("{"), "not valid JSON"),
        (lambda: SCM.load("nowhere.yaml"), "cannot read"),
    ],
)
def test_what_is_refused(make, text):
    with pytest.raises(SchemaError, match=text):
        make()
