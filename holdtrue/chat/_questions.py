"""What may be asked in a chat, apart from the protocol: one person at a time, or a table as a whole."""

import threading
from collections.abc import Mapping

from holdtrue._json import plain
from holdtrue._types import Cell, JsonObject
from holdtrue.errors import DataError
from holdtrue.hold import AS_FITTED, Hold
from holdtrue.ledger import Ledger, Promise
from holdtrue.methods import RecourseFrame
from holdtrue.promises import gate
from holdtrue.reports import audit
from holdtrue.schema import Feature
from holdtrue.server import Applicants, Service

ROLE = "chat"
"""Under which the ledger's policy knows what is promised here; it overrides nothing unless the policy names it."""
LEAST = 10  # people of a table below which figures about all of them would be figures about single ones
MOST = 1000  # people whose recourse one audit searches


class Questions:
    """A model, and perhaps a table of people and a ledger, as they may be asked about in a chat.

    A person is given by their columns or, where there is a table of people, by their key. Answers are about that
    person alone; of a table and a ledger as a whole only counts, shares and averages are told.

    Parameters
    ----------
    service : Service
        The model, its ledger and what gives reasons; it need not be started.
    applicants : Applicants, optional
        People who can be asked about by their key, and together.
    write : bool, default=False
        Whether promises may be made.
    """

    def __init__(self, service: Service, *, applicants: Applicants | None = None, write: bool = False) -> None:
        self.service, self.applicants, self.write = service, applicants, write
        self._places: dict[str, list[int]] = {}
        for i, subject in enumerate(() if applicants is None else applicants.subjects):
            self._places.setdefault(subject, []).append(i)
        self._turn = threading.Lock()  # searches take all cores; two at once are slower than one after the other

    # ---- the model ------------------------------------------------------------------------------------

    def model(self) -> JsonObject:
        """What the model reads and decides, and what can be asked here."""
        service = self.service
        return {
            "model": service.digest,
            "version": service.model_version,
            "columns": [_column(feature) for feature in service.schema],
            "decisions": service.predictor.classes.tolist(),
            "favourable": plain(service.predictor.favourable),
            "threshold": service.predictor.threshold,
            "method": type(service.classifier.method_).__name__,
            "level": service.level(),
            "gives_reasons": service.reasoner is not None,
            "has_people": self.applicants is not None,
            "has_ledger": service.ledger is not None,
            "may_promise": self.write,
        }

    # ---- one person -----------------------------------------------------------------------------------

    def decision(self, person: Mapping[str, Cell] | None = None, subject: str | None = None) -> JsonObject:
        """What the model decides about a person."""
        return self.service.decisions(self.service.table([self._row(person, subject)]))[0]

    def recourse(
        self,
        person: Mapping[str, Cell] | None = None,
        subject: str | None = None,
        *,
        restrictions: Mapping[str, object] | None = None,
        options: int = 1,
        hold: Hold = AS_FITTED,
    ) -> JsonObject:
        """What a person could do, as ``clf.recourse`` finds it."""
        plan = self._plan(self._row(person, subject), restrictions, options, hold)
        return self.service.answers(plan)[0] | {"level": self.service.level(hold)}

    def reasons(self, person: Mapping[str, Cell] | None = None, subject: str | None = None) -> JsonObject:
        """Why a person was refused; no reasons where they were not."""
        service = self.service
        if service.reasoner is None:
            raise DataError("reasons: need rows to compare with; got none. Start with --reference TABLE.")
        with self._turn:
            why = service.reasoner.of(service.table([self._row(person, subject)]))
        told = [reason._asdict() | {"features": list(reason.features)} for reason in why.of(0)]
        return {"gap": float(why.gap[0]), "unit": why.unit, "reasons": plain(told)}

    def _row(self, person: Mapping[str, Cell] | None, subject: str | None) -> JsonObject:
        """The columns of who is asked about. An error says nothing of anybody else, keys least of all."""
        if (person is None) == (subject is None):
            raise DataError("person: give either `person`, their columns, or `subject`, their key.")
        if person is not None:
            missing = {f.name: None for f in self.service.schema if f.missing is not None}
            return missing | dict(person)
        if self.applicants is None:
            raise DataError("subject: there is no table of people here. Give `person`, their columns.")
        places = self._places.get(str(subject), [])
        if len(places) != 1:
            what = "nobody has this key" if not places else f"{len(places)} rows have this key"
            raise DataError(f"subject: {what}; got {subject!r}.")
        return self.applicants.rows[places[0]]

    def _plan(
        self, row: JsonObject, restrictions: Mapping[str, object] | None, options: int, hold: Hold
    ) -> RecourseFrame:
        most = self.service.quotas.options
        if isinstance(options, bool) or not 1 <= options <= most:
            raise DataError(f"recourse: `options` must be from 1 to {most}; got {options!r}.")
        with self._turn:
            return self.service.classifier.recourse(
                self.service.table([row]), restrictions=[restrictions], n_recourses=options, hold=hold,
                deadline=self.service.quotas.max_deadline,
            )  # fmt: skip

    # ---- everybody ------------------------------------------------------------------------------------

    def audit(self, people: int = 200) -> JsonObject:
        """Recourse of the first refused people of the table, measured: counts, shares and averages."""
        if self.applicants is None:
            raise DataError("audit: there is no table of people here. Start with --people TABLE.")
        if isinstance(people, bool) or not LEAST <= people <= MOST:
            raise DataError(f"audit: `people` must be from {LEAST} to {MOST}; got {people!r}.")
        service = self.service
        wanted = plain(service.predictor.favourable)
        told = self.applicants.decided(service)
        refused = [i for i, one in enumerate(told) if one["decision"] != wanted][:people]
        if len(refused) < LEAST:
            raise DataError(
                f"audit: figures about fewer than {LEAST} people would be about single ones; the table has "
                f"{len(refused)} who are refused."
            )
        with self._turn:
            plan = service.classifier.recourse(service.table([self.applicants.rows[i] for i in refused]))
            report = audit(plan, service.retrained).to_dict()
        del report["broken"]  # sentences about single rows
        held = plan.held
        return report | {"holding": plan.holding() if held is not None and plan.found.any() else None}

    def gate(self, max_broken: float = 0.0) -> JsonObject:
        """What this model does to the live promises: counts and shares, no cases."""
        report = gate(self.service.classifier, self._ledger(), max_broken=max_broken, alternatives=0).to_dict()
        told = (
            "ok", "max_broken", "n_live", "n_broken", "n_unreadable", "share", "lower", "upper", "confidence",
            "expected", "honour", "threshold", "model", "at",
        )  # fmt: skip
        return {name: report[name] for name in told}

    # ---- the ledger -----------------------------------------------------------------------------------

    def ledger(self) -> JsonObject:
        """How many promises stand where, what may be promised, and whether the chain is whole."""
        book = self._ledger()
        head, checked = book.head(), book.verify()
        return {
            "counts": book.counts(),
            "policy": str(book.policy()),
            "whole": checked.ok,
            "head": {"ledger": head.ledger, "seq": head.seq, "hash": head.hash},
        }

    def promises(self, subject: str) -> list[JsonObject]:
        """Every promise to one person, oldest first; none where nothing was promised, or they were forgotten."""
        book = self._ledger()
        ids = dict.fromkeys(event.promise for event in book.history(subject) if event.promise is not None)
        return [_promise(book.promise(id)) for id in ids]

    def promise(self, id: str) -> JsonObject:
        """One promise, by its id."""
        return _promise(self._ledger().promise(id))

    def issue(
        self,
        subject: str,
        person: Mapping[str, Cell] | None = None,
        *,
        restrictions: Mapping[str, object] | None = None,
        option: int = 0,
        options: int = 1,
        valid_days: float | None = None,
        hold: Hold = AS_FITTED,
        reason: str | None = None,
    ) -> JsonObject:
        """Find recourse for a person and promise it to them."""
        if not self.write:
            raise DataError(
                "promise: nothing may be promised here; what can be asked only reads. Start with --write."
            )
        book = self._ledger()
        row = self._row(person, None if person is not None else subject)
        plan = self._plan(row, restrictions, max(options, option + 1), hold)
        record = self.service.promise(plan, subject, option=option, days=valid_days, reason=reason)
        if record is None:
            raise DataError(f"promise: nothing was promised. {self.service.answers(plan)[0]['message']}")
        book.issue(record, role=ROLE)
        return _promise(book.promise(record.id))

    def _ledger(self) -> Ledger:
        if self.service.ledger is None:
            raise DataError("ledger: there is none here. Start with --ledger PLACE.")
        return self.service.ledger


def _column(feature: Feature) -> JsonObject:
    """What a chat must know of a column to ask about a person."""
    told: JsonObject = {
        "name": feature.name, "title": feature.title, "kind": feature.kind, "unit": feature.unit,
        "may_change": feature.direction != "fixed", "direction": feature.direction,
        "may_be_missing": feature.missing is not None,
    }  # fmt: skip
    limits = {"levels": feature.levels} if feature.has_levels else {"bounds": feature.bounds}
    return plain(told | {name: None if value is None else list(value) for name, value in limits.items()})


def _promise(promise: Promise) -> JsonObject:
    record = promise.record
    return {
        "id": promise.id,
        "state": promise.state,
        "valid_until": None if promise.valid_until is None else promise.valid_until.isoformat(),
        "record": None if record is None else record.to_dict(),
    }
