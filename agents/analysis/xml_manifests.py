"""Read which packages the manifests of Maven and MSBuild name, and where they come from.

https://maven.apache.org/pom.html,
https://learn.microsoft.com/nuget/consume-packages/package-references-in-project-files
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agents.analysis.test_runners.xml_walk import walk_xml

MOST_ROUNDS = 5  # properties that stand in each other

_NO_PACKAGES = re.compile(r"exclusion|project")
_DELIVERY = "distributionManagement"
"""Where a project is sent to, and nothing comes from."""
_COORDINATES = re.compile(r"[A-Za-z$][\w.${}-]*:[A-Za-z$][\w.${}-]*(?::[\w.${}-]+)+")
_OF_PLUGINS = "org.apache.maven.plugins"
_PROPERTY = re.compile(r"\$\{([\w.-]+)\}")


def list_new_artifacts(before: Sequence[str], after: str) -> list[str]:
    """Return what a pom names, and properties of it have others name, that none before it did.

    `before`: its text before, and those of the repository's other poms. Raises UnreadableReport.
    """
    was, now = [_read_pom(text) for text in before], _read_pom(after)
    shared = {key: value for pom in was for key, value in pom.properties.items()}
    known = {each for pom in was for each in _resolve(pom.found, shared | pom.properties)}
    known |= {each for pom in (*was, now) for each in pom.own}
    there = [each for pom in was for each in pom.found if "$" in each]
    found = _resolve([*now.found, *there], shared | now.properties)
    return list(dict.fromkeys(each for each in found if each not in known))


def _resolve(names: Sequence[str], properties: Mapping[str, str]) -> Iterator[str]:
    """Yield the names with the values of properties in them, as far as these are known."""
    for name in names:
        text = name
        for _ in range(MOST_ROUNDS if "$" in name else 0):
            text = _PROPERTY.sub(lambda found: properties.get(found[1], found[0])[:200], text)[:500]
        yield text


def _read_pom(text: str) -> _PomReading:
    reading = _PomReading()
    if text.strip():
        walk_xml(text, reading.begin, reading.end, reading.written.append)
    return reading


@dataclass
class _PomReading:
    """What was read of a pom until now."""

    found: list[str] = field(default_factory=list)
    """The coordinates of what is fetched, and the addresses that it may come from."""
    own: list[str] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)
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
        elif tag == "properties":
            self.properties |= children
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


# --- MSBuild --------------------------------------------------------------------------------------

_ITEMS = re.compile(r"(?!Project)\w*(?:Reference|PackageVersion|PackageDownload)")
_SOURCES = re.compile(r"Restore\w*Sources|HintPath|RestoreConfigFile")


def read_msbuild(text: str) -> list[str]:
    """Return the packages and SDKs of a project, and places that they are from.

    Raises UnreadableReport, and ValueError where properties stand in for names.
    """
    found, written = list[str](), list[str]()

    def begin(tag: str, about: Mapping[str, str]) -> None:
        written.clear()
        sdks = [about.get("Sdk", ""), about.get("Name", "") if tag == "Sdk" else ""]
        found.extend(sdk.partition("/")[0] for each in sdks for sdk in each.split(";"))
        if _ITEMS.fullmatch(tag):
            named = about.get("Include") or about.get("Update") or ""
            found.extend(each.partition(",")[0].strip() for each in named.split(";"))

    def end(tag: str) -> None:
        if _SOURCES.fullmatch(tag):
            found.extend(each.strip() for each in "".join(written).split(";"))
        written.clear()

    walk_xml(text, begin, end, written.append)
    if any("$(" in each for each in found):
        raise ValueError("properties stand in for names")
    return list(filter(None, found))
