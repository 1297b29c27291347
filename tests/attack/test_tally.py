"""What attacks count, and with which code."""

from pathlib import Path

from benchmarks.attack._tally import UNLABELLED, by_code, code, latest, read, summed

OLD = {"world": 0, "asked": "a", "method": "a", "people": 5, "crashed": 1}
NEW = {"world": 0, "asked": "a", "method": "a", "people": 7, "crashed": 0, "code": "2 abc"}
OTHER = {"world": 1, "asked": "a", "method": "a", "people": 3, "crashed": 0}


def test_of_a_question_asked_again_the_newer_answer_counts() -> None:
    assert latest([OLD, OTHER, NEW, NEW]) == [OTHER, NEW, NEW]
    told = summed(latest([OLD, OTHER, NEW]), ["crashed"])
    assert (told["worlds"], told["people"], told["crashed"]) == (2, 10, 0)
    assert told["codes"] == {UNLABELLED: {"people": 3}, "2 abc": {"people": 7}}
    assert by_code([OLD, OTHER]) == {UNLABELLED: {"people": 8}}


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"world": 0}\n{"world": 1, "as', encoding="utf-8")
    assert read(tmp_path / "x.jsonl") == [{"world": 0}]
    assert read(tmp_path / "none.jsonl") == []


def test_the_code_has_a_name() -> None:
    version, _, rest = code().partition(" ")
    assert version
    assert rest
