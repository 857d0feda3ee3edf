"""Databases for the tests, on SQLite and on a real PostgreSQL; one summary of all processes."""

from __future__ import annotations

import asyncio
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import hypothesis
import psycopg
import pytest
from pydantic import SecretStr
from structlog.dev import ConsoleRenderer, plain_traceback

from app.config.values import with_driver
from app.runs.engine import Engine
from app.store.database import Database
from tests.alone import hold_lock
from tests.attacks.board import Board
from tests.flows.used import Used
from tests.gears import MARKS, Gears

PACKAGE = "postgresql"
START_SECONDS = 60.0
MEMORY, ROOM = Path("/dev/shm"), 8 * 2**30
PROFILE, FAST_EXAMPLES = "HYPOTHESIS_PROFILE", 20


def pytest_configure(config):
    """Register what folders may not: of several processes, the one that prints reads none."""
    _hurry()
    config.pluginmanager.register(Board())
    config.pluginmanager.register(Used())
    # How long an example took says what else the machine had to do.
    hypothesis.settings.register_profile("fettle", deadline=None)
    hypothesis.settings.register_profile("fast", deadline=None, max_examples=FAST_EXAMPLES)
    quick = config.getoption("--quick")
    hypothesis.settings.load_profile("fast" if quick else os.environ.get(PROFILE, "fettle"))
    config.pluginmanager.register(Gears(quick=quick), "gears")
    for mark, meaning in MARKS.items():
        config.addinivalue_line("markers", f"{mark}: {meaning}")


def _hurry():
    """Have this process, and all that it starts, wait for neither a disk nor a version switcher.

    Nor does it draw tracebacks: coloured, and with all variables, one takes a quarter of a second.
    """
    ConsoleRenderer.get_active().exception_formatter = plain_traceback
    if "TMPDIR" not in os.environ and _has_room(MEMORY):
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # it may have been asked for already
    programs = f"{sys.base_prefix}/bin"
    folders = os.environ["PATH"].split(os.pathsep)
    first = str(Path(shutil.which("python3") or f"{programs}/python3").parent)
    if first != programs:  # shims take longer than a whole pip; what comes before them stays there
        folders.insert(folders.index(first) if first in folders else 0, programs)
        os.environ["PATH"] = os.pathsep.join(folders)


def _has_room(folder):
    """Tell whether files of tests can lie there: programs too, of several users."""
    try:
        found = os.statvfs(folder)
        open_to_all = folder.stat().st_mode & 0o777 == 0o777
    except OSError:
        return False
    free = found.f_bavail * found.f_frsize
    return open_to_all and free >= ROOM and not found.f_flag & (os.ST_NOEXEC | os.ST_RDONLY)


def pytest_addoption(parser):
    """Let `make quick` choose."""
    parser.addoption("--quick", action="store_true", help="only tests that take no servers")
    parser.addoption("--fuzz", type=int, default=1, help="times as many hostile texts are tried")


@dataclass
class PostgreSQL:
    """A running server; `database()` makes an empty database, its URL as operators write it."""

    port: int
    password: str
    numbers: count = field(default_factory=lambda: count(1))

    def url(self, name):
        return f"postgresql://fettle:{self.password}@127.0.0.1:{self.port}/{name}"

    def database(self, like=""):
        name = f"fettle_{next(self.numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            # The files of a template cost half of what its pages would in the log.
            how = "STRATEGY file_copy" if like and connection.info.server_version >= 150_000 else ""
            connection.execute(f"CREATE DATABASE {name} {like} {how}")
        return self.url(name)


@pytest.fixture(scope="session")
def postgresql():
    """Return a PostgreSQL that belongs to this session; skip where none can be had."""
    with hold_lock("postgresql"):
        programs = _programs() or (_install() and _programs())
    if not programs:
        pytest.skip(f"no PostgreSQL server: install Debian's package `{PACKAGE}`")
    with _run_server(programs) as server:
        yield server


def _programs():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


