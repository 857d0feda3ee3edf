"""Stages push_update, catch_up: push commits on top of what others pushed meanwhile."""

from __future__ import annotations

from collections.abc import Mapping

from agents.errors import Moved, PushRefused, RunError
from agents.pipelines.stages.checkout_pull_request import reviewing_port
from agents.pipelines.stages.quality import CheckComparison
from agents.requests import Frozen
from agents.run import StageContext, stage
from agents.text import code_span, one_line

_STATE = "#{number} was {state} while Fettle was at work, so nothing was pushed."
_DELETED = "The branch {branch} was deleted while Fettle was at work, so nothing was pushed."
_CONTRADICTS = (
    "Somebody pushed to {branch} while Fettle was at work, and the two changes contradict each"
    " other in {paths}. Theirs was left alone."
)
_REWRITTEN = (
    "Somebody has rewritten {branch} while Fettle was at work. What Fettle made is built on commits"
    " that were taken away, and a merge of them would bring those back."
)
_MOVED = (
    "Somebody pushed to {branch} while Fettle was at work, so what it made is for other lines than"
    " those that stand there now."
)
_MEANWHILE = "not yet: somebody has pushed meanwhile"


class PushResult(Frozen):
    """What came of letting the run's commits out."""

    pushed: bool = False
    moved: bool = False
    """Somebody else has pushed meanwhile: their commits come first."""
    renamed: Mapping[str, str] = {}
    """The commits that were made anew on top of others', by their first ids; empty for what those
    had done already."""
    why_not: str = ""
    """Why they cannot be let out, for people."""
    refused: bool = False
    """The branch does not take them, by a rule of the repository."""
    quality: CheckComparison | None = None
    """What the checks say on top of others' commits; None where nobody had pushed."""

    def with_checks(self, quality: CheckComparison) -> PushResult:
        """Return the result with what the checks say on top of others' commits."""
        return self.model_copy(update={"quality": quality})

    def name_of(self, commit: str) -> str:
        """Return the id that a commit of the run has now; empty where others' did the same."""
        return self.renamed.get(commit, commit)


@stage
async def look_again(run: StageContext) -> PushResult:
    """See that the pull request is as it was: what is proposed for its lines fits no others."""
    pull = await reviewing_port(run).pull()
    why_not = ""
    if pull.state != "open":
        why_not = _STATE.format(number=pull.number, state=pull.state)
    elif pull.head != run.start:
        why_not = _MOVED.format(branch=code_span(pull.branch))
    run.summarize("it is not" if why_not else "it is")
    return PushResult(why_not=why_not)


@stage
async def push_update(run: StageContext, landing: PushResult) -> PushResult:
    """Push to the pull request."""
    pull = await reviewing_port(run).pull()
    if pull.state != "open":
        run.summarize(f"not pushed: the pull request was {pull.state}")
        why_not = _STATE.format(number=pull.number, state=pull.state)
        return landing.model_copy(update={"moved": False, "why_not": why_not})
    if pull.head not in (run.start, run.head):
        run.summarize(_MEANWHILE)
        return landing.model_copy(update={"moved": True})
    run.lets_out()
    try:
        await run.push(run.branch)
    except Moved:
        run.summarize(_MEANWHILE)
        return landing.model_copy(update={"moved": True})
    except PushRefused as refused:
        run.summarize("not pushed: a rule of the repository refused it")
        closed = {"moved": False, "why_not": refused.reason, "refused": True}
        return landing.model_copy(update=closed)
    run.update_state(pushed=True)
    run.summarize(f"{run.head[:10]} on {run.branch}")
    return landing.model_copy(update={"pushed": True, "moved": False})


@stage
async def catch_up(run: StageContext, landing: PushResult) -> PushResult:
    """Make the commits anew on top of what people pushed."""
    source, names = run.ports.source, {new: old for old, new in landing.renamed.items()}
    newest, branch = await source.branch(run.branch), code_span(run.branch)
    if newest is None:
        return landing.model_copy(update={"why_not": _DELETED.format(branch=branch)})
    rewritten = not await _goes_on_from(run, newest)
    if rewritten and run.merging:
        return landing.model_copy(update={"why_not": _REWRITTEN.format(branch=branch)})
    base = run.start if rewritten else ""
    tree, head, before, merging = await run.tree(), newest, run.start, run.merging
    renamed: dict[str, str] = {}
    for commit in await _own(run):
        # Both come from where the run began, so git takes that for what the two have in common;
        # on a branch that was rewritten, only what the run itself changed is put.
        merged = await source.merge(newest, commit, base=base)
        if merged.conflicts:
            paths = ", ".join(code_span(one_line(path, 200)) for path in merged.conflicts[:5])
            why_not = _CONTRADICTS.format(branch=branch, paths=paths)
            return landing.model_copy(update={"why_not": why_not})
        permitted = dict.fromkeys(await tree.list_changed_paths(before, commit), merged.tree)
        if await tree.list_changed_paths(head, merged.tree):  # else others have done the same
            message = await source.message(commit)
            head = await tree.commit(
                merged.tree, head, message, permitted=permitted, merging=merging
            )
            renamed[names.get(commit, commit)] = head
        else:
            renamed[names.get(commit, commit)] = ""
        before, merging = commit, ""
    run.update_state(base=newest, start=newest, head=head, foundation=head if run.merging else "")
    run.let_go()
    run.summarize(f"on top of {newest[:10]}")
    return landing.model_copy(update={"renamed": {**landing.renamed, **renamed}})


async def _goes_on_from(run: StageContext, newest: str) -> bool:
    """Return whether the branch still has the commits that the run began with."""
    try:
        return await run.ports.source.fork_point(newest, run.start) == run.start
    except RunError:  # the two have nothing in common
        return False


async def _own(run: StageContext) -> list[str]:
    """Return the run's own commits, oldest first, without those that its merge brings in."""
    source = run.ports.source
    commits = [commit for commit, _ in await source.commits(run.start, run.head)]
    if not run.merging:
        return commits
    brought = {commit for commit, _ in await source.commits(run.start, run.merging)}
    return [commit for commit in commits if commit not in brought]
