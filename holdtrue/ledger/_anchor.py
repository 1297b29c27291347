"""An anchor: the end of a chain in a file outside of the database, signed where a key is given."""

import hmac
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Self

from holdtrue._json import to_json, write_text
from holdtrue.errors import DataError, LedgerError
from holdtrue.ledger._canonical import canonical, parse
from holdtrue.ledger._chain import Head
from holdtrue.ledger._record import from_text

SHORTEST = 16  # bytes of a key
LARGEST = 10_000  # bytes of a file
FIELDS = {"ledger": str, "seq": int, "hash": str, "at": str}


@dataclass(frozen=True)
class Anchor:
    """Where a chain ended at a time. Kept outside of the database, it shows a tail that was cut off or rewritten.

    Attributes
    ----------
    ledger : str
        The ledger's own random name.
    seq : int
        Events up to there.
    hash : str
        Of the last of them.
    at : str
        When, in UTC.
    signature : str or None
        HMAC-SHA256 of the rest under a key: who lacks the key cannot make an anchor for another chain.
    """

    ledger: str
    seq: int
    hash: str
    at: str
    signature: str | None = None

    @property
    def head(self) -> Head:
        """The end of the chain."""
        return Head(self.ledger, self.seq, self.hash)

    def signed(self, key: bytes) -> Self:
        """This anchor with its signature under a key."""
        return replace(self, signature=self._signature(key))

    def check(self, key: bytes | None) -> None:
        """Hold the signature against a key.

        Raises
        ------
        LedgerError
            Where it is not of this key, or one of the two is missing.
        """
        if (self.signature is None) != (key is None):
            which = "is signed, and no key was given" if key is None else "is not signed, and a key was given"
            raise LedgerError(f"anchor: it {which}. Give the key it was signed with, and only that.")
        if key is not None and not hmac.compare_digest(self.signature or "", self._signature(key)):
            raise LedgerError(
                "anchor: the signature is not of this key, or the anchor was changed since. Do not rely on it."
            )

    def _signature(self, key: bytes) -> str:
        if len(key) < SHORTEST:
            raise DataError(f"anchor: a key has at least {SHORTEST} bytes; got {len(key)}. Make a longer one.")
        said = {name: getattr(self, name) for name in FIELDS}
        return hmac.new(key, canonical(said).encode(), sha256).hexdigest()

    def save(self, path: str | Path) -> None:
        """Write it to a file, as JSON."""
        write_text(path, to_json({"holdtrue_anchor": 1} | asdict(self)) + "\n", "the anchor")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read it from a file."""
        try:
            with open(path, "rb") as stream:
                text = stream.read(LARGEST + 1)
            said = parse(text[:LARGEST].decode(), "anchor")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"anchor: cannot be read; got {str(path)!r} ({error}).") from error
        if not isinstance(said, dict) or said.pop("holdtrue_anchor", None) != 1 or len(text) > LARGEST:
            raise DataError(
                f"anchor: no anchor of this version; got {str(path)!r}. `holdtrue ledger anchor` makes one."
            )
        signature = said.pop("signature", None)
        if said.keys() != FIELDS.keys() or any(type(said[name]) is not kind for name, kind in FIELDS.items()):
            raise DataError(f"anchor: must have {', '.join(FIELDS)}; got {sorted(map(str, said))[:8]!r}.")
        if signature is not None and not (isinstance(signature, str) and signature.isascii()):
            raise DataError(f"anchor: `signature` must be text or null; got {signature!r:.80}.")
        from_text(said["at"])
        return cls(**said, signature=signature)


def read_key(path: str | Path) -> bytes:
    """The key in a file, without blanks about it."""
    try:
        return Path(path).read_bytes().strip()
    except OSError as error:
        raise DataError(f"anchor: the key cannot be read; got {str(path)!r} ({error}).") from error
