"""Survey before the first level: what is vulnerable, and the target of each version."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from agents.pipelines.remediate.ladder.climb_context import REJECTED, ClimbContext
from agents.pipelines.remediate.ladder.ecosystem import (
    AimsCopies,
    Ecosystem,
    explain_other_index,
    find_young,
)
from agents.pipelines.remediate.ladder.files import read_text
from agents.pipelines.remediate.ladder.locked import Copy, Locked
from agents.pipelines.remediate.ladder.ranges import NPM, PYPI, Ranges
from agents.pipelines.remediate.ladder.values import Group, Target, Terms, Unfit
from agents.ports import WorkTree

_BETWEEN = re.compile(r"[-_.]+")
"""What the names of Python's packages are the same with."""
_ABSENT = "{name} is not in {tool}'s files, so there is nothing to move."
_UNTOLD = (
    "`{file}:{line}` names {name} without a version that could be told. Where it takes it from"
    " elsewhere than an index, make that a version outside of the vulnerable ranges; where it asks"
    " for none, ask for one; where it only speaks of it, dismiss the alert."
)
_SAFE = "Every copy of {name} is outside of the vulnerable ranges already: {versions}."
_NO_RELEASE = (
    "The index offers no release of {name} after {old} that is outside of the vulnerable ranges"
    "{why}. Wait for one, replace the package, or dismiss the alert with a reason."
)
_UNWANTED = (
    "The releases of {name} after {old} that are outside of the vulnerable ranges are versions that"
    " the repository says to ignore (`ignore` in `.github/dependabot.yml`). Take the entry out, or"
    " dismiss the alert with a reason."
)
_MAJORS = " and of the same major version; {version} is of another"


async def survey(tree: WorkTree, ecosystem: Ecosystem, group: Group, terms: Terms) -> ClimbContext:
    """Return what every rung stands on. Raises Unfit or Stuck."""
    name = ecosystem.name_of(group.package)
    ranges = Ranges.from_advisories(ecosystem.scheme, group.advisories)
    start = await tree.snapshot()
    before = await ecosystem.read(tree)
    if not before.copies(name):
        await _require_unnamed(tree, ecosystem, name)
    copies = vulnerable(ecosystem, before, name, ranges)
    if other := await explain_other_index(tree, ecosystem, before, name):
        raise Unfit("other_index", other)
    offered = await ecosystem.available(tree, name)
    versions = dict.fromkeys(copy.version for copy in copies)
    targets = []
    for old in versions:
        possible = _possible(name, old, offered, ranges, terms)
        new = await _target(tree, ecosystem, name, possible, terms.newest)
        targets.append(Target(name=name, old=old, new=new))
    if isinstance(ecosystem, AimsCopies):
        ecosystem.aim(targets)
    await tree.restore(start)
    return ClimbContext(tree, ecosystem, group, terms, name, ranges, before, tuple(targets), start)


async def _require_unnamed(tree: WorkTree, ecosystem: Ecosystem, name: str) -> None:
    """Raise Unfit where a manifest decides, and names the package in a way that tells no version.

    As where it is taken from a repository or a folder: GitHub has an alert, so it is not called
    absent.
    """
    if ecosystem.locks or ecosystem.scheme not in (NPM, PYPI):
        return
    named = re.compile(rf"(?<![\w.-]){re.escape(name)}(?!\w|-[a-z])")
    for file in sorted(ecosystem.files):
        for at, line in enumerate((await read_text(tree, file)).split("\n"), 1):
            text = line.strip().lower()
            text = _BETWEEN.sub("-", text) if ecosystem.scheme is PYPI else text
            if named.search(text) and not text.startswith("#"):
                raise Unfit("no_release", _UNTOLD.format(file=file, line=at, name=name))


def vulnerable(ecosystem: Ecosystem, locked: Locked, name: str, ranges: Ranges) -> tuple[Copy, ...]:
    """Return the copies that have to move. Raises Unfit when none has to."""
    copies = locked.copies(name)
    if not copies:
        raise Unfit("nothing_to_do", _ABSENT.format(name=name, tool=ecosystem.tool))
    bad = tuple(copy for copy in copies if ranges.hold(copy.version))
    if not bad:
        versions = ", ".join(sorted({copy.version for copy in copies}))
        raise Unfit("nothing_to_do", _SAFE.format(name=name, versions=versions))
    return bad


def _possible(
    name: str, old: str, offered: Sequence[str], ranges: Ranges, terms: Terms
) -> list[str]:
    wanted = [
        version
        for version in offered
        if not any(ranges.scheme.admits(each, version) for each in terms.unwanted)
    ]
    found = list(ranges.targets(old, wanted, majors=terms.majors))
    if found:
        return found[:REJECTED]
    if len(wanted) < len(offered) and any(ranges.targets(old, offered, majors=terms.majors)):
        raise Unfit("no_release", _UNWANTED.format(name=name, old=old))
    other = next(ranges.targets(old, offered, majors=True), None)
    why = _MAJORS.format(version=other) if other else ""
    text = _NO_RELEASE.format(name=name, old=old, why=why)
    raise Unfit("no_release", text, major=other or "")


async def _target(
    tree: WorkTree, ecosystem: Ecosystem, name: str, possible: Sequence[str], newest: date | None
) -> str:
    """Return the smallest of these versions that nothing speaks against."""
    objections = []
    for version in possible:
        objection = await ecosystem.objection(tree, name, version)
        if not objection and await find_young(tree, ecosystem, [(name, version)], newest):
            objection = f"was published after {newest}, or nobody says when"
        if not objection:
            return version
        objections.append(f"{version} {objection}")
    listed = "; ".join(objections)
    raise Unfit("no_release", f"No release of {name} may be taken: {listed}.")
