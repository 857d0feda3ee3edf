"""The composition of the server: the only place where ports meet adapters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import structlog

from agents.errors import FettleError
from app.alerts.closed import takers_of
from app.board.ticks import BoardTicks
from app.commands.handler import CommandHandler, SpendingBounds
from app.config.allowed_owners import AllowedOwners
from app.config.settings import Settings
from app.github.policy.file import read_policy
from app.github.transport import GitHub
from app.github.transport.app_installations import AppInstallations
from app.github.transport.client import OnAnswer
from app.installations.lifecycle import InstallationLifecycle
from app.installations.metrics import measure
from app.installations.reconcile import EVERY as RECONCILE_SECONDS
from app.installations.reconcile import NAME as RECONCILE
from app.installations.registry import StaticAllowlist
from app.policies.pull_request_check import ProposedPolicies
from app.registration.reload_secrets import SecretReloader
from app.runs.conductor import (
    Current,
    Equip,
    Holds,
    LookBack,
    Obey,
    RunConductor,
    TakeNote,
    keep_request,
)
from app.runs.durable_steps import PutOffRun
from app.runs.engine import Engine
from app.runs.queue import RunQueue
from app.runs.reaper import Reaper, kept_of
from app.runs.steering import SteerSignals
from app.runs.wakeup import WakeupPoller
from app.secrets.redaction import Redactor
from app.store.boards import Boards
from app.store.database import CONNECTIONS
from app.store.handled_feedback import Batches
from app.store.runs import RunPlaces, StoredSteers
from app.watch.adaptation_followups import AdaptationFollowUps
from app.watch.merge_followups import MergeFollowUps
from app.watch.merges import Suspicions
from app.webhooks import Inbox, OwnIdentity, WebhookReceiver
from app.webhooks.dispatcher import Dispatcher
from app.webhooks.notifications import NotificationHandler, NotificationRouter
from app.webhooks.server import Readiness, build_server, start_server
from app.wiring.audited import TokenRecord, record_replaced, record_settings
from app.wiring.late_run_ports import LateRunPorts
from app.wiring.resources import SharedResources, open_parts
from app.wiring.schedules import Schedules
from handlers.notifications import BoardTicked, Notification, PullChanged, PullClosed, Suspicion

log = structlog.get_logger()

DRAIN_SECONDS = 20.0
LOST = (
    "This worker lost its connection to the database, or did not answer for too long. Other workers"
    " have its runs or take them in a moment; start it again, and it shares the work."
)


async def serve(settings: Settings, redactor: Redactor, stop: asyncio.Event) -> None:
    """Serve until `stop` is set. Raises ConfigError when it cannot start.

    Then close the pages, answer /readyz with 503, stop listening, and drain: last of all, so that
    no delivery is accepted that nobody dispatches.
    """
    secrets = [secret.get_secret_value() for secret in settings.credentials.webhook_secrets]
    reloader = _make_reloader(settings, redactor, secrets)
    async with (
        open_parts(settings, redactor, stop=stop) as parts,
        open_github(
            settings, redactor, renewed=reloader.new_key, answered=parts.metrics.github_answered
        ) as opened,
    ):
        life = InstallationLifecycle(parts.database, opened, parts.owners, settings.worker)
        github, identity = life.github, OwnIdentity()
        inbox = Inbox(parts.database, limit=settings.inbox_limit)
        await inbox.open()
        readiness = Readiness(settings.data_dir)
        await asyncio.to_thread(lambda: parts.commit_key)  # a key that cannot sign is told now
        schedules = Schedules(settings, parts.database, github, inbox, mirrors=parts.mirrors)
        parts.metrics.count_requests_left(
            lambda: {ident: left.remaining for ident, left in github.left.items()}
        )
        receiver = WebhookReceiver(
            secrets, identity, owners=parts.owners, renewed=reloader.new_secrets
        )
        async with work(parts, life, identity, inbox, schedules) as dispatching:
            server = await start_server(
                build_server(
                    receiver,
                    inbox,
                    parts.database,
                    parts.metrics,
                    readiness,
                    body_bytes=settings.body_limit_mb * 1024**2,
                    keys=parts.signing_keys.publish if parts.signing_keys else None,
                ),
                settings.host,
                settings.port,
                connections=settings.connection_limit,
            )
            schedules.open.set()
            replaced = partial(record_replaced, parts.database)
            watching = asyncio.create_task(reloader.run(receiver, github.app.jwt.renew, replaced))
            log.info("serving", address=f"http://{settings.host}:{server.addresses[0][1]}")
            async with _open_pages(parts, github):
                await _wait_for_stop(stop, dispatching)
            watching.cancel()
            readiness.begin_drain()
            await server.cleanup()


@asynccontextmanager
async def _open_pages(parts: SharedResources, github: GitHub) -> AsyncIterator[None]:
    """Serve the pages where they are wanted; a server without them loads none."""
    settings = parts.settings
    if settings.pages == "off":
        yield
        return
    from app.pages.page_context import PageContext  # noqa: PLC0415 - they take megabytes
    from app.pages.server import PageAddress, open_pages  # noqa: PLC0415 - as above
    from app.wiring.page_people import (  # noqa: PLC0415 - as above
        build_access,
        make_policy_reader,
    )

    bounds = SpendingBounds(run=settings.run_budget_usd, day=settings.day_budget_usd)
    context = PageContext(
        parts.database,
        parts.redactor,
        parts.mirrors,
        day_budget_usd=bounds.day,
        run_budget_usd=bounds.run,
        access=build_access(settings, github, parts.database, bounds),
        policy=make_policy_reader(github, parts.database),
        data=settings.data_dir,
        disk_reserve=settings.disk_reserve_mb * 1024 * 1024,
    )
    address = PageAddress(settings.pages_host, settings.pages_port, settings.pages_url)
    async with open_pages(context, address) as opened:
        log.info("pages", address=opened.url, login="`fettle page` prints a code")
        yield


def _make_reloader(settings: Settings, redactor: Redactor, secrets: list[str]) -> SecretReloader:
    key = settings.credentials.private_key.get_secret_value()
    return SecretReloader(settings.data_dir, redactor, secrets=secrets, key=key)


@asynccontextmanager
async def open_github(
    settings: Settings,
    redactor: Redactor,
    *,
    renewed: Callable[[], str | None] = lambda: None,
    answered: OnAnswer = lambda _status, _seconds: None,
) -> AsyncIterator[GitHub]:
    """Hold the way to GitHub open; ConfigError without the App's credentials.

    `renewed` returns the App's key when it was replaced since it was last asked.
    """
    credentials, owners = settings.credentials, AllowedOwners(settings.owners)

    def list_owners(github: GitHub) -> StaticAllowlist:
        return StaticAllowlist(AppInstallations(github), owners)

    async with GitHub.open(
        github_url=settings.github_url,
        app_id=credentials.app_id,
        private_key=credentials.private_key.get_secret_value(),
        redactor=redactor,
        outbound=settings.outbound,
        write_spacing=settings.github_write_spacing,
        renewed=renewed,
        answered=answered,
        installed=list_owners if settings.owners else None,
    ) as github:
        yield github


@asynccontextmanager
async def work(
    parts: SharedResources,
    life: InstallationLifecycle,
    identity: OwnIdentity,
    inbox: Inbox,
    schedules: Schedules | None = None,
) -> AsyncIterator[asyncio.Task[None]]:
    """Work on all deliveries and runs of the database; at the end, drain.

    Yields what dispatches, which ends by a fault alone. Raises ConfigError when another process
    does this already.
    """
    github = life.github
    await record_settings(parts.database, parts.settings)
    github.broker.record_with(TokenRecord(parts.database).add)
    await life.load_owners()
    measure(parts.metrics)
    runs = LateRunPorts(parts, github, identity)
    bounds = SpendingBounds(run=parts.settings.run_budget_usd, day=parts.settings.day_budget_usd)
    engine = make_engine(parts, put_off=parts.runs.put_off)
    places = _make_places(parts)
    waited = parts.metrics.queued.observe
    queue = RunQueue(parts.database, engine, places, tell=runs.tell_place, waited=waited)
    commands = CommandHandler(github, parts.database, parts.redactor, queue.submit, bounds=bounds)
    policies = ProposedPolicies(github, parts.redactor, parts.models_allowed)
    takers = {**life.takers, **takers_of(parts.database, runs.alerts_of), **policies.takers}
    takers |= _make_takers(parts, github, commands, queue, takers)
    notices = NotificationRouter(takers)
    conductor = make_conductor(
        parts,
        runs.equip,
        noreply=github.urls.noreply,
        obey=life.with_current_names(commands.obey),
        take_note=notices.take,
        current=life.books.current,
        ended_before=runs.find_end,
        holds=places.holds,
    )
    await engine.launch(conductor.conduct, freed=queue.ring)
    parts.database.fence_with(engine.require_lease)
    github.guard_writes(lambda: parts.database.read(engine.require_lease))
    dispatcher = Dispatcher(parts.database, inbox, queue, tracing=parts.tracing)
    dispatching = asyncio.create_task(_dispatch_while_held(dispatcher, engine))
    reaper = Reaper(conductor, engine, kept=kept_of(parts.settings.retention_days))
    keeping = asyncio.create_task(reaper.run())
    waking = asyncio.create_task(_make_wakeup(parts, engine, queue, runs.signals).run())
    queueing = asyncio.create_task(queue.run())
    labelling = asyncio.create_task(life.labels.run())
    try:
        if schedules is not None:
            await schedules.begin(engine, runs.equip)
            await engine.schedule(RECONCILE, RECONCILE_SECONDS, life.reconcile)
        yield dispatching
    finally:
        await _drain(engine, (dispatching, keeping, waking, queueing, labelling))


async def _dispatch_while_held(dispatcher: Dispatcher, engine: Engine) -> None:
    """Dispatch for as long as this worker may work; FettleError once it may not."""
    working = asyncio.create_task(dispatcher.run())
    lost = asyncio.create_task(engine.lost.wait())
    try:
        await asyncio.wait({working, lost}, return_when=asyncio.FIRST_COMPLETED)
        if engine.lost.is_set():
            raise FettleError(LOST)
        working.result()
    finally:
        working.cancel()
        lost.cancel()


def make_engine(parts: SharedResources, *, put_off: PutOffRun | None = None) -> Engine:
    """Return the engine of this machine's database, not yet launched.

    With `put_off` a run that waits leaves the process, and a queue has it taken up again.
    """
    settings = parts.settings
    return Engine(
        settings.database,
        executor=settings.worker,
        put_off=put_off,
        cipher=settings.cipher,
        connections=settings.database_connections - CONNECTIONS - 1,  # the lease has one
    )


def _make_places(parts: SharedResources) -> RunPlaces:
    """Return the places that this worker has for runs."""
    settings = parts.settings
    at_once, for_one = settings.stages_at_once, settings.installation_places
    return RunPlaces(parts.database, settings.worker, places=at_once, for_one=for_one)


def _make_wakeup(
    parts: SharedResources, engine: Engine, queue: RunQueue, signals: SteerSignals
) -> WakeupPoller:
    """Return what tells runs and the queue that people have decided or spoken."""

    def ring(run_id: str) -> None:
        signals.ring(run_id)
        queue.ring()

    return WakeupPoller(
        parts.approvals,
        lambda _run_id: queue.ring(),
        steers=StoredSteers(parts.database),
        ring=ring,
        needed=lambda: engine.is_conducting() or queue.has_parked,
    )


def _make_takers(
    parts: SharedResources,
    github: GitHub,
    commands: CommandHandler,
    queue: RunQueue,
    first: Mapping[type[Any], NotificationHandler],
) -> dict[type[Notification], NotificationHandler]:
    """Return what takes the notices that runs come of; `first`: what hears of others before."""
    database, policy, batches = (
        parts.database,
        partial(read_policy, github),
        Batches(parts.database),
    )
    closed, changed = (
        AdaptationFollowUps(github, batches, first[kind].take) for kind in (PullClosed, PullChanged)
    )
    return {
        Suspicion: Suspicions(database, github, queue.submit),
        PullClosed: MergeFollowUps(github, queue.submit, closed.take, parts.runs.request),
        PullChanged: changed,
        BoardTicked: BoardTicks(
            github, Boards(database), parts.runs, policy, commands.obey, queue.submit
        ),
    }


def make_conductor(
    parts: SharedResources,
    equip: Equip,
    *,
    noreply: str,
    obey: Obey | None = None,
    take_note: TakeNote | None = None,
    current: Current = keep_request,
    ended_before: LookBack | None = None,
    holds: Holds | None = None,
) -> RunConductor:
    """Return what conducts runs with the models and limits of this machine's operator."""
    return RunConductor(
        parts.runs,
        equip,
        models=parts.models,
        efforts=parts.settings.effort,
        tiers=parts.settings.tiers,
        path=parts.settings.path,
        limits=parts.limits,
        noreply=noreply,
        pages=parts.settings.pages_for_people,
        obey=obey,
        take_note=take_note,
        current=current,
        tracing=parts.tracing,
        ended_before=ended_before,
        worker=parts.settings.worker,
        holds=holds,
        metrics=parts.metrics,
    )


async def _drain(engine: Engine, working: Sequence[asyncio.Task[None]]) -> None:
    """Let what is at work come to its next step, and write that it is over."""
    log.info("draining", seconds=DRAIN_SECONDS)
    for each in working:
        each.cancel()
    await engine.drain(DRAIN_SECONDS)
    await asyncio.wait(working, timeout=DRAIN_SECONDS)
    log.info("stopped")


async def _wait_for_stop(stop: asyncio.Event, dispatching: asyncio.Task[None]) -> None:
    """Wait for the signal; a dispatcher that ends by itself is a fault that must be seen."""
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({stopping, dispatching}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if dispatching.done() and isinstance(error := dispatching.exception(), FettleError):
        raise error
    if dispatching.done():
        raise FettleError("The dispatcher stopped by itself") from dispatching.exception()
