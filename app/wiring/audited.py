"""What the audit log is told of acts that are no rows of the database."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version

import structlog
from cachetools import TTLCache

from agents.requests import Request
from app.config.settings import Settings
from app.github.transport import Scope
from app.store.audit import OPERATOR, PrivilegedAct, append_act, append_settings, read_newest
from app.store.database import Database

MOST_SEARCHES = 10_000
A_DAY = 86_400.0

log = structlog.get_logger()


async def record_push(
    database: Database, run_id: str, request: Request, branch: str, commit: str
) -> None:
    """Note a push before it is made; TransientError where it cannot be noted."""
    act = PrivilegedAct(
        "push",
        request.initiator,
        run_id=run_id,
        installation_id=request.installation_id,
        repository_id=request.repository.id,
        repository=request.repository.full_name,
        details={"branch": branch, "commit": commit},
    )
    await database.write(partial(append_act, act=act))


class TokenRecord:
    """Notes what each token may reach, before anybody has it.

    The search for missed labels takes a token for each installation six times an hour, which may
    read issues and no more. It is noted once a day: a log of nothing else is read by nobody.
    """

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._searches: TTLCache[Scope, bool] = TTLCache(MOST_SEARCHES, A_DAY, timer=clock)

    async def add(self, scope: Scope) -> None:
        """Note a token; TransientError where it cannot be noted."""
        search = scope.everywhere and {right for _, right in scope.permissions} == {"read"}
        if search and scope in self._searches:
            return
        ids = scope.repository_ids
        act = PrivilegedAct(
            "token.minted",
            "fettle",
            installation_id=scope.installation_id,
            repository_id=ids[0] if len(ids) == 1 else None,
            repository=", ".join(scope.repository_names),
            details={
                "permissions": dict(scope.permissions),
                "repositories": "all" if scope.everywhere else list(ids),
                **({"noted": "once a day"} if search else {}),
            },
        )
        await self._database.write(partial(append_act, act=act))
        if search:
            self._searches[scope] = True


async def record_replaced(database: Database, secret: str) -> None:
    """Note that the server goes on with another secret than before."""
    act = PrivilegedAct("secret.replaced", OPERATOR, details={"secret": secret})
    await database.write(partial(append_act, act=act))


async def record_settings(database: Database, settings: Settings) -> None:
    """Note which settings changed since the last start; log where the audit log ends."""
    told = settings.model_dump(mode="json")  # of secrets, that there is one
    described = {name: json.dumps(value, sort_keys=True) for name, value in told.items()}
    change = partial(append_settings, described=described, version=version("fettle"))
    await database.write(change)
    number, digest = await database.read(read_newest)
    log.info("audit log", entries=number, hash=digest)
