"""Toolchains that kept tools fetch from hosts of the operator's, held against checksums."""

import hashlib
import io
import json
import os
import platform
import tarfile
from pathlib import Path

import pytest
from aiohttp import web

from agents.analysis.languages.registry import go_to
from app.dependencies.certificate_authority import Authority
from app.toolchains.recipes import MISE, UV
from tests.app.dependencies.install.conftest import bash
from tests.app.dependencies.install.test_install import BACKEND
from tests.app.toolchains.conftest import list_refused

RELEASES = "https://github.com/astral-sh/python-build-standalone/releases/download"
ARCHIVE = "/20261110/cpython-install_only.tar.gz"
SECRET = "what the machine keeps to itself"
PYTHONS = sorted(
    path.parent.parent
    for root in ("~/.pyenv/versions", "/opt/python")
    for path in Path(root).expanduser().glob("3.1[0-9].*/bin/python3")
)
JAVA = ("mise-java.jdx.dev", "download.java.net")


@pytest.fixture(autouse=True)
def share_kits(ground, kits_folder):
    """Keep kits for all of these tests, each of which asks for a version of its own."""
    ground.kits = kits_folder


def link(name, target):
    made = tarfile.TarInfo(name)
    made.type, made.linkname = tarfile.SYMTYPE, target
    return made, b""


def file(name, text, mode=0o755, mtime=0):
    data = text.encode() if isinstance(text, str) else text
    made = tarfile.TarInfo(name)
    made.size, made.mode, made.mtime = len(data), mode, mtime
    return made, data


