"""The packages that a manifest names anew, of tools whose names `known_packages` does not know.

Data is read as its tool reads it, and says which packages it names and where they come from.
Manifests that are programs are read line by line: lines that cannot name a package are left out,
and each new word of the others counts, since nobody knows what a program does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agents.analysis.python_packages import read_json
from agents.analysis.repository_files import table
from agents.analysis.test_runners.xml_walk import UnreadableReport, walk_xml
from agents.text.toml import toml_in

LONGEST = 300_000  # characters of a manifest that is read as what it is
LONGEST_LINE = 400  # characters of a line that is read as more than words

_WORD = re.compile(r"[A-Za-z@][\w.@/-]{2,}")

_CARGO_KINDS = re.compile(r"(?:(?:dev|build)[-_])?dependencies")
_CARGO_SOURCES = ("git", "path", "registry", "registry-index", "base")
_NO_PACKAGES = re.compile(r"exclusion|project")
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
            return [each for each in _read(name, after) if each not in known]
        except (ValueError, UnreadableReport):
            pass
    there = {word for text in before for word in _WORD.findall(text)}
    lines = {line.strip() for text in before for line in text.splitlines()}
    kind = ".gemspec" if name.endswith(".gemspec") else name
    return [
        word
        for line in after.splitlines()
        if line.strip() not in lines and not _is_harmless(kind, line)
        for word in _WORD.findall(line)
        if word not in there
    ]


def _is_harmless(kind: str, line: str) -> bool:
    """Return whether no package comes in by that line, whatever stands around it."""
    pattern = _HARMLESS.get(kind)
    if pattern is None or len(line) >= LONGEST_LINE:
        return False
    return pattern.fullmatch(line) is not None and not _ELSEWHERE.search(line)


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
        yield f"{name} from {' '.join(found)}" if found else name


# --- Maven ----------------------------------------------------------------------------------------
# https://maven.apache.org/pom.html


def _read_maven(text: str) -> list[str]:
    """Return the coordinates of what is fetched, and the addresses that it may come from."""
    found: list[str] = []
    opened: list[dict[str, str]] = []
    written: list[str] = []

    def begin(_tag: str, _about: Mapping[str, str]) -> None:
        opened.append({})
        written.clear()

    def end(tag: str) -> None:
        children = opened.pop()
        if opened:
            opened[-1][tag] = "".join(written).strip()
        found.extend(_list_coordinates(tag, children))
        written.clear()

    walk_xml(text, begin, end, written.append)
    if any("$" in _OF_PROJECT.sub("", each) for each in found):
        raise ValueError("properties stand in for names")
    return found


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
    for kind in ("require", "require-dev"):
        yield from table(document, kind)
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
