"""What a service does, apart from HTTP: a warm model, a queue, a ledger and the gate's last report."""

import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from holdtrue._types import Cell, Json, JsonObject
from holdtrue.attribution import Reason, Reasoner, Reasons
from holdtrue.batch import proba_of
from holdtrue.classifier import AbstractClassifier, rows_of, table_of
from holdtrue.errors import CapabilityError, DataError
from holdtrue.hold import AS_FITTED, Hold, Holding, held_method
from holdtrue.ledger import Ledger, Record
from holdtrue.methods import AbstractMethod, RecourseFrame
from holdtrue.models import n_maps
from holdtrue.promises import Stationery, check_holding, drafts, gate, stated_survival
from holdtrue.reports import shelf_life
from holdtrue.retraining import AbstractRetrained
from holdtrue.schema import Feature, Restrictions, Table, normalise_restrictions, plain
from holdtrue.search import Status
from holdtrue.server._batcher import Batcher, Job
from holdtrue.server._gates import Gates
from holdtrue.server._metrics import Metrics
from holdtrue.server._quotas import Quotas

FAR = 1e6  # times the range that the model learned from: beyond it single precision says nothing
MANY_MAPS = 30_000  # of the 65,530 memory maps that Linux allows to a process; a program holds several
LOOK = 50  # calls between two looks at them


