"""Stage fix: climb the ladder, and check what comes in against known advisories."""

from __future__ import annotations

from agents.pipelines.remediate.findings import known_ecosystem, make_terms
from agents.pipelines.remediate.ladder import (
    Advisory,
    Ecosystem,
    Fix,
    Group,
    Level,
    Move,
    Ranges,
    Refusal,
    Terms,
    Unfit,
    climb,
)
from agents.pipelines.remediate.report import WAYS
from agents.pipelines.remediate.words import format_message, format_subject, format_title
from agents.pipelines.remediate.work import Bump, Failed, Work
from agents.ports import WorkTree
from agents.requests import Frozen
from agents.run import StageContext, stage
from agents.text import code_span, one_line

CLIMBS = 3  # with what was learnt of advisories that no alert had named

_NEVER = "{reason} The policy wants no other major version (`remediation.majors`)."
_NOBODY = "{reason} The policy has people asked for another one, and nobody can be asked here."
_UNKNOWN = (
    "No rule of Fettle's mends {files} ({ecosystem}): only a model, or a person with its tool, can."
)
_CLEAN = "GitHub knows of no advisory that affects what came in ({count} version{s})."
_UNASKED = "Whether new advisories affect what came in could not be asked."
_NEW = "With it would come {names}, which {ids} affect; so it was taken back."


class Learnt(Frozen):
    """What advisories say of the versions that a fix brings in."""

    about: tuple[Advisory, ...] = ()
    """New ones: those that do not affect what was there before."""
    complete: bool = True
    count: int = 0


@stage
async def fix(run: StageContext, work: Work) -> Work:
    """Change the dependency files by rule."""
    if work.bump is not None and work.bump.by == "ladder":  # the same again: only the code follows
        return await _commit_bump(run, work, work.bump)
    if work.failed:  # an engineer's was found wrong: it is for an engineer again
        return work
    ecosystem = await known_ecosystem(run, work.found.group)
    if ecosystem is None:
        group = work.found.group
        files = ", ".join(code_span(one_line(each, 80)) for each in group.manifests[:3])
        about = {"files": files or "these files", "ecosystem": one_line(group.ecosystem, 40)}
        reason = _UNKNOWN.format(**about)
        return _refuse(run, work, Refusal(cause="unsupported", reason=reason))
    tree = await run.tree(run.base, changing=True)
    result = await _climb(run, tree, ecosystem, work.found.group)
    if isinstance(result, Refusal):
        return _refuse(run, work, result)
    return await _commit_bump(run, work, result)


async def learn(
    run: StageContext, ecosystem: Ecosystem, group: Group, moves: tuple[Move, ...]
) -> Learnt:
    """Return which advisories affect what these moves bring in, and did not before."""
    came = {(m.name, version) for m in moves for version in m.new if version not in m.old}
    went = {(m.name, version) for m in moves for version in m.old}
    if run.ports.alerts is None or not came:
        return Learnt(complete=not came)
    known = await run.ports.alerts.find_published(group.ecosystem, came | went)
    new = [each for each in known.advisories if _new(ecosystem, each, moves)]
    return Learnt(about=tuple(new), complete=known.complete, count=len(came))


