"""What the tests of the set-up phase share: a repository, its set-ups, and runs that use them."""

import os
import subprocess
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType

import pytest

from agents.policy import Policy
from app.demo.package_index.releases import Release
from app.dependencies.add_package import Adder
from app.dependencies.cache import Store
from app.dependencies.index_access import IndexWays
from app.dependencies.indexes.finder import IndexFinder
from app.dependencies.indexes.operator_config import Operator
from app.dependencies.install import Builder
from app.dependencies.install_phase import SetUps
from app.dependencies.tool_kits import Kits
from app.git.environment import CommitIdentity
from app.git.mirror.mirror import Mirror
from app.git.run_objects import RunObjects
from app.git.worktree.run_repository import GitSource
from app.secrets.redaction import Redactor
from app.toolchains.choose import Toolchains
from tests.app.git.conftest import git
from tests.patience import PATIENCE

BOT = CommitIdentity("fettle[bot]", "1+fettle[bot]@users.noreply.example")


def commit(folder, files):
    """Commit these files, in a new repository if need be; return the commit."""
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "-q", "-b", "main")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "next")
    return git(folder, "rev-parse", "HEAD")


def wheel(name, version, files):
    """Return a wheel with these files: its name and its bytes."""
    release = Release("pip", name, version, files=files)
    return release.file, release.data


class NoWay:
    """A way that leads nowhere: for what needs no index."""

    environment = MappingProxyType({})
    mounts = ()

    def wrap(self, command):
        return command

    def list_refusals(self):
        return []


@asynccontextmanager
async def no_way(tools):
    yield NoWay()


async def no_origins(tools):
    return []


async def _fetch_nothing(kit):
    return "Tests of what is done without it fetch none."


async def _loopback_alone(host, port):
    if host != "localhost":
        raise OSError("tests ask no index but their own")
    return ["127.0.0.1"]


@dataclass
class Ground:
    """A repository, and set-ups on this machine."""

    place: Path
    sandbox: object
    redactor: Redactor = field(default_factory=Redactor)
    open_way: object = no_way
    open_reading: object = no_way
    origins: object = no_origins
    toolchains: tuple = ()
    environ: dict = field(default_factory=dict)
    hosts: tuple = ()
    base: str = ""
    budget: int = 10**9
    trees: int = 0
    kits: Path | None = None
    """Where kits are kept, if not with the set-ups."""
    fetches: bool = True
    """Whether toolchains are fetched that this machine has not."""
    opened: list = field(default_factory=list)

    def commit(self, files):
        self.base = commit(self.place / "somebody", files)
        return self.base

    @property
    def mirror(self):
        group = self.sandbox.owner[1]
        return Mirror(self.place / "mirrors" / "1.git", group=group, allow_files=True)

    @property
    def store(self):
        return Store(self.place / "setups", self.sandbox.owner[1], budget=self.budget)

    def indexes(self, *, hosts=(), **environ):
        """Lead the set-ups to what these variables of an operator say."""
        near = Path(sys.executable).parent  # whose pip no other program looks for first
        path = os.pathsep.join([str(near), os.environ["PATH"]])
        given = {"PATH": path, "HOME": str(self.place), **environ}
        owner, conceal = self.sandbox.owner, self.redactor.add
        operator = Operator(given, hosts)
        finder = IndexFinder(operator, owner, conceal=conceal, resolver=_loopback_alone)
        self.open_way = IndexWays(finder, self.sandbox.owner).open
        self.open_reading = partial(self.open_way, reading_alone=True)
        self.origins = finder.origins

    def set_ups(self, *, builder=Builder, sandbox=None):
        """Return the set-ups of this machine."""
        sandbox = sandbox or self.sandbox
        made = builder(sandbox, self.toolchains, self.redactor, self.open_way)
        adder = Adder(sandbox, self.open_reading)
        store = Store(self.kits, self.sandbox.owner[1]) if self.kits else self.store
        kits = Kits(store, sandbox, self.open_reading, "here", self.origins)
        environ, hosts = self.environ, frozenset(self.hosts)
        provide = kits.provide if self.fetches else _fetch_nothing
        toolchains = Toolchains(sandbox, self.toolchains, hosts, environ, provide, "/kits")
        return SetUps(self.store, made, sandbox, "here", self.origins, adder, kits, toolchains)

    def source(self, run_id="run-1", name="1"):
        """Return the source of one run, as a fresh process makes it."""
        set_ups = self.set_ups()
        return GitSource(
            RunObjects(self.mirror, run_id),
            self.place / "runs",
            run_id,
            sandbox=self.sandbox,
            fetch=self._fetch,
            branch=self._branch,
            identity=self._author,
            furnisher=set_ups.for_run(name, self.mirror, run_id),
            conceal=str,
            on_command=lambda _: None,
        )

    async def close(self):
        """End the programs that stay for work trees: their event loop ends with the test."""
        for tree in self.opened:
            await tree.close(forget=False)

    async def _fetch(self):
        await self.mirror.fetch(f"file://{self.place / 'somebody' / '.git'}", None)
        return self.base

    async def _branch(self, name, ref):
        url = f"file://{self.place / 'somebody' / '.git'}"
        return await self.mirror.fetch_branch(url, None, name, ref)

    async def _author(self):
        return BOT

    async def run(self, *commands, run_id="run-1", policy=None):
        """Set up with these commands; return what came of it, and a work tree."""
        policy = policy or Policy.model_validate({"setup": {"run": commands}} if commands else {})
        source = self.source(run_id)
        result = await source.set_up(self.base, policy)
        self.opened.append(await source.open(self.base, policy))
        return result, self.opened[-1]

    def entries(self):
        """Return the folders of finished set-ups."""
        return sorted(path.parent for path in self.place.glob("setups/*/*/manifest.json"))


async def bash(tree, script, **options):
    """Run a script in a work tree."""
    return await tree.run(["bash", "-c", script], timeout=PATIENCE, **options)


@pytest.fixture
def ground(open_folder, sandbox):
    made = Ground(open_folder, sandbox)
    made.commit({"README.md": "# Sample\n", ".gitignore": "node_modules/\nmade.txt\n"})
    yield made
    subprocess.run(["chmod", "-R", "u+rwX", open_folder], check=False, capture_output=True)
