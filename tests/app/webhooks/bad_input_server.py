"""The real door, inbox and dispatcher as a process: `python bad_input_server.py FOLDER`.

It prints its port, and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from app.observability.logging import configure_logging
from app.observability.metrics import Metrics
from app.secrets.redaction import Redactor
from app.store.database import Database
from app.webhooks.dispatcher import Dispatcher
from app.webhooks.inbox import Inbox
from app.webhooks.receiver import OwnIdentity, WebhookReceiver
from app.webhooks.server import Readiness, build_server, start_server
from tests.app.webhooks.mutations import SECRET


class TakesAll:
    """An engine that takes every request."""

    async def submit(self, run_id, request):
        pass


async def main():
    configure_logging(style="console", level="warning", cleaner=Redactor())
    folder = Path(sys.argv[1])
    database = Database(f"sqlite:///{folder / 'fettle.db'}")
    database.migrate()
    inbox = Inbox(database, limit=10_000)
    await inbox.open()
    receiver = WebhookReceiver([SECRET.decode()], OwnIdentity(bot_id=1))
    server = build_server(receiver, inbox, database, Metrics(), Readiness(folder))
    runner = await start_server(server, "127.0.0.1", 0)
    dispatching = asyncio.create_task(Dispatcher(database, inbox, TakesAll()).run())
    print(runner.addresses[0][1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    dispatching.cancel()
    await asyncio.wait([dispatching])
    await runner.cleanup()
    database.close()


asyncio.run(main())
