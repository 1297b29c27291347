"""A model asked through the protocol's official client, in memory and over a pipe."""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest
from mcp import Client, StdioServerParameters

import holdtrue as ht
from holdtrue.attribution import Reasoner
from holdtrue.chat import Questions, create_server
from holdtrue.classifier import rows_of
from holdtrue.server import Applicants, Service

READING = {"model", "decision", "recourse", "reasons", "audit", "gate", "ledger", "promises", "promise"}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A small model, a table of people under their keys, and a ledger."""
    folder = tmp_path_factory.mktemp("chat")
    bank = ht.datasets.load("loanapp").subset(range(300))
    clf = ht.RecourseClassifier(
        schema=bank.schema,
        model=ht.Linear(),
        regime=ht.StandardTraining(n_epochs=30, step_size=0.01, class_weight="balanced"),
        method=ht.Wachter(n_steps=40, patience=10, random_state=0),
        random_state=0,
    ).fit(bank.X, bank.y)
    keys = [f"key-{7919 * i % 100_003:06d}" for i in range(len(bank.X))]
    service = Service(
        clf,
        ledger=ht.Ledger.create(folder / "promises.db"),
        model_version="v1",
        reasoner=Reasoner(clf.predictor_, bank.X, n_reference=20),
    )
    refused = [i for i, label in enumerate(clf.predict(bank.X)) if label == 0]
    people = Applicants(bank.X, keys, clf.schema_)
    return SimpleNamespace(
        folder=folder, bank=bank, clf=clf, keys=keys, service=service, people=people, refused=refused
    )


def ask(world, *calls, write=False):
    """Call tools one after the other; each result's text, or its error's."""
    questions = Questions(world.service, applicants=world.people, write=write)

    async def asked():
        async with Client(create_server(questions)) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    out = []
    for result in anyio.run(asked):
        text = "".join(part.text for part in result.content)
        out.append(Refusal(text) if result.is_error else result.structured_content)
        if not result.is_error:  # what clients without structured answers read says the same
            assert json.loads(text) == result.structured_content
    return out


class Refusal(str):
    """What a tool said instead of an answer."""


def tools(questions):
    async def listed():
        async with Client(create_server(questions)) as client:
            return (await client.list_tools()).tools

    return {tool.name: tool for tool in anyio.run(listed)}


def test_tools_are_listed_and_say_what_they_write(world):
    found = tools(Questions(world.service, applicants=world.people))
    assert set(found) == READING | {"promise_recourse"}
    assert {name for name, tool in found.items() if tool.annotations.read_only_hint} == READING
    for tool in found.values():
        assert tool.description
        assert tool.input_schema["type"] == "object"


def test_only_what_is_there_can_be_asked(world):
    assert set(tools(Questions(Service(world.clf)))) == {"model", "decision", "recourse"}


def test_recourse_is_what_the_library_finds(world):
    some = world.refused[:3]
    plan = world.clf.recourse(world.bank.X.iloc[some])
    recourse = rows_of(plan.recourse, world.clf.schema_)
    by_key = ask(world, *[("recourse", {"subject": world.keys[i]}) for i in some])
    by_row = ask(world, *[("recourse", {"person": world.people.rows[i]}) for i in some])
    assert by_key == by_row
    assert plan.found.any()
    for told, found, cost, words, row in zip(by_key, plan.found, plan.cost, plan.changes(), recourse, strict=True):
        assert len(told["options"]) == int(found)
        if found:
            (option,) = told["options"]
            assert option["recourse"] == row
            assert option["cost"] == pytest.approx(float(cost))
            assert option["changes"] == words


def test_restrictions_are_kept(world):
    row = next(i for i in world.refused if world.clf.recourse(world.bank.X.iloc[[i]]).found.all())
    (free,) = ask(world, ("recourse", {"subject": world.keys[row]}))
    changed = free["options"][0]["changed"]
    (held,) = ask(
        world, ("recourse", {"subject": world.keys[row], "restrictions": dict.fromkeys(changed, "fixed")})
    )
    assert all(not set(option["changed"]) & set(changed) for option in held["options"])


def test_model_decision_and_reasons(world):
    row = world.refused[0]
    about, decided, why = ask(
        world, ("model", {}), ("decision", {"subject": world.keys[row]}), ("reasons", {"subject": world.keys[row]})
    )
    assert [column["name"] for column in about["columns"]] == list(world.clf.schema_.names)
    assert about["favourable"] == 1
    assert about["may_promise"] is False
    assert decided["decision"] == 0
    expected = world.clf.predict_proba(world.bank.X.iloc[[row]])[0]
    assert decided["probabilities"]["1"] == pytest.approx(float(expected[1]))
    own = world.service.reasoner.of(world.bank.X.iloc[[row]])
    assert [reason["text"] for reason in why["reasons"]] == [reason.text for reason in own.of(0)]
    assert why["gap"] == pytest.approx(float(own.gap[0]))


def test_nothing_is_written_unless_told(world):
    row = next(i for i in world.refused if world.clf.recourse(world.bank.X.iloc[[i]]).found.all())
    asked = ("promise_recourse", {"subject": world.keys[row], "valid_days": 90})
    before = world.service.ledger.head()
    (refusal,) = ask(world, asked)
    assert isinstance(refusal, Refusal)
    assert "--write" in refusal
    assert world.service.ledger.head() == before
    (made,) = ask(world, asked, write=True)
    assert made["state"] == "live"
    one, all_, gate, ledger = ask(
        world,
        ("promise", {"id": made["id"]}),
        ("promises", {"subject": world.keys[row]}),
        ("gate", {}),
        ("ledger", {}),
    )
    assert one == made
    assert all_ == {"promises": [made]}
    assert made["record"]["subject"] == world.keys[row]
    assert (gate["n_live"], gate["n_broken"], gate["ok"]) == (1, 0, True)
    assert (ledger["counts"]["live"], ledger["whole"]) == (1, True)
    assert world.service.ledger.promise(made["id"]).record.to_dict() == made["record"]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("recourse", {}, "give either"),
        ("recourse", {"subject": "key-x", "person": {}}, "give either"),
        ("recourse", {"subject": "key-x"}, "nobody has this key; got 'key-x'"),
        ("recourse", {"person": {"loanprc": 0.5}}, "columns are not the model's"),
        ("recourse", {"options": 99, "subject": "FIRST"}, "from 1 to"),
        ("recourse", {"hold": 0.95, "subject": "FIRST"}, "hold"),
        ("recourse", {"restrictions": {"incom": "fixed"}, "subject": "FIRST"}, "incom"),
        ("recourse", {"person": "somebody"}, "person"),
        ("audit", {"people": 3}, "from 10 to"),
        ("gate", {"max_broken": 3}, "share from 0 to 1"),
        ("promise", {"id": "0" * 32}, "no such promise"),
        ("promises", {}, "subject"),
        ("people", {}, "people"),
    ],
)  # fmt: skip
def test_bad_input_is_told(world, name, arguments, said):
    if arguments.get("subject") == "FIRST":
        arguments = arguments | {"subject": world.keys[world.refused[0]]}
    (refusal,) = ask(world, (name, arguments))
    assert isinstance(refusal, Refusal)
    assert said in refusal
    assert "Traceback" not in refusal


def test_nothing_about_others_is_told(world):
    """Whatever is asked, no other person's key is in the answer; of all together there are only figures."""
    one = world.keys[world.refused[0]]
    calls = [
        ("model", {}),
        *((name, {"subject": one}) for name in ("decision", "recourse", "reasons", "promises")),
        ("recourse", {"subject": one[:-1]}),  # near a key, and no hint at it
        ("audit", {"people": 50}),
        ("gate", {}),
        ("ledger", {}),
    ]
    told = ask(world, *calls)
    text = json.dumps(told)
    assert one[:-1] in text
    assert not [key for key in world.keys if key != one and key in text]
    report = told[6]
    assert (report["n_people"], report["n_refused"]) == (50, 50)
    alone = ht.audit(world.clf.recourse(world.bank.X.iloc[world.refused[:50]])).to_dict()
    assert report["share"] == alone["share"]
    assert "people" not in report
    assert "broken" not in report
    assert "cases" not in told[7]


def test_few_people_are_not_averaged(world):
    few = Applicants(world.bank.X.iloc[world.refused[:5]], world.keys[:5], world.clf.schema_)
    with pytest.raises(ht.errors.DataError, match="single ones"):
        Questions(world.service, applicants=few).audit()


def test_over_a_pipe(world):
    """The command itself, as a chat client starts it."""
    model = world.folder / "loans.holdtrue"
    world.clf.save(model)
    root = Path(ht.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "holdtrue", "mcp", str(model)], env=environment
    )
    row = world.people.rows[world.refused[0]]

    async def asked():
        with anyio.fail_after(120):
            async with Client(server) as client:
                names = [tool.name for tool in (await client.list_tools()).tools]
                return names, await client.call_tool("decision", {"person": row})

    names, result = anyio.run(asked)
    assert set(names) == {"model", "decision", "recourse"}
    expected = world.clf.predict_proba(world.bank.X.iloc[[world.refused[0]]])[0]
    assert result.structured_content["probabilities"]["1"] == pytest.approx(float(expected[1]), abs=1e-6)
