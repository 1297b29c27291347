"""Promises looked up: by a person's key, an id, where they stand, and when they were made."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from holdtrue.errors import DataError
from holdtrue.ledger._chain import STATES
from holdtrue.ledger._record import aware, to_text, utc_now
from holdtrue.ledger._tables import events, personal, promises

AT_ONCE = 500  # databases limit the length of a list


def binding() -> Any:
    """What is true of a promise that binds now: it is live and has not run out."""
    return sa.and_(
        promises.c.state == "live",
        sa.or_(promises.c.valid_until.is_(None), promises.c.valid_until > to_text(utc_now())),
    )


def live_counts(connection: sa.Connection, subjects: Sequence[str]) -> Counter[str]:
    """How many promises bind to each of these people now."""
    live: Counter[str] = Counter()
    for start in range(0, len(subjects), AT_ONCE):
        count: Any = (
            sa.select(personal.c.subject, sa.func.count())
            .join(promises, promises.c.seq == personal.c.seq)
            .where(personal.c.subject.in_(subjects[start : start + AT_ONCE]), binding())
            .group_by(personal.c.subject)
        )
        rows: list[Any] = list(connection.execute(count))
        live.update({subject: int(n) for subject, n in rows})
    return live


def matching(
    text: str, subject: str | None, state: str | None, since: datetime | None, until: datetime | None
) -> list[Any]:
    """Conditions on promises, joined with the events that issued them and with what is kept about people."""
    out: list[Any] = []
    if text:
        by_key = personal.c.subject.icontains(text, autoescape=True)
        out.append(sa.or_(by_key, promises.c.id.startswith(text.lower(), autoescape=True)))
    if subject is not None:
        out.append(personal.c.subject == subject)
    if state is not None:
        out.append(_in_state(state))
    if since is not None:
        out.append(events.c.at >= to_text(aware(since)))
    if until is not None:
        out.append(events.c.at < to_text(aware(until)))
    return out


def _in_state(state: str) -> Any:
    if state not in STATES:
        raise DataError(f"ledger: no such state; got {state!r}. States are {', '.join(STATES)}.")
    if state == "live":
        return binding()
    if state == "expired":  # whether or not somebody has written down that it ran out
        return sa.or_(promises.c.state == "expired", sa.and_(promises.c.state == "live", sa.not_(binding())))
    return promises.c.state == state
