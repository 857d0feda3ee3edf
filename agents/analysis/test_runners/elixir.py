"""mix test: ExUnit writes no report for programs without a package."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.analysis.test_runners.runner import Additions, TestRunner

_CASE = re.compile(r"((?:test|doctest|property) .+) \([\w.]+\)$")


def _select(names: Sequence[str]) -> Additions | None:
    """Select by the tag that ExUnit gives each test itself.

    https://hexdocs.pm/ex_unit/ExUnit.Case.html#module-known-tags
    """
    found = [_CASE.match(name) for name in names]
    words = [word for each in found if each for word in ("--only", f"test:{each[1]}")]
    return Additions(tuple(words)) if len(words) == 2 * len(names) else None


MIX = TestRunner("ExUnit", _select, (("mix", "test"),))
