"""What may be promised at all: kept in the ledger itself, so that every way into it obeys."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Self

import sqlalchemy as sa

from holdtrue._types import JsonObject
from holdtrue.errors import AgainstPolicy, DataError
from holdtrue.ledger._canonical import parse
from holdtrue.ledger._find import live_counts
from holdtrue.ledger._record import Record
from holdtrue.ledger._tables import events

NAME = "policy"
"""In the place of a promise's id, which it cannot be: events about the policy are found by it."""
OPERATOR = "operator"
"""The role of who opens the ledger itself, and not through a service."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What a ledger takes in.

    Parameters
    ----------
    most_live : int, optional
        Live promises that one person may have at once; every option that is promised counts.
    least_survival : float, optional
        Least share of retrained models that must accept a recourse. Where nothing is known about that, it is less.
    override : tuple of str, default=("admin", "operator")
        Roles that may promise against this all the same, each time with a reason in the record. The service knows
        the roles of its keys; ``operator`` is who opens the ledger from Python or the command line.
    """

    most_live: int | None = None
    least_survival: float | None = None
    override: tuple[str, ...] = ("admin", OPERATOR)

    def __post_init__(self) -> None:
        most, least = self.most_live, self.least_survival
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
            raise DataError(f"Policy: `most_live` must be a whole number from 1 on; got {most!r}.")
        if least is not None and (
            isinstance(least, bool) or not isinstance(least, (int, float)) or not 0 <= least <= 1
        ):
            raise DataError(f"Policy: `least_survival` must be a share from 0 to 1; got {least!r}. 95% is 0.95.")
        object.__setattr__(self, "override", tuple(self.override))
        if not all(isinstance(role, str) and role for role in self.override):
            raise DataError(f"Policy: `override` must be names of roles; got {self.override!r}.")

    def __str__(self) -> str:
        parts = []
        if self.most_live is not None:
            parts.append(
                f"at most {self.most_live:,} live promise{'s' if self.most_live > 1 else ''} to one person"
            )
        if self.least_survival is not None:
            parts.append(f"at least {self.least_survival:.4g} of retrained models must accept")
        if not parts:
            return "Everything may be promised."
        who = f"; {' or '.join(self.override)} may override with a reason" if self.override else ""
        return f"Policy: {', and '.join(parts)}{who}."

    def to_dict(self) -> JsonObject:
        """As the chain keeps it."""
        return asdict(self) | {"override": list(self.override)}

    @classmethod
    def from_dict(cls, raw: JsonObject) -> Self:
        """Read what `to_dict` wrote."""
        return cls(**raw)


def policy_of(connection: sa.Connection) -> Policy:
    """The policy that stands: the last that was set."""
    last = sa.select(events.c.public).where(events.c.promise == NAME).order_by(events.c.seq.desc()).limit(1)
    row = connection.execute(last).first()
    return Policy() if row is None else Policy.from_dict(parse(row.public, "ledger"))


class Check:
    """Holds the records of one write against the policy; knows how many live promises their people have.

    Parameters
    ----------
    connection : sa.Connection
    records : list of Record
    role : str
        Of who asks.
    instead : Record, optional
        A live promise that ends with this write.
    """

    def __init__(
        self, connection: sa.Connection, records: list[Record], role: str, instead: Record | None = None
    ) -> None:
        self.policy, self.role = policy_of(connection), role
        self.live: Counter[str] = Counter()
        if self.policy.most_live is not None:
            self.live = live_counts(connection, sorted({record.subject for record in records}))
        if instead is not None:
            self.live[instead.subject] -= 1

    def admit(self, record: Record) -> JsonObject:
        """What is to be noted of a record that is let in: nothing, or by whom the policy was overridden.

        Raises
        ------
        AgainstPolicy
        """
        broken, policy = {}, self.policy
        if policy.most_live is not None and self.live[record.subject] >= policy.most_live:
            broken["most_live"] = f"the person has {self.live[record.subject]} live promises already"
        survival = (record.survival or {}).get("estimate")
        if policy.least_survival is not None and (survival is None or survival < policy.least_survival):
            known = "it is not known how many accept it" if survival is None else f"{survival:.4g} accept it"
            broken["least_survival"] = f"of retrained models {known}"
        if broken and not (record.reason and self.role in policy.override):
            raise AgainstPolicy(
                f"issue: the ledger's policy refuses it: {', and '.join(broken.values())}. {policy} Promise "
                "another, end one that is live, or give a `reason` in a role that may override."
            )
        self.live[record.subject] += 1
        return {"override": {"rules": sorted(broken), "role": self.role}} if broken else {}
