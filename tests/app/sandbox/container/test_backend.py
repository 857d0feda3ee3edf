"""Containers: what an engine is told, and that nothing is left in it, whatever happens."""

import asyncio
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from agents.errors import ConfigError
from app.sandbox.container import orphans as leftovers
from app.sandbox.container.backend import Container
from app.sandbox.container.errors import diagnose
from app.sandbox.container.options import build_seccomp_profile
from app.sandbox.port import Mount, OperatorLimits, ResourceLimits, SandboxCommand
from tests.fakes.container_engine import UID, FakeContainerEngine
from tests.patience import PATIENCE


@pytest.fixture
def engine(tmp_path):
    return FakeContainerEngine(tmp_path)


def alive(mark):
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return any(mark in line and "ps -eo" not in line for line in listed.stdout.splitlines())


def bash(script, **options):
    return SandboxCommand(("bash", "-c", script), folder="/", **options)


# --- what the engine is told ----------------------------------------------------------------------


async def test_every_hold_is_asked_for(engine, tmp_path, monkeypatch):
    tool, tree = tmp_path / "tool", tmp_path / "tree"
    sandbox = engine.sandbox(toolchains=(tool,), bounds=OperatorLimits(memory=300 * 2**20))
    command = SandboxCommand(
        ("echo", "a b"),
        folder="/workspace",
        mounts=(Mount(tree, "/workspace", writable=True), Mount(Path("/srv/m"), "/git")),
        environment={"A": "1 2"},
        timeout=10.5,
        limits=ResourceLimits(nproc=77, nofile=99),
    )
    tree.mkdir()
    tool.mkdir()
    monkeypatch.setenv("CANARY", "of-our-own")
    await sandbox.run(command)
    (call,) = engine.calls("create")
    options, inside = call[: call.index("image")], call[call.index("image") + 1 :]
    assert {
        *("--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"),
        *("--rm", "--pull=never", "--log-driver=none", "--ipc=private", "--entrypoint="),
        *("--pids-limit=77", "--ulimit=nofile=99:99", "--ulimit=core=0:0"),
        *(f"--memory={300 * 2**20}b", f"--memory-swap={300 * 2**20}b", "--workdir=/workspace"),
        f"--mount=type=bind,source={tree},target=/workspace",
        "--mount=type=bind,source=/srv/m,target=/git,readonly",
        f"--mount=type=bind,source={tool},target={tool},readonly",
        "--tmpfs=/tmp:rw,nosuid,nodev,mode=1777,size=256m",
        "--userns=host",
        f"--user={sandbox.owner[0]}:{sandbox.owner[1]}",
    } <= set(options)
    assert any(option.startswith("--security-opt=seccomp=/") for option in options)
    assert any(option.startswith("--cpus=") for option in options)
    assert not [option for option in options if "sock" in option or option == "--privileged"]
    assert inside[:2] == ["env", "-i"]
    assert "A=1 2" in inside
    assert f"PATH={tool}/bin:/usr/local/bin:/usr/bin:/bin" in inside
    end = inside.index("timeout")
    assert inside[end : end + 4] == ["timeout", "-s", "KILL", "41"]
    assert inside[-2:] == ["echo", "a b"]
    assert "of-our-own" not in (engine.folder / "calls").read_text()


SETTINGS = {
    "User": "root",
    "Entrypoint": ["/bin/sh", "-c", 'touch /workspace/entry; exec "$@"', "sh"],
    "Cmd": ["--privileged"],
    "Healthcheck": {"Test": ["CMD-SHELL", "touch /workspace/health"], "Interval": 1},
    "Volumes": {"/data": {}, "/home/agent": {}},
    "Labels": {"io.podman.annotations.privileged": "TRUE"},
    "StopSignal": "SIGSTOP",
    "WorkingDir": "/workspace",
}
VARIABLES = (
    "PATH=/opt/tool/bin:relative:/workspace/bin:/usr/../tmp/x:/home/agent/bin::/usr/bin",
    *("JAVA_HOME=/opt/jdk", "GOPATH=/go", "HOME=/root", "BASH_ENV=/workspace/evil", "ENV=/evil"),
    *("LD_PRELOAD=/workspace/evil.so", "HTTP_PROXY=http://evil.example", "TOKEN=of-the-image"),
    *("RUSTUP_HOME=a\nb", "GIT_CONFIG_COUNT=1", "PYTHONPATH=/workspace/evil", "NVM_DIR"),
)


async def test_of_an_images_settings_only_where_programs_lie_is_followed(engine):
    engine.add_image("image", VARIABLES, **SETTINGS)
    result = await engine.sandbox().run(bash("env"))
    seen = dict(line.partition("=")[::2] for line in result.output.splitlines())
    assert seen["PATH"] == "/opt/tool/bin:/usr/bin:/usr/local/bin:/bin"
    assert (seen["JAVA_HOME"], seen["HOME"]) == ("/opt/jdk", "/home/agent")
    assert not seen.keys() & {each.partition("=")[0] for each in VARIABLES} - {
        *("PATH", "JAVA_HOME", "HOME")
    }
    (call,) = engine.calls("create")
    assert {"--image-volume=ignore", "--no-healthcheck", "--entrypoint="} <= set(call)
    assert "--user={}:{}".format(*engine.sandbox().owner) in call


