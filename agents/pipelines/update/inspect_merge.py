"""Stage inspect_merge: find tests and checks weakened beyond what git merged.

What the base branch took away is its own people's decision. So the work is compared with the clean
part of the merge; and a file in conflict with both of its versions, less what the other branch had
taken away from it as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from agents.analysis.weakening import Finding
from agents.pipelines.stages.inspect_weakening import Inspection, find_weakened, judge
from agents.pipelines.update.lost_tests import Versions, find_lost_tests
from agents.pipelines.update.merge import BaseMerge
from agents.run import StageContext, stage


@stage
async def inspect_merge(
    run: StageContext,
    merge: BaseMerge,
    lost: tuple[Finding, ...] = (),
    earlier: Inspection | None = None,
) -> Inspection:
    """Look for tests and checks that the merge loosens.

    `lost`, `earlier`: as for `inspect`. Tests that git alone merged away, one of both sides took.
    """
    if merge.conflicts:
        places = await _lost_of(run, merge, merge.ours, merge.theirs)
        places += await _lost_of(run, merge, merge.theirs, merge.ours)
        places += find_lost_tests(
            {path: await _versions(run, merge, path) for path in merge.conflicts}
        )
    else:
        places = list(await find_weakened(run, merge.tree, run.head))
    if merge.conflicts or await (await run.tree()).list_changed_paths(merge.tree, run.head):
        places += lost
    unique = {_subject(each): each for each in reversed(places)}
    return await judge(run, tuple(reversed(unique.values())), earlier)


async def _versions(run: StageContext, merge: BaseMerge, path: str) -> Versions:
    sides = (merge.fork, merge.ours, merge.theirs, run.head)
    return Versions(*[await run.ports.source.show(side, path) for side in sides])


async def _lost_of(run: StageContext, merge: BaseMerge, side: str, other: str) -> list[Finding]:
    """Return what is weaker than on this side, and not because the other side had made it so."""
    blended = run.ports.source.overlay
    before = await blended(merge.tree, side, merge.conflicts)
    theirs = await blended(merge.fork, other, merge.conflicts)
    taken = await find_weakened(run, merge.fork, theirs)
    return list(_subtract_known(await find_weakened(run, before, run.head), taken))


def _subtract_known(places: Sequence[Finding], known: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the findings that are not among the known ones, wherever their lines are now."""
    left = Counter(_subject(each) for each in known)
    for each in places:
        if left[_subject(each)]:
            left[_subject(each)] -= 1
        else:
            yield each


def _subject(finding: Finding) -> tuple[str, str, str]:
    return finding.path, finding.kind, finding.text
