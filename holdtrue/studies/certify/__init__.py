"""A threshold that leaves nearly everybody recourse, its certificate, and the check of one."""

from holdtrue.studies.certify._certify import certify, data_digest
from holdtrue.studies.certify._verify import CertificateCheck, Finding, critical_of, verify

__all__ = ["CertificateCheck", "Finding", "certify", "critical_of", "data_digest", "verify"]
