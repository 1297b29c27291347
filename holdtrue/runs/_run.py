"""A table of any length in, everyone's recourse out: `run`."""

import functools
import operator
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from holdtrue.attribution import CodeTable
from holdtrue.batch import AbstractExecutor, EmbeddedExecutor
from holdtrue.classifier import AbstractClassifier, load
from holdtrue.errors import DataError, HoldtrueError, Interrupted
from holdtrue.hold import AS_FITTED, Hold, Holding, held_method
from holdtrue.methods import UNKNOWN, AbstractMethod, Tally
from holdtrue.methods import method as method_by_name
from holdtrue.models import fresh
from holdtrue.runs._checks import check_numbers, check_output, check_promises
from holdtrue.runs._identity import Identity, certificate_of, hold_of, method_of, model_digest
from holdtrue.runs._issue import Terms
from holdtrue.runs._parts import Parts, finished, tidied
from holdtrue.runs._read import CHUNK, Chunk, Source
from holdtrue.runs._reasons import Grounds
from holdtrue.runs._work import WITH_RECOURSE, Work
from holdtrue.runs._write import Sink, is_stream, open_stream
from holdtrue.schema import TableLike, hinted, normalise_restrictions, plain

if TYPE_CHECKING:  # brings SQLAlchemy along, which only those who keep promises need
    from holdtrue.ledger import Ledger

WORDS = {
    "FOUND": "have a recourse",
    "OPTIMAL": "have the cheapest there is",
    "ALREADY_FAVOURABLE": "already have a yes",
    "INFEASIBLE": "can do nothing",
    "NOT_FOUND": "none found",
    "DIVERGED": "search diverged",
    "NOT_REACHED": "not reached before the deadline",
    "INVALID_INPUT": "could not be read",
}


