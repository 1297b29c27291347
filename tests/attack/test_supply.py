"""What is run to build and publish: pinned, with few rights, and looked through for known holes."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="workflows are in a clone, not in a source distribution")
MAY_WRITE = {
    ("release", "attest"): {"id-token", "attestations"},
    ("release", "publish"): {"id-token"},
    ("release", "announce"): {"contents"},
    ("site", "publish"): {"pages", "id-token"},
}
"""The rights to write that a job has, of which each needs its own."""


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.stem)
def test_actions_are_named_by_their_hash(path: Path) -> None:
    used = re.findall(r"uses: *(\S+)(.*)", path.read_text(encoding="utf-8"))
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action  # for people, and for Dependabot


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.stem)
def test_jobs_have_the_least_rights(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] in ({}, {"contents": "read"})
    for name, job in workflow["jobs"].items():
        writes = {right for right, how in job.get("permissions", {}).items() if how == "write"}
        assert writes == MAY_WRITE.get((path.stem, name), set())
        for step in job["steps"]:
            if "checkout" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False
            # What others write (titles, branches) is given to a shell as a variable, never as a part of its text.
            assert "${{ github." not in str(step.get("run", ""))


def test_known_holes_are_looked_for() -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    assert "pip-audit" in texts
    assert "cyclonedx-py" in texts
    assert "pull_request_target" not in texts
