"""Every registered regime keeps the contract."""

import pytest

from holdtrue.testing import RegimeChecks
from holdtrue.training import REGIMES, CFModel, Guides, VirtualShift

FEW = {"n_epochs": 20, "step_size": 0.01}
SHORT = FEW | {"batch_size": 64, "min_updates": 0}
SETTINGS = {
    "additive": {},
    "counternet": SHORT,
    "rocoursenet": SHORT | {"attacker": VirtualShift(steps=2, inner_steps=1)},
    "cf_model": SHORT,
    "vaecf": SHORT,
    "robust": {"regime": CFModel(**SHORT), "attacker": Guides(n_guides=2, n_held=1)},
}


@pytest.mark.parametrize("name", list(REGIMES))
class TestRegimes(RegimeChecks):
    @pytest.fixture
    def regime(self, name):
        return REGIMES[name](**SETTINGS.get(name, FEW))
