"""Recourse that was promised to people: records, and the ledger that keeps them. No jax here."""

from holdtrue.ledger._chain import Head
from holdtrue.ledger._entries import Event, Issued, Promise, Verification
from holdtrue.ledger._ledger import Ledger
from holdtrue.ledger._record import Record, check_subject, read_records, write_records

__all__ = [
    "Event",
    "Head",
    "Issued",
    "Ledger",
    "Promise",
    "Record",
    "Verification",
    "check_subject",
    "read_records",
    "write_records",
]
