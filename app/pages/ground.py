"""What all pages work with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from aiohttp import web

from app.git import Mirror, Mirrors
from app.pages.people import PageAccess, PageVerb
from app.pages.render import LOGIN, OPERATOR
from app.records.approvals import StoredApproval
from app.secrets.redaction import Redactor
from app.store.database import Database
from app.store.runs import History, KeptRun


@dataclass(frozen=True)
class PageGround:
    """The server's store, and what it takes to show it."""

    database: Database
    redactor: Redactor
    mirrors: Mirrors
    day_budget_usd: float
    run_budget_usd: float
    access: PageAccess = field(default_factory=PageAccess)

    @property
    def history(self) -> History:
        """Return the runs."""
        return History(self.database)

    async def find_run(self, request: web.Request) -> KeptRun:
        """Return the run that the address names.

        Raises HTTPNotFound, also where there is one that they may not see: they learn no more.
        """
        run = await self.history.run(request.match_info["run"][:100])
        if run is None or not await self.access.can_read(request[LOGIN], run.repository_id):
            raise web.HTTPNotFound
        return run

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
