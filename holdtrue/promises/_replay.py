"""Does a record come out the same when it is computed again?"""

import copy
import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from holdtrue._types import Json
from holdtrue.classifier import AbstractClassifier, rebuild, table_of
from holdtrue.errors import DataError
from holdtrue.hold import Holding
from holdtrue.methods import METHODS, AbstractMethod
from holdtrue.promises._records import described, drafts, software
from holdtrue.schema import TableLike, hinted

if TYPE_CHECKING:  # the ledger brings SQLAlchemy along, which only those who keep promises need
    from holdtrue.ledger import Record

CLOSE = 1e-5  # probabilities and costs are in single precision, which differs in the last digit between processors


@dataclass(frozen=True)
class Replay:
    """Whether a record comes out the same when it is computed again.

    Attributes
    ----------
    differences : dict
        Field to what was recorded and what came out; empty where all is the same.
    notes : list of str
        What else may explain a difference.
    """

    differences: dict[str, tuple[Json, Json]]
    notes: list[str] = field(default_factory=list)

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    def __str__(self) -> str:
        lines = [f"{name}: recorded {old!r}, now {new!r}" for name, (old, new) in self.differences.items()]
        head = "The record comes out the same." if self.same else "The record does not come out the same."
        return "\n".join([head, *lines, *self.notes])


@hinted()
def replay(record: "Record", clf: AbstractClassifier, *, reference: TableLike | None = None) -> Replay:
    """Compute a record again, and say what differs.

    Parameters
    ----------
    record : Record
    clf : RecourseClassifier
        The model that the record names; with another one the differences say so.
    reference : dataframe, optional
        Training rows, for a method that learns from them and is not the classifier's own.
    """
    predictor = clf.predictor_
    old, new = record.to_dict(), {"schema": predictor.encoder.schema.digest(), "threshold": predictor.threshold}
    new["model hash"], old["model hash"] = predictor.digest(), record.model["hash"]
    table = table_of([record.factual], predictor.encoder.schema, where="replay")
    labels = predictor.classes.tolist()
    if record.target not in labels:
        raise DataError(f"replay: the record's target is not a class of this model; got {record.target!r}.")
    option = record.method["option"]
    plan = _again(record, clf, reference).recourse(
        table,
        target=labels[labels.index(record.target)],
        restrictions={0: record.restrictions} if record.restrictions else None,
        **({"n_recourses": option + 1} if option else {}),
    )
    made = drafts(plan, [record.subject] * len(plan), issued=record.issued) if plan.found.any() else []
    again = next((r for r in made if r.method["option"] == option), None)
    if again is None:
        new |= {"recourse": None, "changes": str(plan.changes()[0])}
    else:
        fields = ("recourse", "changes", "cost", "decision_before", "decision_after", "probability_before")
        new |= {name: getattr(again, name) for name in (*fields, "probability_after")}
    differences = {name: (old[name], value) for name, value in new.items() if not _same(old[name], value)}
    return Replay(differences, _notes(record))


def _again(record: "Record", clf: AbstractClassifier, reference: TableLike | None) -> AbstractMethod:
    """The method that the record names: the classifier's own with what it learned, or one made anew."""
    method = copy.copy(_method_again(record, clf, reference))
    if method.random_state is None and record.method["seed"] is not None:
        method._drawn = record.method["seed"]  # what was drawn then is not drawn again
    return method


def _method_again(record: "Record", clf: AbstractClassifier, reference: TableLike | None) -> AbstractMethod:
    own = clf.method_
    name, params = record.method["name"], _with_numbers(record.method["name"], record.method["params"])
    known = _with_numbers(name, described(own.get_params(deep=False)))
    if isinstance(own, Holding) and METHODS.get(name) is Holding:
        searched = {"base", "hold"}  # guides and judges depend on neither
        if reference is None or all(params[key] == value for key, value in known.items() if key not in searched):
            return _held_again(record, clf, own, reference)
    same = known == params
    if METHODS.get(name) is type(own) and same and reference is None:
        return own
    unwritten = [key for key, value in params.items() if isinstance(value, dict) and "$text" in value]
    if unwritten:
        raise DataError(
            f"replay: parameters of {name} could not be recorded; got {unwritten!r}. Replay it in Python."
        )
    method = rebuild({"$method": name, "params": params})
    if type(method).needs_rows and reference is None:
        raise DataError(
            f"replay: {type(method).__name__} learns from training rows, which the model file does not hold for "
            "it; got none. Give the table that the model learned from."
        )
    return method.fit(clf, reference)


def _with_numbers(name: str, params: Mapping[str, Json]) -> dict[str, Json]:
    """Parameters with the numbers that JSON has none for; older records have None in place of infinity."""
    known = inspect.signature(METHODS[name].__init__).parameters if name in METHODS else {}
    out = {}
    for key, value in params.items():
        default = known[key].default if key in known else None
        if isinstance(value, dict) and "$float" in value:
            value = float(value["$float"])
        elif value is None and isinstance(default, float) and not math.isfinite(default):
            value = default
        out[key] = value
    return out


def _held_again(
    record: "Record", clf: AbstractClassifier, own: Holding, reference: TableLike | None
) -> AbstractMethod:
    """The classifier's guides, about the base and at the level that the record names."""
    base, survival = record.method["params"].get("base"), record.survival or {}
    if base is not None and described(own.get_params(deep=False))["base"] != base:
        other = rebuild(base)
        if type(other).needs_rows and reference is None:
            raise DataError(
                f"replay: {type(other).__name__} learns from training rows, which the model file does not hold "
                "for it; got none. Give the table that the model learned from."
            )
        own = own.around(other.fit(clf, reference))
    level = survival.get("level")
    if level is None:
        return own
    if not survival["guided"]:
        return own.at(None)
    hold, slack = level["hold"], level["slack"]
    # Records did not always say how many guides may refuse: then as many as where this margin was measured.
    measured = next((known.spared for known in own.levels_ if known.slack == slack), own.level_.spared)
    return own.at(replace(own.level_, hold=hold, slack=slack, spared=level.get("spared", measured)))


def _same(a: Any, b: Any, close: float = CLOSE) -> bool:
    if isinstance(a, dict):  # a person's columns, which are in double precision
        return isinstance(b, dict) and a.keys() == b.keys() and all(_same(a[key], b[key], 1e-9) for key in a)
    if _is_number(a) and _is_number(b):
        return math.isclose(a, b, rel_tol=close, abs_tol=close)
    return type(a) is type(b) and a == b


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _notes(record: "Record") -> list[str]:
    notes = []
    if "random_state" in record.method["params"] and record.method["seed"] is None:
        notes.append("The method was run without a seed, so that another run may find another recourse.")
    now = software()
    for name, version in record.software.items():
        if name in now and now[name] != version:
            notes.append(f"Recorded with {name} {version}; this is {now[name]}.")
    return notes
