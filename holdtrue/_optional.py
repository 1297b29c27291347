"""Packages that only some of holdtrue needs, imported when they are needed."""

from importlib import import_module
from types import ModuleType

from holdtrue.errors import MissingDependencyError


def need(module: str, *, extra: str, what: str) -> ModuleType:
    """Import a module of an optional package and return it, or say how to install the package.

    Parameters
    ----------
    module : str
        Such as ``ray`` or ``mlflow.pyfunc``.
    extra : str
        The optional dependencies of holdtrue, in pyproject.toml, that have the package.
    what : str
        Who needs it, as an error begins: ``letter:``, or ``ray: work on a cluster``.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingDependencyError(
            f"{what} needs {package}. Install it with: pip install 'holdtrue[{extra}]'"
        ) from error
