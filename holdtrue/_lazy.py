"""Names that are imported when they are first used, from the one list that type checkers read too.

A package's public names stand in its ``__init__.pyi`` as plain imports. Type checkers and editors read that file;
`attach` reads the same one, so that the two cannot drift apart. Importing the package imports nothing else.
"""

import ast
import contextlib
import gc
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return a package's ``__getattr__``, ``__dir__`` and ``__all__``, as its stub has them.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    file : str
        Its ``__file__``; the stub lies beside it.

    Raises
    ------
    AttributeError
        By the ``__getattr__``, for a name that the stub does not have.
    """
    homes = _homes(ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")))

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] not in sys.modules:
            with _uncollected():
                import_module(homes[name])
        module = import_module(homes[name])
        # `from package import room` names a module, `from package.room import thing` something in it.
        return import_module(f"{homes[name]}.{name}") if homes[name] == package else getattr(module, name)

    names = sorted(homes)
    return load, lambda: names, names


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Where libraries are imported the collector of garbage rests, and it leaves alone what there is in the end.

    What is imported stays. To go through all of it again and again takes a tenth of the time to a first answer.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.freeze()
            gc.enable()


def _homes(stub: ast.Module) -> dict[str, str]:
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom) and node.module]
    return {alias.asname or alias.name: str(node.module) for node in imports for alias in node.names}
