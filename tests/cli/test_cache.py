from pathlib import Path

from holdfast.cli._cache import cache_dir


def test_place(monkeypatch, tmp_path):
    monkeypatch.delenv("HOLDFAST_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = cache_dir()
    assert place is not None
    assert place.parent == tmp_path / "holdfast" / "xla"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert Path("~/.cache/holdfast/xla").expanduser() in cache_dir().parents


def test_off(monkeypatch):
    monkeypatch.setenv("HOLDFAST_CACHE", "off")
    assert cache_dir() is None


def test_a_read_only_place_is_no_reason_to_stop(script, tmp_path, monkeypatch):
    (tmp_path / "holdfast").write_text("a file where a folder should be")
    code = (
        "from holdfast.cli._cache import use_cache; use_cache(); import jax; "
        "assert jax.config.jax_compilation_cache_dir is None"
    )
    import os
    import subprocess
    import sys

    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    environment.pop("HOLDFAST_CACHE")
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
