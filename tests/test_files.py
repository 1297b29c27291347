"""Files in one step, and locks between processes."""

import os
import stat
import threading
import time

import pytest

from holdtrue._files import drop_unfinished, locked, replaced
from holdtrue.errors import DataError
from holdtrue.server import add_key, read_keys, revoke_key


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_there_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a.txt"
    with pytest.raises(TypeError), replaced(path) as stream:
        stream.write("half")
    assert list(tmp_path.iterdir()) == []
    with replaced(path, private=True) as stream:
        stream.write(b"whole")
    assert path.read_bytes() == b"whole"
    assert mode(path) == 0o600
    path.chmod(0o640)
    with replaced(path, private=True) as stream:
        stream.write(b"again")
    assert mode(path) == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_it_is_synced_before_it_is_moved(tmp_path, monkeypatch):
    done = []
    sync, move = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append("sync"), sync(handle)))
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("move"), move(a, b)))
    with replaced(tmp_path / "a") as stream:
        stream.write(b"x")
    assert done == ["sync", "move", "sync"]  # the file, then the folder that names it


def test_a_lock_is_held_by_one(tmp_path):
    path = tmp_path / "lock"
    refused = pytest.raises(DataError, match="it is in use by another")
    with locked(path, what="it"), refused, locked(path, what="it"):
        pass
    assert not path.exists()
    counted, most = [], []

    def work():
        for _ in range(20):
            with locked(path, what="it", seconds=30):
                counted.append(1)
                most.append(len(counted))
                time.sleep(0.0005)
                counted.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 80
    assert set(most) == {1}


def _add(path, i):
    add_key(path, f"key {i}", "officer")


def test_keys_added_at_once_are_all_there(tmp_path):
    path = tmp_path / "keys.json"
    workers = [threading.Thread(target=_add, args=(path, i)) for i in range(16)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(key.name for key in read_keys(path)) == sorted(f"key {i}" for i in range(16))
    assert mode(path) == 0o600


def test_a_revoked_key_does_not_come_back(tmp_path):
    """While others are added."""
    path = tmp_path / "keys.json"
    for round_ in range(5):
        add_key(path, "root", "admin")
        workers = [threading.Thread(target=_add, args=(path, f"{round_} {i}")) for i in range(4)]
        for worker in workers:
            worker.start()
        revoke_key(path, "root")
        for worker in workers:
            worker.join()
        names = [key.name for key in read_keys(path)]
        assert "root" not in names
        assert len(names) == 4 * (round_ + 1)


def test_what_a_killed_process_left_is_removed(tmp_path):
    """Answers about people, half written, beside the output."""
    out = tmp_path / "answers.csv"
    stays = ["answers.csv", ".answers.csv.part", ".other.csv.7.part", ".answers.csv.x.part", ".answers.csv.run"]
    for name in [*stays, ".answers.csv.123.part", ".answers.csv.4.part"]:
        (tmp_path / name).write_text("x")
    drop_unfinished(out)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(stays)
