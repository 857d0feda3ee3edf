"""Add and remove entries of uv's `override-dependencies`, each with its reason."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import tomlkit
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from agents.pipelines.remediate.ladder.files import Table
from agents.pipelines.remediate.ladder.python.pyproject import parse_toml
from agents.pipelines.remediate.ladder.values import Stuck, Unfit

LISTED = "override-dependencies"

_DOUBLE = "`{file}` overrides {text} already."
_CHANGED = (
    "The override of {name} in `{file}` is not as Fettle wrote it: somebody has changed it, so it "
    "is theirs, and Fettle leaves it alone."
)
_HEADER = re.compile(r"^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*uv[ \t]*\][ \t]*\r?\n", re.MULTILINE)
_EMPTY = re.compile(rf"^[^\n#\"']*\b{LISTED}[ \t]*=[ \t]*\[\s*\][^\n]*(?:\n|\Z)", re.MULTILINE)
_INLINE = re.compile(rf",?[ \t]{{0,20}}{LISTED}[ \t]*=[ \t]*\[\s*\]")
_LONG = 50_000  # characters, whose looks would take too long to compare
_CLOSING = re.compile(r",?\s*\]")
_CLOSINGS = ("]", ",\n]", "\n]", ",\r\n]", "\r\n]", ",]")


def add_overrides(text: str, file: str, releases: Mapping[str, str], reason: str) -> str:
    """Return a pyproject.toml with an override for each package, the reason beside it."""
    document = parse_toml(text, file)
    tool = document.setdefault("tool", tomlkit.table(is_super_table=True))
    settings = tool.setdefault("uv", tomlkit.table())
    listed = settings.setdefault(LISTED, tomlkit.array())
    for there in listed:
        if _name(there) in releases:
            raise Stuck(_DOUBLE.format(file=file, text=there))
    for name, version in releases.items():
        listed.add_line(f"{name}>={version}", comment=reason)
    listed.add_line(indent="")
    return tomlkit.dumps(document)


def is_there(text: str, file: str, releases: Mapping[str, str], reason: str) -> bool:
    """Return whether those entries are there; False where none is about the packages.

    Raises Stuck for anything else: people have changed them.
    """
    about = [
        str(each) for each in _read_override_list(_plain(text, file)) if _name(each) in releases
    ]
    if not about:
        return False
    as_written = about == [f"{name}>={version}" for name, version in releases.items()]
    if not as_written or _cut(text, releases, reason) is None:
        raise Stuck(_CHANGED.format(name=min(releases), file=file))
    return True


def remove_overrides(text: str, file: str, releases: Mapping[str, str], reason: str) -> str:
    """Return the text as it was before those entries were added, which are known to be there.

    Several texts may be it; one that becomes this one when they are added is preferred.
    """
    wanted = _plain(text, file)
    left = [each for each in _read_override_list(wanted) if _name(each) not in releases]
    wanted["tool"]["uv"][LISTED] = left
    cut = _cut(text, releases, reason)
    assert cut is not None, "they are there"
    tries = [each for each in _tries(*cut, emptied=not left) if _says(each, wanted)]
    if not tries:
        raise Stuck(_CHANGED.format(name=min(releases), file=file))
    if len(text) > _LONG:
        return tries[0]
    return next((e for e in tries if _gives(e, file, releases, reason, text)), tries[0])


def _tries(rest: str, at: int, *, emptied: bool) -> Iterator[str]:
    """Yield what may have stood there before; what takes the most away comes first.

    `at`: where our lines were. Only the list around that place is looked at: a file may hold
    thousands of others.
    """
    for match in _find_matches_around(_EMPTY, rest, at) if emptied else ():
        bare = f"{rest[: match.start()]}{rest[match.end() :]}"
        for header in [*_HEADER.finditer(bare, 0, match.start())][-1:]:
            yield from _without_header(bare, header)
        yield bare
    for match in _find_matches_around(_INLINE, rest, at) if emptied else ():
        yield f"{rest[: match.start()]}{rest[match.end() :]}"
    start = len(rest[:at].rstrip().removesuffix(","))
    if (last := _CLOSING.match(rest, start)) is not None:  # ours were the last ones
        before, after = rest[: last.start()], rest[last.end() :]
        yield from (f"{before}{closing}{after}" for closing in _CLOSINGS)
    yield rest


def _without_header(text: str, header: re.Match[str]) -> Iterator[str]:
    before, after = text[: header.start()], text[header.end() :]
    if after:
        yield before + after
    yield before.removesuffix("\n") + after
    yield before + after.removeprefix("\n")
    yield before.removesuffix("\n\n") + after


def _find_matches_around(pattern: re.Pattern[str], text: str, at: int) -> Iterator[re.Match[str]]:
    return (each for each in pattern.finditer(text) if each.start() <= at <= each.end())


def _cut(text: str, releases: Mapping[str, str], reason: str) -> tuple[str, int] | None:
    """Return the text without our lines, and where they were; None unless all are as written."""
    at = 0
    for name, version in releases.items():
        entry = rf"[\"']{re.escape(f'{name}>={version}')}[\"'][ \t]*,?"
        line = rf"^[ \t]*{entry}[ \t]*#[ \t]*{re.escape(reason)}[ \t]*\r?\n"
        found = list(re.finditer(line, text, re.MULTILINE))
        if len(found) != 1:
            return None
        at = found[0].start()
        text = f"{text[:at]}{text[found[0].end() :]}"
    return text, at


def _says(text: str, wanted: Table) -> bool:
    """Return whether a text says this, but for lists and tables that are empty."""
    try:
        return _lean(tomllib.loads(text)) == _lean(wanted)
    except (tomllib.TOMLDecodeError, RecursionError):
        return False


def _lean(document: Table) -> Table:
    lean = copy.deepcopy(document)
    tool = lean.get("tool")
    settings = tool.get("uv") if isinstance(tool, dict) else None
    if isinstance(tool, dict) and isinstance(settings, dict):
        if not settings.get(LISTED):
            settings.pop(LISTED, None)
        if not settings:
            del tool["uv"]
        if not tool:
            del lean["tool"]
    return lean


def _gives(text: str, file: str, releases: Mapping[str, str], reason: str, wanted: str) -> bool:
    try:
        return add_overrides(text, file, releases, reason) == wanted
    except (Stuck, Unfit):
        return False


def _plain(text: str, file: str) -> Table:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Unfit("unsafe", f"`{file}` is not TOML that can be read: {error}") from error


def _read_override_list(document: Table) -> list[Any]:
    found: Any = document
    for name in ("tool", "uv", LISTED):
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, list) else []


def _name(text: object) -> str:
    try:
        return str(canonicalize_name(Requirement(str(text)).name))
    except InvalidRequirement:
        return ""
