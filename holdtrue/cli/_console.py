"""What a person sees: results on standard output, progress and remarks on standard error."""

import contextlib
import re
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import click

from holdtrue._json import TURNING, to_json

T = TypeVar("T")
STEERING = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{''.join(sorted(TURNING))}]")  # but for lines and tabs


class Interrupted(click.ClickException):
    """Ctrl-C, with a sentence on what was kept."""

    exit_code = 130

    def show(self, file: object = None) -> None:
        """Print the sentence."""
        say(self.message)


def say(text: str) -> None:
    """Write a remark to standard error."""
    click.echo(text, err=True)


def results() -> Any:
    """Console for results."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


def visible(text: str) -> str:
    """A text that other people wrote, for a terminal: what would steer it is shown, not obeyed."""
    return STEERING.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def print_json(value: object) -> None:
    """Write JSON to standard output; numbers that JSON does not know become null."""
    # JSON itself escapes only the first 32 of the characters that steer a terminal.
    click.echo(STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", to_json(value)))


class Progress:
    """A bar on standard error, or nothing where that is not a terminal."""

    def __init__(self, bar: Any = None, task: Any = None) -> None:
        self.bar, self.task = bar, task

    @property
    def shown(self) -> bool:
        """Whether anybody looks."""
        return self.bar is not None

    def to(self, done: float) -> None:
        """Say how much is done."""
        if self.bar is not None:
            self.bar.update(self.task, completed=done)

    def part(self, what: str, done: float, total: float, unit: str) -> None:
        """Say how much is done of another part of the work."""
        if self.bar is not None:
            of = _of(total, unit)
            self.bar.update(self.task, description=what, total=total, completed=done, of=of)

    def by(self, more: float) -> None:
        """Say how much more is done."""
        if self.bar is not None:
            self.bar.advance(self.task, more)


@contextlib.contextmanager
def progress(what: str, total: float | None, unit: str = "", *, hidden: bool = False) -> Iterator[Progress]:
    """Show a bar while the block runs."""
    if hidden or not sys.stderr.isatty():
        yield Progress()
        return
    from rich import progress as parts
    from rich.console import Console

    columns = (
        parts.TextColumn("{task.description}"),
        parts.BarColumn(),
        parts.TextColumn("{task.completed:,.0f}{task.fields[of]}"),
        parts.TimeElapsedColumn(),
        parts.TextColumn("left"),
        parts.TimeRemainingColumn(),
    )
    with parts.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Progress(bar, bar.add_task(what, total=total, of=_of(total, unit)))


def _of(total: float | None, unit: str) -> str:
    return ("" if total is None else f" of {total:,.0f}") + f" {unit}"


def interruptible(work: Callable[[], T]) -> T:
    """Run compiled work so that Ctrl-C is heard at once.

    A long compiled call in the main thread keeps Python from seeing the signal; so it runs in another one.
    """
    answer: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            answer.append(work())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return answer[0]
