"""Every registered method keeps the contract."""

import pytest

from holdfast.errors import DataError
from holdfast.methods import METHODS, fitting, method
from holdfast.testing import MethodChecks


@pytest.mark.parametrize("name", list(METHODS))
class TestMethods(MethodChecks):
    @pytest.fixture
    def method(self, name):
        return METHODS[name]()


def test_unknown_names_are_answered_with_the_nearest():
    with pytest.raises(DataError, match="Did you mean 'wachter'"):
        method("wachtr")


def test_a_model_without_gradients_is_served_by_someone():
    assert "NearestNeighbour" in fitting(())
    assert "Wachter" not in fitting(())
