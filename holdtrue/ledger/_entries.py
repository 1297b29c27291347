"""What is read from a ledger: promises, events, and the outcome of writing and verifying."""

from dataclasses import astuple, dataclass
from datetime import datetime
from functools import cached_property

from holdtrue._types import JsonObject
from holdtrue.ledger._record import Record


@dataclass(frozen=True)
class Issued:
    """What became of the records that were given.

    Attributes
    ----------
    new : int
        Written now.
    repeated : int
        There already, by their id, and not written again.
    forgotten : int
        Not written again, since their person was forgotten.
    refused : int
        Not written, since the ledger's policy does not allow them.
    """

    new: int = 0
    repeated: int = 0
    forgotten: int = 0
    refused: int = 0

    def __add__(self, other: "Issued") -> "Issued":
        return Issued(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class Promise:
    """One promise and where it stands.

    Attributes
    ----------
    id : str
        The record's.
    seq : int
        Number of the event that issued it.
    state : {"live", "superseded", "fulfilled", "expired", "forgotten"}
    valid_until : datetime or None
    text : str or None
        The record as JSON; None where the person was forgotten.
    """

    id: str
    seq: int
    state: str
    valid_until: datetime | None
    text: str | None

    @cached_property
    def record(self) -> Record | None:
        """What was promised, read when first asked for; None where the person was forgotten."""
        return None if self.text is None else Record.from_json(self.text)


@dataclass(frozen=True)
class Event:
    """One entry of the chain.

    Attributes
    ----------
    seq : int
    kind : {"issue", "supersede", "fulfil", "expire", "forget", "policy", "gate"}
    promise : str or None
        Which promise; None for `forget`, which may concern several. For `policy` and `gate`, which concern none,
        the kind again.
    at : datetime
    public : dict
        What is kept for good: hashes, times and counts.
    body : dict or None
        What it says about the person; None where that is nothing, or was erased.
    hash : str
    """

    seq: int
    kind: str
    promise: str | None
    at: datetime
    public: JsonObject
    body: JsonObject | None
    hash: str


@dataclass(frozen=True)
class Verification:
    """Whether the chain holds.

    Attributes
    ----------
    ok : bool
    n_events : int
        Events found to be whole, up to the first break.
    hash : str
        Of the last of them.
    seq : int or None
        The first event that is broken, where one is.
    reason : str or None
        What is wrong with it.
    """

    ok: bool
    n_events: int
    hash: str
    seq: int | None = None
    reason: str | None = None

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if self.ok:
            return f"The chain holds: {self.n_events:,} events, the last with hash {self.hash}."
        return f"The chain is broken at event {self.seq}: {self.reason}."
