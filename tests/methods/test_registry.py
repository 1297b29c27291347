"""Every registered method keeps the contract."""

import pytest

from holdtrue.errors import DataError
from holdtrue.methods import METHODS, fitting, method, name_of
from holdtrue.testing import MethodChecks

# Where a small world needs less than the default, which only costs time here.
SETTINGS: dict[str, dict[str, int | float]] = {
    "beta_rce": {"n_guides": 4, "aim": 0.5, "n_candidates": 50, "n_steps": 30},
    "cchvae": {"n_candidates": 100, "n_steps": 60},
    # Nine rounds of a hundred accelerated steps turn a difference in the last bit into one of half a percent.
    "elastic_net": {"n_steps": 50, "n_rounds": 5},
    "flipset": {"n_samples": 200},
    "growing_spheres": {"n_candidates": 200, "n_steps": 100},
    "holding": {"n_guides": 2, "n_judges": 2},  # too few to measure a margin by, which tests/hold looks at
    "latent_search": {"n_candidates": 300},
    # All rows: a sample of them is drawn by what the model decides, and bound to another threshold stays as drawn.
    "nearest_neighbour": {"n_rows": 300, "n_candidates": 50},
    "probe": {"n_samples": 20, "n_candidates": 20, "n_steps": 60},
    "rbr": {"n_rows": 300, "n_neighbours": 20, "n_samples": 50, "n_steps": 100},
    "roar": {"n_samples": 200},
    "robx": {"n_samples": 20, "n_rows": 300, "n_candidates": 32, "n_steps": 10},
    "trex": {"n_samples": 20, "n_rows": 300, "n_candidates": 32, "n_steps": 100},
}


# The small world has networks; what serves trees alone has the same checks in tests/search/test_exact_trees.py.
SERVED = [name for name, kind in METHODS.items() if "trees" not in kind.needs and name != "exact_search"]
# Of searches by gradients, by draws, feature by feature and by linear programmes, one each is asked for options,
# and one by one, where limits across features bind; the code that keeps these is shared by all.
LIMITED = ("wachter", "growing_spheres", "sparse_search", "linear_program")


@pytest.mark.parametrize("name", SERVED)
class TestMethods(MethodChecks):
    @pytest.fixture
    def method(self, name):
        return METHODS[name](**SETTINGS.get(name, {}))

    def limited(self, method):
        return name_of(type(method)) in LIMITED


class TestExactSearch(MethodChecks):
    n_people = 6  # a proof for each of them, and no program to compile

    @pytest.fixture
    def method(self):
        return METHODS["exact_search"]()


def test_unknown_names_are_answered_with_the_nearest():
    with pytest.raises(DataError, match="Did you mean 'wachter'"):
        method("wachtr")


def test_a_model_without_gradients_is_served_by_someone():
    assert "NearestNeighbour" in fitting(())
    assert "Wachter" not in fitting(())
