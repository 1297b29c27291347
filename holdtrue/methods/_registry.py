"""Methods by name. A third party adds its own with `register`, or by an entry point: see `Registry`."""

from collections.abc import Iterable

from holdtrue._registry import Registry
from holdtrue.errors import DataError
from holdtrue.methods._base import AbstractMethod
from holdtrue.methods._beta_rce import BetaRCE
from holdtrue.methods._causal_recourse import CausalRecourse
from holdtrue.methods._cchvae import CCHVAE
from holdtrue.methods._cfproto import CFProto
from holdtrue.methods._eccco import ECCCo
from holdtrue.methods._elastic_net import ElasticNet
from holdtrue.methods._ellice import ElliCE
from holdtrue.methods._exact_search import ExactSearch
from holdtrue.methods._flipset import Flipset
from holdtrue.methods._generated import Generated
from holdtrue.methods._generic import Generic
from holdtrue.methods._growing_spheres import GrowingSpheres
from holdtrue.methods._highest_score import HighestScore
from holdtrue.methods._latent_search import LatentSearch
from holdtrue.methods._linear_program import LinearProgram
from holdtrue.methods._min_pgd import MinPGD
from holdtrue.methods._nearest_neighbour import NearestNeighbour
from holdtrue.methods._probe import PROBE
from holdtrue.methods._rbr import RBR
from holdtrue.methods._revise import REVISE
from holdtrue.methods._roar import ROAR
from holdtrue.methods._robx import RobX
from holdtrue.methods._sns import SNS
from holdtrue.methods._sparse_search import SparseSearch
from holdtrue.methods._stable_search import StableSearch
from holdtrue.methods._trex import TRex
from holdtrue.methods._vanilla_random import VanillaRandom
from holdtrue.methods._wachter import Wachter

METHODS: Registry[AbstractMethod] = Registry(
    "method",
    AbstractMethod,
    {
        "wachter": Wachter,
        "nearest_neighbour": NearestNeighbour,
        "growing_spheres": GrowingSpheres,
        "sparse_search": SparseSearch,
        "exact_search": ExactSearch,
        "causal_recourse": CausalRecourse,
        "linear_program": LinearProgram,
        "highest_score": HighestScore,
        "elastic_net": ElasticNet,
        "cfproto": CFProto,
        "min_pgd": MinPGD,
        "flipset": Flipset,
        "sns": SNS,
        "stable_search": StableSearch,
        "robx": RobX,
        "trex": TRex,
        "beta_rce": BetaRCE,
        "ellice": ElliCE,
        "probe": PROBE,
        "generic": Generic,
        "eccco": ECCCo,
        "roar": ROAR,
        "rbr": RBR,
        "vanilla_random": VanillaRandom,
        "cchvae": CCHVAE,
        "latent_search": LatentSearch,
        "revise": REVISE,
        "generated": Generated,
    },
)


def register(name: str, cls: type[AbstractMethod]) -> None:
    """Make a method known by name, to the command line and to model files."""
    METHODS[name] = cls


def method(name: str) -> type[AbstractMethod]:
    """Method class by its name."""
    return METHODS.named(name)


def name_of(cls: type[AbstractMethod]) -> str:
    """Name a method class is registered under."""
    for name, known in METHODS.items():
        if known is cls:
            return name
    raise DataError(f"methods: {cls.__name__} is not registered. Call holdtrue.methods.register(name, cls) first.")


def fitting(capabilities: Iterable[str]) -> list[str]:
    """Class names of the methods that a model with these capabilities can serve."""
    return [cls.__name__ for cls in METHODS.values() if cls.serves(frozenset(capabilities))]
