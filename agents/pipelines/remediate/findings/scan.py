"""Stage scan: the open alerts of one package, its copies in lock files, and their reach."""

from __future__ import annotations

from pydantic import ValidationError

from agents.errors import RunError
from agents.pipelines.remediate.findings.alert_group import AlertGroup
from agents.pipelines.remediate.findings.committed import Committed
from agents.pipelines.remediate.findings.companions import gather_companions, keep_companions
from agents.pipelines.remediate.findings.eligibility import explain_unwanted
from agents.pipelines.remediate.findings.locate import (
    NOT_KNOWN,
    keep_to_one_tool,
    known_ecosystem,
    locate_copies,
    read_copies,
)
from agents.pipelines.remediate.ladder import (
    Ecosystem,
    Group,
    Stuck,
    Unfit,
    targets_of,
)
from agents.ports import Alerts
from agents.requests import ACTIONS, RemediateAlert, Retire
from agents.run import StageContext, stage
from agents.text import one_line

_NO_ALERTS = "GitHub's alerts cannot be read here, and no scan was handed in: use --from-scan FILE."
_OTHER = "The scan that was handed in is about {found}, not about {wanted}. Scan again."
_MOVED = "The scan that was handed in looked at {old}, and the branch is at {new} now. Scan again."
_BROKEN = "The scan that was handed in cannot be read ({count} faults; the first: {first})."
_NO_BRANCH = "There is no branch `{name}` to mend. Name another one with --base."
_NONE = "There is no open alert about {package} here any more."
_NO_RANGES = (
    "GitHub does not know the alerts about {package} any more that the override was made for, so"
    " nothing can say whether it is needed."
)
_GONE = "The override of {package} is not there any more."
_UNREADABLE = "Whether the override is needed cannot be told: {why}"


@stage
async def scan(run: StageContext, request: RemediateAlert) -> AlertGroup:
    """Find the alerts, the copies and their reach."""
    await _begin(run, request)
    if request.retire is not None:
        found = await _load_override_group(run, request, request.retire)
    elif request.scan is not None:
        found = await keep_companions(run, request, _handed_in(request, run.base))
    else:
        group = await _group(alerts_of(run), request)
        none = _NONE.format(package=request.package)
        over = await explain_unwanted(run, request, group) if _has_asked(request, group) else none
        mine, left = await keep_to_one_tool(run, group, request.alerts)
        found = AlertGroup(commit=run.base, group=mine, left=left, over=over)
        wanted = (await run.policy()).remediation.assess
        wanted = "unclear" if request.assess and wanted == "never" else wanted
        found = found.model_copy(update={"assess": wanted})
        found = found if over else await locate_copies(run, found)
        if not (found.over or request.dry_run):
            found = await gather_companions(run, request, found)
    run.summarize(one_line(found.over or _format_summary(found), 120))
    return found


def alerts_of(run: StageContext) -> Alerts:
    """Return the port of the alerts. Raises RunError where there is none."""
    if run.ports.alerts is None:
        raise RunError(_NO_ALERTS)
    return run.ports.alerts


async def _begin(run: StageContext, request: RemediateAlert) -> None:
    """Stand on the branch that is to be mended."""
    source = run.ports.source
    trunk = await source.fetch()
    base = await source.branch(request.base_branch) if request.base_branch else trunk
    if base is None:
        raise RunError(_NO_BRANCH.format(name=one_line(request.base_branch, 80)))
    await run.stand_on(trunk)
    run.update_state(base=base, start=base, head=base)
    await run.policy()  # an unreadable one ends the run before it costs anything
    await run.learn_tools()


def _handed_in(request: RemediateAlert, base: str) -> AlertGroup:
    try:
        found = AlertGroup.model_validate(request.scan)
    except ValidationError as error:
        first = one_line(error.errors(include_url=False)[0]["msg"], 120)
        raise RunError(_BROKEN.format(count=error.error_count(), first=first)) from error
    group = found.group
    same = (group.repository.lower(), group.ecosystem, group.package, group.directory)
    wanted = (request.repository.full_name.lower(), *_place(request))
    if same != wanted:
        about = one_line(f"{group.package} in {group.repository}/{group.directory}", 120)
        raise RunError(_OTHER.format(found=about, wanted=request.reference))
    if found.commit != base:  # the branch moved after the command had looked
        raise RunError(_MOVED.format(old=one_line(found.commit[:12], 12), new=base[:12]))
    return found


async def _group(alerts: Alerts, request: RemediateAlert) -> Group:
    """Return all open alerts of the package in the request's folder."""
    ecosystem, package, directory = _place(request)
    every = await alerts.open(ecosystem, package)
    mine = tuple(each for each in every if each.directory == directory)
    return Group(
        repository=request.repository.full_name,
        ecosystem=ecosystem,
        package=package,
        directory=directory,
        manifests=tuple(dict.fromkeys(each.manifest.strip("/") for each in mine)),
        advisories=mine,
    )


async def _load_override_group(
    run: StageContext, request: RemediateAlert, retire: Retire
) -> AlertGroup:
    """Return the alerts that the override was made for, with the open ones, and how it stands."""
    alerts = alerts_of(run)
    group = await _group(alerts, request)
    still = {each.alert for each in group.advisories}
    numbered = await alerts.find_by_numbers([each for each in request.alerts if each not in still])
    made_for = [each for each in numbered if each.package == request.package]
    every = (*made_for, *group.advisories)
    manifests = tuple(dict.fromkeys(each.manifest.strip("/") for each in every))
    group = group.model_copy(update={"advisories": every, "manifests": manifests})
    closed = tuple(each.alert for each in made_for)
    found = AlertGroup(commit=run.base, group=group, retire=retire, closed=closed)
    if not every:
        return found.model_copy(update={"over": _NO_RANGES.format(package=request.package)})
    ecosystem = await known_ecosystem(run, group)
    copies, note = await read_copies(run, ecosystem, group)
    over, let_go = await _stands(run, ecosystem, group, retire)
    tool = ecosystem.tool if ecosystem else ""
    more = {"tool": tool, "copies": copies, "note": note, "over": over, "let_go": let_go}
    return found.model_copy(update=more)


async def _stands(
    run: StageContext, ecosystem: Ecosystem | None, group: Group, retire: Retire
) -> tuple[str, bool]:
    """Return why nothing is to be done about the override, and whether that is for good."""
    if ecosystem is None:
        return _UNREADABLE.format(why=NOT_KNOWN), False
    tree = Committed(run.ports.source, run.base)
    try:
        await ecosystem.read(tree)
        targets = targets_of(retire, ecosystem.name_of(group.package))
        there = await ecosystem.has_override(tree, targets, retire.reason)
    except Stuck as changed:
        return str(changed), True
    except Unfit as unfit:
        return _UNREADABLE.format(why=unfit), False
    return ("", False) if there else (_GONE.format(package=group.package), True)


def _has_asked(request: RemediateAlert, group: Group) -> bool:
    """Return whether alerts that were asked for are open; by number, or any at all."""
    wanted = [
        each for each in group.advisories if not request.alerts or each.alert in request.alerts
    ]
    return bool(wanted)


def _place(request: RemediateAlert) -> tuple[str, str, str]:
    folder = "" if request.ecosystem == ACTIONS else request.directory.strip("/")
    return request.ecosystem, request.package, folder


def _format_summary(found: AlertGroup) -> str:
    count = len(found.group.advisories)
    versions = ", ".join(found.vulnerable) or "version not found"
    also = f", and {len(found.companions)} more" if found.companions else ""
    return f"{count} alert{'s' * (count != 1)} about {found.name} ({versions}){also}"
