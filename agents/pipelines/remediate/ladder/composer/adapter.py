"""Composer: composer.lock with the composer.json beside it."""

from __future__ import annotations

import asyncio
import json
import posixpath
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date

from agents.pipelines.remediate.ladder.composer import constraints
from agents.pipelines.remediate.ladder.composer.versions import SCHEME, is_development
from agents.pipelines.remediate.ladder.ecosystem import WithoutOverrides, list_young
from agents.pipelines.remediate.ladder.files import (
    LOCK_LIMIT,
    MOST_ENTRIES,
    host,
    read_text,
    tables,
)
from agents.pipelines.remediate.ladder.locked import Entry, Locked, Own
from agents.pipelines.remediate.ladder.manifest_copy import Program
from agents.pipelines.remediate.ladder.npm.files import pairs, parse_json, table
from agents.pipelines.remediate.ladder.npm.manifest import replace_value
from agents.pipelines.remediate.ladder.ranges import Scheme
from agents.pipelines.remediate.ladder.values import (
    Accepted,
    Group,
    Immovable,
    Stuck,
    Unfit,
    tail_output,
)
from agents.ports import WorkTree

_SECTIONS = ("require", "require-dev")
_PARTS = ("packages", "packages-dev")
_NAME = re.compile(r"[a-z0-9](?:[_.-]?[a-z0-9]+)*/[a-z0-9](?:(?:[_.]|-{1,2})?[a-z0-9]+)*")
_VERSION = re.compile(r"v?[0-9A-Za-z][0-9A-Za-z._#+/-]{0,100}")
_HASHED = ("name", "version", "require", "require-dev", "conflict", "replace", "provide")
_HASHED_TOO = ("minimum-stability", "prefer-stable", "repositories", "extra")
"""What the lock file's `content-hash` is made of; the rest runs something, or names files."""

_COMPOSER = Program(
    "composer",
    "export COMPOSER_NO_INTERACTION=1 COMPOSER_ALLOW_SUPERUSER=1 COMPOSER_ROOT_VERSION=1.0.0\n"
    "export COMPOSER_NO_AUDIT=1 NO_COLOR=1",
)
_QUIET = "--no-scripts --no-plugins --no-ansi --no-progress"
_LOOSE = "--ignore-platform-req=ext-* --ignore-platform-req=lib-*"
_LISTED = """\
composer show --all --no-plugins --no-ansi --format=json -- {name} 2>"$work/said" ||
  {{ cat -- "$work/said"; exit 1; }}
"""
_DATED = """\
mkdir -- "$work/dated" && cd -- "$work/dated" && printf '%s' {manifest} >composer.json || exit 1
composer update {quiet} --ignore-platform-reqs --no-install >said 2>&1 || {{ cat said; exit 1; }}
php -r {tell}
"""
"""Composer tells when a release was published in a lock file alone."""
_TELL = (
    'foreach (json_decode(file_get_contents("composer.lock"), true)["packages"] as $each)'
    ' echo "FETTLE ", $each["name"], " ", $each["version"], " ", $each["time"] ?? "", "\\n";'
)
_DAY = re.compile(r"^FETTLE (\S+) v?(\S+) (\d{4}-\d\d-\d\d)", re.MULTILINE)
_REACHED = "composer show --all --no-plugins --no-ansi -- {name} 2>&1"
_CONFIGURED = """\
cat -- "${COMPOSER_HOME:-$HOME/.config/composer}/config.json" \\
  "${COMPOSER_HOME:-$HOME/.composer}/config.json" 2>/dev/null || true
"""
_URL = re.compile(r'"(https?:[^"]+)"')
_PUBLIC = {"packagist.org", "repo.packagist.org"}
_RELOCK = "composer update {quiet} {loose} --no-install {names} {pins}"
_FROZEN = """\
composer validate --no-plugins --no-ansi --no-check-publish --no-check-all || exit 1
composer install {quiet} {loose} --no-autoloader --prefer-dist
"""

_NO_OVERRIDES = (
    "Composer has no entries that overrule what other packages ask for: an alias (`1.1.0 as 1.0.0`)"
    " passes a release off as another one, to all of them, which Fettle does not do."
)
"""https://getcomposer.org/doc/articles/aliases.md"""


def find(paths: frozenset[str], group: Group) -> Composer | None:
    """Return Composer for the lock file in the group's folder."""
    directory = group.directory.strip("/")
    names = {posixpath.basename(manifest) for manifest in group.manifests}
    known = group.ecosystem == "composer" and names <= {"composer.json", "composer.lock"}
    there = {posixpath.join(directory, name) for name in ("composer.json", "composer.lock")}
    return Composer(directory) if known and there <= paths else None


