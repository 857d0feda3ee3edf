"""What the inside of a bubblewrap sandbox looks like: options, files of /etc, environment."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.sandbox.port import Mount, SandboxCommand

HOME = "/home/agent"
PATH = "/usr/local/bin:/usr/bin:/bin"
UID = 1000
"""The user inside, whoever it is outside."""

NAMESPACES = (
    "--unshare-user",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--disable-userns",
    "--uid",
    str(UID),
    "--gid",
    str(UID),
    "--hostname",
    "sandbox",
    "--die-with-parent",
    "--new-session",
    "--clearenv",
)

ETC = {
    "/etc/passwd": (
        f"root:x:0:0:root:/root:/bin/sh\nagent:x:{UID}:{UID}:agent:{HOME}:/bin/bash\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
    ),
    "/etc/group": f"root:x:0:\nagent:x:{UID}:\nnogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
"""Written anew for each sandbox: this machine's own files tell who its users are."""

_ETC_SHARED = ("alternatives", "ssl/certs")
_ETC_COPIED = ("ld.so.cache", "ca-certificates.conf")


def etc_files() -> dict[str, bytes]:
    """Return the files of /etc inside: what is made up, and what is copied as it is now.

    A file that is written costs less than one that is mounted.
    """
    made_up = {path: text.encode() for path, text in ETC.items()}
    copied = {f"/etc/{name}": Path("/etc", name) for name in _ETC_COPIED}
    return made_up | {name: path.read_bytes() for name, path in copied.items() if path.is_file()}


def system_options() -> list[str]:
    """Return the options for the read-only system: /usr, its links in /, a little of /etc."""
    options = ["--ro-bind", "/usr", "/usr", "--perms", "0755", "--dir", "/etc"]
    options += ["--perms", "0755", "--dir", "/home"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/", name)
        if path.is_symlink():
            options += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            options += ["--ro-bind", str(path), str(path)]
    for name in _ETC_SHARED:
        options += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return options


def fresh_options() -> list[str]:
    """Return the options for what is empty at the start of every command and bounded in size."""
    options = ["--proc", "/proc", "--dev", "/dev"]
    for size, target in ((256, "/dev/shm"), (256, "/tmp"), (256, HOME), (16, "/run")):  # noqa: S108 # inside, not ours
        options += ["--perms", "0700" if target == HOME else "1777"]
        options += ["--size", str(size * 1024 * 1024), "--tmpfs", target]
    return options


def command_options(command: SandboxCommand, toolchains: Sequence[Path]) -> list[str]:
    """Return the options for one command: what it sees, its environment, its folder."""
    options: list[str] = []
    for mount in (*(Mount(tool, str(tool)) for tool in toolchains), *command.mounts):
        options += ["--bind" if mount.writable else "--ro-bind", str(mount.source), mount.target]
    options += ["--remount-ro", "/"]
    for name, value in environment(command.environment, toolchains).items():
        options += ["--setenv", name, value]
    return [*options, "--chdir", command.folder]


def environment(extra: Mapping[str, str], toolchains: Sequence[Path]) -> dict[str, str]:
    """Return the environment inside: from nothing, so none of ours can be in it."""
    return {
        "PATH": os.pathsep.join([*(str(tool / "bin") for tool in toolchains), PATH]),
        "HOME": HOME,
        "USER": "agent",
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",  # noqa: S108 # the sandbox's own
        "PYTHONDONTWRITEBYTECODE": "1",
        "GIT_CONFIG_NOSYSTEM": "1",  # this machine's settings are not the repository's
        **extra,
    }
