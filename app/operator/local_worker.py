"""Do the work of this machine's database right here, as a server does, but for its door."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from sqlalchemy import make_url

from agents.errors import ConfigError
from app.config.settings import Settings
from app.github.transport import GitHub
from app.installations.lifecycle import InstallationLifecycle
from app.secrets.redaction import Redactor
from app.webhooks import Inbox, OwnIdentity
from app.wiring.resources import open_parts
from app.wiring.serve import work


@asynccontextmanager
async def work_here(
    settings: Settings, redactor: Redactor, github: GitHub
) -> AsyncIterator[Callable[[], None]]:
    """Work on what waits in the database until the block ends; then drain.

    Yields what to call once something was handed over, so that it is taken at once.

    Raises ConfigError when this machine cannot work, or when another process does it already.
    """
    async with open_parts(settings, redactor) as parts:
        inbox = Inbox(parts.database, limit=settings.inbox_limit)
        await inbox.open()
        life = InstallationLifecycle(parts.database, github, parts.owners, settings.worker)
        async with work(parts, life, OwnIdentity(), inbox):
            yield inbox.arrived.set


def require_own(settings: Settings) -> None:
    """Raise ConfigError when the database is another user's: a server could not use it any more."""
    url = make_url(settings.database)
    folder = settings.data_dir
    if url.get_backend_name() != "sqlite" or not folder.exists():
        return
    owner = folder.stat().st_uid
    if owner != os.geteuid():
        raise ConfigError(
            f"No `fettle serve` is at work, and `{folder}` belongs to the user with the id {owner}."
            " Run this as that user, or start the server first."
        )
