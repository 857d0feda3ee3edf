"""The composition: the only place where ports meet adapters. Tests call it with other settings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial

import structlog

from agents.errors import FettleError
from agents.ports import Steps
from agents.requests import OnPull, Request
from agents.run import Ports
from app.again import AgainSteps
from app.desk import Bounds, Desk
from app.dispatch import Dispatcher
from app.engine import Engine
from app.equipment import GitHubEquipment
from app.git.environment import Identity as Author
from app.git.mirror import Mirror
from app.git.source import GitSource
from app.github.approval_end import OpenQuestions
from app.github.approvals import GitHubApprovals
from app.github.auth import Profile, Scope
from app.github.checking import GitHubChecking
from app.github.client import GitHub
from app.github.forge import GitHubForge
from app.github.publish import GitHubPublisher
from app.github.reporter import GitHubReporter
from app.github.reviewing import GitHubReviewing
from app.github.tracker import GitHubTracker
from app.inbox import Inbox
from app.intake import Identity, Intake
from app.parts import Parts, open_parts
from app.redaction import Redactor
from app.runner import Equip, Obey, Runner
from app.sandbox.choose import caution
from app.server import Readiness, build_server, start_server
from app.settings import Settings
from app.steering import Bells, RunSteering
from app.store.batches import Batches
from app.store.steers import StoredSteers
from app.store.turns import StoredJournal
from app.sweeps import Schedules
from app.upkeep import Upkeep
from app.waking import Waking

log = structlog.get_logger()

DRAIN_SECONDS = 20.0


class GitHubRuns:
    """Equips runs on GitHub."""

    def __init__(self, parts: Parts, github: GitHub, identity: Identity) -> None:
        self._parts = parts
        self._github = github
        self._identity = identity
        self.bells = Bells()
        self._steers = StoredSteers(parts.database)

    async def equip(self, run_id: str, request: Request, steps: Steps) -> GitHubEquipment:
        """Give a run its ports; nothing is asked of GitHub yet."""
        parts, github = self._parts, self._github
        mirror = parts.mirrors.of(request.repository.id)
        reporter = GitHubReporter(
            github,
            request,
            run_id,
            parts.redactor,
            remember=partial(parts.runs.comment_is, run_id),
            comment_id=await parts.runs.comment_of(run_id),
            caution=caution(parts.sandbox),
        )
        source = self._source(run_id, request, mirror)
        equipment = GitHubEquipment(
            run_id,
            request,
            github,
            reporter,
            source,
            Ports(
                model=parts.model,
                journal=StoredJournal(parts.database, run_id),
                source=source,
                publisher=GitHubPublisher(
                    github,
                    mirror,
                    request,
                    run_id,
                    parts.redactor,
                    caution=caution(parts.sandbox),
                ),
                reporter=reporter,
                steps=steps,
                approvals=GitHubApprovals(github, request, run_id, parts.approvals, parts.redactor),
                web=parts.web,
                forge=GitHubForge(github, request, run_id),
                toolsets=parts.toolsets(source.folder) if parts.toolsets else None,
                tracker=GitHubTracker(github, request, run_id, parts.redactor),
                reviewing=self._reviewing(run_id, request),
                checking=GitHubChecking(github, request, run_id, parts.redactor),
                steering=RunSteering(self._steers, self.bells, run_id),
            ),
            OpenQuestions(github, request, run_id, parts.approvals, parts.redactor),
            Batches(parts.database),
        )
        self._take_up(run_id, equipment)
        return equipment

    def _reviewing(self, run_id: str, request: Request) -> GitHubReviewing | None:
        """Return the way to the run's pull request, if it is about one."""
        if not isinstance(request, OnPull):
            return None
        parts = self._parts
        batches = Batches(parts.database)
        return GitHubReviewing(self._github, request, run_id, parts.redactor, batches)

    def _take_up(self, run_id: str, equipment: GitHubEquipment) -> None:
        """Have the run keep what an earlier one did, if that was asked for."""
        again, ports = equipment.request.again, equipment.ports
        if again is not None and again.stage:
            steps = AgainSteps(
                ports.steps,
                again,
                run_id,
                database=self._parts.database,
                mirror=self._parts.mirrors.of(equipment.request.repository.id),
                reporter=lambda: equipment.ports.reporter,
            )
            equipment.ports = replace(ports, steps=steps)

    def _source(self, run_id: str, request: Request, mirror: Mirror) -> GitSource:
        parts = self._parts
        return GitSource(
            mirror,
            parts.settings.data_dir / "runs",
            run_id,
            sandbox=parts.sandbox,
            fetch=partial(self._fetch, request, mirror),
            branch=partial(self._fetch_branch, request, mirror),
            pull=partial(self._fetch_pull, request, mirror),
            about=request.number if isinstance(request, OnPull) else None,
            identity=partial(self._author, request),
            furnisher=parts.set_ups.of(str(request.repository.id), mirror, run_id),
            conceal=parts.redactor.clean,
            on_command=parts.metrics.command_seconds.inc,
        )

    async def _fetch(self, request: Request, mirror: Mirror) -> str:
        """Bring the default branch up to date with a token that can only read it."""
        await mirror.fetch(self._clone_url(request), await self._reading(request))
        return await mirror.head_of(request.repository.default_branch)

    async def _fetch_branch(
        self, request: Request, mirror: Mirror, name: str, ref: str
    ) -> str | None:
        """Bring one branch up to date under `ref`, with a token that can only read it."""
        token = await self._reading(request)
        return await mirror.fetch_branch(self._clone_url(request), token, name, ref)

    async def _fetch_pull(
        self, request: Request, mirror: Mirror, number: int, ref: str
    ) -> str | None:
        """Bring the head of a pull request up to date under `ref`, with such a token as well."""
        token = await self._reading(request)
        return await mirror.fetch_pull(self._clone_url(request), token, number, ref)

    async def _reading(self, request: Request) -> str:
        scope = Scope.of(request.installation_id, request.repository.id, Profile.READ)
        return (await self._github.broker.token(scope)).value

    def _clone_url(self, request: Request) -> str:
        return self._github.urls.clone(request.repository.full_name)

    async def _author(self, request: Request) -> Author:
        """Return the App's bot user: commits are made in its name."""
        client = await self._github.installation(
            request.installation_id, request.repository.id, Profile.READ
        )
        bot = (await self._github.identity(client)).bot
        self._identity.bot_id = bot.id
        return Author(bot.login, f"{bot.id}+{bot.login}@{self._github.urls.noreply}")


