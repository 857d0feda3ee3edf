"""Climb the ladder until no known advisory affects what comes in."""

from __future__ import annotations

from agents.pipelines.remediate.ladder import (
    Advisory,
    Ecosystem,
    Fix,
    Group,
    Move,
    Ranges,
    Refusal,
    Terms,
    Unfit,
    climb,
)
from agents.ports import WorkTree
from agents.requests import Frozen
from agents.run import StageContext

CLIMBS = 3  # with what was learnt of advisories that no alert had named
_CLEAN = "GitHub knows of no advisory that affects what came in ({count} version{s})."
UNASKED = "Whether new advisories affect what came in could not be asked."
_NEW = "With it would come {names}, which {ids} affect; so it was taken back."


class Learnt(Frozen):
    """What advisories say of the versions that a fix brings in."""

    about: tuple[Advisory, ...] = ()
    """New ones: those that do not affect what was there before."""
    complete: bool = True
    count: int = 0


async def climb_clean(
    run: StageContext, tree: WorkTree, ecosystem: Ecosystem, group: Group, allowed: Terms
) -> Fix | Refusal:
    """Climb until no advisory affects what comes in: what GitHub knows counts like an alert."""
    start = await tree.snapshot()
    for _ in range(CLIMBS):
        result = await climb(tree, ecosystem, group, allowed)
        if isinstance(result, Refusal):
            return result
        learnt = await find_new_advisories(run, ecosystem, group, result.moves)
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


async def find_new_advisories(
    run: StageContext, ecosystem: Ecosystem, group: Group, moves: tuple[Move, ...]
) -> Learnt:
    """Return which advisories affect what these moves bring in, and did not before."""
    came = {(m.name, version) for m in moves for version in m.new if version not in m.old}
    went = {(m.name, version) for m in moves for version in m.old}
    if run.ports.alerts is None or not came:
        return Learnt(complete=not came)
    known = await run.ports.alerts.find_published(group.ecosystem, came | went)
    new = [each for each in known.advisories if _new(ecosystem, each, moves)]
    if any(_read_range(ecosystem, each) is None for each in known.advisories):
        after, before = [
            await run.ports.alerts.find_published(group.ecosystem, each) for each in (came, went)
        ]
        added = [each for each in after.advisories if each not in before.advisories]
        new += [each for each in added if _read_range(ecosystem, each) is None]
    return Learnt(about=tuple(new), complete=known.complete, count=len(came))


def describe_advisories(learnt: Learnt) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return evidence and notes that come of it, where nothing speaks against the fix."""
    if learnt.complete:
        return (
            _CLEAN.format(count=learnt.count, s="s" * (learnt.count != 1)),
        ) if learnt.count else (), ()
    return (), (UNASKED,)


def find_objection(learnt: Learnt) -> str:
    """Return what speaks against the fix, for people; empty: nothing does."""
    names = ", ".join(sorted({each.package for each in learnt.about}))
    ids = ", ".join(sorted({each.ghsa_id for each in learnt.about}))
    return _NEW.format(names=names, ids=ids) if learnt.about else ""


def _new(ecosystem: Ecosystem, advisory: Advisory, moves: tuple[Move, ...]) -> bool:
    """Return whether it affects what came in, and nothing of what was there."""
    ranges = _read_range(ecosystem, advisory)
    if ranges is None:
        return False
    mine = [move for move in moves if _is_same_package(ecosystem, advisory.package, move.name)]
    came = any(ranges.hold(version) for m in mine for version in m.new if version not in m.old)
    return came and not any(ranges.hold(version) for move in mine for version in move.old)


def _read_range(ecosystem: Ecosystem, advisory: Advisory) -> Ranges | None:
    """Return what it affects; None where only GitHub can tell, by the versions it is asked for."""
    try:
        return Ranges.from_advisories(ecosystem.scheme, (advisory,))
    except Unfit:
        return None


def _is_same_package(ecosystem: Ecosystem, one: str, other: str) -> bool:
    try:
        return ecosystem.name_of(one) == ecosystem.name_of(other)
    except Unfit:
        return one == other
