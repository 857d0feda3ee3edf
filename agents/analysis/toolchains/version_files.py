"""Readers of the files that version managers read: pyenv, nvm, asdf, mise, SDKMAN, rustup, .NET."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping

from agents.analysis.repository_files import RepositoryFiles, table
from agents.analysis.toolchains.version_range import (
    ANY,
    LONGEST,
    VersionRange,
    at_least,
    name_version,
    npm_range,
)
from agents.analysis.toolchains.wish import Wishes

_MOST_LINES = 200
_NODE_LINES = {"argon": 4, "boron": 6, "carbon": 8, "dubnium": 10, "erbium": 12, "fermium": 14}
_NODE_LINES |= {"gallium": 16, "hydrogen": 18, "iron": 20, "jod": 22, "krypton": 24}
_NAMES = {"nodejs": "node", "golang": "go", "dotnet-core": "dotnet", "dotnet-sdk": "dotnet"}
_KNOWN = ("python", "node", "go", "java", "ruby", "rust", "dotnet", "pnpm", "yarn")
_ANY = frozenset({"latest", "lts", "lts/*", "lts/-1", "stable", "node", "current", "default"})
_NOT_ASKED = frozenset({"system", ""})
_JAVA = re.compile(r"(?:[a-z][a-z_.-]{0,30}-)?(?:1\.)?(\d{1,2})(?:[.+_-].{0,40})?", re.IGNORECASE)
_COMMENT = re.compile(r"^[ \t]*//.*$", re.MULTILINE)
_FEATURE_BAND = 100


def read_version_file(path: str, files: RepositoryFiles, wishes: Wishes) -> bool:
    """Add what a version manager's file asks for; tell whether it is one."""
    name = path.rsplit("/", 1)[-1]
    read = READERS.get(name)
    if read is None:
        return False
    read(path, files, wishes)
    return True


def wish_for(tool: str, text: str) -> VersionRange | None:
    """Return the range that a version manager means by this text."""
    text = text.strip()[:LONGEST]
    if text.lower() in _ANY:
        return VersionRange("", text=text)
    if tool == "java":
        found = _JAVA.fullmatch(text)
        return VersionRange(f"=={int(found[1])}.*", text=text) if found else None
    if tool == "node":
        return _node_version(text)
    if tool == "rust":
        return name_version(text)
    if tool == "go":
        return name_version(text.removeprefix("go"))
    return name_version(re.sub(r"^(cpython|python|ruby|prefix)[-:]", "", text))


def _node_version(text: str) -> VersionRange | None:
    code, _, name = text.lower().partition("lts/")
    if not code and name in _NODE_LINES:
        return VersionRange(f"=={_NODE_LINES[name]}.*", text=text)
    return npm_range(text)


def _lines(text: str) -> Iterator[str]:
    for line in text[:20_000].splitlines()[:_MOST_LINES]:
        said = line.partition("#")[0].strip()
        if said:
            yield said


def _first_line(tool: str) -> Callable[[str, RepositoryFiles, Wishes], None]:
    def read(path: str, files: RepositoryFiles, wishes: Wishes) -> None:
        text = next(_lines(files.texts.get(path, "")), "")
        _add(wishes, tool, text, path)

    return read


def _add(wishes: Wishes, tool: str, text: str, path: str) -> None:
    if text not in _NOT_ASKED:
        wishes.pin(tool, wish_for(tool, text), path, text=text)


def _tool_versions(path: str, files: RepositoryFiles, wishes: Wishes) -> None:
    """Read asdf's file: a tool and its versions in each line, the first of which counts.

    https://asdf-vm.com/manage/configuration.html#tool-versions
    """
    for line in _lines(files.texts.get(path, "")):
        name, *versions = line.split()
        tool = _NAMES.get(name, name)
        if tool in _KNOWN and versions:
            _add(wishes, tool, versions[0], path)


def _mise(path: str, files: RepositoryFiles, wishes: Wishes) -> None:
    """Read the tools of mise's file.

    https://mise.jdx.dev/configuration.html#tools
    """
    for name, said in list(table(files.toml(path), "tools").items())[:_MOST_LINES]:
        bare = name.removeprefix("core:")
        tool = _NAMES.get(bare, bare)
        version = said[0] if isinstance(said, list) and said else said
        if isinstance(version, Mapping):
            version = version.get("version")
        if tool in _KNOWN and isinstance(version, str | int | float):
            _add(wishes, tool, str(version), path)


def _sdkman(path: str, files: RepositoryFiles, wishes: Wishes) -> None:
    for line in _lines(files.texts.get(path, "")):
        name, _, version = line.partition("=")
        if name.strip() == "java":
            _add(wishes, "java", version.strip(), path)


def _rust_toolchain(path: str, files: RepositoryFiles, wishes: Wishes) -> None:
    """Read the channel.

    https://rust-lang.github.io/rustup/overrides.html
    """
    channel = table(files.toml(path), "toolchain").get("channel")
    text = channel if isinstance(channel, str) else next(_lines(files.texts.get(path, "")), "")
    if text and not text.startswith("["):
        _add(wishes, "rust", text, path)


def _global_json(path: str, files: RepositoryFiles, wishes: Wishes) -> None:
    """Read the SDK's version, and how far it may be rolled forward.

    https://learn.microsoft.com/en-us/dotnet/core/tools/global-json
    """
    try:  # comments are allowed in it
        document = json.loads(_COMMENT.sub("", files.texts.get(path, "")[:20_000]))
    except (ValueError, RecursionError):
        return
    sdk = table(document, "sdk")
    version, policy = sdk.get("version"), sdk.get("rollForward", "latestPatch")
    if isinstance(version, str):
        wishes.add("dotnet", _roll_forward(version, str(policy)), path, text=version)
    elif sdk:
        wishes.add("dotnet", ANY, path)


def _roll_forward(version: str, policy: str) -> VersionRange | None:
    found = re.fullmatch(r"(\d{1,3})\.(\d{1,3})\.(\d{1,5})", version.strip())
    if found is None or policy == "disable":
        return name_version(version)
    major, minor, patch = map(int, found.groups())
    below = {
        "patch": f"{major}.{minor}.{patch - patch % _FEATURE_BAND + _FEATURE_BAND}",
        "feature": f"{major}.{minor + 1}",
        "minor": f"{major + 1}",
    }.get(policy.removeprefix("latest").lower())
    floor = at_least(version)
    if floor is None or below is None:
        return floor
    return VersionRange(f"{floor.spec},<{below}", text=version)


READERS: Mapping[str, Callable[[str, RepositoryFiles, Wishes], None]] = {
    ".python-version": _first_line("python"),
    ".nvmrc": _first_line("node"),
    ".node-version": _first_line("node"),
    ".java-version": _first_line("java"),
    ".ruby-version": _first_line("ruby"),
    ".go-version": _first_line("go"),
    ".tool-versions": _tool_versions,
    "mise.toml": _mise,
    ".mise.toml": _mise,
    ".sdkmanrc": _sdkman,
    "rust-toolchain": _rust_toolchain,
    "rust-toolchain.toml": _rust_toolchain,
    "global.json": _global_json,
}
"""Who reads which file, the most telling first."""
