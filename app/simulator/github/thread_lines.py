"""Map a review thread to its line in the current diff, or mark it outdated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unidiff.patch import Hunk, Line, PatchedFile, PatchSet

from app.simulator.github.answers import ApiError
from app.simulator.github.gitdir import GitDir
from app.simulator.github.patches import FileChange, parse_diff, rows_of
from app.simulator.github.state.reviews import DiffPosition, Inline, Side, Thread
from app.simulator.github.state.world import Pull

BARE = ("--unified=0", "--no-renames")


class Diff:
    """The diff of a pull request as of one commit, asked for its lines."""

    def __init__(self, base: str, head: str, files: Sequence[FileChange]) -> None:
        self.base, self.head = base, head
        self._files = {each.path: each.parsed for each in files}

    @classmethod
    async def compare(cls, pull: Pull, head: str) -> Diff:
        """Compare a commit with where the pull request's branch began."""
        git = GitDir(pull.repository.gitdir)
        base = await git.merge_base(pull.base_sha, head) or pull.base_sha
        return cls(base, head, parse_diff(await git.diff(base, head)))

    def place(self, path: str, side: Side, line: int) -> DiffPosition | None:
        """Return where a line is shown, or None when it is not."""
        for number, hunk, at in self._iterate_lines(path):
            if _number(hunk[at], side) == line:
                return DiffPosition("\n".join(rows_of(hunk)[: at + 2]), number)
        return None

    def check(self, inline: Inline) -> DiffPosition:
        """Return where a new remark goes; Refused as GitHub words it."""
        if inline.path not in self._files:
            raise _unresolved_error("Path")
        found = self.place(inline.path, inline.side, inline.line)
        if found is None:
            raise _unresolved_error("Line")
        if inline.start_line is not None:
            self._check_start(inline, inline.start_line, found)
        return found

    def _check_start(self, inline: Inline, start: int, end: DiffPosition) -> None:
        side = inline.start_side or inline.side
        if side == inline.side and start >= inline.line:
            reason = "Pull request review thread start line must precede the end line."
            raise ApiError(422, "Unprocessable Entity", errors=[reason])
        found = self.place(inline.path, side, start)
        if found is None:
            raise _unresolved_error("Start line")
        if found.hunk.split("\n")[0] != end.hunk.split("\n")[0]:
            reason = "Pull request review thread start line must be part of the same hunk as the"
            raise ApiError(422, "Unprocessable Entity", errors=[f"{reason} line."])

    def _iterate_lines(self, path: str) -> Iterator[tuple[int, Hunk, int]]:
        """Yield each line's position, its hunk and its index there."""
        position = 0
        for hunk in self._files.get(path, ()):
            for at in range(len(hunk)):
                position += 1
                yield position, hunk, at
            position += 1  # the next hunk's heading counts, the first one does not


def _number(line: Line, side: Side) -> int | None:
    found: int | None = line.source_line_no if side == "LEFT" else line.target_line_no
    return found


def _unresolved_error(what: str) -> ApiError:
    return ApiError(422, "Unprocessable Entity", errors=[f"{what} could not be resolved"])


async def follow(pull: Pull) -> None:
    """Find every thread's line again after head or base have moved."""
    if not pull.threads:
        return
    now, git = await Diff.compare(pull, pull.head_sha), GitDir(pull.repository.gitdir)
    moves: dict[tuple[str, str], dict[str, PatchedFile]] = {}
    for thread in pull.threads:
        left = thread.side == "LEFT"
        ends = (thread.original_base, now.base) if left else (thread.original_commit, now.head)
        if ends not in moves:
            patch = PatchSet(await git.diff(*ends, *BARE) + "\n")
            moves[ends] = {each.path: each for each in patch}
        _move(thread, now, moves[ends].get(thread.path))


def _move(thread: Thread, now: Diff, changes: PatchedFile | None) -> None:
    start = thread.original_start_line
    first = start if start is not None and thread.start_side == thread.side else None
    line = _line_after(changes, thread.original_line, first)
    place = now.place(thread.path, thread.side, line) if line else None
    if line is None or place is None:
        thread.line = thread.start_line = thread.position = None
        return
    moved = line - thread.original_line
    thread.line, thread.position, thread.commit = line, place.position, now.head
    thread.start_line = None if start is None else start + (moved if first else 0)


def _line_after(changes: PatchedFile | None, line: int, first: int | None) -> int | None:
    """Return a line's number after the changes; None when it, or one from `first` on, changed."""
    moved = 0
    for hunk in changes or ():
        end = hunk.source_start + hunk.source_length - 1
        if hunk.source_length and hunk.source_start <= line and end >= (first or line):
            return None
        if hunk.source_length == 0 and first and first <= hunk.source_start < line:
            return None  # something was put between the lines that were meant
        before = hunk.source_start < line if hunk.source_length == 0 else end < line
        moved += (hunk.target_length - hunk.source_length) if before else 0
    return line + moved
