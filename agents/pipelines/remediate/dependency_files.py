"""Which files say what a repository depends on, in every ecosystem that GitHub alerts about."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from univers.versions import (
    GolangVersion,
    MavenVersion,
    NugetVersion,
    RubygemsVersion,
    SemverVersion,
)

from agents.analysis.lock_files import is_dependency_file
from agents.pipelines.remediate.ladder import NPM, PYPI, Group, Ranges, Scheme, Unfit
from agents.pipelines.remediate.ladder.composer.versions import SCHEME as COMPOSER

_SCHEMES: Mapping[str, Scheme] = {
    "pip": PYPI,
    "npm": NPM,
    "go": Scheme("golang", GolangVersion),
    "rust": Scheme("cargo", SemverVersion),
    "rubygems": Scheme("gem", RubygemsVersion),
    "composer": COMPOSER,
    "maven": Scheme("maven", MavenVersion),
    "nuget": Scheme("nuget", NugetVersion),
}
"""How versions are written, by GitHub's name of the ecosystem."""

_VERSION = re.compile(r"[A-Za-z0-9][\w.+~!-]*")  # some schemes take any text for one
_NO_CHANGE = "No file changed, so nothing was fixed."
_STRANGE = (
    "Only manifests and lock files may change in this stage; put back {files}. What the code needs"
    " to follow comes later."
)
_VULNERABLE = "{package} {version} is in a vulnerable range of {ids}."
_UNREAD = "{version} is no version that Fettle can hold against the vulnerable ranges."
_MAJOR = "{package} {version} is another major version, and nobody has permitted one."
_ABSENT = "{version} stands in none of the changed files: {files}."


def find_strange(changed: Iterable[str], files: Collection[str] = ()) -> str:
    """Return what speaks against these changes as those of dependency files; empty: nothing."""
    changed = list(changed)
    others = [path for path in changed if path not in files and not is_dependency_file(path)]
    if others:
        return _STRANGE.format(files=", ".join(sorted(others)[:10]))
    return "" if changed else _NO_CHANGE


def is_version(scheme: Scheme, text: str) -> bool:
    """Return whether it is a version, and nothing that could mean more on a command line."""
    return bool(_VERSION.fullmatch(text)) and scheme.parse(text) is not None


def explain_unreadable_version(version: str) -> str:
    """Return what to say of something that is no version."""
    return _UNREAD.format(version=version or "(none)")


def find_safe_version(group: Group) -> str:
    """Return the smallest version that the alerts call safe; empty where they name none."""
    scheme = _SCHEMES.get(group.ecosystem)
    if scheme is None:
        return ""
    patched = {each.first_patched for each in group.advisories}
    try:
        ranges = Ranges.from_advisories(scheme, group.advisories)
    except Unfit:
        return ""
    safe = (each for each in scheme.order(patched) if is_version(scheme, each))
    return next((each for each in safe if not ranges.hold(each)), "")


def find_version_objection(
    group: Group, version: str, texts: Mapping[str, str], old: str, *, majors: bool
) -> str:
    """Return what speaks against a version that somebody says the package is at now.

    For files that no part of the ladder reads. `texts`: the changed files as they are now; `old`:
    the version before, empty where nobody knows it.
    """
    scheme = _SCHEMES.get(group.ecosystem)
    if scheme is None or not is_version(scheme, version):
        return explain_unreadable_version(version)
    try:
        ranges = Ranges.from_advisories(scheme, group.advisories)
    except Unfit as unfit:
        return str(unfit)
    if ranges.hold(version):
        ids = ", ".join(group.ids)
        return _VULNERABLE.format(package=group.package, version=version, ids=ids)
    if old and not majors and _first(old) != _first(version):
        return _MAJOR.format(package=group.package, version=version)
    plain = version.removeprefix("v")
    if not any(plain in text for text in texts.values()):
        return _ABSENT.format(version=version, files=", ".join(sorted(texts)[:10]))
    return ""


def _first(version: str) -> str:
    """Return the first number, the first two where it is 0: so far reaches what must not break."""
    numbers = re.findall(r"\d+", version)[:2]
    return ".".join(numbers) if numbers[:1] == ["0"] else "".join(numbers[:1])