async def test_docker_gets_something_empty_for_each_volume_of_an_image(tmp_path):
    engine = FakeContainerEngine(tmp_path, "docker", "[name=seccomp]")
    engine.add_image("image", **SETTINGS)
    await engine.sandbox().run(bash("true"))
    (call,) = engine.calls("create")
    fresh = [option for option in call if option.startswith("--tmpfs=/data")]
    assert fresh == ["--tmpfs=/data:ro,nosuid,nodev,noexec,size=64k"]
    assert sum(option.startswith("--tmpfs=/home/agent:") for option in call) == 1


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"Labels": {"fettle.sandbox": "true", "fettle.sandbox.owner": "h:1:5"}}, "labels"),
        ({"Volumes": {"/workspace/.git": {}}}, "volumes"),
        ({"Volumes": {"/a,readonly=false": {}}}, "volumes"),
        ({"Volumes": {"/a:/b": {}}}, "volumes"),
        ({"Volumes": {"/": {}}}, "volumes"),
        ({"Volumes": {f"/{number}": {} for number in range(30)}}, "volumes"),
    ],
)
async def test_an_image_that_no_container_is_made_of_says_why(engine, settings, why):
    engine.add_image("image", **settings)
    with pytest.raises(ConfigError, match=why):
        await engine.sandbox().run(bash("true"))


async def test_a_runs_own_home_and_tmp_take_the_place_of_those_in_memory(engine, tmp_path):
    own = [(tmp_path / "home", "/home/agent"), (tmp_path / "tmp", "/tmp")]
    for folder, _ in own:
        folder.mkdir()
    mounts = tuple(Mount(folder, at, writable=True) for folder, at in own)
    await engine.sandbox().run(SandboxCommand(("true",), folder="/", mounts=mounts))
    (call,) = engine.calls("create")
    assert [option.split(":")[0] for option in call if "tmpfs" in option] == ["--tmpfs=/run"]
    assert {f"--mount=type=bind,source={folder},target={at}" for folder, at in own} <= set(call)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become other users")
async def test_each_run_is_a_user_of_its_own(engine, tmp_path):
    sandbox = engine.sandbox()
    one, other = (sandbox.for_run(tmp_path / name) for name in ("one", "other"))
    assert sandbox.for_run(tmp_path / "one") is one
    assert len({each.owner[0] for each in (sandbox, one, other)}) == 3
    for runner in (one, other):
        await runner.run(bash("true"))
    users = [option for call in engine.calls("create") for option in call if "--user=" in option]
    assert users == [f"--user={each.owner[0]}:{UID}" for each in (one, other)]
    assert len(engine.calls("info")) == 1  # the engine is looked for once
    sandbox.release(tmp_path / "one")


async def test_an_operator_is_told_what_holds_users_and_disk(engine):
    notes = " ".join((await engine.sandbox().probe()).notes)
    root = os.geteuid() == 0
    assert ("Each run at work is a user of its own" if root else "All runs are one user") in notes
    assert "10240 MB" in notes
    assert "files that it has removed is not seen" in notes


@pytest.mark.parametrize(
    ("name", "rootless", "mapping", "user"),
    [
        ("podman", "true", "--userns=keep-id", None),
        ("podman", "false", "--userns=host", None),
        ("docker", "[name=seccomp,profile=default]", "--userns=host", None),
        ("docker", "[name=seccomp name=rootless]", None, "0:0"),
    ],
)
async def test_files_belong_to_the_owner_whatever_the_engine(
    tmp_path, name, rootless, mapping, user
):
    engine = FakeContainerEngine(tmp_path, name, rootless)
    sandbox = engine.sandbox()
    await sandbox.run(bash("true"))
    (options,) = engine.calls("create")
    owner = "{}:{}".format(*sandbox.owner)
    assert f"--user={user or owner}" in options
    assert [o for o in options if o.startswith("--userns")] == ([mapping] if mapping else [])


async def test_the_rootless_engine_is_preferred(tmp_path):
    (tmp_path / "a").mkdir()
    podman = FakeContainerEngine(tmp_path / "a", "podman", "false")
    docker = FakeContainerEngine(tmp_path / "a", "docker", "[name=rootless]")
    assert podman.folder == docker.folder
    (tmp_path / "a/rootless").write_text("name=rootless")  # for podman that is no `true`
    sandbox = podman.sandbox()
    await sandbox.run(bash("true"))
    assert sandbox._config.engine.name == "docker"


async def test_a_path_that_would_add_an_option_is_refused(engine, tmp_path):
    mount = Mount(tmp_path / "a,readonly=false", "/workspace")
    with pytest.raises(ConfigError, match="comma"):
        await engine.sandbox().run(bash("true", mounts=(mount,)))


