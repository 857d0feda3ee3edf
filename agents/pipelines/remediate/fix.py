"""Stage fix: climb the ladder, and check what comes in against known advisories."""

from __future__ import annotations

from agents.pipelines.remediate.clean_climb import climb_clean
from agents.pipelines.remediate.commit_text import format_message, format_subject, format_title
from agents.pipelines.remediate.findings import known_ecosystem, make_terms
from agents.pipelines.remediate.frozen_locks import explain_by_hand, explain_unmended
from agents.pipelines.remediate.ladder import (
    Ecosystem,
    Fix,
    Group,
    Level,
    Refusal,
)
from agents.pipelines.remediate.report import WAYS
from agents.pipelines.remediate.same_lock_file import commit_bump, take_along
from agents.pipelines.remediate.work import Bump, Failed, VerifyResult, Work
from agents.ports import WorkTree
from agents.run import StageContext, stage
from agents.text import one_line

_NEVER = "{reason} The policy wants no other major version (`remediation.majors`)."
_NOBODY = "{reason} The policy has people asked for another one, and nobody can be asked here."
_ALONE = "{names}: made together with this one at first, and left out then, since {why}"
_FAILED = "together they did not stand. {why}"
_KEPT = ("found", "replaces", "why_not", "earlier", "elsewhere", "left", "along", "failed")
_UNSEEN = "somebody has to look at that move, and no model is there to do so."


@stage
async def fix(run: StageContext, work: Work) -> Work:
    """Change the dependency files by rule."""
    if work.bump is not None and work.bump.by == "ladder":  # the same again: only the code follows
        return await _commit_bumps(run, work, work.bump)
    if work.failed:  # an engineer's was found wrong: it is for an engineer again
        return work
    ecosystem = await known_ecosystem(run, work.found.group)
    if ecosystem is None:
        reason = explain_unmended(await run.ports.source.files(run.base), work.found.group)
        return _refuse(run, work, Refusal(cause="unsupported", reason=reason))
    tree = await run.tree(run.base, changing=True)
    result = await _climb(run, tree, ecosystem, work.found.group)
    if isinstance(result, Refusal):
        return _refuse(run, work, await _end_for_good(run, work.found.group, result))
    return await _commit_bumps(run, work, result)


async def _end_for_good(run: StageContext, group: Group, refusal: Refusal) -> Refusal:
    """Return the refusal; where the files cannot be read, one that no engineer is sent after.

    What an engineer makes is read and proved by the same ecosystem, which refuses these files.
    """
    if refusal.cause != "unsupported":
        return refusal
    by_hand = explain_by_hand(await run.ports.source.files(run.base), group)
    reason = f"{refusal.reason} {by_hand}".strip()
    return refusal.model_copy(update={"cause": "by_hand", "reason": reason})


async def _climb(
    run: StageContext, tree: WorkTree, ecosystem: Ecosystem, group: Group
) -> Bump | Refusal:
    """Climb; where only another major version is left, see what comes of that one.

    What every requirement admits, and what only development needs, is no other major version in
    the sense that people have to look at it first.
    """
    start = await tree.snapshot()
    result = await climb_clean(run, tree, ecosystem, group, await make_terms(run, group))
    if isinstance(result, Fix):
        return Bump.from_fix(result)
    if not result.major:
        return result
    made = await climb_clean(run, tree, ecosystem, group, await make_terms(run, group, majors=True))
    if isinstance(made, Refusal):
        return _join_refusals(result, made)
    bump = Bump.from_fix(made)
    only_development = all(each.scope == "development" for each in group.advisories)
    if made.level is Level.FLOAT or only_development:
        return bump
    majors = (await run.policy()).remediation.majors
    if majors == "draft" or (majors == "ask" and run.ports.approvals is not None):
        return bump.model_copy(update={"major": made.targets[-1].new})
    await tree.restore(start)
    reason = (_NEVER if majors == "never" else _NOBODY).format(reason=result.reason)
    return result.model_copy(update={"reason": reason})


def _join_refusals(result: Refusal, made: Refusal) -> Refusal:
    """Return why there is no fix, neither by the same major version nor by another one."""
    if made.cause in ("no_tool", "by_hand"):  # there is a way, and what it takes is said whole
        return made
    reason = f"{result.reason} {made.reason}"
    return result.model_copy(update={"reason": reason, "steps": made.steps})


async def _commit_bumps(run: StageContext, work: Work, bump: Bump) -> Work:
    """Commit the move, and what goes along with it."""
    group, retires = work.found.group, work.found.retire is not None
    body = format_message(group, "\n".join(bump.evidence), retires=retires)
    title = format_title(work.model_copy(update={"bump": bump}))
    bump = await commit_bump(run, group, bump, title, body)
    way = f"{WAYS[bump.level]}: " if bump.level is not None else ""
    run.summarize(f"{way[:1].lower()}{way[1:]}{bump.commit[:10]}")
    work = await take_along(run, work.model_copy(update={"bump": bump}))
    run.update_state(foundation=run.head)  # what is installed from here on is what the fix asks for
    run.let_go()
    return work


def _refuse(run: StageContext, work: Work, refusal: Refusal) -> Work:
    run.summarize(one_line(refusal.reason, 120))
    return work.model_copy(update={"refusal": refusal})


@stage
async def start_over(run: StageContext, work: Work) -> Work:
    """Take the fix back."""
    verdict = work.verdict
    assert verdict is not None, "only what was looked at is taken back"
    restore_base(run)
    if work.companions:
        return _without_companions(run, work, verdict)
    run.summarize(one_line(verdict.feedback, 120))
    unfit = [each for each in verdict.issues if each.category == "install"]
    made = format_subject(work.found.group, work.bump.moves if work.bump else ())
    kept = work.bump if work.bump and work.bump.by == "ladder" and not unfit else None
    refusal = Refusal(cause="no_rung", reason=unfit[0].description) if unfit else work.refusal
    more = {"broken": work.broken, "unfollowed": work.unfollowed}
    failed = (*work.failed, Failed(made=made, verdict=verdict))
    return _begin_again(work, bump=kept, refusal=refusal, failed=failed, **more)


def _without_companions(run: StageContext, work: Work, verdict: VerifyResult) -> Work:
    """Return the work without companions: what does not stand may be one of theirs."""
    assert work.bump is not None, "companions went with something"
    said = next((each.description for each in verdict.issues), verdict.feedback)
    why = _UNSEEN if verdict.unseen else _FAILED.format(why=one_line(said, 160))
    names = ", ".join(one_line(each.found.name, 60) for each in work.companions)
    run.summarize(one_line(f"without {names}: {why}", 120))
    return _begin_again(
        work,
        bump=work.bump,
        along="none",
        left_out=(_ALONE.format(names=names, why=why),),
    )


def _begin_again(work: Work, **more: object) -> Work:
    """Return what a next iteration knows of the one before."""
    return Work.model_validate({name: getattr(work, name) for name in _KEPT} | more)


def restore_base(run: StageContext) -> None:
    """Stand where the run began, with the dependencies of then."""
    run.update_state(start=run.base, head=run.base, foundation="")
    run.let_go()
