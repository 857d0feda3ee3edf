"""One run on GitHub: its admission by what GitHub says now, its ports, the report of its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

import structlog

from agents.errors import RunError
from agents.ports import Reporter, Steps
from agents.requests import (
    WAITING_LABEL,
    OnMerge,
    OnPull,
    ProposalRequest,
    RemediateAlert,
    Request,
    ResolveIssue,
)
from agents.run import Outcome, RunPorts
from app.alerts.admission import AlertContext
from app.git.worktree import GitSource
from app.github.access.issue_facts import asker_role, issue_facts
from app.github.access.pull_request_facts import pull_facts
from app.github.access.roles import role_of
from app.github.approvals.expire import OpenQuestions
from app.github.reporting.reporter import GitHubReporter
from app.github.transport import (
    ConversationThread,
    GitHub,
    InstallationClient,
    InstallationGone,
    NotPermitted,
    Profile,
)
from app.policies.gate import PolicyGate
from app.runs.admission import Admission
from app.runs.retry_from_stage import RetryFromStage
from app.store.handled_feedback import Batches
from handlers.access import alerts as access_alerts
from handlers.access import issues as access
from handlers.access import pull_requests as access_pulls
from handlers.access.issues import AskerFacts, Refusal
from handlers.access.permissions import permissions_granted

UNFINISHED = ("failed", "cancelled")

log = structlog.get_logger()


@dataclass
class GitHubRun:
    """Everything that one run on GitHub holds."""

    run_id: str
    request: Request
    github: GitHub
    reporter: GitHubReporter
    source: GitSource
    ports: RunPorts
    retry: Callable[[Steps, Reporter], RetryFromStage] | None
    """Keeps what an earlier run did, where that was asked for."""
    questions: OpenQuestions
    batches: Batches
    policy: PolicyGate
    place: ConversationThread | None = None
    """Where it speaks to people; None: on what it is about, which needs nothing done to it."""
    about_alerts: AlertContext | None = None
    """For a run about alerts: what the store knows of others, and is to know of this one."""
    attest: Callable[[Outcome], Awaitable[None]] | None = None
    """States, signed, what the run pushed."""

    async def admit(self) -> Admission:
        """Judge from what GitHub says now whether the run may go on, and show that it was seen."""
        try:
            return await self._check_permissions(heard=True)
        except InstallationGone as error:  # there is nobody left whom it could be told
            gone = Refusal(rule="installation-active", text=str(error), silent=True)
            return Admission(refusal=gone, tainted=False)

    async def tell_place(self, place: int, seconds: float | None) -> bool:
        """Show which place in the queue the run has, and about how long that takes.

        False where it may not begin by what GitHub says now: then it needs no place to say so.
        """
        try:
            if (await self._check_permissions(heard=False)).ending is not None:
                return False
        except InstallationGone:
            return False
        await self.reporter.acknowledge()
        self.reporter.report_queued(place, seconds)
        return True

    async def _check_permissions(self, *, heard: bool) -> Admission:
        """Judge; who lacks permissions is told which, and where they are granted.

        `heard`: and show people at once that Fettle has heard them.
        """
        request = self.request
        installation_id, repository_id = request.installation_id, request.repository.id
        permit = await self.github.installed.permit(installation_id, [repository_id])
        ungranted = None
        if permit.permissions is not None:
            ungranted = permissions_granted(request, permit.permissions, permit.account, permit.url)
        try:
            client = await self.github.installation(installation_id, repository_id, Profile.READ)
            await self.github.installed.look(client, installation_id, request.repository)
            admission = await self._check_request()
            spoken = admission.refusal is None or not admission.refusal.silent
            if heard and spoken and not isinstance(request, RemediateAlert):
                await self.reporter.acknowledge()
        except NotPermitted:
            if ungranted is None or request.via in access_pulls.UNCALLED:
                raise
            return Admission(refusal=ungranted, tainted=False)
        if admission.refusal is None and ungranted is not None:
            return Admission(refusal=ungranted, tainted=False)
        return admission

    async def _check_request(self) -> Admission:
        request = self.request
        if isinstance(request, RemediateAlert):
            return await self._check_alerts(request)
        if isinstance(request, ProposalRequest):
            return await self._check_policy(AskerFacts(), tainted=False)
        client = await self.github.installation(
            request.installation_id, request.repository.id, Profile.READ
        )
        if isinstance(request, ResolveIssue):
            return await self._check_issue(client, request)
        if isinstance(request, OnMerge):
            asker = AskerFacts(**await asker_role(client, request))
            refusal = access_alerts.asked_by_people(request, asker)
            if refusal is not None:
                return Admission(refusal=refusal)
            return await self._check_policy(asker, tainted=False)
        return await self._check_pull(client, request)

    async def _check_issue(self, client: InstallationClient, request: ResolveIssue) -> Admission:
        """Judge; whoever wrote the issue has a say in what is done."""
        facts = await issue_facts(client, request)
        refusal = access.decide(request, facts)
        if refusal is not None:
            return Admission(refusal=refusal, tainted=False)
        tainted = False
        if request.author.id != request.asked_by.id:
            author = await role_of(client, request.repository, request.author)
            tainted = not author.may_write
        return await self._check_policy(facts, tainted=tainted)

    async def _check_pull(self, client: InstallationClient, request: OnPull) -> Admission:
        """Judge; whoever opened the pull request has written code that is run."""
        own = await self.github.identity(client)
        covered = await self.batches.covers(self.run_id, request)
        facts = await pull_facts(client, request, own, covered=covered)
        refusal = access_pulls.decide(request, facts)
        if refusal is not None:
            return Admission(refusal=refusal, tainted=False)
        tainted = not facts.own
        if tainted and facts.author is not None:
            tainted = not (await role_of(client, request.repository, facts.author)).may_write
        return await self._check_policy(facts, tainted=tainted)

    async def _check_alerts(self, request: RemediateAlert) -> Admission:
        """Judge; advisories are written by anybody, so the run is held to the stricter rules."""
        public = await self.github.installed.is_public(request.repository.id)
        if refusal := access_alerts.stays_private(request, public=public):
            return Admission(refusal=refusal)
        about, alerts = self.about_alerts, self.ports.alerts
        if request.unasked and about is not None and alerts is not None:
            return await about.access.admit(self.run_id, request, self.policy, alerts)
        client = await self.github.installation(
            request.installation_id, request.repository.id, Profile.READ
        )
        asker = AskerFacts(**await asker_role(client, request))
        if refusal := access_alerts.asked_by_people(request, asker):
            return Admission(refusal=refusal)
        return await self._check_policy(asker, tainted=True)

    async def _check_policy(self, asker: AskerFacts, *, tainted: bool) -> Admission:
        """Judge by the repository's own policy, last: whoever may not write hears none of it."""
        refusal, given = await self.policy.judge(asker)
        return Admission(refusal=refusal, policy=given, tainted=tainted)

    async def recover(self) -> None:
        """Bring here what the run made on another machine, or before the mirror was lost."""
        await self.source.recover()

    async def rest(self) -> None:
        """Show that it waits, and remove the work tree: git keeps what it needs to be made anew."""
        await self.close()
        await self.source.discard(forget=False, parked=True)

    async def finish(self, outcome: Outcome) -> None:
        """Show how it ended on the issue; withdraw what it still asks; remove the work tree.

        The commits of a run that did not come to its end stay in the mirror: they were paid for.
        """
        if self.about_alerts is not None and isinstance(self.request, RemediateAlert):
            await self.about_alerts.record.remember(self.run_id, self.request, outcome)
        try:
            if not await self._is_uninstalled():
                await self._show(outcome)
                if self.attest is not None:
                    await self.attest(outcome)
        except InstallationGone as error:
            log.info("nobody can be told how the run ended", reason=str(error))
        await self.source.discard(forget=outcome.kind not in UNFINISHED)

    async def _is_uninstalled(self) -> bool:
        """Return whether the run was ended because the App may not work there any more."""
        steering = self.ports.steering
        said = await steering.list_after() if steering is not None else ()
        return any(steer.via == "installation" for steer in said)

    async def _show(self, outcome: Outcome) -> None:
        await self.reporter.finish(outcome)
        await self.questions.withdraw()
        if self.place is not None:
            await self.place.leave(outcome)
        if outcome.kind in UNFINISHED and self.ports.tracker is not None:
            with suppress(RunError):  # it may have waited for an answer when it was withdrawn
                await self.ports.tracker.label(WAITING_LABEL, on=False)

    async def close(self) -> None:
        """Show the newest state and stop updating it; let go of other servers."""
        await self.reporter.flush()
        if self.ports.toolsets is not None:
            await self.ports.toolsets.close()