class Service:
    """A classifier, warm, whose callers share compiled calls.

    Parameters
    ----------
    classifier : RecourseClassifier
        Fitted, or loaded from a model file.
    ledger : Ledger, optional
        Where promises are kept; without one none can be made.
    quotas : Quotas, optional
    model_version : str, optional
        Your own name for the model, for the records.
    gate_report : path, optional
        Where the gate's reports are: a file with the last, or a folder with one for each model version, as
        ``holdtrue gate --out FILE.json`` writes them; read when asked for, and written when the gate is run here.
    retrained : AbstractRetrained, optional
        The model trained again, as by ``holdtrue.retrain``: they are asked about every recourse, whose chance to
        hold is then told and recorded. Those that guide the search itself are left out.
    stationery : Stationery, optional
        The templates of letters, in place of holdtrue's own.
    reasoner : Reasoner, optional
        Gives the reasons of a refusal, which are then told and recorded beside the options.
    """

    def __init__(
        self,
        classifier: AbstractClassifier,
        *,
        ledger: Ledger | None = None,
        quotas: Quotas | None = None,
        model_version: str | None = None,
        gate_report: str | Path | None = None,
        retrained: AbstractRetrained | None = None,
        stationery: Stationery | None = None,
        reasoner: Reasoner | None = None,
    ) -> None:
        if not isinstance(classifier, AbstractClassifier):
            raise CapabilityError(
                f"Service: `classifier` must be one of holdtrue's; got {type(classifier).__name__}. Take a model "
                "made elsewhere in with `holdtrue.adopt(model, schema, reference=table)`."
            )
        self.classifier, self.ledger, self.model_version = classifier, ledger, model_version
        self.quotas = Quotas() if quotas is None else quotas
        self.predictor, self.schema = classifier.predictor_, classifier.schema_
        self.digest = self.predictor.digest()
        self.metrics = Metrics()
        self.many_maps = MANY_MAPS
        self.gates = Gates(gate_report)
        self.retrained = None if retrained is None else _unasked(retrained, classifier)
        self.stationery = Stationery() if stationery is None else stationery
        self.reasoner = reasoner
        self._gate = threading.Lock()
        self._n_calls = 0
        self._batcher = self._new_batcher()
        self._describe()

    # ---- life -----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Compile everything that requests will need, then take them."""
        self.warm()
        if not self._batcher.alive:
            self._batcher = self._new_batcher()
            self._batcher.start()

    def close(self) -> None:
        """Answer what waits, and end."""
        self._batcher.close()

    @property
    def ready(self) -> bool:
        """Whether requests are answered."""
        return self._batcher.alive

    def warm(self) -> None:
        """Run the model and the search for made-up people, in every size that a shared call can have."""
        # Somebody whom the model refuses, as those are who will ask: programs differ by the class that is wanted.
        person, decided = self._made_up()
        one = table_of([person], self.schema, where="warm")
        favourable = self.predictor.decision.favourable
        other = favourable if decided != favourable else (1 if decided == 0 else 0)
        has, wanted = self.predictor.classes[[decided, other]]
        if self.retrained is not None:
            self.retrained.accepts(one, [wanted])
        options = self.quotas.options if self.classifier.method_.offers_options else 1
        for n_recourses in range(1, options + 1):
            n, sizes = 1, {self.quotas.batch}
            while n < self.quotas.batch:
                sizes.add(n)
                n *= 4
            for size in sorted(sizes):
                people = table_of([person] * size, self.schema, where="warm")
                plan = self.classifier.recourse(people, target=has, n_recourses=n_recourses, deadline=600)
                self.answers(plan)
                if isinstance(self.classifier.method_, Holding):  # guides are asked about what was found
                    for hold in (AS_FITTED, None):
                        self.classifier.recourse(people, target=wanted, hold=hold, deadline=600)
        # Who has what they want is not searched for; so one person in earnest, and all that follows an option.
        self.answers(self.classifier.recourse(one, target=wanted, n_recourses=options, deadline=600))

    def _made_up(self) -> tuple[JsonObject, int]:
        """A person who does not exist and is refused, where one is found, and what is decided about them."""
        rng = np.random.default_rng(0)
        people = [{f.name: _typical(f) for f in self.schema}]
        people += [{f.name: _drawn(f, rng) for f in self.schema} for _ in range(255)]
        logits = self.predictor.logits(table_of(people, self.schema, where="warm"))
        favourable, decided = self.predictor.decision.favourable, self.predictor.decide_of(logits)
        # Who lacks least, so that a recourse is found, and the guides are asked about it.
        nearest = np.where(decided == favourable, -1.0, proba_of(logits)[:, favourable])
        who = int(nearest.argmax())
        return people[who], int(decided[who])

    def _new_batcher(self) -> Batcher:
        quotas = self.quotas
        return Batcher(
            self._run, rows=quotas.batch, queue=quotas.queue, wait=quotas.wait, on_batch=self._after_batch
        )

    def _after_batch(self, jobs: Sequence[Job]) -> None:
        self.metrics.count("holdtrue_batches_total")
        self.metrics.count("holdtrue_batch_requests_total", len(jobs))
        self.metrics.count("holdtrue_batch_people_total", sum(len(job.rows) for job in jobs))
        self._n_calls += 1
        if self._n_calls % LOOK == 0 and n_maps() > self.many_maps:
            # A program that cannot be mapped ends the process.
            self.metrics.count("holdtrue_cache_clears_total")
            jax.clear_caches()
            self.warm()

    def _describe(self) -> None:
        tell = self.metrics.describe
        tell("holdtrue_requests_total", "counter", "Requests by route, method and status.")
        tell("holdtrue_request_seconds", "histogram", "Seconds to answer a request, by route.")
        tell("holdtrue_refused_total", "counter", "Requests answered 429, by reason.")
        tell("holdtrue_batches_total", "counter", "Compiled calls that requests shared.")
        tell("holdtrue_batch_requests_total", "counter", "Requests answered by them.")
        tell("holdtrue_batch_people_total", "counter", "People answered by them.")
        tell("holdtrue_promises_total", "counter", "Promises issued by this process.")
        tell("holdtrue_cache_clears_total", "counter", "How often compiled programs were dropped to free maps.")
        tell(
            "holdtrue_waiting_people", "gauge", "People whose turn has not come.", lambda: self._batcher.n_waiting
        )
        tell("holdtrue_memory_maps", "gauge", "Memory maps of the process.", n_maps)

    # ---- questions ------------------------------------------------------------------------------------

    def table(self, rows: Sequence[Mapping[str, Cell]]) -> Table:
        """People as a table that the model can be asked about, or an error that says why not."""
        table = self.schema.check(table_of(rows, self.schema, where="people"), where="people")
        with np.errstate(over="ignore", invalid="ignore"):
            x = self.predictor.encoder.encode(table)
            far = ~(np.abs(x) <= FAR)
        if far.any():
            row, column = np.argwhere(far)[0].tolist()
            name = self.predictor.encoder.layout.column_names(self.schema)[column]
            raise DataError(
                f"people: {name!r} of person {row} is too far from anything that the model has learned from; got "
                f"a number beyond {FAR:g} times its range. Check the unit."
            )
        return table

    def ask(
        self,
        kind: str,
        rows: Sequence[Mapping[str, Cell]],
        *,
        target: object = None,
        restrictions: Sequence[Any] | None = None,
        n_recourses: int = 1,
        hold: Hold = AS_FITTED,
        deadline: float | None = None,
        keep: bool = False,
    ) -> list[Job]:
        """Check a request and queue it, in pieces of the size of a call; their futures have the answers."""
        classes = self.predictor.classes.tolist()
        target = plain(self.predictor.favourable) if target is None else target
        if not any(target == label and type(target) is type(label) for label in classes):
            raise DataError(f"recourse: `target` is not a class; got {target!r}. Classes are {classes!r}.")
        self._asked(hold)
        size = self.quotas.batch
        if len(rows) > size:  # a fault is then told by its place in the whole request
            self.table(rows)
        individual = normalise_restrictions(restrictions, self.schema, len(rows))
        until = time.monotonic() + (self.quotas.deadline if deadline is None else deadline)
        jobs = []
        # A larger call would have to be compiled first, and those who came later would wait for all of it.
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            own = individual.take(range(start, start + len(part)))
            jobs.append(Job(kind, part, [target] * len(part), own, n_recourses, until, keep, hold))
        self._batcher.submit(jobs)
        return jobs

    def _run(self, jobs: Sequence[Job]) -> list[Json]:
        """Answer jobs of one kind by one call; those that cannot be used get their error, and cost nobody else."""
        table, errors = self._checked(jobs)
        answers = iter(
            self._answered(table, [job for job in jobs if job not in errors]) if table is not None else []
        )
        return [errors[job] if job in errors else next(answers) for job in jobs]

    def _checked(self, jobs: Sequence[Job]) -> tuple[Table | None, dict[Job, Exception]]:
        """The people of all jobs that are fit to be asked about, and what is wrong with the others."""
        errors: dict[Job, Exception] = {}
        try:
            return self.table([row for job in jobs for row in job.rows]), errors
        except DataError:
            for job in jobs:
                try:
                    self.table(job.rows)
                except DataError as error:
                    errors[job] = error
        rows = [row for job in jobs if job not in errors for row in job.rows]
        return (self.table(rows) if rows else None), errors

    def _answered(self, table: Table, jobs: Sequence[Job]) -> list[Json]:
        """Decisions, or what is told of a plan (and the plan)."""
        starts = np.cumsum([0, *(len(job.rows) for job in jobs)]).tolist()[:-1]
        if jobs[0].kind == "predict":
            told = self.decisions(table)
            return [told[start : start + len(job.rows)] for start, job in zip(starts, jobs, strict=True)]
        plan = self.classifier.recourse(
            table,
            target=np.array([label for job in jobs for label in job.target], self.predictor.classes.dtype),
            restrictions=Restrictions.join((job.restrictions, len(job.rows)) for job in jobs),
            deadline=max(job.until for job in jobs) - time.monotonic(),
            n_recourses=jobs[0].n_recourses,
            hold=jobs[0].hold,
        )
        told = self.answers(plan)
        out = []
        for start, job in zip(starts, jobs, strict=True):
            end = start + len(job.rows)
            mine = (plan.person >= start) & (plan.person < end)
            part = replace(plan.take(mine), person=plan.person[mine] - start) if job.keep else None
            out.append((told[start:end], part))
        return out

    def decisions(self, table: Table) -> list[JsonObject]:
        """Decision and probabilities of every person."""
        predictor = self.predictor
        logits = predictor.logits(table)
        labels = predictor.classes[predictor.decide_of(logits)].tolist()
        classes = [str(label) for label in predictor.classes.tolist()]
        return [
            {"decision": label, "probabilities": dict(zip(classes, row, strict=True))}
            for label, row in zip(labels, proba_of(logits).tolist(), strict=True)
        ]

    def answers(self, plan: RecourseFrame) -> list[JsonObject]:
        """What is told of a plan: for every person a status, and their options in order."""
        words, efforts, asked, out = plan.changes(), plan.effort(), plan.asked(), []
        factuals, recourses = (rows_of(t, self.schema) for t in (plan.factual, plan.recourse))
        survival, why = stated_survival(plan, self._life(plan)), self._reasons(plan)
        for i, (person, status, found) in enumerate(
            zip(plan.person.tolist(), plan.status, plan.found, strict=True)
        ):
            if person == len(out):
                out.append(unreached() | {
                    "status": Status(status).name,
                    "message": Status(status).message,
                    "probability": _number(plan.before[i]),
                    "reasons": None if why is None else [_told_reason(reason) for reason in why.of(i)],
                })  # fmt: skip
            if found:
                for told, reason in zip(
                    out[person]["reasons"] or [], [] if why is None else why.of(i), strict=True
                ):
                    if reason.in_recourse:
                        told["changed_by"].append(len(out[person]["options"]))
                factual, recourse = factuals[i], recourses[i]
                out[person]["options"].append({
                    "recourse": recourse,
                    "changed": [name for name in factual if factual[name] != recourse[name]],
                    "changes": words[i],
                    "effort": efforts[i],
                    "asked": _number(asked[i]),
                    "cost": _number(plan.cost[i]),
                    "probability": _number(plan.after[i]),
                    "survival": survival[i],
                })  # fmt: skip
        return out

    @property
    def n_judges(self) -> int:
        """Retrained models by which every recourse is told how sure it is to hold."""
        if self.retrained is not None:
            return len(self.retrained)
        level = self.level()
        return 0 if level is None else level["judges"]

    def _reasons(self, plan: RecourseFrame) -> Reasons | None:
        """Why the people of a plan were refused, where the service gives reasons."""
        if self.reasoner is None:
            return None
        return plan.with_recourse(self.reasoner.of(plan.factual, plan.target))

    def _life(self, plan: RecourseFrame) -> Any:
        """How long what was found will hold, where there are models to ask."""
        return None if self.retrained is None else shelf_life(plan, against=self.retrained)

    def level(self, hold: Hold = AS_FITTED) -> JsonObject | None:
        """What is wanted of how long recourse holds, and what that rests on; None where nothing is known."""
        method = self._asked(hold)
        return told_level(method) if isinstance(method, Holding) else None

    def _asked(self, hold: Hold) -> AbstractMethod:
        """The classifier's method at a level, or an error where it does not know that."""
        own = self.classifier.method_
        return own if isinstance(hold, str) else held_method(own, own, hold, own=True)

    # ---- promises -------------------------------------------------------------------------------------

    def promise(
        self,
        plan: RecourseFrame,
        subject: str,
        *,
        option: int = 0,
        days: float | None = None,
        id: str | None = None,
        reason: str | None = None,
        draft: bool = False,
    ) -> Record | None:
        """Make the record of one of a person's options; None where they have no such option.

        One that is known not to hold needs a reason, unless it is a draft to be looked at.
        """
        made = drafts(
            plan, [subject] * len(plan), valid_for=days, model_version=self.model_version, life=self._life(plan),
            ids=[id if i == option else None for i in plan.option.tolist()], reason=reason,
            reasons=self._reasons(plan),
        )[option : option + 1]  # fmt: skip
        if not draft:
            check_holding(made)
        return made[0] if made else None

    # ---- the gate -------------------------------------------------------------------------------------

    @property
    def gate_runs(self) -> bool:
        """Whether the gate is at work now."""
        return self._gate.locked()

    def last_gate(self) -> JsonObject | None:
        """The gate's last report; None where there is none."""
        return self.gates.last()

    def run_gate(self, **how: Any) -> JsonObject | None:
        """Ask this model about every live promise, and keep the report; None where the gate is at work already."""
        if self.ledger is None:
            raise DataError("gate: needs a ledger; got none. Start the service with --ledger PLACE.")
        if not self._gate.acquire(blocking=False):
            return None
        try:
            return self.gates.keep(gate(self.classifier, self.ledger, **how))
        finally:
            self._gate.release()


