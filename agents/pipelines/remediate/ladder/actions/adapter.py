"""GitHub Actions: the `uses:` lines of workflows and composite actions, whose refs decide."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date

from agents.analysis.action_refs import (
    LARGEST,
    ActionUse,
    UnreadableWorkflow,
    find_other_change,
    is_action_file,
    is_workflow,
    list_uses,
    with_refs,
)
from agents.pipelines.remediate.ladder.actions.releases import (
    SCHEME,
    ReleaseTags,
    UsedRelease,
    is_action,
    read_version,
)
from agents.pipelines.remediate.ladder.ecosystem import WithoutOverrides
from agents.pipelines.remediate.ladder.files import read_text
from agents.pipelines.remediate.ladder.locked import Entry, Locked, Own
from agents.pipelines.remediate.ladder.ranges import Ranges, Scheme
from agents.pipelines.remediate.ladder.values import Accepted, Group, Stuck, Target, Unfit
from agents.ports import ActionReleases, WorkTree
from agents.requests import ACTIONS

MOST_FILES = 400
MOST_NAMED = 3  # lines that are named to people
MOST_ASKED = 20  # refs that are no release themselves, and of which GitHub is asked
OTHERS = frozenset({"node_modules", "vendor"})
"""Folders of what other people have made."""

_HEX = re.compile(r"[0-9a-f]{7,40}")
"""A commit may be one of a fork, which GitHub finds here as well: what it goes on from says nothing
of who made it. https://docs.github.com/actions/reference/security/secure-use"""

_NO_WAY = (
    "Releases of actions are read on GitHub, and there is no way to it here. By hand: in {places}"
    " name a release of {name} outside of the vulnerable ranges."
)
_UNSEEN = (
    "GitHub has no repository {name} that the App can see: it is private, gone, or on another"
    " server. By hand: in {places} name a release outside of the vulnerable ranges."
)
_MOVED = (
    "{name} is called {now} by now. Whoever takes the old name next decides what runs under it, so"
    " Fettle moves nothing to it: write the new name in {places}, with a release outside of the"
    " vulnerable ranges."
)
_MAY_NOT = (
    "{lines}. Fettle did not write that: its App may not change workflows here. To let it, whoever"
    " runs Fettle adds the permission `Workflows: Read and write` in the App's settings, and an"
    " owner accepts it; then ask again."
)
_LINE = "{place} has to use `{name}` at `{ref}`"  # with an `@`, a name could be called
_STANDS = "`{name}` at `{ref}` in {place} stands at {version} by now."
_HOLDS = "`{name}` at `{ref}` in {place} is at no release, but goes on from {version}."
_UNTOLD = "which release `{name}` at `{ref}` in {place} is could not be told"
_ODD = "`{name}` in {place} is used in a way that Fettle does not change"
_CLAIMS = ", whose comment says {version}"
_NO_TAG = "has no tag at GitHub that can be told from a branch"
_DIFFERS = "`{file}` does not differ in refs of the action alone: {why}."
_UNRESOLVED = "GitHub has something else than `{ref}` for that release of {name}."
_UNREADABLE = "`{file}` cannot be read: {why}"
_UNBOUND = "A ref has no upper bound."
_TOO_MANY = "{count} files may use actions, more than {most}. Change the refs by hand."


def find(paths: frozenset[str], group: Group) -> Actions | None:
    """Return GitHub Actions for all workflows and composite actions of the repository."""
    files = tuple(
        sorted(p for p in paths if is_action_file(p) and not OTHERS.intersection(p.split("/")))
    )
    known = group.ecosystem == ACTIONS and is_action(group.package)
    return Actions(files, group) if known and files else None


