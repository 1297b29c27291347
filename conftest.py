"""For every test: compiled programs are kept between workers and runs, since the suite is bound by compilation."""

import os
from pathlib import Path

import pytest

MANY_MAPS = 30_000


def pytest_configure(config: pytest.Config) -> None:
    """Set what jax reads from the environment, before it is imported."""
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(config.rootpath) / ".pytest_cache" / "xla"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    # Programs here run for moments, so what counts is how fast they are compiled.
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
    here = Path(config.rootpath) / ".." / "shared" / "data"
    if here.is_dir():
        os.environ.setdefault("HOLDFAST_DATA", str(here.resolve()))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep what shares compiled programs on one worker: a file's tests, and of the registry's, each method's."""
    for item in items:
        name = getattr(item, "callspec", None) and item.callspec.params.get("name")  # type: ignore[attr-defined]
        group = f"{item.path}-{name}" if name and item.path.name == "test_registry.py" else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Drop compiled programs before the system runs out of memory maps.

    Every program jax compiles holds several maps; Linux allows 65,530 to a process, and a program that cannot be
    mapped ends the process.
    """
    maps = Path("/proc/self/maps")
    if nextitem is not None and maps.exists() and maps.read_bytes().count(b"\n") > MANY_MAPS:
        import jax

        jax.clear_caches()
