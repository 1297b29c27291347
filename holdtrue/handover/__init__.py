"""What a validator is handed: evidence about a model in one file, and the check of such a file."""

from holdtrue.handover._archive import Archive
from holdtrue.handover._evidence import Evidence, evidence
from holdtrue.handover._verify import EvidenceCheck, verify_evidence

__all__ = ["Archive", "Evidence", "EvidenceCheck", "evidence", "verify_evidence"]
