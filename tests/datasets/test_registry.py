"""Every entry of the registry: what it promises is what `load` returns."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from holdtrue import datasets
from holdtrue.datasets._registry import spec
from holdtrue.errors import DataError
from holdtrue.schema import Schema, guess

VARIANTS = [(name, variant) for name in datasets.names() for variant in (None, *spec(name).variants)]

# Rows with the favourable label, from the sources (see the table of the data directory).
FAVOURABLE = {
    "adult": 11687,
    "bail": 18876 - 3582 - 3522,
    "breast_cancer": 357,
    "california_housing": 10317,
    "cardiotocography": 1655,
    "compas": 3363,
    "german_credit": 700,
    "german_credit_raw": 700,
    "german_credit_roar_codes": 700,
    "give_me_some_credit": 150000 - 10026,
    "heloc": 5000,
    "loanapp": 1727,
    "recid": 893,
    "rocoursenet_german": 1400,
    "rocoursenet_student": 194,
    "sba_california": 2102 - 686,
    "sba_loans": 364365,
    "seizure": 11500 - 2300,
    "south_german_credit": 700,
    "south_german_credit_codes": 700,
    "student_por": 549,
    "taiwan_credit": 30000 - 6636,
}


def fetch(request: pytest.FixtureRequest, name: str, **options: object) -> datasets.Dataset:
    if spec(name).file is not None:
        request.getfixturevalue("data_dir")
    return datasets.load(name, **options)


def holds(schema: Schema, X: pd.DataFrame) -> list[float]:
    """Share of rows in which each constraint and implication holds."""
    shares = []
    for c in schema.constraints:
        if c.on == "change":  # whoever changes nothing keeps it
            shares.append(float(c.bound >= 0))
            continue
        total = sum(weight * X[key] for key, weight in c.coefficients.items())
        shares.append(float((~(total > c.bound)).mean()))  # what is missing contradicts nothing
    for i in schema.implications:
        when = np.logical_and.reduce([X[k].isin(v) for k, v in i.when.items()])
        then = np.logical_and.reduce([X[k].isin(v) for k, v in i.then.items()])
        shares.append(float((~when | then).mean()))
    return shares


@pytest.mark.parametrize("name", datasets.names())
def test_entry_is_true(request: pytest.FixtureRequest, name: str) -> None:
    data, entry = fetch(request, name), spec(name)
    assert (len(data), data.X.shape[1], len(data.classes)) == (entry.rows, entry.features, entry.classes)
    assert data.favourable is None or data.favourable in data.classes
    assert entry.classes > 2 or data.classes == [0, 1]
    assert data.y.shape == (len(data),)
    assert data.X.index.equals(pd.RangeIndex(len(data)))
    assert data.groups is None or data.groups.index.equals(data.X.index)
    assert all((data.source, data.licence, data.description, data.target))
    assert data.favourable is None or "favourable" in data.description
    if name in FAVOURABLE:
        assert int((data.y == data.favourable).sum()) == FAVOURABLE[name]


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_schema_accepts_the_table(request: pytest.FixtureRequest, name: str, variant: str | None) -> None:
    data = fetch(request, name, **({} if variant is None else {"variant": variant}))
    if data.schema is None:
        assert name == "sst"
        return
    assert data.schema.names == list(data.X.columns)
    table = data.X if name != "mnist" else data.X.head(500)
    data.schema.check(table)
    assert data.schema.resolve(table) == data.schema
    assert any(f.direction != "fixed" for f in data.schema)
    assert all(f.bounds or f.levels for f in data.schema)
    assert all(share > 0.99 for share in holds(data.schema, data.X))


@pytest.mark.parametrize("name", datasets.names())
def test_people_are_not_asked_to_be_others(request: pytest.FixtureRequest, name: str) -> None:
    data = fetch(request, name)
    never = ("age", "sex", "race", "male", "black", "white", "hispan", "personal_status_sex", "foreign_worker")
    for feature in data.schema or ():
        if feature.name.lower() in never or feature.name in ("marital-status", "married", "MARRIAGE"):
            assert feature.direction == "fixed", feature.name


def test_names_are_sorted_and_files_known_by_their_stem(data_dir: object) -> None:
    assert datasets.names() == sorted(datasets.names())
    assert datasets.load("default_credit_card").name == "taiwan_credit"
    assert spec("epileptic_seizure").name == "seizure"


def test_describe_reads_nothing(no_data: object) -> None:
    rows = {row["name"]: row for row in datasets.describe()}
    assert list(rows) == datasets.names()
    assert rows["loanapp"]["available"]
    assert rows["loanapp"]["kept_in"] == "embedded"
    assert not rows["heloc"]["available"]
    assert rows["heloc"]["kept_in"] == "heloc.csv.gz"
    assert datasets.describe("moons")[0]["options"] == ["n_samples", "random_state", "protect"]


def test_describe_sees_the_directory(data_dir: object) -> None:
    assert datasets.describe("heloc")[0]["available"]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("loanap", {}, "unknown dataset; got 'loanap'. Did you mean 'loanapp'?"),
        (None, {}, "unknown dataset; got None"),
        (["adult"], {}, "unknown dataset"),
        ("loanapp", {"variant": "x"}, "unknown option of 'loanapp'; got 'variant'. It has no options."),
        ("moons", {"n_sample": 5}, "Did you mean 'n_samples'"),
        ("adult", {"variant": "actionable"}, "Did you mean 'actionable-recourse'"),
        ("moons", {"n_samples": 2}, "`n_samples` must be a whole number"),
        ("moons", {"n_samples": 10.5}, "`n_samples` must be a whole number"),
        ("overlapping", {"centers": [1, 2]}, "`centers` must be two points"),
    ],
)
def test_wrong_requests(no_data: object, name: str, options: dict, message: str) -> None:
    with pytest.raises(DataError, match="datasets") as caught:
        datasets.load(name, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("cardiotocography", {"classes": 4}),
        ("sst", {"classes": 3}),
        ("mnist", {"part": "dev"}),
        ("student_por", {"pass_mark": 25}),
        ("compas", {"label": "decile"}),
    ],
)
def test_wrong_values_of_options(data_dir: object, name: str, options: dict) -> None:
    with pytest.raises(DataError, match=f"`{next(iter(options))}` must be .*; got"):
        datasets.load(name, **options)


def test_no_jax() -> None:
    code = (
        "import sys; from holdtrue import datasets; datasets.load('loanapp').split(); "
        "assert not {'jax', 'equinox', 'optax'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# Columns whose names speak of people, and which are none of anybody's protected traits here.
NOT_PROTECTED = {
    "give_me_some_credit": {"NumberOfDependents"},  # a lender may ask for them: Regulation B, 12 CFR 1002.5(d)(3)
    "loanapp": {"dep"},
    "german_credit": {"people_liable"},
    "german_credit_raw": {"people_liable"},
    "german_credit_roar_codes": {"people_liable"},
    "south_german_credit": {"people_liable"},
    "south_german_credit_codes": {"people_liable"},
    "rocoursenet_german": {"Number people"},
}


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_who_people_are_is_protected_in_every_dataset(request, name, variant):
    """What the guess protects by its name or its levels is protected, and what an entry names is there."""
    data = fetch(request, name, **({} if variant is None else {"variant": variant}))
    if data.schema is None:
        assert spec(name).protected == ()
        return
    guessed = {f.name for f in guess(data.X.head(3000)).schema if f.protected}
    told = {f.name for f in data.schema if f.protected}
    assert guessed - NOT_PROTECTED.get(name, set()) <= told
    assert told == set(spec(name).protected) & set(data.schema.names)


def test_every_protected_column_is_one_of_some_variant(request):
    for name in datasets.names():
        entry, found = spec(name), set()
        for variant in (None, *entry.variants) if entry.protected else ():
            data = fetch(request, name, **({} if variant is None else {"variant": variant}))
            found |= set(data.schema.names)
        assert set(entry.protected) <= found, name


def test_protection_moves_nothing(request):
    """A paper's variant that lets race change still does; where nothing is said, nobody is asked to."""
    adult = fetch(request, "adult", variant="robustness-tradeoffs").schema
    assert (adult["race"].direction, adult["race"].protected) == ("free", True)
    for name in datasets.names():
        entry = spec(name)
        if entry.protected:
            schema = fetch(request, name).schema
            assert {f.name: f.direction for f in schema if f.protected and f.direction != "fixed"} == {}
