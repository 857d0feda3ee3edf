"""Names that the remediation pipeline and the adapters around it share: results and branches."""

from __future__ import annotations

import hashlib
import re
from typing import Literal

from agents.requests import RemediateAlert

Result = Literal[
    "fixed",  # a fix stands: published, or only made where that was asked for
    "unverified",  # a fix was made, and nothing could say that the repository still works with it
    "nothing_to_do",  # no alert, no vulnerable copy, or others are at it
    "fix_failed",  # no way was found
    "by_hand",  # the way is known, and only a person with the package's tool can take it
    "verify_failed",  # ways were found, and none of them stood
    "infra_error",  # it never came to that: no tool, no way to the indexes, a limit, a cancel
    "scanned",  # a dry run
]
"""How a remediation ended, for exit codes, batches and counters."""

PREFIX = "remediate/"
"""How the rules begin by which a remediation's outcomes and questions name themselves."""


def rule_of(result: Result) -> str:
    """Return the rule by which an outcome says its result."""
    return f"{PREFIX}{result}"


def result_of(rule: str | None) -> Result:
    """Return the result that an outcome says by its rule; one that says none never got that far."""
    results: tuple[Result, ...] = (
        "fixed",
        "unverified",
        "nothing_to_do",
        "fix_failed",
        "by_hand",
        "verify_failed",
        "scanned",
    )
    said = (rule or "").removeprefix(PREFIX)
    return next((each for each in results if each == said), "infra_error")


def branch_words(request: RemediateAlert) -> tuple[str, ...]:
    """Return what a branch is named by: `deps`, the package, and a mark of its folder."""
    plain = re.sub(r"[^a-z0-9.]+", "-", request.package.lower()).strip("-.")[:40].strip("-.")
    folder = request.directory.strip("/")
    place = hashlib.sha256(folder.encode()).hexdigest()[:4] if folder else ""
    return "deps", plain or "package", place
