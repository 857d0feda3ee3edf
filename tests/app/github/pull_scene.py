"""A pull request of bob's on the local GitHub, with people who review it, and a run about it."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from agents.requests import AddressReview, Person
from app.github.reviews.adapter import GitHubReviews
from app.simulator.github.state.reviews import Inline
from app.store.database import Database
from app.store.handled_feedback import Batches
from app.store.runs.runs import Runs

ASKED = 5
"""Minutes since the run was asked for."""

OLD = "".join(f"line {number}\n" for number in range(1, 41))
NEW = OLD.replace("line 10\n", "ten\neleven\ntwelve\n").replace("line 30\n", "thirty\n")


@dataclass
class PullScene:
    """The pull request, and a way to it for each run."""

    scene: Any
    pull: Any
    request: AddressReview
    database: Database
    asked_at: float = field(default_factory=lambda: time.time() - 60 * ASKED)
    """Unix seconds at which every run here was asked for: the same name is the same run."""

    @property
    def server(self) -> Any:
        return self.scene.server

    @property
    def people(self) -> dict[str, Any]:
        return self.scene.people

    @contextmanager
    def shift_clock(self, minutes: float):
        """Let what happens within have happened so long ago."""
        self.server.world.clock_skew = -timedelta(minutes=minutes)
        yield
        self.server.world.clock_skew = timedelta()

    async def run(self, name: str = "5e3f", *, request: Any = None) -> GitHubReviews:
        """Return the port of a run that was asked for some minutes ago."""
        request = request or self.request
        run_id = self.run_id(name)
        await Runs(self.database).create(run_id, request)
        scene = self.scene
        batches = Batches(self.database)
        return GitHubReviews(scene.github, request, run_id, scene.redactor, batches, settle=0)

    def run_id(self, name: str = "5e3f") -> str:
        return f"{int(self.asked_at * 1e6):016x}-{name}"

    async def review(self, who: str, body: str = "", *, comments=(), ago: float = 10, **more: Any):
        """Let somebody review; comments are (line, words), or Inlines."""
        inlines = [
            each if isinstance(each, Inline) else Inline("src/lines.txt", each[0], each[1])
            for each in comments
        ]
        with self.shift_clock(ago):
            return await self.server.submit_review(
                self.pull, self.people[who], body, comments=inlines, **more
            )


async def make_pull_scene(scene: Any, database: Database) -> PullScene:
    """Let bob open the pull request, from a branch of the same repository."""
    server, repository = scene.server, scene.repository
    repository.app_branches = "refs/heads/"
    server.world.clock_skew = -timedelta(minutes=60)
    await server.commit(
        repository, {"src/lines.txt": OLD}, author=scene.people["ada"], message="Lines"
    )
    await server.commit(
        repository,
        {"src/lines.txt": NEW, "new.txt": "a\nb\n"},
        author=scene.people["bob"],
        message="Ten",
        branch="feature",
    )
    pull = await server.open_pull(
        repository, scene.people["bob"], title="Say ten", head="feature", body="As words."
    )
    server.world.clock_skew = timedelta()
    request = AddressReview(
        installation_id=scene.installation.id,
        repository=scene.request.repository,
        number=pull.issue.number,
        title="Say ten",
        author=Person(id=scene.people["bob"].id, login="bob"),
        asked_by=Person(id=scene.people["ada"].id, login="ada"),
        url=f"{server.url}/ada/parse/pull/{pull.issue.number}",
    )
    return PullScene(scene, pull, request, database)
