"""One recourse method a file, and the registry."""

from holdtrue.encoding import about, join, number
from holdtrue.methods._base import AbstractMethod, AbstractSolverMethod
from holdtrue.methods._beta_rce import BetaRCE
from holdtrue.methods._causal_recourse import CausalRecourse
from holdtrue.methods._cchvae import CCHVAE
from holdtrue.methods._cfproto import CFProto
from holdtrue.methods._criterion import climbing
from holdtrue.methods._eccco import ECCCo
from holdtrue.methods._elastic_net import ElasticNet
from holdtrue.methods._ellice import ElliCE
from holdtrue.methods._exact_search import ExactSearch
from holdtrue.methods._flipset import Flipset
from holdtrue.methods._frame import RecourseFrame, Sentences, phrase
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
from holdtrue.methods._registry import METHODS, fitting, method, name_of, register
from holdtrue.methods._revise import REVISE
from holdtrue.methods._roar import ROAR
from holdtrue.methods._robx import RobX
from holdtrue.methods._sns import SNS
from holdtrue.methods._sparse_search import SparseSearch
from holdtrue.methods._stable_search import StableSearch
from holdtrue.methods._survival import COLUMNS, UNKNOWN, Held, Level, Tally, checked_level
from holdtrue.methods._trex import TRex
from holdtrue.methods._vanilla_random import VanillaRandom
from holdtrue.methods._wachter import Wachter
from holdtrue.methods._with_base import AbstractBasedMethod

__all__ = [
    "CCHVAE",
    "COLUMNS",
    "METHODS",
    "PROBE",
    "RBR",
    "REVISE",
    "ROAR",
    "SNS",
    "UNKNOWN",
    "AbstractBasedMethod",
    "AbstractMethod",
    "AbstractSolverMethod",
    "BetaRCE",
    "CFProto",
    "CausalRecourse",
    "ECCCo",
    "ElasticNet",
    "ElliCE",
    "ExactSearch",
    "Flipset",
    "Generated",
    "Generic",
    "GrowingSpheres",
    "Held",
    "HighestScore",
    "LatentSearch",
    "Level",
    "LinearProgram",
    "MinPGD",
    "NearestNeighbour",
    "RecourseFrame",
    "RobX",
    "Sentences",
    "SparseSearch",
    "StableSearch",
    "TRex",
    "Tally",
    "VanillaRandom",
    "Wachter",
    "about",
    "checked_level",
    "climbing",
    "fitting",
    "join",
    "method",
    "name_of",
    "number",
    "phrase",
    "register",
]
