"""The ledger's PostgreSQL server, for gates too; and what gates are asked of."""

import importlib.util
from pathlib import Path

import pytest

import holdtrue as ht

from .world import model

_place = Path(__file__).resolve().parents[1] / "ledger" / "conftest.py"
_spec = importlib.util.spec_from_file_location("ledger_conftest", _place)
assert _spec is not None
assert _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
server, postgres = _module.server, _module.postgres


@pytest.fixture
def ledger(tmp_path):
    with ht.Ledger.create(tmp_path / "l.db") as ledger:
        yield ledger


@pytest.fixture(scope="session")
def sixty():
    return model(60)


@pytest.fixture(scope="session")
def wachter(sixty):
    return ht.Wachter(n_steps=200, norm="l1", random_state=0).fit(sixty)
