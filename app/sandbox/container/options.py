"""The options with which a container engine makes the container of one command.

podman-create(1), https://docs.docker.com/reference/cli/docker/container/create/; the seccomp
profile is in the form of https://docs.docker.com/engine/security/seccomp/.
"""

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
from app.sandbox.container.engines import ContainerEngine
from app.sandbox.container.images import LocalImage, hide_volumes
from app.sandbox.port import (
    HOME,
    SCRATCH,
    Mount,
    ResourceLimits,
    SandboxCommand,
    build_environment,
)
from app.sandbox.seccomp import list_denied_calls

GRACE = 30
"""Seconds beyond its time after which a container ends by itself, if nobody is left to end it."""

PROFILE = "seccomp.json"
_NAMED = ("passwd", "group")
_FRESH = ((SCRATCH, 256), (HOME, 256), ("/run", 16))  # in MB
_LEFT_OVER = 0.25  # processors that no single command gets, so that Fettle itself goes on
_FAMILIES = {1, 2, 10, 16}  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
_MOST_FAMILIES = 64
_NAMESPACE_BITS = (0x20000, *(1 << bit for bit in range(25, 31)))
_NEW_TIME = 0x80  # only unshare: for clone these bits are the exit signal
_MAKES_A_FILE = (0x40, 0x400000)  # O_CREAT, O_TMPFILE
_TERMINAL_INPUT = (0x5412, 0x541C)


@dataclass(frozen=True)
class ContainerConfig:
    """What all containers of this sandbox have in common."""

    engine: ContainerEngine
    image: str
    owner: tuple[int, int]
    toolchains: Sequence[Path]
    memory: int
    """Bytes of memory for each container."""
    local: LocalImage | None = None
    """What the image's own settings say; None where the engine does not have it."""

    @property
    def owner_inside(self) -> tuple[int, int]:
        """Return user and group id of the owner as seen inside."""
        if self.engine.rootless and self.engine.name == "docker":
            return 0, 0  # there the engine's user is root, which has no capability and is no root
        return self.owner


def build_create_arguments(
    config: ContainerConfig, name: str, labels: Sequence[str], files: Path, command: SandboxCommand
) -> list[str]:
    """Return the engine's arguments that make a container without starting it.

    `files` is a folder filled by `write_files`, which must stay until the container is gone.
    Raises ConfigError for a mount whose path an engine cannot take.
    """
    mounted = {mount.target for mount in command.mounts}
    fresh = [(path, size) for path, size in _FRESH if path not in mounted]
    return [
        "create",
        f"--name={name}",
        *(f"--label={label}" for label in labels),
        *_build_isolation_flags(files / PROFILE),
        *_build_user_flags(config),
        *_build_limit_flags(command.limits, config.memory),
        *(f"--tmpfs={path}:rw,nosuid,nodev,mode=1777,size={size}m" for path, size in fresh),
        *_build_mount_flags(config, files, command),
        *hide_volumes(config.engine, config.local, [*mounted, *(path for path, _ in _FRESH)]),
        f"--workdir={command.folder}",
        "--entrypoint=",
        config.image,
    ]


def write_files(folder: Path, owner: tuple[int, int]) -> None:
    """Write the files for one container: the seccomp profile, and the names of user and group."""
    (folder / PROFILE).write_text(build_seccomp_profile())
    uid, gid = owner
    user = f"agent:x:{uid}:{gid}:agent:{HOME}:/bin/bash\n" if uid else ""
    group = f"agent:x:{gid}:\n" if gid else ""
    (folder / "passwd").write_text(f"root:x:0:0:root:/root:/bin/sh\n{user}")
    (folder / "group").write_text(f"root:x:0:\n{group}")
    for name in _NAMED:
        (folder / name).chmod(0o644)


def wrap_argv(config: ContainerConfig, command: SandboxCommand, argv: Sequence[str]) -> list[str]:
    """Return what runs inside: `argv` with its own variables, ended by itself if Fettle is gone."""
    image = config.local or LocalImage("")
    ours = build_environment(
        command.environment,
        config.toolchains,
        image.path,
        memory=config.memory,
    )
    variables = {**image.variables, **ours}
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


