"""Records: one text for one content, and nothing taken from strangers that does not fit."""

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdtrue.errors import DataError
from holdtrue.ledger import Record, read_records, write_records
from holdtrue.ledger._canonical import LARGEST, canonical, parse
from holdtrue.ledger._record import from_text, to_text
from holdtrue.testing._ledger import START, promise_to

LABELS = st.one_of(
    st.text(max_size=20),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
)
JSON = st.recursive(
    st.one_of(st.none(), LABELS),
    lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(max_size=9), v, max_size=4),
)


@given(value=JSON)
def test_canonical_json_reads_back_and_is_one_text(value: object) -> None:
    text = canonical(value)
    assert text.isascii()
    again = parse(text, "test")
    assert canonical(again) == text
    assert again == value


def test_canonical_json_is_as_written_down() -> None:
    """The form is fixed: hashes made today are checked in years."""
    value = {"b": [1, 1.0, 0.1, 1e22, -0.0, 5e-324], "a": "é\u0000", "ä": None}
    assert canonical(value) == '{"a":"\\u00e9\\u0000","b":[1,1.0,0.1,1e+22,-0.0,5e-324],"\\u00e4":null}'
    record = promise_to("someone", id="0" * 32)
    assert record.digest() == DIGEST


DIGEST = "9301b232bcb2724b3cb992694f5ff434d8cfb74f2743d8795ddece87fa43db13"


@given(
    factual=st.dictionaries(st.text(max_size=9), st.none() | LABELS, min_size=1, max_size=6),
    changes=st.text(max_size=50),
)
def test_a_record_survives_its_text(factual: dict, changes: str) -> None:
    record = promise_to("x", factual=factual, recourse=factual, changes=changes, survival={"estimate": 0.9})
    again = Record.from_json(record.to_json())
    assert again == record
    assert again.digest() == record.digest()


def test_times_are_kept_in_utc() -> None:
    there = datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=5)))
    record = promise_to("x", issued=there, valid_until=None)
    assert record.to_dict()["issued"] == "2026-03-01T07:00:00.000000Z"
    assert Record.from_json(record.to_json()).issued == there


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"subject": ""}, "`subject` must be a text of 1 to 200"),
        ({"subject": "a\nb"}, "`subject`"),
        ({"subject": 7}, "`subject`"),
        ({"factual": {}}, "`factual`"),
        ({"factual": {"income": [1]}}, "`factual`"),
        ({"factual": {"wealth": 1}}, "same columns"),
        ({"factual": {"income": float("nan"), "home": "rent", "since": None}}, "not finite"),
        ({"probability_after": 1.5}, "`probability_after`"),
        ({"probability_after": float("nan")}, "`probability_after`"),
        ({"cost": float("inf")}, "not finite"),
        ({"cost": True}, "`cost`"),
        ({"schema": "xyz"}, "`schema`"),
        ({"model": {"hash": "ab"}}, "`model`"),
        ({"method": {"name": "x"}}, "`method`"),
        ({"issued": datetime(2026, 1, 1)}, "`issued`"),
        ({"valid_until": START}, "must come after"),
        ({"id": "1"}, "`id`"),
        ({"certificate": []}, "`certificate`"),
        ({"survival": {"x": 10**30}}, "64 bits"),
        ({"restrictions": {"x": "y" * 30_000}}, "too long"),
    ],
)
def test_what_does_not_fit_is_named(changes: dict, words: str) -> None:
    with pytest.raises(DataError, match="Record: ") as caught:
        promise_to(**{"subject": "someone"} | changes)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 400


