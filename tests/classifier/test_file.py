"""Model files: what is saved comes back; what is not ours is refused, and runs nothing."""

import contextlib
import io
import json
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdtrue as ht
from holdtrue.errors import DataError
from holdtrue.testing import _world as world


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    table, y = world.people()
    clf = ht.RecourseClassifier(
        schema=world.SCHEMA,
        model=ht.MLP(widths=(6,)),
        regime=ht.StandardTraining(n_epochs=3, class_weight={0: 2.0}),
        method=ht.NearestNeighbour(n_rows=50),
        threshold=0.6,
        random_state=0,
    ).fit(table, y)
    path = tmp_path_factory.mktemp("file") / "model.holdtrue"
    clf.save(path)
    return clf, path


def test_comes_back_whole(saved):
    clf, path = saved
    again = ht.RecourseClassifier.load(path)
    table, _ = world.people()
    assert (again.predict_proba(table) == clf.predict_proba(table)).all()
    assert again.schema == clf.schema
    assert again.get_params(deep=False)["threshold"] == 0.6
    assert again.regime.class_weight == {0: 2.0}
    a, b = clf.recourse(table.head(20)), again.recourse(table.head(20))
    assert a.status.tolist() == b.status.tolist()
    np.testing.assert_array_equal(a.cost, b.cost)
    assert again.predictor_.digest() == clf.predictor_.digest()


def test_holds_arrays_and_json_only(saved):
    _, path = saved
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            blob = archive.read(name)
            if name.endswith(".json"):
                json.loads(blob)
            else:
                np.load(io.BytesIO(blob), allow_pickle=False)


def test_missing_and_foreign_files(tmp_path):
    with pytest.raises(DataError, match="no such model file"):
        ht.RecourseClassifier.load(tmp_path / "nowhere")
    text = tmp_path / "text"
    text.write_text("not a model")
    with pytest.raises(DataError, match="damaged or is not one of holdtrue's"):
        ht.RecourseClassifier.load(text)
    foreign = tmp_path / "foreign.zip"
    with zipfile.ZipFile(foreign, "w") as archive:
        archive.writestr("hello.txt", "hello")
    with pytest.raises(DataError, match="damaged or is not one of holdtrue's"):
        ht.RecourseClassifier.load(foreign)


def rewritten(path, target, change):
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as out:
        for name in source.namelist():
            blob = change(name, source.read(name))
            if blob is not None:
                out.writestr(name, blob)
    return target


def test_changed_weights_are_noticed(saved, tmp_path):
    _, path = saved

    def flip(name, blob):
        return blob[:-1] + bytes([blob[-1] ^ 1]) if name == "model/0.npy" else blob

    with pytest.raises(DataError, match="checksum differs"):
        ht.RecourseClassifier.load(rewritten(path, tmp_path / "a", flip))


def test_newer_versions_are_refused(saved, tmp_path):
    _, path = saved

    def newer(name, blob):
        return json.dumps(json.loads(blob) | {"version": 99}) if name == "holdtrue.json" else blob

    with pytest.raises(DataError, match="version 99"):
        ht.RecourseClassifier.load(rewritten(path, tmp_path / "a", newer))


def test_a_pickle_inside_is_not_run(saved, tmp_path):
    _, path = saved
    ran = tmp_path / "ran"

    class Hostile:
        def __reduce__(self):
            return (open, (str(ran), "w"))

    buffer = io.BytesIO()
    np.save(buffer, np.array([Hostile()], object), allow_pickle=True)

    def swap(name, blob):
        return buffer.getvalue() if name == "model/0.npy" else blob

    with pytest.raises(DataError):
        ht.RecourseClassifier.load(rewritten(path, tmp_path / "a", swap))
    hostile = tmp_path / "hostile"
    hostile.write_bytes(pickle.dumps(Hostile()))
    with pytest.raises(DataError):
        ht.RecourseClassifier.load(hostile)
    assert not ran.exists()


def test_unknown_objects_are_not_imported(saved, tmp_path):
    _, path = saved

    def swap(name, blob):
        if name != "holdtrue.json":
            return blob
        header = json.loads(blob)
        header["params"]["method"] = {"$method": "os.system", "params": {"command": "true"}}
        return json.dumps(header)

    with pytest.raises(DataError, match="unknown method"):
        ht.RecourseClassifier.load(rewritten(path, tmp_path / "a", swap))


@settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cut=st.floats(0, 1), at=st.floats(0, 1), byte=st.integers(0, 255))
def test_damage_anywhere_is_a_data_error_or_harmless(saved, tmp_path, cut, at, byte):
    _, path = saved
    blob = bytearray(path.read_bytes())
    blob[int(at * (len(blob) - 1))] = byte
    target = tmp_path / "damaged"
    target.write_bytes(bytes(blob[: int(cut * len(blob))] if cut < 0.5 else blob))
    with contextlib.suppress(DataError):
        ht.RecourseClassifier.load(target)


def test_an_unregistered_method_cannot_be_saved(tmp_path):
    class Mine(ht.Wachter):
        pass

    table, y = world.people()
    clf = ht.RecourseClassifier(
        schema=world.SCHEMA, model=ht.Linear(), regime=ht.StandardTraining(n_epochs=1), method=Mine()
    ).fit(table, y)
    with pytest.raises(DataError, match="Mine is not registered"):
        clf.save(tmp_path / "m")


def test_writing_where_one_cannot_leaves_nothing(saved, tmp_path):
    clf, _ = saved
    with pytest.raises(DataError, match="cannot write the model file"):
        clf.save(tmp_path / "no" / "such" / "folder")
    assert list(tmp_path.iterdir()) == []


def test_a_small_file_does_not_unpack_to_a_large_one(tmp_path):
    """Two megabytes of zeros, packed, are two gigabytes."""
    path = tmp_path / "bomb.holdtrue"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("holdtrue.json", "{}")
        with archive.open("a.npy", "w") as part:
            for _ in range(100):
                part.write(bytes(1 << 20))
    with pytest.raises(DataError, match="bytes unpacked, of"):
        ht.RecourseClassifier.load(path)
