"""What the owners want: which alerts are worth a fix, and how far a fix may go."""

from __future__ import annotations

from datetime import UTC, datetime

from agents.pipelines.remediate.findings.dependabot_config import (
    find_ignored,
    list_ignored_versions,
)
from agents.pipelines.remediate.ladder import Group, Terms
from agents.requests import RemediateAlert
from agents.run import StageContext
from agents.text import one_line

_POLICY = "The policy leaves these alerts alone: {why} (`remediation` in `.github/fettle.yml`)."
_IGNORED = (
    "`{path}` says to ignore `{name}`. Take that out, or ask for the alert itself:"
    " `fettle remediate` with its address."
)


async def explain_unwanted(run: StageContext, request: RemediateAlert, group: Group) -> str:
    """Return why no alert of the group is worth a fix; empty where one is, and all are mended.

    Alerts that were asked for by number are wanted, whatever the policy says.
    """
    if request.alerts:
        return ""
    policy = (await run.policy()).remediation
    severities = request.severities or policy.severities
    severe = [each for each in group.advisories if each.severity in severities]
    if not severe:
        found = ", ".join(sorted({each.severity for each in group.advisories}))
        return _POLICY.format(why=f"their severity is {found}")
    if policy.scope == "runtime" and all(each.scope == "development" for each in severe):
        return _POLICY.format(why="only development needs the package")
    path, name = await find_ignored(run.ports.source, run.base, group)
    return _IGNORED.format(path=path, name=one_line(name, 100)) if path else ""


async def make_terms(
    run: StageContext, group: Group | None = None, *, majors: bool = False
) -> Terms:
    """Return what a fix may do: of this package, if it is said, to no version that is ignored.

    `majors`: also move to another major version, to see what comes.
    """
    request, source, unwanted = run.request, run.ports.source, tuple[str, ...]()
    if group is not None and isinstance(request, RemediateAlert) and not request.alerts:
        unwanted = await list_ignored_versions(source, run.base, group)
    policy = (await run.policy()).remediation
    return Terms(
        today=datetime.fromtimestamp(run.wall(), UTC).date(),
        majors=majors or policy.majors == "allow",
        unwanted=unwanted,
        min_days=policy.min_release_days,
        overrides=policy.overrides,
        override_days=policy.override_days,
    )
