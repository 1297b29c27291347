"""The file that is handed over: a zip of which every byte is accounted for, and its signature.

Members are stored as they are, in the order of their names, with fixed times, so that the same members are the
same file, byte for byte. `manifest.json` has the SHA-256 of every other member, and of itself. A file is read only
if writing its members again gives its own bytes: what a zip could hide between or beside its members is noticed.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdtrue._files import replaced
from holdtrue._json import to_json
from holdtrue._optional import need
from holdtrue._types import JsonObject
from holdtrue.errors import DataError

FORMAT, VERSION = "holdtrue-evidence", 1
MANIFEST, SIGNATURE = "manifest.json", "signature.json"
ALGORITHM = "Ed25519"
LARGEST = 2 << 30  # bytes of a file that is read
THE_TIME = (1980, 1, 1, 0, 0, 0)  # the first that a zip can say


@dataclass(frozen=True)
class Archive:
    """What a file holds.

    Attributes
    ----------
    members : dict of str to bytes
        But for the manifest and the signature.
    manifest : bytes
    signature : dict or None
        `algorithm`, `public_key` and `signature`, in hexadecimal.
    """

    members: dict[str, bytes]
    manifest: bytes
    signature: JsonObject | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of the manifest. Noted elsewhere, it tells whether a file is still the one that was made."""
        return hashlib.sha256(self.manifest).hexdigest()

    def to_bytes(self) -> bytes:
        """The file."""
        parts = dict(self.members) | {MANIFEST: self.manifest}
        if self.signature is not None:
            parts[SIGNATURE] = to_json(self.signature).encode() + b"\n"
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for name in sorted(parts):
                info = zipfile.ZipInfo(name, THE_TIME)
                info.create_system, info.external_attr = 3, 0o600 << 16
                archive.writestr(info, parts[name])
        return buffer.getvalue()


def packed(members: Mapping[str, bytes], key: str | Path | None = None) -> Archive:
    """Members with their manifest; signed where a private key is given."""
    digests = {name: hashlib.sha256(members[name]).hexdigest() for name in sorted(members)}
    body: JsonObject = {"format": FORMAT, "version": VERSION, "sha256": digests}
    manifest = to_json(body | {"manifest": _own(body)}).encode() + b"\n"
    return Archive(dict(members), manifest, None if key is None else _signed(manifest, key))


def write(archive: Archive, path: str | Path) -> None:
    """Write the file beside its place and move it there; a new one is readable by its owner alone."""
    try:
        with replaced(Path(path), private=True) as stream:
            stream.write(archive.to_bytes())
    except OSError as error:
        raise DataError(f"evidence: cannot be written; got {str(path)!r} ({error}).") from error


def read(path: str | Path) -> Archive:
    """Read a file; one of which a byte is not as it was made is refused."""
    path = Path(path)
    try:
        if path.stat().st_size > LARGEST:
            raise DataError(f"evidence: the file is too large; got {path.stat().st_size:,} bytes.")
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"evidence: cannot be read; got {str(path)!r} ({error}).") from error
    return unpacked(raw, str(path))


def unpacked(raw: bytes, name: str) -> Archive:
    """What the bytes of a file hold."""
    damaged = f"evidence: the file was changed after it was made, or is not one of holdtrue's; got {name!r}"
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            infos = archive.infolist()
            # Members are stored as they are: one that would unpack to more than the file has is not looked into.
            if any(i.compress_type != zipfile.ZIP_STORED for i in infos) or sum(i.file_size for i in infos) > len(
                raw
            ):
                raise DataError(f"{damaged} (its members are not stored as they are).")
            parts = {info.filename: archive.read(info) for info in infos}
        manifest = parts.pop(MANIFEST)
        signature = parts.pop(SIGNATURE, None)
        said = json.loads(manifest)
        signed = None if signature is None else json.loads(signature)
        found = Archive(parts, manifest, signed)
        if said["format"] != FORMAT or said["version"] != VERSION:
            raise DataError(f"{damaged} (its format is {said['format']!r} {said['version']!r}).")
        body = {key: value for key, value in said.items() if key != "manifest"}
        if said["manifest"] != _own(body) or to_json(said).encode() + b"\n" != manifest:
            raise DataError(f"{damaged} (the manifest does not fit itself).")
        if sorted(said["sha256"]) != sorted(parts):
            raise DataError(f"{damaged} (members are missing or added).")
        odd = [name for name in parts if hashlib.sha256(parts[name]).hexdigest() != said["sha256"][name]]
        if odd:
            raise DataError(f"{damaged} ({odd[0]} is not what the manifest says).")
        if found.to_bytes() != raw:
            raise DataError(f"{damaged} (there is something beside its members).")
        if signed is not None and not _fits(manifest, signed):
            raise DataError(f"{damaged} (the signature does not fit).")
    except DataError:
        raise
    except Exception as error:  # whatever a zip or a JSON of a stranger may raise
        raise DataError(f"{damaged} ({type(error).__name__}).") from error
    return found


def _own(body: JsonObject) -> str:
    return hashlib.sha256(to_json(body, indent=None).encode()).hexdigest()


# ---- signatures -------------------------------------------------------------------------------------


def public_key(path: str | Path) -> str:
    """A public key from a PEM file, in hexadecimal."""
    keys = need("cryptography.hazmat.primitives.serialization", extra="sign", what="evidence: a key")
    kind = need("cryptography.hazmat.primitives.asymmetric.ed25519", extra="sign", what="evidence: a key")
    found = _pem(path, lambda text: keys.load_pem_public_key(text), kind.Ed25519PublicKey)
    return found.public_bytes_raw().hex()


def _signed(manifest: bytes, path: str | Path) -> JsonObject:
    keys = need("cryptography.hazmat.primitives.serialization", extra="sign", what="evidence: a signature")
    kind = need("cryptography.hazmat.primitives.asymmetric.ed25519", extra="sign", what="evidence: a signature")
    key = _pem(path, lambda text: keys.load_pem_private_key(text, None), kind.Ed25519PrivateKey)
    public = key.public_key().public_bytes_raw().hex()
    return {"algorithm": ALGORITHM, "public_key": public, "signature": key.sign(manifest).hex()}


def _fits(manifest: bytes, signed: JsonObject) -> bool:
    kind = need("cryptography.hazmat.primitives.asymmetric.ed25519", extra="sign", what="evidence: a signature")
    if set(signed) != {"algorithm", "public_key", "signature"} or signed["algorithm"] != ALGORITHM:
        return False
    key = kind.Ed25519PublicKey.from_public_bytes(bytes.fromhex(signed["public_key"]))
    try:
        key.verify(bytes.fromhex(signed["signature"]), manifest)
    except need("cryptography.exceptions", extra="sign", what="evidence: a signature").InvalidSignature:
        return False
    return True


def _pem(path: str | Path, load: Callable[[bytes], object], kind: type) -> Any:
    try:
        found = load(Path(path).read_bytes())
    except (OSError, ValueError, TypeError) as error:
        raise DataError(
            f"evidence: the key cannot be read; got {str(path)!r} ({error}). Give an Ed25519 key as a PEM file "
            "without a password, as `openssl genpkey -algorithm ed25519` writes it."
        ) from error
    if not isinstance(found, kind):
        raise DataError(f"evidence: the key must be one of {ALGORITHM}; got {type(found).__name__}.")
    return found
