"""Run the notebooks' sources and write them with their outputs: ``python docs/notebooks/make.py [NAME ...]``.

A source is a Python file in cells that begin with ``# %%``, or with ``# %% [markdown]`` for text in comments.
Cells of one run in one namespace, in a folder of their own. What they print is kept, and what their last line is,
as a notebook shows it.
"""

import ast
import base64
import contextlib
import io
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
LIMIT = 120.0
"""Seconds of processor time: both of two quiet cores for a minute."""
TEXT = "# %% [markdown]"
CODE = "# %%"


class Cell(NamedTuple):
    """A cell: ``markdown`` or ``code``, and what stands in it."""

    kind: str
    source: str


def cells(source: str) -> list[Cell]:
    """The cells of a source."""
    out: list[Cell] = []
    for block in source.split(f"\n{CODE}"):
        head, _, body = block.partition("\n")
        if not out and not block.startswith(CODE):
            block = block.strip()
            if block:
                raise ValueError(f"a source begins with a cell; got {block[:40]!r}")
            continue
        kind = "markdown" if "[markdown]" in head else "code"
        lines = body.strip("\n").splitlines()
        if kind == "markdown":
            lines = [line[2:] if line.startswith("# ") else line.removeprefix("#") for line in lines]
        out.append(Cell(kind, "\n".join(lines)))
    return out


def run(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Run a cell; return what a notebook shows of it."""
    tree = ast.parse(source, f"<cell {number}>")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"<cell {number}>", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"<cell {number}>", "eval"), names)
    out: list[dict[str, Any]] = []
    if printed.getvalue():
        out.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None:
        data = _shown(value)
        out.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data})
    return out


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Stop with `TimeoutError` what takes more processor time than that; what others do does not count."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"notebook: takes more than {seconds:g} s of processor time. Make it do less.")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def notebook(source: str) -> dict[str, Any]:
    """A source as a notebook, with what running it gave."""
    names: dict[str, Any] = {"__name__": "__notebook__"}
    made, number, before = [], 0, Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for i, cell in enumerate(cells(source)):
                part: dict[str, Any] = {"cell_type": cell.kind, "id": f"cell-{i}", "metadata": {}}
                part["source"] = _lines(cell.source)
                if cell.kind == "code":
                    number += 1
                    part |= {"execution_count": number, "outputs": run(cell.source, names, number)}
                made.append(part)
        finally:
            os.chdir(before)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def _shown(value: Any) -> dict[str, Any]:
    data: dict[str, Any] = {"text/plain": _lines(repr(value))}
    if hasattr(value, "_repr_html_") and (html := value._repr_html_()):
        data["text/html"] = _lines(html)
    if hasattr(value, "_repr_png_"):
        data["image/png"] = base64.b64encode(value._repr_png_()).decode()
        data["text/plain"] = ["<Figure>"]
    return data


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def sources() -> list[Path]:
    """The sources, in order."""
    return sorted(path for path in HERE.glob("*.py") if path.name != Path(__file__).name)


if __name__ == "__main__":
    for path in sources():
        if len(sys.argv) == 1 or path.stem in sys.argv[1:]:
            began = time.process_time()
            with limited(LIMIT):
                made = notebook(path.read_text(encoding="utf-8"))
            print(f"{path.stem}: {time.process_time() - began:.1f} s of processor time")
            text = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
            path.with_suffix(".ipynb").write_text(text, encoding="utf-8")
