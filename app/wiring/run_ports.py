"""The composition of one run on GitHub: its ports, each with its adapter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING

from agents.ports import Reporter, Steps
from agents.requests import (
    OnPull,
    ProposalRequest,
    ProposeGuidance,
    RemediateAlert,
    Request,
    request_of,
)
from agents.run import Outcome, RunPorts
from app.alerts.admission import AlertContext
from app.alerts.earlier_runs import StoredEarlierRuns
from app.git import CommitIdentity as Author
from app.git import Mirror, RunObjects
from app.git.worktree import GitSource
from app.github.alerts.action_releases import GitHubActionReleases
from app.github.alerts.adapter import GitHubAlerts
from app.github.alerts.tracking_issue import TrackingIssue
from app.github.approvals.adapter import GitHubApprovals
from app.github.approvals.expire import OpenQuestions
from app.github.checks.adapter import GitHubCiChecks
from app.github.issues.adapter import GitHubIssues
from app.github.policy.file import read_policy
from app.github.pulls.cost import PullRequestCost, PullRequestSpending
from app.github.pulls.publisher import GitHubPublisher, Opened
from app.github.pulls.signed_commits import CommitSigner
from app.github.read_tool.adapter import GitHubReads
from app.github.reporting.reporter import GitHubReporter
from app.github.reviews.adapter import GitHubReviews
from app.github.transport import ConversationThread, GitHub, NoConversation, Profile, Scope
from app.guidance.records import StoredGuidance
from app.policies.gate import PolicyGate
from app.runs.baited_model import BaitedModel
from app.runs.retry_from_stage import RetryFromStage
from app.runs.steering import RunSteering, SteerSignals
from app.sandbox.select import build_caution
from app.secrets.bait import RunBait
from app.store.flaky_tests import StoredFlakyTests
from app.store.found_setups import StoredSetups
from app.store.handled_feedback import Batches
from app.store.proposals import Proposals
from app.store.runs import History, StoredCheckpoints, StoredJournal, StoredSteers
from app.store.spending import sum_lanes
from app.webhooks import OwnIdentity
from app.wiring.audited import record_push
from app.wiring.github_run import GitHubRun
from app.wiring.resources import SharedResources

if TYPE_CHECKING:
    from app.attestation.attestor import Attestor


class RunPortsFactory:
    """Equips runs on GitHub."""

    def __init__(
        self,
        parts: SharedResources,
        github: GitHub,
        identity: OwnIdentity,
        signals: SteerSignals,
    ) -> None:
        self._parts = parts
        self._github = github
        self._identity = identity
        self._signals = signals
        self._steers = StoredSteers(parts.database)
        self._about_alerts = AlertContext.from_database(parts.database, github)

    async def alerts_of(self, run_id: str) -> GitHubAlerts | None:
        """Return the way to the alerts that this run is about, if it is known and about any."""
        stored = await self._parts.runs.request(run_id)
        if stored is None:
            return None
        return self._alerts(run_id, await self._as_seen(request_of(stored)))

    async def equip(self, run_id: str, request: Request) -> GitHubRun:
        """Give a run its ports; nothing is asked of GitHub yet."""
        parts, github = self._parts, self._github
        request = await self._as_seen(request)
        mirror = parts.mirrors.open_mirror(request.repository.id)
        alerts, guiding = self._alerts(run_id, request), isinstance(request, ProposalRequest)
        place = await self._place(run_id, request, alerts)
        reporter = await self._make_reporter(run_id, request, place)
        objects = self._objects(run_id, mirror)
        bait = parts.bait.for_run(run_id)
        source = self._source(run_id, request, objects, bait)
        return GitHubRun(
            run_id,
            request,
            github,
            reporter,
            source,
            RunPorts(
                model=BaitedModel(parts.model, bait),
                journal=StoredJournal(parts.database, run_id),
                source=source,
                publisher=self._publisher(run_id, request, mirror),
                signer=self._make_signer(run_id, request, objects),
                reporter=reporter,
                approvals=None
                if guiding  # there is no place where people could be asked
                else GitHubApprovals(
                    github, request, run_id, parts.approvals, parts.redactor, place=place
                ),
                web=None if guiding else parts.web,
                forge=GitHubReads(github, request, run_id),
                toolsets=parts.toolsets(source.folder) if parts.toolsets else None,
                tracker=None if alerts or guiding else self._tracker(run_id, request),
                reviewing=self._make_reviews(run_id, request),
                checking=GitHubCiChecks(github, request, run_id, parts.redactor),
                steering=RunSteering(self._steers, self._signals, run_id),
                alerts=alerts,
                actions=GitHubActionReleases(github, request) if alerts else None,
                flaky_tests=StoredFlakyTests(parts.database, run_id, request.repository.id),
                guidance=self._guidance(run_id, request),
                setups=StoredSetups(parts.database, request.repository.id),
            ),
            self._retry(run_id, request, objects),
            OpenQuestions(github, request, run_id, parts.approvals, parts.redactor),
            Batches(parts.database),
            self._policy_gate(request),
            place,
            self._about_alerts if alerts else None,
            partial(self._attest, run_id, request, mirror),
        )

    async def tell_place(
        self, run_id: str, request: Request, place: int, seconds: float | None
    ) -> bool:
        """Show people where in the queue the run is; False where it will not begin."""
        run = await self.equip(run_id, request)
        try:
            return await run.tell_place(place, seconds)
        finally:
            await run.close()

    async def _make_reporter(
        self, run_id: str, request: Request, place: ConversationThread
    ) -> GitHubReporter:
        """Return what keeps the run's comment, which it takes up where there is one."""
        parts = self._parts
        return GitHubReporter(
            self._github,
            request,
            run_id,
            parts.redactor,
            remember=partial(parts.runs.record_comment, run_id),
            comment_id=await parts.runs.comment_of(run_id),
            caution=build_caution(parts.sandbox),
            pages=parts.settings.pages_for_people,
            moved_at=await parts.runs.moved_at(run_id),
            place=place,
            ended=PullRequestCost(self._github, request, self._sum_runs).update,
        )

    async def _sum_runs(self, run_id: str, lane: str) -> PullRequestSpending:
        """Return what the runs of a pull request cost, by one of them and the lane of its own."""
        read = partial(sum_lanes, run_id=run_id, lane=lane)
        return PullRequestSpending(*await self._parts.database.read(read))

    async def _as_seen(self, request: Request) -> Request:
        """Return the same about a public repository, if everybody can see it by now."""
        place = request.repository
        if not place.private or not await self._github.installed.is_public(place.id):
            return request
        public = place.model_copy(update={"private": False})
        return request.model_copy(update={"repository": public})

    def _alerts(self, run_id: str, request: Request) -> GitHubAlerts | None:
        """Return the way to the repository's alerts, for a run that is about them."""
        if not isinstance(request, RemediateAlert):
            return None
        parts = self._parts
        earlier = StoredEarlierRuns(parts.database)
        return GitHubAlerts(self._github, request, run_id, parts.redactor, earlier=earlier)

    def _guidance(self, run_id: str, request: Request) -> StoredGuidance | None:
        """Return the records of what people said, for a run that is about them."""
        if not isinstance(request, ProposeGuidance):
            return None
        database = self._parts.database
        records = Proposals(database), History(database)
        return StoredGuidance(*records, run_id, request.repository.id)

    async def _place(
        self, run_id: str, request: Request, alerts: GitHubAlerts | None
    ) -> ConversationThread:
        """Return where the run speaks to people; about alerts they talk where none was before."""
        if isinstance(request, ProposalRequest):
            return NoConversation(request)
        if not isinstance(request, RemediateAlert) or alerts is None:
            return ConversationThread(request)
        place = TrackingIssue(
            self._github,
            request,
            run_id,
            self._parts.redactor,
            runs=self._parts.runs,
            alerts=alerts,
            policy=self._policy_gate(request).read,
        )
        await place.recall()
        return place

    def _make_signer(self, run_id: str, request: Request, objects: RunObjects) -> CommitSigner:
        record = partial(record_push, self._parts.database, run_id, request)
        key = self._parts.commit_key
        return CommitSigner(self._github, objects, request, run_id, record=record, key=key)

    def _publisher(self, run_id: str, request: Request, mirror: Mirror) -> GitHubPublisher:
        parts, warned = self._parts, build_caution(self._parts.sandbox)
        opened: Opened | None = None
        if isinstance(request, RemediateAlert):
            opened = partial(self._about_alerts.record.record_pull, run_id, request)
        about = (self._github, mirror, request, run_id, parts.redactor)
        record = partial(record_push, parts.database, run_id, request)
        caution = "\n\n".join(each for each in (warned, self._attestor.told) if each)
        return GitHubPublisher(*about, caution=caution, opened=opened, record=record)

    @cached_property
    def _attestor(self) -> Attestor:
        from app.attestation.attestor import Attestor  # noqa: PLC0415 - only runs need it

        parts, pages = self._parts, self._parts.settings.pages_for_people
        return Attestor(parts.signing_keys, self._github, parts.database, parts.redactor, pages)

    async def _attest(
        self, run_id: str, request: Request, mirror: Mirror, outcome: Outcome
    ) -> None:
        """State what the run pushed."""
        author = await self._author(request)
        await self._attestor.attest(run_id, request, mirror, author, outcome)

    def _tracker(self, run_id: str, request: Request) -> GitHubIssues:
        redactor, policy = self._parts.redactor, self._policy_gate(request).read
        return GitHubIssues(self._github, request, run_id, redactor, policy=policy)

    def _policy_gate(self, request: Request) -> PolicyGate:
        """Return the way to the policy of the request's repository, as it is on GitHub now."""
        place = (request.installation_id, request.repository)
        read = partial(read_policy, self._github, *place)
        return PolicyGate(request, read, self._parts.models_allowed)

    def _make_reviews(self, run_id: str, request: Request) -> GitHubReviews | None:
        """Return the way to the run's pull request, if it is about one."""
        if not isinstance(request, OnPull):
            return None
        parts = self._parts
        batches = Batches(parts.database)
        return GitHubReviews(self._github, request, run_id, parts.redactor, batches)

    def _retry(
        self, run_id: str, request: Request, objects: RunObjects
    ) -> Callable[[Steps, Reporter], RetryFromStage] | None:
        """Return what keeps an earlier run's stages, if that was asked for."""
        again = request.again
        if again is None or not again.stage:
            return None
        fetch, fetch_commit = self._ways_to_fetch(request, objects.mirror)
        earlier = self._objects(again.run_id, objects.mirror)

        def retry(steps: Steps, reporter: Reporter) -> RetryFromStage:
            return RetryFromStage(
                steps,
                again,
                run_id,
                database=self._parts.database,
                objects=objects,
                recover=partial(earlier.restore, fetch, fetch_commit),
                reporter=reporter,
            )

        return retry

    def _objects(self, run_id: str, mirror: Mirror) -> RunObjects:
        return RunObjects(mirror, run_id, StoredCheckpoints(self._parts.database, run_id))

    def _ways_to_fetch(
        self, request: Request, mirror: Mirror
    ) -> tuple[Callable[[], Awaitable[str]], Callable[[str, str], Awaitable[None]]]:
        """Return what fetches the branches, and what fetches one commit."""
        fetch_commit = partial(self._fetch_commit, request, mirror)
        return partial(self._fetch, request, mirror), fetch_commit

    def _source(
        self, run_id: str, request: Request, objects: RunObjects, bait: RunBait
    ) -> GitSource:
        parts, mirror = self._parts, objects.mirror
        fetch, fetch_commit = self._ways_to_fetch(request, mirror)
        return GitSource(
            objects,
            parts.settings.data_dir / "runs",
            run_id,
            sandbox=parts.sandbox,
            fetch=fetch,
            branch=partial(self._fetch_branch, request, mirror),
            pull=partial(self._fetch_pull, request, mirror),
            commit=fetch_commit,
            about=request.number if isinstance(request, OnPull) else None,
            identity=partial(self._author, request),
            furnisher=parts.set_ups.for_run(str(request.repository.id), mirror, run_id),
            conceal=parts.redactor.clean,
            on_command=parts.command_ran,
            bait=bait,
        )

    async def _fetch(self, request: Request, mirror: Mirror) -> str:
        """Bring the default branch up to date with a token that can only read it."""
        await mirror.fetch(await self._clone_url(request), await self._make_read_token(request))
        return await mirror.head_of(request.repository.default_branch)

    async def _fetch_branch(
        self, request: Request, mirror: Mirror, name: str, ref: str
    ) -> str | None:
        """Bring one branch up to date under `ref`, with a token that can only read it."""
        token = await self._make_read_token(request)
        return await mirror.fetch_branch(await self._clone_url(request), token, name, ref)

    async def _fetch_pull(
        self, request: Request, mirror: Mirror, number: int, ref: str
    ) -> str | None:
        """Bring the head of a pull request up to date under `ref`, with such a token as well."""
        token = await self._make_read_token(request)
        return await mirror.fetch_pull(await self._clone_url(request), token, number, ref)

    async def _fetch_commit(self, request: Request, mirror: Mirror, commit: str, ref: str) -> None:
        """Bring one commit under `ref`, as long as GitHub has it: no branch has to lead to it."""
        token = await self._make_read_token(request)
        await mirror.fetch_commit(await self._clone_url(request), token, commit, ref)

    async def _make_read_token(self, request: Request) -> str:
        scope = Scope.for_one(request.installation_id, request.repository.id, Profile.READ)
        return (await self._github.broker.token(scope)).value

    async def _clone_url(self, request: Request) -> str:
        """Return where git finds the repository: git follows no redirect from an older name."""
        name = await self._github.installed.full_name(request.repository)
        return self._github.urls.clone(name)

    async def _author(self, request: Request) -> Author:
        """Return the App's bot user: commits are made in its name."""
        client = await self._github.installation(
            request.installation_id, request.repository.id, Profile.READ
        )
        bot = (await self._github.identity(client)).bot
        self._identity.record_bot(bot.id)
        return Author(bot.login, f"{bot.id}+{bot.login}@{self._github.urls.noreply}")
