"""Bundler: Gemfile.lock with the Gemfile beside it."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence

from univers.versions import RubygemsVersion

from agents.pipelines.remediate.ladder.bundler import lock as locks
from agents.pipelines.remediate.ladder.bundler import requirements
from agents.pipelines.remediate.ladder.ecosystem import DatedReleases, WithoutOverrides
from agents.pipelines.remediate.ladder.files import LOCK_LIMIT, read_text
from agents.pipelines.remediate.ladder.locked import Locked, Own
from agents.pipelines.remediate.ladder.manifest_copy import Program
from agents.pipelines.remediate.ladder.ranges import Scheme
from agents.pipelines.remediate.ladder.values import Accepted, Group, Immovable, Stuck, tail_output
from agents.ports import WorkTree

_BUNDLER = Program(
    "bundle",
    "BUNDLER_VERSION=$(bundle --version | grep -oE '[0-9][0-9.]*' | head -n 1)\n"
    'export BUNDLER_VERSION GEM_HOME="$work/gems" BUNDLE_APP_CONFIG="$work/settings"\n'
    'export BUNDLE_USER_CACHE="$work/kept" BUNDLE_SILENCE_ROOT_WARNING=1',
)
_LISTED = """\
bundle lock --print --conservative --update {name} >/dev/null || exit 1
cd -- "$work"/kept/compact_index/* || exit 1
cat -- info/{name} info-special-characters/{name}-* 2>/dev/null |
  sed -nE 's/^([^ ]+) (.*[|,]created_at:([0-9-]+))?.*/FETTLE \\1 \\3/p'
"""
"""What the index says of each version, from where Bundler keeps it.

https://guides.rubygems.org/rubygems-org-compact-index-api/
"""
_RELOCK = """\
cp -- Gemfile.pins Gemfile && bundle lock --conservative --update {names} || exit 1
cp -- Gemfile.plain Gemfile && bundle lock || exit 1
local=$(ruby -e 'puts Gem::Platform.local')
case " {platforms} " in
  *" $local "*) ;;
  *) bundle lock --remove-platform "$local" 2>/dev/null || true ;;
