"""Poll the open Dependabot alerts of each repository, and start the runs that are missing.

GitHub sends one delivery about an alert. Polling finds the other alerts: those from before the
installation, those whose delivery was lost, and those that had no fix at that time. The policy sets
how often. A fix that was tried before is tried again only after something has changed.
"""

from __future__ import annotations

import hashlib
import posixpath
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence

import orjson
import structlog

from agents.errors import RunError, TransientError
from agents.policy import Found, InvalidPolicy, Policy
from agents.requests import Person, RemediateAlert, Repository
from app.alerts.outcomes import mark
from app.github.alerts.list_open import OpenAlerts
from app.github.alerts.schema import range_in, version_in
from app.store.alerts import AlertLooks, AlertRuns, Due, Remediation, Remediations
from app.store.schedule_leases import PassLock, Sweeps
from app.webhooks import Delivery, Inbox
from handlers import internal
from handlers.access.alerts import find_objection
from handlers.dependabot_alert import make_request
from handlers.payloads.alerts import AlertView

NAME = "alerts"
CLOCK = Person(id=0, login="the schedule")
"""Stands for the asker; no account can have such a name."""
DAY = 86_400.0
WEEK = 7 * DAY
RHYTHM: Mapping[str, float] = {"daily": DAY, "weekly": WEEK}
SLACK = 3600.0
"""Seconds by which a look may come early, so that a rhythm does not shift by a pass each time."""
LONGEST_PAUSE = 28 * DAY
"""Seconds at most after which what nothing has changed about is tried again: a release may be
there that GitHub does not tell of."""
MOST_REPOSITORIES = 250
"""In one pass, if there is time; the next one goes on with the others."""
MOST_RUNS = 5
"""Runs that one pass starts in one repository; the next pass continues."""
SEVERITIES = ("critical", "high", "medium", "low")

ReadRepositoryPolicy = Callable[[int, Repository], Awaitable[Found]]
"""Reads the policy that holds in a repository now; the first is the installation."""
AlertViews = Sequence[AlertView]

log = structlog.get_logger()


class AlertPoll:
    """Polls some repositories in each pass, each with a token for its alerts alone."""

    def __init__(
        self,
        alerts: OpenAlerts,
        policy: ReadRepositoryPolicy,
        *,
        sweeps: Sweeps,
        looks: AlertLooks,
        runs: AlertRuns,
        remediations: Remediations,
        inbox: Inbox,
        every: float,
    ) -> None:
        self._alerts = alerts
        self._policy = policy
        self._looks = looks
        self._runs = runs
        self._remediations = remediations
        self._inbox = inbox
        self._every = every
        self._turn = PassLock(sweeps, NAME)

    async def run(self) -> None:
        """Make one pass, unless one is under way in this process or another."""
        await self._turn.take(self._pass)

    async def _pass(self) -> None:
        away: set[int] = set()
        for due in await self._looks.due(MOST_REPOSITORIES):
            # First of all, so that one at which it breaks does not stop the others for ever.
            ident, now = due.repository.id, time.time()
            await self._looks.record_look(ident, next_at=now + self._every, whole=False)
            if due.installation_id in away:
                continue
            try:
                pause, whole = await self._look(due)
            except RunError as error:  # alerts are switched off there, or may not be read
                log.info("alerts not looked at", repository=ident, reason=str(error))
                pause, whole = DAY, False
            except TransientError as error:  # mostly its hour's requests, which others still have
                log.warning("alerts not looked at yet", repository=ident, reason=str(error))
                away.add(due.installation_id)
                continue
            await self._looks.record_look(ident, next_at=now + pause, whole=whole)

    async def _look(self, due: Due) -> tuple[float, bool]:
        """Ask for what is missing; return when to look again, and whether all was looked at."""
        if not due.readable:
            return DAY, False
        found = group_alerts(await self._alerts.read(due.installation_id, due.repository))
        if not found:
            return DAY, True
        policy = await self._policy(due.installation_id, due.repository)
        if isinstance(policy, InvalidPolicy) or (rhythm := _rhythm(policy.policy)) is None:
            return DAY, False
        if time.time() < due.looked_at + rhythm - SLACK:
            return DAY, False
        asked = 0
        for group in found:
            request = _request(due, group)
            if find_objection(request.told, policy.policy.remediation):
                continue
            if asked == MOST_RUNS:
                return self._every, False
            asked += await self._ask(due, request, group)
        return DAY, True

    async def _ask(self, due: Due, request: RemediateAlert, group: AlertViews) -> bool:
        """Put the request into the inbox if there is reason for it; tell whether it was new.

        One that was asked for already, and came to nothing, must not stand in the way of others.
        """
        if await self._runs.live(request.lane):
            return False
        branch = due.repository.default_branch
        now = {each.number: mark_of(each) for each in group}
        every = await self._remediations.list_about(due.repository.id, request.lane, now)
        tried = [each for each in every if each.base == branch]
        reason = explain_retry(tried, now, time.time())
        if not reason and await self._have_files_changed(due, tried, group):
            reason = "the lock file is another one"
        if not reason:
            return False
        if await self._inbox.store(_delivery(due, request)) == "duplicate":
            return False
        log.info("open alerts without a run found", lane=request.lane, reason=reason)
        return True

    async def _have_files_changed(
        self, due: Due, tried: Sequence[Remediation], group: AlertViews
    ) -> bool:
        """Tell whether it is worth another try because the files are not those of the last one."""
        last = tried[0]
        now = time.time()
        # What is to be merged is made anew where its files have moved.
        open_now = any(each.state == "open" for each in tried)
        waits = not open_now and any(_waits(each, now) for each in tried)
        if not last.commit or last.declined or waits:
            return False
        pause = DAY if open_now else _pause(tried, DAY)  # some lock files change every day
        if now < last.ended_at + pause:
            return False
        folder, _ = posixpath.split(group[0].dependency.manifest_path.strip("/"))
        names = {posixpath.basename(each.dependency.manifest_path) for each in group}
        place = (due.installation_id, due.repository, last.commit, folder)
        return await self._alerts.has_changed_files(*place, names)


