"""The worked example of docs/how-to/add-a-method.md passes the checks that it tells the reader to run."""

import sys
import types

import pytest

from holdtrue.methods import METHODS

from .conftest import ROOT, blocks

FILES = {
    block.note.removeprefix("file: "): block.code
    for block in blocks(ROOT / "docs" / "how-to" / "add-a-method.md")
    if block.note.startswith("file: ")
}
EXAMPLE = "random_search"


def load(name: str, code: str) -> types.ModuleType:
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(code, f"{name}.py", "exec"), module.__dict__)
    return module


def example() -> tuple[type, type]:
    """The page's method and its test class; what it registers is taken back until the tests run."""
    before = dict(METHODS)
    try:
        method = load(EXAMPLE, FILES[f"{EXAMPLE}.py"]).RandomSearch
        checks = load(f"test_{EXAMPLE}", FILES[f"test_{EXAMPLE}.py"]).TestRandomSearch
    finally:
        METHODS.clear()
        METHODS.update(before)
        for name in (EXAMPLE, f"test_{EXAMPLE}"):
            sys.modules.pop(name, None)
    return method, checks


METHOD, CHECKS = example()


class TestTheExample(CHECKS):  # type: ignore[valid-type,misc]
    @pytest.fixture(autouse=True)
    def registered(self, registries: None) -> None:
        METHODS[EXAMPLE] = METHOD  # `registries` takes it back
