"""The HTTP server: webhooks, health, readiness and metrics."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import shutil
import socket
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import structlog
from aiohttp import web
from aiohttp.http import HttpProcessingError

from agents.errors import ConfigError, DeliveryError, TransientError
from app.observability.loop_lag import LoopLag
from app.observability.metrics import CONTENT_TYPE, Metrics
from app.store.database import Database
from app.webhooks.connections import BodyRoom, BoundedRunner, Connections
from app.webhooks.inbox import Inbox
from app.webhooks.receiver import (
    ACCEPTED,
    MAX_BODY,
    ImmediateAnswer,
    WebhookReceiver,
    read_head,
    too_large,
)

BODY_BYTES = 64 * 1024 * 1024
CONNECTIONS = 1_000
BODY_SECONDS = 20
"""A sender that takes longer for its body is not GitHub, which gives up after 10."""
LINGER_SECONDS = 2
"""How long the rest of a refused body is read, so that the sender gets to see the answer."""
READY_SECONDS = 5
FREE_BYTES = 256 * 1024 * 1024
"""Less free disk than this and no run can be expected to end well."""
COMPLAINT_SECONDS = 60
KEYS_PATH = "/.well-known/fettle-keys.json"
"""Where verifiers find the public keys (RFC 8615)."""

log = structlog.get_logger(__name__)


@dataclass
class Readiness:
    """What this process knows of its own readiness."""

    data_dir: Path
    draining: bool = False
    """True from SIGTERM on: finish what is there, send new work elsewhere."""

    def begin_drain(self) -> None:
        """Note that this process is about to stop."""
        self.draining = True


def build_server(
    receiver: WebhookReceiver,
    inbox: Inbox,
    database: Database,
    metrics: Metrics,
    readiness: Readiness,
    *,
    body_bytes: int = BODY_BYTES,
    keys: Callable[[], Mapping[str, object]] | None = None,
) -> web.Application:
    """Return the application; `start_server` makes it listen.

    `body_bytes`: of all bodies that may be in memory at once. `keys`: returns the public keys of
    what this instance signs, for verifiers; called in a thread.
    """
    endpoint = _WebhookEndpoint(receiver, inbox, metrics, BodyRoom(body_bytes))
    watch = _HealthEndpoints(database, metrics, readiness)
    metrics.depth.set_function(lambda: inbox.depth)
    metrics.disk.set_function(lambda: shutil.disk_usage(readiness.data_dir).free)
    application = web.Application(client_max_size=MAX_BODY)
    application.cleanup_ctx.append(partial(_watch_loop, metrics))
    application.add_routes(
        [
            web.post("/webhook", endpoint.webhook),
            web.get("/healthz", watch.healthz),
            web.get("/readyz", watch.readyz),
            web.get("/metrics", watch.metrics),
        ]
    )
    if keys is not None:
        application.add_routes([web.get(KEYS_PATH, partial(_answer_keys, keys))])
    return application


async def _answer_keys(
    keys: Callable[[], Mapping[str, object]], _request: web.Request
) -> web.Response:
    published = json.dumps(await asyncio.to_thread(keys), indent=1) + "\n"
    return web.Response(text=published, content_type="application/json")


async def _watch_loop(metrics: Metrics, _application: web.Application) -> AsyncIterator[None]:
    """Measure how late the event loop is, for as long as the server serves."""
    lag = LoopLag()
    metrics.lag.set_function(lambda: lag.longest)
    watching = asyncio.create_task(lag.watch())
    yield
    watching.cancel()


async def start_server(
    application: web.Application, host: str, port: int, *, connections: int = CONNECTIONS
) -> web.AppRunner:
    """Listen; return the runner whose `cleanup()` lets open requests finish.

    Bodies are not decompressed, since the signature is over the bytes as sent. There is no access
    log: writing one would cost a quarter of the throughput, and the metrics have the same numbers.
    Objects made until now stay to the end, so the garbage collector is told to skip them.
    """
    gc.collect()
    gc.freeze()
    runner = BoundedRunner(
        application,
        Connections(connections),
        access_log=None,
        auto_decompress=False,
        lingering_time=LINGER_SECONDS,
        logger=_quiet_about_strangers(),
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        await runner.cleanup()
        raise ConfigError(
            f"The server cannot listen on {host} port {port}: {_reason(error)}. Stop what has the "
            "port, such as another `fettle serve`, or set FETTLE_PORT and FETTLE_HOST."
        ) from error
    except BaseException:
        await runner.cleanup()
        raise
    return runner


def _reason(error: OSError) -> str:
    """Return what the system says, without asyncio's words around it."""
    plain = isinstance(error, socket.gaierror) or not error.errno
    return str(error.strerror or error) if plain else os.strerror(error.errno or 0)


def _quiet_about_strangers() -> logging.Logger:
    """Return a logger for aiohttp that has no traceback for bytes that are no HTTP."""
    logger = logging.getLogger("aiohttp.server")
    logger.addFilter(_is_our_fault)
    return logger


