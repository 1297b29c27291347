"""Recourse that was promised to people: records, and the ledger that keeps them. No jax here."""

from holdfast.ledger._chain import Head
from holdfast.ledger._entries import Event, Issued, Promise, Verification
from holdfast.ledger._ledger import Ledger
from holdfast.ledger._record import Record, read_records, write_records

__all__ = [
    "Event",
    "Head",
    "Issued",
    "Ledger",
    "Promise",
    "Record",
    "Verification",
    "read_records",
    "write_records",
]