esac
"""
_FROZEN = """\
BUNDLE_FROZEN=true bundle cache --no-install || exit 1
for file in vendor/cache/*.gem; do
  test -e "$file" || continue
  release=$(basename -- "$file" .gem) known=no
  sum=$(sha256sum "$file" | cut -d ' ' -f 1)
  for info in "$work"/kept/compact_index/*/info*/*; do
    name=$(basename -- "$info" | sed -E 's/-[0-9a-f]{32}$//')
    case $release in "$name"-*) ;; *) continue ;; esac
    version=${release#"$name"-}
    grep -qE "^${version//./\\.} .*checksum:$sum" "$info" && known=yes
  done
  test $known = yes || { echo "The checksum of $release is not the index's."; exit 1; }
  echo "FETTLE $release"
done
"""
"""Without an installation Bundler itself holds no file against the index's checksum."""
_PUBLIC = {"rubygems.org", "index.rubygems.org"}
_ROW = re.compile(r"^FETTLE ([0-9][0-9A-Za-z.]*)(?:-\S+)?(?: (\d{4}-\d\d-\d\d)?)?$", re.MULTILINE)

_DELIVERED = re.compile(r"^FETTLE (\S+)$", re.MULTILINE)

_OTHER_PLATFORMS = (
    "Gems for other platforms than the sandbox's were not fetched, so nothing held them against the"
    " index: {files}."
)
_UNDELIVERED = "The index delivers another gem than {release} under that name."
_NO_OVERRIDES = (
    "Until 4.1 Bundler has no entries that overrule what other gems ask for, and Fettle writes no "
    "`override` of 4.1 into a Gemfile, which is a program."
)
_NOT_PLAIN = "`{file}` does not state the versions of {package} as plain text."


def find(paths: frozenset[str], group: Group) -> Bundler | None:
    """Return Bundler for the lock file in the group's folder."""
    directory = group.directory.strip("/")
    names = {posixpath.basename(manifest) for manifest in group.manifests}
    known = group.ecosystem == "rubygems" and names <= {"Gemfile", "Gemfile.lock"}
    there = {posixpath.join(directory, name) for name in ("Gemfile", "Gemfile.lock")}
    return Bundler(directory) if known and there <= paths else None


class Bundler(DatedReleases, WithoutOverrides):
    """The port Ecosystem for one `Gemfile.lock`.

    A Gemfile is a program. It is never run: Bundler gets one that we wrote, which asks for what
    the lock file says that the Gemfile asks for.
    """

    tool = "Bundler"
    index_setting = "`mirror.` in Bundler's configuration, or `:sources` in `~/.gemrc`"
    no_overrides = _NO_OVERRIDES
    locks = True
    scheme: Scheme = Scheme("gem", RubygemsVersion)

    def __init__(self, directory: str, *, seconds: float = 300) -> None:
        super().__init__()
        self._directory = directory
        self._seconds = seconds
        self._lock = posixpath.join(directory, "Gemfile.lock")
        self._gemfile = posixpath.join(directory, "Gemfile")

    @property
    def files(self) -> frozenset[str]:
        """Return the lock file and the Gemfile."""
        return frozenset({self._lock, self._gemfile})

    def name_of(self, package: str) -> str:
        """Return the gem's name; Unfit for what is none."""
        return locks.gem_name(package)

    async def read(self, tree: WorkTree) -> Locked:
        """Return what is locked now."""
        lock = locks.read_lock(await self._read_text(tree), self._lock)
        own = tuple(Own(name=n, spec=s, file=self._gemfile) for n, s in lock.asked.items())
        return Locked(entries=lock.entries, own=own)

    async def available(self, tree: WorkTree, package: str) -> Sequence[str]:
        """Return the versions that the index effective in the sandbox offers; none was yanked."""
        output = await self._call(tree, _LISTED.format(name=shlex.quote(package)))
        rows = _ROW.findall(output)
        if not rows:
            said = tail_output(output)
            raise Stuck(f"Bundler did not say which versions of {package} there are: {said}")
        days: dict[str, str] = {}
        for version, day in rows:  # of several platforms the last one counts
            days[version] = max(days.get(version, ""), day)
        self._days[package] = days
        return list(days)

    async def find_other_index(self, tree: WorkTree, locked: Locked, package: str) -> str:
        """Return the host of the lock file's index where that cannot be asked here.

        The Gemfile that Bundler gets names it alone, so no other is asked in its place.
        """
        hosts = {place for each in locked.by_name.get(package, ()) for place in each.hosts}
        if others := hosts - _PUBLIC:
            try:
                await self.available(tree, package)
            except Stuck:
                return min(others)
        return ""

    async def objection(self, *_: object) -> str:
        """Return that nothing speaks against a version: what was yanked is not offered."""
        return ""

    async def relock(
        self, tree: WorkTree, pins: Mapping[str, str], free: Sequence[str] = ()
    ) -> None:
        """Have Bundler move these alone, the pinned ones to their versions."""
        text = await self._read_text(tree)
        old = locks.read_lock(text, self._lock)
        names = shlex.join(map(locks.gem_name, (*pins, *free)))
        body = _RELOCK.format(names=names, platforms=shlex.join(old.platforms))
        await self._call(tree, body, pins=pins, keep=self._lock)
        new = await self._read_text(tree)
        await tree.write(self._lock, locks.splice(text, new).encode())

    async def require(
        self, tree: WorkTree, package: str, version: str, *, widen: bool
    ) -> Sequence[str]:
        """Change the Gemfile's requirement so that it admits the version."""
        text = await self._read_text(tree)
        spec = locks.read_lock(text, self._lock).asked.get(package, "")
        if requirements.admits(spec, version):
            return []
        moved = (requirements.move_range if widen else requirements.move_pin)(spec, version)
        if moved is None or not requirements.admits(moved, version):
            raise Immovable(self._gemfile, f"{package} {spec}", version, widen=widen)
        changed = requirements.rewrite(await read_text(tree, self._gemfile), package, moved)
        if changed is None:
            raise Stuck(_NOT_PLAIN.format(file=self._gemfile, package=package))
        await tree.write(self._gemfile, changed.encode())
        await tree.write(self._lock, locks.with_asked(text, package, moved).encode())
        return [f"`{self._gemfile}` asks for {package} `{moved}`, not `{spec}`"]

    async def verify_lock(self, tree: WorkTree, before: Locked, after: Locked) -> Accepted:
        """Prove that the lock file is what the Gemfile asks for, and that each gem can be had."""
        delivered = set(_DELIVERED.findall(await self._call(tree, _FROZEN)))
        moved = [each for each in after.entries if each.key not in before.by_key]
        for entry in moved:
            release = f"{entry.name}-{entry.version}"  # a platform may follow
            if not any(each == release or each.startswith(f"{release}-") for each in delivered):
                raise Stuck(_UNDELIVERED.format(release=release))
        files = [entry.key.replace(" ", "-", 1) for entry in moved]
        left = ", ".join(file for file in files if file not in delivered)
        return Accepted(
            commands=("BUNDLE_FROZEN=true bundle cache --no-install",),
            fetched=tuple(file for file in files if file in delivered),
            notes=(_OTHER_PLATFORMS.format(files=left),) if left else (),
        )

    async def _read_text(self, tree: WorkTree) -> str:
        return await read_text(tree, self._lock, LOCK_LIMIT)

    async def _call(
        self, tree: WorkTree, body: str, *, pins: Mapping[str, str] | None = None, keep: str = ""
    ) -> str:
        """Run Bundler on the lock file and on Gemfiles that we wrote."""
        text = await self._read_text(tree)
        lock = locks.read_lock(text, self._lock)
        files = {
            self._lock: text,
            self._gemfile: locks.write_gemfile(lock),
            f"{self._gemfile}.plain": locks.write_gemfile(lock),
            f"{self._gemfile}.pins": locks.write_gemfile(lock, pins),
        }
        return await _BUNDLER.call(
            tree, self._directory, files, body, seconds=self._seconds, keep=keep
        )
