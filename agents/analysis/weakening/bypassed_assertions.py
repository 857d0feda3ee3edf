"""Find tests that stay but can no longer fail: what newly hides or bypasses their assertions.

So does what a change puts in the place of a program that runs tests, or of what all tests call.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from agents.analysis.weakening.bypassed_shell import find_bypassed_shell
from agents.analysis.weakening.diff_views import FileDiff, ViewLine, is_comment, list_fresh_lines
from agents.analysis.weakening.finding import Finding, make_finding
from agents.analysis.weakening.redefined_names import find_redefined_names
from agents.analysis.weakening.runner_detection import find_runner_detection
from agents.analysis.weakening.test_cases import ParsedTest
from agents.analysis.weakening.test_changes import ParsedSuite
from agents.analysis.which_are_tests import is_test

_BROAD = r"\b(?:Assert\w*|BaseException|Exception|StandardError|Throwable|Error)\b"
# Within a test that was there: it ends before its assertions, or nobody hears of them.
_INSIDE = re.compile(
    rf"""^\s*return(?:\s+(?:None|nil|null|undefined))?\s*;?$
      | ^\s*except\s*:|^\s*except\b.*{_BROAD}|^\s*rescue\s*$|^\s*rescue\b.*{_BROAD}
      | \bcatch\s*(?:\(\s*\w*\s*\)\s*)?\{{|\bcatch\s*\(.*{_BROAD}
      | \bsuppress\(.*{_BROAD}|[rR]aises\(\s*(?:AssertionError|BaseException)\b
      | ^\s*(?:if|while)\s+(?:False|0|None|not\s+True|TYPE_CHECKING)\s*:
      | ^\s*if\s*\(\s*(?:false|0|null)\s*\)
      | \b(?:sys\.exit|process\.exit)\s*\(\s*0?\s*\)
      | parametrize\(.*,\s*(?:\[\s*\]|\(\s*\))\s*[,)]""",
    re.VERBOSE,
)
# Above a test that was there: it is none any more, or may fail.
_ABOVE = re.compile(
    r"""^\s*@pytest\.fixture\b
      | ^\s*@(?:pytest\.mark\.)?(?:flaky|quarantined?|manual|broken|disabled)\b""",
    re.VERBOSE,
)
# Anywhere in a test file: it holds for more tests than one.
_WIDE = re.compile(
    r"""\b(?:os\._exit|pytest\.exit)\s*\(|\bos\.Exit\(0\)
      | ^\s*(?:async\s+)?def\s+pytest_(?:runtest_\w+|pyfunc_call|sessionfinish|report_teststatus
        |collection|collection_finish|collect\w*|pycollect\w*|itemcollected|deselected|cmdline_main
        |exception_interact)\s*\(
      | \b(?:assert|expect|refute)\w*(?:\.\w+){0,3}\s*=\s*
        (?:lambda\b|\w*Mock\b|None\b|print\b|function\b|async\b|\([\w,\s.]*\)\s*=>|\w+\s*=>
        |(?:jest|vi|sinon)\.\w+)
      | \b(?:setattr|patch(?:\.object)?)\s*\([^'"]{0,80}['"](?:\w+\.){0,8}assert\w+['"]
      | \bdef\s+assert(?:Equals?|NotEqual|True|False|Is(?:Not|None|NotNone)?|(?:Not)?In|Raises\w*
        |(?:Not)?AlmostEqual|Greater\w*|Less\w*|(?:Dict|List|Set|Tuple|Count|Sequence)Equal|Regex)\(
      | \bfailureException\s*=
      | ^del\s+.*\b[tT]est\w*|^[tT]est\w*\s*=\s*(?:None|False|True|0|lambda\b)""",
    re.VERBOSE,
)
# Python imports a module from the folder that it runs in before any package of its name, and a
# folder of programs may stand first on PATH: the tests pass then, whatever the product does.
_MODULES = frozenset(
    (
        *("pytest", "_pytest", "py", "pluggy", "unittest", "doctest", "nose", "nose2", "coverage"),
        *("tox", "nox", "hypothesis", "mypy", "ruff", "flake8", "pylint", "pyflakes", "xdist"),
    )
)
_PROGRAMS = frozenset(
    (
        *("pytest", "py.test", "python", "python3", "tox", "nox", "coverage", "mypy", "ruff"),
        *("node", "npm", "npx", "yarn", "pnpm", "bun", "deno", "jest", "vitest", "mocha", "tsc"),
        *("eslint", "go", "cargo", "rustc", "mvn", "gradle", "java", "ruby", "bundle", "rspec"),
        *("rake", "php", "phpunit", "pest", "composer", "mix", "elixir", "dotnet", "make", "cmake"),
        *("ctest", "meson", "ninja", "cc", "gcc", "clang", "bats", "prove", "perl", "git", "bash"),
        *("sh", "diff", "cmp", "grep", "timeout", "env"),
    )
)
_WRAPPERS = frozenset(("gradlew", "mvnw"))
_BINARIES = frozenset(("bin", ".bin", "sbin", "scripts", "tools"))
_HOOK = re.compile(
    r"^\s*(?:async\s+)?def\s+pytest_(?:runtest_\w+|pyfunc_call|sessionfinish|report_teststatus"
    r"|collection_modifyitems|deselected|cmdline_main)\s*\("
)
_FOR_ALL = re.compile(r"\bautouse\s*=\s*True\b")
_STARTS = re.compile(r"def\s+(?:pytest_(?:configure|sessionstart|load_initial_conftests))\b")
_GLOBAL = re.compile(
    r"^\s*(?:async\s+)?(?:def|class)\s+(\w+)|^([A-Za-z_]\w*)\s*(?::[^=]{0,80})?=(?!=)"
)
_REPLACES = re.compile(
    r"\b(?:setattr|patch\.object)\s*\(\s*[\w.]{1,120}\s*,\s*['\"](\w+)['\"]"
    r"|\b(?:setattr|patch)\s*\(\s*['\"](?:\w+\.){1,8}(\w+)['\"]"
    r"|^\s*\w+(?:\.\w+){0,6}\.(\w+)\s*=(?!=)"
)
_BUILD = re.compile(r"^//\s*(?:go:build|\+build)\s")


def find_bypassed_assertions(suites: Sequence[ParsedSuite]) -> Iterator[Finding]:
    """Yield what is new of that kind in these files."""
    yield from find_redefined_names(suites)
    for suite in suites:
        path = suite.change.path
        for line in (*_in_tests(suite), *_in_file(suite), *find_bypassed_shell(suite)):
            yield make_finding(path, line.number, "around", line.text)
        for case in _find_shadowed_tests(suite):
            yield make_finding(
                path, case.line, "around", f"{case.name} takes the place of one above it"
            )


def _in_tests(suite: ParsedSuite) -> Iterator[ViewLine]:
    for before, after in suite.pairs:
        if not after.name or after.head is None:
            continue
        for line in list_fresh_lines(before.lines, after.lines):
            pattern = _ABOVE if line.number < after.head.number else _INSIDE
            if pattern.search(line.text) or _empty_table(line.text):
                yield line


def _empty_table(text: str) -> bool:
    return "parametrize" in text and _INSIDE.search(text) is not None


def _in_file(suite: ParsedSuite) -> Iterator[ViewLine]:
    change = suite.change
    for line in list_fresh_lines(change.before, change.after):
        pattern = _BUILD if is_comment(line.text, change.language) else _WIDE
        if pattern.search(line.text) and (pattern is _WIDE or change.old is not None):
            yield line


def _find_shadowed_tests(suite: ParsedSuite) -> Iterator[ParsedTest]:
    """Yield the functions that Python puts in the place of others of their name."""
    if suite.change.language != "python":
        return
    left = Counter(case.name for case in suite.before if _of_module(case))
    seen: set[str] = set()
    for case in filter(_of_module, suite.after):
        if case.name in seen and left[case.name] < 2:
            yield case
        seen.add(case.name)


def _of_module(case: ParsedTest) -> bool:
    return case.head is not None and case.head.text[:1] in ("d", "a")


def find_stand_ins(changes: Sequence[FileDiff]) -> Iterator[Finding]:
    """Yield the files and lines by which tests may be about something else than the product.

    So they are where the product does for tests what it does for nobody else.
    """
    yield from find_runner_detection(changes)
    product = [each for each in changes if each.language == "python" and not is_test(each.path)]
    names = {name for change in product for name in _list_defined(change)}
    for change in changes:
        if change.new and _is_program(change):
            program = PurePosixPath(change.new).stem
            yield make_finding(change.path, 0, "around", f"it may run in the place of {program}")
    for change in product:
        equal = {
            one.number for one, below in pairwise(change.after) if _is_equal_to_all(one, below)
        }
        for line in list_fresh_lines(change.before, change.after):
            if _HOOK.search(line.text) or line.number in equal:
                yield make_finding(change.path, line.number, "around", line.text)
    for change in changes:
        if names and PurePosixPath(change.path).name == "conftest.py":
            for line in _list_replaced(change, names):
                yield make_finding(change.path, line.number, "around", line.text)


def _is_equal_to_all(line: ViewLine, below: ViewLine) -> bool:
    """Return whether a class says there that its things are equal to anything."""
    return "def __eq__(" in line.text and below.text.strip() == "return True"


def _is_program(change: FileDiff) -> bool:
    """Return whether a file is new that programs take for another, or one of these differs."""
    path = PurePosixPath(change.new or "")
    parts = path.parts
    if path.suffix == ".py" and change.old is None:
        module = path.parent.name if path.stem == "__init__" else path.stem
        return module in _MODULES
    if path.name in _WRAPPERS:
        return change.old is not None
    return path.name in _PROGRAMS and (len(parts) == 1 or not _BINARIES.isdisjoint(parts[:-1]))


def _list_defined(change: FileDiff) -> Iterator[str]:
    for line in change.after:
        if found := _GLOBAL.match(line.text):
            yield found[1] or found[2]


def _list_replaced(change: FileDiff, names: set[str]) -> Iterator[ViewLine]:
    """Yield the new lines that replace, for all tests, what the changed product defines."""
    fresh = {line.number for line in list_fresh_lines(change.before, change.after)}
    everywhere, decorated = True, False
    for line in change.after:
        text = line.text
        if text[:1] not in ("", " ", "\t", "#", ")"):
            decorated = decorated or bool(_FOR_ALL.search(text))
            if not text.startswith("@"):
                begins = text.startswith(("def ", "async def ", "class "))
                everywhere = not begins or decorated or bool(_STARTS.search(text))
                decorated = False
        elif _FOR_ALL.search(text):
            decorated = True
        found = _REPLACES.search(text) if everywhere and line.number in fresh else None
        if found and names & {*found.groups()}:
            yield line