async def serve(settings: Settings, redactor: Redactor, stop: asyncio.Event) -> None:
    """Serve until `stop` is set, then drain. Raises ConfigError when it cannot start."""
    secrets = [secret.get_secret_value() for secret in settings.credentials.webhook_secrets]
    async with (
        open_parts(settings, redactor) as parts,
        open_github(settings, redactor) as github,
    ):
        identity = Identity()
        inbox = Inbox(parts.database, limit=settings.inbox_limit)
        await inbox.open()
        readiness = Readiness(settings.data_dir)
        schedules = Schedules(settings, parts.database, github, inbox)
        async with at_work(parts, github, identity, inbox, schedules) as dispatching:
            server = await start_server(
                build_server(
                    Intake(secrets, identity), inbox, parts.database, parts.metrics, readiness
                ),
                settings.host,
                settings.port,
            )
            schedules.open.set()
            log.info("serving", address=f"http://{settings.host}:{server.addresses[0][1]}")
            await _until(stop, dispatching)
            readiness.draining = True
            await server.cleanup()


def open_github(settings: Settings, redactor: Redactor) -> AbstractAsyncContextManager[GitHub]:
    """Return what holds the way to GitHub open; ConfigError without the App's credentials."""
    credentials = settings.credentials
    return GitHub.open(
        github_url=settings.github_url,
        app_id=credentials.app_id,
        private_key=credentials.private_key.get_secret_value(),
        redactor=redactor,
        write_spacing=settings.github_write_spacing,
    )


@asynccontextmanager
async def at_work(
    parts: Parts,
    github: GitHub,
    identity: Identity,
    inbox: Inbox,
    schedules: Schedules | None = None,
) -> AsyncIterator[asyncio.Task[None]]:
    """Work on all deliveries and runs of the database; at the end, drain.

    Yields what dispatches, which ends by a fault alone. Raises ConfigError when another process
    does this already.
    """
    runs = GitHubRuns(parts, github, identity)
    bounds = Bounds(run=parts.settings.run_budget_usd, day=parts.settings.day_budget_usd)
    desk = Desk(github, parts.database, parts.mirrors, parts.redactor, bounds=bounds)
    runner = make_runner(parts, runs.equip, noreply=github.urls.noreply, obey=desk.obey)
    desk.submit = runner.submit
    await runner.engine.launch()
    dispatching = asyncio.create_task(Dispatcher(parts.database, inbox, runner).run())
    keeping = asyncio.create_task(Upkeep(runner, runner.engine).run())
    steers = StoredSteers(parts.database)
    waking = asyncio.create_task(
        Waking(parts.approvals, runner.engine.wake, steers=steers, ring=runs.bells.ring).run()
    )
    try:
        if schedules is not None:
            await schedules.begin(runner.engine)
        yield dispatching
    finally:
        log.info("draining", seconds=DRAIN_SECONDS)
        for each in (dispatching, keeping, waking):
            each.cancel()
        await runner.engine.drain(DRAIN_SECONDS)


def make_runner(parts: Parts, equip: Equip, *, noreply: str, obey: Obey | None = None) -> Runner:
    """Return the runner with its engine, not yet launched."""
    runner = Runner(
        parts.runs,
        equip,
        models=parts.models,
        limits=parts.limits,
        noreply=noreply,
        obey=obey,
    )
    runner.engine = Engine(
        parts.settings.database,
        runner.conduct,
        executor=parts.settings.worker,
        stages_at_once=parts.settings.stages_at_once,
    )
    return runner


async def _until(stop: asyncio.Event, dispatching: asyncio.Task[None]) -> None:
    """Wait for the signal; a dispatcher that ends by itself is a fault that must be seen."""
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({stopping, dispatching}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if dispatching.done():
        raise FettleError("The dispatcher stopped by itself") from dispatching.exception()
