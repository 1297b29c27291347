"""Recourse that holds: classifiers that owe people a way to a yes, and the proof that it still works.

Names are loaded when first used: ``import holdtrue`` imports neither jax nor pandas.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "schema": ("Feature", "Implication", "LinearConstraint", "Schema"),
    "ledger": ("Ledger", "Letter", "Record", "letters"),
    "models": ("NTK", "CounterNet", "Ensemble", "Linear", "MLP"),
    "causal": ("SCM",),
    "search": ("Status",),
    "methods": (
        "ROAR",
        "ECCCo",
        "ElasticNet",
        "Flipset",
        "Generated",
        "Generic",
        "CCHVAE",
        "RBR",
        "CausalRecourse",
        "CFProto",
        "REVISE",
        "LatentSearch",
        "GrowingSpheres",
        "HighestScore",
        "LinearProgram",
        "MinPGD",
        "NearestNeighbour",
        "RecourseFrame",
        "SNS",
        "SparseSearch",
        "StableSearch",
        "VanillaRandom",
        "Wachter",
    ),
    "training": (
        "JEM",
        "AdversarialTraining",
        "CFModel",
        "CounterNetTraining",
        "CounterfactualTraining",
        "Guides",
        "RandomShift",
        "RecourseTraining",
        "Retrained",
        "RoCourseNet",
        "Robust",
        "StandardTraining",
        "TRADES",
        "VAECF",
        "VirtualShift",
        "retrain",
    ),
    "audit": (
        "Attack",
        "Calibration",
        "Comparison",
        "Report",
        "ShelfLife",
        "Tradeoff",
        "Tuning",
        "attack",
        "shelf_life",
    ),
    "classifier": (
        "Certificate",
        "CertificateCheck",
        "RecourseClassifier",
        "Replay",
        "certify",
        "compare",
        "records",
        "recourse",
        "replay",
        "tradeoff",
        "tune",
        "verify",
        "wrap",
    ),
    "promises": ("GateReport", "gate"),
}
_WHERE = {name: module for module, names in _HOME.items() for name in names}
_FOLDERS = (
    "audit",
    "batch",
    "causal",
    "datasets",
    "errors",
    "ledger",
    "methods",
    "metrics",
    "models",
    "promises",
    "schema",
    "testing",
    "tracking",
    "training",
)

__all__ = sorted([*_WHERE, *_FOLDERS, "__version__"])  # pyright: ignore[reportUnsupportedDunderAll]

if TYPE_CHECKING:
    from holdtrue import (
        audit,
        batch,
        causal,
        datasets,
        errors,
        ledger,
        methods,
        metrics,
        models,
        promises,
        schema,
        testing,
        tracking,
        training,
    )
    from holdtrue.audit import (
        Attack,
        Calibration,
        Comparison,
        Report,
        ShelfLife,
        Tradeoff,
        Tuning,
        attack,
        shelf_life,
    )
    from holdtrue.causal import SCM
    from holdtrue.classifier import (
        Certificate,
        CertificateCheck,
        RecourseClassifier,
        Replay,
        certify,
        compare,
        records,
        recourse,
        replay,
        tradeoff,
        tune,
        verify,
        wrap,
    )
    from holdtrue.ledger import Ledger, Letter, Record, letters
    from holdtrue.methods import (
        CCHVAE,
        RBR,
        REVISE,
        SNS,
        CausalRecourse,
        CFProto,
        ECCCo,
        ElasticNet,
        Flipset,
        Generated,
        Generic,
        GrowingSpheres,
        HighestScore,
        LatentSearch,
        LinearProgram,
        MinPGD,
        NearestNeighbour,
        RecourseFrame,
        SparseSearch,
        VanillaRandom,
        Wachter,
    )
    from holdtrue.models import MLP, NTK, CounterNet, Ensemble, Linear
    from holdtrue.promises import GateReport, gate
    from holdtrue.schema import Feature, Implication, LinearConstraint, Schema
    from holdtrue.search import Status
    from holdtrue.training import (
        JEM,
        TRADES,
        VAECF,
        AdversarialTraining,
        CFModel,
        CounterfactualTraining,
        CounterNetTraining,
        Guides,
        RandomShift,
        RecourseTraining,
        Retrained,
        Robust,
        RoCourseNet,
        StandardTraining,
        VirtualShift,
        retrain,
    )


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"holdtrue.{_WHERE[name]}"), name)
    if name in _FOLDERS:
        return import_module(f"holdtrue.{name}")
    raise AttributeError(f"module 'holdtrue' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
