"""A run that asked, on a local GitHub whose deliveries go through the real door to the desk."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import aiohttp.web
import orjson

import handlers
from agents.ports import Asking, PullRequest
from app.desk import Desk
from app.github.approvals import GitHubApprovals
from app.github.auth import Profile
from app.intake import Delivery, Identity, Intake
from app.local.github.state import Actor
from app.store.approvals import StoredApprovals
from app.store.database import Database
from app.store.runs import Runs
from handlers.ignored import Ignored

SECRET = "s3cret"
RUN = "run-1"


def asking(call_id="c1", **changes):
    return Asking(
        **{
            "call_id": call_id,
            "session": "implement/1",
            "stage": "implement/2",
            "tool": "bash",
            "arguments": {"command": "git reset --hard HEAD~1", "timeout": 60},
            "rule": "shell/history",
            "reason": "It throws commits away.",
            "head": "a" * 40,
            **changes,
        }
    )


@dataclass
class Office:
    """What stands between a comment on GitHub and the store."""

    scene: Any
    database: Database
    store: StoredApprovals
    approvals: GitHubApprovals
    desk: Desk
    intake: Intake
    became: list = field(default_factory=list)
    """What the desk made of each command that arrived."""
    dropped: list = field(default_factory=list)
    """Deliveries that asked for nothing."""

    async def take(self, request):
        """Do with a delivery what the server does, at once."""
        admitted = self.intake.admit(request.headers, await request.read())
        if not isinstance(admitted, Delivery):
            self.dropped.append(admitted.outcome)
            return aiohttp.web.Response(status=admitted.status)
        found = handlers.route(admitted.event, orjson.loads(admitted.body))
        if isinstance(found, Ignored):
            self.dropped.append(found.reason)
            return aiohttp.web.Response(status=202)
        for command in found if isinstance(found, tuple) else ():
            self.became.append((command, await self.desk.obey(command)))
        return aiohttp.web.Response(status=202)

    async def say(self, who, body, *, number=None, **more):
        """Comment as somebody; return the comment, once its delivery has been dealt with."""
        scene, number = self.scene, number or self.scene.issue.number
        return await scene.server.comment(scene.repository, number, scene.people[who], body, **more)

    async def redeliver(self):
        """Have GitHub send the newest comment of a person again."""
        webhooks = self.scene.server.webhooks
        said = [
            each
            for each in webhooks.log
            if each.event == "issue_comment" and b'"type":"Bot"' not in each.payload[-1000:]
        ]
        webhooks.redeliver(said[-1])
        await webhooks.settled()

    async def ask(self, call_id="c1", **changes):
        """Have the run ask; return the approval's id."""
        return (await self.approvals.ask(asking(call_id, **changes))).id

    async def state(self, ident):
        return (await self.store.get(ident)).state

    def texts(self, number=None):
        """Return the texts of our comments, the question first."""
        issue = self.scene.repository.issues[number or self.scene.issue.number]
        ours = [each for each in issue.comments if each.author.account.login == "fettle[bot]"]
        return [each.body for each in ours]

    @property
    def refusals(self):
        return [text for text in self.texts() if "Nothing was decided" in text]


async def open_office(scene, database, aiohttp_server, *, pull_request=None):
    """Return the office, its door known to GitHub, with one run that nobody has to conduct."""
    store = StoredApprovals(database)
    await Runs(database).create(RUN, scene.request)
    more = {"pull_request": pull_request}
    approvals = GitHubApprovals(scene.github, scene.request, RUN, store, scene.redactor, **more)
    desk = Desk(scene.github, store, scene.redactor, settle=0)
    identity = Identity(scene.app.bot_id)
    office = Office(scene, database, store, approvals, desk, Intake([SECRET], identity))
    application = aiohttp.web.Application()
    application.router.add_post("/webhook", office.take)
    served = await aiohttp_server(application)
    await scene.server.set_webhook(scene.app.app_id, str(served.make_url("/webhook")), SECRET)
    client = await scene.github.installation(
        scene.request.installation_id, scene.request.repository.id, Profile.REPORT
    )
    await scene.github.identity(client)
    return office


async def open_pulled(scene, database, aiohttp_server):
    """Return the office of a run whose pull request is open."""
    server, repository = scene.server, scene.repository
    sha = await server.commit(
        repository, {"a.py": "1\n"}, author=scene.people["ada"], message="Fix", branch="bot/fix"
    )
    app = server.world.apps[scene.app.app_id]
    opened = await server.parts.pulls.open(
        repository, Actor(app.bot, app), title="Fix", body="", head="bot/fix", base="main"
    )
    pull_request = PullRequest(
        number=opened.issue.number,
        url="https://x",
        branch="bot/fix",
        head=sha,
        base="main",
        title="Fix",
        body="",
        draft=False,
    )
    scene.request = scene.request.model_copy(update={"number": opened.issue.number})
    return await open_office(scene, database, aiohttp_server, pull_request=pull_request)
