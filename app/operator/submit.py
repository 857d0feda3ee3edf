"""Hand a request over: into the inbox, from which whoever works on this database takes it."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from sqlalchemy import make_url

from agents.errors import ConfigError
from agents.requests import Request
from app.config.settings import Settings
from app.store.database import Database
from app.store.process_lock import Claim
from app.webhooks import Inbox
from handlers.internal import TERMINAL, TERMINAL_ACTION


async def hand_over(database: Database, request: Request) -> str:
    """Put the request where it is not lost any more, and return the id of its run."""
    inbox = Inbox(database, limit=1)
    return await inbox.hand_over(request, str(uuid4()), event=TERMINAL, action=TERMINAL_ACTION)


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
    """Return whether no server was ever started here, without creating the database file."""
    url = make_url(settings.database)
    return url.get_backend_name() == "sqlite" and not Path(f"{url.database}.lock").exists()