def _with(**changes: object) -> str:
    return json.dumps(promise_to("x").to_dict() | changes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("[]", "not a record"),
        ("{}", "not a record"),
        (_with()[:-20], "not JSON"),
        (_with(version=2), "version 2, this holdtrue reads 1"),
        (_with(version=True), "version True"),
        (_with(format="other"), "not a record"),
        (_with(sesame=1), "unknown field"),
        (_with(issued="yesterday"), "`issued`"),
        (_with(issued=7), "`issued`"),
        (_with(issued="2026-02-31T00:00:00.000000Z"), "`issued`"),
        (_with(issued="2026-W05-6T00:00:00.000000Z"), "`issued`"),
        (_with(issued="2026-01-31T00:00:00.000000+"), "`issued`"),
        (json.dumps({k: v for k, v in promise_to("x").to_dict().items() if k != "target"}), "no target"),
        (_with().replace('"cost": 0.09', '"cost": NaN'), "NaN"),
        (_with().replace('"cost": 0.09', '"cost": 1e999'), "not finite"),
        (_with().replace('"cost": 0.09', '"cost": 0.09, "cost": 0.1'), "twice"),
        (_with().replace('"cost": 0.09', '"cost": ' + "9" * 5000), "Record"),
        ("[" * 100_000, "not JSON"),
        ('{"a":' * 40 + "1" + "}" * 40, "nested too deeply"),
        (" " * (LARGEST + 1), "too large"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"\x80\x04\x95", "not JSON"),
    ],
)
def test_hostile_text_is_refused(text: str | bytes, words: str) -> None:
    with pytest.raises(DataError) as caught:
        Record.from_json(text)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 600


@given(data=st.binary(max_size=200))
def test_any_bytes_are_a_data_error(data: bytes) -> None:
    with pytest.raises(DataError):
        Record.from_json(data)


@given(place=st.integers(0, 5000), byte=st.integers(0, 255))
def test_a_damaged_byte_is_refused_or_another_record(place: int, byte: int) -> None:
    text = bytearray(RECORD.to_json().encode())
    text[place % len(text)] = byte
    try:
        read = Record.from_json(bytes(text))
    except DataError:
        return
    assert read == RECORD or read.digest() != RECORD.digest()


RECORD = promise_to("someone")


def test_files(tmp_path: Path) -> None:
    records = [promise_to(f"person {i}") for i in range(3)]
    path = tmp_path / "records.jsonl"
    assert write_records(records, path) == 3
    assert list(read_records(path)) == records
    records[0].save(tmp_path / "one.json")
    assert Record.load(tmp_path / "one.json") == records[0]
    path.write_text(records[0].to_json() + "\n\n{}\n")
    with pytest.raises(DataError, match="line 3 of"):
        list(read_records(path))
    with path.open("w") as stream:
        stream.write("x" * (2 * LARGEST))
    with pytest.raises(DataError, match=r"line 1 of .*too large"):
        list(read_records(path))
    for call in (Record.load, lambda p: list(read_records(p)), lambda p: write_records(records, p / "x")):
        with pytest.raises(DataError, match="cannot be"):
            call(tmp_path / "absent")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one.json", "records.jsonl"]


def test_the_ledger_does_not_import_jax() -> None:
    code = (
        "import sys, holdtrue.ledger as l, tempfile, os\n"
        "l.Ledger.create(os.path.join(tempfile.mkdtemp(), 'l.db')).verify()\n"
        "print([m for m in ('jax', 'equinox', 'optax', 'sklearn') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


OFFSETS = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(time=st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=OFFSETS))
def test_any_time_survives_its_text(time: datetime) -> None:
    assert from_text(to_text(time)) == time


@given(a=st.datetimes(timezones=st.just(UTC)), b=st.datetimes(timezones=st.just(UTC)))
def test_texts_sort_as_times_do(a: datetime, b: datetime) -> None:
    assert (a < b) == (to_text(a) < to_text(b))


def test_a_reason_is_kept_and_its_absence_changes_nothing() -> None:
    """A record without a reason has the digest that it had before there were any."""
    plain = promise_to("a")
    assert "reason" not in plain.to_dict()
    told = replace(plain, reason="The landlord writes that the lease will be prolonged.\nSeen by two.")
    assert told.digest() != plain.digest()
    assert Record.from_json(told.to_json()) == told
    assert Record.from_json(plain.to_json()) == plain
    assert Record.from_dict(plain.to_dict() | {"reason": None}) == plain
    for bad in ("", "  ", "x" * 2001, "a\x00b", 7):
        with pytest.raises(DataError, match="`reason` must be a text of 1 to 2000 characters"):
            replace(plain, reason=bad)
