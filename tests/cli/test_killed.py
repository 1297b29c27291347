"""Kill -9 while streaming, at a few moments; `python -m benchmarks.faults` takes two hundred of each kind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_killed_while_streaming():
    command = [sys.executable, "-m", "benchmarks.faults", "--moments", "2", "--only", "streaming", "--print"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)["streaming"]
    assert sum(found["killed"].values()) == 2
    assert found["runs finished"] >= 1
