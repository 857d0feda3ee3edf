"""Take along what else is vulnerable in the same lock file, each package in a commit of its own."""

from __future__ import annotations

from collections.abc import Sequence

from agents.pipelines.remediate.clean_climb import climb_clean
from agents.pipelines.remediate.commit_text import format_message, format_subject
from agents.pipelines.remediate.findings import AlertGroup, known_ecosystem, make_terms
from agents.pipelines.remediate.ladder import Ecosystem, Fix, Group, Ranges, Refusal
from agents.pipelines.remediate.work import Bump, CompanionFix, Work
from agents.ports import WorkTree
from agents.requests import ACTIONS
from agents.run import StageContext
from agents.text import one_line

_LEFT = "{name} is left out: {why}"
_ELSEWHERE = "another pull request is about it already."
_UNDONE = "the move would bring vulnerable versions of {names} back."
_LOOK = "somebody has to look at its move, so it goes in a pull request of its own."
_FIRST = "somebody has to look at the move of {name}, and nobody at this one."


async def take_along(run: StageContext, work: Work) -> Work:
    """Climb for each companion on what was made before it, and leave out what does not hold.

    What somebody has to look at goes in a pull request of its own, so that the rest need not wait:
    so it is neither taken along, nor does it take anything along.
    """
    assert work.bump is not None, "the first package has moved"
    if work.along == "none":
        return work
    if not work.bump.mechanical:
        why = _FIRST.format(name=one_line(work.found.name, 60))
        names = [one_line(each.name, 60) for each in work.found.companions]
        left = tuple(_LEFT.format(name=name, why=why) for name in names)
        return work.model_copy(update={"left_out": (*work.left_out, *left)})
    taken: list[CompanionFix] = []
    left_out: list[str] = []
    for found in work.found.companions:
        made = await _move(run, work, found, [work.found, *(each.found for each in taken)])
        if isinstance(made, CompanionFix):
            taken.append(made)
        else:
            left_out.append(_LEFT.format(name=one_line(found.name, 60), why=made))
    more = {"companions": tuple(taken), "left_out": (*work.left_out, *left_out)}
    return work.model_copy(update=more)


async def commit_bump(run: StageContext, group: Group, bump: Bump, subject: str, body: str) -> Bump:
    """Commit the files of the move that the ladder made."""
    await run.tree(bump.tree)
    action = "/".join(group.package.split("/")[:2]) if group.ecosystem == ACTIONS else ""
    commit = await run.commit(subject, body, moves_action=action)
    assert commit is not None, "a fix changes something: that was checked"
    return bump.model_copy(update={"commit": commit})


async def _move(
    run: StageContext, work: Work, found: AlertGroup, before: Sequence[AlertGroup]
) -> CompanionFix | str:
    """Move one more package and commit it, or return why it is left out."""
    if found.alerts & frozenset(work.elsewhere):
        return _ELSEWHERE
    tree = await run.tree(run.head, changing=True)
    made = await _climb(run, tree, found, before)
    if isinstance(made, Refusal):
        return CompanionFix(found=found) if made.cause == "nothing_to_do" else made.reason
    bump = Bump.from_fix(made)
    if not bump.mechanical:
        return _LOOK
    words = format_message(found.group, "\n".join(bump.evidence))
    subject = format_subject(found.group, bump.moves)
    bump = await commit_bump(run, found.group, bump, subject, words)
    return CompanionFix(found=found, bump=bump)


async def _climb(
    run: StageContext, tree: WorkTree, found: AlertGroup, before: Sequence[AlertGroup]
) -> Fix | Refusal:
    ecosystem = await known_ecosystem(run, found.group)
    assert ecosystem is not None, "the scan has found it there"
    allowed = await make_terms(run, found.group)
    terms = allowed.model_copy(update={"majors": False, "overrides": False})
    made = await climb_clean(run, tree, ecosystem, found.group, terms)
    if isinstance(made, Refusal):
        return made
    undone = await _list_vulnerable(tree, ecosystem, before)
    if undone:
        return Refusal(cause="no_rung", reason=_UNDONE.format(names=", ".join(undone)))
    return made


async def _list_vulnerable(
    tree: WorkTree, ecosystem: Ecosystem, groups: Sequence[AlertGroup]
) -> list[str]:
    """Return the packages of which a vulnerable copy is in the files as they are."""
    locked = await ecosystem.read(tree)
    found = []
    for each in groups:
        ranges = Ranges.from_advisories(ecosystem.scheme, each.group.advisories)
        copies = locked.copies(ecosystem.name_of(each.group.package))
        if any(ranges.hold(copy.version) for copy in copies):
            found.append(one_line(each.name, 60))
    return found
