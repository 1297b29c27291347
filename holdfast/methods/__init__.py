"""One recourse method a file, and the registry."""

from holdfast.methods._base import AbstractMethod, AbstractSolverMethod
from holdfast.methods._causal_recourse import CausalRecourse
from holdfast.methods._cchvae import CCHVAE
from holdfast.methods._cfproto import CFProto
from holdfast.methods._eccco import ECCCo
from holdfast.methods._elastic_net import ElasticNet
from holdfast.methods._flipset import Flipset
from holdfast.methods._frame import RecourseFrame, Sentences, join, number, phrase
from holdfast.methods._generated import Generated
from holdfast.methods._generic import Generic
from holdfast.methods._growing_spheres import GrowingSpheres
from holdfast.methods._highest_score import HighestScore
from holdfast.methods._latent_search import LatentSearch
from holdfast.methods._linear_program import LinearProgram
from holdfast.methods._min_pgd import MinPGD
from holdfast.methods._nearest_neighbour import NearestNeighbour
from holdfast.methods._rbr import RBR
from holdfast.methods._registry import METHODS, fitting, method, name_of, register
from holdfast.methods._revise import REVISE
from holdfast.methods._roar import ROAR
from holdfast.methods._sns import SNS
from holdfast.methods._sparse_search import SparseSearch
from holdfast.methods._stable_search import StableSearch
from holdfast.methods._vanilla_random import VanillaRandom
from holdfast.methods._wachter import Wachter

__all__ = [
    "CCHVAE",
    "METHODS",
    "RBR",
    "REVISE",
    "ROAR",
    "SNS",
    "AbstractMethod",
    "AbstractSolverMethod",
    "CFProto",
    "CausalRecourse",
    "ECCCo",
    "ElasticNet",
    "Flipset",
    "Generated",
    "Generic",
    "GrowingSpheres",
    "HighestScore",
    "LatentSearch",
    "LinearProgram",
    "MinPGD",
    "NearestNeighbour",
    "RecourseFrame",
    "Sentences",
    "SparseSearch",
    "StableSearch",
    "VanillaRandom",
    "Wachter",
    "fitting",
    "join",
    "method",
    "name_of",
    "number",
    "phrase",
    "register",
]
