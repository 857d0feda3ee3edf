"""Stage take_back: commit the base branch without what a pull request had brought into it."""

from __future__ import annotations

from agents.errors import RunError
from agents.pipelines.stages.quality import to_code
from agents.requests import Frozen, OnMerge
from agents.run import StageContext, stage
from agents.text import one_line

SHOWN = 20  # paths that a comment lists

_GONE = (
    "#{number} cannot be taken back: {commit}, which its merge made, is not in {base} any more. The"
    " branch was rewritten, or is gone."
)
_UNKNOWN = (
    "#{number} cannot be taken back by Fettle: its own commits cannot be fetched any more, so"
    " nobody can tell which commits in {base} are its. `git revert` of those by hand does it."
)
_NOTHING = "There is nothing to take back: {base} has nothing of #{number} any more."
_CONTRADICTS = """#{number} cannot be taken back by git alone: these files were changed since, in \
the same places.

{paths}

By hand: `git revert {how}{commit}` on a new branch, settle these files, and open a pull request."""


class Reversal(Frozen):
    """What was taken back."""

    base: str
    """The branch without it."""
    merged: str
    """The commit of the branch that the merge had made, or the last of them."""
    before: str = ""
    """The commit of the branch before the merge."""
    files: int = 0
    """How many files change back."""
    why_not: str = ""
    """Why nothing is, for people, safe to publish."""
    contradicts: bool = False
    """It is there, and git alone cannot take it back."""


@stage
async def take_back(run: StageContext, request: OnMerge) -> Reversal:
    """Take the change back."""
    source = run.ports.source
    trunk, head = await find_head(run, request)
    found = Reversal(base=request.base_branch, merged=request.merged)
    about = {
        "number": request.number,
        "base": to_code(request.base_branch),
        "commit": request.merged[:12],
    }
    newest = head or trunk
    run.let_go()  # where the watch has looked at the merge, its files are there
    await run.stand_on(trunk)
    run.update_state(base=newest, start=newest, head=newest)
    await run.policy()  # an unreadable one ends the run before anything is done
    if head is None or not await is_in(run, request.merged, head):
        return _give_up(run, found, _GONE.format(**about))
    before = await find_before(run, request)
    if not before:
        return _give_up(run, found, _UNKNOWN.format(**about))
    merged = await source.merge(head, before, base=request.merged)
    if merged.conflicts:
        paths = "\n".join(f"- {to_code(path)}" for path in merged.conflicts[:SHOWN])
        if len(merged.conflicts) > SHOWN:
            paths += f"\n- and {len(merged.conflicts) - SHOWN} more"
        how = "-m 1 " if len(await source.parents(request.merged)) > 1 else ""
        why_not = _CONTRADICTS.format(**about, paths=paths, how=how)
        return _give_up(run, found.model_copy(update={"contradicts": True}), why_not)
    changed = await _commit(run, request, merged.tree, before)
    if not changed:
        return _give_up(run, found, _NOTHING.format(**about))
    run.summarize(f"{request.merged[:10]} is taken back: {changed} files")
    return found.model_copy(update={"before": before, "files": changed})


def _give_up(run: StageContext, found: Reversal, why_not: str) -> Reversal:
    run.summarize("nothing was taken back")
    return found.model_copy(update={"why_not": why_not})


async def find_head(run: StageContext, request: OnMerge) -> tuple[str, str | None]:
    """Return the newest commit of the default branch, and of the one that was merged into."""
    trunk = await run.ports.source.fetch()
    default = request.base_branch == request.repository.default_branch
    return trunk, trunk if default else await run.ports.source.branch(request.base_branch)


async def is_in(run: StageContext, commit: str, head: str) -> bool:
    """Return whether the branch has the commit in its history."""
    try:
        return await run.ports.source.fork_point(commit, head) == commit
    except RunError:  # it is nowhere any more, or the two have nothing in common
        return False


async def find_before(run: StageContext, request: OnMerge) -> str:
    """Return where the base branch was before the merge; empty where nobody can tell.

    A merge commit has that as its first parent, and so has the one commit of a squash. Rebased
    commits are as many as the pull request has, with the same subjects.
    https://docs.github.com/pull-requests/collaborating-with-pull-requests/incorporating-changes-from-a-pull-request/about-pull-request-merges
    """
    source, parents = run.ports.source, await run.ports.source.parents(request.merged)
    if len(parents) != 1:
        return parents[0] if parents else ""
    head = await source.pull(request.number)
    if head is None:
        return ""
    fork = await source.fork_point(parents[0], head)
    own = [subject for _, subject in await source.commits(fork, head)]
    chain, commit = [], request.merged
    for _ in own:
        above = await source.parents(commit)
        if len(above) != 1:
            return parents[0]
        chain += [subject for _, subject in await source.commits(above[0], commit)]
        commit = above[0]
    return commit if chain[::-1] == own and own else parents[0]


async def _commit(run: StageContext, request: OnMerge, files: str, before: str) -> int:
    """Commit these files (a tree); return how many change by that.

    What becomes again as it stood before the merge goes into protected paths as well: whoever may
    write has asked for it, and it is merged by people.
    """
    tree = await run.tree()
    changed = await tree.list_changed_paths(run.head, files)
    if not changed:
        return 0
    restored = set(changed) - set(await tree.list_changed_paths(before, files))
    subject = await run.format_subject(f'Revert "{one_line(request.title, 60)}"')
    body = f"This takes back #{request.number}, which was merged as {request.merged}."
    commit = await tree.commit(
        files,
        run.head,
        run.message(one_line(subject, 72), body),
        permitted=dict.fromkeys(sorted(restored), before),
    )
    run.update_state(head=commit)
    run.let_go()
    return len(changed)