@dataclass(frozen=True)
class Run:
    """What came of a run; printed, a sentence.

    Attributes
    ----------
    rows : int
        People in the table.
    written : int
        Rows of the output: fewer where only the refused are written, more where people have several options.
    counts : dict
        Status to how many people ended in it.
    mean_cost : float or None
        Of the first option of everyone with a recourse.
    promises : int or None
        Promises in the ledger that are this run's; None where none were to be made.
    repeated : int
        How many of them were in the ledger before: made by the same run, before it was interrupted or repeated.
    seconds : float
    method : str
    out : str
    holding : Tally or None
        How many of the people's first options hold, how sure they are, and what that costs; None where nothing is
        known about how long they hold.
    unpromised : int
        Recourses that were not promised, since they are known not to hold and no reason was given.
    beyond : tuple of int
        Rows that `restrictions` names and the table does not have.
    refused : int
        Recourses that the ledger's policy does not allow to be promised.
    """

    rows: int
    written: int
    counts: dict[str, int]
    mean_cost: float | None
    promises: int | None
    seconds: float
    method: str
    out: str
    repeated: int = 0
    holding: Tally | None = None
    unpromised: int = 0
    beyond: tuple[int, ...] = ()
    refused: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain types for JSON; without what does not apply."""
        parts = asdict(self) | {"holding": None if self.holding is None else self.holding.to_dict()}
        applies = {
            "promises": self.promises is not None, "repeated": self.repeated > 0, "beyond": False,
            "unpromised": self.unpromised > 0, "refused": self.refused > 0,
        }  # fmt: skip
        return {name: value for name, value in parts.items() if applies.get(name, True)}

    def __str__(self) -> str:
        parts = [f"{count:,} {WORDS.get(name, name)}" for name, count in self.counts.items()]
        cost = "" if self.mean_cost is None else f" Mean cost {self.mean_cost:.3g}."
        place = "" if self.out == "-" else f" Written to {self.out}."
        if self.promises is not None:
            place += f" {self.promises:,} promises issued"
            place += f", {self.repeated:,} of which were in the ledger already." if self.repeated else "."
        if self.unpromised:
            place += f" {self.unpromised:,} known not to hold were not promised; that takes a `reason`."
        if self.refused:
            place += f" {self.refused:,} were not promised, since the ledger's policy does not allow them."
        found = any(self.counts.get(name) for name in WITH_RECOURSE)
        holding = "" if not found else f" {UNKNOWN if self.holding is None else self.holding}".rstrip(".") + "."
        return (
            f"{self.rows:,} people by {self.method}: {', '.join(parts)}.{cost}{holding}{place} "
            f"({self.seconds:.1f} s)"
        )


@hinted()
def run(
    clf: AbstractClassifier | str | Path,
    table: str | Path | Source,
    out: str | Path = "-",
    *,
    format: Literal["csv", "parquet", "jsonl"] | None = None,
    method: str | AbstractMethod | None = None,
    hold: Hold = AS_FITTED,
    reference: TableLike | None = None,
    target: object = None,
    deadline: float | None = None,
    only_refused: bool = False,
    restrictions: Mapping[int, object] | Sequence[object] | None = None,
    bad_rows: Literal["stop", "report"] = "stop",
    chunk_rows: int = CHUNK,
    n_recourses: int = 1,
    ledger: "str | Path | Ledger | None" = None,
    codes: CodeTable | str | Path | None = None,
    subject: str | None = None,
    valid_for: float | None = None,
    model_version: str | None = None,
    reason: str | None = None,
    resume: bool = False,
    executor: AbstractExecutor | None = None,
    on_rows: Callable[[int], None] | None = None,
) -> Run:
    """Find recourse for every person of a table of any length, and write it.

    The table is read and written in chunks. Where `out` is a file, finished chunks are kept in ``OUT.parts`` until
    all are there, and an interrupted run goes on with ``resume=True``. The output has every column of the table,
    those that the model reads as the person could make them, and how each was found (``holdtrue_status``,
    ``holdtrue_changes`` and others).

    Parameters
    ----------
    clf : RecourseClassifier, Adopted or path
        A fitted classifier, or the model file of one.
    table : path or Source
        A CSV or Parquet file, ``-`` for standard input, or ``dataset:NAME``.
    out : path, default="-"
        A file, a pipe, or ``-`` for standard output.
    format : {"csv", "parquet", "jsonl"}, optional
        By default what `out` ends in.
    method : str or AbstractMethod, optional
        Another method than the classifier's own. It searches for the model alone unless `hold` is given, and is
        judged all the same.
    hold : float, Level or None, optional
        Another chance of holding than the classifier's own; None: the cheapest recourse, judged where there are
        judges.
    reference : dataframe, optional
        Rows that the model knows. A `method` that is not fitted learns from them, the classifier's own too where
        it needs rows. With a `ledger` promises keep the reasons of the refusal (see `holdtrue.reasons`), for which
        people are compared with those of these rows that are at the cut-off.
    target : label, optional
        The wanted class; the favourable one when omitted.
    deadline : float, optional
        Seconds for the whole table. Who is not reached by then has the status NOT_REACHED.
    only_refused : bool, default=False
        Leave out of the output who already has a yes.
    restrictions : mapping or sequence, optional
        What single people may not change, by their row: ``{17: {"income": "fixed"}}``.
    bad_rows : {"stop", "report"}, default="stop"
        Rows that the schema does not allow end the run, or get the status INVALID_INPUT.
    chunk_rows : int, default=16384
        Rows held at once; fewer need less memory.
    n_recourses : int, default=1
        Options per person that differ from one another, a row each.
    ledger : path, URL or Ledger, optional
        Issue what is found as promises here; needs `subject`, and a file to write to. The same run, gone on with
        or repeated, promises nothing twice.
    codes : CodeTable or path, optional
        Codes and sentences for the reasons that promises keep; needs `ledger` and `reference`.
    subject : str, optional
        The column with your key for each person.
    valid_for : float, optional
        How many days the promises hold; without an end when omitted.
    model_version : str, optional
        Your own name for the model, in the promises.
    reason : str, optional
        Why recourse that is known not to hold is promised all the same; the promises keep it. Without one it is
        left out, and counted.
    resume : bool, default=False
        Go on with an interrupted run of the same model, table and options, where there is one.
    executor : AbstractExecutor, optional
        Where chunks are searched; a `RayExecutor` hands them to a cluster. In this process when omitted.
    on_rows : callable, optional
        Told how many more people are done.

    Raises
    ------
    Interrupted
        On Ctrl-C; its text says what is kept.

    Examples
    --------
    >>> import os, tempfile
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> quick = ht.StandardTraining(n_epochs=5)
    >>> clf = ht.RecourseClassifier(
    ...     schema=bank.schema, model=ht.Linear(), regime=quick, threshold=0.8, random_state=0
    ... )
    >>> out = os.path.join(tempfile.mkdtemp(), "answers.parquet")
    >>> done = ht.run(clf.fit(bank.X, bank.y), "dataset:loanapp", out)
    >>> done.rows, done.written
    (1971, 1971)
    """
    began = time.monotonic()
    out = str(out)
    if bad_rows not in ("stop", "report"):
        raise DataError(f"run: `bad_rows` must be 'stop' or 'report'; got {bad_rows!r}.")
    check_numbers(deadline=deadline, chunk_rows=chunk_rows, n_recourses=n_recourses, valid_for=valid_for)
    written = check_output(out, format, table, resume, executor)
    check_promises(
        ledger, out, reference, subject=subject, valid_for=valid_for, model_version=model_version, reason=reason,
        codes=codes,
    )  # fmt: skip
    with ExitStack() as stack:
        source = table if isinstance(table, Source) else Source(table)
        clf = clf if isinstance(clf, AbstractClassifier) else load(clf)
        chosen, hold = _held(clf, _fitted(clf, method, reference), hold)
        limits = _limits(restrictions, clf, source)
        if target is not None and target not in clf.classes_.tolist():
            raise DataError(
                f"run: `target`: is not a class; got {target!r}. Classes are {clf.classes_.tolist()!r}."
            )
        work = Work(
            classifier=clf, method=chosen, target=target, restrictions=limits,
            until=None if deadline is None else began + deadline, report_bad_rows=bad_rows == "report",
            only_refused=only_refused, n_recourses=n_recourses, hold=hold, chunk_rows=chunk_rows,
        )  # fmt: skip
        job = _Job(work, source, out, written, on_rows)
        if is_stream(out):
            job.to_stream()
        else:
            opened = None if ledger is None else _open(ledger, stack)
            options = {
                "method": method_of(chosen), "target": plain(target), "deadline": deadline,
                "only_refused": only_refused, "restrictions": limits, "format": written, "chunk_rows": chunk_rows,
                "n_recourses": n_recourses, **({"hold": hold_of(hold)} if isinstance(chosen, Holding) else {}),
            }  # fmt: skip
            grounds = None if opened is None or reference is None else Grounds.of(clf, reference, codes)
            terms = None if opened is None else {
                "ledger": opened.head().ledger, "subject": subject, "valid_for": valid_for,
                "model_version": model_version, "certificate": certificate_of(clf.certificate_),
                **({} if reason is None else {"reason": reason}),
                **({} if grounds is None else {"reasons": grounds.identity(clf)}),
            }  # fmt: skip
            identity = Identity(model_digest(clf), source.identity(), options, terms)
            if opened is not None:
                work.terms = Terms(str(subject), identity.promised, valid_for, model_version, reason, grounds)
            job.to_file(identity, resume, EmbeddedExecutor() if executor is None else executor, opened)
    return job.summary(time.monotonic() - began)


def _fitted(clf: AbstractClassifier, method: str | AbstractMethod | None, reference: Any) -> AbstractMethod:
    """The method that was asked for, fitted to the classifier."""
    own = clf.method_
    base = own.unfitted_base() if isinstance(own, Holding) else own
    if method is None and (reference is None or not type(base).needs_rows):
        return own
    if method is None and isinstance(own, Holding):
        return own.around(own.unfitted_base().fit(clf, reference))
    method = own if method is None else method
    chosen: Any = method_by_name(method)() if isinstance(method, str) else method
    if hasattr(chosen, "predictor_"):
        if chosen.predictor_ is clf.predictor_:
            return chosen
        if reference is None:
            raise DataError(
                f"run: `method`: was fitted to another classifier; got {type(chosen).__name__}. Call fit(clf, X) "
                "with this one."
            )
    if type(chosen).needs_rows and reference is None:
        raise DataError(
            f"run: `method`: {type(chosen).__name__} learns from training rows; got no `reference`. Give the "
            "table that the model learned from."
        )
    return fresh(chosen).fit(clf, reference)


def _held(clf: AbstractClassifier, chosen: AbstractMethod, hold: Hold) -> tuple[AbstractMethod, Hold]:
    """The method with the classifier's guides, and the level it is asked at; whatever is asked can be answered."""
    own = clf.method_
    if isinstance(own, Holding) and not isinstance(chosen, Holding):
        chosen, hold = own.around(chosen), None if isinstance(hold, str) else hold
    held_method(chosen, own, hold, own=chosen is own)
    return chosen, hold


