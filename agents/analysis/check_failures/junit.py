"""Parse JUnit XML, the report that pytest, Surefire, Gradle, CTest and others write for programs.

No standard says what stands in it; https://github.com/testmoapp/junitxml collects what is usual.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError, fromstring

from agents.analysis.check_failures.lines import normalize_name
from agents.analysis.check_failures.reported import ALL_OF_IT, ReportedFailures, count_each_once

_BEGINS = re.compile(r"<\?xml\b[^>]*\?>\s*")
_DECLARES = re.compile(r"<!(?:DOCTYPE|ENTITY)\b")
_BAD = ("failure", "error")
_NOT_RUN = re.compile(
    r"(?:collection|initialization) ?(?:failure|error)|initializationError", re.IGNORECASE
)


def read_junit(text: str) -> ReportedFailures | None:
    """Return what failed by name, from one or more documents in a row; None where there is none.

    It is whole only if each document can be read, and none declares types or entities of its own:
    whoever wrote the tests can write into it what they like.
    """
    documents = [each for each in _BEGINS.split(text) if each.strip()]
    if not documents:
        return None
    roots = [_parse(each) for each in documents]
    cases = [case for root in roots if root is not None for case in root.iter("testcase")]
    names = {name: 1 for case in cases for name in _list_failures(case)}
    ran = sum(1 for case in cases if _is_run(case) and not _is_file(case))
    told = ReportedFailures(names=names, whole=None not in roots, ended=True, ran=ran)
    return count_each_once(told)


def _parse(document: str) -> Element | None:
    if _DECLARES.search(document):
        return None
    try:
        return fromstring(document)  # noqa: S314 # it may declare nothing, so nothing can expand
    except (ParseError, ValueError):  # the latter for characters that no encoding has
        return None


def _list_failures(case: Element) -> Iterator[str]:
    if any(case.find(tag) is not None for tag in _BAD) or _has_no_program(case):
        words = f"{case.get('classname') or ''} {case.get('name') or ''}"
        yield normalize_name(words) + (ALL_OF_IT if _is_file(case) else "")


def _is_run(case: Element) -> bool:
    return case.find("skipped") is None and case.get("status") != "disabled"


def _has_no_program(case: Element) -> bool:
    """Return whether CTest fails for it, and calls it skipped: its program was not built."""
    skipped = case.find("skipped") if case.get("status") == "notrun" else None
    return skipped is not None and not (skipped.get("message") or "").startswith("SKIP_")


def _is_file(case: Element) -> bool:
    """Return whether it stands for a whole file or class that could not be read."""
    error = case.find("error")
    words = f"{case.get('name') or ''} {error.get('message') or ''}" if error is not None else ""
    return bool(_NOT_RUN.search(words))
