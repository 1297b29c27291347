"""Recourse that was promised to people: records, the ledger that keeps them, and letters. No jax here."""

from holdtrue.ledger._chain import Head
from holdtrue.ledger._entries import Event, Issued, Promise, Verification
from holdtrue.ledger._ledger import Ledger
from holdtrue.ledger._letter import Letter, Stationery, compose, letters, offered
from holdtrue.ledger._record import Record, check_subject, read_records, write_records

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
