"""Registries on loopback, made from Debian's packages, for trees whose own is not in reach.

Each stands for an operator's mirror: the tree's `home` leads Maven, Cargo, Bundler or Composer to
it by the tool's own configuration, and the set-up proxy does the rest.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import re
import shutil
import tarfile
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.bench.environments.sources import run

_WANTED = {
    "maven": r".*_all\.deb",
    "cargo": r"librust-.*\.deb",
    "gems": r".*_all\.deb",
    "composer": r"php-.*_all\.deb",
}
"""Which files of a package's dependencies are of use: the rest is compilers and the system."""
_DEB = re.compile(r"^'[^']+' (\S+\.deb) ", re.MULTILINE)
_PACK_GEM = Path(__file__).with_name("pack_gem.rb")
_AS_INSTALLED_NOWHERE = ("-o", "Dir::State::status=/dev/null", "-o", "APT::Sandbox::User=root")
_DEPENDENCIES = {
    "dependencies": "normal",
    "build-dependencies": "build",
}


@dataclass(frozen=True)
class DebianMirror:
    """One registry: how it answers, and the Debian packages that it is made from."""

    kind: str
    """`maven`, `cargo`, `gems` or `composer`."""
    packages: tuple[str, ...]

    @contextmanager
    def serve(self, kept: Path) -> Iterator[str]:
        """Serve it on loopback and yield its URL. Raises SourceMissing."""
        made = self._make(kept)
        handler = functools.partial(_Quiet, directory=str(made))
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            url = f"http://127.0.0.1:{server.server_port}"
            for template in made.rglob("*.template"):
                text = template.read_text("utf-8").replace("{mirror}", url)
                template.with_suffix("").write_text(text, "utf-8")
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            try:
                yield url
            finally:
                server.shutdown()
                thread.join()

    def _make(self, kept: Path) -> Path:
        name = hashlib.sha256(repr(self).encode()).hexdigest()[:12]
        made = kept / "mirrors" / f"{self.kind}-{name}"
        if not made.exists():
            part = made.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            debian, out = part / "debian", part / "out"
            debian.mkdir()
            out.mkdir()
            self._fetch(debian)
            _MAKE[self.kind](debian, out)
            out.rename(made)
            shutil.rmtree(part)
        return made

    def _fetch(self, folder: Path) -> None:
        """Unpack these packages with what they depend on, each into a folder of its own."""
        (folder.parent / "archives/partial").mkdir(parents=True)
        empty = ("-o", f"Dir::Cache::archives={folder.parent / 'archives'}")  # nothing is there yet
        ask = (*empty, "install", "--print-uris", "-qq", "--no-install-recommends", *self.packages)
        listed = _DEB.findall(run(["apt-get", *_AS_INSTALLED_NOWHERE, *ask], folder))
        wanted = [each for each in listed if re.fullmatch(_WANTED[self.kind], each)]
        exact = ["=".join(each.split("_")[:2]).replace("%3a", ":") for each in wanted]
        run(["apt-get", *_AS_INSTALLED_NOWHERE, "-qq", "download", *exact], folder)
        for package in sorted(folder.glob("*.deb")):
            run(["dpkg-deb", "-x", str(package), str(folder / package.stem)], folder)
            package.unlink()


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files; a folder is nothing."""

    def log_message(self, *_: Any) -> None:
        """Say nothing: what was asked for stands in the set-up's log."""

    def list_directory(self, _: Any) -> None:
        """Refuse to list a folder."""
        self.send_error(404)


def _make_maven(debian: Path, out: Path) -> None:
    """Lay all packages' parts of Debian's Maven repository together; its files are links."""
    for package in sorted(debian.iterdir()):
        start = package / "usr/share/maven-repo"
        for path in (each for each in start.rglob("*") if each.suffix in {".pom", ".jar"}):
            place = out / path.relative_to(start)
            place.parent.mkdir(parents=True, exist_ok=True)
            for found in _follow(path, debian):
                shutil.copyfile(found, place)


def _follow(path: Path, debian: Path) -> Iterator[Path]:
    """Yield the file that a link of a package leads to, in whichever package that is."""
    seen = 0
    while path.is_symlink() and seen < 9:
        package = debian / path.relative_to(debian).parts[0]
        target = path.readlink()
        inside = target if target.is_absolute() else "/" / path.parent.relative_to(package) / target
        parts: list[str] = []
        for part in Path(inside).parts[1:]:
            parts = parts[:-1] if part == ".." else [*parts, part]
        there = [each.joinpath(*parts) for each in debian.iterdir()]
        path = next((each for each in there if each.is_symlink() or each.exists()), path)
        seen += 1
    if path.is_file():
        yield path


