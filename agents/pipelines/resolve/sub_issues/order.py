"""Order sub-issues by their dependencies, and list what blocks each."""

from __future__ import annotations

from collections.abc import Sequence

from agents.pipelines.stages.implement import Assignment
from agents.ports import SubIssue
from agents.requests import Frozen, ResolveIssue

_BRIEF = """Resolve this sub-issue; its text stands below. It is a part of {reference}, of which \
triage found:

{detail}"""


class BlockedPart(Frozen):
    """A part that cannot be worked on, and the open issues that have to be closed before."""

    number: int
    on: tuple[int, ...]


class Order(Frozen):
    """Every part stands in exactly one of these."""

    work: tuple[SubIssue, ...] = ()
    """What can be done, each after what it waits for."""
    done: tuple[SubIssue, ...] = ()
    """Closed already."""
    elsewhere: tuple[SubIssue, ...] = ()
    """In other repositories, where this run does nothing."""
    waiting: tuple[BlockedPart, ...] = ()
    """Held up by issues that are no parts, or by parts that cannot be done themselves."""
    cycles: tuple[tuple[int, ...], ...] = ()
    """Numbers of parts that wait for each other: each for the next one, the last for the first."""

    @property
    def any(self) -> bool:
        """Return whether the issue has parts at all."""
        return bool(self.work or self.done or self.elsewhere or self.waiting or self.cycles)

    @property
    def held_up(self) -> bool:
        """Return whether there are open parts, and none of them can be worked on."""
        return not self.work and bool(self.waiting or self.cycles or self.elsewhere)

    def assignments(self, request: ResolveIssue, detail: str) -> list[Assignment]:
        """Return each part as the engineer gets it who resolves it; `detail` is triage's."""
        outline = "\n".join(f"{n}. #{part.number}" for n, part in enumerate(self.work, 1))
        brief = _BRIEF.format(reference=request.reference, detail=detail)
        return [
            Assignment(
                number=number,
                count=len(self.work),
                title=part.title,
                brief=brief,
                plan=outline,
                source=f"The sub-issue {part.reference}, written by {_author(part)}",
                wish=f"{part.title}\n\n{part.body}",
                part=part.number,
            )
            for number, part in enumerate(self.work, 1)
        ]


def in_order(parts: Sequence[SubIssue]) -> Order:
    """Return the order: by what blocks what, then as GitHub lists them."""
    ours = [part for part in parts if not part.elsewhere]
    left = [part for part in ours if part.state == "open"]
    closed = {part.number for part in ours if part.state == "closed"}
    work: list[SubIssue] = []
    while (ready := _first_ready(left, closed | {part.number for part in work})) is not None:
        work.append(ready)
        left.remove(ready)
    cycles = _cycles(left)
    circling = {number for cycle in cycles for number in cycle}
    undone = {number for part in left for number in part.blocked_by}
    undone -= closed | {part.number for part in work}
    return Order(
        work=tuple(work),
        done=tuple(part for part in ours if part.state == "closed"),
        elsewhere=tuple(part for part in parts if part.elsewhere),
        waiting=tuple(
            BlockedPart(number=part.number, on=tuple(n for n in part.blocked_by if n in undone))
            for part in left
            if part.number not in circling
        ),
        cycles=cycles,
    )


def _author(part: SubIssue) -> str:
    return part.author or "somebody whose account is gone"


def _first_ready(left: Sequence[SubIssue], over: set[int]) -> SubIssue | None:
    return next((part for part in left if over.issuperset(part.blocked_by)), None)


def _cycles(stuck: Sequence[SubIssue]) -> tuple[tuple[int, ...], ...]:
    """Return each ring once, from the part in it that GitHub lists first.

    Of rings that share a part one is named: the others show once people have opened it.
    """
    blockers = {part.number: part.blocked_by for part in stuck}
    found: list[tuple[int, ...]] = []
    taken: set[int] = set()
    for part in stuck:
        ring = _ring(part.number, blockers, taken)
        taken.update(ring)
        if ring:
            found.append(ring)
    return tuple(found)


def _ring(start: int, blockers: dict[int, tuple[int, ...]], taken: set[int]) -> tuple[int, ...]:
    """Return a way from a part over what it waits for back to itself; empty when there is none."""
    ways: list[tuple[int, ...]] = [(start,)]
    seen = {start} | taken
    for way in ways:  # grows while it is read: the shortest way comes first
        for number in blockers.get(way[-1], ()):
            if number == start and start not in taken:
                return way
            if number not in seen:
                seen.add(number)
                ways.append((*way, number))
    return ()
