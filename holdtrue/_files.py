"""Files that are there whole or not at all, also after a loss of power; and locks between processes."""

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from holdtrue.errors import DataError

PRIVATE = 0o600


@contextlib.contextmanager
def replaced(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """A stream that becomes the file at its end, in one step.

    What is written is on the disk before it is moved into place, and the move before this returns. With `private`
    a new file is readable by its owner alone, since it says things about people; one that was there before keeps
    its permissions.
    """
    beside = unfinished(path)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
        handle = os.open(beside, flags, PRIVATE if private else 0o666)
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            if path.exists() and os.name == "posix":
                os.fchmod(stream.fileno(), stat.S_IMODE(path.stat().st_mode))
            os.fsync(stream.fileno())
        os.replace(beside, path)
        sync_folder(path.parent)
    finally:
        beside.unlink(missing_ok=True)


def unfinished(path: Path) -> Path:
    """Where a file is until it is whole."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def drop_unfinished(path: Path) -> None:
    """Remove what processes left that were killed while they wrote a file; its writers must be locked out."""
    name = re.compile(rf"\.{re.escape(path.name)}\.\d+\.part")
    for beside in path.parent.iterdir():
        if name.fullmatch(beside.name):
            beside.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:  # some network file systems cannot
        pass
    finally:
        os.close(handle)


@contextlib.contextmanager
def locked(path: Path, *, what: str, seconds: float = 0.0) -> Iterator[None]:
    """Hold a lock that no other process or thread has; it ends with the process, however that ends.

    Parameters
    ----------
    path : Path
        A file that is made for it, and removed.
    what : str
        What is locked, for the refusal.
    seconds : float, default=0.0
        How long to wait for another to be done.
    """
    try:
        import fcntl
    except ImportError:  # Windows: nothing is locked, as before
        yield
        return
    until = time.monotonic() + seconds
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            if time.monotonic() >= until:
                raise DataError(f"{what} is in use by another process. Wait until it is done.") from error
            time.sleep(0.01)
            continue
        if _is_there(handle, path):
            break
        os.close(handle)  # its last holder removed it in the meantime
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is held
        os.close(handle)


def _is_there(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False
