"""The group of commands, loaded one by one; errors in one line; exit codes."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from holdtrue import __version__
from holdtrue.cli._console import Interrupted, say
from holdtrue.errors import HoldtrueError

# Short helps stand here so that `holdtrue --help` loads no command.
COMMANDS = {
    "demo": "Train on real loan applications, find recourse, and test whether it holds.",
    "fit": "Train a classifier on a table and write a model file.",
    "adopt": "Take a model made elsewhere into a model file that every command takes.",
    "recourse": "Find recourse for every person in a table, of any length.",
    "reasons": "Say why people were refused: what each feature contributes to the gap to the cut-off.",
    "audit": "Report on a model's recourse: does it work, what does it cost, does it hold?",
    "shelf-life": "State each recourse's chance to hold after a retraining, and mark the fragile ones.",
    "backtest": "Replay past periods: how long would recourse have held, and what did it cost?",
    "certify": "Certify that the threshold leaves nearly everybody recourse.",
    "verify": "Check a certificate of recourse again, against the model and the data.",
    "compare": "Run recourse methods side by side on one dataset and one model.",
    "tradeoff": "Train a table under several settings: accuracy and robustness against recourse.",
    "tune": "Choose a training regime's parameters by trials, under a budget.",
    "replay": "Compute a record of issued recourse again, and say whether it comes out the same.",
    "ledger": "Keep the recourse that was promised to people.",
    "gate": "Ask a new model about every live promise, and say which would break.",
    "evidence": "Hand over one file about a model to whoever validates it, or check one.",
    "letter": "Write the letter that tells a person what was promised.",
    "serve": "Answer predictions, recourse and promises over HTTP.",
    "mcp": "Let a chat client ask a model, read-only unless told otherwise.",
    "keys": "Make and revoke the keys of those who may ask a service.",
    "schema": "Guess a schema from a table, for you to correct.",
    "papers": "Run a paper's experiment, ours beside the printed figures.",
    "datasets": "List, show, add and export datasets.",
    "methods": "List the recourse methods, or show one.",
}


class LazyGroup(click.Group):
    """A group that imports a command when it is asked for, and says what is wrong in one paragraph."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of a first visit."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        return import_module(f"holdtrue.cli._{cmd_name.replace('-', '_')}").command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command that the first word names, or suggest one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Commands are {', '.join(COMMANDS)}."
            ctx.fail(f"unknown command; got {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: object,
    ) -> Any:
        """Run a command and leave with its exit code: 0, 1 (failed), 2 (bad input), 130 (interrupted)."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, **extra)
        try:
            code = super().main(args, prog_name or "holdtrue", complete_var, False, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            code = 0
        except click.UsageError as error:
            say(f"error: {_usage(error)}")
            code = 2
        except click.Abort:
            say("Interrupted. Nothing was written.")
            code = 130
        except click.ClickException as error:
            error.show()
            code = error.exit_code
        except HoldtrueError as error:
            say(f"error: {error}")
            code = 2
        except OSError as error:
            say(f"error: {error.strerror or error}{f'; got {error.filename!r}' if error.filename else ''}.")
            code = 1
        except MemoryError:
            say("error: out of memory. Give a smaller table, or stream it through `holdtrue recourse`.")
            code = 1
        sys.exit(code if isinstance(code, int) else 0)


def _usage(error: click.UsageError) -> str:
    text = error.format_message().strip().rstrip(".")
    path = error.ctx.command_path if error.ctx else "holdtrue"
    end = "" if text.endswith("?") else "."
    return f"{path}: {text[0].lower()}{text[1:]}{end} See `{path} --help`."


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="holdtrue")
def cli() -> None:
    """Recourse that holds true.

    Train a classifier, find for everyone it refuses the change that turns the "no" into a "yes", and measure
    whether that advice still works when the model is retrained.

    Tables are CSV or Parquet files, `-` for standard input, or `dataset:NAME`. Start with `holdtrue demo`.
    """


def main() -> None:
    """Entry point of the script."""
    try:
        cli.main()
    except SystemExit as leaving:
        if leaving.code == Interrupted.exit_code:
            # Compiled code may still run in other threads; waiting for it would make Ctrl-C slow.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(Interrupted.exit_code)
        raise
