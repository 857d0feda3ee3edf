"""cargo test: a report for programs takes a compiler that is not released yet."""

from __future__ import annotations

from collections.abc import Sequence

from agents.analysis.test_runners.runner import Additions, TestRunner


def _select(names: Sequence[str]) -> Additions | None:
    """Select by the whole path: a name is `src/lib.rs tests::adds`, with its target in front."""
    tests = [name.partition(" ")[2] for name in names]
    if not all(tests) or any(test.startswith("-") for test in tests):
        return None
    return Additions(("--", "--exact", *dict.fromkeys(tests)))


CARGO = TestRunner("cargo test", _select, (("cargo", "test"), ("cargo", "t")))
