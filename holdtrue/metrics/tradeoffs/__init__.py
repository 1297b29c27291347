"""Cost and validity of recourse under a robust and a plain model: the lemmas and theorems of *On the trade-offs
between adversarial robustness and actionable explanations*, both sides of each, as printed and as corrected.

Derivations: docs/explanation/robustness-and-recourse.md. Everything is numpy in double precision; leading axes
broadcast, so that one call serves many people or many models.
"""

from holdtrue.metrics.tradeoffs._decoder import decoder_lipschitz, theorem_3
from holdtrue.metrics.tradeoffs._descent import descend, lemma_1
from holdtrue.metrics.tradeoffs._kernel import dual_gap, lemma_2, theorem_5, validity_condition
from holdtrue.metrics.tradeoffs._recourse import Scores, affine, scfe, scfe_score, scores_of
from holdtrue.metrics.tradeoffs._sides import Bound, Condition
from holdtrue.metrics.tradeoffs._theorems import theorem_1, theorem_2, theorem_4

__all__ = [
    "Bound",
    "Condition",
    "Scores",
    "affine",
    "decoder_lipschitz",
    "descend",
    "dual_gap",
    "lemma_1",
    "lemma_2",
    "scfe",
    "scfe_score",
    "scores_of",
    "theorem_1",
    "theorem_2",
    "theorem_3",
    "theorem_4",
    "theorem_5",
    "validity_condition",
]
