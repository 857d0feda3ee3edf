"""Step 8: what a container engine is told for one command: flags, limits, calls it refuses."""

from __future__ import annotations

import errno
import json
import math
import os
import resource
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.errors import ConfigError
from app.sandbox.bubblewrap.profile import HOME, environment
from app.sandbox.container.engines import ContainerEngine
from app.sandbox.port import Mount, ResourceLimits, SandboxCommand
from app.sandbox.seccomp import denied_calls

GRACE = 30
"""Seconds beyond its time after which a container ends by itself, if nobody is left to end it."""

PROFILE = "seccomp.json"
_NAMED = ("passwd", "group")
_FRESH = (("/tmp", 256), (HOME, 256), ("/run", 16))  # noqa: S108 # inside, in MB
_LEFT_OVER = 0.25  # processors that no single command gets, so that Fettle itself goes on
_FAMILIES = {1, 2, 10, 16}  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
_MOST_FAMILIES = 64
_NAMESPACE_BITS = (0x20000, *(1 << bit for bit in range(25, 31)))
_NEW_TIME = 0x80  # only unshare: for clone these bits are the exit signal
_MAKES_A_FILE = (0x40, 0x400000)  # O_CREAT, O_TMPFILE
_TERMINAL_INPUT = (0x5412, 0x541C)


@dataclass(frozen=True)
class ContainerConfig:
    """What every container of this sandbox has in common."""

    engine: ContainerEngine
    image: str
    owner: tuple[int, int]
    toolchains: Sequence[Path]
    memory: int
    """Bytes."""

    @property
    def inside(self) -> tuple[int, int]:
        """Return who the owner is inside."""
        if self.engine.rootless and self.engine.name == "docker":
            return 0, 0  # there the engine's user is root, which has no capability and is no root
        return self.owner


def create_arguments(
    body: ContainerConfig, name: str, labels: Sequence[str], files: Path, command: SandboxCommand
) -> list[str]:
    """Return the arguments of the engine that make a container, not yet started.

    `files` is a folder filled by `write_files`, which has to stay until the container is gone.
    """
    return [
        "create",
        f"--name={name}",
        *(f"--label={label}" for label in labels),
        *_hold(files / PROFILE),
        *_user(body),
        *_limits(command.limits, body.memory),
        *(f"--tmpfs={path}:rw,nosuid,nodev,mode=1777,size={size}m" for path, size in _FRESH),
        *_mounts(body, files, command),
        f"--workdir={command.folder}",
        "--entrypoint=",
        body.image,
    ]


def write_files(folder: Path, owner: tuple[int, int]) -> None:
    """Write what the engine reads for a container: the calls to refuse, the name of the user."""
    (folder / PROFILE).write_text(seccomp_profile())
    uid, gid = owner
    user = f"agent:x:{uid}:{gid}:agent:{HOME}:/bin/bash\n" if uid else ""
    group = f"agent:x:{gid}:\n" if gid else ""
    (folder / "passwd").write_text(f"root:x:0:0:root:/root:/bin/sh\n{user}")
    (folder / "group").write_text(f"root:x:0:\n{group}")
    for name in _NAMED:
        (folder / name).chmod(0o644)


def wrapped(body: ContainerConfig, command: SandboxCommand, argv: Sequence[str]) -> list[str]:
    """Return what runs inside: an environment from nothing, and an end even without us."""
    variables = environment(command.environment, body.toolchains)
    seconds = math.ceil(command.timeout) + GRACE
    return [
        "env",
        "-i",
        *(f"{name}={value}" for name, value in variables.items()),
        "timeout",
        "-s",
        "KILL",
        str(seconds),
        *argv,
    ]


def _hold(profile: Path) -> Iterator[str]:
    yield from ("--rm", "--pull=never", "--interactive", "--log-driver=none")
    yield from ("--network=none", "--hostname=sandbox", "--ipc=private")
    yield from ("--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges")
    yield f"--security-opt=seccomp={profile}"
    # Else SELinux hides the mounts, or has to relabel every file of the work tree.
    yield "--security-opt=label=disable"


