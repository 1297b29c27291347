import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdtrue import __version__
from holdtrue.cli._main import COMMANDS
from holdtrue.cli._reference import reference


def test_help_names_every_command(run):
    text = run("--help").stdout
    for name, short in COMMANDS.items():
        assert name in text
        assert short.split()[0] in text


def test_help_is_fast_and_imports_nothing_heavy():
    code = (
        "import sys\nfrom holdtrue.cli import cli\ncli.main(['--help'], standalone_mode=False)\n"
        "heavy = {'jax', 'pandas', 'numpy', 'sklearn', 'pyarrow', 'rich', 'sqlalchemy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    seconds = []
    for _ in range(3):
        before = os.times()
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        after = os.times()
        # Of a processor, so that whoever else works on this machine does not count.
        used = (after.children_user - before.children_user, after.children_system - before.children_system)
        seconds.append(sum(used))
    assert min(seconds) < 0.5


@pytest.mark.parametrize("name", list(COMMANDS))
def test_help_of_every_command(run, name):
    text = run(name, "--help").stdout
    assert "Usage: holdtrue" in text
    assert "--json" in text or name in ("datasets", "mcp", "serve")


def test_no_arguments_is_help(run):
    assert "Commands:" in run().stdout


def test_version(run):
    assert __version__ in run("--version").stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["recurse"], ["unknown command", "'recurse'", "Did you mean 'recourse'?"]),
        (["xyz"], ["unknown command", "Commands are demo"]),
        (["fit", "t.csv", "--metod", "x", "--out", "m"], ["holdtrue fit", "--metod", "--method", "--help"]),
        (["fit"], ["holdtrue fit", "TABLE"]),
        (["--nonsense"], ["--nonsense", "holdtrue --help"]),
        (["audit", "m", "t", "--vary", "sed"], ["--vary", "'sed'", "seed"]),
        (["recourse", "m", "t", "--deadline", "-1"], ["--deadline", "-1"]),
    ],
)
def test_bad_command_lines_say_what_to_do(run, args, words):
    result = run(*args, code=2)
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


def test_commands_are_documented():
    page = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
    text = page.read_text(encoding="utf-8")
    assert text == reference(), "run `python -m holdtrue.cli._reference > docs/reference/cli.md`"
    for name in COMMANDS:
        assert f"## holdtrue {name}\n" in text


def test_no_command_needs_jax_to_say_what_it_does():
    """`holdtrue fit --help` answers at once: what a command's module imports, every use of it pays for."""
    code = (
        "import sys\nfrom holdtrue.cli._main import COMMANDS, cli\n"
        "for name in COMMANDS: cli.get_command(None, name)\n"
        "print([m for m in ('jax', 'pandas', 'sklearn') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
