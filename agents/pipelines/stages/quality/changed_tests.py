"""The test files of a change, which can be laid over the files from before it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.analysis.weakening import (
    FileDiff,
    Unreadable,
    find_lost_line,
    list_suites,
    read_diff,
)
from agents.analysis.which_are_tests import is_test, is_test_code
from agents.ports import WorkTree

AROUND = 200  # lines around each change: which test a line belongs to is read from them


@dataclass(frozen=True)
class ChangedTests:
    """What a change has in test files that it adds or changes, and what its diff says of them."""

    contents: Mapping[str, bytes]
    changes: Sequence[FileDiff]
    """All files of the diff; none where it cannot be read."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the paths of the test files."""
        return tuple(self.contents)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the paths, and the names of the tests that the change adds."""
        return (*self.contents, *_list_new_tests(self.changes))

    def find_lost_line(self) -> str:
        """Return a line of code that a test file had and has no more, not even changed; or none."""
        kept = (each for each in self.changes if each.old and each.new and is_test_code(each.old))
        return next(filter(None, map(find_lost_line, kept)), "")

    async def lay(self, tree: WorkTree) -> None:
        """Put them over the files that are there, but no links. Raises ToolError."""
        about = {change.path: change for change in self.changes}
        links = {path for path, change in about.items() if change.link}
        for path, data in self.contents.items():
            if path not in links:
                await tree.write(path, data)
        executable = [p for p in self.contents if p in about and about[p].executable]
        if executable:
            await tree.run(["chmod", "+x", "--", *executable], timeout=30)


async def read_changed_tests(tree: WorkTree, base: str, head: str) -> ChangedTests:
    """Return the test files that differ between two commits and are there at the second."""
    paths = [path for path in await tree.list_changed_paths(base, head) if is_test(path)]
    contents = {path: await tree.show(head, path) for path in paths}
    present = {path: data for path, data in contents.items() if data is not None}
    diff = await tree.diff(base, head, context=AROUND)
    changes = await asyncio.to_thread(_read, diff)  # seconds, where it is long
    return ChangedTests(present, changes)


def _read(diff: str) -> tuple[FileDiff, ...]:
    try:
        return read_diff(diff)
    except Unreadable:
        return ()


def _list_new_tests(changes: Sequence[FileDiff]) -> list[str]:
    tests = [change for change in changes if change.new and is_test(change.new)]
    return [
        case.name
        for suite in list_suites(tests)
        for case in suite.after
        if case.line and case.name not in {c.name for c in suite.before}
    ]