def _build_isolation_flags(profile: Path) -> Iterator[str]:
    yield from ("--rm", "--pull=never", "--interactive", "--log-driver=none")
    # The engine would run it beside the command, and on its own terms.
    yield "--no-healthcheck"
    yield from ("--network=none", "--hostname=sandbox", "--ipc=private")
    yield from ("--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges")
    yield f"--security-opt=seccomp={profile}"
    # Else SELinux hides the mounts, or has to relabel every file of the work tree.
    yield "--security-opt=label=disable"


def _build_user_flags(config: ContainerConfig) -> list[str]:
    """Return the flags by which files of the command belong to the owner outside."""
    uid, gid = config.owner_inside
    if not config.engine.rootless:
        return ["--userns=host", f"--user={uid}:{gid}"]
    mapping = ["--userns=keep-id"] if config.engine.name == "podman" else []
    return [*mapping, f"--user={uid}:{gid}"]


def _build_limit_flags(limits: ResourceLimits, memory: int) -> Iterator[str]:
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


def _build_mount_flags(
    config: ContainerConfig, files: Path, command: SandboxCommand
) -> Iterator[str]:
    # Not `-v`, which would make a folder of root's where the source is missing.
    names = (Mount(files / name, f"/etc/{name}") for name in _NAMED)
    tools = (Mount(tool, str(tool)) for tool in config.toolchains)
    for mount in (*names, *tools, *command.mounts):
        if any(mark in f"{mount.source}{mount.target}" for mark in ',"\n'):
            raise ConfigError(
                f"A container cannot see `{mount.source}`: its name has a comma, a quote or a line "
                f"end. Set FETTLE_DATA_DIR or FETTLE_TOOLCHAINS to a path without."
            )
        readonly = "" if mount.writable else ",readonly"
        yield f"--mount=type=bind,source={mount.source},target={mount.target}{readonly}"


def build_seccomp_profile() -> str:
    """Return the seccomp profile of containers, which refuses the same calls as in bubblewrap.

    Engines bring a profile along, but what it refuses differs from version to version.
    """
    rules = [
        _refuse(list_denied_calls(), errno.EPERM),
        # What these ask for lies behind a pointer, where no filter sees it.
        _refuse(["clone3", "openat2"], errno.ENOSYS),
        # Room on the disk is taken by writing, at a pace that can be watched.
        _refuse(["fallocate"], errno.EOPNOTSUPP),
        *(
            _refuse(["clone", "unshare"], errno.EPERM, _match_bits(0, bit))
            for bit in _NAMESPACE_BITS
        ),
        _refuse(["unshare"], errno.EPERM, _match_bits(0, _NEW_TIME)),
        *_forbid_set_id(),
        *(_refuse(["ioctl"], errno.EPERM, _match_value(1, code)) for code in _TERMINAL_INPUT),
        *(
            _refuse(["socket"], errno.EAFNOSUPPORT, _match_value(0, family))
            for family in range(_MOST_FAMILIES)
            if family not in _FAMILIES
        ),
    ]
    return json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules})


def _forbid_set_id() -> Iterator[dict[str, Any]]:
    """Yield the rules that keep files from running as their owner, whoever starts them."""
    for bit in (stat.S_ISUID, stat.S_ISGID):
        yield _refuse(["chmod", "fchmod", "creat", "mknod"], errno.EPERM, _match_bits(1, bit))
        yield _refuse(["fchmodat", "fchmodat2", "mknodat"], errno.EPERM, _match_bits(2, bit))
        for flag in _MAKES_A_FILE:
            yield _refuse(["open"], errno.EPERM, _match_bits(1, flag), _match_bits(2, bit))
            yield _refuse(["openat"], errno.EPERM, _match_bits(2, flag), _match_bits(3, bit))


def _refuse(names: list[str], error: int, *arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the rule that refuses these calls where all of the arguments fit."""
    return {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": error, "args": list(arguments)}


def _match_value(index: int, value: int) -> dict[str, Any]:
    # Of 64 bits the kernel looks at 32 here: what stands above them must not matter.
    return {"index": index, "value": 0xFFFFFFFF, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}


def _match_bits(index: int, bit: int) -> dict[str, Any]:
    return {"index": index, "value": bit, "valueTwo": bit, "op": "SCMP_CMP_MASKED_EQ"}
