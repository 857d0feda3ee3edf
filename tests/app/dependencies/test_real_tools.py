"""Real tools in real sandboxes: with a private index of our own, and with this machine's."""

import os
import shutil
import sys
import zipfile
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.dependencies.index_proxy import BUNDLE, open_proxy
from app.dependencies.indexes.finder import IndexFinder
from app.dependencies.indexes.operator_config import Operator
from app.dependencies.loopback_bridge import bridge
from app.sandbox.port import Mount
from tests.app.dependencies.scene import Names

PIP = "/usr/bin/python3 -m pip"
has_pip = pytest.mark.skipif(
    not Path("/usr/lib/python3/dist-packages/pip").exists(), reason="sandboxes see no pip here"
)
has_npm = pytest.mark.skipif(
    not str(shutil.which("npm")).startswith("/usr/"), reason="sandboxes see no npm here"
)

WHEEL_FILES = {
    "fettle_probe.py": "VALUE = 4711\n",
    "fettle_probe-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: fettle-probe\n"
    "Version: 1.0\n",
    "fettle_probe-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\n"
    "Root-Is-Purelib: true\nTag: py3-none-any\n",
    "fettle_probe-1.0.dist-info/RECORD": "",
}


def wheel(path):
    with zipfile.ZipFile(path, "w") as made:
        for name, text in WHEEL_FILES.items():
            made.writestr(name, text)
    return path.read_bytes()


def serve_wheel(index, tmp_path, base="/team"):
    name = "fettle_probe-1.0-py3-none-any.whl"
    index.page(f"{base}/simple/fettle-probe/", f"<a href='../../files/{name}'>{name}</a>")
    index.page(f"{base}/files/{name}", wheel(tmp_path / name), Content_Type="application/zip")


INSTALL = f"{PIP} install -q --target lib fettle-probe && PYTHONPATH=lib /usr/bin/python3 -c "
INSTALL += "'import fettle_probe; print(fettle_probe.VALUE)'"


@asynccontextmanager
async def open_way(sandbox, command, indexes, **options):
    """Run scripts with these indexes, and list what was refused."""
    certificates, files = indexes.certificates, indexes.files
    async with open_proxy(
        indexes.allowed, sandbox.owner, certificates=certificates, files=files, **options
    ) as proxy:

        async def run(script, mounts=()):
            environment, mounts = indexes.environment, (*indexes.mounts, *mounts)
            asked = command(script, environment=environment, mounts=mounts, timeout=120)
            return await sandbox.run(bridge(asked, proxy.socket, BUNDLE))

        run.proxy = proxy
        yield run


@has_pip
@pytest.mark.parametrize("tls", [True, False])
async def test_pip_installs_from_a_private_index_whose_password_it_never_sees(
    sandbox, command, index, tmp_path, tls
):
    made = await index("private.example", tls=tls)
    serve_wheel(made, tmp_path)
    bundle = tmp_path / "authority.pem"
    bundle.write_text(index.authority.pem)
    url = f"{made.url}/team/simple".replace("://", "://bot:hunter22@")
    environ = {
        "PATH": "/nonexistent",
        "HOME": str(tmp_path),
        "PIP_INDEX_URL": url,
        "REQUESTS_CA_BUNDLE": str(bundle),
    }
    finder = IndexFinder(Operator(environ), sandbox.owner, conceal=lambda _: None, resolver=Names())
    indexes = await finder.find({"pip": "fettle-probe"})
    async with open_way(sandbox, command, indexes, resolver=Names()) as run:
        script = f"{INSTALL}; env; cat /run/fettle/* /proc/*/environ 2>/dev/null"
        result = await run(script)
        assert result.output.startswith("4711\n"), result.output
        assert "hunter22" not in result.output
        assert "Ym90Omh1bnRlcjIy" not in result.output
        assert run.proxy.refused == ()
    assert {h.get("Authorization") for _, _, h in made.asked} == {"Basic Ym90Omh1bnRlcjIy"}


@pytest.fixture(scope="module")
def real(sandbox):
    """The operator of this machine, as they are."""
    return IndexFinder(Operator(dict(os.environ)), sandbox.owner, conceal=lambda _: None)


async def find_reachable(finder, tools):
    indexes = await finder.find(tools)
    reachable = not any("cannot be reached" in n or "did not say" in n for n in indexes.notes)
    if not indexes.allowed or not reachable:
        pytest.skip(f"no index to reach here: {' '.join(indexes.notes)}")
    return indexes


@has_pip
async def test_pip_downloads_from_the_index_of_this_machine(real, sandbox, command):
    indexes = await find_reachable(real, {"pip": "six"})
    async with open_way(sandbox, command, indexes) as run:
        script = f"{PIP} download -q --no-deps --no-cache-dir -d got iniconfig && ls got"
        result = await run(script)
        assert "iniconfig-" in result.output, (result.output, run.proxy.refused)
        elsewhere = "--isolated --retries 0 --no-deps --index-url https://example.com/simple six"
        assert (await run(f"{PIP} download -q {elsewhere}")).exit_code != 0
        assert str(run.proxy.refused[0]).startswith("example.com:443 is not a package index")


async def test_uv_installs_from_the_index_of_this_machine(real, sandbox, command, open_folder):
    uv = Path(sys.prefix, "bin/uv")
    if not uv.exists():
        pytest.skip("uv is not installed beside the tests")
    shutil.copy2(uv, open_folder / "uv")
    indexes = await find_reachable(real, {"uv": "six"})
    async with open_way(sandbox, command, indexes) as run:
        script = "/opt/uv pip install -q --no-cache --link-mode copy --target got iniconfig; ls got"
        mounts = (Mount(open_folder / "uv", "/opt/uv"),)
        result = await run(script, mounts)
        assert "iniconfig" in result.output.split(), (result.output, run.proxy.refused)


@has_npm
async def test_npm_installs_from_the_registry_of_this_machine(real, sandbox, command):
    indexes = await find_reachable(real, {"npm": ""})
    (command.tree / "package.json").write_text('{"dependencies": {"is-number": "7.0.0"}}')
    (command.tree / ".npmrc").write_text("registry=https://example.com/\n")
    async with open_way(sandbox, command, indexes) as run:
        script = "npm install --silent && npm ci --silent && ls node_modules"
        result = await run(script)
        assert result.output == "is-number\n", (result.output, run.proxy.refused)
        assert run.proxy.refused == ()
