"""What came to the default branch during a run, and whether the change contradicts it."""

from __future__ import annotations

from agents.errors import RunError
from agents.requests import Frozen
from agents.run import StageContext
from agents.text import code_span, one_line

SHOWN = 5
_CAME = (
    "{commits} came to the default branch while Fettle was at work on {base}. The checks above ran"
    " without them."
)
_CONTRADICTS = " **The two contradict each other** in {paths}."
_NEXT = " `/bot update` in a comment here merges them in, settles that and runs the checks."


class BaseMoves(Frozen):
    """Commits that the change was neither made on nor checked with."""

    base: str = ""
    """The commit that the change was made on."""
    commits: int = 0
    conflicts: tuple[str, ...] = ()
    """The paths in which git cannot put the two together."""

    @property
    def section(self) -> str:
        """Return what came meanwhile, for the reviewer; empty where nothing did."""
        if not self.commits:
            return ""
        commits = "A commit" if self.commits == 1 else f"{self.commits} commits"
        came = _CAME.format(commits=commits, base=self.base[:10])
        return f"{came}{self.warning}{_NEXT if self.conflicts else ''}"

    @property
    def warning(self) -> str:
        """Return in which files the two contradict each other; empty where git can merge them."""
        if not self.conflicts:
            return ""
        paths = ", ".join(code_span(one_line(path, 120)) for path in self.conflicts[:SHOWN])
        more = len(self.conflicts) - SHOWN
        return _CONTRADICTS.format(paths=paths + (f" and {more} more" if more > 0 else ""))


async def find_base_moves(run: StageContext) -> BaseMoves:
    """Compare the run's change with what its repository's default branch has now.

    What cannot be found out is no reason to keep a finished change back: then nothing is said.
    """
    source = run.ports.source
    try:
        newest = await source.fetch()
        came = await source.commits(run.base, newest)
        merged = await source.merge(run.head, newest) if came else None
    except RunError:
        return BaseMoves()
    conflicts = merged.conflicts if merged else ()
    return BaseMoves(base=run.base, commits=len(came), conflicts=conflicts)
