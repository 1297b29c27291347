"""Recourse that was promised to people: records, and the ledger that keeps them. No jax here."""

from holdtrue.ledger._anchor import Anchor, read_key
from holdtrue.ledger._canonical import LARGEST, canonical, parse, sha256
from holdtrue.ledger._chain import STATE_AFTER, Head, event_hash, genesis
from holdtrue.ledger._entries import Event, Issued, Promise, Verification
from holdtrue.ledger._ledger import Ledger
from holdtrue.ledger._policy import Policy
from holdtrue.ledger._record import Record, check_subject, new_id, read_records, to_text, utc_now, write_records
from holdtrue.ledger._tables import METADATA

__all__ = [
    "LARGEST",
    "METADATA",
    "STATE_AFTER",
    "Anchor",
    "Event",
    "Head",
    "Issued",
    "Ledger",
    "Policy",
    "Promise",
    "Record",
    "Verification",
    "canonical",
    "check_subject",
    "event_hash",
    "genesis",
    "new_id",
    "parse",
    "read_key",
    "read_records",
    "sha256",
    "to_text",
    "utc_now",
    "write_records",
]
