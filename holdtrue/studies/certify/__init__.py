"""A threshold that leaves nearly everybody recourse, its certificate, and the check of one."""

from holdtrue.studies.certify._certify import certify
from holdtrue.studies.certify._verify import CertificateCheck, verify

__all__ = ["CertificateCheck", "certify", "verify"]