def told_level(method: Holding) -> JsonObject:
    """A level as it is told."""
    level = method.level_
    names = ("hold", "term", "kept", "lower", "confidence", "reached", "people", "periods", "note")
    known = {name: plain(getattr(level, name)) for name in names}
    return known | {"vary": method.judges_.vary, "judges": len(method.judges_), "guides": len(method.guides_)}


def unreached() -> JsonObject:
    """What is told about a person whose turn did not come in time."""
    status = Status.NOT_REACHED
    return {"status": status.name, "message": status.message, "probability": None, "reasons": None, "options": []}


def _told_reason(reason: Reason) -> JsonObject:
    own = {"code": reason.code, "text": reason.text, "agreement": reason.agreement, "stands": reason.stands}
    return own | {"changed_by": []}


def _unasked(retrained: AbstractRetrained, classifier: AbstractClassifier) -> AbstractRetrained:
    """The models that the search does not ask itself: whoever it pleases says nothing about the next one."""
    consulted = set(classifier.method_.consulted())
    rest = retrained.take(np.array([digest not in consulted for digest in retrained.digests()]))
    if len(rest) == 0:
        raise DataError(
            "serve: the search asks all of the retrained models itself. Train others, of another seed."
        )
    return rest


def _typical(feature: Feature) -> Cell:
    """A value that the model knows."""
    if feature.has_levels:
        return next(iter(feature.levels or ()))
    low, high = feature.bounds or (0.0, 0.0)
    middle = (low + high) / 2
    return float(math.floor(middle)) if feature.kind == "integer" else middle


def _drawn(feature: Feature, rng: np.random.Generator) -> Cell:
    """Any value that the model knows."""
    if feature.has_levels:
        levels = feature.levels or ()
        return levels[int(rng.integers(len(levels)))]
    value = float(rng.uniform(*(feature.bounds or (0.0, 0.0))))
    return float(math.floor(value)) if feature.kind == "integer" else value


def _number(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None
