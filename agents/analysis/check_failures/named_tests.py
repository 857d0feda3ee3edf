"""The names of the tests that ran, packed: records of runs keep them, and comparisons read them."""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from agents.analysis.check_failures.members import list_programs

LONGEST = 1_000_000  # characters of all names; of runs with more, tests are only counted
TAP = "TAP"
"""What it reports may be a test, or each assertion of one."""


class RemovedNames(Protocol):
    """What a change takes out of its tests, and puts into them."""

    @property
    def count(self) -> int:
        """Return how many tests it removes, or moves to other files."""
        ...

    def list_unexplained(
        self, gone: Sequence[str], came: Sequence[str], messages: Collection[str] = ()
    ) -> Sequence[str]:
        """Return the tests that no longer run for no reason that is known.

        `gone`: the names of tests that run no more; `came`: of those that ran never before.
        `messages`: those that may be no tests' but what an assertion writes.
        """
        ...


@dataclass(frozen=True)
class LostTests:
    """Tests that ran before and do not now, though others may run in their number."""

    names: Sequence[str]
    earlier: int
    """How many tests ran before."""


def pack_names(names: Iterable[str]) -> str:
    """Return the names in little room; empty where they are too many."""
    text = "\n".join(sorted(names))
    return (
        b64encode(zlib.compress(text.encode("utf-8", "replace"))).decode()
        if 0 < len(text) <= LONGEST
        else ""
    )


def unpack_names(packed: str) -> Counter[str]:
    """Return how many tests of each name there are."""
    return Counter(zlib.decompress(b64decode(packed)).decode().split("\n")) if packed else Counter()


def find_lost(
    before: Mapping[str, str], now: Mapping[str, str], removed: RemovedNames | None
) -> LostTests | None:
    """Return the tests that did not run again; both: packed names by program.

    None where the change explains all of them. `removed`: None where nobody has looked at it yet.
    """
    both = [name for name in before if before[name] and now.get(name)]
    ran = sum((unpack_names(before[name]) for name in both), Counter[str]())
    runs = sum((unpack_names(now[name]) for name in both), Counter[str]())
    gone, came = [*(ran - runs).elements()], [*(runs - ran).elements()]
    messages = {
        each
        for name in both
        if TAP in list_programs((name,))
        for each in unpack_names(before[name])
    }
    lost = removed.list_unexplained(gone, came, messages) if removed else gone
    return LostTests(lost, ran.total()) if lost else None
