"""The house as its pages describe it: layers and rooms, what people are told to install, the project's name."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import holdtrue

from .conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
ARCHITECTURE = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
ROOMS = {path.parent.name for path in (ROOT / "holdtrue").glob("*/__init__.py")}


def files() -> list[Path]:
    """Every file of the project as git knows it; in an unpacked sdist, every file."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    return [path for path in ROOT.rglob("*") if path.is_file() and "__pycache__" not in path.parts]


# ---- layers and rooms -------------------------------------------------------------------------------


def layers() -> dict[str, int]:
    """How far down each is: those of one layer stand beside each other."""
    contract = next(c for c in PROJECT["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    return {name: i for i, layer in enumerate(contract["layers"]) for name in layer.split(" | ")}


def test_every_room_has_its_layer_and_its_line() -> None:
    described = re.findall(r"^\| `(\w+)` \|", ARCHITECTURE.partition("## Where to look")[0], re.M)
    depth = [layers()[name] for name in described]
    assert depth == sorted(depth, reverse=True), "lowest first, as pyproject.toml has them"
    assert set(described) == ROOMS - {"papers"}


def test_the_picture_of_the_layers_has_them_in_order() -> None:
    source = (ROOT / "docs" / "images" / "make.py").read_text(encoding="utf-8")
    drawn = re.findall(r'\("(\w+)", "[^"]+", (?:TABLES|BOTH|ARRAYS)\)', source)
    depth = [layers()[name] for name in drawn]
    assert depth == sorted(depth)
    assert set(drawn) == ROOMS - {"papers"} | {"errors"}


def test_where_to_look_names_what_is_there() -> None:
    table = ARCHITECTURE.partition("## Where to look")[2].partition("\n## ")[0]
    places = re.findall(r"`([\w./]+/[\w./]*)`", table)
    assert len(places) > 15
    for place in places:
        assert (ROOT / "holdtrue" / place.removeprefix("holdtrue/")).exists(), place


def test_where_to_look_names_files_in_the_folder_of_its_line() -> None:
    table = ARCHITECTURE.partition("## Where to look")[2].partition("\n## ")[0]
    alone = 0
    for line in table.splitlines():
        folders = {(ROOT / "holdtrue" / place) for place in re.findall(r"`([\w./]+/)[\w.]*`", line)}
        for name in re.findall(r"`(_\w+\.py)`", line):
            alone += 1
            assert any((folder / name).exists() for folder in folders), f"{name} in {line}"
    assert alone > 5


@pytest.mark.parametrize(
    ("asked", "file"),
    [
        ("resumes wrongly", "runs/_parts.py"),
        ("letter with a wrong date", "promises/_letter.py"),
        ("a new training regime", "training/regimes/"),
        ("new reason why a promise breaks", "promises/_gate.py"),
        ("the plot of `tune`", "studies/tune/_plot.py"),
    ],
)
def test_a_stranger_finds_the_file_in_one_guess(asked: str, file: str) -> None:
    [line] = [line for line in ARCHITECTURE.splitlines() if asked in line and line.startswith("| ")]
    assert re.findall(r"`([\w./]+/[\w.]*)`", line.partition(" | ")[2])[0] == file


# ---- names that are ours ----------------------------------------------------------------------------

TOLD = [
    path
    for path in files()
    if path.suffix in {".md", ".py", ".pyi", ".html", ".txt", ".yml", ".yaml", ".toml"} and path != Path(__file__)
]
# A text in a source may go on in the next line's quotes.
BROKEN = re.compile(r"\"?\s*\n\s*f?\"?")
INSTALL = re.compile(r"pip install (?:--?[\w-]+ )*('[^']*'|[\w.\[\],=<>-]+)")
WITH_EXTRA = re.compile(r"'([a-z][\w-]*)\[([a-z][a-z0-9_,]*)\]'")
PLAIN = re.compile(r"^[A-Za-z][\w.-]*")


def known() -> set[str]:
    wanted = [*PROJECT["project"]["dependencies"], *(one for extra in EXTRAS.values() for one in extra)]
    return {PLAIN.match(one)[0] for one in wanted} | {"holdtrue"}  # type: ignore[index]


def strangers(text: str) -> list[str]:
    """What a text tells people to install that is neither holdtrue, with extras it has, nor a dependency."""
    text = BROKEN.sub(" ", text)
    found = []
    for told in INSTALL.findall(text):
        name = PLAIN.match(told.strip("'"))
        if name and name[0] not in known():
            found.append(told)
    for name, extras in WITH_EXTRA.findall(text):
        if name == "holdtrue" and set(extras.split(",")) - set(EXTRAS):
            found.append(f"{name}[{extras}]")
    return found


def test_strangers_are_found() -> None:
    former = "hold" + "fast"
    assert strangers(f"pip install '{former}[serve]'") == [f"'{former}[serve]'"]
    assert strangers(f"pip install --upgrade {former}") == [former]
    in_source = 'pip install "\n            "\'holdtrue[postgers]\'"'
    assert strangers(in_source) == ["holdtrue[postgers]"]
    assert strangers("`pip install .`, pip install 'holdtrue[serve,plots]', `pip install\n'holdtrue[dev]'`") == []
    assert strangers("is not installed; pip install 'holdtrue[onnx]' to run it; pip install skl2onnx") == []


@pytest.mark.parametrize("part", ["holdtrue", "docs", "tests", "benchmarks", "experiments", "the rest"])
def test_nobody_is_told_to_install_a_stranger(part: str) -> None:
    for path in TOLD:
        top = path.relative_to(ROOT).parts[0]
        if part == top or (part == "the rest" and path.parent == ROOT):
            assert not strangers(path.read_text(encoding="utf-8")), path.relative_to(ROOT)


# The project's first name stays where ledgers that people have hold it, and where the renaming is told.
FORMER = "hold" + "fast"
MAY_SAY_IT = {
    "CHANGELOG.md",
    "holdtrue/ledger/_chain.py",
    "holdtrue/ledger/_record.py",
    "holdtrue/ledger/_tables.py",
    "holdtrue/ledger/migrations/versions/m0001_first.py",
    "holdtrue/ledger/migrations/versions/m0002_renamed.py",
    "tests/golden/answers.py",
    "tests/ledger/fixtures/ledger-0001.db",
    "tests/ledger/test_migrations.py",
}


def test_the_first_name_is_nowhere_else() -> None:
    said = {path.relative_to(ROOT).as_posix() for path in files() if FORMER.encode() in path.read_bytes().lower()}
    assert said <= MAY_SAY_IT


# ---- what others read of the project ----------------------------------------------------------------


def test_the_citation_is_of_this_version_and_names_the_papers() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == holdtrue.__version__
    pages = {path.name for path in (ROOT / "docs" / "papers").glob("*.md")}
    assert {Path(paper["notes"].split()[-1]).name for paper in cited["references"]} == pages
    for paper in cited["references"]:
        text = (ROOT / paper["notes"].split()[-1]).read_text(encoding="utf-8")
        assert paper["title"].lower() in " ".join(text.lower().split())


def test_make_targets_are_there() -> None:
    page = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("CONTRIBUTING.md", "README.md"))
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    assert set(re.findall(r"^make (\w+)", page, re.M)) <= targets


def test_every_dependency_is_explained() -> None:
    page = (ROOT / "docs" / "explanation" / "dependencies.md").read_text(encoding="utf-8")
    assert not {name for name in known() - {"holdtrue"} if f"`{name}`" not in page}


# ---- paths and lists on pages ------------------------------------------------------------------------

PAGES = [path for path in files() if path.suffix == ".md" and path.name != "CHANGELOG.md"]
PATH = re.compile(r"`((?:holdtrue|docs|tests|experiments|benchmarks|\.github)/[\w./-]*|[\w-]+/_[\w/]+\.py)`")

TO_BE_MADE = {"holdtrue/cli/_NAME.py", "holdtrue/methods/_random_search.py"}  # by whom the page guides


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_paths_on_pages_are_there(page: Path) -> None:
    gone = [place for place in PATH.findall(page.read_text(encoding="utf-8")) if not _is_there(place)]
    assert gone == []


def _is_there(place: str) -> bool:
    return place in TO_BE_MADE or any(
        (ROOT / top / place).exists() for top in ("", "holdtrue", "tests", "experiments")
    )


def test_paths_that_are_gone_are_found() -> None:
    assert PATH.findall("`runs/_parts.py`, `holdtrue/runs/`, `a/b`") == ["runs/_parts.py", "holdtrue/runs/"]
    assert not _is_there("runs/_gone.py")


def test_every_extra_is_scanned_or_named_as_left_out() -> None:
    """What the pages and comments say of extras: all but these."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    oldest = set(re.search(r"^EXTRAS := (.*)$", makefile, re.M)[1].split())  # type: ignore[index]
    assert set(EXTRAS) - oldest == {"torch", "optbinning", "mcp", "site", "dev"}
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    scanned = re.search(r"'\.\[([a-z,]+)\]'", str(jobs["supply"]["steps"]).replace('"', ""))
    assert scanned is not None
    assert set(EXTRAS) - set(scanned[1].split(",")) == {"torch", "site", "dev"}


def test_results_are_on_one_line_each() -> None:
    results = [p for p in files() if p.suffix == ".json" and "results" in p.parts and "tests" not in p.parts]
    assert len(results) > 100 or not results, "an sdist has none"
    assert [p.relative_to(ROOT) for p in results if p.read_bytes().count(b"\n") > 1] == []
