"""What the audit log is told of acts that are no rows of the database."""

from __future__ import annotations

import json
from functools import partial
from importlib.metadata import version

import structlog

from agents.requests import Request
from app.config.settings import Settings
from app.github.transport import Scope
from app.store.audit import OPERATOR, PrivilegedAct, append_act, append_settings, read_newest
from app.store.database import Database

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


async def record_token(database: Database, scope: Scope) -> None:
    """Note what a token may reach, before anybody has it."""
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
        },
    )
    await database.write(partial(append_act, act=act))


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
