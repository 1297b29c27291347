"""A PostgreSQL server of the tests' own, where its programs are installed."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


def programs() -> Path | None:
    """The folder of the newest server."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: float(p.parent.name), reverse=True)
    found = shutil.which("initdb")
    folders += [Path(found).resolve().parent] if found else []
    return next((folder for folder in folders if (folder / "pg_ctl").exists()), None)


class Server:
    """A server in a folder of its own, on a socket there, as a user that is not root."""

    def __init__(self, bin: Path, folder: Path) -> None:
        self.bin, self.folder = bin, folder
        self.user = _other_user() if os.getuid() == 0 else None
        if self.user is not None:
            shutil.chown(folder, self.user)
        self.run("initdb", "-D", folder / "data", "-U", "holdtrue", "-A", "trust", "-E", "UTF8", "--no-sync")
        self.start()

    def run(self, name: str, *args: object) -> None:
        command = [str(self.bin / name), *map(str, args)]
        how = {} if self.user is None else {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid}
        with (self.folder / "log").open("a") as log:
            try:
                subprocess.run(command, check=True, stdout=log, stderr=log, cwd=self.folder, timeout=60, **how)  # type: ignore[call-overload]
            except subprocess.CalledProcessError as error:
                raise RuntimeError((self.folder / "log").read_text()[-2000:]) from error

    def start(self) -> None:
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}' -c max_connections=60"
        self.run(
            "pg_ctl", "-D", self.folder / "data", "-w", "-l", self.folder / "server.log", "-o", options, "start"
        )

    def stop(self, mode: str = "immediate") -> None:
        self.run("pg_ctl", "-D", self.folder / "data", "-w", "-m", mode, "stop")

    def url(self, database: str) -> str:
        return f"postgresql://holdtrue@/{database}?host={self.folder}"

    def fresh(self, name: str) -> str:
        """The URL of a new, empty database."""
        import psycopg

        with psycopg.connect(host=str(self.folder), user="holdtrue", dbname="postgres", autocommit=True) as c:
            c.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
        return self.url(name)


def _other_user() -> str:
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    bin = programs()
    if bin is None:
        pytest.skip("PostgreSQL's programs (initdb, pg_ctl) are not installed")
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'holdtrue[postgres]'")
    # Not below pytest's own folder: the name of a socket is short, and the server's user must reach it.
    with tempfile.TemporaryDirectory(prefix="ht-pg-", ignore_cleanup_errors=True) as folder:
        running = Server(bin, Path(folder))
        try:
            yield running
        finally:
            running.stop()


@pytest.fixture
def postgres(server: Server, request: pytest.FixtureRequest) -> str:
    """The URL of an empty PostgreSQL database."""
    server.count = getattr(server, "count", 0) + 1  # type: ignore[attr-defined]
    return server.fresh(f"ledger_{server.count}")  # type: ignore[attr-defined]


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty place, of each kind."""
    return str(tmp_path / "ledger.db") if request.param == "sqlite" else request.getfixturevalue("postgres")
