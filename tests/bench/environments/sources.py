"""Fetch what a tree is made from: sdists, npm tarballs and Debian's source packages.

Each through its ordinary client's own configuration, and held against the checksum that stands
beside its version.
"""

from __future__ import annotations

import asyncio
import hashlib
import html
import os
import re
import shutil
import subprocess
import tarfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urljoin

from app.config.settings import process_environment
from app.dependencies.indexes.operator_config import Operator
from app.dependencies.indexes.pip import default_index, pip_options

_SECONDS = 600
_LINK = re.compile(r'href="([^"]+)"')
_APT = "Debian's source packages cannot be listed here: {said}"


class SourceMissing(Exception):
    """The source cannot be had here, or is not what was pinned."""


@dataclass(frozen=True)
class PinnedArchive:
    """One archive of an index."""

    index: str
    """`pypi`, `npm` or `debian`."""
    name: str
    version: str
    sha256: str
    """Of the archive; of a Debian package, of what its authors released."""
    at: str = ""
    """The folder of the tree that it is laid into; empty for the root."""
    inside: str = ""
    """The folder of the archive that is laid; empty for all of it."""

    def __str__(self) -> str:
        return f"{self.name} {self.version} ({self.index})"

    def fetch(self, kept: Path) -> Path:
        """Return the archive, from `kept` if it is there. Raises SourceMissing."""
        plain = re.sub(r"[^\w.-]+", "-", f"{self.index}-{self.name}-{self.version}")
        archive = kept / plain
        if not archive.exists():
            kept.mkdir(parents=True, exist_ok=True)
            folder = kept / f"{plain}.part"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            fetch = {"pypi": _fetch_sdist, "npm": _fetch_tarball, "debian": _fetch_debian}
            fetch[self.index](self, folder).rename(archive)
            shutil.rmtree(folder)
        found = hashlib.sha256(archive.read_bytes()).hexdigest()
        if found != self.sha256:
            archive.unlink()
            raise SourceMissing(f"{self} has the checksum {found}")
        return archive

    def lay(self, archive: Path, tree: Path) -> None:
        """Unpack the archive into its folder of the tree, without the folder that it is packed in.

        What leads out of the tree, and links, are left out.
        """
        folder, start = tree / self.at, PurePosixPath(self.inside).parts
        with tarfile.open(archive) as packed:
            for member in packed:
                path = PurePosixPath(member.name)
                parts = tuple(part for part in path.parts if part != ".")[1:]
                if parts[: len(start)] != start:
                    continue
                parts = parts[len(start) :]
                if parts and ".." not in parts and ".git" not in parts and not path.is_absolute():
                    _write(packed, member, folder.joinpath(*parts))


def _write(packed: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    content = packed.extractfile(member) if member.isreg() else None
    if content is None:
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content.read())
    place.chmod(0o755 if member.mode & 0o100 else 0o644)


def _fetch_sdist(source: PinnedArchive, folder: Path) -> Path:
    for index in asyncio.run(_list_indexes()):
        page = f"{index.rstrip('/')}/{re.sub(r'[-_.]+', '-', source.name).lower()}/"
        try:
            with urllib.request.urlopen(page, timeout=_SECONDS) as answer:
                links = [html.unescape(each) for each in _LINK.findall(answer.read().decode())]
        except OSError:
            continue
        for link in links:
            name = link.partition("#")[0].rpartition("/")[2].lower().replace("_", "-")
            if name == f"{source.name}-{source.version}.tar.gz".lower().replace("_", "-"):
                url = urljoin(page, link.partition("#")[0])
                with urllib.request.urlopen(url, timeout=_SECONDS) as answer:
                    (folder / "sdist").write_bytes(answer.read())
                return folder / "sdist"
    raise SourceMissing(f"no index of pip's has {source}")


async def _list_indexes() -> list[str]:
    operator = Operator(process_environment())
    options = await pip_options(operator)
    return [options.get("index-url") or await default_index(operator) or ""]


def _fetch_tarball(source: PinnedArchive, folder: Path) -> Path:
    run(["npm", "pack", "--silent", f"{source.name}@{source.version}"], folder)
    [archive] = folder.glob("*.tgz")
    return archive


def _fetch_debian(source: PinnedArchive, folder: Path) -> Path:
    options = _list_apt_options(folder)
    run(["apt-get", *options, "-qq", "update"], folder)
    package = f"{source.name}={source.version}"
    run(["apt-get", *options, "-qq", "source", "--download-only", "--tar-only", package], folder)
    return next(each for each in folder.glob("*.orig.tar.*") if each.suffix != ".asc")


def _list_apt_options(folder: Path) -> list[str]:
    """Return options by which apt lists source packages where it lists packages of programs."""
    form = "$(SITE) $(RELEASE) $(COMPONENT) $(SIGNED_BY)"
    lines = run(["apt-get", "indextargets", "--format", form, "Created-By: Packages"], folder)
    listed = []
    for line in sorted(set(lines.splitlines())):
        site, release, component, *signed = line.split()
        # apt leaves the name of a field that a list does not have
        by = f" [signed-by={signed[0]}]" if signed and signed[0] != "$(SIGNED_BY)" else ""
        listed.append(f"deb-src{by} {site} {release} {component}\n")
    (folder / "sources.list").write_text("".join(listed))
    lists = folder.parent / "apt-lists"  # asked once for all packages
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    options = {
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": lists,
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
    }
    return [part for name, value in options.items() for part in ("-o", f"{name}={value}")]


def run(command: list[str], folder: Path) -> str:
    """Return what the command prints. Raises SourceMissing where it fails."""
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SourceMissing(f"{command[0]} cannot be asked: {error}") from error
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it did not say why"])[-1]
        raise SourceMissing(f"{command[0]} did not fetch it: {said}")
    return done.stdout
