"""Find on GitHub how a run ended that a lost database knew, after a restore.

After a restore, runs are taken up that a later state of the database knew to be over. What they did
is there for everybody to see, so nothing is done again, paid again or said again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast

import structlog

from agents.errors import RunError
from agents.ports import Batch
from agents.requests import AddressReview, FixChecks, OnPull, RemediateAlert, Request
from agents.run import Outcome
from app.github.access.run_reader import asked_at
from app.github.reporting.reporter import ENDED, KEY
from app.github.reviews.adapter import GitHubReviews
from app.github.transport import GitHub, MarkedComments, Posted
from app.secrets.redaction import Redactor
from app.store.database import Database
from app.store.handled_feedback import Batches
from app.store.restore_recovery import Recoveries

TEXT = "It had ended before the server's data was lost. The comment on GitHub says how."
KINDS = ("pull_request", "comment", "refused", "cancelled", "failed")
_ENDED = re.compile(ENDED.format(kind=f"({'|'.join(KINDS)})"))

log = structlog.get_logger()


@dataclass(frozen=True)
class RestoredOutcome:
    """Looks on GitHub. Where nothing was ever restored it looks at one row, and no further."""

    github: GitHub
    database: Database
    redactor: Redactor

    async def look(self, run_id: str, request: Request) -> Outcome | None:
        """Return how the run had ended; None where it has not, as far as GitHub tells.

        Runs about alerts share a comment: they look themselves what is there already.
        """
        restored = await Recoveries(self.database).restored_at()
        if not restored or isinstance(request, RemediateAlert) or asked_at(run_id) > restored:
            return None
        try:
            said = await MarkedComments(self.github, request, run_id).find(KEY)
            ended = _ENDED.fullmatch(said.text.rpartition("\n")[2]) if said else None
            if said is None or ended is None:
                return None
            if isinstance(request, OnPull):
                await self._remember(run_id, request, said)
        except RunError as error:
            log.warning("cannot see whether the run had ended", reason=str(error))
            return None
        kind = cast(
            "Literal['pull_request', 'comment', 'refused', 'cancelled', 'failed']", ended[1]
        )
        log.info("run had ended before the data was lost", outcome=kind)
        return Outcome(kind=kind, text=TEXT, url=said.url)

    async def _remember(self, run_id: str, request: OnPull, said: Posted) -> None:
        """Have the runs after it know what it has dealt with: all that was said before it spoke."""
        batches = Batches(self.database)
        reviewing = GitHubReviews(self.github, request, run_id, self.redactor, batches)
        pull, spoke = await reviewing.pull(), datetime.fromisoformat(said.at)
        pushed = pull.head if pull.pushed_by_us else ""
        if isinstance(request, FixChecks):
            batch = Batch(kind="checks", head=request.head, pushed=pushed)
        elif isinstance(request, AddressReview):
            found = await reviewing.feedback(outsiders=True)
            batch = Batch(
                kind="reviews",
                head=pull.head,
                pushed=pushed,
                reviews=tuple(each.id for each in found.reviews if each.at <= spoke),
                newest_remark=max((r.id for r in found.remarks if r.at <= spoke), default=0),
            )
        else:
            batch = Batch(kind="update", head=pull.head, pushed=pushed)
        await batches.remember(run_id, request, batch)
