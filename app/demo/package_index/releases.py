"""Build releases of invented packages in pip's and npm's formats, and lock files for them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Release:
    """One release. It is packed the same each time, so its hashes are always the same."""

    kind: Literal["npm", "pip"]
    name: str
    version: str
    needs: Mapping[str, str] = field(default_factory=dict)
    """The packages that it needs, and which releases of them will do."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Where they end up when it is installed, below the package's own folder or site-packages."""

    @property
    def file(self) -> str:
        """Return the name of what is downloaded."""
        if self.kind == "npm":
            return f"{self.name}-{self.version}.tgz"
        return f"{self.name}-{self.version}-py3-none-any.whl"

    @cached_property
    def data(self) -> bytes:
        """Return what is downloaded."""
        return _tarball(self) if self.kind == "npm" else _wheel(self)

    @property
    def integrity(self) -> str:
        """Return its hash as npm writes it."""
        return f"sha512-{base64.b64encode(hashlib.sha512(self.data).digest()).decode()}"

    @property
    def manifest(self) -> dict[str, Any]:
        """Return its package.json."""
        return {"name": self.name, "version": self.version, "dependencies": dict(self.needs)}


def package_lock(name: str, asked: Mapping[str, str], locked: Iterable[Release]) -> dict[str, str]:
    """Return package.json and package-lock.json of a project that these releases are locked in.

    Of each package there is one release, at the top. No address is written: npm asks whichever
    index it is configured for.
    """
    about = {"name": name, "version": "1.0.0", "dependencies": dict(asked)}
    packages: dict[str, Any] = {"": about}
    for release in sorted(locked, key=lambda release: release.name):
        entry: dict[str, Any] = {"version": release.version, "integrity": release.integrity}
        if release.needs:
            entry["dependencies"] = dict(release.needs)
        packages[f"node_modules/{release.name}"] = entry
    lock = {"name": name, "version": "1.0.0", "lockfileVersion": 3, "requires": True}
    return {
        "package.json": f"{json.dumps(about, indent=2)}\n",
        "package-lock.json": f"{json.dumps({**lock, 'packages': packages}, indent=2)}\n",
    }


def _tarball(release: Release) -> bytes:
    files = {**release.files, "package.json": json.dumps(release.manifest)}
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for path, text in sorted(files.items()):
            about = tarfile.TarInfo(f"package/{path}")
            about.size = len(text.encode())
            archive.addfile(about, io.BytesIO(text.encode()))
    return gzip.compress(made.getvalue(), mtime=0)


def _wheel(release: Release) -> bytes:
    about = f"{release.name}-{release.version}.dist-info"
    needs = "".join(f"Requires-Dist: {name}{spec}\n" for name, spec in release.needs.items())
    head = f"Metadata-Version: 2.1\nName: {release.name}\nVersion: {release.version}\n{needs}"
    files = {
        **release.files,
        f"{about}/METADATA": f"{head}Requires-Python: >=3.8\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},{_digest(text)},{len(text)}\n" for path, text in files.items())
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path, text in {**files, f"{about}/RECORD": f"{record}{about}/RECORD,,\n"}.items():
            archive.writestr(zipfile.ZipInfo(path, _EPOCH), text)
    return made.getvalue()


def _digest(text: str) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"
