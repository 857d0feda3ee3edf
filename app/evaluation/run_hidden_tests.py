"""The judge of a case: runs its tests in the sandbox, on files that the run had no hand in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

from agents.errors import ToolError
from agents.text import one_line, plain_output
from app.evaluation.case import JudgeSettings
from app.evaluation.case_repository import CaseRepository, copy, give, lay_over, put_back, remove
from app.evaluation.sources import FetchedCase
from app.evaluation.verdict import JudgeRun, JUnitResult, TestOutcomes, Unreadable, read_junit
from app.git.worktree import NoSuchPath, read_file, remove_tree
from app.sandbox.path_permissions import make_passable
from app.sandbox.port import Mount, Sandbox, SandboxCommand

LayOut = Callable[[Path], Awaitable[None]]

TREE, REPORTS, REPORT = "tree", "report", "junit.xml"
LARGEST_REPORT = 50_000_000  # bytes
KEPT_OUTPUT = 4000  # characters

_FIND_TOOLCHAIN = '[ "$0" = bash ] || PATH="$0/bin:$PATH"'


@dataclass
class CommitJudge:
    """Judges commits of one case's repository."""

    fetched: FetchedCase
    repository: CaseRepository
    sandbox: Sandbox
    place: Path
    """A folder that sandboxes can reach; what is laid out there goes when it was judged."""
    _numbers: count[int] = field(default_factory=lambda: count(1))

    async def commit(self, commit: str) -> TestOutcomes:
        """Return what the tests say about a commit."""
        return await self._run_both(partial(self.repository.lay_out, commit))

    async def run_on_fixed_source(self) -> TestOutcomes | None:
        """Return what they say about the source in which the bug is cured, if there is one."""
        source = self.fetched.cured
        if source is None:
            return None
        return await self._run_both(lambda tree: asyncio.to_thread(copy, source, tree))

    async def _run_both(self, lay_out: LayOut) -> TestOutcomes:
        own, hidden = [await self._tests(lay_out, hidden=hidden) for hidden in (False, True)]
        return TestOutcomes(own, hidden)

    async def _tests(self, lay_out: LayOut, *, hidden: bool) -> JudgeRun:
        place = self.place / f"judged-{next(self._numbers)}"
        make_passable(place)
        try:
            await lay_out(place / TREE)
            await asyncio.to_thread(self._prepare, place, hidden=hidden)
            return await self._run(place)
        except ToolError as error:
            return JudgeRun({}, -1, "", f"the tests cannot be put in their places: {error}")
        finally:
            await asyncio.to_thread(remove_tree, place)

    def _prepare(self, place: Path, *, hidden: bool) -> None:
        """Put the tests in their places, and let the sandbox's user write there."""
        tree, owner = place / TREE, self.sandbox.owner
        put_back(tree, self.fetched.before, self._settings.ours, owner)
        if hidden:
            source, paths = self.fetched.hidden
            for path in paths:
                remove(tree / path)
            for path in paths or (".",):
                lay_over(tree, source, path, owner)
        (place / REPORTS).mkdir()
        for folder in (tree, place / REPORTS):
            give(folder, owner)

    async def _run(self, place: Path) -> JudgeRun:
        found = self.fetched.toolchain
        toolchain = [str(found)] if found else []
        ran = await self.sandbox.run(
            SandboxCommand(
                argv=("bash", "-c", f"{_FIND_TOOLCHAIN}\n{self._settings.command}", *toolchain),
                folder="/workspace",
                mounts=(
                    *(Mount(Path(each), each) for each in toolchain),
                    Mount(place / TREE, "/workspace", writable=True),
                    Mount(place / REPORTS, f"/{REPORTS}", writable=True),
                ),
                environment={"REPORT": f"/{REPORTS}/{REPORT}"},
                timeout=self._settings.seconds,
            )
        )
        output = plain_output(ran.output)[-KEPT_OUTPUT:]
        if not self._settings.reports:
            result: JUnitResult = "passed" if ran.exit_code == 0 else "failed"
            return JudgeRun({"command": result}, ran.exit_code, output)
        try:
            report = read_file(place / REPORTS, REPORT, LARGEST_REPORT)
            return JudgeRun(read_junit(report), ran.exit_code, output)
        except (NoSuchPath, ToolError, Unreadable) as error:
            last = one_line(output.strip().rpartition("\n")[2], 200)
            why = "wrote no report" if isinstance(error, NoSuchPath) else f"its report: {error}"
            said = f"exit code {ran.exit_code}, {why}, last line: {last or 'none'}"
            return JudgeRun({}, ran.exit_code, output, said)

    @property
    def _settings(self) -> JudgeSettings:
        return self.fetched.case.about.judge
