"""The reference page of the command line, made from `--help`.

``python -m holdtrue.cli._reference > docs/reference/cli.md``
"""

from collections.abc import Iterator

import click

from holdtrue.cli._main import cli

WIDTH = 100
HEAD = """# Command line

*Made from `--help` by `python -m holdtrue.cli._reference > docs/reference/cli.md`; a test keeps it current.*

A TABLE is a CSV file (UTF-8, also gzipped; comma, semicolon, tab or bar), a Parquet file, `-` for standard input,
or `dataset:NAME`. A MODEL is a file that `holdtrue fit` wrote: arrays and JSON, so that loading one runs no code.

Results go to standard output, progress and remarks to standard error. Exit codes: 0 done, 1 failed, 2 bad input,
130 interrupted. Compiled programs are kept in `$XDG_CACHE_HOME/holdtrue/xla` (`~/.cache/holdtrue/xla`);
at most a gigabyte of them (`HOLDTRUE_CACHE_MB`), that of the search in trees among them. `HOLDTRUE_CACHE=off`
keeps none; `JAX_COMPILATION_CACHE_DIR` names another place for those of jax.

A CSV file says nothing of types: columns of the schema are read as the schema says, in every chunk alike; columns
that the model does not read are carried as the texts they are.
"""


def commands(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[tuple[str, str]]:
    """Every command with its help text, parents first."""
    context = click.Context(
        command, info_name=name, parent=parent, terminal_width=WIDTH, max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
    )  # fmt: skip
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            if found is not None:
                yield from commands(found, child, context)


def reference() -> str:
    """Return the page."""
    parts = [HEAD]
    for path, text in commands(cli, "holdtrue"):
        lines = "\n".join(line.rstrip() for line in text.splitlines())
        parts.append(f"## {path}\n\n```text\n{lines}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    click.echo(reference(), nl=False)
