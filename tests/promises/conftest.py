"""The ledger's PostgreSQL server, for gates too."""

import importlib.util
from pathlib import Path

_place = Path(__file__).resolve().parents[1] / "ledger" / "conftest.py"
_spec = importlib.util.spec_from_file_location("ledger_conftest", _place)
assert _spec is not None
assert _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
server, postgres = _module.server, _module.postgres
