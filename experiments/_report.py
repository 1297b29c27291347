"""What the experiments share: results on one line, a clock that says what is done, cells beside the printed."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from holdtrue._json import write_result


def write(place: Path, result: Any) -> None:
    """Write a result on one line; what was there stays until it is done."""
    write_result(place, result)


def told_place(out: Path, usual: Path) -> str:
    """The part of a command that says where its file went; nothing for the usual folder, whose path is no news."""
    if out.suffix != ".json":
        return ""
    root = usual.resolve().parents[2]
    place = out.resolve()
    return f" --out {place.relative_to(root) if place.is_relative_to(root) else out.name}"


class Clock:
    """Says what is done next, and keeps how long each thing took."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say, self.seconds, self._now = say, {}, (None, time.monotonic())

    def __call__(self, what: str) -> None:
        self.stop()
        self.say(what)
        self._now = (what, time.monotonic())

    def stop(self) -> None:
        """End what was begun."""
        what, began = self._now
        if what is not None:
            self.seconds[what] = round(self.seconds.get(what, 0.0) + time.monotonic() - began, 2)
        self._now = (None, time.monotonic())


def cell(value: float | None, digits: int = 2, std: float | None = None) -> str:
    """A number, with its deviation, or a dash."""
    if value is None:
        return "-"
    return f"{value:.{digits}f}" + ("" if std is None else f" ± {std:.2f}")


def beside(
    ours: float | None, theirs: Sequence[float | None] | None, digits: int = 2, std: float | None = None
) -> str:
    """Ours / printed, where the printed figure is a value and its deviation."""
    value, deviation = (None, None) if theirs is None else theirs
    return f"{cell(ours, digits, std)} / {cell(value, 2, deviation)}"


def read(folder: Path, pattern: str) -> dict[str, Any]:
    """Files of results by their names without the ending, those that are there."""
    return {place.stem: json.loads(place.read_text("utf-8")) for place in sorted(folder.glob(f"{pattern}.json"))}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
