"""Recourse that was promised to people: records, the ledger that keeps them, and letters. No jax here."""

from holdfast.ledger._chain import Head
from holdfast.ledger._entries import Event, Issued, Promise, Verification
from holdfast.ledger._ledger import Ledger
from holdfast.ledger._letter import Letter, Stationery, compose, letters, offered
from holdfast.ledger._record import Record, check_subject, read_records, write_records

__all__ = [
    "Event",
    "Head",
    "Issued",
    "Ledger",
    "Letter",
    "Promise",
    "Record",
    "Stationery",
    "Verification",
    "check_subject",
    "compose",
    "letters",
    "offered",
    "read_records",
    "write_records",
]
