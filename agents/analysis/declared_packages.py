"""The packages that a manifest names anew, of tools whose names `known_packages` does not know.

Data is read as its tool reads it, and says which packages it names and where they come from.
Manifests that are programs are read line by line: lines that cannot name a package are left out,
and each new name in the others counts, since nobody knows what a program does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.analysis.python_packages import read_json
from agents.analysis.repository_files import table
from agents.analysis.test_runners.xml_walk import UnreadableReport, walk_xml
from agents.text.toml import toml_in

LONGEST = 300_000  # characters of a manifest that is read as what it is
LONGEST_LINE = 400  # characters of a line that is read as more than words

_WORD = re.compile(r"[A-Za-z@][\w.@/-]+")
_NAME = re.compile(r"[\"']([^\"'\s]++)[\"']|(?<![\w:]):([a-z_]\w*+)")
"""A text or a symbol of a program, which is how packages are named there."""
_VERSIONED = re.compile(
    r"(?<!\w)(?!(?:version|elixir|vsn)\s*:)(\w++):\s*+[\"']\s*+(?:[~><=^]|\d+(?:\.\d+)*+[\"'])"
)
"""A key with a release as its value: a package, in lists of pairs."""
_COMMENT = re.compile(r"\s*(?:#|//)")

_CARGO_KINDS = re.compile(r"(?:(?:dev|build)[-_])?dependencies")
_CARGO_SOURCES = ("git", "registry", "registry-index", "base")
_NO_PACKAGES = re.compile(r"exclusion|project")
_DELIVERY = "distributionManagement"
"""Where a project is sent to, and nothing comes from."""
_COORDINATES = re.compile(r"[\w.${}-]+:[\w.${}-]+(?::[\w.${}-]+)+")
_OF_PLUGINS = "org.apache.maven.plugins"
_OF_PROJECT = re.compile(r"\$\{(?:project|pom)\.[\w.]+\}")

_TEXT = r"(?:\"(?:[^\"#\\]|\#(?!\{))*+\"|'[^'\\]*+')"
_LITERAL = rf"(?>{_TEXT}|-?\d[\d_.]*+|:\w++|true\b|false\b|nil\b)"
_PAIR = rf"\w++:(?>\s*+(?>\w++:(?!:)|{_LITERAL}|[\[\],]))*+"
_HARMLESS = {
    "mix.exs": re.compile(
        rf"""\s*+(?>\#.*|end|[\[\],\s]+|def(?:p|module)?\s+[\w.]+(?:\(\))?\s+do|use\s+Mix\.Project
        |{_PAIR}|@\w+\s+{_TEXT})?\s*+""",
        re.VERBOSE,
    ),
    "Gemfile": re.compile(
        rf"\s*+(?>\#.*|end|ruby\s+{_TEXT}|group\b(?:\s*,?\s*:\w+)+\s+do)?\s*+", re.VERBOSE
    ),
    ".gemspec": re.compile(
        rf"""\s*+(?>\#.*|end|\w+\.(?:name|version|summary|description|authors?|email|homepage
        |licen[sc]es?|metadata\[{_TEXT}\]|required_ruby_version|executables|bindir|require_paths?)
        \s*=\s*(?:{_TEXT}|\[(?>{_TEXT}|[,\s])*+\]))?\s*+""",
        re.VERBOSE,
    ),
}
_ELSEWHERE = re.compile(
    r"\b(?:git|github|gitlab|bitbucket|gist|path|url|repo|organization|hex|override|\w*deps\w*)\s*:"
)


def list_new_packages(path: str, before: Sequence[str], after: str) -> list[str]:
    """Return what the manifest names and none of those before it did.

    `before`: the texts of this manifest and others of its name, before the change. What is a
    program, or cannot be read, is asked about word by word.
    """
    name = path.rpartition("/")[2]
    if name in _READERS:
        try:
            known = {each for text in before for each in _read(name, text)}
            known |= {each for text in (*before, after) for each in _list_own(name, text)}
            return [each for each in _read(name, after) if each not in known]
        except (ValueError, UnreadableReport):
            pass
    kind = ".gemspec" if name.endswith(".gemspec") else name
    list_names = _list_names if kind in _HARMLESS else _WORD.findall
    known_lines = [line for text in before for line in text.splitlines()]
    code = [line for line in known_lines if not _COMMENT.match(line)]
    there = {word for line in code for word in (*_WORD.findall(line), *list_names(line))}
    lines = {line.strip() for line in known_lines}
    found = (
        word
        for line in after.splitlines()
        if line.strip() not in lines and not _is_harmless(kind, line)
        for word in list_names(line)
        if word not in there
    )
    return list(dict.fromkeys(found))


def _list_names(line: str) -> list[str]:
    """Return what may name a package in a line of a program: each word, where nothing is quoted."""
    quoted = [text or symbol for text, symbol in _NAME.findall(line)]
    named = [each for each in quoted if any(map(str.isalpha, each))]  # and no version
    return [*named, *_VERSIONED.findall(line)] or _WORD.findall(line)


def _is_harmless(kind: str, line: str) -> bool:
    """Return whether no package comes in by that line, whatever stands around it."""
    pattern = _HARMLESS.get(kind)
    if pattern is None or len(line) >= LONGEST_LINE:
        return False
    names_some = _ELSEWHERE.search(line) or _VERSIONED.search(line)
    return pattern.fullmatch(line) is not None and not names_some


def _read(name: str, text: str) -> list[str]:
    """Return what a manifest names. Raises ValueError, UnreadableReport."""
    if len(text) > LONGEST:
        raise ValueError("it is too long")
    return list(dict.fromkeys(_READERS[name](text))) if text.strip() else []


# --- Cargo ----------------------------------------------------------------------------------------
# https://doc.rust-lang.org/cargo/reference/manifest.html


def _read_cargo(text: str) -> Iterator[str]:
    document = toml_in(text)
    for kinds in (document, table(document, "workspace"), *table(document, "target").values()):
        for kind, named in table(kinds).items():
            if _CARGO_KINDS.fullmatch(kind):
                yield from _list_crates(table(named))
    yield from _list_crates(table(document, "replace"))
    for named in table(document, "patch").values():
        yield from _list_crates(table(named))


def _list_crates(named: Mapping[str, object]) -> Iterator[str]:
    for key, value in named.items():
        wanted = table(value)
        name = str(wanted.get("package", key))
        found = [str(wanted[source]) for source in _CARGO_SOURCES if source in wanted]
        if found or "path" not in wanted:  # what lies in the repository comes from nowhere
            yield f"{name} from {' '.join(found)}" if found else name


# --- Maven ----------------------------------------------------------------------------------------
# https://maven.apache.org/pom.html


def _list_own(name: str, text: str) -> list[str]:
    """Return the packages that the repository itself makes of this manifest."""
    return _walk_pom(text).own if name == "pom.xml" and text.strip() else []


def _walk_pom(text: str) -> _PomReading:
    reading = _PomReading()
    walk_xml(text, reading.begin, reading.end, reading.written.append)
    return reading


def _read_maven(text: str) -> list[str]:
    """Return the coordinates of what is fetched, and the addresses that it may come from."""
    reading = _walk_pom(text)
    if any("$" in _OF_PROJECT.sub("", each) for each in reading.found):
        raise ValueError("properties stand in for names")
    return reading.found


@dataclass
class _PomReading:
    """What was read of a pom until now."""

    found: list[str] = field(default_factory=list)
    own: list[str] = field(default_factory=list)
    group: str = ""
    """Of the parent, which is the project's where it names none."""
    written: list[str] = field(default_factory=list)
    opened: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """The elements around, outermost first, each with its children's texts."""

    def begin(self, tag: str, _about: Mapping[str, str]) -> None:
        self.opened.append((tag, {}))
        self.written.clear()

    def end(self, tag: str) -> None:
        _, children = self.opened.pop()
        text = "".join(self.written).strip()
        if self.opened:
            self.opened[-1][1][tag] = text
        if tag == "parent":
            self.group = children.get("groupId", "")
        elif tag == "project" and "artifactId" in children:
            self.own.append(f"{children.get('groupId') or self.group}:{children['artifactId']}")
        if not any(around == _DELIVERY for around, _ in self.opened):
            self.found.extend(_list_coordinates(tag, children))
        if not children and _COORDINATES.fullmatch(text):
            self.found.append(":".join(text.split(":")[:2]))
        self.written.clear()


