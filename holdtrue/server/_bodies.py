"""What requests and answers look like: the model's own columns, by name and kind, are part of the OpenAPI."""

import math
from typing import Annotated, Any, Optional

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema, create_model

from holdtrue._types import JsonObject
from holdtrue.hold import AS_FITTED, Hold
from holdtrue.schema import Feature, Schema
from holdtrue.server._quotas import Quotas

Label = Annotated[str | int | float | bool, Field(description="A class, as the model names it.")]
Restriction = Annotated[
    JsonObject | None, Field(description='What the person is not asked to change, as {"income": "fixed"}.')
]


class Strict(BaseModel):
    """Nothing but what is named, in its own type."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Refusal(BaseModel):
    """Why a request was refused."""

    error: str
    request: str


class Decision(BaseModel):
    """What the model decides about one person."""

    decision: str | int | float | bool
    probabilities: dict[str, float]


class Decisions(BaseModel):
    """One decision per person, in order."""

    model: str | None
    decisions: list[Decision]


class Period(BaseModel):
    """What was kept in one past period."""

    period: str
    slack: float
    kept: float | None
    people: int
    cost: float | None


class Level(BaseModel):
    """What is wanted of how long recourse holds, and what that was measured on."""

    hold: float = Field(description="The wanted chance that a retrained model accepts.")
    term: int | None = Field(description="For how many periods, where that was asked of the past.")
    vary: str = Field(description="What a retraining is.")
    judges: int = Field(description="Retrained models that judge every recourse.")
    guides: int = Field(description="Retrained models that the search asks.")
    kept: float | None = Field(description="Share of their answers that were a yes when it was measured.")
    lower: float | None
    confidence: float
    reached: bool = Field(description="Whether the lower bound reaches the wanted chance.")
    people: int
    periods: list[Period] = Field(description="What was kept in each past period, where that was asked.")
    note: str


class Told(BaseModel):
    """The level that a recourse was searched at."""

    hold: float
    slack: float
    term: int | None
    kept: float | None
    lower: float | None
    confidence: float
    reached: bool
    people: int
    judges: int
    guides: int
    periods: list[Period]
    note: str


class Survival(BaseModel):
    """How many of the retrained models still say yes, with the interval of that chance.

    With guides also whether that is as often as wanted, and what the cheapest recourse would cost.
    """

    estimate: float
    lower: float
    upper: float
    confidence: float
    n_models: int
    vary: str | None
    holds: bool | None = None
    cheapest: float | None = None
    guided: bool | None = None
    level: Told | None = None


class Option(BaseModel):
    """One way to the wanted decision."""

    recourse: JsonObject
    changed: list[str]
    changes: str
    effort: str = Field(description="What it asks of the person: how many changes of which size.")
    asked: float = Field(description="The same as one number: the sizes of the changes, added up.")
    cost: float | None
    probability: float | None
    survival: Survival | None


class Because(BaseModel):
    """One reason of a refusal, and how many of the retrained models give it too."""

    code: str | None
    text: str
    agreement: float | None
    stands: bool | None = Field(description="Whether enough of the retrained models give it; null: not known.")
    changed_by: list[int] = Field(description="Options, from 0, that change what it speaks of.")


class Answer(BaseModel):
    """How the search for one person ended, and what they could do."""

    status: str
    message: str
    probability: float | None
    reasons: list[Because] | None = Field(None, description="Of a refusal; null where the service gives none.")
    options: list[Option]


class Answers(BaseModel):
    """One answer per person, in order."""

    model: str | None
    level: Level | None = Field(description="Null where nothing is known about how long recourse holds.")
    answers: list[Answer]


class Kept(BaseModel):
    """Whether a promise was kept."""

    kept: bool


class Expired(BaseModel):
    """How many promises ran out."""

    expired: int


class Erased(BaseModel):
    """From how many events a person was erased."""

    erased: int


class Fulfil(Strict):
    """A person came back."""

    decision: Label
    actual: JsonObject | None = Field(None, description="Their columns as they are now, as far as known.")
    note: str | None = Field(None, max_length=2000)


class Forget(Strict):
    """Erase a person."""

    subject: str = Field(min_length=1, max_length=200, description="Your own key for the person.")


class Gate(Strict):
    """Ask the served model about every live promise."""

    max_broken: float = Field(0.0, ge=0, le=1)
    group: str | None = Field(None, max_length=200)
    alternatives: int = Field(0, ge=0, le=1000, description="Broken promises to search another way for.")
    write_down: bool = Field(False, description="Append to the ledger what was found, in counts.")


OPTIONS = (
    "Recourses per person, that differ. They are sorted together: to promise one of them, ask for as many again."
)


class Bodies:
    """Requests about people, made for one model's schema."""

    def __init__(self, schema: Schema, quotas: Quotas) -> None:
        columns: JsonObject = {}
        for i, feature in enumerate(schema):
            absent = feature.missing is not None
            # Columns may have names that Python has not; the alias is what is read and written.
            columns[f"column_{i}"] = (_kind(feature), Field(None if absent else ..., alias=feature.name))
        self.names = {f"column_{i}": feature.name for i, feature in enumerate(schema)}
        self.Person = create_model("Person", __base__=Strict, **columns)
        people: Any = (list[self.Person], Field(min_length=1, max_length=quotas.people))
        options: Any = (int, Field(1, ge=1, le=quotas.options, description=OPTIONS))
        target: Any = (
            Optional[Label],  # noqa: UP045 - a name for a type, not an annotation
            Field(None, description="The wanted class; the favourable one when omitted."),
        )
        each: Any = (list[Restriction] | None, Field(None, description="One entry, or null, per person."))
        one: Any = (Restriction, None)
        days: Any = (float | None, Field(None, gt=0, le=36500))
        name: Any = (str | None, Field(None, pattern="^[0-9a-f]{32}$", description="Makes it safe to ask twice."))
        which: Any = (int, Field(0, ge=0, lt=quotas.options, description="Which option is promised, from 0."))
        seen: Any = (
            Optional[self.Person],  # noqa: UP045 - a name for a type, not an annotation
            Field(None, description="The `recourse` of the option that was told: this one is promised, whichever "
                  "its place, or none."),
        )  # fmt: skip
        hold: Any = (
            float | None,
            Field(None, gt=0, lt=1, description="The wanted chance that a retrained model accepts; null: the "
                  "cheapest recourse. As the model was fitted, when omitted."),
        )  # fmt: skip
        why: Any = (
            str | None,
            Field(None, min_length=1, max_length=2000, description="Why a recourse that is known not to hold is "
                  "promised all the same; the record keeps it."),
        )  # fmt: skip
        most = quotas.max_deadline
        deadline: Any = (float | None, Field(None, gt=0, le=most, description="Seconds until an answer is due."))
        self.Predict = create_model("Predict", __base__=Strict, people=people)
        self.Recourse = create_model(
            "Recourse",
            __base__=Strict,
            people=people,
            restrictions=each,
            options=options,
            target=target,
            hold=hold,
            deadline=deadline,
        )
        self.Supersede = create_model(
            "Supersede",
            __base__=Strict,
            person=(self.Person, ...),
            restrictions=one,
            options=options,
            option=which,
            recourse=seen,
            target=target,
            hold=hold,
            reason=why,
            deadline=deadline,
            valid_days=days,
            id=name,
        )
        key: Any = (str, Field(min_length=1, max_length=200, description="Your own key for the person."))
        self.Issue = create_model("Issue", __base__=self.Supersede, subject=key)

    def row(self, person: object) -> JsonObject:
        """The columns of a person, by name."""
        return {name: getattr(person, field) for field, name in self.names.items()}


