"""What the tests of toolchains share: the operator's indexes, and hosts that lead to loopback."""

import os
import shutil
import subprocess
import tempfile
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from agents.errors import ConfigError
from app.dependencies.index_access import IndexWay
from app.dependencies.index_proxy import open_proxy
from app.dependencies.indexes.finder import IndexFinder
from app.network.addresses import system_resolver
from app.sandbox.path_permissions import make_passable, require_reach
from tests.app.dependencies.conftest import KnownOperator, index
from tests.app.dependencies.install.conftest import ground

__all__ = ["ground", "index"]  # fixtures


@pytest.fixture(scope="session")
def kits_folder():
    """A folder in which kits are kept for several tests."""
    folder = Path(tempfile.mkdtemp(prefix="fettle-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def bring(request, ground):
    """Copy a tool among the kits: all tests of this checkout fetch it once, which takes seconds."""

    async def copy(kit):
        own, shared = ground.kits, request.config.cache.mkdir("kits")
        with suppress(ConfigError):  # it lies where the sandbox's user cannot look
            require_reach([shared], ground.sandbox.owner)
            ground.kits = shared
        entry = await ground.set_ups().kits.provide(kit)
        ground.kits = own
        folder = (own or ground.place / "setups") / "kits"
        if not (folder / entry.folder.name).exists():
            make_passable(folder)
            subprocess.run(["cp", "-a", entry.folder, folder], check=True)

    return copy


@pytest.fixture
async def online(ground):
    """Lead set-ups to this machine's own indexes: `await online(hosts, names, **environ)`."""

    async def start(*, hosts=(), names=(), index="pip", **environ):
        async def resolve(host, port):
            return ["127.0.0.1"] if host in names else await system_resolver(host, port)

        variables = {**os.environ, **environ}
        operator = KnownOperator(variables, tuple(hosts))
        owner = ground.sandbox.owner
        finder = IndexFinder(operator, owner, conceal=lambda _: None, resolver=resolve)
        ground.ways = []

        @asynccontextmanager
        async def open_way(tools):
            found = await finder.find(tools)
            async with open_proxy(
                [replace(each, tunnel=False) for each in found.allowed],
                owner,
                certificates=found.certificates,
                files=found.files,
                resolver=resolve,
            ) as proxy:
                ground.ways.append(proxy)
                yield IndexWay(found, proxy)

        ground.open_way = ground.open_reading = open_way

        async def list_origins(tools):  # mirrors of tests aside: what is kept serves all of them
            return [each for each in await finder.origins(tools) if "localhost" not in each]

        ground.origins = list_origins
        ground.environ, ground.hosts = variables, hosts
        reached = await finder.find({index: ""})
        if any("cannot be reached" in note or "did not say" in note for note in reached.notes):
            pytest.skip(f"no index to reach here: {' '.join(reached.notes)}")
        return ground

    return start


def list_refused(ground):
    """Return the hosts that were asked for and refused."""
    return {refusal.host for proxy in ground.ways for refusal in proxy.refused}
