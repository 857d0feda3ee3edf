"""The inside of a bubblewrap sandbox: namespaces, read-only system, files of /etc (bwrap(1))."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from app.sandbox.port import HOME, SCRATCH, Mount, SandboxCommand, build_environment

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
    # Tests in compose files and container jobs know their servers by these names.
    "/etc/hosts": (
        "127.0.0.1 localhost sandbox postgres postgresql redis mysql mariadb db database cache\n"
        "::1 localhost\n"
    ),
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
"""Files written anew for each sandbox, since this machine's own tell who its users are."""

_ETC_SHARED = ("alternatives", "ssl/certs", "fonts")
_ETC_COPIED = (
    "ld.so.cache",
    "ca-certificates.conf",
    # Not the folder: settings.xml and toolchains.xml beside them may hold passwords of servers.
    "maven/m2.conf",
    "maven/logging/simplelogger.properties",
)
_JDKS = "java-*"
"""Debian's folders of JDKs, without which none starts."""
_HIDDEN_IN_JDK = "management"
"""The folder of a JDK that may hold jmxremote.password."""
_PHP_EXTENSION = re.compile(r"^\s*(?:zend_)?extension\s*=[^\n]*", re.MULTILINE)


def build_etc_files(etc: Path = Path("/etc")) -> dict[str, bytes]:
    """Return the files of /etc inside: those made up, and those copied as they are now.

    bwrap writes a file faster than it mounts one. `etc` is this machine's.
    """
    made_up = {path: text.encode() for path, text in ETC.items()}
    copied = {f"/etc/{name}": etc / name for name in _ETC_COPIED}
    files = {name: path.read_bytes() for name, path in copied.items() if path.is_file()}
    return {**made_up, **files, **dict(_name_php_extensions(etc))}


def _name_php_extensions(etc: Path) -> Iterator[tuple[str, bytes]]:
    """Yield for each PHP a file that loads its extensions, and says nothing else.

    The machine's own settings may hold passwords and licence keys.
    """
    for folder in sorted(etc.glob("php/*/cli/conf.d")):
        files = sorted(path for path in folder.glob("*.ini") if path.is_file())
        texts = (path.read_text("utf-8", "replace") for path in files)
        lines = [line for text in texts for line in _PHP_EXTENSION.findall(text)]
        path = f"/etc/{folder.relative_to(etc)}/extensions.ini"
        yield path, "".join(f"{line}\n" for line in lines).encode()


def build_system_options(etc: Path = Path("/etc")) -> list[str]:
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
        if (etc / name).is_dir():
            options += ["--ro-bind-try", str(etc / name), f"/etc/{name}"]
    for jdk in sorted(path for path in etc.glob(_JDKS) if path.is_dir()):
        options += ["--ro-bind-try", str(jdk), f"/etc/{jdk.name}"]
        if (jdk / _HIDDEN_IN_JDK).is_dir():
            hidden = f"/etc/{jdk.name}/{_HIDDEN_IN_JDK}"
            options += ["--perms", "0755", "--tmpfs", hidden, "--remount-ro", hidden]
    return options


def build_fresh_options() -> list[str]:
    """Return the options for what every command has anew, empty and bounded in size."""
    return [
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        *_make_memory("/dev/shm", 256),  # noqa: S108 # inside
        *_make_memory("/run", 16),
    ]


def _make_memory(target: str, size: int, mode: str = "1777") -> list[str]:
    """Return the options for an empty folder in memory of `size` MB."""
    return ["--perms", mode, "--size", str(size * 1024 * 1024), "--tmpfs", target]


def list_mounts(command: SandboxCommand, toolchains: Sequence[Path]) -> list[Mount]:
    """Return all mounts; one that lies inside of another comes after it, or it would be hidden."""
    mounts = (*(Mount(tool, str(tool)) for tool in toolchains), *command.mounts)
    return sorted(mounts, key=lambda each: each.target.rstrip("/").count("/"))


def build_command_options(
    command: SandboxCommand, toolchains: Sequence[Path], memory: int
) -> list[str]:
    """Return the options for one command: its mounts, its environment, its folder.

    `memory` is what it may use, in bytes.
    """
    options: list[str] = []
    mounted = {mount.target for mount in command.mounts}
    if SCRATCH not in mounted:
        options += _make_memory(SCRATCH, 256)
    if HOME not in mounted:
        options += _make_memory(HOME, 256, "0700")
    for mount in list_mounts(command, toolchains):
        writable = mount.writable or mount.changes
        options += ["--bind" if writable else "--ro-bind", str(mount.source), mount.target]
    options += ["--remount-ro", "/"]
    for name, value in build_environment(command.environment, toolchains, memory=memory).items():
        options += ["--setenv", name, value]
    return [*options, "--chdir", command.folder]
