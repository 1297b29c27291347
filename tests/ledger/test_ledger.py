"""The shipped checks, on a SQLite file and on a PostgreSQL server."""

from holdtrue.testing import LedgerChecks


class TestLedger(LedgerChecks):
    """`place` is of each kind in turn."""
