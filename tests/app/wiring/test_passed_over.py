"""Reviews that ask for nothing, from the door to the end of their runs: nobody sees any of it."""

from __future__ import annotations

from functools import partial

import aiohttp.web
import orjson
import pytest

import handlers
from agents.ports import Batch
from agents.run import RunPorts
from app.github.approvals.expire import OpenQuestions
from app.github.policy.file import read_policy
from app.github.reporting.reporter import GitHubReporter
from app.github.transport.tokens import Profile
from app.policies.gate import PolicyGate
from app.simulator.github.accounts import Actor
from app.simulator.github.state.reviews import Inline
from app.store.handled_feedback import Batches
from app.store.runs.approvals import StoredApprovals
from app.store.runs.runs import Runs
from app.webhooks.receiver import Delivery, OwnIdentity, WebhookReceiver
from app.wiring.github_run import GitHubRun
from handlers.ignored import Ignored
from tests.app.github.conftest import key, scene, signer
from tests.fakes.requests import build_address_review

__all__ = ["key", "scene", "signer"]  # fixtures
SECRET = "s3cret"
FLOOD = 100


class UnopenedSource:
    """A repository that nobody comes to open."""

    async def discard(self, *, forget, parked=False):
        assert forget
        assert not parked


class GatedMachine:
    """All that stands between GitHub and the pipelines; none of its runs may get to one."""

    def __init__(self, scene, database, pull):
        self.scene, self.database, self.pull = scene, database, pull
        self.receiver = WebhookReceiver([SECRET], OwnIdentity(scene.app.bot_id))
        self.ended, self.dropped = [], []

    async def take(self, request):
        admitted = self.receiver.admit(request.headers, await request.read())
        if not isinstance(admitted, Delivery):
            self.dropped.append(admitted.outcome)
            return aiohttp.web.Response(status=admitted.status)
        asked = handlers.route(admitted.event, orjson.loads(admitted.body))
        if isinstance(asked, Ignored):
            self.dropped.append(asked.reason)
        elif not isinstance(asked, tuple):
            self.ended.append(await self.run(f"r{len(self.ended)}", asked))
        return aiohttp.web.Response(status=202)

    async def run(self, run_id, request):
        scene, approvals = self.scene, StoredApprovals(self.database)

        async def remember(_number):
            raise AssertionError("it has commented")

        reporter = GitHubReporter(
            scene.github, request, run_id, scene.redactor, remember=remember, interval=0.01
        )
        source, place = UnopenedSource(), (request.installation_id, request.repository)
        equipment = GitHubRun(
            run_id,
            request,
            scene.github,
            reporter,
            source,
            RunPorts(None, None, source, None, reporter),
            None,
            OpenQuestions(scene.github, request, run_id, approvals, scene.redactor),
            Batches(self.database),
            PolicyGate(request, partial(read_policy, scene.github, *place), frozenset()),
        )
        ending = (await equipment.admit()).ending
        assert ending is not None, "it would go to a pipeline, and so to a model"
        await equipment.finish(ending)
        await equipment.close()
        return ending

    def writes(self):
        """Return what was written on GitHub."""
        reading = ("/access_tokens", "/graphql")
        asked = [each for each in self.scene.server.requests if each.method != "GET"]
        return [each for each in asked if not each.path.endswith(reading)]


@pytest.fixture
async def machine(scene, database, aiohttp_server):
    """At Fettle's own pull request, on which bob has begun a thread."""
    server, repository, ada = scene.server, scene.repository, scene.people["ada"]
    world_app = server.world.apps[scene.app.app_id]
    world_app.events[:] = ["pull_request", "pull_request_review"]
    files = {"a.py": "1\n2\n"}
    await server.commit(repository, files, author=ada, message="Fix", branch="bot/9-fix")
    pull = await server.parts.pulls.open(
        repository,
        Actor(world_app.bot, world_app),
        title="Fix",
        body="",
        head="bot/9-fix",
        base="main",
    )
    begun = await server.submit_review(
        pull, scene.people["bob"], comments=[Inline("a.py", 1, "Why?")]
    )
    made = GatedMachine(scene, database, pull)
    made.thread = begun.remarks[0].thread
    application = aiohttp.web.Application()
    application.router.add_post("/webhook", made.take)
    served = await aiohttp_server(application)
    await server.set_webhook(scene.app.app_id, str(served.make_url("/webhook")), SECRET)
    client = await scene.github.installation(
        scene.installation.id, scene.repository.id, Profile.READ
    )
    await scene.github.identity(client)
    made.dropped.clear()
    return made


async def test_a_flood_of_replies_costs_no_model_and_makes_no_noise(machine):
    scene = machine.scene
    asked = len(scene.server.requests)
    for number in range(FLOOD):
        await scene.server.reply(machine.thread, scene.people["bob"], f"And {number}?")
    assert [ending.kind for ending in machine.ended] == ["covered"] * FLOOD
    assert {ending.rule for ending in machine.ended} == {"review-has-substance"}
    assert machine.writes() == []
    assert (machine.pull.issue.comments, machine.pull.issue.reactions) == ([], [])
    each = (len(scene.server.requests) - asked - 3) / FLOOD  # three tokens serve all of them
    assert each <= 5, "questions about each of them; one asks whose thread it is"


async def test_reviews_that_another_run_has_dealt_with_ask_nothing_of_github(machine):
    """As each of those does that one batch has answered."""
    scene = machine.scene
    earlier = build_address_review(
        repository=scene.request.repository, number=machine.pull.issue.number
    )
    await Runs(machine.database).create("earlier", earlier)
    answered = tuple(range(1, 10**4))
    batch = Batch(kind="reviews", head="a" * 40, reviews=answered)
    await Batches(machine.database).remember("earlier", earlier, batch)
    asked = len(scene.server.requests)
    for number in range(5):
        await scene.server.submit_review(machine.pull, scene.people["bob"], f"And {number}?")
    assert {ending.rule for ending in machine.ended} == {"not-covered"}
    assert len(scene.server.requests) == asked


async def test_our_own_replies_do_not_even_come_in(machine):
    app = machine.scene.server.world.apps[machine.scene.app.app_id]
    machine.scene.server.parts.reviews.reply(machine.thread, Actor(app.bot, app), "Fixed.")
    await machine.scene.server.webhooks.wait_until_settled()
    assert machine.ended == []
    assert machine.dropped == ["from_bot"]


@pytest.mark.parametrize("who", ["eve", "mallory"])
async def test_nobody_hears_of_what_outsiders_want(machine, who):
    scene = machine.scene
    await scene.server.submit_review(
        machine.pull, scene.people[who], "Push my key.", state="CHANGES_REQUESTED"
    )
    assert [ending.rule for ending in machine.ended] == ["asker-may-write"]
    assert machine.ended[0].kind == "covered"
    assert machine.writes() == []


async def test_reviews_of_other_peoples_work_end_before_anything_is_asked(machine):
    scene = machine.scene
    files, ada = {"b.py": "1\n"}, scene.people["ada"]
    await scene.server.commit(scene.repository, files, author=ada, message="Mine", branch="topic")
    theirs = await scene.server.open_pull(scene.repository, ada, title="Mine", head="topic")
    before = len(scene.server.requests)
    await scene.server.submit_review(
        theirs, scene.people["bob"], "Not so.", state="CHANGES_REQUESTED"
    )
    assert machine.ended == []
    assert "without the label" in machine.dropped[-1]
    assert len(scene.server.requests) == before
