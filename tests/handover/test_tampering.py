"""No byte of the file can be changed unseen; a signature says who made it."""

import copy
import io
import json
import tracemalloc
import zipfile

import pytest

import holdtrue as ht
from holdtrue.errors import DataError
from holdtrue.handover._archive import packed, unpacked, write
from holdtrue.handover._page import page

MEMBERS = {"evidence.json": b'{"a": 1}\n', "evidence.html": b"<p>", "tables/people.parquet": bytes(range(64))}


def keys(folder):
    """A pair of Ed25519 keys as PEM files."""
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    key = ed25519.Ed25519PrivateKey.generate()
    private, public = folder / "key.pem", folder / "key.pub"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return private, public


@pytest.mark.parametrize("signed", [False, True])
def test_any_byte_that_is_changed_is_noticed(tmp_path, signed):
    raw = packed(MEMBERS, keys(tmp_path)[0] if signed else None).to_bytes()
    assert unpacked(raw, "it").members == MEMBERS
    for at in range(len(raw)):
        for flip in (1, 0x20, 0xFF):
            other = bytearray(raw)
            other[at] ^= flip
            with pytest.raises(DataError, match="was changed"):
                unpacked(bytes(other), "it")


def test_any_part_of_a_real_file_that_is_changed_is_noticed(file):
    """Every member's header, begin, middle and end; the central directory whole."""
    raw = file.read_bytes()
    with zipfile.ZipFile(file) as archive:
        infos, directory = archive.infolist(), archive.start_dir
    places = {*range(directory, len(raw), 3)}
    for info in infos:
        begin = info.header_offset + 30 + len(info.filename)
        places |= {*range(info.header_offset, begin, 2), begin, begin + info.file_size // 2}
        places.add(begin + info.file_size - 1)
    for at in sorted(places):
        other = bytearray(raw)
        other[at] ^= 0x10
        with pytest.raises(DataError, match="was changed"):
            unpacked(bytes(other), "it")


def test_nothing_can_be_added_or_taken_away():
    raw = packed(MEMBERS).to_bytes()
    for other in (raw + b"\0", b"\0" + raw, raw[:-1], raw[:100] + raw[101:], b"", b"PK"):
        with pytest.raises(DataError, match="was changed"):
            unpacked(other, "it")
    buffer = io.BytesIO(raw)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("more.txt", "more")
    with pytest.raises(DataError, match="added"):
        unpacked(buffer.getvalue(), "it")


def test_a_file_that_would_unpack_to_a_thousand_times_its_size_is_not_unpacked():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", bytes(50_000_000))
    tracemalloc.start()
    with pytest.raises(DataError, match="not stored as they are"):
        unpacked(buffer.getvalue(), "it")
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


@pytest.mark.parametrize("given", [None, [], {}, {"settings": 3}])
def test_members_of_a_stranger_that_do_not_fit_are_a_data_error(tmp_path, made, given):
    """Digests that fit say nothing: whoever packs a file can make them."""
    members = made.members() | {"evidence.json": json.dumps({"given": given}).encode()}
    write(packed(members), tmp_path / "odd.zip")
    for read in (ht.verify_evidence, ht.Evidence.load):
        with pytest.raises(DataError, match="do not fit together"):
            read(tmp_path / "odd.zip")


def test_markup_that_a_stranger_put_into_a_file_stays_text(made):
    """Every text that was handed in, wherever it stands: on the page it is text, or the file is refused."""
    markup = "<svg onload=alert(7)>"

    def places(part, path=()):
        for key, value in part.items() if isinstance(part, dict) else enumerate(part):
            yield (*path, key)
            if isinstance(value, (dict, list)):
                yield from places(value, (*path, key))

    told = 0
    for path in places(made.given):
        given = copy.deepcopy(made.given)
        part = given
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = markup
        try:
            text = page(given, made.figures, made.limits)
        except (TypeError, ValueError, KeyError, AttributeError):  # it is no text there; of a file, a DataError
            continue
        told += 1
        assert markup not in text, path
    assert told > 50


def test_a_signature_says_who_made_it(tmp_path, made, file):
    private, public = keys(tmp_path)
    made.save(tmp_path / "signed.zip", key=private)
    found = ht.verify_evidence(tmp_path / "signed.zip", public_key=public)
    assert found.ok, str(found)
    assert "Whose key it is, you must know" in str(ht.verify_evidence(tmp_path / "signed.zip"))
    # Changed and signed again by somebody else: the digests fit, the key does not.
    (tmp_path / "other").mkdir()
    other, _ = keys(tmp_path / "other")
    write(packed(made.members(), other), tmp_path / "again.zip")
    assert not ht.verify_evidence(tmp_path / "again.zip", public_key=public).ok
    assert not ht.verify_evidence(file, public_key=public).ok  # not signed at all


def test_a_key_that_is_none_is_refused(tmp_path, made):
    (tmp_path / "no.pem").write_text("no key")
    with pytest.raises(DataError, match="the key cannot be read"):
        made.save(tmp_path / "signed.zip", key=tmp_path / "no.pem")
    with pytest.raises(DataError, match="cannot be read"):
        ht.verify_evidence(tmp_path / "nowhere.zip")
