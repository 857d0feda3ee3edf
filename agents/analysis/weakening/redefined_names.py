"""Find what tests are about, defined anew: then they are about what the change wrote for them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from agents.analysis.weakening.assertions import Assertion, normalize
from agents.analysis.weakening.diff_views import FileDiff, ViewLine, list_fresh_lines
from agents.analysis.weakening.finding import Finding, make_finding
from agents.analysis.weakening.test_cases import ParsedTest
from agents.analysis.weakening.test_changes import ParsedSuite
from agents.analysis.weakening.test_imports import NAME, join_imports, list_imports

BETWEEN = 20  # lines between a name that is overwritten and the assertion about it
_NAMED = r"(?P<name>[A-Za-z_$][\w$]*)"
_DEFINES = {
    "python": re.compile(
        rf"^\s*(?:(?:async\s+)?def|class)\s+{_NAMED}\b"
        r"|^\s*(?:\(\s*)?(?P<name2>[A-Za-z_]\w*(?:\s*,\s*\*?\w+)*+)\s*,?\s*\)?\s*(?::[^=]*)?:?=(?!=)"
        r"|^\s*(?:async\s+)?for\s++(?P<name3>[\w\s,]{1,120}?)\sin\b"
        r"|\bglobals\(\)\[['\"](?P<name4>\w+)['\"]\]\s*="
    ),
    "script": re.compile(
        rf"^\s*(?:export\s+)?(?:async\s+)?(?:function\b\s*\*?|class|const|let|var)\s+{_NAMED}\b"
        r"|^\s*(?:const|let|var)\s+[{\[](?P<name2>[^=}\]]{0,200})[}\]]\s*="
        r"|^\s*(?P<name3>[A-Za-z_$][\w$]*)\s*=\s*(?:async\b|function\b|\([\w\s,]*\)\s*=>|\w+\s*=>"
        r"|(?:jest|vi|sinon)\.\w+)"
    ),
    "shell": re.compile(
        r"^\s*(?:function\s+(?P<name>[\w-]+)|(?P<name2>[\w-]+)\s*\(\)|alias\s+(?P<name3>[\w-]+)=)"
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
_SPACE = re.compile(r"[\s,*:]+")
_IMPORTED_AGAIN = re.compile(r"\b(?:require|import\w*|requireActual|importActual)\b")
_USED = {
    "ruby": re.compile(r"\b([A-Z]\w*)(?:\.|::)|\bdescribe\s+([A-Z]\w*)"),
    "go": re.compile(r"(?<![\w.])(\w+)\("),
    "shell": re.compile(
        r"(?:\$\(|`|^\s*run\s+(?:(?:!|-\S+)\s+)*)\s*([A-Za-z_][\w-]*)|^\s*(?:!\s+)?([A-Za-z_][\w-]*)\s[^=|]*\|"
    ),
}
"""What tests are about, in languages that import no names."""
_OVERWRITES = re.compile(
    r"^\s*(?:(?:const|let|var|my|local|final)\s+)?\$?(?P<name>[A-Za-z_]\w*)\s*:?=(?![=~>])\s*"
    r"(?P<value>[^=();#]{1,80}?)\s*;?\s*(?:#.*|//.*)?$"
)

_WRITES = re.compile(
    r"^\s*(?:(?:local|export|readonly)\s+)?(?P<name>[A-Za-z_]\w*)=[\"']?(?:\$\(|`)[^)`]*?"
    r"\b(?:echo|printf)\s+(?:-n\s+|['\"]?%s(?:\\n)?['\"]?\s+)?['\"]?(?P<value>[^)`'\"|;&$]{1,80}?)['\"]?"
    r"\s*[)`][\"']?\s*$"
)
"""A name of a shell that takes what is written for it."""
_GIVES_NOTHING = re.compile(
    r",\s*$|=\s*(?:None|null|undefined);?\s*$|^\s*(?:let|var)\s+[\w$]+;?\s*$"
)
"""An argument of a call, or what makes tests fail, or a name without a value."""
_DEFAULTS = re.compile(r"^\s*(?:async\s+)?def\s+\w+\(")
_DEFAULT = re.compile(r"\b(\w++)\s*(?::[^,=]*)?=(?!=)")
_MOCKS = re.compile(
    r"\b(?:jest|vi|vitest|mock|td)\.(?:mock|doMock|setMock|unstable_mockModule|module|replace)"
    r"\(\s*(?:import\(\s*)?['\"`]([^'\"`]+)"
    r"|\bsys\.modules\[\s*['\"]([\w.]+)['\"]\s*\]\s*="
)
"""Puts something in the place of a whole module, for all tests of a file."""
_PACKAGE = re.compile(r"(?!src/)(?:node:)?(?:@[\w.-]+/)?[A-Za-z][\w.-]*(?:/|$)")
"""What a file of JavaScript imports from elsewhere: neither a path nor an alias of one."""
_OF_TESTS = re.compile(
    r"[Tt]ests?|\w*TestCase|ParameterizedTest|it|describe|context|suite|expect|assert\w*|vi|jest"
    r"|(?i:before|after|setup|teardown)\w*|(?:Fake|Mock|Stub|Dummy)\w*"
)
"""Names of frameworks for tests, and of stand-ins: tests are not about them."""
_CALLS = re.compile(r"\b(\w+)\s*(?::[^=]{0,80})?:?=(?![=>])[^=]*\(")
"""A name that takes what a call returns."""
_SIGNS = re.compile(
    r"(?P<word>(?<![\w.$])[A-Za-z_$][\w$]*+(?![!(]))|(?P<called>(?<![\w$])[A-Za-z_$][\w$]*+!?)?(?P<sign>[()])"
)
_LOOKS = re.compile(
    r"(?i:\w*(?:assert|expect|verify|refute|should|equal|same|that|check|require)\w*!?)"
    r"|to(?:[A-Z_]\w*)?|(?:be|is|has|have|eql?|not|contains?|match|includes?|deep)(?:[A-Z_]\w*)?"
    r"|len|int|str|float|bool|list|tuple|set|dict|sorted|repr|abs|round|sum|type|isinstance|String"
    r"|Number|Boolean|BigInt|Array|Object|and|or|in|if|return|await"
)
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
    stems = {re.sub(r"\.\w+$", "", s.change.new) for s in suites if s.change.new}
    places = {part for stem in stems for part in _list_places(stem)}
    for suite in suites:
        if suite.change.old is None:
            continue
        fresh = _list_lines(suite)
        known = Counter(one.text for case in suite.before for one in case.asserted)
        kept = [one for case in suite.after for one in case.asserted if known[one.text]]
        found = [*_list_definitions(suite, fresh), *_list_exchanged(suite, fresh, places)]
        results = {name for each in suite.change.before for name in _CALLS.findall(each.text)}
        found += [*_list_overwritten(fresh, kept, results), *_list_replaced(fresh, kept)]
        for line in dict.fromkeys(found):
            yield make_finding(suite.change.path, line.number, "around", line.text)


def _list_places(stem: str) -> Iterator[str]:
    """Yield the names under which a module there may be imported."""
    parts = stem.split("/")
    yield from ("/".join(parts[at:]) for at in range(len(parts)))


def _list_lines(suite: ParsedSuite) -> list[ViewLine]:
    """Return the new lines that tests which were there before may be changed by.

    What a new test calls its own things is its own, as is what a call or a fixture is given.
    """
    kept = {id(after) for _, after in suite.pairs}
    new = [case for case in suite.after if case.name and id(case) not in kept]
    apart = {line.number for case in new for line in case.lines}
    apart |= {case.head.number for case in new if case.head}
    apart |= {line.number + 1 for line in suite.change.after if line.text.lstrip().startswith("@")}
    return [
        line
        for line in list_fresh_lines(suite.change.before, suite.change.after)
        if line.number not in apart and not _GIVES_NOTHING.search(line.text)
    ]


def _list_definitions(suite: ParsedSuite, fresh: Sequence[ViewLine]) -> Iterator[ViewLine]:
    """Yield the new lines that define a name of the product which tests use."""
    change = suite.change
    pattern = _DEFINES.get(change.language)
    if pattern is None:
        return
    about = _list_names(change.before, change.language)
    about -= {
        name
        for line in change.before
        if not _IMPORTED_AGAIN.search(line.text)
        for name in _read_names(pattern, line.text)
    }
    about &= _list_used(change)
    within = {line.number: case for _, case in suite.pairs if case.name for line in case.lines}
    methods = _list_methods(change) if change.language == "python" else frozenset()
    for line in fresh:
        defined = set() if line.number in methods else _read_names(pattern, line.text)
        names = about & (defined | _list_defaults(line.text, change.language))
        if case := within.get(line.number):  # its own thing, unless it uses the product's as well
            names &= _list_words(suite, case)
        if names and not _IMPORTED_AGAIN.search(line.text):
            yield line


def _list_words(suite: ParsedSuite, case: ParsedTest) -> set[str]:
    """Return the words of the lines of a test that it had before."""
    known = {line.text for line in suite.change.before}
    return {word for line in case.lines if line.text in known for word in NAME.findall(line.text)}


def _list_methods(change: FileDiff) -> frozenset[int]:
    """Return the lines of Python on which methods begin: they shadow nothing."""
    around = list[tuple[int, bool]]()
    methods = set()
    for line in change.after:
        plain = line.text.lstrip()
        if not plain or plain.startswith(("#", ")", "]", "}")):
            continue
        depth = len(line.text) - len(plain)
        while around and around[-1][0] >= depth:
            around.pop()
        if around and around[-1][1]:
            methods.add(line.number)
        if plain.startswith(("class ", "def ", "async def ")):
            around.append((depth, plain.startswith("class ")))
    return frozenset(methods)


def _list_exchanged(
    suite: ParsedSuite, fresh: Sequence[ViewLine], places: Collection[str]
) -> Iterator[ViewLine]:
    """Yield the new lines that take what tests are about from tests, or mock its whole module."""
    change, new = suite.change, {line.number for line in fresh}
    before = list_imports(change.before, change.language)
    used = _list_used(change)
    theirs = [each for each in before if not each.stands_in(change.path, ())]
    about = {name for each in theirs for name in each.names if not _OF_TESTS.fullmatch(name)} & used
    there = {(each.module, name) for each in theirs for name in each.names}
    for each in list_imports(change.after, change.language):
        taken = each.line.number in new and each.stands_in(change.path, places)
        if taken and any((each.module, name) not in there for name in each.names & about):
            yield each.line
    modules = {each.module for each in theirs if each.names & used}
    own = {module for module in modules if not _PACKAGE.match(module)}
    if change.language == "script" and own:  # what tests are about, they import as a file
        modules = own
    for line in fresh:
        found = _MOCKS.search(line.text)
        if found and (found[1] or found[2]) in modules:
            yield line


def _list_used(change: FileDiff) -> set[str]:
    """Return the words of the lines that were there before and are no imports."""
    kept = {line.text for line in change.after}
    imports = {each.line.number for each in list_imports(change.before, change.language)}
    return {
        word
        for line, text in join_imports(change.before, change.language)
        if text in kept and line.number not in imports
        for word in NAME.findall(text)
    }


def _read_names(pattern: re.Pattern[str], text: str) -> set[str]:
    """Return the names that a line defines."""
    found = pattern.search(text)
    listed = filter(None, found.groups()) if found else ()
    return {name for each in listed for name in _SPACE.split(each)}


def _list_defaults(text: str, family: str) -> set[str]:
    """Return the parameters of a function of Python that have values of their own."""
    starts = family == "python" and _DEFAULTS.match(text)
    return {*_DEFAULT.findall(text)} if starts else set()


def _list_names(lines: Sequence[ViewLine], family: str) -> set[str]:
    """Return the names of the product that tests use, as far as these lines say it."""
    if used := _USED.get(family):
        found_in = (found for line in lines for found in used.finditer(line.text))
        return {name for found in found_in for name in found.groups() if name}
    return {
        name for each in list_imports(lines, family) if not each.of_tests for name in each.names
    }


def _list_overwritten(
    fresh: Sequence[ViewLine], kept: Sequence[Assertion], results: Collection[str]
) -> Iterator[ViewLine]:
    """Yield the new lines that give a name the value which an old assertion wants of it.

    `results`: names that took what a call returned. Others may be what a call is given.
    """
    at: dict[int, list[str]] = {}
    for one in kept:
        at.setdefault(one.line, []).append(one.text)
    for line in fresh:
        found = _OVERWRITES.match(line.text) or _WRITES.match(line.text)
        value = normalize(found["value"]).strip("$\"'") if found else ""
        if found is None or not value or value == found["name"]:
            continue
        behind = (text for number in range(1, BETWEEN) for text in at.get(line.number + number, ()))
        name = found["name"]
        if any(
            _holds(text, name)
            and _holds(text, value)
            and (name in results or not _is_given(text, name))
            for text in behind
        ):
            yield line


def _is_given(text: str, name: str) -> bool:
    """Return whether an assertion only gives a name to what it calls, and asks what comes back."""
    within, places = list[bool](), list[bool]()
    for found in _SIGNS.finditer(text):
        if found["sign"] == "(":
            called = found["called"] or ""
            within.append(bool(called) and not _LOOKS.fullmatch(called))
        elif found["sign"]:
            within = within[:-1]
        elif found["word"] == name:
            places.append(any(within))
    return bool(places) and all(places)


def _list_replaced(fresh: Sequence[ViewLine], kept: Sequence[Assertion]) -> Iterator[ViewLine]:
    """Yield the new lines that put something in the place of what an old assertion calls."""
    called = {name for one in kept for name in _CALLED.findall(one.text)}
    for line in fresh:
        found = _REPLACES.search(line.text)
        if found and called & {*found.groups()}:
            yield line


def _holds(text: str, part: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(part)}(?!\w)", text) is not None
