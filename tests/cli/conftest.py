import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from holdtrue.cli import cli

from ..runs.conftest import _no_cache, bank, model, parquet, table  # noqa: F401 - people that runs share


@pytest.fixture
def run():
    """Run a command in this process; a wrong exit code shows what was printed."""

    def call(*args, code=0, stdin=None):
        result = CliRunner().invoke(cli, [str(a) for a in args], input=stdin, prog_name="holdtrue")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    return call


@pytest.fixture
def run_json(run):
    return lambda *args, **rest: json.loads(run(*args, "--json", **rest).stdout)


@pytest.fixture(scope="session")
def script(tmp_path_factory):
    """Run a command in a process of its own, after the code `first`; its programs are kept for the session."""
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}
    environment.pop("HOLDTRUE_CACHE", None)

    def call(*args, first=None, **rest):
        program = (
            ["-m", "holdtrue.cli"] if first is None else ["-c", f"{first}\nfrom holdtrue.cli import main\nmain()"]
        )
        command = [sys.executable, *program, *[str(a) for a in args]]
        return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, **rest)

    return call
