"""For every test: programs are traced and compiled as fast as can be, since that is most of the time."""

import ctypes
import gc
import importlib.util
import mmap
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

MANY_MAPS = 45_000
MUCH = 4 * 2**30  # bytes of memory; twice that for each of two workers, and a machine of 16 GiB has none left
MORE = 2**30  # than there was after the last time: what is not compiled programs stays
SECONDS_BETWEEN_COUNTS = 3.0
DAYS_KEPT = 7  # of compiled programs
MANY_TESTS = 3000  # all of them, or nearly
_counted = time.monotonic()
_left = 0
# Programs here run for moments, so what counts is how fast they are compiled. XLA's older emitters of fused loops
# need a third of the newer ones' time; in one piece each program needs a sixth less time and half the memory maps;
# and a fifth goes into moving code out of loops. Set XLA_FLAGS to nothing to test with what users have.
QUICK = {
    "xla_backend_optimization_level": "0",
    "xla_cpu_use_fusion_emitters": "false",
    "xla_cpu_parallel_codegen_split_count": "1",
    "xla_disable_hlo_passes": "while-loop-invariant-code-motion",
}

# By the kind of library, the variable that says how many threads it starts; read when it is imported.
THREADS = {"openmp": "OMP_NUM_THREADS", "blas": "OPENBLAS_NUM_THREADS"}

# With HOLDTRUE_TYPECHECK=1, annotations of these are checked at every call, shapes and dtypes included: what is
# inside, where arrays are; and arrays of different rank or dtype are not combined. What users call checks its
# arguments itself, with errors of its own. Tests of searches take a sixth longer, so it is a run of its own
# (tests/encoding, tests/search, tests/batch).
CHECKED = (
    "encoding._distance",
    "encoding._feasible",
    "encoding._permits",
    "encoding._polytope",
    "search",
    "batch._map",
    "batch._solve",
    "models._autoencoder",
    "models._base",
    "models._decision",
    "models._ensemble",
    "models._fit",
    "models._vae",
    "methods._local",
)


def pytest_configure(config: pytest.Config) -> None:
    """Set what jax and others read from the environment, before they are imported."""
    gc.disable()  # while modules are imported there is no garbage to find
    os.environ.setdefault("JAX_INCLUDE_FULL_TRACEBACKS_IN_LOCATIONS", "0")  # where in a program's source: unread
    os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")
    # Threads of scikit-learn, xgboost and lightgbm wait for each other at full speed: where two workers have two
    # cores, that takes half of the time of the tests that use them.
    for variable in THREADS.values():
        os.environ.setdefault(variable, "1")
    quick = [f"--{flag}={value}" for flag, value in QUICK.items() if _known(flag)]
    os.environ.setdefault("XLA_FLAGS", " ".join(quick))
    here = Path(config.rootpath) / ".." / "shared" / "data"
    if here.is_dir():
        os.environ.setdefault("HOLDTRUE_DATA", str(here.resolve()))
    if os.environ.get("HOLDTRUE_TYPECHECK") == "1":
        os.environ.setdefault("JAX_NUMPY_RANK_PROMOTION", "raise")  # axes are never added unasked
        os.environ.setdefault("JAX_NUMPY_DTYPE_PROMOTION", "strict")  # nor is a dtype changed
        _relax_adam()
        from jaxtyping import install_import_hook

        # By a name of its own: what pytest calls this file among modules, if anything, depends on its version.
        beside = ModuleType("holdtrue_conftest")
        vars(beside)["checked"] = checked
        sys.modules["holdtrue_conftest"] = beside
        install_import_hook([f"holdtrue.{name}" for name in CHECKED], "holdtrue_conftest.checked")


