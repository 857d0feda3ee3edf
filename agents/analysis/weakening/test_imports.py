"""Parse what tests import: names, and the modules that they come from."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from posixpath import normpath

from agents.analysis.weakening.diff_views import ViewLine
from agents.analysis.which_are_tests import is_test

MOST_LINES, LONGEST = 40, 2_000  # lines and characters of one import

_OF_TESTS = re.compile(
    r"tests?\b|\w*test\w*|conftest|\w*(?:helper|fixture|factor|mock|stub|fake|support|util)\w*",
    re.IGNORECASE,
)
"""Modules that belong to tests: what is taken from them is not what tests are about."""
_STANDS_IN = re.compile(
    r"tests?|test_\w+|\w+_tests?|conftest|\w*(?:fake|mock|stub|fixture)\w*", re.IGNORECASE
)
"""Modules that nobody would call a product's."""
_PARTS = re.compile(r"[./:\\]+")
_IMPORTS = {
    "python": re.compile(
        r"^\s*(?:from\s+(?P<module>[\w.]+)\s+import\b(?P<names>[^#]*)"
        r"|import\s+(?P<modules>[\w.,\s]+))"
    ),
    "script": re.compile(
        r"^\s*(?:import\b(?P<names>[^'\"]*+)['\"](?P<module>[^'\"]*)"
        r"|(?:const|let|var)\s+(?P<names2>[^=]*)=\s*(?:await\s+)?(?:require|import)\(\s*['\"]"
        r"(?P<module2>[^'\"]*))"
    ),
    "jvm": re.compile(r"^\s*import\s+(?:static\s+)?(?P<module>[\w.]+)\.(?P<names>\w+)"),
    "php": re.compile(r"^use\s+(?:function\s+)?(?P<module>[\w\\]+)\\(?P<names>\w+)"),
    "rust": re.compile(r"^\s*use\s+(?P<module>\w+)(?P<names>::[\w:{},\s]+)"),
}
_OPENS = {
    "python": re.compile(r"^\s*from\s+[\w.]+\s+import\s*\([^)]*$"),
    "script": re.compile(r"^\s*(?:import|const|let|var)\s+[^'\"=;]*\{[^}'\"]*$"),
    "rust": re.compile(r"^\s*use\s+[^;]*\{[^;]*$"),
}
"""An import that goes on in the next line."""
_ALIAS = re.compile(r"[\w.]+\s+as\s+|\w+\s*:\s*")
_BELOW = re.compile(r"\.\w+")
_NO_NAMES = frozenset(("from", "type"))
NAME = re.compile(r"[A-Za-z_$][\w$]*")


@dataclass(frozen=True)
class TestImport:
    """One import."""

    __test__ = False  # pytest takes classes of that name for tests

    line: ViewLine
    """The first of its lines."""
    module: str
    names: frozenset[str]

    @property
    def of_tests(self) -> bool:
        """Return whether its module is called as those are that belong to tests."""
        return any(map(_OF_TESTS.fullmatch, _PARTS.split(self.module)))

    def stands_in(self, path: str, changed: Collection[str]) -> bool:
        """Return whether a file of tests imports another one of them.

        `path`: that of the file; `changed`: what else changes, as modules are called.
        """
        if any(map(_STANDS_IN.fullmatch, _PARTS.split(self.module))):
            return True
        of_python = path.endswith(".py")
        name = self.module.lstrip(".").replace(".", "/") if of_python else self.module
        if not self.module.startswith("."):  # in JavaScript, a package
            return of_python and name in changed
        ups = len(self.module) - len(self.module.lstrip(".")) - 1 if of_python else 0
        stem = re.sub(r"\.\w+$", "", normpath(PurePosixPath(path).parent / ("../" * ups) / name))
        return is_test(f"{stem}.js") or stem in changed


def list_imports(lines: Sequence[ViewLine], family: str) -> Iterator[TestImport]:
    """Yield the imports in these lines of a language that imports by name."""
    pattern = _IMPORTS.get(family)
    for line, text in join_imports(lines, family):
        if not (pattern and (found := pattern.match(text))):
            continue
        groups = found.groupdict()
        listed = groups.get("names") or groups.get("names2") or groups.get("modules") or ""
        module = groups.get("module") or groups.get("module2") or groups.get("modules") or ""
        names = {*NAME.findall(_BELOW.sub("", _ALIAS.sub("", listed)))}
        yield TestImport(line, module.strip(), frozenset(names - _NO_NAMES))


def join_imports(lines: Sequence[ViewLine], family: str) -> Iterator[tuple[ViewLine, str]]:
    """Yield each line with its text, and one that begins an import with that of all its lines."""
    opens, at = _OPENS.get(family), 0
    while at < len(lines):
        first = lines[at]
        text = first.text
        at += 1
        if opens and opens.match(text):
            end = at
            while end < min(len(lines), at + MOST_LINES) and not re.search(
                r"[)};]", lines[end].text
            ):
                end += 1
            text = " ".join((text, *(each.text for each in lines[at : end + 1])))[:LONGEST]
            at = end + 1
        yield first, text