def test_the_profile_refuses_what_bubblewrap_refuses():
    rules = json.loads(build_seccomp_profile())["syscalls"]
    outright = {name for rule in rules if not rule["args"] for name in rule["names"]}
    assert {"io_uring_setup", "keyctl", "mount", "bpf", "clone3", "openat2"} <= outright
    families = {rule["args"][0]["valueTwo"] for rule in rules if rule["names"] == ["socket"]}
    assert 40 in families  # vsock
    assert not families & {1, 2, 10, 16}
    namespaces = 0
    for rule in rules:
        if "clone" in rule["names"]:
            namespaces |= rule["args"][0]["value"]
    assert namespaces == 0x7E020000


# --- how commands end -----------------------------------------------------------------------------


async def test_a_command_runs_and_its_container_is_gone(engine):
    result = await engine.sandbox().run(bash("echo hi; echo there >&2; exit 3"))
    assert (result.exit_code, result.why) == (3, "exit")
    assert sorted(result.output.split()) == ["hi", "there"]
    assert engine.list_left() == []


@pytest.mark.parametrize(
    ("script", "options", "why"),
    [("sleep 62", {"timeout": 1.0}, "timeout"), ("sleep 0.1; yes", {}, "output")],
)
async def test_the_container_is_killed_by_its_name(engine, script, options, why):
    """The command lives in a session of its own, as in an engine: the group's end is not its."""
    mark = f"contained-{why}-{os.getpid()}"
    result = await engine.sandbox().run(bash(f": {mark}; {script}; :", **options))
    assert result.why == why
    assert engine.list_left() == []
    assert engine.calls("rm")[0][-1] == engine.calls("start")[0][-1]
    assert not alive(mark)


async def test_cancelled_means_gone(engine):
    mark = f"contained-cancelled-{os.getpid()}"
    running = asyncio.create_task(engine.sandbox().run(bash(f": {mark}; sleep 63; :")))
    deadline = time.monotonic() + 10
    while not (alive(mark) and engine.calls("start")) and time.monotonic() < deadline:
        await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert engine.list_left() == []
    assert not alive(mark)


async def test_a_client_that_was_killed_leaves_nothing(engine):
    """Somebody ends the engine's command line, and not the container."""
    mark = f"contained-orphan-{os.getpid()}"
    script = f": {mark}; kill -9 $(ps -o ppid= -p $(ps -o ppid= -p $$)); sleep 9999; :"
    running = asyncio.create_task(engine.sandbox().run(bash(script, timeout=10)))
    await asyncio.wait_for(running, PATIENCE)
    async with asyncio.timeout(PATIENCE):  # who was killed is listed until it was waited for
        while alive(mark):
            await asyncio.sleep(0.02)
    assert engine.list_left() == []


# --- leftovers and refusals -----------------------------------------------------------------------


async def test_leftovers_of_a_killed_fettle_are_removed_and_no_others(engine):
    own = leftovers.build_labels()[1].partition("=")[2]
    host, _, rest = own.partition(":")
    owners = {
        "gone": f"{host}:999999999:5",
        "number-used-again": f"{host}:{rest.partition(':')[0]}:5",
        "mine": own,
        "another-machine": "elsewhere:999999999:5",
        "strange": "strange",
    }
    for name, owner in owners.items():
        state = {"command": [], "labels": {"fettle.sandbox.owner": owner}}
        (engine.folder / f"{name}.json").write_text(json.dumps(state))
    await engine.sandbox().run(bash("true"))
    assert sorted(engine.list_left()) == ["another-machine", "mine", "strange"]


@pytest.mark.parametrize(
    ("said", "cause", "remedy"),
    [
        ("Error: image not known", "the image `image` is not on this machine", "podman pull image"),
        ("newuidmap: not found", "no range of user ids", "usermod"),
        ("crun: cgroups in hybrid mode not supported", "mixes cgroup v1 and v2", "runc"),
        ("nobody knows", "the engine's own words", "run `podman run"),
    ],
)
async def test_a_refusal_names_cause_and_remedy(engine, said, cause, remedy):
    (engine.folder / "refuses").write_text(said)
    report = await engine.sandbox().probe()
    assert not report.held
    assert said in report.probes[0].detail
    assert cause in report.cause
    assert remedy in report.remedy


def test_every_remedy_is_one_line():
    for said in (
        "permission denied while trying to connect",
        "executable file not found",
        "rlimit",
    ):
        cause, remedy = diagnose(said, "docker", "an-image")
        assert "unknown" not in cause
        assert "\n" not in remedy


async def test_without_an_engine_it_says_what_to_install(tmp_path):
    report = await Container(UID, image="image", path=str(tmp_path)).probe()
    assert not report.held
    assert "podman is not installed; docker is not installed" in report.probes[0].detail
    assert "apt-get install podman" in report.remedy


async def test_an_engine_that_holds_is_found_to_hold_whatever_the_image_sets(open_folder):
    engine = FakeContainerEngine(open_folder)
    engine.hold()
    engine.add_image("image", ["PATH=/usr/bin:/bin", "JAVA_HOME=/opt/jdk"], **SETTINGS)
    report = await engine.sandbox().probe()
    assert [each for each in report.probes if not each.held] == []


async def test_an_engine_that_does_not_hold_is_found_out(engine):
    """The engine of these tests holds nothing at all."""
    report = await engine.sandbox().probe()
    assert not report.held
