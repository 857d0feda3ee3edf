"""Parse tables of test parameters: the rows that one test runs with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from agents.analysis.weakening.assertions import normalize
from agents.analysis.weakening.diff_views import ViewLine
from agents.analysis.weakening.test_cases import ParsedTest

_OPENS = re.compile(
    r"""parametrize\s*\( | \.each\s*[(`] | \b(?:cases?|tests?|table|tt|tcs|testCases|scenarios)
        \s*(?::=|=|:)\s*(?:\[|map|\(|\{|vec!|&?\[) | @(?:CsvSource|ValueSource|MethodSource)\b
      | parameterized\.expand | DataProvider | \bsubTest\b
      | ^\s*(?:async\s+)?for\b.*\b(?:of|in)\s+[(\[{]+\s*$ | ^\s*for\b.*\brange\s+(?:\[|map\b)""",
    re.VERBOSE,
)
_ROW_ALONE = re.compile(
    r"^\s*(?:\[\s*(?:InlineData|TestCase|DataRow)\s*\(|#\[\s*(?:case|test_case)\b"
    r"|@(?:example|TestWith)\b|#\[TestWith\b|pytest\.param\()"
)
_ROW = re.compile(r"^\s*(?:[(\[{\"'\d-]|pytest\.param\(|\w+\s*[({]|None\b|True\b|False\b|\|)")
_LOOPS = re.compile(r"\bfor\b|\bparametrize\b|\.each\b|\bdo\b|#\[case|InlineData|TestCase|Source\b")
_TEXTS = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"")
_CLOSES = re.compile(r"^\s*[)\]}]+[,;:]?\s*(?:\{.*)?$")


def list_rows(case: ParsedTest) -> Counter[str]:
    """Return the rows of the tables in a test or above it, without their formatting."""
    return Counter(normalize(line.text) for line in _rows(case.lines))


def row_lines(case: ParsedTest) -> dict[str, ViewLine]:
    """Return the rows with the lines on which they stand."""
    return {normalize(line.text): line for line in _rows(case.lines)}


def has_loop(lines: Sequence[ViewLine]) -> bool:
    """Return whether something in these lines has one test do the work of several."""
    return any(_LOOPS.search(line.text) or _OPENS.search(line.text) for line in lines)


def _rows(lines: Sequence[ViewLine]) -> Iterator[ViewLine]:
    depth = 0
    for line in lines:
        text = _TEXTS.sub('""', line.text)
        change = sum(text.count(s) for s in "([{") - sum(text.count(s) for s in ")]}")
        inside = depth > 0 and _ROW.match(line.text) and not _CLOSES.match(line.text)
        if inside or _ROW_ALONE.match(line.text):
            yield line
        elif depth <= 0 and _OPENS.search(line.text):
            depth = max(change, 0)
            continue
        depth = depth + change if depth > 0 else 0
