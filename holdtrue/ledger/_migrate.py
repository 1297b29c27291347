"""Making the tables, and bringing older ones up to date; the steps lie in `migrations/versions`."""

from pathlib import Path

import sqlalchemy as sa
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from holdtrue.errors import LedgerError
from holdtrue.ledger._database import Database
from holdtrue.ledger._tables import FORMER_VERSION_TABLE, VERSION_TABLE

SCRIPTS = Path(__file__).parent / "migrations"


def scripts() -> ScriptDirectory:
    """The steps from each schema to the next."""
    return ScriptDirectory(str(SCRIPTS))


def newest() -> str:
    """The schema of this version."""
    return str(scripts().get_current_head())


def current(connection: sa.Connection) -> str | None:
    """The schema that a database has; None where it holds no ledger."""
    table = FORMER_VERSION_TABLE if sa.inspect(connection).has_table(FORMER_VERSION_TABLE) else VERSION_TABLE
    return MigrationContext.configure(connection, opts={"version_table": table}).get_current_revision()


def upgrade(database: Database, to: str | None = None) -> None:
    """Make the tables, or bring them to this version's schema, in one transaction."""
    goal = to or newest()

    def work(connection: sa.Connection) -> None:
        if not database.is_sqlite:
            # Two processes that both make the tables: the second waits and finds them there.
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(4714715115)"))
        have = current(connection)
        _refuse_newer(have, database)
        if have is None and database.is_sqlite and sa.inspect(connection).get_table_names():
            raise LedgerError(
                f"ledger: the file is a database of something else; got {database.name!r}. Give another path."
            )
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        with Operations.context(context) as operations:
            if sa.inspect(connection).has_table(FORMER_VERSION_TABLE):
                operations.rename_table(FORMER_VERSION_TABLE, VERSION_TABLE)
            for step in reversed(list(scripts().iterate_revisions(goal, have or "base"))):
                step.module.upgrade()
                context.stamp(scripts(), step.revision)

    database.run(work, write=True)


def check(database: Database) -> None:
    """Refuse a place that holds no ledger, or one of another version."""
    path = str(database.url.database)
    # Opening a SQLite file that is not there would make it. One named by a URI says itself whether it may be made.
    if database.is_sqlite and not path.startswith("file:") and not Path(path).is_file():
        raise LedgerError(
            f"ledger: no such file; got {database.name!r}. Make it with "
            f"`holdtrue ledger init --ledger {database.name}`."
        )
    have = database.run(current)
    if have is None:
        raise LedgerError(
            f"ledger: holds no ledger; got {database.name!r}. Make one with "
            f"`holdtrue ledger init --ledger {database.name}`."
        )
    _refuse_newer(have, database)
    if have != newest():
        raise LedgerError(
            f"ledger: was made by an older version (schema {have}, this holdtrue has {newest()}); got "
            f"{database.name!r}. Run `holdtrue ledger init`, which keeps everything."
        )


def _refuse_newer(have: str | None, database: Database) -> None:
    if have is not None and have not in {step.revision for step in scripts().walk_revisions()}:
        raise LedgerError(
            f"ledger: was made by a newer version; got schema {have!r} in {database.name!r}. Upgrade holdtrue."
        )
