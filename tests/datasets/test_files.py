"""Finding, verifying and adding files."""

import gzip
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from holdtrue import datasets
from holdtrue.datasets._files import RawFile, store
from holdtrue.datasets._registry import spec
from holdtrue.errors import DataError


def german(tmp_path: Path, **changes: object) -> Path:
    """A file that looks like `german_credit_raw`, with invented people."""
    levels = spec("german_credit_raw").build.__globals__["_LEVELS"]
    rng = np.random.default_rng(0)
    columns = spec("german_credit_raw").file.columns
    frame = pd.DataFrame({c: rng.integers(1, 4, 1000) for c in columns})
    for name, codes in levels.items():
        frame[name] = rng.choice(list(codes.values()), 1000)
    frame["credit_risk"] = rng.integers(1, 3, 1000)
    frame = frame.assign(**changes)
    path = tmp_path / "anything.csv.gz"
    frame.to_csv(path, index=False)
    return path


def test_missing_file_says_where_and_how(no_data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOLDTRUE_DATA", str(tmp_path / "typo"))
    with pytest.raises(DataError) as caught:
        datasets.load("heloc")
    text = str(caught.value)
    assert f"{str(tmp_path / 'typo')!r} (no such directory)" in text
    assert str(no_data) in text
    assert "`holdtrue datasets add heloc FILE`" in text
    assert "HOLDTRUE_DATA" in text


def test_data_dirs_in_order(no_data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert datasets.data_dirs() == [no_data]
    monkeypatch.setenv("HOLDTRUE_DATA", str(tmp_path))
    assert datasets.data_dirs() == [tmp_path, no_data]


@pytest.mark.parametrize("value", ["", "relative/path"])
def test_cache_falls_back_to_home(value: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HOLDTRUE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert datasets.data_dirs() == [tmp_path / ".cache" / "holdtrue" / "data"]


def test_add_then_load(no_data: Path, tmp_path: Path) -> None:
    source = german(tmp_path)
    copy = datasets.add("german_credit_raw", source)
    assert copy == no_data / "german_credit_raw.csv.gz"
    assert copy.read_bytes() == source.read_bytes()
    assert len(datasets.load("german_credit_raw")) == 1000
    assert [p.name for p in no_data.iterdir()] == [copy.name]


def test_an_unzipped_copy_is_as_good(no_data: Path, tmp_path: Path) -> None:
    plain = tmp_path / "german.csv"
    plain.write_bytes(gzip.decompress(german(tmp_path).read_bytes()))
    datasets.add("german_credit_raw", str(plain))
    assert len(datasets.load("german_credit_raw")) == 1000


def test_the_named_directory_comes_first(no_data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    datasets.add("german_credit_raw", german(tmp_path))
    named = tmp_path / "named"
    named.mkdir()
    monkeypatch.setenv("HOLDTRUE_DATA", str(named))
    german(tmp_path, age=41).rename(named / "german_credit_raw.csv.gz")
    with pytest.raises(DataError, match="'age' is constant"):
        datasets.load("german_credit_raw")


def test_add_refuses_what_load_would(no_data: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'age' is constant"):
        datasets.add("german_credit_raw", german(tmp_path, age=41))
    assert not no_data.exists()


def test_add_to_an_embedded_set(no_data: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'loanapp' is embedded"):
        datasets.add("loanapp", german(tmp_path))


@pytest.mark.parametrize("path", ["absent.csv.gz", "."])
def test_add_a_path_without_a_file(no_data: Path, path: str) -> None:
    with pytest.raises(DataError, match="the file is not there"):
        datasets.add("heloc", path)


def test_add_is_atomic(no_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = datasets.add("german_credit_raw", german(tmp_path)).read_bytes()

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("holdtrue.datasets._files.os.fsync", fail)
    with pytest.raises(DataError, match="disk full"):
        store(german(tmp_path, age=range(1000)), "german_credit_raw.csv.gz")
    assert [p.name for p in no_data.iterdir()] == ["german_credit_raw.csv.gz"]
    assert (no_data / "german_credit_raw.csv.gz").read_bytes() == first


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_add_to_a_read_only_cache(no_data: Path, tmp_path: Path) -> None:
    no_data.mkdir(parents=True)
    no_data.chmod(0o500)
    with pytest.raises(DataError, match="cannot write to the cache"):
        datasets.add("german_credit_raw", german(tmp_path))


def test_wrong_rows(tmp_path: Path, no_data: Path) -> None:
    path = german(tmp_path)
    pd.read_csv(path).head(900).to_csv(path, index=False)
    with pytest.raises(DataError, match=r"should have 1,000 rows; got 900\."):
        datasets.add("german_credit_raw", path)


def test_wrong_columns(tmp_path: Path, no_data: Path) -> None:
    path = german(tmp_path)
    pd.read_csv(path).rename(columns={"duration": "durations"}).to_csv(path, index=False)
    with pytest.raises(DataError, match=r"got no \['duration'\].*Did you mean 'durations'\?"):
        datasets.add("german_credit_raw", path)


def test_the_file_of_another_set(tmp_path: Path, no_data: Path) -> None:
    with pytest.raises(DataError, match=r"15 of its columns are absent.*is it another dataset's\?"):
        datasets.add("adult", german(tmp_path).rename(tmp_path / "adult.csv.gz"))


def test_a_column_too_many(tmp_path: Path, no_data: Path) -> None:
    with pytest.raises(DataError, match=r"should have 21 columns; got 22, among them \['extra'\]"):
        datasets.add("german_credit_raw", german(tmp_path, extra=1))


@pytest.mark.parametrize("name", ["german_credit.csv.gz", "sba_loans.parquet", "mnist.npz"])
@pytest.mark.parametrize("damage", ["truncated", "text", "empty"])
def test_damaged_files(name: str, damage: str, data_dir: Path, tmp_path: Path) -> None:
    whole = (data_dir / name).read_bytes()
    path = tmp_path / name
    contents = {"truncated": whole[: len(whole) // 2], "text": b"<html>not found</html>", "empty": b""}
    path.write_bytes(contents[damage])
    entry = spec(name.split(".")[0])
    with pytest.raises(DataError, match=r"cannot be read|is not the expected"):
        entry.make({}, path)


def test_arrays_of_another_shape(tmp_path: Path) -> None:
    path = tmp_path / "mnist.npz"
    np.savez(path, x=np.zeros((3, 2)))
    file = RawFile(name="mnist.npz", rows=3, width=2, arrays={"x": (3, 2)})
    assert file.read(path)["x"].shape == (3, 2)
    with pytest.raises(DataError, match=r"arrays differ; got \{'x': \(3, 2\)\}"):
        RawFile(name="mnist.npz", rows=4, width=2, arrays={"x": (4, 2)}).read(path)