def _user(body: ContainerConfig) -> list[str]:
    """Return as whom the command runs, so that its files belong to the owner outside."""
    uid, gid = body.inside
    if not body.engine.rootless:
        return ["--userns=host", f"--user={uid}:{gid}"]
    mapping = ["--userns=keep-id"] if body.engine.name == "podman" else []
    return [*mapping, f"--user={uid}:{gid}"]


def _limits(limits: ResourceLimits, memory: int) -> Iterator[str]:
    yield f"--pids-limit={limits.nproc}"
    yield f"--memory={memory}b"
    yield f"--memory-swap={memory}b"
    yield f"--cpus={(os.cpu_count() or 1) - _LEFT_OVER}"
    yield "--shm-size=256m"
    most = {
        "nproc": (resource.RLIMIT_NPROC, limits.nproc),
        "fsize": (resource.RLIMIT_FSIZE, limits.fsize),
        "nofile": (resource.RLIMIT_NOFILE, limits.nofile),
        "cpu": (resource.RLIMIT_CPU, limits.cpu),
    }
    for name, (kind, wanted) in most.items():
        ours = resource.getrlimit(kind)[1]
        value = wanted if ours == resource.RLIM_INFINITY else min(wanted, ours)
        yield f"--ulimit={name}={value}:{value}"
    yield "--ulimit=core=0:0"


def _mounts(body: ContainerConfig, files: Path, command: SandboxCommand) -> Iterator[str]:
    # Not `-v`, which would make a folder of root's where the source is missing.
    names = (Mount(files / name, f"/etc/{name}") for name in _NAMED)
    tools = (Mount(tool, str(tool)) for tool in body.toolchains)
    for mount in (*names, *tools, *command.mounts):
        if any(mark in f"{mount.source}{mount.target}" for mark in ',"\n'):
            raise ConfigError(
                f"A container cannot see `{mount.source}`: its name has a comma, a quote or a line "
                f"end. Set FETTLE_DATA_DIR or FETTLE_TOOLCHAINS to a path without."
            )
        readonly = "" if mount.writable else ",readonly"
        yield f"--mount=type=bind,source={mount.source},target={mount.target}{readonly}"


def seccomp_profile() -> str:
    """Return the calls that containers are refused: the same as in bubblewrap, as engines read it.

    Engines bring a profile along, but what it refuses differs from version to version.
    """
    rules = [
        _refuse(denied_calls(), errno.EPERM),
        # What these ask for lies behind a pointer, where no filter sees it.
        _refuse(["clone3", "openat2"], errno.ENOSYS),
        *(_refuse(["clone", "unshare"], errno.EPERM, _has(0, bit)) for bit in _NAMESPACE_BITS),
        _refuse(["unshare"], errno.EPERM, _has(0, _NEW_TIME)),
        *_without_set_id(),
        *(_refuse(["ioctl"], errno.EPERM, _equals(1, code)) for code in _TERMINAL_INPUT),
        *(
            _refuse(["socket"], errno.EAFNOSUPPORT, _equals(0, family))
            for family in range(_MOST_FAMILIES)
            if family not in _FAMILIES
        ),
    ]
    return json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules})


def _without_set_id() -> Iterator[dict[str, Any]]:
    """Give the rules that keep files from running as their owner, whoever starts them."""
    for bit in (stat.S_ISUID, stat.S_ISGID):
        yield _refuse(["chmod", "fchmod", "creat", "mknod"], errno.EPERM, _has(1, bit))
        yield _refuse(["fchmodat", "fchmodat2", "mknodat"], errno.EPERM, _has(2, bit))
        for flag in _MAKES_A_FILE:
            yield _refuse(["open"], errno.EPERM, _has(1, flag), _has(2, bit))
            yield _refuse(["openat"], errno.EPERM, _has(2, flag), _has(3, bit))


def _refuse(names: list[str], error: int, *arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the rule that refuses these calls where all of the arguments fit."""
    return {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": error, "args": list(arguments)}


def _equals(index: int, value: int) -> dict[str, Any]:
    # Of 64 bits the kernel looks at 32 here: what stands above them must not matter.
    return {"index": index, "value": 0xFFFFFFFF, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}


def _has(index: int, bit: int) -> dict[str, Any]:
    return {"index": index, "value": bit, "valueTwo": bit, "op": "SCMP_CMP_MASKED_EQ"}
