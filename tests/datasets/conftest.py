"""The data directory, and the reason to skip when there is none."""

import os
from pathlib import Path

import pytest

_NAMED = os.environ.get("HOLDTRUE_DATA")
DATA = Path(_NAMED).expanduser() if _NAMED else Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def data_dir(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point holdtrue at the data files, or skip."""
    if not DATA.is_dir():
        pytest.skip(
            "needs the data files: set HOLDTRUE_DATA to their directory, or put them in ../shared/data beside "
            "the repository"
        )
    monkeypatch.setenv("HOLDTRUE_DATA", str(DATA))
    return DATA


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache and no data directory; returns the cache."""
    monkeypatch.delenv("HOLDTRUE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "holdtrue" / "data"
