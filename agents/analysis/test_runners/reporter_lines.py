"""Read what the reporters of Fettle's own write: each test as a line of JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from agents.analysis.check_failures.lines import normalize_name
from agents.analysis.check_failures.named_tests import pack_names
from agents.analysis.check_failures.reported import ALL_OF_IT, ReportedFailures
from agents.analysis.repository_files import table

WITHIN = " > "
"""Stands between what a test is in, and its name."""
RAN = ("passed", "failed")


def read_lines(texts: Sequence[str]) -> ReportedFailures | None:
    """Return what the reporters of Fettle's own wrote; None where it is nothing of the kind."""
    lines = [read_json(line) for text in texts for line in text.splitlines() if line.strip()]
    tests = [each for each in lines if isinstance(each.get("name"), str)]
    if not tests and not any("ended" in each for each in lines):
        return None
    ends = sum(each.get("ended") is True for each in lines)
    bad = Counter(_name_line(each) for each in tests if each.get("state") == "failed")
    ran = [each for each in tests if each.get("state") in RAN and not each.get("file_itself")]
    return ReportedFailures(
        names=bad,
        whole=all(each for each in lines) and bool(ends),
        ended=True,
        sessions=ends,
        ran=len(ran),
        tests=pack_names(map(_name_line, ran)),
    )


def read_json(text: str) -> dict[str, Any]:
    """Return the object that a text holds; an empty one where it holds none."""
    try:
        return table(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _name_line(test: dict[str, Any]) -> str:
    file = str(test.get("file") or "")
    if test.get("file_itself"):
        return f"{normalize_name(file)}{ALL_OF_IT}"
    name = str(test["name"])
    return normalize_name(f"{file}{WITHIN}{name}" if file else name)
