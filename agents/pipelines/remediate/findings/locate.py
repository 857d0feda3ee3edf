"""Locate the copies of a package in the lock file, and their reach into the code."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Sequence

from agents.errors import FettleError, ModelRefused
from agents.pipelines.remediate.accepted.tools import LOCKS
from agents.pipelines.remediate.findings.alert_group import AlertGroup, FoundCopy
from agents.pipelines.remediate.findings.committed import Committed
from agents.pipelines.remediate.findings.reach import Reach, list_source_files, triage
from agents.pipelines.remediate.frozen_locks import explain_unmended
from agents.pipelines.remediate.ladder import (
    Ecosystem,
    Group,
    Ranges,
    Stuck,
    Unfit,
    ecosystem_of,
)
from agents.run import StageContext
from agents.text import code_span, one_line

MOST_FILES = 600  # that are searched for imports

_SAFE = "Every copy of {package} is outside of the vulnerable ranges already: {versions}."
NOT_KNOWN = "Fettle does not know the lock file of these manifests, so an engineer has to find it."
_OTHERS = "{files}: of another tool, so {package} there is left for a run of its own, after this."
_PARTLY = "Only the first {most} of {count} source files were searched for imports."


async def known_ecosystem(run: StageContext, group: Group) -> Ecosystem | None:
    """Return what knows the files that the alerts are about; None: an engineer has to."""
    paths = frozenset(await run.ports.source.files(run.base))
    return ecosystem_of(paths, group, run.ports.actions)


async def keep_to_one_tool(
    run: StageContext, group: Group, asked: Collection[int] = ()
) -> tuple[Group, str]:
    """Return the alerts about the files of one tool, and what is said of the others.

    A folder may have files of several, as `uv.lock` and the `requirements.txt` that is exported
    from it. Each is mended by itself: the one that was asked for by number, else a lock file first.
    """
    if len(group.manifests) < 2 or await known_ecosystem(run, group) is not None:
        return group, ""
    numbers = {each.manifest.strip("/"): each.alert in asked for each in group.advisories}
    files = sorted(
        group.manifests,
        key=lambda each: (not numbers.get(each), posixpath.basename(each) not in LOCKS),
    )
    tools = {each: await known_ecosystem(run, _narrow(group, [each])) for each in files}
    known = [each for each in files if tools[each] is not None]
    mine = [each for each in known if type(tools[each]) is type(tools[known[0]])]
    narrow = _narrow(group, mine)
    if not mine or await known_ecosystem(run, narrow) is None:
        return group, ""
    others = ", ".join(code_span(one_line(each, 80)) for each in files if each not in mine)
    return narrow, _OTHERS.format(package=one_line(group.package, 100), files=others)


def _narrow(group: Group, manifests: Sequence[str]) -> Group:
    mine = [each for each in group.advisories if each.manifest.strip("/") in manifests]
    return group.model_copy(update={"manifests": tuple(manifests), "advisories": tuple(mine)})


async def locate_copies(run: StageContext, found: AlertGroup) -> AlertGroup:
    """Return the group with the copies and their reach."""
    ecosystem = await known_ecosystem(run, found.group)
    copies, note = await read_copies(run, ecosystem, found.group)
    [reach], partly = await measure_reach(run, (found.group,))
    by_hand = ""
    if ecosystem is None and await _is_without_model(run):
        by_hand = explain_unmended(await run.ports.source.files(run.base), found.group)
    tool = ecosystem.tool if ecosystem else ""
    found = found.model_copy(update={"tool": tool, "copies": copies, "by_hand": by_hand})
    return with_reach(found, reach, notes=(note, partly))


async def _is_without_model(run: StageContext) -> bool:
    """Return whether no model is ever asked here."""
    try:
        await run.ports.model.capabilities(run.models.get("strong", ""))
    except ModelRefused:
        return True
    except FettleError:  # whoever asks one is told
        pass
    return False


def with_reach(found: AlertGroup, reach: Reach, *, notes: Sequence[str] = ()) -> AlertGroup:
    """Return the group with the reach of its copies; `over` where all of them are safe."""
    copies, advisories = found.copies, found.group.advisories
    versions = ", ".join(copy.version for copy in copies)
    over = " ".join([_SAFE.format(package=found.name, versions=versions), *notes[:1]]).strip()
    safe = bool(copies) and not any(copy.vulnerable for copy in copies)
    return found.model_copy(
        update={
            "triage": triage(advisories, copies, reach, located=bool(copies)),
            "note": " ".join(each for each in notes if each),
            "over": over if safe else "",
        }
    )


async def read_copies(
    run: StageContext, ecosystem: Ecosystem | None, group: Group
) -> tuple[tuple[FoundCopy, ...], str]:
    """Return the copies, or why they cannot be told: then the ladder, or an engineer, will."""
    if ecosystem is None:
        return (), NOT_KNOWN
    try:
        locked = await ecosystem.read(Committed(run.ports.source, run.base))
        ranges = Ranges.from_advisories(ecosystem.scheme, group.advisories)
        copies = locked.copies(ecosystem.name_of(group.package))
    except (Unfit, Stuck) as fault:
        return (), str(fault)
    return tuple(
        FoundCopy(version=copy.version, vulnerable=ranges.hold(copy.version), paths=copy.paths)
        for copy in copies
    ), " ".join(locked.notes)


async def measure_reach(run: StageContext, groups: Sequence[Group]) -> tuple[list[Reach], str]:
    """Return how far each of these packages of one ecosystem reaches, and what was left out."""
    source = run.ports.source
    paths = list_source_files(groups[0].ecosystem, await source.files(run.base))
    found = [Reach(each.ecosystem, each.package, searchable=bool(paths)) for each in groups]
    for path in paths[:MOST_FILES]:
        text = (await source.show(run.base, path) or b"").decode("utf-8", "replace")
        for reach in found:
            reach.look(path, text)
    left_out = len(paths) > MOST_FILES
    return found, _PARTLY.format(most=MOST_FILES, count=len(paths)) if left_out else ""
