"""Releases of an action: the tags of its repository as versions, and where each is used."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from univers.versions import SemverVersion

from agents.analysis.action_refs import ActionUse
from agents.pipelines.remediate.ladder.ranges import Scheme
from agents.ports import ActionRepository

SCHEME = Scheme("github", SemverVersion)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*")
TAG = re.compile(r"v?(\d{1,9}(?:\.\d{1,9}){0,2}(?:-[0-9A-Za-z.-]{1,40})?)")


@dataclass(frozen=True)
class UsedRelease:
    """A use of the package, and the release that it is at."""

    file: str
    use: ActionUse
    version: str = ""
    """Empty: it cannot be told."""

    @property
    def name(self) -> str:
        """Return what is used, without the ref."""
        return f"{self.use.repository}{self.use.path}"

    @property
    def place(self) -> str:
        """Return file and line, for people."""
        return f"`{self.file}:{self.use.line}`"

    def is_of(self, package: str) -> bool:
        """Return whether it is the package, or lies below it in the same repository."""
        name, wanted = self.name.lower(), package.lower()
        return name == wanted or name.startswith(f"{wanted}/")


class ReleaseTags:
    """The tags of a repository, as versions."""

    def __init__(self, repository: ActionRepository) -> None:
        self.repository = repository
        named = {tag: match[1] for tag in repository.tags if (match := TAG.fullmatch(tag))}
        longer = {version.rpartition(".")[0] for version in named.values()}
        longer |= {version.rpartition(".")[0] for version in longer}
        self.versions: dict[str, list[str]] = defaultdict(list)
        """The tags of each version; without those like `v4` that move along with releases."""
        self._at: dict[str, list[str]] = defaultdict(list)
        for tag, version in named.items():
            if version not in longer:
                self.versions[version].append(tag)
                self._at[repository.tags[tag]].append(version)

    def names_release(self, tag: str) -> bool:
        """Return whether the tag is that of one release."""
        found = TAG.fullmatch(tag)
        return found is not None and tag in self.versions.get(found[1], ())

    def find_version(self, ref: str) -> str:
        """Return the release that a tag or commit is at, the newest of several; empty: none."""
        found = TAG.fullmatch(ref)
        if found and self.names_release(ref):
            return found[1]
        there = self._at.get(self.repository.tags.get(ref, ref), ())
        return next(reversed(SCHEME.order(there)), "")

    def find_newest(self, versions: Iterable[str]) -> str:
        """Return the newest of these that is a release here; empty: none is."""
        known = [each for each in versions if each in self.versions]
        return next(reversed(SCHEME.order(known)), "")

    def name_tag(self, version: str, like: str) -> str:
        """Return the tag of a version, with a `v` where the other one has one, if there is such."""
        tags = self.versions[version]
        return next((tag for tag in tags if tag.startswith("v") == like.startswith("v")), tags[0])


def is_action(name: str) -> bool:
    """Return whether it can be the name of an action, and nothing that leads elsewhere."""
    return _NAME.fullmatch(name) is not None and not {".", ".."} & set(name.split("/"))


def read_version(text: str) -> str:
    """Return the version that a tag or comment names; empty for any other text."""
    found = TAG.fullmatch(text)
    return found[1] if found else ""
