"""Keep the dashboards up to date: what waits in a repository, in one issue of Fettle's."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Any

import structlog

from agents.errors import RunError, TransientError
from agents.policy import InvalidPolicy
from app.alerts.recheck_overrides import ReadRepositoryPolicy
from app.board.text import STATES, TITLE, OpenFix, WaitingCall, write_board
from app.github.transport import SETTLE, GitHub, InstallationClient, NotFound, Profile, made_once
from app.store.alerts import Remediations
from app.store.boards import Boards, StoredBoard
from app.store.database import Database
from app.store.runs import History, StoredApprovals
from app.store.schedule_leases import PassLock, Sweeps
from handlers.issues import BOARD

NAME = "boards"
MOST_AT_ONCE, MOST_SHOWN, PAGES = 50, 50, 3
ISSUES = "/repos/{owner}/{repo}/issues"
ISSUE = f"{ISSUES}/{{number}}"
LISTED = f"{ISSUES}{{?state,creator,sort,direction}}"

log = structlog.get_logger()


class BoardUpkeep:
    """Writes the dashboards of repositories whose policy wants one, and closes the others."""

    def __init__(
        self,
        github: GitHub,
        database: Database,
        policy: ReadRepositoryPolicy,
        sweeps: Sweeps,
        *,
        clock: Callable[[], float] = time.time,
        settle: float = SETTLE,
    ) -> None:
        self._github = github
        self._boards = Boards(database)
        self._approvals = StoredApprovals(database)
        self._remediations, self._history = Remediations(database), History(database)
        self._policy = policy
        self._clock = clock
        self._settle = settle
        self._turn = PassLock(sweeps, NAME)

    async def run(self) -> None:
        """Make one pass, unless one is under way in this process or another."""
        await self._turn.take(self._pass)

    async def _pass(self) -> None:
        for board in await self._boards.list_due(MOST_AT_ONCE):
            began = self._clock()
            number, digest = board.number, board.digest
            try:
                number, digest = await self._keep(board)
            except (RunError, TransientError) as error:
                name = board.repository.full_name
                log.info("dashboard not written", repository=name, reason=str(error))
            # Also where it failed: the next run there has it tried again, and others have a turn.
            await self._boards.record(board.repository.id, number=number, digest=digest, at=began)

    async def _keep(self, board: StoredBoard) -> tuple[int, str]:
        """Bring the issue to what is; return its number and the digest of its text."""
        found = await self._policy(board.installation_id, board.repository)
        wish = "none" if isinstance(found, InvalidPolicy) else found.policy.dashboard
        if wish == "none" and not board.number:
            return 0, ""
        client = await self._github.installation(
            board.installation_id, board.repository.id, Profile.REPORT
        )
        if wish == "none":
            await self._write(client, board, {"state": "closed", "state_reason": "not_planned"})
            return 0, ""
        body = await self._compose(board, decide=wish == "decide")
        digest = hashlib.sha256(body.encode()).hexdigest()
        if board.number and digest == board.digest:
            return board.number, digest
        if board.number and await self._write(client, board, {"body": body, "state": "open"}):
            return board.number, digest
        issue = await self._create(client, board, body)
        return int(issue["number"]), digest

    async def _write(
        self, client: InstallationClient, board: StoredBoard, changes: dict[str, str]
    ) -> bool:
        """Change the issue; False where it is gone."""
        try:
            await client.patch(ISSUE, _place(board, number=board.number), data=changes)
        except NotFound:
            return False
        return True

    async def _create(
        self, client: InstallationClient, board: StoredBoard, body: str
    ) -> dict[str, Any]:
        async def create() -> dict[str, Any]:
            made: dict[str, Any] = await client.post(
                ISSUES, _place(board), data={"title": TITLE, "body": body}
            )
            return made

        return await made_once(
            lambda: self._find_lost(client, board, body), create, settle=self._settle
        )

    async def _find_lost(
        self, client: InstallationClient, board: StoredBoard, body: str
    ) -> dict[str, Any] | None:
        """Return the dashboard that a server made before it could remember it."""
        own = await self._github.identity(client)
        asked = {"state": "open", "creator": own.bot.login, "sort": "created", "direction": "desc"}
        async for issue in client.getiter(LISTED, _place(board, **asked), pages=PAGES):
            if (issue["body"] or "").startswith(BOARD) and own.is_author(issue):
                await client.patch(
                    ISSUE, _place(board, number=issue["number"]), data={"body": body}
                )
                found: dict[str, Any] = issue
                return found
        return None

    async def _compose(self, board: StoredBoard, *, decide: bool) -> str:
        repository = board.repository
        page = f"{self._github.urls.web}/{repository.full_name}/issues"
        waiting = [
            WaitingCall(
                each.id,
                each.tool,
                each.number,
                f"{page}/{each.number}#issuecomment-{each.comment_id}",
            )
            for each in await self._approvals.list_waiting()
            if each.repository_id == repository.id and each.comment_id is not None
        ]
        fixes = await self._list_fixes(board) if repository.private else []
        return write_board(waiting[:MOST_SHOWN], fixes[:MOST_SHOWN], decide=decide)

    async def _list_fixes(self, board: StoredBoard) -> list[OpenFix]:
        """Return what became of each package's alerts last, where that is not their end.

        Of a public repository GitHub shows alerts to who may write alone, so its dashboard is
        silent about them.
        """
        found = await self._remediations.list_newest(500, board.repository.id)
        newest = {each.lane: each for each in reversed(found)}
        runs = {run.id: run for run in await self._history.list_runs([e.run_id for e in found])}
        return [
            OpenFix(each.run_id, runs[each.run_id].reference, each.state, each.number)
            for each in newest.values()
            if each.state in STATES and each.open_alerts and each.run_id in runs
        ]


def _place(board: StoredBoard, **more: object) -> dict[str, str]:
    texts = {name: str(value) for name, value in more.items()}
    return {"owner": board.repository.owner, "repo": board.repository.name, **texts}
