"""The chain of hashes: each event's hash covers the one before it, and of a person only a commitment.

A commitment is the SHA-256 of 32 random bytes (the salt) and the text. While both are kept it proves that the text
is the one that was written. Once both are deleted, what remains is a number that fits any text equally well:
without the salt nobody can try candidates, and the chain still verifies.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from holdtrue.ledger._canonical import canonical, sha256

KINDS = ("issue", "supersede", "fulfil", "expire", "forget", "policy", "gate")
STATE_AFTER = {"issue": "live", "supersede": "superseded", "fulfil": "fulfilled", "expire": "expired"}
ABOUT_NONE = ("policy", "gate")
"""Kinds that concern no promise, and stand in the place of a promise's id: events of a kind are found by it."""
GATE = "gate"
STATES = ("live", "superseded", "fulfilled", "expired", "forgotten")
HASHED = ("seq", "kind", "promise", "at", "public", "commitment", "token")


@dataclass(frozen=True)
class Head:
    """The end of a chain: how many events, and the hash of the last. Note it elsewhere: it vouches for the rest.

    Attributes
    ----------
    ledger : str
        The ledger's own random name, on which the first event's hash stands.
    seq : int
    hash : str
    """

    ledger: str
    seq: int
    hash: str


def genesis(ledger: str) -> str:
    """The hash of an empty chain: from the ledger's own name, so that chains cannot be exchanged."""
    # Under the project's first name: a ledger that was begun then must verify for as long as it is kept.
    return sha256(f"holdfast-ledger:{ledger}")


def event_hash(previous: str, event: Mapping[str, object]) -> str:
    """Hash of an event after the event whose hash is `previous`."""
    return sha256(canonical({"previous": previous, **{name: event[name] for name in HASHED}}))


def new_salt() -> str:
    """32 random bytes in hexadecimal."""
    return secrets.token_hex(32)


def commitment(salt: str, subject: str, body: str) -> str:
    """What the chain keeps of a text about a person."""
    return sha256(canonical([salt, subject, body]))
