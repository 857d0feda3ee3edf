"""What all pages work with."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from app.git import Mirror, Mirrors
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

    @property
    def history(self) -> History:
        """Return the runs."""
        return History(self.database)

    async def find_run(self, request: web.Request) -> KeptRun:
        """Return the run that the address names. Raises HTTPNotFound."""
        run = await self.history.run(request.match_info["run"][:100])
        if run is None:
            raise web.HTTPNotFound
        return run

    def find_mirror(self, run: KeptRun) -> Mirror | None:
        """Return the mirror of the run's repository, where this machine has one."""
        found = self.mirrors.open_mirror(run.repository_id)
        return found if (found.gitdir / "HEAD").is_file() else None
