"""Read a go.mod and a go.sum, and change one requirement in place.

https://go.dev/ref/mod#go-mod-file and https://go.dev/ref/mod#go-sum-files
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from agents.pipelines.remediate.ladder.values import Unfit

MOST_LINES = 50_000
_LONGEST = 300
_PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~/-]*")
_VERSION = re.compile(r"v[0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]+)?")
_INDIRECT = re.compile(r"//\s*indirect\s*(?:;|$)")
_HASH = re.compile(r"h1:[A-Za-z0-9+/]{43}=")


@dataclass(frozen=True)
class Requirement:
    """One requirement of a go.mod."""

    module: str
    version: str
    """As it is written, with its `v`."""
    indirect: bool
    """Whether no package of the main module imports it."""
    line: int


@dataclass
class ModFile:
    """What a go.mod says."""

    requirements: list[Requirement] = field(default_factory=list)
    replaced: set[str] = field(default_factory=set)
    """The modules for which others stand in."""
    stand_ins: dict[tuple[str, str], str] = field(default_factory=dict)
    """The version that is built of a module in place of one of its own versions; of all: empty."""
    language: str = ""
    """The directive `go`: the oldest Go that may build it."""

    def find_built(self, requirement: Requirement) -> str:
        """Return the version that is built of a module, where that is one of its own.

        https://go.dev/ref/mod#go-mod-file-replace
        """
        module, version = requirement.module, requirement.version
        everywhere = self.stand_ins.get((module, ""), version)
        built = self.stand_ins.get((module, version), everywhere)
        return built if _VERSION.fullmatch(built[:_LONGEST]) else version


def module_name(package: str) -> str:
    """Return a module's path, which may stand on a command line. Raises Unfit for others."""
    if len(package) > _LONGEST or not _PATH.fullmatch(package) or ".." in package:
        raise Unfit("unsafe", "A module has a path that Fettle does not put on command lines.")
    return package


def read_mod_file(text: str, path: str) -> ModFile:
    """Return what a go.mod says. Raises Unfit for what is no module or no version."""
    made = ModFile()
    for at, verb, words, comment in _directives(text, path):
        match verb, words:
            case "require", [module, version]:
                if len(version) > _LONGEST or not _VERSION.fullmatch(version):
                    raise Unfit("unsafe", f"`{path}` has a version of a module that is none.")
                indirect = _INDIRECT.search(comment) is not None
                made.requirements.append(
                    Requirement(module_name(module), version, indirect, line=at)
                )
            case "replace", [module, *old, "=>", target, version] if module == target:
                made.replaced.add(module)
                made.stand_ins[module, "".join(old)] = version
            case "replace", [module, *_]:
                made.replaced.add(module)
            case "go", [language]:
                made.language = language
    return made


def read_sums(text: str, path: str) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the hashes of each module's files, by its path and version, from a go.sum."""
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        raise Unfit("unsafe", f"`{path}` has more than {MOST_LINES} lines.")
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for line in lines:
        words = line.split()
        if len(words) == 3 and _HASH.fullmatch(words[2]):
            key = (words[0], words[1])
            found[key] = (*found.get(key, ()), words[2])
    return found


def with_version(text: str, requirement: Requirement, version: str) -> str:
    """Return the go.mod with another version of one requirement."""
    lines = text.split("\n")
    code, slashes, comment = lines[requirement.line].partition("//")
    start = code.rindex(requirement.version)
    end = start + len(requirement.version)
    lines[requirement.line] = f"{code[:start]}{version}{code[end:]}{slashes}{comment}"
    return "\n".join(lines)


def _directives(text: str, path: str) -> Iterator[tuple[int, str, list[str], str]]:
    """Yield the number of each line that says something, its verb, its words and its comment."""
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        raise Unfit("unsafe", f"`{path}` has more than {MOST_LINES} lines.")
    block = ""
    for at, line in enumerate(lines):
        code, slashes, comment = line.partition("//")
        words = [word.strip('"`') for word in code.split()]
        if not words:
            continue
        if block and words == [")"]:
            block = ""
        elif block:
            yield at, block, words, f"{slashes}{comment}"
        elif words[1:] == ["("]:
            block = words[0]
        else:
            yield at, words[0], words[1:], f"{slashes}{comment}"
