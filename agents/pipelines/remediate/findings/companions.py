"""Other packages with alerts in the same lock file, which a fix may take along."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from agents.pipelines.remediate.findings.alert_group import AlertGroup
from agents.pipelines.remediate.findings.dependabot_config import read_groups
from agents.pipelines.remediate.findings.eligibility import explain_unwanted
from agents.pipelines.remediate.findings.locate import (
    keep_to_one_tool,
    known_ecosystem,
    measure_reach,
    read_copies,
    with_reach,
)
from agents.pipelines.remediate.ladder import Advisory, Ecosystem, Group
from agents.requests import RemediateAlert
from agents.run import StageContext

MOST = 10  # packages beside the first: a pull request is read by people
_WORST_FIRST = ("critical", "high", "medium", "low")


async def gather_companions(
    run: StageContext, request: RemediateAlert, found: AlertGroup
) -> AlertGroup:
    """Return the group with the packages that a fix may take along.

    There are none where people asked for this package by name, and where the public must not learn
    what a fix is for: then each goes its own way, and neither gives the other away.
    """
    group, alerts = found.group, run.ports.alerts
    if alerts is None or not await _may_be_together(run, request, group):
        return found
    own = await known_ecosystem(run, group)
    if own is None:
        return found
    divide = await read_groups(run.ports.source, run.base, group.ecosystem, group.directory)
    every = await alerts.open_in_folder(group.ecosystem, group.directory)
    others: list[AlertGroup] = []
    for other in _group_by_package(every, group):
        together = other.package != group.package and divide.are_together(group, other)
        if not together or other.undisclosed or await explain_unwanted(run, request, other):
            continue
        if (located := await _locate(run, own, other)) is not None:
            others.append(located.model_copy(update={"assess": found.assess}))
        if len(others) == MOST:
            break
    return found.model_copy(update={"companions": await _with_reach(run, others)})


async def keep_companions(
    run: StageContext, request: RemediateAlert, found: AlertGroup
) -> AlertGroup:
    """Return what an earlier scan found, with those companions that may go along."""
    group, others = found.group, found.companions
    if not others or not await _may_be_together(run, request, group):
        return found.model_copy(update={"companions": ()})
    divide = await read_groups(run.ports.source, run.base, group.ecosystem, group.directory)
    kept = [each for each in others if divide.are_together(group, each.group)]
    return with_companions(found, kept)


def with_companions(found: AlertGroup, others: Iterable[AlertGroup]) -> AlertGroup:
    """Return the group with those of the others, of a whole scan, that its fix may take along."""
    kept = [each for each in others if _is_same_lock(found, each)]
    return found.model_copy(update={"companions": tuple(kept[:MOST])})


def _is_same_lock(one: AlertGroup, other: AlertGroup) -> bool:
    places = [(e.group.ecosystem, e.group.directory, e.tool) for e in (one, other)]
    secret = one.group.undisclosed or other.group.undisclosed
    same = bool(one.tool) and places[0] == places[1] and one.name != other.name
    return same and not secret and not other.over and bool(other.vulnerable)


async def _may_be_together(run: StageContext, request: RemediateAlert, group: Group) -> bool:
    policy = (await run.policy()).remediation
    chosen = not (request.unasked or request.together)
    return not (policy.group != "lockfile" or chosen or group.undisclosed)


def _group_by_package(every: Sequence[Advisory], like: Group) -> list[Group]:
    """Return the alerts by package, the worst first."""
    packages: dict[str, list[Advisory]] = defaultdict(list)
    for each in every:
        packages[each.package].append(each)
    groups = [
        like.model_copy(
            update={
                "package": package,
                "manifests": tuple(dict.fromkeys(each.manifest.strip("/") for each in mine)),
                "advisories": tuple(mine),
            }
        )
        for package, mine in packages.items()
    ]
    return sorted(groups, key=lambda group: (_rank(group), group.package))


def _rank(group: Group) -> int:
    return min(_WORST_FIRST.index(each.severity) for each in group.advisories)


async def _locate(run: StageContext, own: Ecosystem, group: Group) -> AlertGroup | None:
    """Return the package with its copies; None where it is in another lock file, or safe."""
    group, left = await keep_to_one_tool(run, group)
    other = await known_ecosystem(run, group)
    if other is None or other.tool != own.tool or other.files.isdisjoint(own.files):
        return None
    copies, note = await read_copies(run, other, group)
    if not any(copy.vulnerable for copy in copies):
        return None
    about = {"tool": other.tool, "copies": copies, "note": note, "left": left}
    return AlertGroup(commit=run.base, group=group, **about)


async def _with_reach(run: StageContext, groups: Sequence[AlertGroup]) -> tuple[AlertGroup, ...]:
    if not groups:
        return ()
    reached, partly = await measure_reach(run, [each.group for each in groups])
    return tuple(
        with_reach(each, reach, notes=(each.note, partly))
        for each, reach in zip(groups, reached, strict=True)
    )
