"""A repository on the local GitHub with its policy, a stored approval, and the board's keeper."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from app.board.ticks import BoardTicks
from app.board.upkeep import BoardUpkeep
from app.commands.handler import CommandHandler, SpendingBounds
from app.config.allowed_owners import AllowedOwners
from app.github.policy.file import read_policy
from app.installations.lifecycle import InstallationLifecycle
from app.store.alerts import Remediations
from app.store.boards import Boards
from app.store.runs import Runs, StoredApprovals
from app.store.schedule_leases import Sweeps
from handlers import issues
from tests.app.commands.answering_scene import make_asking
from tests.app.github.conftest import key, scene, signer
from tests.fakes.requests import build_remediate_alert

__all__ = ["key", "scene", "signer"]  # fixtures
POLICY = ".github/fettle.yml"
RUN = "0001-run"


@dataclass
class BoardScene:
    """One repository, its runs, and what keeps its dashboard."""

    scene: Any
    database: Any
    upkeep: BoardUpkeep
    ticks: BoardTicks
    asked: list

    @property
    def issues(self):
        """Return the dashboards, as they are now."""
        found = self.scene.repository.issues.values()
        return [issue for issue in found if (issue.body or "").startswith(issues.BOARD)]

    async def say_policy(self, text):
        people, server = self.scene.people, self.scene.server
        await server.commit(
            self.scene.repository, {POLICY: text}, author=people["ada"], message="Say what holds"
        )

    async def ask(self):
        """Have a run ask for something; return the approval."""
        approvals = StoredApprovals(self.database)
        asked = await approvals.ask_once(RUN, make_asking())
        await approvals.record_comment(asked.id, 77)
        return await approvals.get(asked.id)

    async def store_fix(self, run_id, **outcome):
        """Store a run about two alerts of a package, and what it came to."""
        about = build_remediate_alert(repository=self.scene.request.repository)
        await Runs(self.database).create(run_id, about)
        told = {"number": 0, "cancelled": False, "commit": "c" * 40, "found": {3: "a"}}
        await Remediations(self.database).remember(run_id, about, **(told | outcome))

    async def look(self):
        """Have everything looked at, whether or not a run has moved."""
        board = await Boards(self.database).find_number(self.scene.repository.id)
        place = {"number": board, "digest": "", "at": 0.0}
        await Boards(self.database).record(self.scene.repository.id, **place)
        await self.upkeep.run()

    async def tick(self, who, box, *, number=None):
        """Edit the dashboard as somebody who ticks this box; return what came of it."""
        [issue] = self.issues
        before = issue.body
        body = before.replace(f"- [ ] <!-- fettle:{box}", f"- [x] <!-- fettle:{box}")
        assert body != before, before
        server, person = self.scene.server, self.scene.people[who]
        await server.edit_issue(self.scene.repository, issue.number, person, body=body)
        payload = {
            "action": "edited",
            "issue": {
                "number": number or issue.number,
                "title": issue.title,
                "body": body,
                "html_url": f"{server.url}/ada/parse/issues/{issue.number}",
                "user": {"id": 1, "login": "fettle[bot]", "type": "Bot"},
            },
            "changes": {"body": {"from": before}},
            "repository": {
                "id": self.scene.repository.id,
                "name": "parse",
                "owner": {"login": "ada"},
                "default_branch": "main",
            },
            "sender": {"id": person.id, "login": who, "type": "User"},
            "installation": {"id": self.scene.installation.id},
        }
        notice = issues.handle_edited(payload)
        return await self.ticks.take(notice, f"tick-{who}-{box[-6:]}")


@pytest.fixture
async def board(scene, database):
    scene.repository.private = True
    life = InstallationLifecycle(database, scene.github, AllowedOwners(()), "one")
    await life.followed.installation(scene.installation.id)
    await Runs(database).create(RUN, scene.request)
    asked = []

    async def submit(ident, request):
        asked.append((ident, request))

    policy = partial(read_policy, scene.github)
    commands = CommandHandler(
        scene.github,
        database,
        scene.redactor,
        submit,
        bounds=SpendingBounds(run=20, day=100),
        settle=0,
    )
    upkeep = BoardUpkeep(scene.github, database, policy, Sweeps(database, "one"), settle=0)
    ticks = BoardTicks(
        scene.github, Boards(database), Runs(database), policy, commands.obey, submit
    )
    return BoardScene(scene, database, upkeep, ticks, asked)
