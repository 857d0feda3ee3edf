"""The composition: the only place where ports meet adapters. Tests call it with other settings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import structlog

from agents.errors import FettleError
from agents.loop.budget import Limits
from agents.loop.model import ClaudeModel
from agents.policy import Budget
from agents.ports import Steps
from agents.requests import Request
from agents.run import Ports
from app.dispatch import Dispatcher
from app.engine import Engine
from app.equipment import GitHubEquipment
from app.git.environment import Identity as Author
from app.git.mirror import Mirror
from app.git.mirrors import Mirrors
from app.git.source import GitSource
from app.github.auth import Profile, Scope
from app.github.client import GitHub
from app.github.publish import GitHubPublisher
from app.github.reporter import GitHubReporter
from app.inbox import Inbox
from app.intake import Identity, Intake
from app.measured import MeasuredModel
from app.metrics import Metrics
from app.redaction import Redactor
from app.runner import Equip, Runner
from app.sandbox.bubblewrap import Bubblewrap
from app.sandbox.reach import make_passable, require_reach
from app.server import Readiness, build_server, start_server
from app.settings import Settings
from app.store.database import Database
from app.store.runs import Runs
from app.store.turns import StoredJournal
from app.upkeep import Upkeep

log = structlog.get_logger()

DRAIN_SECONDS = 20.0


@dataclass
class Parts:
    """What every run on this machine shares."""

    settings: Settings
    redactor: Redactor
    metrics: Metrics
    database: Database
    runs: Runs
    sandbox: Bubblewrap
    mirrors: Mirrors
    model: MeasuredModel

    @property
    def models(self) -> dict[str, str]:
        """Return the model's name of each tier."""
        return {"strong": self.settings.model, "fast": self.settings.model_fast}

    @property
    def limits(self) -> Limits:
        """Return what the operator lets one run use up; turns and minutes are the policy's."""
        most = Budget.model_fields
        return Limits(
            usd=self.settings.run_budget_usd,
            turns=most["turns"].default * 10,
            minutes=most["minutes"].default * 10,
        )


@asynccontextmanager
async def open_parts(settings: Settings, redactor: Redactor) -> AsyncIterator[Parts]:
    """Hold open what every run shares. Raises ConfigError when this machine cannot serve."""
    make_passable(settings.data_dir)
    sandbox = Bubblewrap(settings.sandbox_uid, settings.toolchains)
    require_reach([settings.data_dir], sandbox.owner)
    (await sandbox.probe()).require()
    key = settings.anthropic_api_key
    model = ClaudeModel(key.get_secret_value() if key else None, settings.anthropic_base_url)
    database = Database(settings.database)
    metrics = Metrics()
    try:
        await asyncio.to_thread(database.migrate)
        yield Parts(
            settings=settings,
            redactor=redactor,
            metrics=metrics,
            database=database,
            runs=Runs(database),
            sandbox=sandbox,
            mirrors=Mirrors(settings.data_dir / "mirrors", group=sandbox.owner[1]),
            model=MeasuredModel(model, metrics),
        )
    finally:
        await model.close()
        database.close()


class GitHubRuns:
    """Equips runs on GitHub."""

    def __init__(self, parts: Parts, github: GitHub, identity: Identity) -> None:
        self._parts = parts
        self._github = github
        self._identity = identity

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
        )
        source = GitSource(
            mirror,
            parts.settings.data_dir / "runs",
            run_id,
            sandbox=parts.sandbox,
            fetch=partial(self._fetch, request, mirror),
            identity=partial(self._author, request),
            on_command=parts.metrics.command_seconds.inc,
        )
        return GitHubEquipment(
            request,
            github,
            reporter,
            source,
            Ports(
                model=parts.model,
                journal=StoredJournal(parts.database, run_id),
                source=source,
                publisher=GitHubPublisher(github, mirror, request, run_id, parts.redactor),
                reporter=reporter,
                steps=steps,
            ),
        )

    async def _fetch(self, request: Request, mirror: Mirror) -> str:
        """Bring the default branch up to date with a token that can only read it."""
        scope = Scope.of(request.installation_id, request.repository.id, Profile.READ)
        token = await self._github.broker.token(scope)
        await mirror.fetch(self._github.urls.clone(request.repository.full_name), token.value)
        return await mirror.head_of(request.repository.default_branch)

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
    credentials = settings.credentials
    async with (
        open_parts(settings, redactor) as parts,
        GitHub.open(
            github_url=settings.github_url,
            app_id=credentials.app_id,
            private_key=credentials.private_key.get_secret_value(),
            redactor=redactor,
            write_spacing=settings.github_write_spacing,
        ) as github,
    ):
        identity = Identity()
        intake = Intake([s.get_secret_value() for s in credentials.webhook_secrets], identity)
        inbox = Inbox(parts.database, limit=settings.inbox_limit)
        await inbox.open()
        runner = make_runner(
            parts, GitHubRuns(parts, github, identity).equip, noreply=github.urls.noreply
        )
        readiness = Readiness(settings.data_dir)
        await runner.engine.launch()
        server = await start_server(
            build_server(intake, inbox, parts.database, parts.metrics, readiness),
            settings.host,
            settings.port,
        )
        dispatching = asyncio.create_task(Dispatcher(parts.database, inbox, runner).run())
        keeping = asyncio.create_task(Upkeep(runner, runner.engine).run())
        log.info("serving", address=f"http://{settings.host}:{server.addresses[0][1]}")
        await _until(stop, dispatching)
        readiness.draining = True
        log.info("draining", seconds=DRAIN_SECONDS)
        dispatching.cancel()
        keeping.cancel()
        await server.cleanup()
        await runner.engine.drain(DRAIN_SECONDS)


def make_runner(parts: Parts, equip: Equip, *, noreply: str) -> Runner:
    """Return the runner with its engine, not yet launched."""
    runner = Runner(
        parts.runs,
        equip,
        models=parts.models,
        limits=parts.limits,
        noreply=noreply,
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