def _is_our_fault(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


class _WebhookEndpoint:
    """Answers deliveries, and never with a 500."""

    def __init__(
        self, receiver: WebhookReceiver, inbox: Inbox, metrics: Metrics, room: BodyRoom
    ) -> None:
        self._room = room
        self._receiver = receiver
        self._inbox = inbox
        self._count = metrics.count
        self._blame = metrics.blame["sender"]
        self._acknowledged = metrics.acknowledged.observe
        self._quiet_until: defaultdict[int, float] = defaultdict(float)

    async def webhook(self, request: web.Request) -> web.Response:
        """Answer one delivery."""
        began = time.perf_counter()
        try:
            answer = await self._take(request)
        except DeliveryError as error:
            self._complain(error, request)
            answer = ImmediateAnswer(
                error.status, str(error), "refused" if error.status < 500 else "full"
            )
        except Exception:
            log.exception("delivery broke the server")
            answer = ImmediateAnswer(
                503, "Something is wrong here; deliver this again later.", "full"
            )
        self._count[answer.outcome]()
        if answer.outcome == "refused":
            self._blame()
        self._acknowledged(time.perf_counter() - began)
        if answer.status == 204:
            return web.Response(status=204)
        return web.Response(status=answer.status, text=f"{answer.text}\n")

    async def _take(self, request: web.Request) -> ImmediateAnswer:
        head = read_head(request.headers)
        with self._room.reserve() as take:
            admitted = self._receiver.decide(head, await _body(request, take))
            if isinstance(admitted, ImmediateAnswer):
                return admitted
            taken = await self._inbox.take(admitted)
        if taken.claim == "duplicate":
            return ImmediateAnswer(202, "received before", "duplicate")
        # GitHub keeps the answer: should our data be lost, it knows what came of the delivery.
        text = ACCEPTED.format(run=taken.run_id) if taken.claim == "stored" else "accepted"
        return ImmediateAnswer(202, text, "accepted")

    def _complain(self, error: DeliveryError, request: web.Request) -> None:
        """Log a refusal, but each kind once a minute: strangers must not fill the disk."""
        now = time.monotonic()
        if now >= self._quiet_until[error.status]:
            self._quiet_until[error.status] = now + COMPLAINT_SECONDS
            log.warning(
                "delivery refused",
                status=error.status,
                reason=str(error),
                remote=request.remote,
                delivery=request.headers.get("X-GitHub-Delivery", "")[:80],
            )


async def _body(request: web.Request, take: Callable[[int], bool]) -> bytes:
    """Return the raw body. Raises DeliveryError where it does not come whole, or has no room."""
    try:
        if request.content.is_eof():  # most are small and here already: no timer, no waiting
            return _take_whole(request.content.read_nowait(), take)
        async with asyncio.timeout(BODY_SECONDS):
            return await _gather(request, take)
    except DeliveryError:
        raise
    except TimeoutError:
        raise DeliveryError(408, "The body took too long to arrive.") from None
    except Exception:  # noqa: BLE001 - broken chunks, lost connections: the sender's, all of them
        raise DeliveryError(400, "The body did not arrive whole.") from None


def _take_whole(body: bytes, take: Callable[[int], bool]) -> bytes:
    if not take(len(body)):
        raise _no_room()
    return body


async def _gather(request: web.Request, take: Callable[[int], bool]) -> bytes:
    if (request.content_length or 0) > MAX_BODY:
        raise too_large()
    parts, size = [], 0
    async for part in request.content.iter_any():
        size += len(part)
        if size > MAX_BODY:
            raise too_large()
        if not take(len(part)):
            raise _no_room()
        parts.append(part)
    return b"".join(parts)


def _no_room() -> DeliveryError:
    return DeliveryError(503, "Too much is being received; deliver this again later.")


class _HealthEndpoints:
    """Answers whether the process lives and is ready, and with its metrics."""

    def __init__(self, database: Database, metrics: Metrics, readiness: Readiness) -> None:
        self._database = database
        self._metrics = metrics
        self._readiness = readiness

    async def healthz(self, _request: web.Request) -> web.Response:
        """Answer 200 while the event loop turns."""
        return web.Response(text="alive\n")

    async def readyz(self, _request: web.Request) -> web.Response:
        """Answer 503 with the reason while the process can do no work."""
        troubles = [trouble async for trouble in self._troubles()]
        if troubles:
            return web.Response(status=503, text="".join(f"{line}\n" for line in troubles))
        return web.Response(text="ready\n")

    async def metrics(self, _request: web.Request) -> web.Response:
        """Answer with the metrics in Prometheus' text format."""
        try:
            text = await self._metrics.text(self._database)
        except TransientError as error:
            return web.Response(status=503, text=f"{error}\n")
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE})

    async def _troubles(self) -> AsyncIterator[str]:
        if self._readiness.draining:
            yield "draining: this process is about to stop"
        free = (await asyncio.to_thread(shutil.disk_usage, self._readiness.data_dir)).free
        if free < FREE_BYTES:
            yield f"disk: only {free // 2**20} MiB free"
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self._database.write(lambda _: None)  # takes the lock for writing
        except (TransientError, TimeoutError) as error:
            yield f"database: {str(error) or 'no answer'}"
