"""What stands on another bot's update goes with it, and nothing else does."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agents.ports import Batch
from agents.requests import Person
from app.simulator.github.accounts import Actor
from app.store.database import Database
from app.store.handled_feedback import Batches
from app.store.runs.runs import Runs
from app.watch.adaptation_followups import AdaptationFollowUps
from handlers.notifications import PullChanged, PullClosed
from tests.app.github.conftest import key, scene, signer
from tests.fakes.requests import build_fix_checks

__all__ = ["key", "scene", "signer"]  # fixtures

BRANCH = "renovate/six-2.x"


class UpdateScene:
    """Renovate's pull request, what Fettle made to stand on it, and who hears of notices."""

    def __init__(self, scene, database):
        self.scene, self.batches = scene, Batches(database)
        self.taker = AdaptationFollowUps(scene.github, self.batches, self.hear)
        self.heard = []

    async def hear(self, notice, ident):
        self.heard.append(ident)
        return {"policy": "not touched"}

    async def open(self):
        server, repository = self.scene.server, self.scene.repository
        about = {"branch": BRANCH, "files": {"six.lock": "2\n"}, "title": "Update six to v2"}
        self.below = await server.bot_pull(repository, server.renovate, **about)
        self.head = self.below.head_sha
        self.above = await self.stack(self.app, f"bot/{self.below.issue.number}-adapt-aaaaaa")
        return self

    @property
    def app(self):
        app = self.scene.server.world.apps[self.scene.app.app_id]
        return Actor(app.bot, app)

    async def stack(self, actor, branch):
        server, repository = self.scene.server, self.scene.repository
        await server.push(repository, branch, self.head, actor.account)
        files = {branch.replace("/", "-"): "x\n"}
        await server.commit(repository, files, author=actor.account, message="Adapt", branch=branch)
        about = {"title": "Adapt", "body": "", "head": branch, "base": BRANCH}
        return await server.parts.pulls.open(repository, actor, **about)

    async def remember(self, database):
        about = build_fix_checks(
            repository=self.scene.request.repository, number=self.below.issue.number
        )
        await Runs(database).create("0001-run", about)
        done = Batch(kind="checks", head=self.head, pushed=self.above.head_sha)
        await self.batches.remember("0001-run", about, done)

    async def commit(self, files, branch, by="ada"):
        person = self.scene.people[by]
        return await self.scene.server.commit(
            self.scene.repository, files, author=person, message="By hand", branch=branch
        )

    async def make_anew(self):
        server, repository = self.scene.server, self.scene.repository
        sha = await self.commit({"six.lock": "2.1\n"}, "renovate/anew")
        await server.push(repository, BRANCH, sha, server.renovate)

    def notice(self, kind, **more):
        number = self.below.issue.number
        place = {"repository": self.scene.request.repository, "number": number}
        return kind(installation_id=self.scene.installation.id, **place, **more)

    async def tell_changed(self):
        return await self.taker.take(self.notice(PullChanged, head=self.below.head_sha), "n-1")

    async def tell_closed(self, *, merged=False):
        by = Person(id=self.scene.server.renovate.id, login="renovate[bot]")
        return await self.taker.take(self.notice(PullClosed, merged=merged, by=by), "n-2")

    def list_said(self, pull=None):
        return [remark.body for remark in (pull or self.above).issue.comments]


@pytest.fixture
async def update(scene, sqlite_url):
    database = Database(sqlite_url)
    made = await UpdateScene(scene, database).open()
    await made.remember(database)
    yield made
    database.close()


async def test_made_anew_without_its_commit_it_is_closed_with_one_word(update):
    await update.make_anew()
    for _ in range(2):
        told = await update.tell_changed()
    assert update.above.issue.state == "closed"
    [said] = update.list_said()
    assert f"The branch of #{update.below.issue.number}" in said
    assert told == {"policy": "not touched"}
    assert update.heard == ["n-1", "n-1"]


@pytest.mark.parametrize("branch", ["", BRANCH, "above"])
async def test_what_comes_on_top_of_either_closes_nothing(update, branch):
    if branch:
        await update.commit({"x": "y"}, update.above.head if branch == "above" else branch)
    assert await update.tell_changed() == {"policy": "not touched"}
    assert (update.above.issue.state, update.list_said()) == ("open", [])


async def test_an_end_without_a_merge_ends_it_too(update):
    await update.scene.server.close_issue(
        update.scene.repository, update.below.issue.number, update.scene.server.renovate
    )
    told = await update.tell_closed()
    assert told == {"policy": "not touched", "closed": [update.above.issue.number]}
    assert update.above.issue.state == "closed"
    assert "was closed and not merged" in update.list_said()[0]


async def test_what_github_closed_with_the_branch_is_told_why(update):
    server = update.scene.server
    await server.delete_branch(update.scene.repository, BRANCH, server.renovate)
    assert update.above.issue.state == "closed"
    await update.tell_closed()
    assert len(update.list_said()) == 1


async def test_what_people_closed_long_before_hears_nothing_more(update):
    server, repository = update.scene.server, update.scene.repository
    server.world.clock_skew = -timedelta(minutes=30)
    await server.close_issue(repository, update.above.issue.number, update.scene.people["ada"])
    server.world.clock_skew = timedelta()
    await server.close_issue(repository, update.below.issue.number, server.renovate)
    assert await update.tell_closed() == {"policy": "not touched"}
    assert update.list_said() == []


async def test_what_was_opened_again_meanwhile_is_left(update):
    assert await update.tell_closed() == {"policy": "not touched"}
    assert update.above.issue.state == "open"


async def test_after_a_merge_it_stays(update):
    await update.scene.server.merge_pull(update.below, update.scene.people["ada"])
    await update.tell_closed(merged=True)
    assert (update.above.issue.state, update.list_said()) == ("open", [])


async def test_what_others_opened_there_is_theirs(update):
    number, ada = update.below.issue.number, update.scene.people["ada"]
    theirs = await update.stack(Actor(ada), f"bot/{number}-adapt-bbbbbb")
    other = await update.stack(update.app, "bot/9-adapt-cccccc")
    await update.make_anew()
    await update.tell_changed()
    assert [each.issue.state for each in (theirs, other)] == ["open", "open"]
    assert update.list_said(theirs) == update.list_said(other) == []


@pytest.mark.parametrize("ended", [True, False])
async def test_what_people_have_taken_over_is_theirs(update, ended):
    server, repository = update.scene.server, update.scene.repository
    await update.commit({"mine.txt": "x"}, update.above.head)
    if ended:
        await server.close_issue(repository, update.below.issue.number, server.renovate)
        await update.tell_closed()
    else:
        await update.make_anew()
        await update.tell_changed()
    assert (update.above.issue.state, update.list_said()) == ("open", [])
