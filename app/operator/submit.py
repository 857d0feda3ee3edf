"""Hand a request over: into the inbox, from which whoever works on this database takes it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from uuid import uuid4

from sqlalchemy import make_url

from agents.errors import ConfigError
from agents.requests import Request
from app.config.settings import Settings
from app.store.database import Database
from app.store.deliveries import run_of
from app.store.process_lock import Claim
from app.store.runs import Runs
from app.webhooks import Delivery, Inbox
from handlers.internal import TERMINAL, TERMINAL_ACTION


async def hand_over(database: Database, request: Request) -> str:
    """Put the request where it is not lost any more, and return the id of its run."""
    ident = str(uuid4())
    body = f'{{"request": {request.model_dump_json()}}}'.encode()
    digest = hashlib.sha256(ident.encode() + body).hexdigest()  # asked twice, it is meant twice
    delivery = Delivery(ident, TERMINAL, TERMINAL_ACTION, request.installation_id, digest, body)
    await Inbox(database, limit=1).store(delivery)
    run_id = await database.read(lambda connection: run_of(connection, ident))
    assert run_id is not None
    await Runs(database).create(run_id, request)  # so that the next who asks finds it at once
    return run_id


async def is_served(settings: Settings) -> bool:
    """Return whether another process is at work on this database under our name."""
    if _never_served(settings):
        return False
    claim = Claim(settings.database, settings.worker, patience=0)
    try:
        await claim.take()
    except ConfigError:
        return True
    await claim.release()
    return False


def _never_served(settings: Settings) -> bool:
    """Return whether nobody ever was; to look must not leave a file that a server cannot open."""
    url = make_url(settings.database)
    return url.get_backend_name() == "sqlite" and not Path(f"{url.database}.lock").exists()
