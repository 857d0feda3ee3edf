"""The composition: the only place where ports meet adapters. Tests call it with other settings."""

from __future__ import annotations

import asyncio
from functools import partial

import structlog

from agents.errors import FettleError
from agents.ports import Steps
from agents.requests import Request
from agents.run import Ports
from app.desk import Desk
from app.dispatch import Dispatcher
from app.engine import Engine
from app.equipment import GitHubEquipment
from app.git.environment import Identity as Author
from app.git.mirror import Mirror
from app.git.source import GitSource
from app.github.approval_end import OpenQuestions
from app.github.approvals import GitHubApprovals
from app.github.auth import Profile, Scope
from app.github.client import GitHub
from app.github.forge import GitHubForge
from app.github.publish import GitHubPublisher
from app.github.reporter import GitHubReporter
from app.inbox import Inbox
from app.intake import Identity, Intake
from app.parts import Parts, open_parts
from app.redaction import Redactor
from app.runner import Equip, Obey, Runner
from app.sandbox.choose import caution
from app.server import Readiness, build_server, start_server
from app.settings import Settings
from app.store.turns import StoredJournal
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
        source = GitSource(
            mirror,
            parts.settings.data_dir / "runs",
            run_id,
            sandbox=parts.sandbox,
            fetch=partial(self._fetch, request, mirror),
            identity=partial(self._author, request),
            furnisher=parts.set_ups.of(str(request.repository.id), mirror, run_id),
            conceal=parts.redactor.clean,
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
            ),
            OpenQuestions(github, request, run_id, parts.approvals, parts.redactor),
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
            parts,
            GitHubRuns(parts, github, identity).equip,
            noreply=github.urls.noreply,
            obey=Desk(github, parts.approvals, redactor).obey,
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
        waking = asyncio.create_task(Waking(parts.approvals, runner.engine.wake).run())
        log.info("serving", address=f"http://{settings.host}:{server.addresses[0][1]}")
        await _until(stop, dispatching)
        readiness.draining = True
        log.info("draining", seconds=DRAIN_SECONDS)
        dispatching.cancel()
        keeping.cancel()
        waking.cancel()
        await server.cleanup()
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
