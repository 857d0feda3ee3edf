"""The objects that every page is built with: database, mirrors, limits, and who may see what."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from aiohttp import web

from agents.policy import Found
from app.git import Mirror, Mirrors
from app.pages.people import PageAccess, PageVerb
from app.pages.render import LOGIN, OPERATOR
from app.records.approvals import StoredApproval
from app.secrets.redaction import Redactor
from app.store.database import Database
from app.store.runs import History, KeptRun

ReadPolicyById = Callable[[int], Awaitable[Found | None]]
"""Returns what a repository's policy says now; None where the App does not reach it any more."""


@dataclass(frozen=True)
class PageContext:
    """The server's store, and what it takes to show it."""

    database: Database
    redactor: Redactor
    mirrors: Mirrors
    day_budget_usd: float
    run_budget_usd: float
    access: PageAccess = field(default_factory=PageAccess)
    policy: ReadPolicyById | None = None
    """Reads the policy that holds in a repository; None: these pages ask nobody."""
    data: Path | None = None
    """The folder of this worker's data; None: nobody asks for its disk."""
    disk_reserve: int = 0
    """Free bytes below which no command starts."""

    @property
    def history(self) -> History:
        """Return the runs."""
        return History(self.database)

    async def measure_disk(self) -> dict[str, int] | None:
        """Return the bytes of this worker's disk: free, in all, and what stays free."""
        if self.data is None:
            return None
        usage = await asyncio.to_thread(shutil.disk_usage, self.data)
        return {"free": usage.free, "total": usage.total, "reserve": self.disk_reserve}

    async def find_run(self, request: web.Request) -> KeptRun:
        """Return the run that the address names.

        Raises HTTPNotFound, also where there is one that they may not see: they learn no more.
        """
        return await self.load_run(request, request.match_info["run"][:100])

    async def load_run(self, request: web.Request, run_id: str) -> KeptRun:
        """Return the run of this id. Raises HTTPNotFound as `find_run` does."""
        run = await self.history.run(run_id)
        if run is None or not await self.access.can_see(request[LOGIN], run):
            raise web.HTTPNotFound
        return run

    async def choose(self, request: web.Request, runs: Sequence[KeptRun]) -> list[KeptRun]:
        """Return those of the runs that they may see; about a repository GitHub is asked once."""
        login, kinds = request[LOGIN], {(run.repository_id, run.kind): run for run in runs}
        seen = await asyncio.gather(*(self.access.can_see(login, run) for run in kinds.values()))
        shown = {kind for kind, told in zip(kinds, seen, strict=True) if told}
        return [run for run in runs if (run.repository_id, run.kind) in shown]

    async def find_objection(
        self, request: web.Request, verb: str, run: KeptRun, approval: StoredApproval | None = None
    ) -> str | None:
        """Return why whoever asks may not do this to the run, or None."""
        asked = cast("PageVerb", verb)
        return await self.access.find_objection(request[LOGIN], asked, run, approval)

    def require_operator(self, request: web.Request) -> None:
        """Raise HTTPNotFound for others than operators."""
        if not request[OPERATOR]:
            raise web.HTTPNotFound

    def find_mirror(self, run: KeptRun) -> Mirror | None:
        """Return the mirror of the run's repository, where this machine has one."""
        found = self.mirrors.open_mirror(run.repository_id)
        return found if (found.gitdir / "HEAD").is_file() else None
