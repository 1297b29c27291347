"""PyTorch modules: converted layers and called-back modules give torch's values and torch's slopes."""

from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

import holdtrue as ht
from holdtrue.encoding import Encoder
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models.adapters import LayersModel, TorchModel, from_torch
from holdtrue.testing._world import SCHEMA, people

from .conftest import encode_all, mixed, ours

torch = pytest.importorskip("torch", reason="torch is not installed; pip install 'holdtrue[torch]' to run it")
nn = torch.nn


def module(n: int, k: int, *last: Any, strange: bool = False) -> Any:
    torch.manual_seed(0)
    middle = nn.SELU() if strange else nn.LeakyReLU(0.2)
    net = nn.Sequential(
        nn.Flatten(), nn.Linear(n, 12), nn.BatchNorm1d(12), middle, nn.Dropout(0.5),
        nn.Sequential(nn.Linear(12, 6), nn.Tanh(), nn.Linear(6, k, bias=False)), *last,
    )  # fmt: skip
    net(torch.randn(200, n))  # moves the running statistics of the batch norm
    return net


@pytest.mark.parametrize("strange", [False, True])
@pytest.mark.parametrize(
    ("k", "last"), [(2, ()), (3, (nn.Softmax(1),)), (3, (nn.LogSoftmax(1),)), (1, ()), (1, (nn.Sigmoid(),))]
)
def test_probabilities_and_slopes_are_torch_s(k: int, last: Any, strange: bool) -> None:
    table, _ = people()
    front = encode_all().fit(table)
    classifier = from_torch(module(front.transform(table).shape[1], k, *last, strange=strange), front)
    predictor = ht.wrap(classifier, SCHEMA, table, favourable="(last)")
    assert isinstance(predictor.decision.model, TorchModel if strange else LayersModel), predictor.foreign
    rows = mixed(table, 40).assign(tenure=5.0)
    np.testing.assert_allclose(ours(predictor, rows), classifier.predict_proba(rows), atol=1e-5)

    at = predictor.encoder.layout.slot("debt").start
    step = 1e-2 * predictor.encoder.scale[at]
    x = predictor.encoder.encode(rows).astype(np.float32)
    log_p = lambda moved: np.log(classifier.predict_proba(rows.assign(debt=rows["debt"] + moved))[:, 1])  # noqa: E731
    slope = jax.vmap(jax.grad(lambda row: jax.nn.log_softmax(predictor.decision.model.logits(row))[1]))(x)
    expected = (log_p(step) - log_p(-step)) / 2e-2
    np.testing.assert_allclose(np.asarray(slope)[:, at], expected, atol=2e-3)


def test_a_module_that_reads_encoded_rows() -> None:
    table, _ = people()
    encoder = Encoder.fit(SCHEMA, table, "standard-all")
    classifier = from_torch(module(encoder.n_columns, 2), encoder, classes=["no", "yes"])
    predictor = ht.wrap(classifier, SCHEMA, table, favourable="(last)")
    assert isinstance(predictor.decision.model, LayersModel)
    rows = mixed(table, 100)
    np.testing.assert_allclose(ours(predictor, rows), classifier.predict_proba(rows), atol=1e-5)
    assert predictor.favourable == "yes"


def test_wachter_on_a_module_of_any_kind() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    scaler = StandardScaler().fit(X)
    classifier = from_torch(module(3, 2, strange=True), scaler)
    p = classifier.predict_proba(X)[:, 1]
    level = float(np.quantile(p, 0.6))
    refused = X[p < level].head(20)
    plan = ht.recourse(classifier, refused, None, "wachter", reference=X, threshold=level)
    assert plan.found.mean() > 0.9
    assert (plan.after[plan.found] >= level).all()


def test_what_is_refused() -> None:
    with pytest.raises(CapabilityError, match=r"torch\.nn\.Module"):
        from_torch(object())
    with pytest.raises(DataError, match="outputs"):
        from_torch(nn.Linear(2, 2), outputs="odds")  # type: ignore[arg-type]
