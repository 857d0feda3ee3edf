"""The composition: what every run on this machine shares, opened once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import structlog

from agents.errors import Cancelled
from agents.loop.budget import RunLimits
from agents.policy import Budget
from app.attestation.signing_keys import SigningKeys, load_keys
from app.config.allowed_owners import AllowedOwners
from app.config.model_access import open_model
from app.config.settings import Settings
from app.git import Mirrors
from app.git.commit_key import CommitKey, read_commit_key
from app.observability.metrics import InstrumentedModel, Metrics
from app.observability.otlp import open_tracing
from app.observability.tracing import Tracing, record_past
from app.sandbox.path_permissions import make_data_folder, require_reach
from app.sandbox.port import Sandbox
from app.sandbox.select import choose
from app.secrets.bait import BaitKeeper
from app.secrets.redaction import Redactor
from app.store.database import Database, DatabaseAway
from app.store.runs import Runs, StoredApprovals

if TYPE_CHECKING:
    from app.dependencies.install_phase import SetUps
    from app.mcp.servers import ForRun
    from app.web.fetch import WebFetcher

AWAY_SECONDS = 5.0
"""From one look for a database that is away to the next."""

log = structlog.get_logger()


@dataclass
class SharedResources:
    """What every run on this machine shares."""

    settings: Settings
    redactor: Redactor
    metrics: Metrics
    tracing: Tracing
    database: Database
    runs: Runs
    approvals: StoredApprovals
    sandbox: Sandbox
    mirrors: Mirrors
    model: InstrumentedModel
    toolsets: ForRun | None
    """None: the operator has no MCP servers."""
    owners: AllowedOwners
    """The accounts that Fettle works for."""

    @cached_property
    def set_ups(self) -> SetUps:
        """Return the set-up phase of this machine."""
        from app.dependencies.start import make_set_ups  # noqa: PLC0415 - only runs need it

        return make_set_ups(self.settings, self.sandbox, self.redactor)

    @cached_property
    def web(self) -> WebFetcher:
        """Return what reads pages of the web."""
        from app.web.fetch import WebFetcher  # noqa: PLC0415 - as above

        return WebFetcher()

    @cached_property
    def bait(self) -> BaitKeeper:
        """Return what makes the bait of each run."""
        return BaitKeeper(self.settings.data_dir, self.metrics.bait.inc)

    @cached_property
    def signing_keys(self) -> SigningKeys | None:
        """Return the keys that sign what is pushed; None where the operator has none to share."""
        path = self.settings.signing_keys
        return load_keys(path, shared=self.settings.signing_key_file is not None) if path else None

    @cached_property
    def commit_key(self) -> CommitKey | None:
        """Return the operator's key for commits, None without. Raises ConfigError, as above."""
        key = read_commit_key(self.settings.commit_key_file, self.settings.committer)
        if key is not None:
            key.fingerprint()
        return key

    def command_ran(self, seconds: float) -> None:
        """Note that a command of a repository or an agent has ended."""
        self.metrics.command_seconds.inc(seconds)
        self.metrics.commands.observe(seconds)
        record_past("command", seconds)

    @property
    def models(self) -> dict[str, str]:
        """Return the model's name of each tier."""
        settings = self.settings
        judge = settings.model_judge or settings.model
        named = {"strong": settings.model, "judge": judge, "fast": settings.model_fast}
        return named | ({"fallback": settings.fallback_model} if settings.fallback_model else {})

    @property
    def models_allowed(self) -> frozenset[str]:
        """Return which models policies may name: the operator's own, and what they list."""
        return frozenset((*self.models.values(), *self.settings.models_allowed))

    @property
    def limits(self) -> RunLimits:
        """Return what the operator lets one run use up; turns and minutes are the policy's."""
        most = Budget.model_fields
        return RunLimits(
            usd=self.settings.run_budget_usd,
            turns=most["turns"].default * 10,
            minutes=most["minutes"].default * 10,
            usd_per_day=self.settings.day_budget_usd,
        )


@asynccontextmanager
async def open_parts(
    settings: Settings, redactor: Redactor, *, stop: asyncio.Event | None = None
) -> AsyncIterator[SharedResources]:
    """Hold open what every run shares. Raises ConfigError when this machine cannot serve.

    With `stop` a database that is away is waited for, until that is set: then Cancelled is raised.
    """
    make_data_folder(settings.data_dir)
    sandbox = await choose(settings)
    require_reach([settings.data_dir], sandbox.owner)
    model = open_model(settings)
    database = Database(settings.database, settings.cipher)
    metrics = Metrics()
    headers = {name: value.get_secret_value() for name, value in settings.otlp_headers.items()}
    try:
        await _migrate(database, settings.worker, stop)
        async with open_tracing(settings.otlp_url, headers) as tracing:
            yield SharedResources(
                settings=settings,
                redactor=redactor,
                metrics=metrics,
                tracing=tracing,
                database=database,
                runs=Runs(database),
                approvals=StoredApprovals(database),
                sandbox=sandbox,
                mirrors=Mirrors(
                    settings.data_dir / "mirrors",
                    group=sandbox.owner[1],
                    outbound=settings.outbound,
                ),
                model=InstrumentedModel(model, metrics),
                toolsets=_open_toolsets(settings, redactor, sandbox),
                owners=AllowedOwners(settings.owners),
            )
    finally:
        await model.close()
        database.close()


def _open_toolsets(settings: Settings, redactor: Redactor, sandbox: Sandbox) -> ForRun | None:
    if settings.mcp_servers is None:
        return None
    from app.mcp.servers import open_toolsets  # noqa: PLC0415 - as above

    return open_toolsets(settings.mcp_servers, redactor, sandbox)


async def _migrate(database: Database, worker: str, stop: asyncio.Event | None) -> None:
    """Migrate the database, once it is there.

    A server that loses its database ends, and is started again before that is back: what starts
    it would give up after some tries, and nobody would start it when all is well.
    """
    while True:
        try:
            return await asyncio.to_thread(database.migrate, worker)
        except DatabaseAway as error:
            if stop is None:
                raise
            log.warning("waiting for the database", reason=str(error), seconds=AWAY_SECONDS)
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), AWAY_SECONDS)
            raise Cancelled("Fettle was stopped before its database was there.")
