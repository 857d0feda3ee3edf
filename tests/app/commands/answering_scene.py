"""A run under way, on a local GitHub whose deliveries go through the real door to the desk."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any

import aiohttp.web
import orjson

import handlers
from agents.ports import ApprovalRequest
from agents.requests import Command
from agents.run import Outcome
from app.commands.handler import CommandHandler, SpendingBounds
from app.github.approvals.adapter import GitHubApprovals
from app.github.policy.file import read_policy
from app.github.transport.tokens import Profile
from app.simulator.github.state.world import Actor
from app.store.database import Database
from app.store.runs.approvals import StoredApprovals
from app.store.runs.runs import Runs
from app.store.runs.steers import StoredSteers
from app.webhooks.receiver import Delivery, OwnIdentity, WebhookReceiver
from handlers.ignored import Ignored

SECRET = "s3cret"
RUN = "run-1"


def make_asking(call_id="c1", **changes):
    return ApprovalRequest(
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
    desk: CommandHandler
    receiver: WebhookReceiver
    steers: StoredSteers
    asked: list = field(default_factory=list)
    """The runs that were asked for by commands, each with its id."""
    idents: Any = field(default_factory=lambda: count(5000))
    numbers: dict = field(default_factory=dict)
    """The number of each delivery: the same when it comes again."""
    became: list = field(default_factory=list)
    """What the desk made of each command that arrived."""
    pulled: dict = field(default_factory=dict)
    """Where the pull request stood that the run goes on with, if there is one."""
    dropped: list = field(default_factory=list)
    """Deliveries that asked for nothing."""

    async def take(self, request):
        """Do with a delivery what the server does, at once."""
        admitted = self.receiver.admit(request.headers, await request.read())
        if not isinstance(admitted, Delivery):
            self.dropped.append(admitted.outcome)
            return aiohttp.web.Response(status=admitted.status)
        found = handlers.route(admitted.event, orjson.loads(admitted.body))
        if isinstance(found, Ignored):
            self.dropped.append(found.reason)
            return aiohttp.web.Response(status=202)
        number = self.numbers.setdefault(admitted.id, next(self.idents))
        for place, command in enumerate(found if isinstance(found, tuple) else (), 1):
            ident = f"run-{number}-{place}"
            if not isinstance(command, Command):
                continue
            self.became.append((command, await self.desk.obey(command, ident)))
        return aiohttp.web.Response(status=202)

    async def list_steers(self, run_id=RUN):
        """Return what the run has been told: kind, words, by whom."""
        return [(each.kind, each.words, each.by) for each in await self.steers.list_after(run_id)]

    async def end(self, kind="failed", run_id=RUN, text="It broke."):
        """End the run as the runner does."""
        await Runs(self.database).record_end(run_id, Outcome(kind=kind, text=text))

    async def unlabel(self, who):
        """Take the label off as somebody; its delivery is dealt with by then."""
        scene = self.scene
        number = scene.issue.number
        await scene.server.unlabel_issue(
            scene.repository, number, scene.request.label, scene.people[who]
        )

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
        await webhooks.wait_until_settled()

    async def ask(self, call_id="c1", **changes):
        """Have the run ask; return the approval's id."""
        return (await self.approvals.ask(make_asking(call_id, **self.pulled, **changes))).id

    async def state(self, ident):
        return (await self.store.get(ident)).state

    def texts(self, number=None):
        """Return the texts of our comments, the question first."""
        issue = self.scene.repository.issues[number or self.scene.issue.number]
        ours = [each for each in issue.comments if each.author.account.login == "fettle[bot]"]
        return [each.body for each in ours]

    async def policy(self, request):
        """Return the policy of the repository as it is now."""
        return await read_policy(self.scene.github, request.installation_id, request.repository)

    async def rule(self, text):
        """Give the repository a policy."""
        scene, files = self.scene, {".github/fettle.yml": text}
        await scene.server.commit(scene.repository, files, author=scene.people["ada"], message="x")

    @property
    def refusals(self):
        told = ("Nothing was decided", "Nothing was done")
        return [text for text in self.texts() if any(each in text for each in told)]


async def open_office(scene, database, aiohttp_server, **pulled):
    """Return the office, its door known to GitHub, with one run that nobody has to conduct."""
    store = StoredApprovals(database)
    await Runs(database).create(RUN, scene.request)
    approvals = GitHubApprovals(scene.github, scene.request, RUN, store, scene.redactor)
    bounds = SpendingBounds(run=8.0, day=50.0)
    asked = []

    async def submit(run_id, request):
        """Take a run as the queue does; nobody conducts it."""
        await Runs(database).create(run_id, request)
        asked.append((run_id, request))

    desk = CommandHandler(scene.github, database, scene.redactor, submit, bounds=bounds, settle=0)
    receiver, steers = (
        WebhookReceiver([SECRET], OwnIdentity(scene.app.bot_id)),
        StoredSteers(database),
    )
    office = Office(
        scene, database, store, approvals, desk, receiver, steers, pulled=pulled, asked=asked
    )
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
    scene.request = scene.request.model_copy(update={"number": opened.issue.number})
    return await open_office(scene, database, aiohttp_server, branch="bot/fix", branch_head=sha)
