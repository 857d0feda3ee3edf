"""Stage agree: ask people for another major version, once it is made and checked."""

from __future__ import annotations

from agents.pipelines.remediate.ladder import Refusal
from agents.pipelines.remediate.majors.breakage import list_broken, name_broken
from agents.pipelines.remediate.report import HOW, describe_threat
from agents.pipelines.remediate.work import Work
from agents.pipelines.stages.quality import headline
from agents.run import StageContext, stage
from agents.text import one_line

RULE = "remediate/major"
WHAT = "move to another major version"
_REASON = (
    "{advisories} No release of the same major version is safe. Version {version} is; it may break"
    " what uses it. {made} {checks} {opened}"
)
_NEUTRAL = (
    "Version {version} is another major version, and may break what uses it. {made} {checks}"
    " {opened}"
)
"""While nobody may learn what it is for."""
_OPENED = "With a yes the pull request is opened."
_DRAFTED = (
    "With a yes it is opened as a draft, in which somebody has to have the code follow: these"
    " checks fail with it: {failing}"
)
_WAY = "It comes in by way of {way}."
_OWN = "The repository asks for it itself."
_DENIED = "{by} said no to version {version}, the only one that is safe."


@stage
async def agree(run: StageContext, work: Work) -> Work:
    """Ask whether another major version is wanted."""
    assert work.bump is not None, "there is a fix, and it stands"
    version = work.bump.major
    if (await run.policy()).remediation.majors != "ask":
        run.summarize("the policy has it made a draft")
        return work
    group = work.found.group
    arguments = {"package": group.package, "directory": group.directory, "version": version}
    if work.handed_over:  # the words may be kept from the public, what is asked never is
        arguments["checks that fail with it"] = list_broken(work)
    reason = _explain(work, run.request.repository_url)
    said = await run.consent(WHAT, arguments, rule=RULE, reason=reason)
    by = one_line(said.decided_by, 60) or "Nobody has agreed: somebody"
    if said.state == "approved":
        run.summarize(f"{by} said yes to {version}")
        return work
    reason = _DENIED.format(by=by, version=version)
    run.summarize(reason)
    refusal = Refusal(cause="no_rung", reason=reason)
    gone = {"bump": None, "handed_over": False, "failed": ()}  # a no is why there is none
    return work.model_copy(update={"refusal": refusal, **gone})


def _explain(work: Work, repository_url: str) -> str:
    """Return what people have to know to say yes or no."""
    bump = work.bump
    assert bump is not None, "there is a fix"
    group = work.found.group
    said = [
        f"{describe_threat(each, repository_url)} ({one_line(each.ghsa_id, 40)})."
        for each in group.advisories[:3]
    ]
    paths = [copy.paths[0] for copy in work.found.copies if copy.vulnerable and copy.paths]
    ways = [" → ".join(one_line(name, 60) for name in path[:5]) for path in paths if len(path) > 1]
    if paths:
        said.append(_WAY.format(way=ways[0]) if ways else _OWN)
    how = HOW[bump.level] if bump.level is not None else "A model changed the dependency files."
    reason = _NEUTRAL if group.undisclosed else _REASON
    return reason.format(
        advisories=" ".join(said),
        version=bump.major,
        made=f"What was made: {how}",
        checks=headline(work.quality) if work.quality else "No check was run.",
        opened=_DRAFTED.format(failing=name_broken(work)) if work.handed_over else _OPENED,
    )
