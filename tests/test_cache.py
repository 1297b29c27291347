import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdtrue._cache import cache_dir


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
