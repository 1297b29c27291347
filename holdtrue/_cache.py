"""Compiled programs are kept per user, so that the second command starts fast."""

import hashlib
import os
import platform
from pathlib import Path

VARIABLE = "HOLDTRUE_CACHE"


def cache_dir() -> Path | None:
    """Where compiled programs are kept, or None when switched off by ``HOLDTRUE_CACHE=off``."""
    if os.environ.get(VARIABLE, "").lower() in ("off", "0", "no"):
        return None
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "holdtrue" / "xla" / _machine()


def use_cache() -> None:
    """Turn on jax's persistent compilation cache; a directory that cannot be written is no reason to stop."""
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
    jax.config.update("jax_compilation_cache_dir", str(directory))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_raise_persistent_cache_errors", False)


def _machine() -> str:
    """A name for the kind of processor: home directories are shared, machine code is not."""
    text = platform.machine() + platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        text += next((line for line in lines if line.startswith(("flags", "Features"))), "")
    except OSError:
        pass
    return f"{platform.machine() or 'cpu'}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