def _list_coordinates(tag: str, children: Mapping[str, str]) -> Iterator[str]:
    artifact = children.get("artifactId", "")
    if artifact and not _NO_PACKAGES.fullmatch(tag):
        group = children.get("groupId") or (_OF_PLUGINS if tag == "plugin" else "")
        path = children.get("systemPath", "")
        yield f"{group}:{artifact}" + (f" from {path}" if path else "")
    if tag.lower().endswith("repository") and (url := children.get("url")):
        yield url


# --- Composer -------------------------------------------------------------------------------------
# https://getcomposer.org/doc/04-schema.md


def _read_composer(text: str) -> Iterator[str]:
    document = read_json(text)
    if not document:
        raise ValueError("it is no object")
    for kind in ("require", "require-dev"):  # without a slash: PHP, extensions of it, and Composer
        yield from (name for name in table(document, kind) if "/" in name)
    places: Any = document.get("repositories")
    if isinstance(places, dict):
        places = [*places.values()]
    for each in places if isinstance(places, list) else ():
        yield json.dumps(each, sort_keys=True)


_READERS: Mapping[str, Callable[[str], Iterator[str] | list[str]]] = {
    "Cargo.toml": _read_cargo,
    "pom.xml": _read_maven,
    "extensions.xml": _read_maven,
    "composer.json": _read_composer,
}
