"""The submission of a conflict resolution, and its faults that code can find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field

from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.update.merge import FileStatement

LINES_SHOWN = 5  # of each file with marks


class SettledFile(BaseModel):
    """How one file was settled."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    path: str
    """The file, as it was named to you."""
    how: str = Field(min_length=10, max_length=600)
    """What became of both sides: what each of them wanted there, and how the file has both now."""


class ChangedFile(BaseModel):
    """One file that was changed without being in conflict."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    path: str
    """The file."""
    why: str = Field(min_length=10, max_length=600)
    """What of the other branch made it necessary."""


class UndecidedFile(BaseModel):
    """One file that only people can settle."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    path: str
    """The file, as it was named to you."""
    question: str = Field(min_length=10, max_length=600)
    """What somebody has to decide, with what speaks for each side."""


class Resolution(Submission, tool="submit_resolution"):
    """Deliver the merge: the files are committed as they are now."""

    settled: tuple[SettledFile, ...]
    """Each file in conflict that you settled."""
    besides: tuple[ChangedFile, ...]
    """Each other file that you changed, made or took away."""
    undecided: tuple[UndecidedFile, ...]
    """Each file in conflict that people have to settle; with one, nothing is merged."""
    summary: str = Field(min_length=10)
    """What the two branches had to do with each other, in two to six lines: the commit's body."""

    @property
    def how(self) -> tuple[FileStatement, ...]:
        """Return how each file was settled."""
        return tuple(FileStatement(path=each.path, words=each.how) for each in self.settled)

    @property
    def why(self) -> tuple[FileStatement, ...]:
        """Return why each other file was changed."""
        return tuple(FileStatement(path=each.path, words=each.why) for each in self.besides)


IMPLEMENT = Conversation(
    name="implement",
    prompt=prompt_path(__file__, "resolve_conflicts.md"),
    output=Resolution,
    capability=Capability.CHANGE,
    max_turns=80,
)


def objection(
    done: Resolution,
    conflicts: Sequence[str],
    changed: Sequence[str],
    marked: Mapping[str, Sequence[int]],
) -> str | None:
    """Return what speaks against it.

    `changed`: the files beside the conflicts that are not as git merged them. `marked`: the lines
    with marks of the merge, by path.
    """
    named = Counter([each.path for each in done.settled] + [e.path for e in done.undecided])
    besides = Counter(each.path for each in done.besides)
    undecided = {each.path for each in done.undecided}
    faults = {
        "In conflict, but neither settled nor undecided": [p for p in conflicts if p not in named],
        "Not one of the files in conflict": [path for path in named if path not in conflicts],
        "Named more than once": [p for p, times in (named + besides).items() if times > 1],
        "Changed, but not in `besides` (say why, or put them back)": [
            path for path in changed if path not in besides
        ],
        "In `besides`, but as git merged them": [path for path in besides if path not in changed],
        "Lines with marks of the merge are left in": [
            f"{path} ({', '.join(map(str, lines[:LINES_SHOWN]))})"
            for path, lines in marked.items()
            if path not in undecided
        ],
    }
    said = [f"{fault}: {', '.join(paths)}." for fault, paths in faults.items() if paths]
    return " ".join(said) or None