def _make_cargo(debian: Path, out: Path) -> None:
    """Pack crates again, and index them.

    https://doc.rust-lang.org/cargo/reference/registry-index.html
    """
    (out / "crates").mkdir()
    for manifest in sorted(debian.glob("*/usr/share/cargo/registry/*/Cargo.toml")):
        crate, settings = manifest.parent, tomllib.loads(manifest.read_text("utf-8"))
        name, version = settings["package"]["name"], settings["package"]["version"]
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as made:
            made.add(crate, arcname=f"{name}-{version}", filter=_leave_out_debian)
        (out / "crates" / f"{name}-{version}").write_bytes(packed.getvalue())
        features: Mapping[str, list[str]] = settings.get("features", {})
        newer = {k: v for k, v in features.items() if any(re.search(r"^dep:|\?", e) for e in v)}
        line = {
            "name": name,
            "vers": version,
            "deps": list(_list_needs(settings)),
            "cksum": hashlib.sha256(packed.getvalue()).hexdigest(),
            "features": {k: v for k, v in features.items() if k not in newer},
            "features2": newer,
            "v": 2,
            "yanked": False,
        }
        folders = {1: ["1"], 2: ["2"], 3: ["3", name[0]]}.get(len(name), [name[:2], name[2:4]])
        place = out.joinpath(*folders, name)
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("a") as index:
            index.write(f"{json.dumps(line)}\n")
    where = {"dl": "{mirror}/crates/{crate}-{version}"}
    (out / "config.json.template").write_text(json.dumps(where))


def _leave_out_debian(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Return the member unless it is Debian's own, or leads elsewhere."""
    own = (
        member.name.endswith((".cargo-checksum.json", "/autoload.php")) or "/debian" in member.name
    )
    return None if own or not (member.isreg() or member.isdir()) else member


def _list_needs(settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what a crate depends on as the index has it; what only its own tests need is left."""
    places = [(None, settings), *settings.get("target", {}).items()]
    for target, tables in places:
        for table, kind in _DEPENDENCIES.items():
            for name, wanted in tables.get(table, {}).items():
                about = wanted if isinstance(wanted, dict) else {"version": wanted}
                yield {
                    "name": name,
                    "req": about.get("version", "*"),
                    "features": about.get("features", []),
                    "optional": about.get("optional", False),
                    "default_features": about.get("default-features", True),
                    "target": target,
                    "kind": kind,
                    "package": about.get("package"),
                }


def _make_gems(debian: Path, out: Path) -> None:
    """Pack gems again from what Debian installs, and index them."""
    (out / "gems").mkdir()
    for package in sorted(debian.iterdir()):
        if any(package.glob("usr/share/rubygems-integration/*/specifications/*.gemspec")):
            run(["ruby", str(_PACK_GEM), str(package)], out / "gems")
    run(["gem", "generate_index", "--directory", str(out)], out)


def _make_composer(debian: Path, out: Path) -> None:
    """Pack PHP's libraries again, and list them: `php-a-b` is the package `a/b`.

    https://getcomposer.org/doc/05-repositories.md#packages
    """
    packages: dict[str, dict[str, Any]] = {}
    for package in sorted(debian.iterdir()):
        named, version, *_ = package.name.split("_")
        libraries = package / "usr/share/php"
        if not libraries.is_dir() or not re.fullmatch(r"php-\w+-[\w-]+", named):
            continue
        name = named.removeprefix("php-").replace("-", "/", 1)
        number = re.sub(r"[-+~].*", "", version.rpartition("%3a")[2])
        with tarfile.open(out / f"{named}-{number}.tar.gz", "w:gz") as packed:
            packed.add(libraries, arcname=named, filter=_leave_out_debian)
        dist = {"type": "tar", "url": f"{{mirror}}/{named}-{number}.tar.gz"}
        about = {"name": name, "version": number, "dist": dist, "autoload": {"psr-4": {"": ""}}}
        packages[name] = {number: about}
    (out / "packages.json.template").write_text(json.dumps({"packages": packages}))


_MAKE: Mapping[str, Callable[[Path, Path], None]] = {
    "maven": _make_maven,
    "cargo": _make_cargo,
    "gems": _make_gems,
    "composer": _make_composer,
}
