"""Compiled programs are kept per user, so that the second process starts fast."""

import contextlib
import hashlib
import os
import platform
from pathlib import Path

from holdtrue.errors import DataError

VARIABLE = "HOLDTRUE_CACHE"
SIZE = "HOLDTRUE_CACHE_MB"
"""Environment variable: how much is kept, in megabytes."""
MOST_MB = 1024
KEPT = 0.8
"""Share of that which is left when it was too much, so that it is not too much again at once."""


def cache_dir() -> Path | None:
    """Where compiled programs are kept, or None when switched off by ``HOLDTRUE_CACHE=off``."""
    if os.environ.get(VARIABLE, "").lower() in ("off", "0", "no"):
        return None
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "holdtrue" / "xla" / _machine()


def use_cache() -> None:
    """Turn on jax's persistent compilation cache; a directory that cannot be written is no reason to stop.

    Called when holdtrue first imports its models. What was used longest ago is deleted where the directory holds
    more than ``HOLDTRUE_CACHE_MB`` (1024).
    """
    import jax

    directory = cache_dir()
    if directory is None or getattr(
        jax.config, "jax_compilation_cache_dir", None
    ):  # off, or the user has chosen a place
        return
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    if not os.access(directory, os.W_OK):
        return
    prune(directory, most_bytes())
    jax.config.update("jax_compilation_cache_dir", str(directory))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_raise_persistent_cache_errors", False)


def most_bytes() -> int:
    """How much is kept at most."""
    asked = os.environ.get(SIZE, "").strip()
    if asked and not asked.isdigit():
        raise DataError(f"{SIZE}: must be a whole number of megabytes; got {asked!r}. Unset it for {MOST_MB}.")
    return 1_000_000 * (int(asked) if asked else MOST_MB)


def prune(directory: Path, most: int) -> None:
    """Delete what was used longest ago until no more is kept than may be; what others delete meanwhile is gone."""
    found = []
    with os.scandir(directory) as entries:
        for entry in entries:
            try:
                known = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if entry.is_file(follow_symlinks=False):
                found.append((max(known.st_atime, known.st_mtime), known.st_size, entry.path))
    total = sum(size for _, size, _ in found)
    if total <= most:
        return
    for _, size, path in sorted(found):
        if total <= KEPT * most:
            return
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size


def _machine() -> str:
    """A name for the kind of processor: home directories are shared, machine code is not."""
    text = platform.machine() + platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        text += next((line for line in lines if line.startswith(("flags", "Features"))), "")
    except OSError:
        pass
    return f"{platform.machine() or 'cpu'}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
