"""A few broken and hostile inputs of every kind; `benchmarks.attack.inputs` takes a hundred thousand."""

import gzip
from pathlib import Path

import pandas as pd
import pytest

import holdtrue as ht
from benchmarks.attack._damage import obeyed
from benchmarks.attack.inputs import BOMBS, KINDS, WRONG, attack
from holdtrue.attribution import CodeTable
from holdtrue.errors import DataError
from holdtrue.runs._read import Source
from holdtrue.testing._ledger import promise_to


def test_what_counts_as_obeyed() -> None:
    assert obeyed("Raise income from 3 to 4.\n") is None
    assert obeyed("{{ 7919*7907 }}") is None  # a text as it was given
    for text in ("62615533", "a\x1b[2J", "\u202eevil"):
        assert obeyed(text) is not None
    assert obeyed("<script>alert(7)</script>", html=True) is not None
    assert obeyed("&lt;script&gt;alert(7)&lt;/script&gt;", html=True) is None


@pytest.mark.parametrize("kind", [*KINDS, "evidence", "json lines"])
def test_typed_errors_only_and_nothing_obeyed(kind: str) -> None:
    counts = attack(0, kind, cases=40 if kind == "evidence" else 15)[0]
    assert {what: counts[what] for what in WRONG} == dict.fromkeys(WRONG, 0), counts.get("error")


def test_damaged_pages_of_a_parquet_file_are_a_data_error(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"income": [float(i) for i in range(500)]}).to_parquet(path)
    content = bytearray(path.read_bytes())
    content[60:400] = bytes(340)
    path.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read"):
        list(Source(path).tables())


def test_a_deep_table_of_codes_is_a_data_error(tmp_path: Path) -> None:
    for bomb in BOMBS[:4]:
        (tmp_path / "codes.yaml").write_text(bomb)
        with pytest.raises(DataError):
            CodeTable.load(tmp_path / "codes.yaml")
    (tmp_path / "codes.yaml").write_text("codes: []\ncodes: []\n")
    with pytest.raises(DataError, match="stands twice"):
        CodeTable.load(tmp_path / "codes.yaml")


def test_the_owners_words_steer_nothing_in_a_letter() -> None:
    words = {0: "no\x1b[2J\n\nYours", 1: "yes\u202e"}
    letter = ht.letters(promise_to("p", valid_until=None), words=words)[0]
    assert obeyed(letter.text) is None
    assert "no [2J Yours" in letter.text


def test_a_cut_gzip_is_a_data_error(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"income\n" + b"1\n" * 5000)[:-20])
    with pytest.raises(DataError, match="cannot be read"):
        list(Source(path).tables())
