"""Decide whether a run about Dependabot alerts may begin, or go on: by the store, then by GitHub.

The cheapest question comes first. A run that is not to be may have been left other alerts at that
moment; then it looks once more, so that none of them is lost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cachetools import TTLCache

from agents.policy import Found, InvalidPolicy, PinnedPolicy
from agents.ports import Alerts
from agents.requests import RemediateAlert
from app.alerts.outcomes import AlertOutcomes
from app.github.transport import GitHub, InstallationGone, Profile
from app.policies.gate import PolicyGate
from app.runs.admission import Admission
from app.store.alerts import AlertRuns, Overrides, Remediations
from app.store.database import Database
from app.store.runs import History
from handlers.access import alerts as access_alerts
from handlers.access.issues import AskerFacts, Refusal

REPOSITORY = "/repos/{owner}/{repo}"
FRESH_SECONDS = 60.0
"""For so long alerts that nobody wants are passed over by what the policy said a moment ago."""
MOST_POLICIES = 1000

ReadPolicy = Callable[[], Awaitable[Found]]


class RecentPolicies:
    """A short cache of policies: a repository's first poll brings many alerts at once."""

    def __init__(self, seconds: float = FRESH_SECONDS) -> None:
        self._found: TTLCache[int, Found] = TTLCache(MOST_POLICIES, seconds)

    async def find(self, repository_id: int, read: ReadPolicy) -> Found:
        """Return the repository's policy, at most `seconds` old."""
        found = self._found.get(repository_id)
        if found is None:
            found = self._found[repository_id] = await read()
        return found


@dataclass(frozen=True)
class AlertAdmission:
    """Decides whether runs about alerts may begin or go on."""

    github: GitHub
    runs: AlertRuns
    remediations: Remediations
    recent: RecentPolicies

    async def admit(
        self, run_id: str, request: RemediateAlert, policy: PolicyGate, alerts: Alerts
    ) -> Admission:
        """Return whether the run may go on by what holds now.

        Anybody can write an advisory, so the run counts as worded by a stranger throughout.
        """
        while True:
            told = await self.runs.list_told_alerts(run_id)
            asking = request.model_copy(update={"told": (*request.told, *told)})
            try:
                refusal, given = await self._judge(run_id, asking, policy, alerts)
            except InstallationGone:
                refusal, given = access_alerts.refuse_suspended(request), None
            if refusal is None or await self.runs.close(run_id, seen=len(told)):
                return Admission(refusal=refusal, policy=given, tainted=True)

    async def _judge(
        self, run_id: str, request: RemediateAlert, policy: PolicyGate, alerts: Alerts
    ) -> tuple[Refusal | None, PinnedPolicy | None]:
        branch = request.base_branch or request.repository.default_branch
        asking = [told.alert for told in request.told]
        since = await self.remediations.list_later(run_id, asking)
        others = [frozenset(each.found) for each in since if each.base == branch]
        if refusal := access_alerts.not_covered(request, others):
            return refusal, None
        recent = await self.recent.find(request.repository.id, policy.read)
        refusal = (
            None
            if isinstance(recent, InvalidPolicy)
            else access_alerts.policy_wants(request, recent.policy.remediation)
        )
        if refusal is not None:
            return refusal, None
        refusal, given = await policy.judge(AskerFacts())
        if refusal is not None or given is None:
            return refusal, given
        refusal = access_alerts.policy_wants(request, given.policy().remediation)
        return refusal or await self._on_github(request, alerts), given

    async def _on_github(self, request: RemediateAlert, alerts: Alerts) -> Refusal | None:
        place = request.repository
        client = await self.github.installation(request.installation_id, place.id, Profile.FIND)
        where = {"owner": place.owner, "repo": place.name}
        archived = bool((await client.getitem(REPOSITORY, where)).get("archived"))
        if archived:
            return access_alerts.decide(request, access_alerts.AlertFacts(archived=True))
        if request.retire is not None:  # its alerts are fixed: by what it is to do without
            return None
        every = await alerts.open(request.ecosystem, request.package)
        here = [each for each in every if each.directory == request.directory.strip("/")]
        return access_alerts.decide(request, access_alerts.AlertFacts(still_open=len(here)))


@dataclass(frozen=True)
class AlertContext:
    """Admission and outcomes, shared by all runs of one process."""

    access: AlertAdmission
    record: AlertOutcomes

    @classmethod
    def from_database(cls, database: Database, github: GitHub) -> AlertContext:
        """Return both over this database."""
        remediations = Remediations(database)
        return cls(
            AlertAdmission(github, AlertRuns(database), remediations, RecentPolicies()),
            AlertOutcomes(remediations, Overrides(database), History(database)),
        )
