"""Find the tests in a file by name, in the notations of the big languages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from agents.analysis.weakening.assertions import Assertion, find_assertions
from agents.analysis.weakening.diff_views import ViewLine, list_code
from agents.analysis.weakening.shell_assertions import find_shell_assertions

_TITLE = r"\(?\s*(?P<quote>['\"`])(?P<name>(?:\\.|(?!(?P=quote)).)*)"
_SCRIPT_CASE = (
    r"^\s*(?:Deno\.)?(?:x|f|p)?(?:it|test|describe|context|suite|specify|scenario)"
    r"(?:\.\w+)*(?:\.each\s*[(`].*[)`])?\s*\(\s*"
    r"(?P<quote>['\"`])(?P<name>(?:\\.|(?!(?P=quote)).)*)"
)
_RUBY_CASE = rf"^\s*(?:x|f)?(?:it|specify|test|scenario|should|describe|context)\s*{_TITLE}"
_METHOD = r"(?:^|\s)(?P<name>`[^`]+`|\w+)\s*\("

_DIRECT: dict[str, re.Pattern[str]] = {
    family: re.compile(pattern)
    for family, pattern in {
        "python": r"^\s*(?:(?:async\s+)?def\s+(?P<name>test\w*)\s*[\(\[]"
        r"|class\s+(?P<name2>Test\w*|\w+Tests?)\b)",
        "script": _SCRIPT_CASE,
        "go": r"^func\s+(?:\([^)]*\)\s*)?(?P<name>(?:Test|Fuzz|Example)\w*)\s*\(",
        "ruby": rf"{_RUBY_CASE}|^\s*def\s+(?P<name2>test_\w+[?!]?)",
        "elixir": rf"^\s*(?:test|describe|property)\s*{_TITLE}",
        "php": rf"^(?:[\w\s]*\bfunction\s+(?P<name2>test\w*)\s*\(|\s*(?:it|test|describe){_TITLE})",
        "swift": r"^(?:\s*@Test.*|[\w\s]*)\bfunc\s+(?P<name>test\w*)\s*\(",
        "dart": rf"^\s*(?:test|testWidgets|group)\s*{_TITLE}",
        "c": r"^\s*(?:TEST(?:_F|_P)?|TYPED_TEST\w*|BOOST_\w*TEST_CASE|TEST_CASE|SCENARIO|SECTION)"
        r"\s*\(\s*(?:DISABLED_)?(?P<name>[^)]+?)\s*[,)]\s*(?:\w+\s*\)\s*)?",
        "shell": rf"^\s*(?:@test\s+{_TITLE}|(?P<name2>test_\w+)\s*\(\))",
        "jvm": r"^\s*(?:public\s+)?void\s+(?P<name>test\w*)\s*\(",
    }.items()
}
_C_NAMES = re.compile(r"^\s*\w+\s*\(\s*(?P<name>[^)]*)")

# Where an attribute in a line above makes a function a test.
_MARKED: dict[str, re.Pattern[str]] = {
    "rust": re.compile(r"^\s*#\[\s*(?:\w+::)*(?:test|rstest|test_case|quickcheck|proptest)\b"),
    "jvm": re.compile(r"^\s*@(?:Test|ParameterizedTest|RepeatedTest|Property|TestFactory)\b"),
    "dotnet": re.compile(
        r"^\s*\[(?:\w+,\s*)*(?:Fact|Theory|Test|TestMethod|TestCase|DataTestMethod)\b"
    ),
    "php": re.compile(r"^\s*(?:#\[Test\b|/?\*+\s*@test\b)"),
    "swift": re.compile(r"^\s*@Test\b"),
}
_FUNCTIONS: dict[str, re.Pattern[str]] = {
    "rust": re.compile(r"^\s*(?:pub\s+)?(?:async\s+)?fn\s+(?P<name>\w+)"),
    "php": re.compile(r"\bfunction\s+(?P<name>\w+)\s*\("),
    "swift": re.compile(r"\bfunc\s+(?P<name>`[^`]+`|\w+)\s*\("),
}
_ANNOTATION = re.compile(r"^\s*[@\[#]")
_TEXT = re.compile(r"'(?:\\.|[^'\\])*+'|\"(?:\\.|[^\"\\])*+\"|#.*$")
LONGEST_DECORATION = 60  # lines
NEAR = 8  # lines between an attribute and its function
_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass
class ParsedTest:
    """One test as a view shows it."""

    name: str
    line: int
    lines: list[ViewLine] = field(default_factory=list, repr=False)
    """Its code, and that of nothing else, but for the line that names it."""
    head: ViewLine | None = None
    """The line that names it."""
    family: str = ""
    """The family of languages that it is written in."""

    @cached_property
    def tokens(self) -> Counter[str]:
        """Return the words and signs of its code, without the rows that decorate it."""
        first = self.head.number if self.head else 0
        own = (ln for ln in self.lines if ln.number >= first or _ANNOTATION.match(ln.text))
        return Counter(token for line in own for token in _TOKEN.findall(line.text))

    @cached_property
    def asserted(self) -> list[Assertion]:
        """Return its assertions."""
        find = find_shell_assertions if self.family == "shell" else find_assertions
        return list(find(self.lines))


def make_nameless_test(family: str = "") -> ParsedTest:
    """Return what stands in no test, as a test without a name."""
    return ParsedTest("", 0, family=family)


def list_cases(lines: tuple[ViewLine, ...], family: str) -> list[ParsedTest]:
    """Return the tests of a view in order; first what stands outside of them all.

    A line belongs to the test that begins above it. What decorates a test belongs to it as well.
    """
    made = [make_nameless_test(family)]
    waiting: list[ViewLine] = []  # decorations of the test that comes next
    marked = depth = 0
    for line in list_code(lines, family):
        if not line.number:
            waiting, marked, depth = [], 0, 0
            made.append(_gap(line, family))
            continue
        name, marked = _parse_test_name(line.text, family, marked)
        if name:
            made.append(ParsedTest(name, line.number, waiting, line, family))
            waiting, depth = [], 0
        elif depth > 0 or (_ANNOTATION.match(line.text) and family in ("python", *_MARKED)):
            waiting.append(line)
            depth += _count_open(line.text) if len(waiting) < LONGEST_DECORATION else -depth
        else:
            made[-1].lines += [*waiting, line]
            waiting = []
    return made


def select_tests(found: Sequence[ParsedTest]) -> Iterator[ParsedTest]:
    """Yield those that are tests: begun within the view, and not only continued there."""
    return (case for case in found if case.line)


def measure_test_similarity(one: ParsedTest, other: ParsedTest) -> float:
    """Return how much two tests have in common, from 0 to 1."""
    mine, theirs = one.tokens, other.tokens
    total = mine.total() + theirs.total()
    return 2 * (mine & theirs).total() / total if total else 0.0


def name_in(text: str, family: str) -> str:
    """Return the name of the test that a line begins; empty if it begins none."""
    found = _DIRECT[family].match(text) if family in _DIRECT else None
    if found is None:
        return ""
    if family == "c":
        names = _C_NAMES.match(text)
        return "".join((names or found)["name"].replace("DISABLED_", "").split())
    groups = found.groupdict()
    return groups.get("name") or groups.get("name2") or ""


def _parse_test_name(text: str, family: str, marked: int) -> tuple[str, int]:
    """Return the name of the test that the line begins, and how long an attribute still holds."""
    name = name_in(text, family)
    if name:
        return name, 0
    mark = _MARKED.get(family)
    if mark is not None and mark.match(text):
        return (found, 0) if (found := _function(text, family)) else ("", NEAR)
    if marked and (found := _function(text, family)):
        return found, 0
    return "", max(marked - 1, 0)


def _function(text: str, family: str) -> str:
    if family in _FUNCTIONS:
        found = _FUNCTIONS[family].search(text)
    else:
        found = None if _ANNOTATION.match(text) else re.search(_METHOD, text)
    return found["name"] if found else ""


def _count_open(text: str) -> int:
    """Return how many more brackets a line of a decoration opens than it closes."""
    plain = _TEXT.sub("", text)
    return sum(map(plain.count, "([{")) - sum(map(plain.count, ")]}"))


def _gap(line: ViewLine, family: str) -> ParsedTest:
    """Return the test in which git says the next lines stand, as far as it can know."""
    return ParsedTest(name_in(line.text, family), 0, family=family)
