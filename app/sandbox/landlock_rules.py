"""Step 8: what Landlock is told: which rights it holds, and where they are given back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from app.sandbox.port import Mount

# Bits of `handled_access_fs`, in the kernel's order, each with the version that knows it first.
_EXECUTE, _WRITE, _READ, _LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_REFER, _TRUNCATE, _DEVICE = 1 << 13, 1 << 14, 1 << 15
_SINCE = {2: _REFER, 3: _TRUNCATE, 5: _DEVICE}
_FIRST = (1 << 13) - 1
_TCP, _TCP_SINCE = 0b11, 4  # bind, connect
_SCOPES, _SCOPES_SINCE = 0b11, 6  # abstract sockets, signals

_ON_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | _DEVICE
_READING = _EXECUTE | _READ | _LIST

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/proc")
_ETC = (
    "alternatives",
    "ca-certificates.conf",
    "hosts",
    "ld.so.cache",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "perl",
    "python3",
    "ssl/certs",
    "ssl/openssl.cnf",
)
"""Who asks for what is not there goes on, but not who may not read it: so a little more than
bubblewrap shows, and still nothing that tells who the users are."""
_DEVICES = ("null", "zero", "full", "random", "urandom")


@dataclass(frozen=True)
class Rights:
    """The rights that a version of Landlock holds."""

    abi: int

    @property
    def files(self) -> int:
        """Return every right on files that it knows."""
        return _FIRST | sum(bit for since, bit in _SINCE.items() if self.abi >= since)

    @property
    def handled(self) -> tuple[int, int, int]:
        """Return what is held at all: files, network, scopes."""
        network = _TCP if self.abi >= _TCP_SINCE else 0
        return self.files, network, _SCOPES if self.abi >= _SCOPES_SINCE else 0

    def of(self, mounts: Iterable[Mount]) -> Iterator[tuple[str, int]]:
        """Give the rule for each mount; those of files have fewer rights than those of folders."""
        for mount in mounts:
            wanted = self.files & ~_DEVICE if mount.writable else _READING
            wanted &= ~(_MAKE_CHAR | _MAKE_BLOCK)
            yield str(mount.source), self._fitting(mount.source, wanted)

    def reading(self, path: Path) -> tuple[str, int]:
        """Return the rule that lets everything below be read and executed."""
        return str(path), self._fitting(path, _READING)

    def device(self, path: Path) -> tuple[str, int]:
        """Return the rule that lets a harmless device be used."""
        return str(path), self.files & (_READ | _WRITE | _TRUNCATE | _DEVICE)

    def _fitting(self, path: Path, wanted: int) -> int:
        return self.files & (wanted if path.is_dir() else wanted & _ON_FILES)


def system_rules(rights: Rights) -> Iterator[tuple[str, int]]:
    """Give the rules for what every command may read, and the devices that do no harm."""
    for path in (*map(Path, _SYSTEM), *(Path("/etc", name) for name in _ETC)):
        if path.exists():
            yield rights.reading(path)
    for name in _DEVICES:
        yield rights.device(Path("/dev", name))
