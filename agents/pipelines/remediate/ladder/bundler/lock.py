"""Read a Gemfile.lock, write the Gemfile that it stands for, and put a new one in its place.

https://bundler.io/man/gemfile.5.html; the format is Bundler's own and described nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from agents.pipelines.remediate.ladder.files import MOST_ENTRIES, host
from agents.pipelines.remediate.ladder.locked import Entry
from agents.pipelines.remediate.ladder.values import Unfit

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,100}")
_SPEC = re.compile(r"    (\S+) \(([^()]+)\)")
_NEED = re.compile(r"      (\S+)(?: \(([^()]*)\))?")
_ASKED = re.compile(r"  (\S+?)(!?)(?: \(([^()]*)\))?(!?)")
_SUM = re.compile(r"  (\S+) \(([^()]+)\) (sha256=[0-9a-f]{64})")
_VERSION = re.compile(r"[0-9][0-9A-Za-z.]{0,60}(?:-[0-9A-Za-z._-]{1,60})?")
_PART = re.compile(r"(?:(?:~>|!=|>=|<=|=|>|<) )?[0-9][0-9A-Za-z.]{0,60}")
_REMOTE = re.compile(r"https?://[A-Za-z0-9.:/_-]+")
_TAKEN = ("GEM", "DEPENDENCIES", "CHECKSUMS")
"""What a new lock file decides; platforms, Ruby and Bundler stay as they were."""

_ELSEWHERE = "`{path}` takes gems from {kind}, which Fettle does not lock."
_KINDS = {"GIT": "git", "PATH": "folders", "PLUGIN SOURCE": "a plugin's source"}
_REMOTE_STRANGE = (
    "`{path}` names its index by an address that Fettle does not put into a Gemfile, with a user or"
    " unusual characters in it ({host})."
)
_STRANGE = "`{path}` has a line that Fettle does not put on command lines: `{line}`."


@dataclass
class GemLock:
    """What a Gemfile.lock says."""

    remote: str = ""
    entries: tuple[Entry, ...] = ()
    asked: dict[str, str] = field(default_factory=dict)
    """What the Gemfile asks for: names, and versions divided by commas."""
    platforms: tuple[str, ...] = ()


def gem_name(package: str) -> str:
    """Return a gem's name, which may stand on a command line. Raises Unfit for others."""
    if not _NAME.fullmatch(package):
        raise Unfit("unsafe", "A gem has a name that Fettle does not put on command lines.")
    return package


def read_lock(text: str, path: str) -> GemLock:
    """Return what the lock file says. Raises Unfit for gems from elsewhere than one index."""
    made = GemLock()
    sections = list(_sections(text))
    remotes = [line.strip() for name, lines in sections for line in lines if "  remote: " in line]
    titles = {name for name, _ in sections}
    if kinds := " and ".join(words for title, words in _KINDS.items() if title in titles):
        raise Unfit("unsupported", _ELSEWHERE.format(path=path, kind=kinds))
    if len(remotes) != 1:
        count = "several indexes" if remotes else "no index"
        raise Unfit("unsupported", _ELSEWHERE.format(path=path, kind=count))
    made.remote = remotes[0].removeprefix("remote: ")
    if not _REMOTE.fullmatch(made.remote):
        raise Unfit("unsafe", _REMOTE_STRANGE.format(path=path, host=host(made.remote) or "it"))
    by_name = dict(sections)
    sums = {(f[1], f[2]): f[3] for each in by_name.get("CHECKSUMS", []) if (f := _SUM.match(each))}
    made.entries = _entries(by_name.get("GEM", []), made.remote, sums, path)
    asked = (line for line in by_name.get("DEPENDENCIES", []) if line.strip())
    made.asked = dict(_parse_asked(line, path) for line in asked)
    made.platforms = tuple(each.strip() for each in by_name.get("PLATFORMS", []) if each.strip())
    return made


def write_gemfile(lock: GemLock, pins: Mapping[str, str] | None = None) -> str:
    """Return a Gemfile that asks for the same, and for nothing else; pins are asked for as well."""
    lines = [f'source "{lock.remote}"']
    for name in dict.fromkeys((*lock.asked, *(pins or {}))):
        parts = [part.strip() for part in lock.asked.get(name, "").split(",") if part.strip()]
        parts += [f"= {pins[name]}"] if pins and name in pins else []
        lines.append(", ".join([f'gem "{name}"', *(f'"{part}"' for part in parts)]))
    return "\n".join([*lines, ""])


def splice(old: str, new: str) -> str:
    """Return the old lock file with what a new one decides."""
    taken = {name: lines for name, lines in _sections(new) if name in _TAKEN}
    made = []
    for name, lines in _sections(old):
        made += [name, *taken.get(name, lines)] if name else lines
    return "\n".join(made)


def with_asked(text: str, package: str, spec: str) -> str:
    """Return the lock file whose Gemfile asks for other versions of the package."""
    head, mark, tail = text.partition("\nDEPENDENCIES\n")
    line = re.compile(rf"^  {re.escape(package)}(?: \([^()]*\))?$", re.MULTILINE)
    return f"{head}{mark}{line.sub(f'  {package} ({spec})', tail, count=1)}"


def _sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the title of each section and the lines below it, empty ones as well."""
    title, lines = "", list[str]()
    for line in text.split("\n"):
        if line and not line.startswith((" ", "\t")):
            if title or lines:
                yield title, lines
            title, lines = line.strip(), []
        else:
            lines.append(line)
    yield title, lines


def _entries(
    lines: list[str], remote: str, sums: Mapping[tuple[str, str], str], path: str
) -> tuple[Entry, ...]:
    found: list[tuple[str, str, list[str]]] = []
    for line in lines:
        if spec := _SPEC.fullmatch(line):
            if not _VERSION.fullmatch(spec[2]):
                raise Unfit("unsafe", _STRANGE.format(path=path, line=line.strip()[:100]))
            found.append((gem_name(spec[1]), spec[2], []))
        elif found and (need := _NEED.fullmatch(line)):
            found[-1][2].append(need[1])
    if len(found) > MOST_ENTRIES:
        raise Unfit("unsafe", f"`{path}` lists more than {MOST_ENTRIES} gems.")
    keys: dict[str, list[str]] = {}
    for name, version, _ in found:
        keys.setdefault(name, []).append(f"{name} {version}")
    return tuple(
        Entry(
            key=f"{name} {version}",
            name=name,
            version=version.partition("-")[0],
            source=remote,
            hosts=(host(remote),),
            hashes=(sums[name, version],) if (name, version) in sums else (),
            needs=tuple(key for need in needs for key in keys.get(need, ())),
        )
        for name, version, needs in found
    )


def _parse_asked(line: str, path: str) -> tuple[str, str]:
    found = _ASKED.fullmatch(line)
    parts = [part.strip() for part in (found[3] or "").split(",")] if found else []
    if not found or found[2] or found[4] or not all(not p or _PART.fullmatch(p) for p in parts):
        raise Unfit("unsafe", _STRANGE.format(path=path, line=line.strip()[:100]))
    return gem_name(found[1]), ", ".join(filter(None, parts))