class Actions(WithoutOverrides):
    """The port Ecosystem for the workflows and composite actions of one repository.

    GitHub runs whatever a ref is at that moment, so a tag like `v4` is at the release whose commit
    it has now. Releases are tags: https://docs.github.com/actions/how-tos/reuse-automations
    """

    tool = "GitHub Actions"
    proof = (
        "GitHub has each new ref at the commit of its release; nothing else in the files differs."
    )
    held = "workflows and actions"
    no_overrides = "A workflow names each action itself, so nothing has to be overruled."
    locks = False
    scheme: Scheme = SCHEME

    def __init__(
        self, files: Sequence[str], group: Group, releases: ActionReleases | None = None
    ) -> None:
        self._files = files
        self._group = group
        self._releases = releases
        self._tags: ReleaseTags | None = None
        self._original: Mapping[str, str] = {}
        self._aims: Mapping[str, str] = {}
        self._versions: dict[tuple[str, str], str] = {}
        self._told: dict[str, str] = {}
        self._untold: tuple[str, ...] = ()

    def read_from(self, releases: ActionReleases | None) -> Actions:
        """Return the same with a way to the releases."""
        return Actions(self._files, self._group, releases)

    @property
    def files(self) -> frozenset[str]:
        """Return the workflows and composite actions."""
        return frozenset(self._files)

    def name_of(self, package: str) -> str:
        """Return the name in small letters, which GitHub does not tell from others."""
        if not is_action(package):
            raise Unfit("unsafe", f"`{package[:100]}` cannot be the name of an action.")
        return package.lower()

    async def read(self, tree: WorkTree) -> Locked:
        """Return the releases that are used now."""
        texts = await self._read_files(tree)
        uses = await self._list_uses(texts)
        self._untold += tuple(_explain_untold(each) for each in uses if not each.version)
        known = [each for each in uses if each.version]
        if self._untold and not self._original and not self._list_vulnerable(known):
            said = "; ".join(self._untold)
            raise Unfit("no_release", f"{said[:1].upper()}{said[1:]}. Look at it by hand.")
        self._original = self._original or texts
        name = self.name_of(self._group.package)
        entries = tuple(
            Entry(key=f"{each.file}:{at}", name=name, version=each.version)
            for at, each in enumerate(known)
        )
        own = tuple(Own(name=name, spec=each.use.ref, file=each.file) for each in known)
        notes = [self._told[each.use.ref] for each in known if each.use.ref in self._told]
        return Locked(entries=entries, own=own, notes=tuple(dict.fromkeys(notes)))

    def aim(self, targets: Sequence[Target]) -> None:
        """Take where each vulnerable release goes."""
        self._aims = {target.old: target.new for target in targets}

    async def available(self, tree: WorkTree, _package: str) -> Sequence[str]:
        """Return the releases that the action's repository has tags for."""
        if self._tags is None:
            uses = await self._list_uses(await self._read_files(tree))
            about = {"name": self._group.package, "places": _join_places(uses)}
            raise Unfit("no_tool", _NO_WAY.format(**about))
        return list(self._tags.versions)

    async def objection(self, _tree: WorkTree, _package: str, version: str) -> str:
        """Return why the release's tag must not be taken, as where it cannot be told apart."""
        tags, releases = self._require_way()
        tag = tags.name_tag(version, "v")
        found = await releases.find_commit(tags.repository.name, tag)
        return "" if found == tags.repository.tags[tag] else _NO_TAG

    async def find_young(
        self, _tree: WorkTree, releases: Collection[tuple[str, str]], newest: date
    ) -> Collection[tuple[str, str]]:
        """Return those whose release at GitHub was not published by then."""
        tags, ways = self._require_way()
        young = []
        for name, version in releases:
            tag = tags.name_tag(version, "v")
            day = await ways.find_day(tags.repository.name, tag)
            if day is None or day > newest:
                young.append((name, version))
        return young

    async def relock(
        self, tree: WorkTree, pins: Mapping[str, str], free: Sequence[str] = ()
    ) -> None:
        """Do nothing: the refs, which were changed, decide."""

    async def require(
        self, tree: WorkTree, _package: str, version: str, *, widen: bool
    ) -> Sequence[str]:
        """Change the refs of vulnerable releases. Raises Unfit where the App may not.

        With `widen`, tags like `v4` do not move to `v5`, but to the release itself.
        """
        texts = await self._read_files(tree)
        vulnerable = self._list_vulnerable(await self._list_uses(texts))
        if widen and not any(map(self._is_moving, vulnerable)):
            raise Stuck(_UNBOUND)
        changes: dict[str, dict[ActionUse, tuple[str, str]]] = defaultdict(dict)
        lines = []
        for each in vulnerable:
            new = self._aims.get(each.version, version)
            ref, said = self._choose_ref(each, new, moving=not widen)
            changes[each.file][each.use] = (ref, said)
            lines.append(_LINE.format(place=each.place, name=each.name, ref=ref))
        _, releases = self._require_way()
        if any(map(is_workflow, changes)) and not await releases.may_change_workflows():
            raise Unfit("no_tool", _MAY_NOT.format(lines="; ".join(lines[:MOST_NAMED])))
        for file, wanted in changes.items():
            await tree.write(file, with_refs(texts[file], wanted).encode())
        return [each.replace(" has to use ", " uses ") for each in lines[:MOST_NAMED]]

    async def verify_lock(self, tree: WorkTree, _before: Locked, _after: Locked) -> Accepted:
        """Prove that nothing but refs of the action differs, and that GitHub has what they name."""
        tags, releases = self._require_way()
        for file, text in (await self._read_files(tree)).items():
            old = self._original[file]
            if text == old:
                continue
            await _require_refs_alone(file, old, text, tags.repository.name)
            pairs = zip(await _parse(file, old), await _parse(file, text), strict=True)
            for use in {after for before, after in pairs if before.ref != after.ref}:
                tag = use.ref
                if use.is_pinned:
                    tag = tags.name_tag(tags.find_version(use.ref), use.version)
                commit = await releases.find_commit(tags.repository.name, tag)
                if commit != (use.ref if use.is_pinned else tags.repository.tags[tag]):
                    about = {"ref": use.ref, "name": self._group.package}
                    raise Stuck(_UNRESOLVED.format(**about))
        return Accepted(notes=tuple(f"{each}." for each in dict.fromkeys(self._untold)))

    def _is_moving(self, each: UsedRelease) -> bool:
        """Return whether its ref is no commit and no release, but moves along with releases."""
        tags, _ = self._require_way()
        return not each.use.is_pinned and not tags.names_release(each.use.ref)

    def _choose_ref(self, each: UsedRelease, version: str, *, moving: bool) -> tuple[str, str]:
        """Return the new ref, and the version for the comment beside it; empty: it stays.

        A comment beside a tag is changed where it names the release that the tag was at. `moving`:
        a tag that moves along with releases stays one, where that one is safe.
        """
        tags, _ = self._require_way()
        use = each.use
        tag = tags.name_tag(version, use.version if use.is_pinned else use.ref)
        if use.is_pinned:
            return tags.repository.tags[tag], tag if use.version else ""
        tells = use.version and read_version(use.version) == each.version
        if not moving or not self._is_moving(each):
            return tag, tags.name_tag(version, use.version) if tells else ""
        numbers = use.ref.removeprefix("v").split(".")
        short = ".".join(tag.split(".")[: len(numbers)])
        at = tags.find_version(short) if short in tags.repository.tags else ""
        safe = at and not self._ranges.hold(at) and not self.scheme.newer(version, at)
        said = tags.name_tag(at if safe else version, use.version) if tells else ""
        return (short if safe else tag), said

    def _list_vulnerable(self, uses: Sequence[UsedRelease]) -> list[UsedRelease]:
        ranges = self._ranges
        return [each for each in uses if each.version and ranges.hold(each.version)]

    @property
    def _ranges(self) -> Ranges:
        return Ranges.from_advisories(self.scheme, self._group.advisories)

    def _require_way(self) -> tuple[ReleaseTags, ActionReleases]:
        assert self._tags is not None, "versions were asked for before"
        assert self._releases is not None, "that is where they came from"
        return self._tags, self._releases

    async def _read_files(self, tree: WorkTree) -> dict[str, str]:
        if len(self._files) > MOST_FILES:
            told = {"count": len(self._files), "most": MOST_FILES}
            raise Unfit("unsafe", _TOO_MANY.format(**told))
        return {file: await read_text(tree, file, LARGEST) for file in self._files}

    async def _list_uses(self, texts: Mapping[str, str]) -> list[UsedRelease]:
        """Return each use of the package with its release."""
        found, self._untold = [], ()
        for file, text in texts.items():
            try:
                found += [UsedRelease(file, use) for use in await _parse(file, text)]
            except Unfit as unfit:  # GitHub runs nothing of what it cannot read
                if self._group.package.lower() in text.lower():
                    self._untold += (str(unfit),)
        found = [each for each in found if each.is_of(self._group.package)]
        if found and self._tags is None:
            await self._find_tags(found)
        return [replace(each, version=await self._find_version(each)) for each in found]

    async def _find_tags(self, uses: Sequence[UsedRelease]) -> None:
        """Learn which releases there are. Raises Unfit where the repository is not what it was."""
        if self._releases is None:
            return
        name = "/".join(self._group.package.split("/")[:2])
        found = await self._releases.find(name)
        about = {"name": f"`{name}`", "places": _join_places(uses)}
        if found is None:
            raise Unfit("no_release", _UNSEEN.format(**about))
        if found.name.lower() != name.lower():
            raise Unfit("unsafe", _MOVED.format(**about, now=f"`{found.name}`"))
        self._tags = ReleaseTags(found)

    async def _find_version(self, each: UsedRelease) -> str:
        """Return the release that a use is at; empty where that cannot be told."""
        use, tags = each.use, self._tags
        if tags is None or not use.ref:
            return read_version(use.claim)
        key = (use.ref, use.version)
        if key not in self._versions:
            self._versions[key] = await self._resolve(each, tags)
        return self._versions[key]

    async def _resolve(self, each: UsedRelease, tags: ReleaseTags) -> str:
        """Return the release of a ref, as far as GitHub tells it."""
        _, releases = self._require_way()
        use, name = each.use, tags.repository.name
        version = tags.find_version(use.ref)
        if version and (use.is_pinned or tags.names_release(use.ref)):
            return version
        if len(self._versions) >= MOST_ASKED:
            return ""
        about = {"name": each.name, "ref": use.ref, "place": each.place}
        if version:  # it moves, and a branch may be called the same
            if await releases.find_commit(name, use.ref) != tags.repository.tags[use.ref]:
                return ""
            self._told[use.ref] = _STANDS.format(**about, version=version)
            return version
        patched = tags.find_newest(each.first_patched for each in self._group.advisories)
        if patched and not _HEX.fullmatch(use.ref):
            commit = tags.repository.tags[tags.name_tag(patched, "v")]
            if await releases.holds(name, commit, use.ref):
                self._told[use.ref] = _HOLDS.format(**about, version=patched)
                return patched
        claimed = read_version(use.claim)  # believed where it says that something is wrong
        return claimed if claimed and self._ranges.hold(claimed) else ""


async def _parse(file: str, text: str) -> tuple[ActionUse, ...]:
    """Return the uses of a file. Raises Unfit for what is no workflow that can be read."""
    try:
        return await asyncio.to_thread(list_uses, text)
    except UnreadableWorkflow as error:
        raise Unfit("unsafe", _UNREADABLE.format(file=file, why=error)) from error


async def _require_refs_alone(file: str, old: str, new: str, repository: str) -> None:
    """Raise Stuck where more than refs of the repository differs."""
    try:
        why = await asyncio.to_thread(find_other_change, old, new, repository)
    except UnreadableWorkflow as error:
        why = str(error)
    if why:
        raise Stuck(_DIFFERS.format(file=file, why=why))


def _explain_untold(each: UsedRelease) -> str:
    """Return which use could not be told, for people."""
    about = {"name": each.name, "ref": each.use.ref, "place": each.place}
    if not each.use.ref:
        return _ODD.format(**about)
    claims = _CLAIMS.format(version=each.use.version) if each.use.version else ""
    return f"{_UNTOLD.format(**about)}{claims}"


def _join_places(uses: Sequence[UsedRelease]) -> str:
    return ", ".join(each.place for each in uses[:MOST_NAMED])
