"""Every registered architecture keeps the contract."""

import pytest

from holdtrue.models import ARCHITECTURES, MLP, NTK, Additive, CounterNet, Ensemble, Linear, PiecewiseMLP
from holdtrue.testing import ModelChecks

EXAMPLES = {
    "additive": Additive(n_pieces=3),
    "linear": Linear(),
    "mlp": MLP(widths=(8, 4)),
    "mlp-tanh-dropout": MLP(widths=(12,), activation="tanh", dropout=0.1),
    "mlp-leaky": MLP(widths=(12,), activation="leaky_relu"),
    "piecewise": PiecewiseMLP(n_pieces=3, widths=(8,), dropout=0.0),
    "ntk": NTK(beta=0.5),
    "ntk-nystroem": NTK(beta=0.5, constant=1.0, n_rows=60),
    "counternet": CounterNet(encoder=(12, 6), predictor=(6,), generator=(8,), dropout=0.1),
    "ensemble": Ensemble(n_members=2, member=MLP(widths=(8,))),
}


@pytest.mark.parametrize("name", list(EXAMPLES))
class TestModels(ModelChecks):
    @pytest.fixture
    def architecture(self, name):
        return EXAMPLES[name]


def test_every_registered_architecture_is_checked():
    assert {type(example) for example in EXAMPLES.values()} >= set(ARCHITECTURES.values())
