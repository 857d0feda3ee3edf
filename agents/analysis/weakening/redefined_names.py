"""Find what tests are about, defined anew: then they are about what the change wrote for them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from agents.analysis.weakening.assertions import Assertion, normalize
from agents.analysis.weakening.diff_views import FileDiff, ViewLine, list_fresh_lines
from agents.analysis.weakening.finding import Finding, make_finding
from agents.analysis.weakening.test_changes import ParsedSuite

BETWEEN = 20  # lines between a name that is overwritten and the assertion about it
MOST_LINES, LONGEST = 40, 2_000  # lines and characters of one import

_NAMED = r"(?P<name>[A-Za-z_$][\w$]*)"
_OF_TESTS = re.compile(
    r"tests?\b|\w*test\w*|conftest|\w*(?:helper|fixture|factor|mock|stub|fake|support|util)\w*",
    re.IGNORECASE,
)
"""Modules that belong to tests: what is taken from them is not what tests are about."""
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
_PLAIN = re.compile(r"[A-Za-z_$][\w$]*")
_DEFINES = {
    "python": re.compile(
        rf"^(?:(?:async\s+)?def|class)\s+{_NAMED}\b|^\s*(?P<name2>[A-Za-z_]\w*)\s*(?::[^=]*)?=(?!=)"
    ),
    "script": re.compile(
        rf"^\s*(?:export\s+)?(?:async\s+)?(?:function\b\s*\*?|class|const|let|var)\s+{_NAMED}\b"
    ),
    "jvm": re.compile(
        rf"\b(?:class|record|object|enum|interface|fun)\s+{_NAMED}\b"
        r"|^\s*(?:\w+\s+){0,4}static\s+[\w<>\[\], ]{1,80}\s(?P<name2>\w+)\s*\("
    ),
    "php": re.compile(rf"^\s*(?:(?:final|abstract)\s+)?(?:class|function)\s+{_NAMED}\b"),
    "rust": re.compile(rf"^\s*(?:pub\s+)?(?:fn|struct|enum|const|static)\s+{_NAMED}\b"),
    "ruby": re.compile(r"^class\s+(?P<name>[A-Z]\w*)|^\s*def\s+(?P<name2>[A-Z]\w*)\."),
    "go": re.compile(rf"^\s*(?:var\s+)?{_NAMED}\s*:?=\s*func\b"),
}
_IMPORTED_AGAIN = re.compile(r"\b(?:require|import\w*|requireActual|importActual)\b")
_USED = {
    "ruby": re.compile(r"\b([A-Z]\w*)(?:\.|::)|\bdescribe\s+([A-Z]\w*)"),
    "go": re.compile(r"(?<![\w.])(\w+)\("),
}
"""What tests are about, in languages that import no names."""
_OVERWRITES = re.compile(
    r"^\s*(?:(?:const|let|var|my|local|final)\s+)?\$?(?P<name>[A-Za-z_]\w*)\s*:?=(?![=~>])\s*"
    r"(?P<value>[^=();#]{1,80}?)\s*;?\s*(?:#.*|//.*)?$"
)

_GIVES_NOTHING = re.compile(r",\s*$|=\s*(?:None|null|undefined);?\s*$")
"""An argument of a call, or what makes tests fail."""
_CALLED = re.compile(r"\b(\w+)\(")
_REPLACES = re.compile(
    r"^\s*\w+(?:\.\w+){0,6}\.(\w+)\s*=\s*(?:lambda\b|function\b|async\b|\w*Mock\b|\([\w,\s.]*\)\s*=>|\w+\s*=>)"
    r"|\b(?:setattr|patch\.object|spyOn|stub)\s*\(\s*[\w.]+\s*,\s*['\"](\w+)['\"]"
    r"|\bpatch\s*\(\s*['\"](?:\w+\.){1,8}(\w+)['\"]"
)


def find_redefined_names(suites: Sequence[ParsedSuite]) -> Iterator[Finding]:
    """Yield the names that tests import or call, and that are the tests' own now.

    So are names that take the value which is wanted of them, right before they are asserted.
    """
    for suite in suites:
        if suite.change.old is None:
            continue
        fresh = _list_lines(suite)
        known = Counter(one.text for case in suite.before for one in case.asserted)
        kept = [one for case in suite.after for one in case.asserted if known[one.text]]
        found = (*_list_definitions(suite, fresh), *_list_overwritten(fresh, kept))
        for line in dict.fromkeys((*found, *_list_replaced(fresh, kept))):
            yield make_finding(suite.change.path, line.number, "around", line.text)


def _list_lines(suite: ParsedSuite) -> list[ViewLine]:
    """Return the new lines that tests which were there before may be changed by.

    What a new test calls its own things is its own, as is what a call or a fixture is given.
    """
    kept = {id(after) for _, after in suite.pairs}
    new = [case for case in suite.after if case.name and id(case) not in kept]
    apart = {line.number for case in new for line in case.lines}
    apart |= {line.number + 1 for line in suite.change.after if line.text.lstrip().startswith("@")}
    return [
        line
        for line in list_fresh_lines(suite.change.before, suite.change.after)
        if line.number not in apart and not _GIVES_NOTHING.search(line.text)
    ]


def _list_definitions(suite: ParsedSuite, fresh: Sequence[ViewLine]) -> Iterator[ViewLine]:
    change = suite.change
    pattern = _DEFINES.get(change.language)
    if pattern is None:
        return
    about = _list_names(change.before, change.language)
    about -= {name for line in change.before for name in _read_names(pattern, line.text)}
    about &= _list_used(change)
    for line in fresh:
        if about & _read_names(pattern, line.text) and not _IMPORTED_AGAIN.search(line.text):
            yield line


def _list_used(change: FileDiff) -> set[str]:
    """Return the words of the lines that were there before and are no imports."""
    imports = _IMPORTS.get(change.language)
    kept = {line.text for line in change.after}
    return {
        word
        for text in _join_imports(change.before, change.language)
        if text in kept and not (imports and imports.match(text))
        for word in _PLAIN.findall(text)
    }


def _read_names(pattern: re.Pattern[str], text: str) -> set[str]:
    """Return the names that a line defines."""
    found = pattern.search(text)
    names = found.groupdict() if found else {}
    return {each for each in (names.get("name"), names.get("name2")) if each}


def _list_names(lines: Sequence[ViewLine], family: str) -> set[str]:
    """Return the names of the product that tests use, as far as these lines say it."""
    if used := _USED.get(family):
        found_in = (found for line in lines for found in used.finditer(line.text))
        return {name for found in found_in for name in found.groups() if name}
    pattern = _IMPORTS[family]
    names = set[str]()
    for text in _join_imports(lines, family):
        groups = found.groupdict() if (found := pattern.match(text)) else {}
        module = groups.get("module") or groups.get("module2") or ""
        listed = groups.get("names") or groups.get("names2") or groups.get("modules") or ""
        if not any(_OF_TESTS.fullmatch(part) for part in re.split(r"[./:\\]+", module)):
            names |= {*_PLAIN.findall(_BELOW.sub("", _ALIAS.sub("", listed)))}
    return names - {"from", "type"}  # words of an import, not names


def _join_imports(lines: Sequence[ViewLine], family: str) -> Iterator[str]:
    opens, at = _OPENS.get(family), 0
    while at < len(lines):
        text = lines[at].text
        at += 1
        if opens and opens.match(text):
            end = at
            while end < min(len(lines), at + MOST_LINES) and not re.search(
                r"[)};]", lines[end].text
            ):
                end += 1
            text = " ".join((text, *(each.text for each in lines[at : end + 1])))[:LONGEST]
            at = end + 1
        yield text


def _list_overwritten(fresh: Sequence[ViewLine], kept: Sequence[Assertion]) -> Iterator[ViewLine]:
    """Yield the new lines that give a name the value which an old assertion wants of it."""
    at: dict[int, list[str]] = {}
    for one in kept:
        at.setdefault(one.line, []).append(one.text)
    for line in fresh:
        found = _OVERWRITES.match(line.text)
        value = normalize(found["value"]).strip("$\"'") if found else ""
        if found is None or not value or value == found["name"]:
            continue
        behind = (text for number in range(1, BETWEEN) for text in at.get(line.number + number, ()))
        if any(_holds(text, found["name"]) and _holds(text, value) for text in behind):
            yield line


def _list_replaced(fresh: Sequence[ViewLine], kept: Sequence[Assertion]) -> Iterator[ViewLine]:
    """Yield the new lines that put something in the place of what an old assertion calls."""
    called = {name for one in kept for name in _CALLED.findall(one.text)}
    for line in fresh:
        found = _REPLACES.search(line.text)
        if found and called & {*found.groups()}:
            yield line


def _holds(text: str, part: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(part)}(?!\w)", text) is not None
