"""For every test: compiled programs are kept between workers and runs, since the suite is bound by compilation."""

import os
from pathlib import Path

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Set what jax reads from the environment, before it is imported."""
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(config.rootpath) / ".pytest_cache" / "xla"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    here = Path(config.rootpath) / ".." / "shared" / "data"
    if here.is_dir():
        os.environ.setdefault("HOLDFAST_DATA", str(here.resolve()))
