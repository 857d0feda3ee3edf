"""A run on a local clone: the same pipeline without GitHub; its branch and its words stay here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from agents.errors import Cancelled, FettleError
from agents.pipelines.stages.save_unfinished import keep_work
from agents.ports import Reporter, Steps
from agents.requests import Again as EarlierRun
from agents.requests import Person, Repository, Request, ResolveIssue
from agents.run import Outcome, RunPorts
from app.clone.ask_person import Ask, CloneApprovals
from app.clone.flaky_tests import CloneFlakyTests, find_memory, name_clone
from app.clone.follow_run import CloneRunFollower
from app.clone.ports import CloneEquipment, ClonePublisher
from app.clone.preconditions import CloneStart
from app.clone.result import CloneResult, find_last_checks
from app.clone.run_folder import Choose, ResumeChoice, RunFolder
from app.git import CommitIdentity, GitFailed, GitObjects, Mirror, RunObjects, run_refs
from app.git.policy_file import policy_of
from app.git.worktree import GitSource
from app.policies.gate import PolicyGate
from app.runs.retry_from_stage import RetryFromStage
from app.runs.wakeup import WakeupPoller
from app.sandbox.select import build_caution
from app.store.runs import History, StoredJournal
from app.wiring.resources import SharedResources
from app.wiring.serve import make_conductor, make_engine

NOBODY = Person(id=0, login="local")
AUTHOR = CommitIdentity("Fettle", "fettle@localhost")
DRAIN_SECONDS = 10.0
STOPPED = (
    "Stopped. The clone is as it was. What was done so far is kept in `{folder}`, and the same"
    " command goes on from there."
)


ONCE_MORE = "A run of this very thing failed before. This one begins anew."
RESUMES = " With `--resume` the other goes on where it failed."


@dataclass(frozen=True)
class CloneRequest:
    """What is asked for, and where to tell how it goes."""

    title: str
    body: str
    tell: Callable[[str], None]
    reporter: Reporter
    decide: Ask | None = None
    """Asks the person at the terminal about a call; None where nobody sits there."""
    request: Request | None = None
    """What is asked for, where it is more than words."""
    again: ResumeChoice | None = None
    """What becomes of a run of the same that failed; None: `choose` says it."""
    choose: Choose | None = None
    """Asks the person at the terminal; None where nobody sits there."""
    stage: str = ""
    """From which stage on a run that failed is done again; empty: from where it failed."""

    async def choose_again(self) -> ResumeChoice:
        """Return what becomes of a run of the same that failed."""
        if self.choose is not None:
            return await self.choose()
        self.tell(ONCE_MORE + ("" if self.request else RESUMES))
        return "fresh"

    @property
    def asked(self) -> tuple[str, ...]:
        """Return what tells it from others: the same again goes on where it was interrupted."""
        if self.request is None:
            return self.title, self.body
        return self.request.kind, self.request.model_dump_json(exclude={"asked_by", "author"})


@dataclass(frozen=True)
class RunLocation:
    """Where a run works."""

    start: CloneStart
    folder: RunFolder


@dataclass
class CloneRun:
    """One run, from its request to its result."""

    parts: SharedResources
    wish: CloneRequest
    place: RunLocation
    mirror: Mirror = field(init=False)
    approvals: CloneApprovals = field(init=False)
    parked: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        folder = self.place.folder
        self.mirror = Mirror(folder.mirror, group=self.parts.sandbox.owner[1])
        self.approvals = CloneApprovals(self.parts.approvals, folder.run_id)

    async def outcome(self, stop: asyncio.Event) -> Outcome:
        """Do the run, or go on with it, and return how it ended.

        Raises Cancelled once `stop` is set, and CloneWaits when a person has to decide who is not
        there; both are taken up by another process.
        """
        conductor = make_conductor(self.parts, self.equip, noreply="localhost")
        engine = make_engine(self.parts)
        await engine.launch(conductor.conduct)
        run_id, request = self.place.folder.run_id, self.request
        if earlier := self.place.folder.earlier:
            kept = EarlierRun(run_id=earlier, stage=self.wish.stage or keep_work.name)
            request = request.model_copy(update={"again": kept})
        await self.parts.runs.create(run_id, request)
        await engine.enqueue(run_id, request.lane, request.model_dump(mode="json"))
        attendant = CloneRunFollower(engine, self.approvals, self.wish.decide, self.parked)
        attending = asyncio.create_task(attendant.outcome())
        stopping = asyncio.create_task(stop.wait())
        waking = asyncio.create_task(WakeupPoller(self.parts.approvals, engine.wake).run())
        await asyncio.wait({attending, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        waking.cancel()
        if attending.done():
            await engine.drain(0)
            return attending.result()
        attending.cancel()
        await engine.drain(DRAIN_SECONDS)
        raise Cancelled(STOPPED.format(folder=self.place.folder.path))

    async def equip(self, run_id: str, request: Request) -> CloneEquipment:
        """Give the run what it works with."""
        parts, place = self.parts, self.place
        source = GitSource(
            RunObjects(self.mirror, run_id),
            place.folder.work_trees,
            run_id,
            sandbox=parts.sandbox,
            fetch=partial(place.start.clone.bring, self.mirror),
            branch=partial(place.start.clone.bring_branch, self.mirror),
            identity=_author,
            furnisher=parts.set_ups.for_run(name_clone(place.start), self.mirror, run_id),
            conceal=parts.redactor.clean,
            on_command=parts.metrics.command_seconds.inc,
        )
        ports = RunPorts(
            model=parts.model,
            journal=StoredJournal(parts.database, run_id),
            source=source,
            publisher=ClonePublisher(
                place.start.clone,
                self.mirror,
                request.repository.default_branch,
                parts.redactor,
                place.folder.comments,
                build_caution(parts.sandbox),
            ),
            reporter=self.wish.reporter,
            approvals=self.approvals,
            web=parts.web,
            toolsets=parts.toolsets(source.folder) if parts.toolsets else None,
            flaky_tests=CloneFlakyTests(
                find_memory(parts.settings.data_dir, place.start), parts.database.cipher, run_id
            ),
        )
        at_terminal = request.model_copy(update={"via": "terminal"})
        read = partial(policy_of, GitObjects(place.start.clone.git), place.start.head.commit)
        gate = PolicyGate(at_terminal, read, parts.models_allowed)
        retry = partial(self._retry, request.again, run_id) if request.again else None
        return CloneEquipment(ports, source, gate, self.parked, retry)

    def _retry(
        self, again: EarlierRun, run_id: str, steps: Steps, reporter: Reporter
    ) -> RetryFromStage:
        return RetryFromStage(
            steps,
            again,
            run_id,
            database=self.parts.database,
            objects=RunObjects(self.mirror, run_id),
            recover=_recover_nothing,
            reporter=reporter,
        )

    async def result(self, outcome: Outcome) -> CloneResult:
        """Return what it came to."""
        pull, base = outcome.pull_request, self.place.start.head.commit
        run_id = self.place.folder.run_id
        tip = pull.head if pull else await self._newest()
        branch = pull.branch if pull else None
        if pull is None and tip is not None:
            branch = await self._branch_at(tip)
            if branch is None and outcome.kind == "failed":
                branch = await self._save_unfinished(tip)
        return CloneResult(
            outcome,
            run_id=run_id,
            base=base,
            branch=branch,
            commits=await self.mirror.log(base, tip) if tip else [],
            said=self.place.folder.read_comments(),
            quality=find_last_checks(await History(self.parts.database).steps(run_id)),
            spent=await StoredJournal(self.parts.database, run_id).sum_usage(),
        )

    async def _newest(self) -> str | None:
        """Return the last commit that the run made, if any."""
        if not self.mirror.gitdir.exists():
            return None
        refs = f"{run_refs(self.place.folder.run_id)}/commits/"
        listed = await self.mirror.git.local("for-each-ref", "--format=%(objectname)", refs)
        if not listed:
            return None
        newest = ("--topo-order", "--max-count=1", *listed.decode().split())
        return (await self.mirror.git.local("rev-list", *newest)).decode().strip()

    async def _branch_at(self, commit: str) -> str | None:
        """Return the branch of the clone on which the run left it, if it did."""
        listing = ("for-each-ref", "--points-at", commit, "--format=%(refname:lstrip=2)")
        try:
            found = await self.place.start.clone.git.local(*listing, "refs/heads/bot/")
        except GitFailed:  # the clone does not have it
            return None
        return found.decode().partition("\n")[0] or None

    async def _save_unfinished(self, commit: str) -> str | None:
        """Put unfinished work on a branch of the clone: it was paid for. None if that fails."""
        branch = f"bot/unfinished-{self.place.folder.run_id[-6:]}"
        try:
            await self.place.start.clone.deliver(self.mirror, commit, branch)
        except FettleError:
            return None
        return branch

    @property
    def request(self) -> Request:
        """Return the wish as a request; there is no issue, so it has no number."""
        place, wish = self.place, self.wish
        if wish.request is not None:
            return wish.request
        return ResolveIssue(
            installation_id=0,
            repository=Repository(
                id=0,
                owner="local",
                name=place.start.name,
                default_branch=place.start.head.branch or "HEAD",
            ),
            number=0,
            title=wish.title,
            body=wish.body,
            author=NOBODY,
            asked_by=NOBODY,
            label="",
            url="",
        )


async def _recover_nothing() -> None:
    """Do nothing: the commits of the earlier run are in the same folder."""


async def _author() -> CommitIdentity:
    return AUTHOR
