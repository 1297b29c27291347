"""Every method, regime, model, metric, status, dataset and public name has its place in the reference."""

import dataclasses
import inspect
import re
import runpy

import pytest

import holdtrue as ht
from holdtrue import cli
from holdtrue.methods import METHODS
from holdtrue.models import ARCHITECTURES
from holdtrue.training import ATTACKERS, REGIMES, HeadSettings

from .conftest import ROOT, blocks

REFERENCE = ROOT / "docs" / "reference"


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def headings(name: str) -> set[str]:
    return set(re.findall(r"^#+ `?([\w.]+)`?", page(name), re.M))


def section(name: str, heading: str) -> str:
    """Text under a heading, up to the next of the same depth."""
    match = re.search(rf"^(#+) `?{re.escape(heading)}`?.*?$(.*?)(?=^\1 |\Z)", page(name), re.M | re.S)
    assert match, f"docs/reference/{name} has no heading {heading!r}"
    return match[2]


def parameters(cls: type) -> list[str]:
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [
        p.name for p in inspect.signature(cls.__init__).parameters.values() if p.kind in named and p.name != "self"
    ]


@pytest.mark.parametrize(
    ("file", "registry"),
    [
        ("methods.md", METHODS),
        ("models.md", ARCHITECTURES),
        ("models.md", REGIMES),
        ("models.md", ATTACKERS),
        ("models.md", {"head": HeadSettings}),
    ],
)
def test_registered_names_are_documented(file: str, registry: dict) -> None:
    for name, cls in registry.items():
        text = section(file, cls.__name__)
        assert f"`{name}`" in text, f"{cls.__name__} in {file} does not say that its registered name is {name!r}"
        for parameter in parameters(cls):
            assert f"`{parameter}`" in text, f"{cls.__name__} in {file} does not name its parameter {parameter!r}"


def test_methods_page_and_readme_are_current() -> None:
    made = runpy.run_path(str(REFERENCE / "make_methods.py"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert page("methods.md") == made["page"](), "run: python docs/reference/make_methods.py"
    assert readme == made["readme"](readme), "run: python docs/reference/make_methods.py"


def test_the_comparison_page_is_current() -> None:
    made = runpy.run_path(str(REFERENCE / "make_comparison.py"))
    assert page("comparison.md") == made["page"](), "run: python docs/reference/make_comparison.py"


def test_the_sizing_page_is_current() -> None:
    place = ROOT / "docs" / "explanation"
    made = runpy.run_path(str(place / "make_sizing.py"))["page"]()
    assert (place / "sizing.md").read_text(encoding="utf-8") == made, "run: python docs/explanation/make_sizing.py"


def test_measured_tables_are_current() -> None:
    place = ROOT / "docs" / "how-to"
    made = runpy.run_path(str(place / "make_measured.py"))
    for name in made["PAGES"]:
        assert (place / name).read_text(encoding="utf-8") == made["page"](name), (
            "run: docs/how-to/make_measured.py"
        )


def test_the_page_of_attacks_is_made_from_what_was_found():
    place = ROOT / "docs" / "explanation"
    made = runpy.run_path(str(place / "make_attacked.py"))["page"]()
    written = (place / "how-it-is-attacked.md").read_text(encoding="utf-8")
    assert written == made, "run: python docs/explanation/make_attacked.py"


def test_metrics_are_documented() -> None:
    functions = {name for name in ht.metrics.__all__ if inspect.isfunction(getattr(ht.metrics, name))}
    assert functions - headings("metrics.md") == set()
    assert [name for name in ht.metrics.__all__ if f"`{name}" not in page("metrics.md")] == []


def test_statuses_are_documented() -> None:
    for status in ht.Status:
        assert status.message in section("statuses.md", status.name)


def test_commands_are_documented() -> None:
    text = page("cli.md")
    for name in cli.cli.list_commands(None):  # type: ignore[arg-type]
        assert f"## holdtrue {name}" in text


def test_schema_fields_are_documented() -> None:
    for cls in (ht.Feature, ht.LinearConstraint, ht.Implication):
        text = section("schema.md", cls.__name__)
        for field in dataclasses.fields(cls):
            assert f"`{field.name}`" in text, f"{cls.__name__}.{field.name}"


def test_the_yaml_example_is_a_schema() -> None:
    examples = [b for b in blocks(REFERENCE / "schema.md") if b.language == "yaml"]
    assert examples
    for block in examples:
        schema = ht.Schema.from_yaml(block.code)
        assert ht.Schema.from_yaml(schema.to_yaml()) == schema


def test_checks_are_documented() -> None:
    for name in ht.testing.__all__:
        tests = [n for n in vars(getattr(ht.testing, name)) if n.startswith("test_")]
        text = section("testing.md", name)
        assert [t for t in tests if f"`{t}`" not in text] == []


def test_public_names_are_documented() -> None:
    reference = "\n".join(p.read_text(encoding="utf-8") for p in sorted(REFERENCE.glob("*.md")))
    names = [n for n in ht.__all__ if not n.startswith("_")]
    assert [n for n in names if not re.search(rf"`(?:ht\.|holdtrue\.)?{n}\b", reference)] == []


def test_datasets_page_is_current() -> None:
    made = runpy.run_path(str(REFERENCE / "make_datasets.py"))["page"]()
    assert page("datasets.md") == made, "run: python docs/reference/make_datasets.py"


def test_dependencies_are_explained() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "docs" / "explanation" / "dependencies.md").read_text(encoding="utf-8")
    extras = [package for group in project["optional-dependencies"].values() for package in group]
    names = [re.match(r"[\w-]+", package)[0] for package in [*project["dependencies"], *extras]]  # type: ignore[index]
    assert [n for n in names if f"`{n}`" not in text] == []


def test_changelog_has_this_version() -> None:
    assert f"## [{ht.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