def pack(*members):
    """Return an archive of these members."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz", compresslevel=0) as archive:
        for member, data in members:
            archive.addfile(member, io.BytesIO(data))
    return made.getvalue()


def read_python(prefix):
    """Yield the members of an archive as python-build-standalone makes them."""
    line = prefix.name.rpartition(".")[0]
    place = os.fsencode(prefix / "lib")  # where it looks for its library
    moved = b"$ORIGIN/../lib".ljust(len(place), b"\0")
    program = (prefix / f"bin/python{line}").read_bytes().replace(place, moved)
    yield file(f"python/bin/python{line}", program)
    yield link("python/bin/python3", f"python{line}")
    left_out = {"test", "site-packages", "idlelib", "tkinter", "config"}
    found = [*(prefix / f"lib/python{line}").rglob("*"), *prefix.glob("lib/libpython*")]
    for path in found:
        if path.is_file() and not left_out & {*path.parts} and ".opt-" not in path.name:
            time = int(path.stat().st_mtime)  # beside another one, nothing counts as compiled
            yield file(f"python/{path.relative_to(prefix)}", path.read_bytes(), mtime=time)


@pytest.fixture
def mirror(index, online, bring):
    """Serve one Python as the mirror that the operator names to uv."""

    async def start(version, data, checksum=""):
        made = await index("localhost", tls=False)
        major, minor, patch = map(int, version.split("."))
        arch = platform.machine()
        about = {
            "name": "cpython",
            "arch": {"family": arch, "variant": None},
            "os": "linux",
            "libc": "gnu",
            "major": major,
            "minor": minor,
            "patch": patch,
            "prerelease": "",
            "url": f"{RELEASES}{ARCHIVE}",
            "variant": None,
            "build": "20261110",
            "sha256": checksum or hashlib.sha256(data).hexdigest(),
        }
        made.page("/table.json", json.dumps({f"cpython-{version}-linux-{arch}-gnu": about}))
        made.page(ARCHIVE, data)
        ground = await online(
            UV_PYTHON_INSTALL_MIRROR=made.url,
            UV_PYTHON_DOWNLOADS_JSON_URL=f"{made.url}/table.json",
        )
        await bring(UV)
        return ground

    return start


@pytest.mark.skipif(not PYTHONS, reason="no second Python here to serve")
async def test_a_python_that_the_machine_has_not_is_fetched_for_the_folder_that_needs_it(mirror):
    version = PYTHONS[-1].name
    ground = await mirror(version, pack(*read_python(PYTHONS[-1])))
    project = f"[project]\nname = 'calc'\nversion = '1.0'\nrequires-python = '>={version}'\n"
    project += "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n"
    root = f"[project]\nname = 'b'\nrequires-python = '<{version}'\ndependencies = ['six']\n"
    mine = {"pyproject.toml": project, "calc.py": "", "backend.py": BACKEND}
    mine["requirements.txt"] = "six\n"
    ground.commit({"pyproject.toml": root, **{f"api/{path}": text for path, text in mine.items()}})

    result, tree = await ground.run()
    asked = "python -c 'import six, platform, sys; print(platform.python_version(), sys.prefix)'"
    done = await bash(tree, f"{asked}; (cd api; {asked}); {go_to('api', ['api'])}{asked}")

    assert result.problems == ()
    assert [each.exit_code for each in result.commands] == [0] * len(result.commands)
    said = done.output.split()
    assert said[1:] == ["/setup/venv", *[version, "/setup/venvs/api"] * 2]
    assert said[0] != version


@pytest.mark.parametrize(
    ("version", "members", "checksum"),
    [
        ("3.99.1", [], "0" * 64),
        ("3.99.2", [file("../../../../etc/fettle-was-here", "evil")], ""),
        ("3.99.3", [file("/etc/fettle-was-here", "evil")], ""),
        ("3.99.4", [link("python/out", "/"), file("python/out/kits/evil", "evil")], ""),
    ],
    ids=["another checksum", "upwards", "absolute", "through a link"],
)
async def test_no_archive_of_a_mirror_leaves_its_kit(mirror, version, members, checksum):
    fake = [file("python/bin/python3.99", f"#!/bin/sh\necho {version}\n")]
    ground = await mirror(version, pack(*fake, *members), checksum)
    ground.commit({".python-version": version})

    result, tree = await ground.run("true")
    done = await bash(tree, "ls /etc /kits /kits/* /; cat /kits/evil /etc/fettle-was-here")

    assert "fettle-was-here\n" not in done.output.replace("cat: /etc/fettle-was-here", "")
    assert not Path("/etc/fettle-was-here").exists()
    assert not list(ground.kits.rglob("evil"))
    if checksum:
        [problem] = result.problems
        assert "None could be fetched: what was loaded has another checksum." in problem


async def test_links_out_of_an_archive_show_nothing_of_the_machine(mirror, open_folder):
    (open_folder / "secret").write_text(SECRET)
    secret = open_folder / "secret"
    members = [
        file("python/bin/python3.99", "#!/bin/sh\necho 3.99.5\n"),
        link("python/bin/python3", "python3.99"),
        link("python/passwd", "/etc/shadow"),
        link("python/secret", str(secret)),
        link("python/root", "../../../../.."),
    ]
    ground = await mirror("3.99.5", pack(*members))
    ground.commit({".python-version": "3.99.5"})

    _, tree = await ground.run("true")
    done = await bash(
        tree, 'd=$(dirname "$(command -v python3)")/..; ls "$d"; cat "$d/passwd" "$d/secret"'
    )

    assert SECRET not in done.output
    assert "root:" not in done.output
    assert secret.read_text() == SECRET


async def test_a_node_that_no_index_has_comes_from_the_mirror(online, bring, index):
    """Unless it has another checksum than the mirror says."""
    made = await index("localhost", tls=False)
    arch = "arm64" if platform.machine() == "aarch64" else "x64"
    versions = ("91.0.1", "92.0.1")
    for version in versions:
        name = f"node-v{version}-linux-{arch}"
        data = pack(*(
            file(f"{name}/bin/{each}", f"#!/bin/sh\necho v{version}\n")
            for each in ("node", "npm", "npx")
        ))  # fmt: skip
        checksum = hashlib.sha256(data).hexdigest() if version == "91.0.1" else "0" * 64
        made.page(f"/dist/v{version}/SHASUMS256.txt", f"{checksum}  {name}.tar.gz\n")
        made.page(f"/dist/v{version}/{name}.tar.gz", data)
    listed = [{"version": f"v{version}", "lts": False, "files": []} for version in versions]
    made.page("/dist/index.json", json.dumps(listed))
    ground = await online(index="npm", MISE_NODE_MIRROR_URL=f"{made.url}/dist")
    await bring(UV)
    await bring(MISE)

    for number, version in enumerate(versions):
        ground.commit({".nvmrc": version})
        result, tree = await ground.run("true", run_id=f"run-{number}")
        done = await bash(tree, "node --version")

        wrong = version == "92.0.1"
        assert (done.output == f"v{version}\n") is not wrong
        assert bool(result.problems) is wrong
        assert not wrong or "has another checksum" in result.problems[0]


async def test_a_repository_names_no_mirror_of_its_own(online, bring, index):
    own = await index("localhost", tls=False)
    ground = await online()
    await bring(UV)
    ground.commit(
        {
            ".python-version": "3.99.6",
            "uv.toml": f'python-install-mirror = "{own.url}"\n',
            "mise.toml": f"[settings.node]\nmirror_url = '{own.url}'\n[tools]\nnode = '99.1.0'\n"
            f"[env]\nUV_PYTHON_INSTALL_MIRROR = '{own.url}'\nNODE_MIRROR = '{own.url}'\n",
            ".npmrc": f"registry={own.url}\n",
            "pip.conf": f"[global]\nindex-url={own.url}\n",
        }
    )

    result, _ = await ground.run("true")

    assert [problem.partition(" asks")[0] for problem in result.problems] == [
        "`.python-version`",
        "`mise.toml`",
    ]
    assert own.asked == []


@pytest.fixture
async def java_hosts():
    """Serve what mise asks for a JDK, under its hosts' own names, on loopback alone."""
    authority, pages = Authority(), {}

    async def answer(request):
        found = pages.get((request.host, request.path))
        return web.Response(status=200 if found else 404, body=found or b"")

    def choose(sock, name, _):
        sock.context = contexts.get(name, sock.context)

    contexts = {name: authority.server(name) for name in JAVA}
    first = contexts[JAVA[0]]
    first.sni_callback = choose
    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 443, ssl_context=first).start()
    except OSError:
        pytest.skip("port 443 of loopback cannot be had")
    yield authority, pages
    await runner.cleanup()


