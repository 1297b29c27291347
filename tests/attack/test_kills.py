"""Kill -9 at a few moments of a run, most of them near its end; `benchmarks.attack.kills` takes a thousand."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_nothing_is_lost_or_doubled():
    # In a process of its own: it forks, which this one must not once jax has begun.
    command = [sys.executable, "-m", "benchmarks.attack.kills", "--kills", "6", "--print"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["kills"] == 6
    assert [found[what] for what in ("lost", "doubled", "another output", "broken chain", "left over")] == [0] * 5
