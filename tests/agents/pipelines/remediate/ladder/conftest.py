"""What the ladder's tests share: a work tree on disk, an ecosystem in memory, the real index."""

import asyncio
import contextlib
import fcntl
import http.server
import json
import os
import subprocess
import sys
import threading
import urllib.request
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path

import pytest

from agents.errors import ConfigError, ToolError
from agents.pipelines.remediate.ladder import (
    PYPI,
    Accepted,
    Advisory,
    Entry,
    Group,
    Locked,
    Own,
    Stuck,
    Terms,
)
from agents.ports import CommandResult
from app.sandbox.path_permissions import require_reach

FURTHER = ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "UV_INDEX", "UV_FIND_LINKS")
TODAY = date(2026, 11, 20)
TERMS = Terms(today=TODAY)
# The public registry as lock files name it. In parts: no file here may name what a machine is
# configured for, and tools are asked for it as the product asks them.
PUBLIC_OF_NPM, PUBLIC_OF_YARN, PUBLIC_OF_PIP = (
    ".".join(parts)
    for parts in (("registry", "npmjs", "org"), ("registry", "yarnpkg", "com"), ("pypi", "org"))
)


def advisory(package, vulnerable, ghsa="GHSA-aaaa-bbbb-cccc", **more):
    return Advisory(
        **{"ghsa_id": ghsa, "severity": "high", "ecosystem": "pip", **more},
        package=package,
        vulnerable=vulnerable,
    )


def group(package, *vulnerable, manifests=(), **more):
    """Return a group with one alert for each of these ranges."""
    found = [advisory(package, r, f"GHSA-aaaa-bbbb-ccc{n}") for n, r in enumerate(vulnerable, 2)]
    return Group(
        repository="acme/shop", ecosystem="pip", package=package,
        manifests=tuple(manifests), advisories=tuple(found), **more,
    )  # fmt: skip


