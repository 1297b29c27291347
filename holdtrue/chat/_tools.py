"""The tools that a chat client sees: each reads its arguments, asks one question, and answers in JSON."""

import functools
from collections.abc import Callable
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from holdtrue import __version__
from holdtrue._types import JsonObject
from holdtrue.chat._questions import Questions
from holdtrue.errors import HoldtrueError, LedgerError
from holdtrue.hold import AS_FITTED, Hold

Value = str | bool | int | float | None
Person = Annotated[
    dict[str, Value] | None,
    Field(description="The person's columns, by the names that `model` lists; or give `subject`."),
]
Subject = Annotated[str | None, Field(description="The person's key in the table of people, instead of `person`.")]
Restrictions = Annotated[
    dict[str, Any] | None,
    Field(description='What this person is not asked to change, as {"income": "fixed"}.'),
]
Options = Annotated[int, Field(description="How many ways that differ, at most.")]
Wanted = Annotated[
    float | Literal["as fitted", "none"],
    Field(description="The wanted chance that a retrained model accepts; none: the cheapest recourse."),
]
Key = Annotated[str, Field(description="Your own key for the person.")]
READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
WRITES = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
INSTRUCTIONS = (
    "Ask a classifier what it decides about a person, why it refuses, and what the person could change to be "
    "accepted (recourse). Ask `model` first: it lists the columns that a person is described by. Tell people what "
    "`changes` says, with its chance to hold (`survival`); do not invent other advice. "
)


def create_server(questions: Questions) -> MCPServer:
    """The server of a chat: tools that read, and one that promises where that is allowed.

    Parameters
    ----------
    questions : Questions
        What may be asked.
    """
    may = "Promises can be made with `promise_recourse`." if questions.write else "Nothing can be written."
    server = MCPServer("holdtrue", version=__version__, instructions=INSTRUCTIONS + may, log_level="WARNING")

    def tool(function: Callable[..., JsonObject], how: ToolAnnotations = READS) -> None:
        server.add_tool(_told(function), annotations=how)

    def model() -> JsonObject:
        """The columns that the model reads and whether people may change them, its decisions, and what is here."""
        return questions.model()

    def decision(person: Person = None, subject: Subject = None) -> JsonObject:
        """What the model decides about one person, with the probability of each decision."""
        return questions.decision(person, subject)

    def recourse(
        person: Person = None, subject: Subject = None, restrictions: Restrictions = None, options: Options = 1,
        hold: Wanted = "as fitted",
    ) -> JsonObject:  # fmt: skip
        """What one person could change to be accepted: changes in words, their cost, and their chance to hold."""
        return questions.recourse(person, subject, restrictions=restrictions, options=options, hold=_hold(hold))

    def reasons(person: Person = None, subject: Subject = None) -> JsonObject:
        """Why one person was refused: the columns that contribute most to the gap to the cut-off."""
        return questions.reasons(person, subject)

    def audit(people: Annotated[int, Field(description="How many refused people, at most.")] = 200) -> JsonObject:
        """Measure the recourse of the table's refused people: found, valid, cost, and how long it holds."""
        return questions.audit(people)

    def gate(
        max_broken: Annotated[float, Field(description="Share of the live promises that may break.")] = 0.0,
    ) -> JsonObject:
        """Ask this model about every live promise of the ledger: how many it would break; is that allowed?"""
        return questions.gate(max_broken)

    def ledger() -> JsonObject:
        """How many promises stand where, what may be promised, and whether the ledger is whole."""
        return questions.ledger()

    def promises(subject: Key) -> JsonObject:
        """Every promise to one person, and where it stands."""
        return {"promises": questions.promises(subject)}

    def promise(id: Annotated[str, Field(description="The promise's id.")]) -> JsonObject:
        """One promise by its id: what was promised, on what terms, and where it stands."""
        return questions.promise(id)

    def promise_recourse(
        subject: Key, person: Person = None, restrictions: Restrictions = None, option: int = 0,
        options: Options = 1, valid_days: float | None = None, hold: Wanted = "as fitted",
        reason: Annotated[str | None, Field(description="Why one that does not hold is promised anyway.")] = None,
    ) -> JsonObject:  # fmt: skip
        """Find recourse for one person and promise it: the ledger keeps it, and new models are held to it."""
        return questions.issue(
            subject, person, restrictions=restrictions, option=option, options=options, valid_days=valid_days,
            hold=_hold(hold), reason=reason,
        )  # fmt: skip

    for function in (model, decision, recourse):
        tool(function)
    service = questions.service
    if service.reasoner is not None:
        tool(reasons)
    if questions.applicants is not None:
        tool(audit)
    if service.ledger is not None:
        for function in (gate, ledger, promises, promise):
            tool(function)
        # Also where it is refused: a client is then told why, and how its owner could allow it.
        tool(promise_recourse, WRITES)
    return server


def _told(function: Callable[..., JsonObject]) -> Callable[..., JsonObject]:
    """The same, its errors told: of holdtrue's own what they say, of others only that it failed."""

    @functools.wraps(function)
    def asked(*what: object, **how: object) -> JsonObject:
        try:
            return function(*what, **how)
        except HoldtrueError as error:
            # A ledger that cannot be reached says where it is, which is nobody's business here.
            hidden = type(error) is LedgerError
            raise ToolError("ledger: cannot be reached. Try again later." if hidden else str(error)) from error

    return asked


def _hold(wanted: float | Literal["as fitted", "none"]) -> Hold:
    if isinstance(wanted, str):
        return AS_FITTED if wanted == "as fitted" else None
    return wanted
