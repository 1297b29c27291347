"""What the package promises as a whole."""

import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

import holdtrue


def test_import_is_light():
    heavy = ("jax", "pandas", "sklearn", "equinox", "sqlalchemy", "llvmlite", "numba")
    code = f"import sys, holdtrue; print([m for m in {heavy!r} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_nothing_goes_through_what_is_imported_in_search_of_garbage():
    """The collector rests while libraries are imported; then it is as it was, and leaves alone what they made."""
    code = """if True:
        import gc
        import holdtrue as ht
        before = gc.get_stats()[2]["collections"]
        ht.SparseSearch
        assert gc.isenabled()
        assert gc.get_stats()[2]["collections"] == before
        assert gc.get_freeze_count() > 100_000
        gc.disable()
        ht.Ledger
        assert not gc.isenabled()
    """
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", [n for n in holdtrue.__all__ if n != "__version__"])
def test_every_public_name_resolves_and_is_documented(name):
    assert getattr(holdtrue, name).__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(holdtrue, "nothing")  # noqa: B009 - type checkers know that there is none


def test_version_is_the_installed_one():
    from importlib.metadata import version

    assert version("holdtrue") == holdtrue.__version__


def test_everything_is_listed():
    assert set(dir(holdtrue)) == set(holdtrue.__all__)


# ---- as an outsider sees it -------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[1]
UNREAD = (
    "alembic.*,click.*,equinox.*,fastapi.*,hypothesis.*,jax.*,jaxlib.*,jaxtyping.*,matplotlib.*,narwhals.*,onnx.*,"
    "optax.*,polars.*,pydantic.*,rich.*,scipy.*,sqlalchemy.*,starlette.*,torch.*"
)
AND_ITS_TYPES = """
assert_type(clf, ht.RecourseClassifier)
assert_type(plan, ht.RecourseFrame)
assert_type(ht.audit(plan), ht.Report)
assert_type(ht.retrain(clf, n=3), ht.retraining.AbstractRetrained)
assert_type(ht.ROAR(), ht.ROAR)
assert_type(ht.StableSearch(), ht.StableSearch)
"""


@pytest.fixture(scope="module")
def outsider(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """README's example in a file outside the tree, and the python of an environment with the package installed.

    There a type checker believes the package's annotations only for its `py.typed`.
    """
    place = tmp_path_factory.mktemp("outsider")
    venv.create(place / "env", symlinks=os.name != "nt")
    there = {"base": str(place / "env"), "platbase": str(place / "env")}
    packages = Path(sysconfig.get_path("purelib", "venv", vars=there))
    (packages / "holdtrue").symlink_to(ROOT / "holdtrue", target_is_directory=True)
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    example = re.search(r"^```python\n(.*?)^```$", readme, re.M | re.S)
    assert example
    code = f"from typing import assert_type\n\n{example[1]}{AND_ITS_TYPES}"
    (place / "example.py").write_text(code, encoding="utf-8")
    return place / "example.py", Path(sysconfig.get_path("scripts", "venv", vars=there)) / "python"


def test_mypy_has_nothing_to_say_about_the_readme(
    outsider: tuple[Path, Path], request: pytest.FixtureRequest
) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed; pip install mypy to run it")
    example, python = outsider
    assert request.config.cache is not None
    kept = request.config.cache.mkdir("mypy")  # what was read of numpy and others
    # What the example says is about this package; to read all of jax, torch and others takes three times as
    # long. pyright reads them below.
    config = example.with_name("mypy.ini")
    config.write_text(f"[mypy]\n[mypy-{UNREAD}]\nfollow_imports = skip\n", encoding="utf-8")
    asked = ("--config-file", str(config), "--python-executable", str(python), "--cache-dir", str(kept))
    check("mypy", *asked, str(example))


def test_pyright_has_nothing_to_say_about_the_readme(outsider: tuple[Path, Path]) -> None:
    pytest.importorskip("pyright", reason="pyright is not installed; pip install pyright to run it")
    example, python = outsider
    check("pyright", "--pythonpath", str(python), str(example))


def check(module: str, *args: str) -> None:
    """Run a type checker from where the example lies; it must find nothing."""
    outside = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    out = subprocess.run(
        [sys.executable, "-m", module, *args],
        capture_output=True,
        text=True,
        cwd=Path(args[-1]).parent,
        env=outside,
    )
    assert out.returncode == 0, out.stdout + out.stderr


def test_an_answer_needs_no_estimators_of_other_libraries() -> None:
    program = "import sys, holdtrue as ht; ht.load, ht.recourse; print('sklearn.linear_model' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "False"