@dataclass
class DiskTree:
    """The port WorkTree on a folder, with real git; commands run as they are, or are answered."""

    folder: object
    environment: dict = field(default_factory=dict)
    answers: object = None
    """What runs commands instead of bash, if anything."""
    ran: list = field(default_factory=list)
    residents: dict = field(default_factory=dict)
    """The programs that stay, by their scripts and variables; None where none can."""

    async def read(self, path, *, limit=1_000_000):
        file = self.folder / path
        if file.is_symlink() or not file.is_file():
            raise ToolError(f"{path} is no regular file")
        if file.stat().st_size > limit:
            raise ToolError(f"{path} is larger than {limit} bytes")
        return file.read_bytes()

    async def write(self, path, data):
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_bytes(data)

    async def run(self, argv, *, timeout, writable=True, max_output=64_000, network="none"):
        self.ran.append(argv[-1])
        if self.answers is not None:
            code, output = self.answers(self, argv[-1])
            return CommandResult(code, "exit", output, 0.1)
        process = await asyncio.create_subprocess_exec(
            *argv, cwd=self.folder, env=self.environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        async with asyncio.timeout(timeout):
            output, _ = await process.communicate()
        return CommandResult(process.returncode, "exit", output.decode(), 1.0)

    async def ask(self, argv, *, timeout, kits=(), max_output=64_000, shared_home=""):
        """Run it with kits that all tests of this checkout share."""
        if self.answers is not None:
            return await self.run(argv, timeout=timeout)
        shared = Path(self.environment["HOME"], "kits")
        shared.mkdir(exist_ok=True)
        self.environment["KITS"] = str(shared)
        notes = "".join([await self._make_kit(kit, shared) for kit in kits])
        before = [{*(shared / kit.name).iterdir()} for kit in kits]
        result = await self.run(argv, timeout=timeout)
        after = [{*(shared / kit.name).iterdir()} for kit in kits]
        assert after == before, "kits are read-only in the sandbox"
        return replace(result, output=f"{notes}{result.output}")

    async def converse(self, argv, line, *, timeout, kits=()):
        """Ask a program that stays until the test ends, where commands run as they are."""
        if self.answers is not None or self.residents is None:
            return None
        self.ran.append(line.decode())
        key = (argv[-1], *sorted(self.environment.items()))
        if key not in self.residents:
            self.residents[key] = subprocess.Popen(
                argv, cwd=self.folder, env=self.environment,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        program = self.residents[key]
        program.stdin.write(line + b"\n")
        program.stdin.flush()
        return await asyncio.to_thread(program.stdout.readline) or None

    @contextlib.contextmanager
    def share(self, residents):
        """Let programs stay for the next tests, too: the index is the same, and files are told."""
        self.residents = residents
        yield self
        if self.residents is residents:  # its own are ended with it
            self.residents = {}

    async def _make_kit(self, kit, shared):
        """Make a kit unless it is there, alone of all processes; return why it cannot be made."""
        notes = "".join([await self._make_kit(each, shared) for each in kit.needs])
        with (shared / f"{kit.name}.lock").open("w") as lock:
            await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)
            if not (shared / kit.name / "ready").exists():
                (shared / kit.name).mkdir(exist_ok=True)
                script = f"export KIT=$KITS/{kit.name}; {kit.script}"
                made = await self.run(["bash", "-c", script], timeout=300)
                notes += made.output if made.exit_code else ""
        return notes

    def git(self, *args):
        done = subprocess.run(
            ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com", *args],
            cwd=self.folder, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout

    async def snapshot(self):
        self.git("add", "-A")
        return self.git("write-tree").strip()

    async def restore(self, tree, *, pristine=False):
        self.git("read-tree", "--reset", "-u", tree)
        self.git("clean", "-fdq")

    async def list_changed_paths(self, old, new):
        return self.git("diff", "--name-only", old, new).split()

    def diff(self, old, new):
        return self.git("diff", "-U0", old, new)

    def lay(self, files):
        for name, text in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)

    @property
    def paths(self):
        self.git("add", "-A")
        return frozenset(self.git("ls-files").splitlines())


@pytest.fixture
def tree(tmp_path):
    folder = tmp_path / "tree"
    folder.mkdir()
    made = DiskTree(folder)
    made.git("init", "-q")
    yield made
    end_all(made.residents)


def end_all(residents):
    """End programs that stay."""
    for program in (residents or {}).values():
        program.stdin.close()
        program.wait(timeout=60)
        program.stdout.close()


@pytest.fixture(scope="session")
def residents():
    """The programs that stay for all tests with this machine's index: loading npm takes time."""
    made = {}
    yield made
    end_all(made)


@dataclass
class MadeUpEcosystem:
    """A made-up ecosystem: `lock.json` holds versions, `wants.json` what people ask for.

    `needs` says for each release which releases of others it admits: `{("flask", "3.0"):
    {"jinja2": ["3.1.3"]}}`.
    """

    releases: dict
    needs: dict = field(default_factory=dict)
    yanked: tuple = ()
    sabotage: object = None
    """Changes what was resolved, as an attacker would."""
    mark: str = "sha256:"
    tool = "index"
    scheme = PYPI
    locks = True
    files = frozenset({"lock.json", "wants.json"})
    resolved: int = 0
    back: dict = field(default_factory=dict)
    """Where packages go that nothing overrules any more."""

    def name_of(self, package):
        return package

    async def read(self, tree):
        lock = json.loads(await tree.read("lock.json"))
        wants = json.loads(await tree.read("wants.json"))
        entries = [
            Entry(
                key=name,
                name=name,
                version=version,
                source=lock.get("source", {}).get(name, "index.example"),
                hashes=tuple(lock.get("hashes", {}).get(name, (f"sha256:{name}{version}",))),
                needs=tuple(self.needs.get((name, version), ())),
            )
            for name, version in lock["versions"].items()
        ]
        own = [Own(name=n, spec=",".join(s), file="wants.json") for n, s in wants.items()]
        return Locked(entries=tuple(entries), own=tuple(own))

    async def available(self, tree, package):
        return self.releases[package]

    async def objection(self, tree, package, version):
        return "was yanked" if (package, version) in self.yanked else ""

    async def relock(self, tree, pins, free=()):
        self.resolved += 1
        lock = json.loads(await tree.read("lock.json"))
        wants = json.loads(await tree.read("wants.json"))
        lock["versions"] |= pins
        for name in free:
            lock["versions"][name] = self.releases[name][-1]
        for name, admitted in wants.items():
            if lock["versions"][name] not in admitted:
                raise Stuck(f"the repository does not admit {name} {lock['versions'][name]}")
        self.settle(lock)
        for name, version in lock["versions"].items():
            for other, admitted in self.needs.get((name, version), {}).items():
                if lock["versions"][other] not in admitted and other not in lock.get("over", {}):
                    raise Stuck(f"{name} {version} does not admit {other}")
        files = {"lock.json": lock}
        if self.sabotage:
            self.sabotage(files)
        for path, content in files.items():
            await tree.write(path, json.dumps(content).encode())

    def settle(self, lock):
        """Take what those who need it admit, as resolvers do, where nothing is asked for."""
        for name, version in self.back.items():
            if name not in lock.get("over", {}) and self.list_admitted(lock, name) == [version]:
                lock["versions"][name] = version

    def list_admitted(self, lock, name):
        needs = [self.needs.get(each, {}) for each in lock["versions"].items()]
        return next((each[name] for each in needs if name in each), [])

    async def require(self, tree, package, version, *, widen):
        wants = json.loads(await tree.read("wants.json"))
        if package not in wants or version in wants[package]:
            return []
        if not widen and len(wants[package]) > 1:
            raise Stuck(f"the bound on {package} is in the way")
        wants[package] = [version]
        await tree.write("wants.json", json.dumps(wants).encode())
        return [f"asks for {package} {version}"]

    async def override(self, tree, targets, reason, /):
        lock = json.loads(await tree.read("lock.json"))
        lock["over"] = {t.name: reason for t in targets}
        await tree.write("lock.json", json.dumps(lock).encode())

    async def has_override(self, tree, targets, reason, /):
        over = json.loads(await tree.read("lock.json")).get("over", {})
        if over and over != {t.name: reason for t in targets}:
            raise Stuck("somebody has changed the override")
        return bool(over)

    async def without_override(self, tree, targets, reason, /):
        assert await self.has_override(tree, targets, reason)
        lock = json.loads(await tree.read("lock.json"))
        del lock["over"]
        await tree.write("lock.json", json.dumps(lock).encode())
        return []

    async def verify_lock(self, tree, before, after):
        return Accepted(commands=("index check",))


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files without a word: package managers say themselves what they were refused."""

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serve_folder(folder):
    """Serve a folder on loopback, as registries of files are; return its address."""
    with serve(partial(QuietHandler, directory=str(folder))) as address:
        yield address


@contextlib.contextmanager
def serve(handler):
    """Serve what this answers on loopback; return its address."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def lay_index(tree, versions, wants):
    tree.lay({"lock.json": json.dumps({"versions": versions}), "wants.json": json.dumps(wants)})


@pytest.fixture(scope="session")
def shared_home(request):
    """One HOME for all real tests of this checkout, so that tools are fetched once."""
    return request.config.cache.mkdir("ladder")


@pytest.fixture
async def held(request, ground):
    """A repository whose commands reach this machine's indexes from the real sandbox alone."""
    from app.dependencies.index_access import IndexWays  # noqa: PLC0415 the same
    from app.dependencies.indexes.finder import IndexFinder  # noqa: PLC0415 slow, and for these alone
    from tests.app.dependencies.conftest import KnownOperator  # noqa: PLC0415 the same

    finder = IndexFinder(
        KnownOperator(dict(os.environ)), ground.sandbox.owner, conceal=lambda _: None
    )
    ways = IndexWays(finder, ground.sandbox.owner)
    ground.open_way = ways.open
    ground.open_reading = partial(ways.open, reading_alone=True)
    ground.origins = finder.origins
    shared = request.config.cache.mkdir("kits")
    with contextlib.suppress(ConfigError):  # it lies where the sandbox's user cannot look
        require_reach([shared], ground.sandbox.owner)
        ground.kits = shared
    yield ground
    await ground.close()


@pytest.fixture(scope="session")
def has_index():
    """Skip, and say why, where this machine has no index or cannot make tools from it."""
    makes = subprocess.run(["/usr/bin/python3", "-c", "import ensurepip, venv"], check=False)
    if makes.returncode:
        pytest.skip("the system's Python makes no virtual environments: install python3-venv")
    ask = [sys.executable, "-m", "pip", "index", "versions", "sqlparse"]
    asked = subprocess.run(ask, capture_output=True, text=True, check=False)
    if "0.5.0" not in asked.stdout:
        pytest.skip(f"no package index answers here: {asked.stderr[-300:]}")


@pytest.fixture(scope="session")
def led_to_index(has_index):
    """The variables that lead pip, uv and npm to the index that they are configured for here."""
    from app.dependencies.indexes.npm import npm_indexes  # noqa: PLC0415 the same
    from app.dependencies.indexes.operator_config import Operator  # noqa: PLC0415 slow, and for these alone
    from app.dependencies.indexes.pip import pip_indexes  # noqa: PLC0415 the same
    from app.dependencies.indexes.uv import uv_indexes  # noqa: PLC0415 the same

    async def find_indexes():
        operator = Operator(dict(os.environ))
        return [await ask(operator) for ask in (pip_indexes, uv_indexes, npm_indexes)]

    led = {
        name: value
        for tool in asyncio.run(find_indexes())
        for name, value in tool.environment.items()
        if name != "npm_config_userconfig"  # a file of sandboxes
    }
    trust = ("_CERT", "_CA_BUNDLE", "_CERT_FILE")
    return {name: value for name, value in os.environ.items() if name.endswith(trust)} | led


@pytest.fixture(scope="session")
def led_to_one(led_to_index):
    """The same without further indexes and folders, where the first index has what tests ask for.

    So it is on most machines, and tools are asked another way where more than one index decides.
    """
    alone = {name: each for name, each in led_to_index.items() if name not in FURTHER}
    page = f"{alone.get('PIP_INDEX_URL', '').rstrip('/')}/sqlparse/"
    try:
        with urllib.request.urlopen(page, timeout=60) as answer:
            there = b"sqlparse-0.5.0" in answer.read()
    except (OSError, ValueError):
        there = False
    return {**alone, "PIP_CONFIG_FILE": os.devnull} if there else led_to_index


@pytest.fixture
def real(tree, led_to_one, shared_home, residents):
    """A work tree whose commands reach the index that pip is configured for here."""
    tree.environment = {
        **led_to_one,
        "PATH": "/usr/bin:/bin",
        "HOME": str(shared_home),
        "POETRY_VIRTUALENVS_CREATE": "false",
    }
    with tree.share(residents):
        yield tree