class Composer(WithoutOverrides):
    """The port Ecosystem for one `composer.lock`."""

    tool = "Composer"
    index_setting = "`repositories` in the `config.json` of Composer's home"
    no_overrides = _NO_OVERRIDES
    locks = True
    scheme: Scheme = replace(SCHEME, requirement=constraints.admits)

    def __init__(self, directory: str, *, seconds: float = 300) -> None:
        self._directory = directory
        self._seconds = seconds
        self._lock = posixpath.join(directory, "composer.lock")
        self._manifest = posixpath.join(directory, "composer.json")

    @property
    def files(self) -> frozenset[str]:
        """Return the lock file and the manifest."""
        return frozenset({self._lock, self._manifest})

    def name_of(self, package: str) -> str:
        """Return the package's name as lock files write it; Unfit for what is no name."""
        return _package_name(package)

    async def read(self, tree: WorkTree) -> Locked:
        """Return what is locked now, without the `v` that some write before versions."""
        text = await read_text(tree, self._lock, LOCK_LIMIT)
        lock = await asyncio.to_thread(parse_json, text, self._lock)
        manifest = parse_json(await read_text(tree, self._manifest), self._manifest)
        own = tuple(
            Own(name=name, spec=spec, file=self._manifest)
            for section in _SECTIONS
            for name, spec in pairs(manifest.get(section))
            if "/" in name
        )
        return Locked(entries=tuple(_list_entries(lock, self._lock)), own=own)

    async def available(self, tree: WorkTree, package: str) -> Sequence[str]:
        """Return the versions that the repositories effective in the sandbox offer.

        Branches are none: their code changes under one version.
        """
        output = await self._call(tree, _LISTED.format(name=shlex.quote(package)))
        try:
            offered = [str(each) for each in json.loads(output)["versions"]]
            return [each.removeprefix("v") for each in offered if not is_development(each)]
        except (ValueError, LookupError, TypeError) as error:
            said = tail_output(output)
            text = f"Composer did not say which versions of {package} there are: {said}"
            raise Stuck(text) from error

    async def find_other_index(self, tree: WorkTree, locked: Locked, package: str) -> str:
        """Return the host of a repository that is named and cannot be asked here.

        Composer takes a package from the first that has it, so those that the manifest names are
        asked alone, without Packagist, before anything else is.
        """
        manifest = parse_json(await read_text(tree, self._manifest), self._manifest)
        if named := _list_repository_hosts(manifest.get("repositories")):
            try:
                await self._call(tree, _REACHED.format(name=shlex.quote(package)), alone=True)
            except Stuck as stuck:
                return "" if "not found" in str(stuck) else min(named)
            return ""
        copies = locked.by_name.get(package, ())
        taken = {host(each.source) for each in copies if each.source} - _PUBLIC
        if not taken:
            return ""
        said = await self._call(tree, _CONFIGURED)
        known = {host(url.replace("\\/", "/")) for url in _URL.findall(said)}
        return min(taken - known, default="")

    async def objection(self, *_: object) -> str:
        """Return that nothing speaks against a version: Composer offers none that was withdrawn."""
        return ""

    async def find_young(
        self, tree: WorkTree, releases: Collection[tuple[str, str]], newest: date
    ) -> Collection[tuple[str, str]]:
        """Return those that no repository shows to be published on that day or before."""
        lock = parse_json(await read_text(tree, self._lock, LOCK_LIMIT), self._lock)
        days: dict[str, dict[str, str]] = {}
        for each in (each for part in _PARTS for each in tables(lock.get(part))):
            name, version = str(each.get("name", "")).lower(), str(each.get("version", ""))
            days.setdefault(name, {})[version.removeprefix("v")] = str(each.get("time", ""))[:10]
        for name, version in releases:
            if version not in days.get(name, {}):
                days.setdefault(name, {}).update(await self._find_day(tree, name, version))
        return list_young(releases, days, newest)

    async def _find_day(self, tree: WorkTree, name: str, version: str) -> dict[str, str]:
        """Return since when a release is there, by its version; nothing where nobody says it."""
        manifest = parse_json(await read_text(tree, self._manifest), self._manifest)
        wanted = {key: manifest[key] for key in ("repositories",) if key in manifest}
        wanted["require"] = {_package_name(name): version}
        body = _DATED.format(
            manifest=shlex.quote(json.dumps(wanted)), quiet=_QUIET, tell=shlex.quote(_TELL)
        )
        try:
            told = _DAY.findall(await self._call(tree, body))
        except Stuck:  # it cannot be had alone, so nobody says how old it is
            return {}
        return {found: day for package, found, day in told if package.lower() == name}

    async def relock(
        self, tree: WorkTree, pins: Mapping[str, str], free: Sequence[str] = ()
    ) -> None:
        """Have Composer move these alone, the pinned ones to their versions."""
        names = shlex.join(map(_package_name, (*pins, *free)))
        held = " ".join(f"--with {shlex.quote(f'{name}:{new}')}" for name, new in pins.items())
        body = _RELOCK.format(quiet=_QUIET, loose=_LOOSE, names=names, pins=held)
        await self._call(tree, body, keep=self._lock)

    async def require(
        self, tree: WorkTree, package: str, version: str, *, widen: bool
    ) -> Sequence[str]:
        """Change the manifest's requirements so that they admit the version."""
        text = await read_text(tree, self._manifest)
        manifest = parse_json(text, self._manifest)
        changes = []
        for section in _SECTIONS:
            for name, spec in pairs(manifest.get(section)):
                if name.lower() != package or constraints.admits(spec, version):
                    continue
                moved = self._move(f"{package} {spec}", spec, version, widen=widen)
                text = replace_value(text, (section, name), moved)
                changes.append(f"`{self._manifest}` asks for {package} `{moved}`, not `{spec}`")
        if changes:
            await tree.write(self._manifest, text.encode())
        return changes

    async def verify_lock(self, tree: WorkTree, _before: Locked, _after: Locked) -> Accepted:
        """Prove that lock file and manifest agree, and that all of it installs as it is locked."""
        await self._call(tree, _FROZEN.format(quiet=_QUIET, loose=_LOOSE))
        return Accepted(
            commands=("composer validate", "composer install --no-scripts --no-plugins")
        )

    def _move(self, asked: str, spec: str, version: str, *, widen: bool) -> str:
        """Return the constraint to ask for instead. Raises Stuck."""
        moved = (constraints.move_range if widen else constraints.move_pin)(spec, version)
        if moved is None or not constraints.admits(moved, version):
            raise Immovable(self._manifest, asked, version, widen=widen)
        return moved

    async def _call(self, tree: WorkTree, body: str, *, keep: str = "", alone: bool = False) -> str:
        """Run Composer on the manifest, without what it could run, and the lock file.

        `alone`: with the repositories that the manifest names, and without Packagist.
        """
        manifest = parse_json(await read_text(tree, self._manifest), self._manifest)
        kept = {key: manifest[key] for key in (*_HASHED, *_HASHED_TOO) if key in manifest}
        if platform := table(manifest.get("config")).get("platform"):
            kept["config"] = {"platform": platform}
        if alone:
            kept["repositories"] = [*_list_repositories(kept["repositories"]), {"packagist": False}]
        files = {
            self._manifest: json.dumps(kept),
            self._lock: await read_text(tree, self._lock, LOCK_LIMIT),
        }
        return await _COMPOSER.call(
            tree, self._directory, files, body, seconds=self._seconds, keep=keep
        )


