"""Methods, regimes and models that an installed package brings by entry points."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from holdtrue._registry import Registry, made, registry_of
from holdtrue.cli import cli
from holdtrue.errors import DataError, HoldtrueError, PluginError
from holdtrue.methods import METHODS, AbstractMethod, Wachter
from holdtrue.models import ARCHITECTURES
from holdtrue.training import REGIMES

CODE = """
import holdtrue as ht

class Plain(ht.methods.NearestNeighbour):
    "A plugin's method."

class Small(ht.models.MLP):
    "A plugin's model."

NUMBER = 3
"""


def install(folder: Path, name: str, entry_points: str, modules: dict[str, str]) -> None:
    """What an installer leaves behind."""
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(entry_points)
    for module, code in modules.items():
        (folder / f"{module}.py").write_text(code)


@pytest.fixture
def site(tmp_path, monkeypatch) -> Path:
    """A folder on the path with three distributions: one that works, one that is broken, one in the way."""
    points = "[holdtrue.methods]\nplain = bank_plugin:Plain\n[holdtrue.models]\nsmall = bank_plugin:Small\n"
    install(tmp_path, "bank", points, {"bank_plugin": CODE})
    points = "[holdtrue.methods]\nbroken = broken_plugin:Gone\nnumber = bank_plugin:NUMBER\n"
    points += "wachter = bank_plugin:Plain\n"
    install(tmp_path, "broken", points, {"broken_plugin": "import nowhere_to_be_found"})
    points = "[holdtrue.methods]\ntwice = bank_plugin:Plain\n"
    install(tmp_path, "one", points, {})
    install(tmp_path, "other", points.replace("Plain", "NUMBER"), {})
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "bank_plugin", raising=False)
    return tmp_path


@pytest.fixture
def registry(site) -> Registry[AbstractMethod]:
    return Registry("method", AbstractMethod, {"wachter": Wachter})


def test_a_plugin_is_found_when_it_is_asked_for(registry):
    assert "bank_plugin" not in sys.modules
    assert registry["wachter"] is Wachter  # its own name is not replaced
    assert "plain" in registry
    assert "bank_plugin" not in sys.modules
    assert registry.named("plain").__name__ == "Plain"
    assert registry.named("plain") is registry["plain"] is sys.modules["bank_plugin"].Plain


def test_a_broken_plugin_does_not_break_the_list(registry):
    assert list(registry) == ["wachter", "plain"]
    assert len(registry) == 2
    assert {name: cls.__name__ for name, cls in registry.items()} == {"wachter": "Wachter", "plain": "Plain"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("broken", "the plugin 'broken' of broken cannot be imported; got 'broken_plugin:Gone' .*nowhere_to_be"),
        ("number", "the plugin 'number' of broken must be a class derived from AbstractMethod; got 3"),
        ("twice", "the plugin 'twice' of one, other is offered by more than one package"),
    ],
)
def test_a_broken_plugin_says_why_when_it_is_asked_for(registry, name, text):
    with pytest.raises(PluginError, match=text) as error:
        registry.named(name)
    assert isinstance(error.value, ImportError)
    assert isinstance(error.value, HoldtrueError)
    with pytest.raises(DataError, match=f"unknown method; got '{name}s'. Did you mean '{name}'"):
        registry.named(name + "s")


def test_a_registry_is_a_mapping(registry):
    before = dict(registry)
    registry["mine"] = Wachter
    assert registry.get("mine") is Wachter
    assert registry.get("nobody") is None
    del registry["mine"]
    with pytest.raises(KeyError):
        registry["mine"]
    registry.clear()
    assert list(registry) == ["plain", "wachter"]  # both are the plugins' now
    registry.update(before)
    assert registry["wachter"] is Wachter


def test_each_kind_has_one_registry():
    assert registry_of(AbstractMethod) is METHODS
    assert registry_of(Wachter) is METHODS
    assert registry_of(int) is None
    assert {METHODS.group, REGIMES.group, ARCHITECTURES.group} == {
        "holdtrue.methods",
        "holdtrue.regimes",
        "holdtrue.models",
    }
    assert repr(made(AbstractMethod, "wachter")) == "Wachter()"


def test_the_command_line_knows_plugins(site, monkeypatch):
    monkeypatch.setattr(METHODS, "_plugins", None)  # as in a process that has not looked yet
    monkeypatch.setattr(METHODS, "_known", dict(METHODS._known))

    listed = CliRunner().invoke(cli, ["methods", "--json"])
    names = [row["name"] for row in json.loads(listed.stdout)]
    assert "plain" in names
    assert not {"broken", "number", "twice"} & set(names)
    shown = CliRunner().invoke(cli, ["methods", "plain"])
    assert "A plugin's method." in shown.stdout
    broken = CliRunner().invoke(cli, ["methods", "broken"])
    assert broken.exit_code != 0
    assert "the plugin 'broken' of broken cannot be imported" in broken.stderr
    assert "Traceback" not in broken.stderr
