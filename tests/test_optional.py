"""Packages that only some of holdtrue needs."""

import ast
import sys
import tomllib
from pathlib import Path

import pytest

from holdtrue._optional import need
from holdtrue.errors import MissingDependencyError

ROOT = Path(__file__).parents[1]


def calls():
    """Every call of `need` in the package: the file, the extra, and who asks."""
    for file in sorted((ROOT / "holdtrue").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "need":
                given = {word.arg: ast.literal_eval(word.value) for word in node.keywords}
                yield file.name, given["extra"], given["what"]


def test_a_module_that_is_there_is_returned():
    assert need("json", extra="serve", what="x:") is sys.modules["json"]
    assert need("os.path", extra="serve", what="x:") is sys.modules["os.path"]


def test_one_that_is_not_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError) as caught:
        need("ray", extra="ray", what="ray: work on a cluster")
    text = "ray: work on a cluster needs ray. Install it with: pip install 'holdtrue[ray]'"
    assert str(caught.value) == text
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value.__cause__, ImportError)
    monkeypatch.setitem(sys.modules, "mlflow.pyfunc", None)
    with pytest.raises(MissingDependencyError, match="tracking: needs mlflow"):
        need("mlflow.pyfunc", extra="mlflow", what="tracking:")


def test_every_extra_that_an_error_names_exists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = list(calls())
    assert len(found) >= 12
    assert {extra for _, extra, _ in found} <= set(extras["optional-dependencies"])
    assert all(":" in what for _, _, what in found)


def test_nobody_else_writes_the_error():
    """One helper: the text cannot drift. What `papers` lacks is not a package but the source tree."""
    users = [
        file for file in (ROOT / "holdtrue").rglob("*.py") if "raise MissingDependencyError" in file.read_text()
    ]
    assert sorted(file.name for file in users) == ["_optional.py", "_papers.py"]


def test_the_service_says_what_it_lacks(monkeypatch):
    import holdtrue.server

    monkeypatch.setitem(sys.modules, "fastapi", None)
    with pytest.raises(MissingDependencyError, match=r"serve: needs fastapi.*'holdtrue\[serve\]'"):
        _ = holdtrue.server.create_app
