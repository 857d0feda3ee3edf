"""The pull request of an earlier run is found again, and nobody else's is taken for it."""

from __future__ import annotations

import pytest

from app.git.mirror.mirror import Mirror
from app.github.pulls.publisher import GitHubPublisher
from app.github.transport.idempotent_comments import make_marker
from app.github.transport.tokens import Profile, Scope
from app.simulator.github.accounts import Actor
from app.simulator.github.gitdir import GitDir, signature
from app.simulator.github.rest import pulls as served

BRANCH = "bot/1-accept-nine-digits-abc123"
MARK = make_marker("0006-ab", "pull-request")


@pytest.fixture
async def mirror(scene, tmp_path):
    made = Mirror(tmp_path / "mirror.git")
    await fetch(scene, made)
    return made


async def fetch(scene, mirror):
    scope = Scope.for_one(scene.installation.id, scene.repository.id, Profile.READ)
    token = await scene.github.broker.token(scope)
    await mirror.fetch(scene.github.urls.clone("ada/parse"), token.value)


@pytest.fixture
def publish(scene, mirror):
    """Open a pull request as a run does, on a commit of its own."""

    async def go(branch=BRANCH, run_id="0006-ab", parent=None, title="Accept nine digits"):
        parent = parent or await mirror.head_of("main")
        tree = await mirror.git.local("rev-parse", f"{parent}^{{tree}}")
        who = ("-c", "user.name=x", "-c", "user.email=x@x")
        words = ("commit-tree", "-p", parent, "-m", title, tree.decode().strip())
        commit = (await mirror.git.local(*who, *words)).decode().strip()
        publisher = GitHubPublisher(
            scene.github, mirror, scene.request, run_id, scene.redactor, settle=0
        )
        await publisher.push(branch, commit)
        return await publisher.open_pull_request(
            branch=branch, commit=commit, title=title, body="Because.", draft=True
        )

    return go


async def open_pull(scene, author, branch, body, *, through=None):
    """Open a pull request as somebody else does."""
    server, person = scene.server, scene.people.get(author)
    await server.commit(
        scene.repository, {branch: "x"}, author=scene.people["bob"], message="m", branch=branch
    )
    actor = through or Actor(person)
    more = {"title": "T", "body": body, "head": branch, "base": "main"}
    return await server.parts.pulls.open(scene.repository, actor, **more)


async def test_without_one_it_costs_one_request(scene, tracker):
    await scene.github.identity(await tracker._reading.client())
    before = len(scene.server.requests)

    assert await tracker.earlier_pull_request() is None

    assert len(scene.server.requests) == before + 1


async def test_the_pull_request_of_an_earlier_run(scene, tracker, publish):
    pull = await publish()

    found = await tracker.earlier_pull_request()

    assert (found.number, found.url, found.title) == (2, pull.url, "Accept nine digits")
    assert (found.branch, found.head, found.base) == (BRANCH, pull.head, "main")
    assert (found.draft, found.run_id, found.pushed_by) == (True, "0006-ab", ())


async def test_who_else_has_pushed_is_told(scene, tracker, publish):
    await publish()
    theirs = await scene.server.commit(
        scene.repository, {"a": "b"}, author=scene.people["bob"], message="Mine", branch=BRANCH
    )

    found = await tracker.earlier_pull_request()

    assert found.pushed_by == ("bob",)
    assert found.head == theirs


async def test_a_commit_that_claims_to_be_ours_hides_nobody(scene, tracker, publish):
    pull = await publish()
    git, bot = GitDir(scene.repository.gitdir), scene.server.world.apps[scene.app.app_id].bot
    before, ours = await git.refs(), signature(bot.login, bot.email, scene.server.world.get_time())
    words = "As if by Fettle"
    forged = await git.commit_files(BRANCH, pull.head, {"a": b"b"}, words, (ours, ours))
    await scene.server.parts.pulls.follow_push(scene.repository, Actor(scene.people["bob"]), before)

    found = await tracker.earlier_pull_request()

    assert (found.head, found.pushed_by) == (forged, ("bob",))


