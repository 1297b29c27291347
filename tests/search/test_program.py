"""The machine code of the search over tree ensembles: from the program that comes with the package."""

import hashlib

import pytest

from holdtrue.search.exact import _program
from holdtrue.search.exact._program import cache_dir, digest, written

MADE = b"machine code"


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """How often the program was compiled, with a folder of its own to keep it in."""
    calls = []
    monkeypatch.delenv("HOLDTRUE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(_program, "compiled", lambda said, _: calls.append(said) or MADE)
    return calls


def kept_files():
    directory = cache_dir()
    assert directory is not None
    return list(directory.iterdir())


def test_the_program_is_made_from_the_sources_beside_it():
    first = written().splitlines()[0]
    assert first == f"; {digest()}", "a source was edited: run `make program`"


def test_the_program_names_no_machine():
    said = written()
    for word in ("target triple", "target datalayout", "source_filename", "Py", "NRT_", "numba"):
        assert word not in said


def test_it_is_compiled_once_and_kept(asked):
    assert _program._code(None) == MADE
    assert _program._code(None) == MADE
    assert asked == [written()]
    (kept,) = kept_files()
    assert kept.read_bytes() == hashlib.sha256(MADE).digest() + MADE


@pytest.mark.parametrize("damaged", [b"", b"short", hashlib.sha256(MADE).digest() + b"other code"])
def test_what_is_kept_and_damaged_is_made_again(asked, damaged):
    _program._code(None)
    (kept,) = kept_files()
    kept.write_bytes(damaged)
    assert _program._code(None) == MADE
    assert len(asked) == 2
    assert kept.read_bytes().endswith(MADE)


def test_another_processor_gets_code_of_its_own(asked, monkeypatch):
    """A folder may be shared: code for a processor that can do more would end the process."""
    _program._code(None)
    monkeypatch.setattr(_program, "_processor", lambda: ("x86_64-unknown-linux-gnu", "older", "-avx2"))
    _program._code(None)
    assert len(asked) == len(kept_files()) == 2


def test_nothing_is_kept_where_that_is_switched_off_or_cannot_be(asked, monkeypatch, tmp_path):
    monkeypatch.setenv("HOLDTRUE_CACHE", "off")
    assert _program._code(None) == _program._code(None) == MADE
    monkeypatch.delenv("HOLDTRUE_CACHE")
    (tmp_path / "holdtrue").write_text("a file where a folder should be")
    assert _program._code(None) == MADE
    assert len(asked) == 3


def test_an_edited_source_is_compiled_anew(asked, monkeypatch):
    from holdtrue.search.exact import _make

    monkeypatch.setattr(_program, "digest", lambda: 64 * "0")
    monkeypatch.setattr(_make, "text", lambda: "made anew")
    _program._code(None)
    assert asked == ["made anew"]


def test_what_older_compilers_cannot_read_is_left_out():
    from holdtrue.search.exact._make import readable

    said = """; ModuleID = 'x'
source_filename = "x"
target triple = "x86_64-unknown-linux-gnu"
define range(i32 0, 2) i32 @search(ptr noalias captures(none) %a, i64 range(i64 0, 5) %b) local_unnamed_addr #0 {
  %1 = getelementptr inbounds nuw i8, ptr %a, i64 8
  %2 = zext nneg i32 3 to i64
  %3 = trunc nuw nsw i64 %2 to i32
  %4 = add nuw nsw i64 %2, 1
  %5 = icmp samesign ult i64 %2, %4
  call void @llvm.lifetime.start.p0(ptr %a)
  %6 = tail call double @sqrt(double 2.000000e+00) #1
  br i1 %5, label %x, label %y, !llvm.loop !3

x:                                                ; preds = %y
}
attributes #0 = { nounwind memory(none) }
!3 = distinct !{!3}
"""
    assert (
        readable(said)
        == """define i32 @search(ptr noalias %a, i64 %b) {
  %1 = getelementptr inbounds i8, ptr %a, i64 8
  %2 = zext i32 3 to i64
  %3 = trunc i64 %2 to i32
  %4 = add nuw nsw i64 %2, 1
  %5 = icmp ult i64 %2, %4
  %6 = tail call double @llvm.sqrt.f64(double 2.000000e+00)
  br i1 %5, label %x, label %y
x:
}
"""
    )
