import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdtrue._cache import cache_dir, most_bytes, prune
from holdtrue.errors import DataError


def test_place(monkeypatch, tmp_path):
    monkeypatch.delenv("HOLDTRUE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = cache_dir()
    assert place is not None
    assert place.parent == tmp_path / "holdtrue" / "xla"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert Path("~/.cache/holdtrue/xla").expanduser() in cache_dir().parents


def test_off(monkeypatch):
    monkeypatch.setenv("HOLDTRUE_CACHE", "off")
    assert cache_dir() is None


PRINT = (
    "from holdtrue._cache import use_cache; use_cache(); import jax; print(jax.config.jax_compilation_cache_dir)"
)


@pytest.mark.parametrize(
    ("chosen", "kept_in"),
    [
        (None, "None"),  # the folder cannot be made: that is no reason to stop
        ("elsewhere", "elsewhere"),  # the user's own choice stands
    ],
)
def test_use(tmp_path, chosen, kept_in):
    (tmp_path / "holdtrue").write_text("a file where a folder should be")
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    for name in ("HOLDTRUE_CACHE", "JAX_COMPILATION_CACHE_DIR"):
        environment.pop(name, None)
    if chosen is not None:
        environment["JAX_COMPILATION_CACHE_DIR"] = chosen
    done = subprocess.run(
        [sys.executable, "-c", PRINT], check=True, env=environment, capture_output=True, text=True
    )
    assert done.stdout.strip() == kept_in


def test_python_uses_it_too(tmp_path):
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    for name in ("HOLDTRUE_CACHE", "JAX_COMPILATION_CACHE_DIR"):
        environment.pop(name, None)
    code = "import holdtrue as ht; ht.MLP; import jax; print(jax.config.jax_compilation_cache_dir)"
    for off, kept_in in (("", str(tmp_path / "holdtrue" / "xla")), ("off", "None")):
        done = subprocess.run(
            [sys.executable, "-c", code],
            check=True, env=environment | {"HOLDTRUE_CACHE": off}, capture_output=True, text=True,
        )  # fmt: skip
        assert done.stdout.strip().startswith(kept_in)


def test_what_was_used_longest_ago_goes_first(tmp_path):
    for i in range(10):
        (tmp_path / f"program-{i}").write_bytes(b"x" * 100)
        os.utime(tmp_path / f"program-{i}", (i, i))
    prune(tmp_path, 1000)
    assert len(list(tmp_path.iterdir())) == 10
    prune(tmp_path, 500)
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"program-{i}" for i in range(6, 10)]


def test_how_much_is_kept(monkeypatch):
    monkeypatch.delenv("HOLDTRUE_CACHE_MB", raising=False)
    assert most_bytes() == 1_024_000_000
    monkeypatch.setenv("HOLDTRUE_CACHE_MB", "5")
    assert most_bytes() == 5_000_000
    monkeypatch.setenv("HOLDTRUE_CACHE_MB", "much")
    with pytest.raises(DataError, match="whole number of megabytes"):
        most_bytes()
