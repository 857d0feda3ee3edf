"""Stage merge_base: merge the base branch with git, and list the conflicts."""

from __future__ import annotations

from agents.pipelines.stages.quality import to_code
from agents.pipelines.update.merge import BaseMerge
from agents.policy import NEVER, Policy
from agents.ports import PullSnapshot
from agents.requests import UpdateBranch
from agents.run import StageContext, stage
from agents.run.commits import merge

SHOWN = 20  # paths that a comment lists

_NOTHING = "{named} is in this branch already: there is nothing to merge."
_GONE = (
    "The branch {base} that this pull request wants to go to is gone. Choose another base for it,"
    " then write `/bot update` again."
)
_FORK = """{base} was not merged into this branch. {why}

Whoever can push to it can do it: by “Update branch” at the foot of this page, or, where the two \
contradict each other, by `git fetch` of this repository, `git merge` of its branch {base}, and a \
push."""
_PROTECTED = """{base} was not merged into this branch: the two contradict each other in files \
that only people may change here.

{paths}

Settle these by hand: merge {base} on your machine, and push. What else has to be done then, \
`/bot update` does."""


@stage
async def merge_base(run: StageContext, request: UpdateBranch, pull: PullSnapshot) -> BaseMerge:
    """Merge the base branch."""
    found = BaseMerge(title=request.title, base=pull.base, branch=pull.branch, ours=run.head)
    if pull.why_not:
        run.summarize("this branch cannot be pushed to")
        return found.without_merge(_FORK.format(base=to_code(pull.base), why=pull.why_not))
    theirs = await run.ports.source.branch(pull.base)
    if theirs is None:
        run.summarize("the base branch is gone")
        return found.without_merge(_GONE.format(base=to_code(pull.base)))
    return await _merge_branches(run, found.model_copy(update={"theirs": theirs}))


async def _merge_branches(run: StageContext, found: BaseMerge) -> BaseMerge:
    source, theirs = run.ports.source, found.theirs
    fork = await source.fork_point(run.head, theirs)
    if fork == theirs:
        run.summarize("nothing to merge")
        return found.without_merge(_NOTHING.format(named=found.named))
    merged = await source.merge(run.head, theirs)
    behind = len(await source.commits(run.head, theirs))
    found = found.model_copy(update={"fork": fork, "behind": behind, **merged.model_dump()})
    if held := _for_people(run, await run.policy(), found.conflicts):
        run.summarize("it contradicts in protected files")
        paths = "\n".join(
            f"- {to_code(path)}, protected by {to_code(by)}" for path, by in held[:SHOWN]
        )
        return found.without_merge(_PROTECTED.format(base=to_code(found.base), paths=paths))
    if found.conflicts:
        run.update_state(foundation=theirs)
        run.summarize(f"{found.named}: {len(found.conflicts)} files contradict")
        return found
    await commit_merge(run, found, merged.tree)
    run.summarize(f"{found.named}: {behind} commits")
    return found


def _for_people(run: StageContext, policy: Policy, paths: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return those of the paths that no approval opens to a run, each with what protects it."""
    protected = [(path, by) for path in paths if (by := policy.protects(path))]
    nobody = run.ports.approvals is None
    return [(path, by) for path, by in protected if nobody or by in NEVER]


async def commit_merge(run: StageContext, found: BaseMerge, files: str, body: str = "") -> str:
    """Commit these files as the merge; from here on the work tree has what the merge needs."""
    commit = await merge(run, found.theirs, files, found.subject, body)
    run.update_state(foundation=commit)
    run.let_go()
    return commit