def hold_of(body: Any) -> Hold:
    """The chance that was asked for: what is left out is not the same as null."""
    return body.hold if "hold" in body.model_fields_set else AS_FITTED


def _kind(feature: Feature) -> Any:
    """The type of a column: a level that the model knows, or a finite number."""
    absent = feature.missing is not None
    if feature.has_levels:
        levels = list(feature.levels or ())

        def check(value: object) -> Any:
            if value is None and absent:
                return value
            if not any(value == level and _family(value) == _family(level) for level in levels):
                raise ValueError(f"must be one of {levels!r}")
            return value

        shape: JsonObject = {"enum": [*levels, *([None] if absent else [])]}
    else:
        kind = "integer" if feature.kind == "integer" else "number"

        def check(value: object) -> Any:
            if value is None and absent:
                return value
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ValueError("must be a number" + (" or null" if absent else ""))
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError("must be finite")
            if abs(value) >= 2**1000:
                raise ValueError("is too large")
            if kind == "integer" and value != int(value):
                raise ValueError("must be a whole number")
            return float(value)

        shape = {"type": [kind, "null"] if absent else kind}
    shape["description"] = feature.title + (f", in {feature.unit}" if feature.unit else "")
    return Annotated[Any, PlainValidator(check), WithJsonSchema(shape)]


def _family(value: object) -> str:
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__
