"""Follow the newest run in the demo server's store."""

from __future__ import annotations

from agents.ports import Reporter
from agents.run import Outcome
from app.demo.scene import Scene
from app.runs.follow import Follower
from app.store.database import Database
from app.store.runs import History, Runs

JUDGING = "Run upstream's own tests, before and after"


class DemoFollower:
    """Waits for the run to begin, then tells a reporter of it."""

    def __init__(self, database: Database, reporter: Reporter, *, after: str = "") -> None:
        self._database = database
        self._reporter = reporter
        self.run_id = after
        """The run that is followed; before there is one, the run before it."""
        self._follower: Follower | None = None

    async def look(self) -> Outcome | None:
        """Look once; return how the run ended, once it has."""
        if self._follower is None:
            newest = await Runs(self._database).latest()
            if newest is None or newest[0] == self.run_id:
                return None
            self.run_id = newest[0]
            self._follower = Follower(History(self._database), self.run_id, self._reporter)
        seen = await self._follower.look()
        return seen.run.outcome if seen and seen.has_ended else None


def store_of(scene: Scene) -> Database:
    """Return the store of the demo's server, which lies beside the local GitHub."""
    return Database(f"sqlite:///{scene.github.world.root.parent / 'fettle' / 'fettle.db'}")
