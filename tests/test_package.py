"""What the package promises as a whole."""

import subprocess
import sys

import pytest

import holdtrue


def test_import_is_light():
    heavy = ("jax", "pandas", "sklearn", "equinox", "sqlalchemy")
    code = f"import sys, holdtrue; print([m for m in {heavy!r} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize("name", [n for n in holdtrue.__all__ if n != "__version__"])
def test_every_public_name_resolves_and_is_documented(name):
    assert getattr(holdtrue, name).__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        holdtrue.nothing  # noqa: B018


def test_version_is_the_installed_one():
    from importlib.metadata import version

    assert version("holdtrue") == holdtrue.__version__


def test_everything_is_listed():
    assert set(dir(holdtrue)) == set(holdtrue.__all__)
