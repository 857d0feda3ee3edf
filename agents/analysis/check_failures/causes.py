"""Find what a run of tests says of why a test failed: the first lines of it, for people."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from agents.analysis.check_failures.reported import ALL_OF_IT
from agents.analysis.failure_cause import find_cause

MOST_LINES = 3  # of one test
LONGEST = 200  # characters of a line
LONGEST_TRACE = 1_000  # and of one in which places are looked for
READ = 2_000  # lines of the output
BLOCK = 60  # lines after a test's name in which its cause is looked for

_PARTS = re.compile("::| [\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}>] |[./ ]")
"""What runners put between a file, a suite, a class and a test."""
_RULE = re.compile(r"\s*(?:[=_⎯-]{3}|FAILED |PASS\b|FAIL\b|Test Suites:|Tests?\b.{0,20}\d)")
"""What begins another part of the output."""
_LISTED = re.compile(r"(?:FAILED|ERROR) \S|\d{1,9} (?:failed|passed)\b")
"""A line of a list of what failed, or of how many: nothing below it is about one test."""
_SAYS = re.compile(
    r"^E\s{2}|\b\w{0,60}(?:Error|Exception|Failure)\b\S{0,40}:?\s\S|\bpanicked\b|\bundefined\b"
    r"|\bFailed asserting\b|\b(?:expected|received|actual|left|right|got|want)\b ?[:=]"
    r"|\b(?:got|want) \S",
    re.IGNORECASE,
)
_ASSERTS = re.compile(r"assert|\b(?:cannot|could not|not found|no such|is not)\b", re.IGNORECASE)
_OF_PYTEST = re.compile(r"^E\s{2,}")
_IN_PYTHON = re.compile(r'File "([^"\n]{1,200})", line (\d{1,7})')
_BETWEEN = re.compile(r"[\s()\[\]{}<>'\",;|]+")
_PLACE = re.compile(r"(?:file://)?([^:]{1,200}):(\d{1,7})(?::\d{1,7})?[:.]?")
_FOREIGN = re.compile(
    r"(?:^|/)(?:node_modules|site-packages|dist-packages|vendor|pkg/mod|registry/src|lib/python\S{1,5})/"
)
"""Folders with packages of others: a file there is none of the repository's, whatever its name."""


def find_test_causes(output: str, names: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the first lines of why each of these tests failed; nothing where none is found.

    Whatever the tests write is in there: untrusted, and bounded.
    """
    lines = [line[:LONGEST].rstrip() for line in output.splitlines()[:READ]]
    titles = {name: _find_titles(lines, name) for name in names}
    every = {number for found in titles.values() for number in found}
    causes = {}
    for name, found in titles.items():
        others = every.difference(found)
        blocks = (_read_block(lines, number, others) for number in found)
        told = (_choose(block) for block in blocks)
        causes[name] = next((each for each in told if each), _read_summary(lines, found, name))
    return causes


def find_output_cause(output: str) -> tuple[str, ...]:
    """Return the first lines that say why a check failed which names no tests."""
    lines = [line[:LONGEST].rstrip() for line in output.splitlines()[:READ]]
    return _pick(lines, _SAYS) or tuple(find_cause(output).splitlines()[:MOST_LINES])


def find_places(output: str, paths: Collection[str]) -> tuple[str, ...]:
    """Return the lines of the repository's files that the output names, as `path:line`."""
    found: dict[str, None] = {}
    for line in output.splitlines()[:READ]:
        for token in _BETWEEN.split(_IN_PYTHON.sub(r" \1:\2 ", line[:LONGEST_TRACE])):
            place = _PLACE.fullmatch(token)
            if place and (path := _find_path(place[1], paths)):
                found[f"{path}:{place[2]}"] = None
    return tuple(found)


def _find_path(named: str, paths: Collection[str]) -> str:
    """Return the file of the repository that is named, from its root or from the machine's."""
    if _FOREIGN.search(named):
        return ""
    if not named.startswith("/"):
        return named.removeprefix("./") if named.removeprefix("./") in paths else ""
    parts = named.strip("/").split("/")
    ends = ("/".join(parts[at:]) for at in range(len(parts)))
    return next((end for end in ends if end in paths), "")


def _find_titles(lines: Sequence[str], name: str) -> list[int]:
    """Return the lines on which the test stands: by its whole name, else by the end of it."""
    for part in _shorten(name.removesuffix(ALL_OF_IT)):
        whole = re.compile(rf"(?<!\w){re.escape(part)}(?!\w)")
        if found := [number for number, line in enumerate(lines) if whole.search(line)]:
            return found
    return []


def _shorten(name: str) -> Iterator[str]:
    """Yield the name, then its end as runners write it in front of a cause.

    Of pytest's, the end comes first: the whole name stands in its summary alone.
    """
    end = [part for part in _PARTS.split(name) if part][-1:]
    if "::" in name:
        yield name.rpartition("::")[2]
    yield name
    yield from (part for part in end if len(part) > 2)


def _read_block(lines: Sequence[str], number: int, others: set[int]) -> list[str]:
    """Return what follows a test's name, as far as it is about that test."""
    block: list[str] = []
    for at in range(number + 1, min(number + BLOCK, len(lines))):
        line = lines[at]
        if at in others or _LISTED.match(line) or (block and _RULE.match(line)):
            break
        block.append(line)
    return block


def _choose(block: Sequence[str]) -> tuple[str, ...]:
    raised = [line for line in block if _OF_PYTEST.match(line)]
    return _pick(raised, _OF_PYTEST) or _pick(block, _SAYS) or _pick(block, _ASSERTS)


def _pick(lines: Sequence[str], wanted: re.Pattern[str]) -> tuple[str, ...]:
    """Return the lines that say it, each with the next one where it ends with a colon."""
    picked: dict[str, None] = {}
    for line, below in pairwise((*lines, "")):
        if wanted.search(line):
            said = (line, below) if line.endswith(":") else (line,)
            picked |= dict.fromkeys(_OF_PYTEST.sub("", each).strip() for each in said)
    return tuple(each for each in picked if each)[:MOST_LINES]


def _read_summary(lines: Sequence[str], titles: Sequence[int], name: str) -> tuple[str, ...]:
    """Return what stands behind the test's name on a line of its own."""
    for number in titles:
        _, _, rest = lines[number].partition(name)
        if cause := rest.lstrip(" -:").strip():
            return (cause,)
    return ()
