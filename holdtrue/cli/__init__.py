"""The command line: thin over the library, one file a command."""

from holdtrue.cli._main import cli, main

__all__ = ["cli", "main"]
