"""Prove by code that changed files hold the fix and nothing else, whoever changed them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from agents.pipelines.remediate.ladder.checked import LISTED, check
from agents.pipelines.remediate.ladder.climb_context import ClimbContext
from agents.pipelines.remediate.ladder.ecosystem import Ecosystem, HasOwnProof, find_young
from agents.pipelines.remediate.ladder.ranges import Ranges
from agents.pipelines.remediate.ladder.values import Accepted, Group, Move, Stuck, Terms
from agents.ports import WorkTree
from agents.requests import Frozen

_ACCEPTED = "`{command}` accepted the files as they are (exit code 0)."
_FETCHED = "Fetched, and held against the hashes in the lock file: {named}."
_UNPROVED = "No command of {tool} has accepted the files."
_YOUNG = "It would bring in what was published after {newest}, or nobody says when: {named}."


class Proof(Frozen):
    """All checks by code hold."""

    moves: tuple[Move, ...]
    files: tuple[str, ...]
    evidence: tuple[str, ...]
    notes: tuple[str, ...]
    tree: str
    within: bool = False
    """Whether the repository's own requirements are all as they were."""


async def prove(context: ClimbContext, named: Collection[str]) -> Proof:
    """Check the files as they are. Raises Stuck with each check that does not hold."""
    ecosystem, tree = context.ecosystem, context.tree
    after = await ecosystem.read(tree)
    result = await tree.snapshot()
    changed = await tree.list_changed_paths(context.start, result)
    found = check(context, after, changed, named)
    if found.problems:
        raise Stuck(" ".join(found.problems))
    moved = {(move.name, new) for move in found.moves for new in move.new if new not in move.old}
    if young := await find_young(tree, ecosystem, moved, context.terms.newest):
        named = ", ".join(f"{name} {version}" for name, version in sorted(young)[:LISTED])
        raise Stuck(_YOUNG.format(named=named, newest=context.terms.newest))
    accepted = await ecosystem.verify_lock(tree, context.before, after)
    await tree.restore(result)  # what the proof left behind is no part of the fix
    within = after.own == context.before.own
    return Proof(
        moves=found.moves,
        files=tuple(sorted(changed)),
        evidence=(*found.evidence, *_list_proofs(ecosystem, accepted)),
        notes=accepted.notes,
        tree=result,
        within=within,
    )


def _list_proofs(ecosystem: Ecosystem, accepted: Accepted) -> Iterator[str]:
    """Yield what ran and what it showed. Raises Stuck where nothing did: that is no proof."""
    if isinstance(ecosystem, HasOwnProof):
        yield ecosystem.proof
    elif not accepted.commands:
        raise Stuck(_UNPROVED.format(tool=ecosystem.tool))
    yield from (_ACCEPTED.format(command=each) for each in accepted.commands)
    if accepted.fetched:
        yield _FETCHED.format(named=_join(accepted.fetched))


def _join(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"{', '.join(names[:LISTED])}{more}"


async def judge(
    tree: WorkTree, ecosystem: Ecosystem, group: Group, terms: Terms, files: Sequence[str]
) -> Proof:
    """Check a fix that was not made here: `files` are the trees before and after it.

    Raises Stuck with each check that does not hold, and Unfit.
    """
    start, result = files
    name = ecosystem.name_of(group.package)
    ranges = Ranges.from_advisories(ecosystem.scheme, group.advisories)
    await tree.restore(start)
    before = await ecosystem.read(tree)
    await tree.restore(result)
    context = ClimbContext(tree, ecosystem, group, terms, name, ranges, before, (), start)
    return await prove(context, {name, *(own.name for own in before.own)})