@pytest.mark.parametrize("wrong", [False, True])
async def test_a_jdk_is_fetched_from_hosts_that_the_operator_allows(
    online, bring, java_hosts, tmp_path, wrong
):
    authority, pages = java_hosts
    version = "92.0.2" if wrong else "91.0.2"
    (tmp_path / "authority.pem").write_text(authority.pem)
    data = pack(
        file(f"jdk-{version}/bin/javac", f"#!/bin/sh\necho javac {version}\n"),
        file(f"jdk-{version}/bin/java", f"#!/bin/sh\necho openjdk {version}\n"),
        file(f"jdk-{version}/release", f'JAVA_VERSION="{version}"\n', 0o644),
    )
    checksum = "0" * 64 if wrong else hashlib.sha256(data).hexdigest()
    name = f"openjdk-{version}_linux-x64_bin.tar.gz"
    about = {
        "vendor": "openjdk",
        "version": version,
        "java_version": version,
        "os": "linux",
        "file_type": "tar.gz",
        "filename": name,
        "checksum": f"sha256:{checksum}",
        "architecture": "x86_64",
        "image_type": "jdk",
        "jvm_impl": "hotspot",
        "features": [],
        "release_type": "ga",
        "url": f"https://{JAVA[1]}/{name}",
        "size": len(data),
    }
    pages[JAVA[0], "/jvm/ga/linux/x86_64.json"] = json.dumps([about]).encode()
    pages[JAVA[1], f"/{name}"] = data
    pem = str(tmp_path / "authority.pem")
    ground = await online(hosts=JAVA, names=JAVA, index="npm", NODE_EXTRA_CA_CERTS=pem)
    await bring(MISE)
    ground.commit({".java-version": version})

    result, tree = await ground.run("true")
    done = await bash(tree, 'javac -version; "$JAVA_HOME/bin/java"')

    assert list_refused(ground) == set()
    assert (done.output == f"javac {version}\nopenjdk {version}\n") is not wrong
    assert bool(result.problems) is wrong
    assert not wrong or "has another checksum" in result.problems[0]