def _limits(restrictions: Any, clf: AbstractClassifier, source: Source) -> dict[int, Any]:
    """Restrictions by row, held against the schema before any work is done."""
    if not restrictions:
        return {}
    if not isinstance(restrictions, Mapping):
        restrictions = {row: limit for row, limit in enumerate(restrictions) if limit}
    limits = dict(restrictions)
    if limits:
        normalise_restrictions(limits, clf.schema_, max(limits) + 1 if source.n_rows is None else source.n_rows)
    return limits


def _open(ledger: "str | Path | Ledger", stack: ExitStack) -> "Ledger":
    from holdtrue.ledger import Ledger

    return ledger if isinstance(ledger, Ledger) else stack.enter_context(Ledger(ledger))


@dataclass
class _Job:
    """The chunks of a run, on their way from the table to the output."""

    work: Work
    source: Source
    out: str
    format: str
    on_rows: Callable[[int], None] | None = None
    notes: dict[int, dict[str, Any]] = field(default_factory=dict)
    repeated: int = 0
    refused: int = 0
    _told: int = 0
    """People of the present chunk that somebody was told of."""

    def __post_init__(self) -> None:
        self.work.on_rows = None if self.on_rows is None else self._tell

    def _tell(self, more: int) -> None:
        if self.on_rows is not None and more:
            self._told += more
            self.on_rows(more)

    def _finish(self, number: int, note: dict[str, Any]) -> None:
        self.notes[number] = note
        self._tell(max(note["rows"] - self._told, 0))
        self._told = 0

    def to_stream(self) -> None:
        """Write answers as they come."""
        try:
            with open_stream(self.out) as stream:
                sink = Sink(stream, self.format)
                for number, chunk in enumerate(self.source.chunks(self.work.schema, self.work.chunk_rows)):
                    done = self.work.run(chunk)
                    sink.write(done.table)
                    self._finish(number, done.note)
                sink.finish()
        except KeyboardInterrupt as error:
            raise Interrupted(
                f"Interrupted. The answers of the first {_rows(self.notes.values()):,} rows were written."
            ) from error

    def to_file(
        self, identity: Identity, resume: bool, executor: AbstractExecutor, ledger: "Ledger | None"
    ) -> None:
        """Keep every finished chunk, issue its promises, and put the output in its place when all are there."""
        parts: Parts | None = None
        done_before = finished(Path(self.out), identity) if resume else None
        if done_before is not None:
            tidied(Path(self.out))
            for number, note in enumerate(done_before):
                self.repeated += note.get("promises", 0)
                self._finish(number, note)
            return

        def finish(number: int, note: dict[str, Any], parts: Parts) -> None:
            if ledger is not None:  # also those of a chunk that was finished before an interruption
                issued = parts.issue(number, ledger)
                self.repeated += issued.repeated
                self.refused += issued.refused
            self._finish(number, note)

        def unfinished() -> Iterator[tuple[int, Chunk]]:
            nonlocal parts
            for number, chunk in enumerate(self.source.chunks(self.work.schema, self.work.chunk_rows)):
                if parts is None:  # the table is there and has the right columns
                    parts = Parts(Path(self.out), self.format, identity, resume)
                note = parts.note(number)
                if note is None:
                    yield number, chunk
                else:
                    finish(number, note, parts)

        try:
            with closing(executor.map(self.work, unfinished())) as answers:  # type: ignore[type-var]
                for number, done in answers:
                    assert parts is not None  # made when the first chunk was read
                    note = done.note | ({} if ledger is None else {"promises": len(done.records)})
                    parts.keep(number, done.table, note, done.records)
                    finish(number, note, parts)
            if parts is not None:
                parts.join(len(self.notes))
        except KeyboardInterrupt as error:
            raise Interrupted(f"Interrupted. {self._kept(parts)}") from error
        except (HoldtrueError, OSError) as error:
            kind = type(error) if isinstance(error, HoldtrueError) else DataError
            raise kind(f"{error} {self._kept(parts) if self.notes else ''}".strip()) from error
        finally:
            if parts is not None:
                parts.close()

    def _kept(self, parts: Parts | None) -> str:
        if parts is None or not self.notes:
            return "Nothing was finished yet."
        how = "Run the same again with `resume=True` to go on."
        if self.source.name == "-":
            how = "Standard input cannot be resumed."
        return f"{_rows(self.notes.values()):,} rows are finished and kept in {str(parts.folder)!r}. {how}"

    def summary(self, seconds: float) -> Run:
        """Counts over all chunks."""
        notes = [self.notes[number] for number in sorted(self.notes)]
        counts: Counter[str] = Counter()
        for note in notes:
            counts.update(note["counts"])
        found = sum(counts.get(name, 0) for name in WITH_RECOURSE)
        promised = [note["promises"] for note in notes if "promises" in note]
        held = [Tally(**note["holding"]) for note in notes if "holding" in note]
        rows = _rows(notes)
        return Run(
            rows=rows,
            written=sum(note["written"] for note in notes),
            counts=dict(sorted(counts.items())),
            mean_cost=sum(note["cost"] for note in notes) / found if found else None,
            promises=sum(promised) - self.refused if promised else None,
            seconds=round(seconds, 2),
            method=_name(self.work.method),
            out=self.out,
            repeated=self.repeated,
            refused=self.refused,
            holding=functools.reduce(operator.add, held) if held else None,
            unpromised=sum(note.get("unpromised", 0) for note in notes),
            beyond=tuple(sorted(row for row in self.work.restrictions if row >= rows)),
        )


def _name(method: AbstractMethod) -> str:
    return (
        f"{type(method).__name__} about {method.base_name}"
        if isinstance(method, Holding)
        else type(method).__name__
    )


def _rows(notes: Iterable[Mapping[str, Any]] | Collection[Mapping[str, Any]]) -> int:
    return sum(note["rows"] for note in notes)
