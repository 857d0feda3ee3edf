"""Servers for the bench, one per process: `bare` keeps nothing, `fettle` is the product's."""

from __future__ import annotations

import argparse
import asyncio
import hmac
import re
import sys
from pathlib import Path

from aiohttp import web

sys.path.insert(0, str(Path(__file__).parents[3]))

from app.observability.logging import configure_logging
from app.observability.metrics import Metrics
from app.secrets.redaction import Redactor
from app.store.database import Database
from app.webhooks.dispatcher import Dispatcher
from app.webhooks.inbox import Inbox
from app.webhooks.receiver import MAX_BODY, OwnIdentity, WebhookReceiver
from app.webhooks.server import Readiness, build_server, start_server

SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}")


def bare(secret: str) -> web.Application:
    """The least that a webhook server in aiohttp can do."""
    key = secret.encode()

    async def webhook(request: web.Request) -> web.Response:
        body = await request.read()
        given = request.headers.get("X-Hub-Signature-256", "")
        if not SIGNATURE.fullmatch(given):
            return web.Response(status=401)
        if not hmac.compare_digest(hmac.digest(key, body, "sha256"), bytes.fromhex(given[7:])):
            return web.Response(status=401)
        return web.Response(status=202, text="accepted\n")

    application = web.Application(client_max_size=MAX_BODY)
    application.router.add_post("/webhook", webhook)
    return application


class InstantEngine:
    """An engine that takes every request at once."""

    async def submit(self, run_id, request) -> None:
        pass


async def fettle(secret: str, folder: Path, *, dispatch: bool) -> web.Application:
    """The product's server, as wiring makes it."""
    database = Database(f"sqlite:///{folder / 'fettle.db'}")
    database.migrate()
    inbox = Inbox(database, limit=10**9)
    await inbox.open()
    receiver = WebhookReceiver([secret], OwnIdentity(bot_id=1))
    server = build_server(receiver, inbox, database, Metrics(), Readiness(folder))
    if dispatch:
        dispatcher = Dispatcher(database, inbox, InstantEngine())
        server["dispatcher"] = asyncio.create_task(dispatcher.run())
    return server


async def serve() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["bare", "fettle", "dispatching"])
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    configure_logging(style="json", level="info", cleaner=Redactor())
    secret = sys.stdin.readline().strip()
    if arguments.kind == "bare":
        application = bare(secret)
    else:
        application = await fettle(
            secret, arguments.folder, dispatch=arguments.kind == "dispatching"
        )
    runner = await start_server(application, "127.0.0.1", 0)
    print(runner.addresses[0][1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(serve())
