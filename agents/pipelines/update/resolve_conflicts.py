"""Stages resolve_conflicts, reconcile: resolve conflicts in text or in behaviour."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from agents.pipelines.stages.checkout_pull_request import reviewing_port
from agents.pipelines.stages.onboarding import describe_setup, read_instructions
from agents.pipelines.stages.quality import CheckComparison, CheckResult, format_output, to_code
from agents.pipelines.update.merge import BaseMerge
from agents.pipelines.update.merge_base import commit_merge
from agents.pipelines.update.resolution import IMPLEMENT, Resolution, objection
from agents.ports import SetupResult
from agents.run import StageContext, stage
from agents.text import clean_in_child, publish

SIDE_LIMIT = 20_000  # characters of what each branch did to the files in conflict
SUBJECTS_LIMIT = 6_000  # and of the subjects of what the base branch brings
REMARKS_LIMIT = 8_000  # and of what people said

_BRANCHES = """The pull request: {merge.title}
Its branch: {merge.branch}
Its base: {merge.base}"""

_UNDECIDED = """{base} was not merged into this branch: the two contradict each other where \
somebody has to decide.

{questions}

_Say in a comment what it shall be, then write `/bot update` in another; or settle these files by \
hand._"""
_MARK = re.compile(rb"([<|=>])\1{6,}(?: |$)")


@stage
async def resolve_conflicts(run: StageContext, merge: BaseMerge, setup: SetupResult) -> BaseMerge:
    """Settle the conflicts."""
    done = await _settle(run, merge, setup, merge.tree)
    if done.undecided:
        run.summarize(f"{len(done.undecided)} for people to decide")
        return merge.without_merge(_questions(run, merge, done))
    commit = await commit_merge(run, merge, run.left, done.summary)
    run.summarize(f"{len(done.settled)} files settled: {commit[:10]}")
    return merge.model_copy(update={"settled": done.how, "besides": done.why})


@stage
async def reconcile(run: StageContext, merge: BaseMerge, quality: CheckComparison) -> BaseMerge:
    """Mend what git merged without a conflict and what fails all the same."""
    setup = quality.baseline.setup
    done = await _settle(run, merge, setup, run.head, quality.failing)
    subject = f"Make it work with what `{merge.base}` brings"
    commit = await run.commit(subject, done.summary)
    run.summarize(f"changed: {commit[:10]}" if commit else "nothing changed")
    return merge.model_copy(update={"besides": done.why})


async def _settle(
    run: StageContext,
    merge: BaseMerge,
    setup: SetupResult,
    begin: str,
    failing: Sequence[CheckResult] = (),
) -> Resolution:
    conflicts = _Conflicts(run, merge, begin)

    async def objects(done: Resolution) -> str | None:
        now = await run.at_work.snapshot()
        changed, marked = (
            await conflicts.list_unrelated_changes(now),
            await conflicts.find_marked_lines(now),
        )
        return objection(done, merge.conflicts, changed, marked)

    return await run.converse(
        IMPLEMENT,
        objection=objects,
        begin=begin,
        setup=describe_setup(run, setup),
        instructions=await read_instructions(run),
        names={"ours": merge.ours[:12], "theirs": merge.theirs[:12], "fork": merge.fork[:12]},
        branches=run.fence((await clean_in_child(_BRANCHES.format(merge=merge))).text),
        remarks=await _remarks(run),
        subjects=await _subjects(run, merge),
        conflicts=run.fence("\n".join(merge.conflicts)) if merge.conflicts else "",
        sides=await conflicts.sides(),
        checks=[
            {"name": e.name, "command": e.command, "output": run.fence(format_output(e))}
            for e in failing
        ],
    )


class _Conflicts:
    """The files where the two branches contradict each other, and what became of them."""

    def __init__(self, run: StageContext, merge: BaseMerge, begin: str) -> None:
        self.run, self.merge, self.begin = run, merge, begin
        self.show = run.ports.source.show

    async def list_unrelated_changes(self, now: str) -> list[str]:
        """Return the other files that are not as they were when the conversation began."""
        changed = await self.run.at_work.list_changed_paths(self.begin, now)
        return [path for path in changed if path not in self.merge.conflicts]

    async def find_marked_lines(self, now: str) -> dict[str, list[int]]:
        """Return the lines with marks of the merge, by path."""
        if not self.merge.conflicts:
            return {}
        put: Counter[bytes] = Counter()
        for path in self.merge.conflicts:
            put |= marks(await self.show(self.merge.tree, path), await self._parents(path))
        paths = (
            *self.merge.conflicts,
            *await self.list_unrelated_changes(now),
        )  # a file may have been moved
        found = {
            path: find_remaining_marks(await self.show(now, path), put, await self._parents(path))
            for path in paths
        }
        return {path: lines for path, lines in found.items() if lines}

    async def sides(self) -> dict[str, str]:
        """Return what each branch did to these files, fenced; nothing without any."""
        if not self.merge.conflicts:
            return {}
        merge, source = self.merge, self.run.ports.source
        tree = await self.run.tree(self.begin)
        found = {}
        for name, side in (("ours", merge.ours), ("theirs", merge.theirs)):
            files = await source.overlay(merge.fork, side, merge.conflicts)
            diff = await tree.diff(merge.fork, files)
            found[name] = self.run.fence(diff, limit=SIDE_LIMIT)
        return found

    async def _parents(self, path: str) -> list[bytes | None]:
        return [await self.show(side, path) for side in (self.merge.ours, self.merge.theirs)]


async def _remarks(run: StageContext) -> str:
    """Return what people with write access said lately, fenced; they may have been asked."""
    said = (await reviewing_port(run).feedback()).remarks
    words = [
        f"{each.author} ({each.role}):\n{(await clean_in_child(each.body)).text}" for each in said
    ]
    return run.fence("\n\n".join(words), limit=REMARKS_LIMIT) if words else ""


async def _subjects(run: StageContext, merge: BaseMerge) -> str:
    commits = await run.ports.source.commits(merge.ours, merge.theirs)
    listed = "\n".join(f"{commit[:10]} {subject}" for commit, subject in reversed(commits))
    return run.fence((await clean_in_child(listed)).text, limit=SUBJECTS_LIMIT)


def _questions(run: StageContext, merge: BaseMerge, done: Resolution) -> str:
    url = run.request.repository_url
    asked: Sequence[str] = [
        f"- {to_code(each.path)}: {publish(' '.join(each.question.split()), repository_url=url)}"
        for each in done.undecided
    ]
    return _UNDECIDED.format(base=merge.named, questions="\n".join(asked))


def marks(merged: bytes | None, parents: Iterable[bytes | None]) -> Counter[bytes]:
    """Return the lines that only the merge has put there, and how often.

    `parents`: the file in both branches; a text about merging may have such lines of its own.
    """
    known: Counter[bytes] = Counter()
    for parent in parents:
        known |= _lines(parent)
    return _lines(merged) - known


def find_remaining_marks(
    text: bytes | None, put: Counter[bytes], before: Iterable[bytes | None]
) -> list[int]:
    """Return the numbers of the lines that are still such marks.

    `put`: the lines that the merge put there. `before`: the file in both branches.
    """
    allowed: Counter[bytes] = Counter()
    for parent in before:
        allowed += _lines(parent)
    found = []
    for number, line in enumerate(_split(text), 1):
        if line not in put:
            continue
        if allowed[line] > 0:
            allowed[line] -= 1
        else:
            found.append(number)
    return found


def _lines(text: bytes | None) -> Counter[bytes]:
    return Counter(line for line in _split(text) if _MARK.match(line))


def _split(text: bytes | None) -> list[bytes]:
    return [line.rstrip(b"\r") for line in (text or b"").split(b"\n")]
