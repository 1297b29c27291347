"""The tables, as this version has them. What changes here changes in `migrations/` too; a test compares them."""

import sqlalchemy as sa

METADATA = sa.MetaData()
VERSION_TABLE = "holdtrue_ledger_version"
FORMER_VERSION_TABLE = "holdfast_ledger_version"  # of a ledger begun under the project's first name

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
HASH = sa.String(64)
NAME = sa.String(32)
WHEN = sa.String(32)  # a time as `_record.to_text` writes it: these sort as texts

head = sa.Table(
    "holdtrue_head",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("ledger", NAME, nullable=False),
    sa.Column("seq", NUMBER, nullable=False),
    sa.Column("hash", HASH, nullable=False),
)
"""One row: the end of the chain. Who writes holds a lock on it."""

events = sa.Table(
    "holdtrue_events",
    METADATA,
    sa.Column("seq", NUMBER, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("promise", NAME),
    sa.Column("at", WHEN, nullable=False),
    sa.Column("public", sa.Text, nullable=False),
    sa.Column("commitment", HASH),
    sa.Column("token", NAME, nullable=False),
    sa.Column("hash", HASH, nullable=False),
    sa.Index("holdtrue_events_promise", "promise"),
    sa.Index("holdtrue_events_token", "token"),
)
"""The chain: never changed, never deleted from. Holds nothing about a person but a commitment to it."""

personal = sa.Table(
    "holdtrue_personal",
    METADATA,
    sa.Column("seq", NUMBER, sa.ForeignKey("holdtrue_events.seq"), primary_key=True, autoincrement=False),
    sa.Column("subject", sa.String(200), nullable=False),
    sa.Column("salt", HASH, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Index("holdtrue_personal_subject", "subject"),
)
"""What an event says about a person, and the salt of its commitment. `forget` deletes from here."""

promises = sa.Table(
    "holdtrue_promises",
    METADATA,
    sa.Column("seq", NUMBER, sa.ForeignKey("holdtrue_events.seq"), primary_key=True, autoincrement=False),
    sa.Column("id", NAME, nullable=False, unique=True),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("valid_until", WHEN),
    sa.Index("holdtrue_promises_state", "state", "seq"),
)
"""Where each promise stands; follows from the events, and `verify` holds it against them."""
