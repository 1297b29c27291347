"""The first schema: a chain of events, what they say about people, and where each promise stands."""

import hashlib
import secrets

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables, and the one row of the chain's head."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    events = "holdfast_events"
    head = op.create_table(
        "holdfast_head",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("ledger", sa.String(32), nullable=False),
        sa.Column("seq", number, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_table(
        events,
        sa.Column("seq", number, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("promise", sa.String(32)),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("public", sa.Text, nullable=False),
        sa.Column("commitment", sa.String(64)),
        sa.Column("token", sa.String(32), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_index("holdfast_events_promise", events, ["promise"])
    op.create_index("holdfast_events_token", events, ["token"])
    op.create_table(
        "holdfast_personal",
        sa.Column("seq", number, sa.ForeignKey(f"{events}.seq"), primary_key=True, autoincrement=False),
        sa.Column("subject", sa.String(200), nullable=False),
        sa.Column("salt", sa.String(64), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("holdfast_personal_subject", "holdfast_personal", ["subject"])
    op.create_table(
        "holdfast_promises",
        sa.Column("seq", number, sa.ForeignKey(f"{events}.seq"), primary_key=True, autoincrement=False),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("valid_until", sa.String(32)),
    )
    op.create_index("holdfast_promises_state", "holdfast_promises", ["state", "seq"])
    ledger = secrets.token_hex(16)
    start = hashlib.sha256(f"holdfast-ledger:{ledger}".encode()).hexdigest()  # as `_chain.genesis` has it
    op.bulk_insert(head, [{"id": 1, "ledger": ledger, "seq": 0, "hash": start}])
