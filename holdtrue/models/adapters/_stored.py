"""Models of other libraries as bytes in a safe format of their own, and back. Nothing in the bytes is run."""

import io
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from holdtrue._optional import need
from holdtrue._types import Estimator, JsonObject
from holdtrue.encoding import Encoder
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models.adapters._given import HardVotes, LightGBMBooster, as_classifier, from_xgboost
from holdtrue.models.adapters._onnx import OnnxClassifier, from_onnx
from holdtrue.models.adapters._optbinning import ScorecardClassifier, StoredScorecard, packed, unpacked
from holdtrue.models.adapters._recipes import recipe_of
from holdtrue.models.adapters._torch import TorchClassifier, from_torch
from holdtrue.models.adapters._torch_program import Program, as_module, from_archive, npy

TRUSTED = (
    "collections.OrderedDict",
    "functools.partial",  # of a function that is looked at by itself
    "lightgbm.basic.Booster",
    "lightgbm.sklearn.LGBMClassifier",
    "numpy.dtype",
    "scipy._lib.array_api_compat.numpy._aliases.asarray",  # which a spline of newer versions of SciPy keeps
    "scipy.interpolate._bsplines.BSpline",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
    "sklearn.utils.validation.check_array",
    "xgboost.core.Booster",
    "xgboost.sklearn.XGBClassifier",
    "xgboost.sklearn.XGBRFClassifier",
)
"""Types that are built from a file beside those that skops trusts itself: each only takes data in."""
LIBRARIES = ("sklearn", "xgboost", "lightgbm")
NEEDLESS = "sklearn.externals.array_api_compat.torch"
PICKLES = (".pkl", ".pickle", ".joblib", ".sav")

Stored = tuple[str, bytes, JsonObject]
"""The format, what is in it, and what else must be known to read it."""


def to_stored(estimator: Estimator) -> Stored:
    """A fitted model as bytes; one that no safe format can hold is refused."""
    library, name = type(estimator).__module__.partition(".")[0], type(estimator).__name__
    if isinstance(estimator, OnnxClassifier):
        return "onnx", estimator.proto, estimator.said
    if isinstance(estimator, LightGBMBooster):
        return "lightgbm", estimator.booster_.model_to_string().encode(), {}
    if isinstance(estimator, TorchClassifier):
        return "torch", *_to_torch(estimator)
    if isinstance(estimator, (ScorecardClassifier, StoredScorecard)):
        return "scorecard", packed(estimator.binning(), _to_skops(estimator.last)[0]), {}
    if isinstance(estimator, HardVotes):
        return "votes", *_to_skops(estimator.estimator)
    if library == "catboost":
        return "catboost", _to_catboost(estimator), {} if is_raw(estimator) else {"params": _plain(estimator)}
    if library == "xgboost" and is_raw(estimator):
        return "xgboost", bytes(estimator.get_booster().save_raw("ubj")), {}
    if library in LIBRARIES:
        return "skops", *_to_skops(estimator)
    raise CapabilityError(
        f"adopt: no safe file format holds a {name} of {library}. Export it to ONNX, or use it in this process "
        "with holdtrue.recourse."
    )


def from_stored(kind: str, blob: bytes, info: JsonObject) -> Estimator:
    """The inverse of `to_stored`."""
    if kind not in _READERS:
        raise DataError(f"load: the file holds a model of an unknown format; got {kind!r}. Upgrade holdtrue.")
    try:
        return _READERS[kind](blob, info)
    except (DataError, CapabilityError, ImportError):
        raise
    except Exception as error:  # whatever a library says of damaged bytes
        raise DataError(
            f"load: the model in the file cannot be read as {kind} ({type(error).__name__}: {str(error)[:200]})."
        ) from error


