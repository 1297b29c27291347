"""Keys of those who may ask, in a file that holds only their hashes."""

import hashlib
import hmac
import json
import secrets
import threading
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdtrue._files import PRIVATE, locked, replaced
from holdtrue.errors import DataError

FORMAT = "holdtrue-keys"
VERSION = 1
WAIT = 10.0  # seconds for others who change the file
ROLES = ("officer", "validator", "admin")
"""Officers decide and promise, validators look at the ledger and the gate, admins may do both."""


@dataclass(frozen=True)
class Key:
    """A key as it is kept: whose it is, what it may do, and its SHA-256."""

    name: str
    role: str
    sha256: str
    made: str


def read_keys(path: str | Path) -> list[Key]:
    """Read a file of keys."""
    try:
        raw = json.loads(Path(path).read_text(encoding="utf-8"))
        if raw["format"] != FORMAT or raw["version"] != VERSION:
            raise ValueError("another format or version")
        keys = [Key(**one) for one in raw["keys"]]
        for key in keys:
            if key.role not in ROLES or len(bytes.fromhex(key.sha256)) != 32:
                raise ValueError("a role or hash is not known")
    except FileNotFoundError as error:
        raise DataError(
            f"keys: no such file; got {str(path)!r}. Make one with: holdtrue keys add {path} --name NAME "
            "--role officer"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"keys: the file cannot be read; got {str(path)!r} ({type(error).__name__}). Make it with `holdtrue "
            "keys add`."
        ) from error
    return keys


def add_key(path: str | Path, name: str, role: str) -> str:
    """Make a key, add its hash to the file (made where there is none), and return it: it is shown only now."""
    if role not in ROLES:
        raise DataError(f"keys: the role is not known; got {role!r}. Roles are {list(ROLES)!r}.")
    if not name or len(name) > 100 or not name.isprintable():
        raise DataError(f"keys: `name` must be a short text; got {name!r}. Write for example branch-office-7.")
    token = f"ht_{secrets.token_urlsafe(32)}"
    with _alone(path):
        keys = read_keys(path) if Path(path).exists() else []
        if any(key.name == name for key in keys):
            raise DataError(f"keys: there is a key of this name; got {name!r}. Revoke it first, or name another.")
        _write(path, [*keys, Key(name, role, _digest(token).hex(), f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")])
    return token


def revoke_key(path: str | Path, name: str) -> None:
    """Take a key out of the file; a service that runs heeds it at the next request."""
    with _alone(path):
        keys = read_keys(path)
        if all(key.name != name for key in keys):
            raise DataError(f"keys: no key of this name; got {name!r}. Names are {[key.name for key in keys]!r}.")
        _write(path, [key for key in keys if key.name != name])


class KeyRing:
    """The keys of a file, read again when it changes."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._seen: Any = None
        self._keys: list[tuple[bytes, Key]] = []
        self.find("")  # a file that cannot be read is refused now

    def find(self, token: str) -> Key | None:
        """Return the key that this is, or None; takes as long for a near miss as for a far one."""
        given, found = _digest(token), None
        for digest, key in self._current():  # all of them, so that the time does not tell which was close
            if hmac.compare_digest(digest, given):
                found = key
        return found

    def knows(self, key: Key) -> bool:
        """Whether a key that was found before is still among them."""
        return any(known == key for _, known in self._current())

    def _current(self) -> list[tuple[bytes, Key]]:
        try:
            facts = self.path.stat()
            seen: Any = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
        except OSError:
            seen = None  # read_keys says what is wrong
        with self._lock:
            if seen is None or seen != self._seen:
                self._keys = [(bytes.fromhex(key.sha256), key) for key in read_keys(self.path)]
                self._seen = seen
            return self._keys


def _digest(token: str) -> bytes:
    # A key is 256 random bits: there is nothing to guess, so that a slow hash would only slow down requests.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _alone(path: str | Path) -> AbstractContextManager[None]:
    """Nobody else changes the file between reading and writing it: a key that was revoked would come back."""
    place = Path(path)
    if not place.parent.is_dir():
        raise DataError(f"keys: no such folder; got {str(place.parent)!r}. Make it first.")
    return locked(place.with_name(f".{place.name}.lock"), what=f"keys: the file {str(place)!r}", seconds=WAIT)


def _write(path: str | Path, keys: list[Key]) -> None:
    """Replace the file at once, readable by its owner alone."""
    text = json.dumps({"format": FORMAT, "version": VERSION, "keys": [asdict(key) for key in keys]}, indent=2)
    with replaced(Path(path), private=True) as stream:
        stream.write(text.encode() + b"\n")
    Path(path).chmod(PRIVATE)  # also where somebody made it readable
