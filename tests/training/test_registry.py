"""Every registered regime keeps the contract."""

import pytest

from holdfast.testing import RegimeChecks
from holdfast.training import REGIMES


@pytest.mark.parametrize("name", list(REGIMES))
class TestRegimes(RegimeChecks):
    @pytest.fixture
    def regime(self, name):
        return REGIMES[name](n_epochs=20, step_size=0.01)