async def test_an_update_of_it_is_pushed_over_its_head(scene, tracker, publish, mirror):
    """What a run needs to go on: its head is in the mirror, and the lease takes what is on it."""
    await publish()
    await scene.server.commit(
        scene.repository, {"a": "b"}, author=scene.people["bob"], message="Mine", branch=BRANCH
    )
    earlier = await tracker.earlier_pull_request()
    await fetch(scene, mirror)

    again = await publish(run_id="0007-cd", parent=earlier.head, title="Accept ten digits")

    assert again.number == earlier.number
    found = await tracker.earlier_pull_request()
    assert (found.head, found.run_id, found.title) == (again.head, "0007-cd", "Accept ten digits")
    assert found.pushed_by == ("bob",)


async def test_a_closed_one_counts_as_none(scene, tracker, publish):
    await publish()
    await scene.server.close_issue(scene.repository, 2, scene.people["ada"])

    assert await tracker.earlier_pull_request() is None


async def test_of_two_it_is_the_newest(scene, tracker, publish):
    await publish("bot/1-z-first")
    await publish("bot/1-a-second", run_id="0007-cd")

    assert (await tracker.earlier_pull_request()).branch == "bot/1-a-second"


async def test_nobody_goes_on_with_the_record_of_a_decision(scene, tracker, publish):
    """Its text says that it changes no code, and merging it accepts a decision."""
    await publish("bot/1-decision-keep-six-digits-abc123")

    assert await tracker.earlier_pull_request() is None


async def test_other_issues_have_their_own(scene, tracker, publish):
    await publish("bot/11-another-issue")
    await publish("bot/2-another-issue")

    assert await tracker.earlier_pull_request() is None


async def test_what_only_looks_like_ours_is_none(scene, tracker):
    await open_pull(scene, "mallory", "bot/1-copied", f"Mine.\n\n{MARK}")

    assert await tracker.earlier_pull_request() is None


async def test_one_of_ours_without_its_marker_is_none(scene, tracker):
    app = scene.server.world.apps[scene.app.app_id]
    await open_pull(scene, "", "bot/1-unmarked", "No marker.", through=Actor(app.bot, app))

    assert await tracker.earlier_pull_request() is None


async def test_one_from_a_fork_is_none(scene, tracker, publish, monkeypatch):
    await publish()
    plain = served.pull_simple_json

    def make_fork(world, pull):
        shape = plain(world, pull)
        return shape | {"head": shape["head"] | {"repo": shape["head"]["repo"] | {"id": 5}}}

    monkeypatch.setattr(served, "pull_simple_json", make_fork)

    assert await tracker.earlier_pull_request() is None


async def test_a_marker_in_a_models_words_is_not_the_publishers(scene, tracker, publish):
    await publish()
    pull = scene.repository.issues[2]
    pull.body = f"{make_marker('evil', 'pull-request')}\n{pull.body}"

    assert (await tracker.earlier_pull_request()).run_id == "0006-ab"


async def test_where_no_record_is_kept_nobody_knows_who_pushed(scene, tracker, publish):
    await publish()
    scene.server.faults.status("GET", "/activity$", 404)

    assert (await tracker.earlier_pull_request()).pushed_by == ("(unknown)",)


async def test_the_number_of_requests_is_bounded(scene, tracker):
    bob = scene.people["bob"]
    head = await scene.server.commit(
        scene.repository, {"a": "b"}, author=bob, message="m", branch="bot/1-a"
    )
    for n in range(40):
        await GitDir(scene.repository.gitdir).update_ref(f"refs/heads/bot/1-{n}", head)

    assert await tracker.earlier_pull_request() is None

    assert len(scene.calls("GET", "/pulls")) == 30