def _relax_adam() -> None:
    """Optax's raises a float to the power of a whole number: its own step is left as it is."""
    import jax
    import optax

    strict = optax.scale_by_adam

    def scale_by_adam(*args: Any, **options: Any) -> optax.GradientTransformation:
        rule = strict(*args, **options)

        def update(*step: Any, **more: Any) -> Any:
            with jax.numpy_dtype_promotion("standard"):
                return rule.update(*step, **more)

        return optax.GradientTransformation(rule.init, update)

    optax.scale_by_adam = scale_by_adam


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Hold every call of a function against its annotations, shapes and dtypes included."""
    from beartype import BeartypeConf, beartype
    from beartype.roar import BeartypeDecorHintPep673Exception

    try:
        return beartype(conf=BeartypeConf(is_pep484_tower=True))(function)  # a whole number is a float, too
    except BeartypeDecorHintPep673Exception:  # beartype knows `Self` only where it decorates the whole class
        return function


def _known(flag: str) -> bool:
    """Whether this jaxlib has an XLA flag: it ends the process over one that it has not."""
    found = importlib.util.find_spec("jaxlib")
    folder = Path(next(iter(found.submodule_search_locations or []), "")) if found else Path()
    for path in folder.iterdir():
        if path.suffix in {".so", ".dylib", ".pyd", ".dll"} and path.stat().st_size:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as library:
                if library.find(flag.encode()) >= 0:
                    return True
    return False


def _keep_programs(config: pytest.Config) -> None:
    """Keep compiled programs for the other worker and for the next run, unless the environment names a place.

    Not where users' programs are, which holdtrue chooses when it is imported. Processes that tests start do not
    share them: some are killed, and may leave half of one.
    """
    import jax

    folder = getattr(config, "cache", None)  # none with -p no:cacheprovider
    if folder is None or "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    from jax._src.compilation_cache import reset_cache
    from jax._src.lru_cache import LRUCache

    def put(self: LRUCache, key: str, value: bytes) -> None:
        """In one step: jax writes in place, and who reads meanwhile would read half a program."""
        path = Path(str(self.path)) / f"{key}-cache"
        own = path.with_name(f"{path.name}.{os.getpid()}")
        own.write_bytes(value)
        own.replace(path)

    LRUCache.put = put
    jax.config.update("jax_compilation_cache_dir", str(folder.mkdir("xla")))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    reset_cache()  # a module may have compiled something when it was imported


def _one_thread() -> None:
    """Hold libraries to their variables that were imported before these were set: by a plugin, without workers."""
    from threadpoolctl import threadpool_limits

    threadpool_limits({kind: int(os.environ[variable].split(",")[0]) for kind, variable in THREADS.items()})


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave modules of the package alone that have no example to run."""
    if collection_path.suffix != ".py" or Path(config.rootpath) / "holdtrue" not in collection_path.parents:
        return None
    return None if ">>>" in collection_path.read_text(encoding="utf-8") else True


def pytest_sessionstart(session: pytest.Session) -> None:
    """Throw away programs that were compiled long ago; one process does, before others look."""
    folder = getattr(session.config, "cache", None)
    if folder is None or hasattr(session.config, "workerinput"):
        return
    for path in folder.mkdir("xla").iterdir():
        if path.stat().st_mtime < time.time() - DAYS_KEPT * 86_400:
            path.unlink(missing_ok=True)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Look for garbage seldom, and not among what was imported: tracing makes many objects and little garbage."""
    if "jax" in sys.modules:
        _keep_programs(session.config)
    if "sklearn" in sys.modules:
        _one_thread()
    if len(session.items) > MANY_TESTS:
        # The search over trees, whose machine code would be compiled anew in a test that switches its cache off.
        import holdtrue.search.exact._workers  # noqa: F401
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    gc.enable()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Drop compiled programs before the system runs out of memory maps, or of memory.

    Every program jax compiles holds several maps; Linux allows 65,530 to a process, and a program that cannot be
    mapped ends the process. Counting them takes as long as a short test, and filling them takes minutes.
    """
    global _counted, _left
    maps = Path("/proc/self/maps")
    if nextitem is None or time.monotonic() - _counted < SECONDS_BETWEEN_COUNTS or not maps.exists():
        return
    if maps.read_bytes().count(b"\n") > MANY_MAPS or _resident() > max(MUCH, _left + MORE):
        import jax

        jax.clear_caches()
        gc.collect()
        if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # or freed memory stays with the process
            trim(0)
        _left = _resident()
    _counted = time.monotonic()


def _resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