def group_alerts(alerts: Sequence[AlertView]) -> list[AlertViews]:
    """Return the alerts by package and folder, the worst first: each group becomes one run."""
    found: dict[tuple[str, str, str], list[AlertView]] = defaultdict(list)
    for each in alerts:
        found[each.ecosystem, each.directory, each.package].append(each)
    ordered = (sorted(each, key=_severity) for each in found.values())
    return sorted(ordered, key=lambda group: _severity(group[0]))


def explain_retry(tried: Sequence[Remediation], marks: Mapping[int, str], now: float) -> str:
    """Return the reason to start a run for these open alerts; empty: there is none now.

    `tried` holds the outcomes of earlier runs, newest first. A declined fix waits until an alert
    changes. A failed one is tried again after a week, and an unfinished one after a day, then ever
    more rarely. `now` is in unix seconds.
    """
    if not tried:
        return "no run has looked at them"
    last = tried[0]
    if now < last.ended_at + DAY:
        return ""
    read = {alert: said for each in reversed(tried) for alert, said in each.found.items()}
    if last.found and any(read.get(alert) != said for alert, said in marks.items()):
        return "an alert is new, or says something else"
    if any(_waits(each, now) for each in tried) or (last.declined and last.found):
        return ""
    if last.found:
        again = now >= last.ended_at + _pause(tried, WEEK)
        return "a release may have come meanwhile" if again else ""
    pause = LONGEST_PAUSE if last.declined else _pause(tried, DAY)
    return "the last run did not come to its end" if now >= last.ended_at + pause else ""


def _waits(each: Remediation, now: float) -> bool:
    """Tell whether people have its pull request, or GitHub has not had long to see the merge."""
    return each.state == "open" or (
        each.state == "merged" and now < (each.merged_at or each.ended_at) + WEEK
    )


def _pause(tried: Sequence[Remediation], first: float) -> float:
    """Return for how long to leave it alone: doubled each time that it came to the same."""
    last = tried[0]
    same = next(
        (number for number, each in enumerate(tried) if each.found != last.found), len(tried)
    )
    return min(first * 2.0 ** (same - 1), LONGEST_PAUSE)


def mark_of(alert: AlertView) -> str:
    """Return a value that changes with the alert's content."""
    about = alert.security_vulnerability
    patched = about.first_patched_version.identifier if about.first_patched_version else ""
    return mark(about.severity, range_in(about.vulnerable_version_range), version_in(patched))


def _rhythm(policy: Policy) -> float | None:
    """Return after how many seconds to look again; None where the owners want none of it."""
    return RHYTHM.get(policy.remediation.schedule) if policy.triggers.alerts else None


def _severity(alert: AlertView) -> int:
    return SEVERITIES.index(alert.security_vulnerability.severity)


def _request(due: Due, group: AlertViews) -> RemediateAlert:
    asked = make_request(group[0], due.repository, due.installation_id)
    told = tuple(each.severity_told for each in group)
    return asked.model_copy(update={"told": told, "via": "schedule", "asked_by": CLOCK})


def _delivery(due: Due, request: RemediateAlert) -> Delivery:
    """Return the delivery; its id is the same for one look, so that it counts once."""
    state = f"{request.lane} {due.looked_at}"
    digest = hashlib.sha256(state.encode("utf-8", "backslashreplace")).hexdigest()
    body = orjson.dumps({"request": request.model_dump(mode="json")})
    ident, installation_id = f"fettle.alerts-{digest[:32]}", due.installation_id
    return Delivery(
        ident, internal.SCHEDULE, internal.SCHEDULE_ACTION, installation_id, digest, body
    )
