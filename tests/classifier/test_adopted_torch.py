"""Networks of PyTorch in a model file: programs and weights, read without running anything in them."""

import io
import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import holdtrue as ht
from holdtrue.encoding import Encoder
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models.adapters import from_torch

torch = pytest.importorskip("torch", reason="torch is not installed; pip install 'holdtrue[torch]' to run it")
pytest.importorskip("skops.io", reason="skops is not installed; pip install 'holdtrue[skops]' to run it")
nn = torch.nn

COLUMNS = ["loanprc", "obrat", "atotinc", "unver", "pubrec", "cons"]
BANK = ht.datasets.load("loanapp")
X = BANK.X[COLUMNS]
SCHEMA = ht.Schema([BANK.schema[name] for name in COLUMNS])
SCALER = StandardScaler().fit(X)
LAYERS = "Linear(6, 5), BatchNorm1d(5), ReLU, Dropout(0.2), Linear(5, 1), Sigmoid()"


class Odd(nn.Module):
    """No chain: it adds what it skipped, and takes the shape of its input apart."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(6, 4), nn.Linear(6, 2, bias=False)
        self.last, self.norm = nn.Linear(4, 2), nn.BatchNorm1d(4)
        self.register_buffer("shift", torch.tensor([0.0, 0.3]))

    def forward(self, x: Any) -> Any:
        x = x.view(x.shape[0], -1)
        hidden = nn.functional.gelu(self.norm(self.one(x)))
        return self.last(hidden) + torch.cat([self.two(x)[:, :1], self.two(x)[:, 1:]], dim=1) * 2 - self.shift


def chain() -> Any:
    torch.manual_seed(1)
    made = nn.Sequential(
        nn.Linear(6, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Dropout(0.2), nn.Linear(5, 1), nn.Sigmoid()
    )
    made(torch.randn(100, 6))  # moves the running statistics
    return made.eval()


def odd() -> Any:
    torch.manual_seed(0)
    made = Odd()
    made(torch.randn(100, 6))
    return made.eval()


def level(model: Any) -> float:
    return float(np.quantile(model.predict_proba(X)[:, 1], 0.5))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("torch") / "odd.pt2"
    rows = (torch.zeros(3, 6),)
    torch.export.save(torch.export.export(odd(), rows, dynamic_shapes=({0: torch.export.Dim("n")},)), place)
    return place


@pytest.mark.parametrize(
    ("make", "note"), [(chain, "Read as LayersModel."), (odd, "Read as TorchModel.")], ids=["chain", "odd"]
)
def test_a_module_comes_back_the_same(make: Any, note: str, tmp_path: Path) -> None:
    theirs = from_torch(make(), SCALER)
    adopted = ht.adopt(theirs, SCHEMA, reference=X, threshold=level(theirs), method="nearest_neighbour")
    assert adopted.format_ == "torch"
    adopted.save(tmp_path / "m.holdtrue")
    again = ht.load(tmp_path / "m.holdtrue")
    assert again.predictor_.foreign.note == note
    assert again.predictor_.digest() == adopted.predictor_.digest()
    own = again.predictor_.foreign.estimator
    assert (own.predict_proba(X) == theirs.predict_proba(X)).all()  # torch's own arithmetic, to the last bit
    np.testing.assert_allclose(again.predict_proba(X), theirs.predict_proba(X), rtol=1e-12)
    refused = X[again.predict(X) == 0].head(4)
    plan = again.recourse(refused)
    assert (theirs.predict_proba(plan.to_frame()[COLUMNS])[plan.found][:, 1] >= again.threshold - 1e-9).all()
    assert ht.audit(plan).n_at_odds == 0
    with zipfile.ZipFile(tmp_path / "m.holdtrue") as archive:
        assert b"test_adopted_torch" not in b"".join(archive.read(name) for name in archive.namelist())
    with pytest.raises(CapabilityError, match="does not say how it was trained"):
        ht.retrain(again, X, np.asarray(BANK.y), n=2)


def test_an_encoder_before_it(tmp_path: Path) -> None:
    encoder = Encoder.fit(SCHEMA, X)
    torch.manual_seed(0)
    theirs = from_torch(nn.Sequential(nn.Linear(encoder.n_columns, 3)), encoder, classes=["a", "b", "c"])
    ht.adopt(theirs, SCHEMA, reference=X, favourable="c", method="nearest_neighbour").save(tmp_path / "m.holdtrue")
    again = ht.load(tmp_path / "m.holdtrue")
    assert again.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(again.predict_proba(X[:50]), theirs.predict_proba(X[:50]), rtol=1e-12)


def test_a_program_and_weights_from_files(program: Path, tmp_path: Path) -> None:
    expected = from_torch(odd()).predict_proba(X)
    assert (from_torch(program).predict_proba(X) == expected).all()
    assert (from_torch(torch.export.load(program)).predict_proba(X) == expected).all()
    net = chain()
    torch.save({"state_dict": {f"net.{k}": v for k, v in net.state_dict().items()}}, tmp_path / "net.pt")
    same = from_torch(net).predict_proba(X)
    for state in (tmp_path / "net.pt", net.state_dict(), _safetensors(net, tmp_path / "net.safetensors")):
        assert (from_torch(state, architecture=LAYERS).predict_proba(X) == same).all()


# ---- what is refused ---------------------------------------------------------------------------------


class Runs:
    def __reduce__(self) -> Any:
        return os.mkdir, ("run-by-a-pickle",)


def test_nothing_in_a_file_is_run(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"0.weight": Runs()}, tmp_path / "evil.pt")
    with pytest.raises(DataError, match="holds more than weights"):
        from_torch(tmp_path / "evil.pt", architecture="Linear(6, 1)")
    evil = _changed(program, "data/sample_inputs/model.pt", lambda _: pickle.dumps(Runs()))
    from_torch(_written(tmp_path / "evil.pt2", evil)).predict_proba(X[:2])
    for text in (
        "__import__('os').mkdir('run-by-text')",
        "Linear(6, 1), os.mkdir('x')",
        "Linear(*[6, 1])",
        "6",
        "",
    ):
        with pytest.raises(DataError, match="must name layers"):
            from_torch({}, architecture=text)
    assert sorted(os.listdir(tmp_path)) == ["evil.pt", "evil.pt2"]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda g: g["nodes"][0].update(target="torch.ops.aten.from_file.default"), "not on the list"),
        (lambda g: g["nodes"][0].update(target="os.system"), "not on the list"),
        (lambda g: g["nodes"][1]["inputs"][0]["arg"]["as_tensor"].update(name="nobody"), "before it is made"),
    ],
)
def test_programs_that_ask_for_more(program: Path, tmp_path: Path, edit: Any, said: str) -> None:
    def change(blob: bytes) -> bytes:
        model = json.loads(blob)
        edit(model["graph_module"]["graph"])
        return json.dumps(model).encode()

    place = _written(tmp_path / "m.pt2", _changed(program, "models/model.json", change))
    with pytest.raises(DataError, match=said):
        from_torch(place)


def test_what_does_not_fit(program: Path, tmp_path: Path) -> None:
    state = chain().state_dict()
    for layers, said in (
        ("Linear(6, 4), Linear(4, 1)", "not those of the architecture"),
        ("Linear(6, 5), BatchNorm1d(5)", "reads 7 arrays; got 9"),
        (None, "got no `architecture`"),
    ):
        with pytest.raises(DataError, match=said):
            from_torch(state, architecture=layers)
    with pytest.raises(DataError, match="Leave it out"):
        from_torch(program, architecture=LAYERS)
    with pytest.raises(DataError, match="no such file"):
        from_torch(tmp_path / "absent.pt")
    training = odd().train()
    with pytest.raises(DataError, match=r"exported while training.*module\.eval"):
        from_torch(torch.export.export(training, (torch.zeros(3, 6),)))
    small = _changed(program, "data/weights/weight_0", lambda blob: blob[:8])
    with pytest.raises(DataError, match="larger than what is kept"):
        from_torch(_written(tmp_path / "small.pt2", small))


def _changed(place: Path, part: str, change: Any) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(place) as archive, zipfile.ZipFile(out, "w") as made:
        for info in archive.infolist():
            blob = archive.read(info)
            made.writestr(info.filename, change(blob) if info.filename.endswith(part) else blob)
    return out.getvalue()


def _written(place: Path, blob: bytes) -> Path:
    place.write_bytes(blob)
    return place


def _safetensors(net: Any, place: Path) -> Path:
    """As the format's page describes it, by hand."""
    header, data = {}, b""
    for name, value in net.state_dict().items():
        blob = value.numpy().tobytes()
        kind = "I64" if value.dtype == torch.int64 else "F32"
        header[name] = {
            "dtype": kind,
            "shape": list(value.shape),
            "data_offsets": [len(data), len(data) + len(blob)],
        }
        data += blob
    text = json.dumps(header).encode()
    return _written(place, len(text).to_bytes(8, "little") + text + data)
