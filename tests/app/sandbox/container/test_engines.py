"""Containers of the engines that this machine has: every attack is held, and nothing survives."""

import asyncio
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from app.sandbox.container.backend import Container
from app.sandbox.container.images import find_image, list_images
from app.sandbox.port import Mount, OperatorLimits, SandboxCommand

UID = 58996
PROGRAMS = (
    "bash",
    "sh",
    "perl",
    "cat",
    "git",
    "env",
    "touch",
    "chmod",
    "id",
    "sleep",
    "timeout",
    "setsid",
)
IMAGE = "localhost/fettle-test:1"
SETTINGS = (
    "ENV PATH=/opt/tool/bin:/workspace/bin:/usr/bin:/bin",
    *("ENV JAVA_HOME=/opt/jdk", "ENV HOME=/root", "ENV TOKEN=of-the-image"),
    *("USER root", "WORKDIR /root", "VOLUME /data", "LABEL io.podman.annotations.privileged=TRUE"),
    *('ENTRYPOINT ["/bin/false"]', 'CMD ["--privileged"]'),
)
"""What an image says of itself."""


def fill(root):
    """Put the programs that commands need, and their libraries, into an image's folder."""
    for name in ("usr/bin", "usr/lib", "usr/lib64", "etc", "tmp", "proc", "dev", "sys", "run"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    perl = subprocess.run(
        ["perl", "-e", "print for @INC"], capture_output=True, text=True, check=True
    )
    for base in ("/usr/lib/x86_64-linux-gnu/perl-base", "/usr/lib/aarch64-linux-gnu/perl-base"):
        if base in perl.stdout:
            shutil.copytree(base, root / base[1:], dirs_exist_ok=True)
    for name in PROGRAMS:
        program = Path(shutil.which(name, path="/usr/bin:/bin")).resolve()
        shutil.copy2(program, root / "usr/bin" / name)
        needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
        for word in needed.stdout.split():
            if word.startswith("/") and not (root / word[1:]).exists():
                (root / word[1:]).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(word, root / word[1:])


@pytest.fixture(scope="module", params=["podman", "docker"])
def real(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("engine")
    program = shutil.which(request.param)
    if program is None:
        pytest.skip(f"{request.param} is not installed")
    # crun refuses the mixed cgroups of some machines; runc takes them.
    runtime = "--runtime runc" if request.param == "podman" and shutil.which("runc") else ""
    (folder / request.param).write_text(f'#!/bin/sh\nexec {program} {runtime} "$@"\n')
    (folder / request.param).chmod(0o755)
    fill(folder / "root")
    packed = subprocess.run(
        ["tar", "-C", folder / "root", "-c", "."], capture_output=True, check=True
    )
    put = subprocess.run(
        [program, "import", *(f"--change={each}" for each in SETTINGS), "-", IMAGE],
        input=packed.stdout,
        capture_output=True,
        check=False,
    )
    if put.returncode:
        pytest.skip(f"{request.param} takes no image here: {put.stderr.decode().strip()[-200:]}")
    made = Container(UID, image=IMAGE, path=str(folder), bounds=OperatorLimits(memory=256 * 2**20))
    report = asyncio.run(made.probe())
    if report.probes[0].name == "the sandbox starts":  # what starts and does not hold has failed
        pytest.skip(f"{request.param} starts no container here: {report.cause}")
    yield made
    subprocess.run([program, "rmi", "--force", IMAGE], capture_output=True, check=False)


async def test_a_real_engine_holds_every_attack(real):
    report = await real.probe()
    assert [probe for probe in report.probes if not probe.held] == []


async def test_of_a_real_images_settings_only_where_programs_lie_is_followed(real):
    config = await real._find()
    engine = config.engine
    found = await find_image(engine, IMAGE)
    assert await find_image(engine, found.id) == found
    assert await find_image(engine, "localhost/fettle-test:none") is None
    assert IMAGE in await list_images(engine)
    assert found.volumes == ("/data",)
    by_id = Container(UID, image=IMAGE, find=lambda: _return(replace(config, image=found.id)))
    script = "env; id -u; touch /data/x || echo read-only; cat /proc/mounts"
    result = await by_id.run(SandboxCommand(("bash", "-c", script), folder="/"))
    lines = result.output.splitlines()
    assert "PATH=/opt/tool/bin:/usr/bin:/bin:/usr/local/bin" in lines
    assert {"JAVA_HOME=/opt/jdk", "HOME=/home/agent", str(by_id.owner[0])} <= set(lines)
    assert "TOKEN" not in result.output
    assert "read-only" in lines
    assert not [line for line in lines if " /data " in line and " rw" in line]


async def _return(value):
    return value


async def test_a_real_engine_runs_and_kills(real, open_folder):
    tree = open_folder / "tree"
    tree.mkdir()
    tree.chmod(0o777)
    mounts = (Mount(tree, "/workspace", writable=True),)

    async def run(script, **options):
        return await real.run(SandboxCommand(("bash", "-c", script), mounts=mounts, **options))

    result = await run("echo x >f; id -un; pwd; exit 5")
    assert (result.exit_code, result.output) == (5, "agent\n/workspace\n")
    assert (tree / "f").stat().st_uid == real.owner[0]
    mark = f"7{os.getpid()}"
    late = await run(f"(setsid sleep {mark} &); sleep 60", timeout=2)
    assert late.why == "timeout"
    assert not alive(f"sleep {mark}")
    hungry = await run("LC_ALL=C perl -e '$x = chr(65) x (900 * 2**20)' 2>/dev/null; echo $?")
    assert "137" in hungry.output.split()
    assert (await run("touch s; chmod u+s s")).exit_code != 0


def alive(mark):
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return any(mark in line and "ps -eo" not in line for line in listed.stdout.splitlines())
