"""Step 7: the journal: what each session of a run said and heard, turn by turn."""

from __future__ import annotations

import json
import time

from sqlalchemy import Connection, insert, select

from agents.ports import Turn, Usage
from app.store.database import Database
from app.store.tables import turns


class StoredJournal:
    """The port `Journal` of one run, in the table `turns`.

    Content is kept as the JSON text that was sent or received: the prompt cache and the binding
    of thinking blocks both depend on sending the very same bytes again.
    """

    def __init__(self, database: Database, run_id: str) -> None:
        self._database = database
        self._run_id = run_id

    async def turns(self, session: str) -> list[Turn]:
        """Return the turns of a session, oldest first."""
        query = (
            select(turns)
            .where(turns.c.run_id == self._run_id, turns.c.session == session)
            .order_by(turns.c.number)
        )
        rows = await self._database.read(lambda c: c.execute(query).mappings().all())
        return [
            Turn(
                kind=row["kind"],
                stage=row["stage"],
                content=json.loads(row["content"]),
                stop_reason=row["stop_reason"],
                usage=Usage.model_validate_json(row["usage"]),
                cost_usd=row["cost_usd"],
                seconds=row["seconds"],
                tree=row["tree"],
            )
            for row in rows
        ]

    async def append(self, session: str, number: int, turn: Turn) -> None:
        """Store one turn; the primary key refuses a number that is taken."""
        row = {
            "run_id": self._run_id,
            "session": session,
            "number": number,
            "stage": turn.stage,
            "kind": turn.kind,
            "content": json.dumps(turn.content),  # ASCII: no database refuses half a character
            "stop_reason": turn.stop_reason,
            "usage": turn.usage.model_dump_json(),
            "cost_usd": turn.cost_usd,
            "seconds": turn.seconds,
            "tree": turn.tree,
            "created_at": time.time(),
        }
        await self._database.write(lambda c: c.execute(insert(turns), row))

    async def spent(self) -> tuple[Usage, float, int]:
        """Return tokens, dollars and answers of the whole run so far."""
        return await self._database.read(self._sum)

    def _sum(self, connection: Connection) -> tuple[Usage, float, int]:
        answers = (turns.c.run_id == self._run_id, turns.c.kind == "answer")
        rows = connection.execute(select(turns.c.usage, turns.c.cost_usd).where(*answers)).all()
        usage = sum((Usage.model_validate_json(row.usage) for row in rows), Usage())
        return usage, sum(row.cost_usd for row in rows), len(rows)