def _list_repositories(stated: object) -> list[object]:
    """Return what a manifest states, as a table or as a list.

    https://getcomposer.org/doc/04-schema.md#repositories
    """
    if isinstance(stated, dict):
        return [each if each is not False else {name: False} for name, each in stated.items()]
    return stated if isinstance(stated, list) else []


def _list_repository_hosts(stated: object) -> set[str]:
    """Return the hosts of the repositories beside Packagist."""
    urls = (each.get("url") for each in tables(_list_repositories(stated)))
    return {host(url) for url in urls if isinstance(url, str)} - {"", *_PUBLIC}


def _package_name(package: str) -> str:
    """Return a package's name, which may stand on a command line. Raises Unfit for others."""
    name = package.lower()
    if len(name) > 200 or not _NAME.fullmatch(name):
        raise Unfit("unsafe", "A package has a name that Fettle does not put on command lines.")
    return name


def _list_entries(lock: Mapping[str, object], path: str) -> Iterator[Entry]:
    """Yield the packages of a lock file. Raises Unfit for what is none."""
    found = [each for part in _PARTS for each in tables(lock.get(part))]
    if len(found) > MOST_ENTRIES:
        raise Unfit("unsafe", f"`{path}` lists more than {MOST_ENTRIES} packages.")
    names = {str(each.get("name", "")).lower() for each in found}
    for each in found:
        name, version = _package_name(str(each.get("name", ""))), str(each.get("version", ""))
        if not _VERSION.fullmatch(version):
            raise Unfit("unsafe", f"`{path}` has a version of {name} that is none.")
        dist, source = table(each.get("dist")), table(each.get("source"))
        held = (dist.get("shasum"), dist.get("reference"), source.get("reference"))
        yield Entry(
            key=name,
            name=name,
            version=version.removeprefix("v"),
            source=str(each.get("notification-url", "")),
            hosts=tuple(host(url) for url in (str(dist.get("url", "")),) if url),
            hashes=tuple(dict.fromkeys(str(value) for value in held if value)),
            needs=tuple(
                need for need in map(str.lower, table(each.get("require"))) if need in names
            ),
        )