def describe_advisories(learnt: Learnt) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return evidence and notes that come of it, where nothing speaks against the fix."""
    if learnt.complete:
        return (
            _CLEAN.format(count=learnt.count, s="s" * (learnt.count != 1)),
        ) if learnt.count else (), ()
    return (), (_UNASKED,)


def find_objection(learnt: Learnt) -> str:
    """Return what speaks against the fix, for people; empty: nothing does."""
    names = ", ".join(sorted({each.package for each in learnt.about}))
    ids = ", ".join(sorted({each.ghsa_id for each in learnt.about}))
    return _NEW.format(names=names, ids=ids) if learnt.about else ""


async def _climb(
    run: StageContext, tree: WorkTree, ecosystem: Ecosystem, group: Group
) -> Bump | Refusal:
    """Climb; where only another major version is left, see what comes of that one.

    What every requirement admits, and what only development needs, is no other major version in
    the sense that people have to look at it first.
    """
    start = await tree.snapshot()
    result = await _clean(run, tree, ecosystem, group, await make_terms(run))
    if isinstance(result, Fix):
        return Bump.from_fix(result)
    if not result.major:
        return result
    made = await _clean(run, tree, ecosystem, group, await make_terms(run, majors=True))
    if isinstance(made, Refusal):
        reason = f"{result.reason} {made.reason}"
        return result.model_copy(update={"reason": reason, "steps": made.steps})
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


async def _clean(
    run: StageContext, tree: WorkTree, ecosystem: Ecosystem, group: Group, allowed: Terms
) -> Fix | Refusal:
    """Climb until no advisory affects what comes in: what GitHub knows counts like an alert."""
    start = await tree.snapshot()
    for _ in range(CLIMBS):
        result = await climb(tree, ecosystem, group, allowed)
        if isinstance(result, Refusal):
            return result
        learnt = await learn(run, ecosystem, group, result.moves)
        if not learnt.about:
            evidence, notes = describe_advisories(learnt)
            more = {"evidence": (*result.evidence, *evidence), "notes": (*result.notes, *notes)}
            return result.model_copy(update=more)
        await tree.restore(start)
        mine = [
            each
            for each in learnt.about
            if _is_same_package(ecosystem, each.package, group.package)
        ]
        if not mine:
            break
        group = group.model_copy(update={"advisories": (*group.advisories, *mine)})
    return Refusal(cause="no_rung", reason=find_objection(learnt), steps=result.steps)


async def _commit_bump(run: StageContext, work: Work, bump: Bump) -> Work:
    group = work.found.group
    await run.tree(bump.tree)
    words = "\n".join(bump.evidence)
    body = format_message(group, words, retires=work.found.retire is not None)
    commit = await run.commit(format_title(work.model_copy(update={"bump": bump})), body)
    assert commit is not None, "a fix changes something: that was checked"
    run.stands(foundation=commit)  # what is installed from here on is what the fix asks for
    run.let_go()
    way = f"{WAYS[bump.level]}: " if bump.level is not None else ""
    run.summarize(f"{way[:1].lower()}{way[1:]}{commit[:10]}")
    return work.model_copy(update={"bump": bump.model_copy(update={"commit": commit})})


def _refuse(run: StageContext, work: Work, refusal: Refusal) -> Work:
    run.summarize(one_line(refusal.reason, 120))
    return work.model_copy(update={"refusal": refusal})


def _new(ecosystem: Ecosystem, advisory: Advisory, moves: tuple[Move, ...]) -> bool:
    """Return whether it affects what came in, and nothing of what was there."""
    try:
        ranges = Ranges.from_advisories(ecosystem.scheme, (advisory,))
    except Unfit:
        return False  # GitHub says it affects something, but not in words that can be checked
    mine = [move for move in moves if _is_same_package(ecosystem, advisory.package, move.name)]
    came = any(ranges.hold(version) for m in mine for version in m.new if version not in m.old)
    return came and not any(ranges.hold(version) for move in mine for version in move.old)


def _is_same_package(ecosystem: Ecosystem, one: str, other: str) -> bool:
    try:
        return ecosystem.name_of(one) == ecosystem.name_of(other)
    except Unfit:
        return one == other


@stage
async def start_over(run: StageContext, work: Work) -> Work:
    """Take the fix back."""
    assert work.verdict is not None, "only what was looked at is taken back"
    back_to_base(run)
    run.summarize(one_line(work.verdict.feedback, 120))
    unfit = [each for each in work.verdict.issues if each.category == "install"]
    made = format_subject(work.found.group, work.bump.moves if work.bump else ())
    kept = work.bump if work.bump and work.bump.by == "ladder" and not unfit else None
    refusal = Refusal(cause="no_rung", reason=unfit[0].description) if unfit else work.refusal
    return Work(
        found=work.found,
        replaces=work.replaces,
        why_not=work.why_not,
        bump=kept,
        refusal=refusal,
        failed=(*work.failed, Failed(made=made, verdict=work.verdict)),
    )


def back_to_base(run: StageContext) -> None:
    """Stand where the run began, with the dependencies of then."""
    run.stands(start=run.base, head=run.base, foundation="")
    run.let_go()
