"""The state of a merge: its two sides, the conflicts, and their resolution."""

from __future__ import annotations

from agents.pipelines.stages.quality import to_code
from agents.requests import Frozen


class FileStatement(Frozen):
    """What the engineer says of one file: untrusted."""

    path: str
    words: str


class BaseMerge(Frozen):
    """The merge of the base branch into the pull request's."""

    title: str
    """What the pull request is called: untrusted."""
    base: str
    """The name of the base branch."""
    branch: str
    """The name of the pull request's branch."""
    ours: str
    """The head of the pull request before."""
    theirs: str = ""
    """The newest commit of the base branch."""
    fork: str = ""
    """The newest commit that both are built on."""
    behind: int = 0
    """How many commits the base branch brings."""
    tree: str = ""
    """The files as git merged them; with marks in those where the two contradict each other."""
    conflicts: tuple[str, ...] = ()
    """The paths where they do."""
    settled: tuple[FileStatement, ...] = ()
    """How each of these was settled."""
    besides: tuple[FileStatement, ...] = ()
    """Which other files were changed, and why."""
    why_not: str = ""
    """Why nothing is merged, for people, safe to publish; empty where it is."""

    @property
    def nothing_to_do(self) -> bool:
        """Return whether there is nothing to be done."""
        return bool(self.why_not)

    @property
    def subject(self) -> str:
        """Return the subject of the merge's commit."""
        return f"Merge `{self.base}` into `{self.branch}`"

    @property
    def named(self) -> str:
        """Return what is merged, for people: the base branch and where it is."""
        return f"{to_code(self.base)} at {self.theirs[:10]}"

    def without_merge(self, why_not: str) -> BaseMerge:
        """Return the merge with the reason for which nothing is merged."""
        return self.model_copy(update={"why_not": why_not})
