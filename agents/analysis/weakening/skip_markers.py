"""Find tests that a change disables, and warnings that it silences, by the markers of languages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agents.analysis.weakening.diff_views import FileDiff, ViewLine
from agents.analysis.weakening.finding import Finding, make_finding
from agents.analysis.weakening.test_cases import ParsedTest
from agents.analysis.weakening.test_changes import ParsedSuite

FILE = ""  # a mark of no test counts for the whole file

_SKIPS = re.compile(
    r"""@?pytest\.mark\.(?P<pytest>skip(?:if)?|xfail)\b
      | \bpytest\.(?P<call>skip|xfail|importorskip)\s*\(
      | @(?:unittest\.)?(?P<unittest>skip(?:If|Unless)?|expectedFailure)\b
      | \bself\.(?P<method>skipTest)\s*\(
      | \braise\s+(?:unittest\.)?(?P<raised>SkipTest)\b
      | (?P<attribute>__test__\s*=\s*False|collect_ignore(?:_glob)?\b|pytest_ignore_collect
            |pytest_collection_modifyitems|load_tests\b)
      | @(?P<jvm>Disabled\w*|Ignore\b|EnabledIf\w*|EnabledOn\w*|Test\s*\(\s*enabled\s*=\s*false)
      | \b(?P<assume>assume(?:True|False|That|NoException)|Assume\.\w+)\s*\(
      | \#\[\s*(?P<rust>ignore)\b | \#\[cfg_attr\([^\]]*\b(?P<rust2>ignore)\b
      | (?P<dotnet>\bSkip\s*=|^\s*\[(?:Ignore|Explicit)\b|Assert\.(?:Ignore|Inconclusive))
      | \b(?:it|test|describe|context|suite|specify|scenario)(?:\.\w+)*
            \.(?P<script>skip|todo|fixme|failing|fails|skipIf|runIf)\b
      | ^\s*(?P<xed>x(?:it|test|describe|context|specify)|pit)\s*\(?\s*['"`]
      | \b(?P<this>this\.skip)\s*\( | \bDeno\.test\.(?P<deno>ignore)\b
      | \b(?:t|b|tb|s)\.(?P<go>Skip(?:Now|f)?)\s*\(
      | (?P<build>^//\s*(?:go:build|\+build)\s+ignore)
      | \$this->(?P<php>markTest(?:Skipped|Incomplete))\s*\( | ->(?P<pest>skip|todo)\(
      | ^\s*(?P<ruby>skip|pending)\b(?!\s*=) | [,{]\s*:(?P<symbol>skip|pending)\b
      | \b(?P<option>skip|pending|ignore|disabled):\s*(?:true|['"])
      | @(?:module|describe)?tag\s+:?(?P<elixir>skip)\b
      | \b(?P<c>GTEST_SKIP|DISABLED_(?=\w)|XCTSkip\w*|BOOST_AUTO_TEST_CASE_EXPECTED_FAILURES)
      | \#\s*doctest:\s*(?P<doctest>\+SKIP)
      | \.(?P<swift>disabled)\(""",
    re.VERBOSE,
)
_FOCUS = re.compile(
    r"""\b(?:it|test|describe|context|suite|specify|Deno\.test)(?:\.\w+)*\.only\b
      | ^\s*f(?:it|describe|context|specify)\s*\(?\s*['"`]
      | [,{]\s*:focus\b | \bfocus:\s*true | \bsolo:\s*true | @(?:module)?tag\s+:focus""",
    re.VERBOSE,
)
_CONDITIONAL = re.compile(
    r"skipif|skipIf|skipUnless|importorskip|runIf|Enabled|DisabledO|DisabledIf|[aA]ssume|cfg_attr"
)
_ALWAYS = re.compile(r"(?:skipif|skipIf)\s*\(\s*(?:True|true|1)\b|skipUnless\s*\(\s*(?:False|0)\b")

# The comment or attribute; whether it holds for a whole file.
_SILENCERS: tuple[tuple[re.Pattern[str], bool], ...] = tuple(
    (re.compile(pattern), wide)
    for pattern, wide in (
        (r"#\s*(?:ruff|flake8)\s*:\s*noqa\b.*", True),
        (r"#\s*mypy\s*:\s*[\w-]+.*", True),
        (r"#\s*pyright\s*:\s*(?!ignore)[\w-]+.*", True),
        (r"#\s*pylint\s*:\s*skip-file", True),
        (r"/\*\s*eslint-disable(?!-)[^*]*", True),
        (r"@ts-nocheck\b", True),
        (r"#!\[\s*(?:allow|expect)\([^\]]*", True),
        (r"@file:Suppress\b.*", True),
        (r"//\s*ignore_for_file:.*", True),
        (r"#\s*noqa\b(?::\s*[A-Z]+\d+(?:[,\s]+[A-Z]+\d+)*)?", False),
        (r"#\s*type:\s*ignore\b(?:\[[^\]]*\])?", False),
        (r"#\s*(?:pyright|ty|pyre|pyrefly)\s*:\s*ignore\b", False),
        (r"#\s*pyre-(?:ignore|fixme)\b", False),
        (r"#\s*pylint\s*:\s*disable[^#]*", False),
        (r"#\s*pragma:\s*no\s*(?:cover|branch)\b", False),
        (r"#\s*nosec\b", False),
        (r"eslint-disable-(?:next-)?line\b[^*]*", False),
        (r"@ts-(?:ignore|expect-error)\b", False),
        (r"\b(?:istanbul|c8|v8|node:coverage)\s+(?:ignore|disable)\b", False),
        (r"\b(?:biome|oxlint|deno-lint|phpcs|coverage|hadolint)[-:]?\s*ignore[-\w]*", False),
        (r"\b(?:tslint|stylelint|phpcs)[-:]\s*disable[-\w]*", False),
        (r"//\s*nolint\b[:\w,-]*", False),
        (r"#\[\s*(?:allow|expect)\([^\]]*", False),
        (r"#\s*rubocop:(?:disable|todo)\b.*", False),
        (r"@SuppressWarnings\b|@Suppress\(|@SuppressLint\b|SuppressMessage\b", False),
        (r"\bNOSONAR\b|\bNOLINT\w*|LCOV_EXCL_\w+|GCOVR_EXCL_\w+", False),
        (r"#pragma\s+(?:warning\s+disable|(?:GCC|clang) diagnostic ignored).*", False),
        (r"\[\s*ExcludeFromCodeCoverage", False),
        (r"@phpstan-ignore[-\w]*|@psalm-suppress\b|@codeCoverageIgnore\w*|@noinspection\b", False),
        (r"swiftlint:disable\b.*|ktlint-disable\b|credo:disable[-\w]*", False),
        (r"#\s*shellcheck\s+disable=\S+", False),
        (r"//\s*ignore:.*", False),
        (r"#\s*nocov\b", False),
    )
)  # fmt: skip
# Nearly all lines hold none of these words, and looking for them is quick.
_SILENT = re.compile(
    r"noqa|ignore|disable|allow|expect|suppress|nocheck|pragma|nosec|nocov|NOLINT|NOSONAR|nolint"
    r"|EXCL|Exclude|mypy|pyright|pylint|rubocop|fixme|noinspection",
    re.IGNORECASE,
)
_SWITCHED = re.compile(
    r"skip|xfail|expectedFailure|__test__|collect|load_tests|disabled|ignore|enabled|assum|explicit"
    r"|inconclusive|todo|fixme|fail|runIf|Incomplete|pending|only|focus|solo|^\s*[xfp][a-z]+",
    re.IGNORECASE,
)
_PROSE = re.compile(r"\.(?:md|markdown|rst|txt|adoc|html?|ipynb|lock|svg|snap|ambr)$")


@dataclass(frozen=True)
class SkipMarker:
    """One mark, and the test it is for."""

    word: str
    line: int
    text: str
    case: str
    focus: bool
    conditional: bool


@dataclass(frozen=True)
class Silencer:
    """One comment or attribute that silences a tool."""

    word: str
    line: int
    text: str
    wide: bool
    """Whether it holds for a whole file."""


def find_disabled(suites: Sequence[ParsedSuite]) -> Iterator[Finding]:
    """Yield the marks that are new: on tests that were there, or that leave out all others."""
    names = _names(suites)
    before = Counter((m.word, m.case) for suite in suites for m in find_marks(suite.before))
    paired = {id(after) for suite in suites for _, after in suite.pairs}
    for suite in suites:
        old = {case.name for case in suite.after if id(case) in paired}
        # What a new conftest.py switches off was there before it.
        new_file = suite.change.old is None and not suite.change.path.endswith("conftest.py")
        for mark in find_marks(suite.after):
            was = names.get(mark.case, mark.case)
            if before[mark.word, was]:
                before[mark.word, was] -= 1
                continue
            new = new_file if mark.case == FILE else mark.case not in old
            yield from _report_marker(suite.change.path, mark, new=new)


def find_silencers(changes: Sequence[FileDiff]) -> Iterator[Finding]:
    """Yield what is new of the comments and attributes that silence a tool."""
    before = Counter(s.word for c in changes for s in list_silencers(c.old or "", c.before))
    for change in changes:
        for each in list_silencers(change.path, change.after):
            if before[each.word]:
                before[each.word] -= 1
            else:
                yield make_finding(change.path, each.line, "suppressed", each.text, grave=each.wide)


def _report_marker(path: str, mark: SkipMarker, *, new: bool) -> Iterator[Finding]:
    if mark.focus:
        yield make_finding(path, mark.line, "focused", mark.text)
    elif not new:
        yield make_finding(path, mark.line, "skipped", mark.text)
    elif not mark.conditional:  # a new test that never runs proves nothing, but takes nothing away
        yield make_finding(path, mark.line, "skipped", mark.text, grave=False)


def _names(suites: Sequence[ParsedSuite]) -> dict[str, str]:
    """Return the old name of each test that has another one now."""
    pairs: list[tuple[ParsedTest, ParsedTest]] = [pair for suite in suites for pair in suite.pairs]
    return {after.name: before.name for before, after in pairs if after.name != before.name}


def find_marks(found: Sequence[ParsedTest]) -> Iterator[SkipMarker]:
    """Yield the marks on the tests of a view, and those on its file."""
    for case in found:
        for line in [case.head, *case.lines] if case.head else case.lines:
            mark = _mark(line, case.name)
            if mark is not None:
                yield mark


def list_silencers(path: str, lines: Sequence[ViewLine]) -> Iterator[Silencer]:
    """Yield what silences tools in a file that is no prose."""
    if _PROSE.search(path):
        return
    for line in lines:
        if not line.number or not _SILENT.search(line.text):
            continue
        for pattern, wide in _SILENCERS:
            found = pattern.search(line.text)
            if found:
                word = " ".join(found[0].split()).rstrip(" */")
                yield Silencer(word, line.number, line.text, wide)
                break


def _mark(line: ViewLine, case: str) -> SkipMarker | None:
    if not _SWITCHED.search(line.text):
        return None
    focus = _FOCUS.search(line.text)
    found = focus or _SKIPS.search(line.text)
    if found is None:
        return None
    whole_file = "pytestmark" in line.text or "allow_module_level" in line.text
    word = "only" if focus else next(each for each in found.groups() if each)
    conditional = bool(_CONDITIONAL.search(line.text)) and not _ALWAYS.search(line.text)
    if not conditional and word in ("skipif", "skipIf", "skipUnless"):
        word = "skip"
    return SkipMarker(
        word, line.number, line.text, FILE if whole_file else case, bool(focus), conditional
    )
