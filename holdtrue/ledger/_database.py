"""Connections and transactions: SQLite or PostgreSQL, what to try again, and errors in words."""

import contextlib
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event, exc

from holdtrue._files import PRIVATE
from holdtrue._optional import need
from holdtrue._types import Keywords
from holdtrue.errors import LedgerError

T = TypeVar("T")
DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
# Of PostgreSQL: serialization, deadlock, lock timeout, too many connections, shutdown and start. Class 08 is a
# broken connection.
AGAIN = {"40001", "40P01", "55P03", "53300", "57P01", "57P02", "57P03"}


def url_of(place: str | Path | sa.URL) -> sa.URL:
    """The database that a path or a URL names."""
    if isinstance(place, sa.URL):
        return place
    text = str(place)
    if "://" not in text:
        return sa.URL.create("sqlite", database=text)
    try:
        url = sa.make_url(text)
    except (exc.ArgumentError, ValueError):
        # The text is not shown: it may hold a password.
        raise LedgerError(
            "ledger: the URL cannot be read. Write postgresql://user@host/database, or a path."
        ) from None
    family = url.drivername.partition("+")[0]
    if family not in DRIVERS:
        raise LedgerError(
            f"ledger: the database is not known; got {family!r}. Give the path of a SQLite file, or a URL that "
            "begins with sqlite:/// or postgresql://."
        )
    return url.set(drivername=DRIVERS[family]) if "+" not in url.drivername else url


class Database:
    """A place where a ledger is kept.

    Safe to use from several threads, and after a fork. A SQLite connection lives for one transaction.

    Parameters
    ----------
    place : path or URL
    patience : float
        Seconds to go on trying where the database is locked or the server restarts.
    """

    def __init__(self, place: str | Path | sa.URL, patience: float) -> None:
        self.url, self.patience = url_of(place), patience
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        if self.is_sqlite and self.url.database in (None, "", ":memory:"):
            raise LedgerError("ledger: a ledger is kept in a file; got a SQLite database in memory. Give a path.")
        self.reached = False  # whether a connection has ever been made
        self._connect()

    @property
    def name(self) -> str:
        """The place, without a password."""
        database = self.url.database
        return str(database) if self.is_sqlite else self.url.render_as_string(hide_password=True)

    def _connect(self) -> None:
        self._pid = os.getpid()
        if self.is_sqlite:
            # Short: `run` tries again until its own patience ends, and SQLite's would be added to it.
            how: Keywords = {"connect_args": {"timeout": min(0.5, self.patience)}, "poolclass": sa.NullPool}
        else:
            how = {"pool_pre_ping": True, "connect_args": {"connect_timeout": 10}}
            need(self.url.get_driver_name(), extra="postgres", what="ledger: postgresql")
        # Parameters are what is known of people: not for a traceback.
        self.engine = sa.create_engine(self.url, hide_parameters=True, **how)
        if self.is_sqlite:
            event.listen(self.engine, "connect", _prepare)
            event.listen(self.engine, "begin", _begin)

    def keep_private(self) -> None:
        """Make a SQLite file that is not there yet, readable by its owner alone: it says things about people."""
        if self.is_sqlite and self.url.database:
            with contextlib.suppress(OSError):  # where it cannot be made, connecting says why
                os.close(os.open(self.url.database, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE))

    def close(self) -> None:
        """Give back all connections."""
        self.engine.dispose()

    def run(self, work: Callable[[sa.Connection], T], *, write: bool = False) -> T:
        """Do some work in one transaction; try again while the database is locked or away.

        `work` may be called several times, and once more after a commit whose answer was lost.
        """
        if self._pid != os.getpid():  # connections of a parent process are the parent's
            self.engine.dispose(close=False)
            self._connect()
        until = time.monotonic() + self.patience
        pause = 0.01
        while True:
            try:
                with self.engine.execution_options(holdtrue_write=write).begin() as connection:
                    self.reached = True
                    answer = work(connection)
                return answer  # noqa: RET504 - after the commit
            except exc.TimeoutError as error:
                raise LedgerError(
                    f"ledger: too many threads wait for a connection; got {self.name!r}. Use fewer at once."
                ) from error
            except exc.DBAPIError as error:
                if not self._passes(error) or time.monotonic() > until:
                    raise self.explain(error) from error
            except UnicodeDecodeError as error:  # the driver quotes names in a damaged file that are no text
                raise LedgerError(
                    f"ledger: the file is damaged: a name in it is no text; got {self.name!r}. Restore a backup."
                ) from error
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(pause * 2, 1.0)

    def _passes(self, error: exc.DBAPIError) -> bool:
        """Whether waiting may help."""
        if self.is_sqlite:
            return "locked" in str(error.orig) or "busy" in str(error.orig)
        state = getattr(error.orig, "sqlstate", None)
        if state is not None:
            return state in AGAIN or state.startswith("08")
        # No answer from a server at all: worth waiting for only where there was one.
        return self.reached and isinstance(error, (exc.OperationalError, exc.InterfaceError))

    def explain(self, error: exc.DBAPIError) -> LedgerError:
        """The error in words, with what to do."""
        text, state = str(error.orig), getattr(error.orig, "sqlstate", None) or ""
        got = f"got {self.name!r}"
        for words, sentence in _REASONS:
            if any(word == state or (len(word) > 5 and word in text.lower()) for word in words):
                return LedgerError(f"ledger: {sentence.format(got=got)}")
        return LedgerError(
            f"ledger: the database refused; {got} ({type(error.orig).__name__}: {text[:300].strip()})."
        )


def _prepare(connection: Any, _: object) -> None:
    """A new SQLite connection: transactions are ours, commits reach the disk, deleted values are overwritten."""
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("foreign_keys=ON", "synchronous=FULL", "secure_delete=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: sa.Connection) -> None:
    # IMMEDIATE takes the write lock at once: a transaction that reads first and is refused the lock later could
    # not be continued.
    write = connection.get_execution_options().get("holdtrue_write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


# Words of SQLite's messages and PostgreSQL's states, and what they mean to the user.
_REASONS = (
    (("readonly database", "25006", "42501"),
     "cannot be written: the database is read-only; {got}. Check the rights."),
    (("database or disk is full", "53100"),
     "the disk is full; {got}. Nothing of this write was kept: free space and repeat it."),
    (("disk i/o error", "58030"), "the disk failed; {got}. Nothing of this write was kept."),
    (("file is not a database",), "the file is not a SQLite database; {got}. Give another path."),
    (("image is malformed",), "the database file is damaged; {got}. Restore it from a backup."),
    (("unable to open database file",), "the file cannot be opened; {got}. Check the folder and its rights."),
    (("is locked", "55P03"), "the database stayed locked by another program; {got}. Try again later."),
    (("no such table", "42P01", "no such column", "42703"),
     "is not a ledger of this version; {got}. Run `holdtrue ledger init`."),
    (("28P01", "28000", "password authentication"), "the server refused the user or the password; {got}."),
    (("3D000", "does not exist"), "the server has no such database or user; {got}. Create it first."),
    (("connection refused", "connection failed", "connection is bad", "failed to resolve", "57P03", "57P01"),
     "the server cannot be reached; {got}. Look whether a write under way was kept before repeating it."),
)  # fmt: skip
