"""Studies over models and methods: compare, tune, tradeoff, certify; each a folder with all that belongs to it."""

from holdtrue.studies.certify import CertificateCheck, certify, verify
from holdtrue.studies.compare import Comparison, Row, compare, measure, merged, same_settings, settings
from holdtrue.studies.tradeoff import Choice, Tradeoff, tradeoff
from holdtrue.studies.tune import Trial, Tuning, tune

__all__ = [
    "CertificateCheck",
    "Choice",
    "Comparison",
    "Row",
    "Tradeoff",
    "Trial",
    "Tuning",
    "certify",
    "compare",
    "measure",
    "merged",
    "same_settings",
    "settings",
    "tradeoff",
    "tune",
    "verify",
]