def _install():
    """Install the server, without the cluster that Debian would start by itself."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    settings = Path("/etc/postgresql-common/createcluster.conf")
    if not settings.exists():
        settings.parent.mkdir(exist_ok=True)
        settings.write_text("create_main_cluster = false\n")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    apt = ("apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=120")
    subprocess.run([*apt, "update"], env=environment, check=False, timeout=300, **quiet)
    install = [*apt, "install", "--no-install-recommends", PACKAGE]
    done = subprocess.run(install, env=environment, check=False, timeout=600, **quiet)
    return done.returncode == 0


@contextmanager
def _run_server(programs):
    """Run a server of its own, as a user of no rights, in a folder that goes with it."""
    owner = _owner()
    folder = Path(tempfile.mkdtemp(prefix="fettle-postgresql-"))
    password = secrets.token_hex(12)
    try:
        secret = folder / "password"
        secret.write_text(password)
        if owner:
            for path in (folder, secret):
                os.chown(path, *owner)
        _initialise(programs, folder, secret, owner)
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            port = chosen.getsockname()[1]
        server = _start(programs, folder, port, owner)
        try:
            yield _ready(server, PostgreSQL(port, password), folder)
        finally:
            server.send_signal(signal.SIGINT)  # its "fast" shutdown
            server.wait(START_SECONDS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _owner():
    """Return user and group to become: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    names = [entry.pw_name for entry in pwd.getpwall()]
    account = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    return account.pw_uid, account.pw_gid


def _owner_options(owner):
    return {"user": owner[0], "group": owner[1], "extra_groups": []} if owner else {}


def _initialise(programs, folder, secret, owner):
    # By md5, since thousands of rounds of SHA-256 at each connection would prove nothing here.
    options = ["--username=fettle", f"--pwfile={secret}", "--auth=md5", "--no-sync"]
    subprocess.run(
        [programs / "initdb", "-D", folder / "data", "-E", "UTF8", "--locale=C", *options],
        check=True,
        capture_output=True,
        cwd=folder,
        **_owner_options(owner),
    )


def _start(programs, folder, port, owner):
    settings = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "port": port,
        "fsync": "off",
        "max_connections": 200,
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [programs / "postgres", "-D", folder / "data", *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            **_owner_options(owner),
        )


def _ready(server, made, folder):
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            psycopg.connect(made.url("postgres")).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return made
    raise RuntimeError((folder / "log").read_text())


async def _prepare(url):
    """Make all tables, and a queue: a new one is seen by the engine only after a second."""
    database = Database(url)
    database.migrate()
    database.close()
    engine = Engine(url, executor="prepare")
    await engine.launch(_idle)
    await engine.drain(0)


async def _idle(run_id, request, steps):
    return run_id


@pytest.fixture(scope="session")
def sqlite_tables(tmp_path_factory):
    """A database file with all tables, empty: a copy costs a tenth of making one."""
    path = tmp_path_factory.mktemp("tables") / "fettle.db"
    database = Database(f"sqlite:///{path}")
    database.migrate()
    database.close()
    return path


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory):
    """A database file as a server leaves it that had nothing to do."""
    path = tmp_path_factory.mktemp("template") / "fettle.db"
    asyncio.run(_prepare(f"sqlite:///{path}"))
    return path


@pytest.fixture(scope="session")
def postgresql_template(postgresql):
    """The name of a database as a server leaves it that had nothing to do."""
    url = postgresql.database()
    asyncio.run(_prepare(_with_driver(url)))
    return url.rpartition("/")[2]


@pytest.fixture
def sqlite_url(tmp_path, sqlite_template):
    """Return the URL of a database file without runs."""
    shutil.copy(sqlite_template, tmp_path / "fettle.db")
    return f"sqlite:///{tmp_path / 'fettle.db'}"


@pytest.fixture(scope="session")
def make_postgresql_url(postgresql, postgresql_template):
    """Make a PostgreSQL database without runs, return its URL."""
    return lambda: _with_driver(postgresql.database(f"TEMPLATE {postgresql_template}"))


@pytest.fixture
def postgresql_url(make_postgresql_url):
    """Return the URL of a PostgreSQL database without runs."""
    return make_postgresql_url()


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request):
    """Return the URL of a database without runs, in turn on SQLite and on PostgreSQL."""
    return request.getfixturevalue(f"{request.param}_url")


def _with_driver(url):
    return with_driver(SecretStr(url)).get_secret_value()
