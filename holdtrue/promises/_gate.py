"""The gate: a new model is asked about every promise that binds, before it is let loose on people."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from holdtrue._types import JsonObject
from holdtrue.batch import Predictor, proba_of
from holdtrue.errors import CapabilityError, DataError
from holdtrue.ledger import Ledger, Promise, to_text
from holdtrue.methods import AbstractMethod
from holdtrue.promises._alternatives import Search
from holdtrue.promises._cases import Case, CaseFile
from holdtrue.promises._groups import Grouping
from holdtrue.promises._keep_all import Lowest, honour, labelled_rows
from holdtrue.promises._read import columns_of, read
from holdtrue.promises._report import GateReport, Said, rate, summarise
from holdtrue.schema import hinted

T = TypeVar("T")
BATCH = 4096
NAMED = 1000  # broken promises that the report itself names; all of them are in the file of cases


@hinted()
def gate(
    model: object,
    ledger: Ledger | str | Path,
    *,
    max_broken: float = 0.0,
    group: str | Mapping[str, object] | None = None,
    bins: Sequence[float] | None = None,
    labelled: tuple[object, object] | None = None,
    method: AbstractMethod | None = None,
    alternatives: int | None = None,
    further: bool = False,
    cases: str | Path | None = None,
    confidence: float = 0.95,
    at: datetime | None = None,
    batch_size: int = BATCH,
    on_promises: Callable[[int], None] | None = None,
    write_down: bool = False,
) -> GateReport:
    """Ask a new model about every live promise of a ledger, and say what would break.

    A promise is kept where the model decides its wanted class about the row that was promised. One that the model
    cannot be asked about (it reads a column that the promise says nothing about, a level is unknown to it) counts
    as broken. The ledger is read a batch at a time, up to the event that was its last when the gate began, and is
    written to only where that is asked for.

    Parameters
    ----------
    model : RecourseClassifier or Predictor
        The new model.
    ledger : Ledger, path or URL
    max_broken : float, default=0
        Share of the live promises that may break; with more, the report's `ok` is False.
    group : str or mapping, optional
        A column of the records: how many break is also said for each of its values. Or, for what the model does
        not read, a mapping from people's keys to their group, such as a pandas Series.
    bins : sequence of float, optional
        Where the values of a number column are cut into groups.
    labelled : (dataframe, labels), optional
        Rows whose true class is known, which the new model has not learned from: what another threshold would cost
        in accuracy is measured on them.
    method : AbstractMethod, optional
        Fitted to the new model; the model's own when omitted. Searches what people could do instead.
    alternatives : int, optional
        For how many broken promises, oldest first, to search that; for all when omitted, for none with 0.
    further : bool, default=False
        Also search what people who did as they were told already could do on top of it.
    cases : path, optional
        Where to write every broken promise, a line of JSON each, as they are met. Holds what people were told.
    confidence : float, default=0.95
        Of the intervals.
    at : datetime, optional
        Promises that bind at this time; now, when omitted.
    batch_size : int
        Promises held at once.
    on_promises : callable, optional
        Told how many more were asked about, for a progress bar.
    write_down : bool, default=False
        Append an event to the ledger that says what the gate found, in counts: which model, how many promises bind
        and break, whether that is within the limit. Evidence tells these as the ledger's gate history.

    Returns
    -------
    GateReport
    """
    if not isinstance(max_broken, (int, float)) or not 0 <= max_broken <= 1:
        raise DataError(f"gate: `max_broken` must be a share from 0 to 1; got {max_broken!r}. 1% is 0.01.")
    predictor = getattr(model, "predictor_", model)
    if not isinstance(predictor, Predictor):
        raise CapabilityError(
            f"gate: `model` must be a fitted RecourseClassifier; got {type(model).__name__}. Wrap any other with "
            "holdtrue.wrap."
        )
    own = getattr(model, "method_", None) if method is None else method
    search = Search(predictor, own, alternatives, further) if own is not None and alternatives != 0 else None
    grouping = Grouping(group, bins)
    known = None if labelled is None else labelled_rows(predictor, labelled)
    moment = datetime.now(UTC) if at is None else at
    opening = nullcontext(ledger) if isinstance(ledger, Ledger) else Ledger(ledger)
    began = time.monotonic()
    with opening as book, _writing(cases) as file, ThreadPoolExecutor(2) as pool:
        end = book.head()
        run = _Run(predictor, grouping, search, file, pool)
        for batch in _ahead(book.live(moment, batch_size=batch_size, up_to=end.seq), pool):
            run.take(batch)
            if on_promises is not None:
                on_promises(len(batch))
        run.finish()
        n, broken = run.n_live, run.n_broken
        ok = n == 0 or broken / n <= max_broken  # a product would make 29 of 100 more than 0.29
        if write_down:
            book.note_gate(
                {
                    "model": predictor.digest(), "live": n, "broken": broken, "unreadable": run.n_unreadable,
                    "max_broken": float(max_broken), "ok": ok, "at": to_text(moment), "up_to": end.seq,
                }
            )  # fmt: skip
    share = rate(broken, n, confidence)
    return GateReport(
        ok=ok,
        max_broken=float(max_broken),
        n_live=n,
        n_broken=broken,
        n_unreadable=run.n_unreadable,
        reasons=dict(sorted(run.reasons.items(), key=lambda pair: -pair[1])),
        share=share.share,
        lower=share.lower,
        upper=share.upper,
        confidence=confidence,
        expected=run.said.expected(),
        shortfall=summarise(run.shortfalls()),
        group=grouping.name,
        groups=run.grouping.rates(confidence),
        instead=None if search is None else search.instead(),
        further=None if search is None else search.further(),
        honour=honour(predictor, run.lowest, run.risk, broken, run.n_unreadable, known, confidence),
        cases=run.named,
        threshold=predictor.threshold,
        model=predictor.digest(),
        ledger={"ledger": end.ledger, "seq": end.seq, "hash": end.hash},
        at=moment,
        seconds=time.monotonic() - began,
    )


def _writing(place: str | Path | None) -> AbstractContextManager[Any]:
    return nullcontext() if place is None else CaseFile(place)


@dataclass
class _Run:
    """What has been seen of a ledger so far: counts, and a few numbers per broken promise."""

    predictor: Predictor
    grouping: Grouping
    search: Search | None
    file: CaseFile | None
    pool: ThreadPoolExecutor
    n_live: int = 0
    n_broken: int = 0
    n_unreadable: int = 0
    risk: float = 0.0
    reasons: dict[str, int] = field(default_factory=dict)
    below: list[np.ndarray] = field(default_factory=list)
    said: Said = field(default_factory=Said)
    named: list[JsonObject] = field(default_factory=list)
    waiting: list[Case] = field(default_factory=list)
    working: "Future[None] | None" = None

    def __post_init__(self) -> None:
        self.lowest = Lowest(self.predictor.decision)

    def take(self, batch: Sequence[Promise]) -> None:
        """Ask about a batch."""
        predictor = self.predictor
        if not self.n_live:
            self.grouping.check([*columns_of(batch[0].text), *predictor.encoder.schema.names])
        keys = self.grouping.people is not None
        asked = read(batch, predictor.encoder.schema, predictor.classes, self.grouping.column, keys=keys)
        broken = np.zeros(len(batch), bool)
        broken[list(asked.reasons)] = True
        chance, below = np.full(len(batch), np.nan), np.full(len(batch), np.nan)
        if len(asked.rows):
            logits = predictor.logits(asked.table)
            fails = predictor.decide_of(logits) != asked.target
            self.lowest.see(logits, asked.target)
            chance[asked.rows], below[asked.rows] = _below(predictor, logits, asked.target)
            broken[asked.rows] = fails
        labels = self.grouping.count(asked.group, broken)
        self.said.see(asked.stated, broken)
        self.n_live += len(batch)
        self.n_broken += int(broken.sum())
        self.n_unreadable += len(asked.reasons)
        for reason in asked.reasons.values():
            self._note(reason)
        self.below.append(below[broken & ~np.isnan(below)].astype(np.float32))
        self.risk += float(np.nansum(1.0 - chance[broken]))
        for i in np.flatnonzero(broken).tolist():
            label = None if labels is None else labels[i]
            self.waiting.append(Case(batch[i], label, _none(chance[i]), _none(below[i]), asked.reasons.get(i)))
        if len(self.waiting) >= 4096:  # searches are quicker for many at once
            self.flush()

    def flush(self) -> None:
        """Search for those who wait, while the next are read and asked about."""
        if self.working is not None:
            self.working.result()  # one at a time: cases are written in their order
        cases, self.waiting = self.waiting, []
        self.working = self.pool.submit(self._search, cases)

    def _search(self, cases: list[Case]) -> None:
        if self.search is not None and cases:
            self.search.run(cases)
        for case in cases:
            if len(self.named) < NAMED:
                self.named.append(case.public())
            if self.file is not None:
                self.file.write(case)

    def finish(self) -> None:
        """No more batches."""
        self.flush()
        if self.working is not None:
            self.working.result()

    def shortfalls(self) -> np.ndarray:
        """How far below the threshold the broken ones are."""
        return np.concatenate(self.below) if self.below else np.zeros(0, np.float32)

    def _note(self, reason: str) -> None:
        # What is wrong with a value names the value, and there may be as many as promises.
        known = reason if reason in self.reasons or len(self.reasons) < 50 else "other reasons"
        self.reasons[known] = self.reasons.get(known, 0) + 1


def _ahead(batches: Iterator[T], pool: ThreadPoolExecutor) -> Iterator[T]:
    """The same batches; each is read while the one before it is worked on."""
    coming = pool.submit(next, batches, None)
    while (batch := coming.result()) is not None:
        coming = pool.submit(next, batches, None)
        yield batch


def _below(predictor: Predictor, logits: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probability of the wanted class, and how much it lacks: positive where the promise is broken."""
    p = proba_of(logits)
    rows = np.arange(len(p))
    chance = p[rows, target]
    threshold = predictor.threshold
    if threshold is not None:
        needed = np.where(target == predictor.decision.favourable, threshold, 1.0 - threshold)
    else:
        others = p.copy()
        others[rows, target] = -np.inf
        needed = others.max(axis=1)
    return chance, np.maximum(needed - chance, 0.0)


def _none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