def from_path(path: str | os.PathLike[str]) -> Estimator:
    """Read a model file of another library: which one is told by what is in it."""
    place = Path(path)
    if not place.is_file():
        raise DataError(f"adopt: there is no such file; got {str(path)!r}. Check the path.")
    if place.suffix in PICKLES:
        raise DataError(
            f"adopt: a pickle runs code when it is read; got {str(path)!r}. Write it with skops.io.dump where it "
            "was made, or load it in Python yourself and call holdtrue.adopt(model, ...)."
        )
    blob = place.read_bytes()
    kind = _kind(blob, place.suffix)
    if kind is None:
        raise DataError(
            f"adopt: the file is of no known format; got {str(path)!r}. Known are XGBoost (json, ubj), LightGBM "
            "(txt), CatBoost (cbm, json), ONNX, torch (an exported program, or weights with an architecture) and "
            "skops."
        )
    if kind == "torch state":
        return from_torch(place)
    if kind == "catboost":
        return _from_catboost(blob, {"format": "json" if blob[:1] == b"{" else "cbm"})
    return from_stored(kind, blob, {})


def read_transformer(path: str | os.PathLike[str]) -> Estimator:
    """A fitted transformer from a file of skops: what makes a network's input of a table."""
    place = Path(path)
    if not place.is_file():
        raise DataError(f"adopt: there is no such file; got {str(path)!r}. Check the path.")
    try:
        found = _from_skops(place.read_bytes(), {})
    except zipfile.BadZipFile:
        raise DataError(f"adopt: the transformer must be written by skops.io.dump; got {str(path)!r}.") from None
    if not hasattr(found, "transform"):
        raise DataError(f"adopt: the file must hold a fitted transformer; got {type(found).__name__}.")
    return found


def _kind(blob: bytes, suffix: str) -> str | None:
    if blob[:4] == b"CBM1":
        return "catboost"
    if zipfile.is_zipfile(io.BytesIO(blob)):
        with zipfile.ZipFile(io.BytesIO(blob)) as archive:
            names = archive.namelist()
        if any(name.endswith("models/model.json") for name in names):
            return "torch archive"
        return "torch state" if any(name.endswith("data.pkl") for name in names) else "skops"
    if suffix == ".safetensors":
        return "torch state"
    if blob[:5] == b"tree\n" or blob[:6] == b"tree\r\n":
        return "lightgbm"
    if blob[:1] == b"{":
        if b"oblivious_trees" in blob or b'"scale_and_bias"' in blob:
            return "catboost"
        return "xgboost" if b"learner" in blob[:4096] or suffix in (".ubj", ".json") else None
    return "onnx" if suffix == ".onnx" else None


# ---- one pair a format ---------------------------------------------------------------------------------


def _skops() -> ModuleType:
    """skops, imported without torch.

    It looks through all of scikit-learn for estimators, and a package there that holds none imports torch where
    that is installed: a second and a half of every command. While it looks, that package is not to be found.
    """
    quiet = "skops.io" not in sys.modules and NEEDLESS not in sys.modules
    if quiet:
        sys.modules[NEEDLESS] = None  # type: ignore[assignment]
    try:
        return need("skops.io", extra="skops", what="adopt, load: a scikit-learn model")
    finally:
        if quiet:
            del sys.modules[NEEDLESS]


def _to_skops(estimator: Estimator) -> tuple[bytes, JsonObject]:
    skops = _skops()
    blob = skops.dumps(estimator)
    _check_trusted(skops, blob, "adopt: the model is made of types that a file may not hold")
    return blob, {}


def _from_skops(blob: bytes, info: JsonObject) -> Estimator:
    skops = _skops()
    _check_trusted(skops, blob, "load: the file asks for types that are not trusted")
    return skops.loads(blob, trusted=list(TRUSTED))


def _check_trusted(skops: ModuleType, blob: bytes, what: str) -> None:
    odd = [name for name in skops.get_untrusted_types(data=blob) if name not in TRUSTED]
    if odd:
        raise DataError(f"{what}; got {', '.join(odd[:5])}. Build it of scikit-learn's own, or export it to ONNX.")


def _from_scorecard(blob: bytes, info: JsonObject) -> Estimator:
    binning, last = unpacked(blob)
    return StoredScorecard(binning, _from_skops(last, info))


def _from_votes(blob: bytes, info: JsonObject) -> Estimator:
    return HardVotes(_from_skops(blob, info))


def _from_xgboost(blob: bytes, info: JsonObject) -> Estimator:
    xgboost = need("xgboost", extra="xgboost", what="load: an XGBoost model")
    booster = xgboost.Booster()
    booster.load_model(bytearray(blob))
    return from_xgboost(booster)


