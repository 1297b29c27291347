"""Model files: arrays and JSON in a zip, never pickle. Loading one runs no code from it."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from holdtrue._files import replaced
from holdtrue._types import JsonObject
from holdtrue.errors import DataError

Made = TypeVar("Made")

FORMAT = "holdtrue-model"
VERSION = 1
HEADER = "holdtrue.json"
SMALL, RATIO = 64 << 20, 50  # bytes, and times its size, that a file may unpack to: numbers hardly shrink
LARGEST = 8 << 30  # bytes an unpacked file may have: more is not a model of ours


def write(path: str | Path, header: JsonObject, arrays: dict[str, np.ndarray]) -> None:
    """Write a model file beside its place and move it there: an interrupted write loses nothing."""
    path = Path(path)
    parts = {f"{name}.npy": _to_bytes(array) for name, array in sorted(arrays.items())}
    header = {"format": FORMAT, "version": VERSION, **header, "sha256": _digest(parts)}
    try:
        with replaced(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(HEADER, json.dumps(header, indent=1))
            for name, blob in parts.items():
                archive.writestr(name, blob)
    except OSError as error:
        raise DataError(f"save: cannot write the model file; got {str(path)!r} ({error}).") from error


def read(path: str | Path) -> tuple[JsonObject, dict[str, np.ndarray]]:
    """Read a model file; anything foreign, damaged or from a newer version is refused with the reason."""
    path = Path(path)
    if not path.is_file():
        raise DataError(
            f"load: no such model file; got {str(path)!r}. Make one with `holdtrue fit` or clf.save()."
        )
    damaged = f"load: the model file is damaged or is not one of holdtrue's; got {str(path)!r}"
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(info.file_size for info in archive.infolist())
            if unpacked > min(LARGEST, SMALL + RATIO * path.stat().st_size):
                raise DataError(f"{damaged} ({unpacked:,} bytes unpacked, of {path.stat().st_size:,}).")
            header = json.loads(archive.read(HEADER))
            parts = {info.filename: archive.read(info) for info in archive.infolist() if info.filename != HEADER}
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise DataError(f"{damaged} (no holdtrue header).")
        if header.get("version") != VERSION:
            raise DataError(
                f"load: the model file has version {header.get('version')!r}, this holdtrue reads {VERSION}; got "
                f"{str(path)!r}. Upgrade holdtrue, or fit again."
            )
        if header.get("sha256") != _digest(parts):
            raise DataError(f"{damaged} (checksum differs). Copy it again from where it was made.")
        arrays = {
            name.removesuffix(".npy"): np.load(io.BytesIO(blob), allow_pickle=False)
            for name, blob in parts.items()
        }
    except DataError:
        raise
    except (
        zipfile.BadZipFile,
        KeyError,
        ValueError,
        EOFError,
        OSError,
        RuntimeError,
        NotImplementedError,
    ) as error:
        raise DataError(f"{damaged} ({type(error).__name__}: {error}).") from error
    except Exception as error:
        # zlib.error derives from Exception alone; a hostile archive must not surface as a bare traceback.
        if type(error).__module__ not in ("zlib", "struct", "lzma"):
            raise
        raise DataError(f"{damaged} ({error}).") from error
    return header, arrays


def fitting_together(path: str | Path, make: Callable[[], Made]) -> Made:
    """What is made of a file's parts; where they do not fit together, a reason that names the file."""
    try:
        return make()
    except DataError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise DataError(
            f"load: the model file does not fit together; got {str(path)!r} ({type(error).__name__}: {error}). It "
            "may come from another version: fit again."
        ) from error


def _to_bytes(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()


def _digest(parts: dict[str, bytes]) -> str:
    total = hashlib.sha256()
    for name in sorted(parts):
        total.update(name.encode() + b"\0" + hashlib.sha256(parts[name]).digest())
    return total.hexdigest()
