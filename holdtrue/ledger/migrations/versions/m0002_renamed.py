"""The project's new name: the same tables and indexes, called after it."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TABLES = ("head", "events", "personal", "promises")
INDEXES = {
    ("events", "promise"): ["promise"],
    ("events", "token"): ["token"],
    ("personal", "subject"): ["subject"],
    ("promises", "state"): ["state", "seq"],
}


def upgrade() -> None:
    """Rename; no row is read or written."""
    for (table, name), _ in INDEXES.items():
        op.drop_index(f"holdfast_{table}_{name}", f"holdfast_{table}")
    for table in TABLES:
        op.rename_table(f"holdfast_{table}", f"holdtrue_{table}")
    for (table, name), columns in INDEXES.items():
        op.create_index(f"holdtrue_{table}_{name}", f"holdtrue_{table}", columns)