def _from_lightgbm(blob: bytes, info: JsonObject) -> Estimator:
    lightgbm = need("lightgbm", extra="lightgbm", what="load: a LightGBM model")
    return LightGBMBooster(lightgbm.Booster(model_str=blob.decode("utf-8")))


def _to_catboost(estimator: Estimator) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "model.cbm"
        estimator.save_model(str(place), format="cbm")
        return place.read_bytes()


def _from_catboost(blob: bytes, info: JsonObject) -> Estimator:
    catboost = need("catboost", extra="catboost", what="load: a CatBoost model")
    params = info.get("params")
    model = catboost.CatBoostClassifier(**(params or {}))
    model._from_booster = params is None
    with tempfile.TemporaryDirectory() as folder:  # from memory it reads one of its formats only
        place = Path(folder) / "model"
        place.write_bytes(blob)
        return model.load_model(str(place), format=info.get("format", "cbm"))


def _from_onnx(blob: bytes, info: JsonObject) -> Estimator:
    onnx = need("onnx", extra="onnx", what="load: an ONNX model")
    return from_onnx(onnx.load_model_from_string(blob), **info)


def _to_torch(estimator: TorchClassifier) -> tuple[bytes, JsonObject]:
    """The program, and what makes its input: a transformer through skops, an encoder as JSON and arrays."""
    reads, parts = estimator.reads, {"program": estimator.program().to_bytes()}
    classes = getattr(estimator, "classes_", None)
    info: JsonObject = {"outputs": estimator.outputs, "classes": None if classes is None else classes.tolist()}
    if isinstance(reads, Encoder):
        info["encoder"] = reads.to_dict()
        parts |= {f"encoder/{name}.npy": npy(values) for name, values in reads.arrays.items()}
    elif reads is not None:
        parts["reads"] = _to_skops(reads)[0]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, blob in parts.items():
            archive.writestr(zipfile.ZipInfo(name), blob)
    return out.getvalue(), info


def _from_torch(blob: bytes, info: JsonObject) -> Estimator:
    reads: Any = None
    with zipfile.ZipFile(io.BytesIO(blob)) as archive:
        names = archive.namelist()
        module = as_module(Program.from_bytes(archive.read("program")))
        if "reads" in names:
            reads = _from_skops(archive.read("reads"), {})
        elif "encoder" in info:
            own = {n.removeprefix("encoder/").removesuffix(".npy"): n for n in names if n.startswith("encoder/")}
            arrays = {key: np.load(io.BytesIO(archive.read(n)), allow_pickle=False) for key, n in own.items()}
            reads = Encoder.from_dict(info["encoder"], arrays)
    return from_torch(module, reads, outputs=info["outputs"], classes=info["classes"])


def _from_torch_archive(blob: bytes, info: JsonObject) -> Estimator:
    return from_torch(as_module(from_archive(blob)))


_READERS: dict[str, Callable[[bytes, JsonObject], Estimator]] = {
    "skops": _from_skops,
    "votes": _from_votes,
    "scorecard": _from_scorecard,
    "xgboost": _from_xgboost,
    "lightgbm": _from_lightgbm,
    "catboost": _from_catboost,
    "onnx": _from_onnx,
    "torch": _from_torch,
    "torch archive": _from_torch_archive,
}


def given(model: Estimator) -> Estimator:
    """A classifier, of an object or of a file's path."""
    if isinstance(model, (str, os.PathLike)) and Path(model).suffix != ".onnx":
        model = from_path(model)
    return as_classifier(model)


def can_train_again(estimator: Estimator) -> bool:
    """Whether it brings the parameters that it was trained with, or they can be read from it."""
    if is_raw(estimator):
        return recipe_of(estimator) is not None
    return hasattr(estimator, "get_params") and hasattr(estimator, "fit")


def is_raw(estimator: Estimator) -> bool:
    """Whether it was made of a booster alone: its parameters are then the library's defaults."""
    return isinstance(estimator, LightGBMBooster) or bool(getattr(estimator, "_from_booster", False))


def _plain(estimator: Estimator) -> JsonObject:
    kinds = (bool, int, float, str, list, dict, type(None))
    return {name: value for name, value in estimator.get_params().items() if isinstance(value, kinds)}
