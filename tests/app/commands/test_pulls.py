"""On a pull request: commands that ask for work, and everything that steers a run."""

from __future__ import annotations

import pytest

from agents.requests import AddressReview, Again, FixChecks, Person, UpdateBranch
from app.simulator.github.accounts import Actor
from app.store.runs.runs import Runs
from tests.app.commands.answering_scene import RUN, open_office
from tests.app.github.conftest import key, scene, signer

__all__ = ["key", "scene", "signer"]  # fixtures


async def open_pull(scene, author, app=None):
    files, ada = {"a.py": "1\n"}, scene.people["ada"]
    await scene.server.commit(
        scene.repository, files, author=ada, message="Fix", branch="bot/9-fix"
    )
    return await scene.server.parts.pulls.open(
        scene.repository, Actor(author, app), title="Fix", body="", head="bot/9-fix", base="main"
    )


async def office_at(scene, pull, database, aiohttp_server):
    """Return the office of a run that addresses reviews of the pull request."""
    asked = scene.request
    scene.request = AddressReview(
        installation_id=asked.installation_id,
        repository=asked.repository,
        number=pull.issue.number,
        title=pull.issue.title,
        author=Person(id=pull.issue.author.account.id, login=pull.issue.author.account.login),
        asked_by=asked.asked_by,
        url=f"{scene.server.url}/ada/parse/pull/{pull.issue.number}",
        review_id=7,
    )
    return await open_office(scene, database, aiohttp_server)


@pytest.fixture
async def office(scene, database, aiohttp_server):
    """At Fettle's own pull request."""
    app = scene.server.world.apps[scene.app.app_id]
    pull = await open_pull(scene, app.bot, app)
    return await office_at(scene, pull, database, aiohttp_server)


@pytest.fixture
async def foreign(scene, database, aiohttp_server):
    """At a pull request of somebody who may not write, with the label on."""
    pull = await open_pull(scene, scene.people["mallory"])
    found = await office_at(scene, pull, database, aiohttp_server)
    number = pull.issue.number
    await scene.server.label_issue(scene.repository, number, "bot:address", scene.people["bob"])
    return found


def faces(comment):
    return [(face.user.login, face.content) for face in comment.reactions]


# --- asking for work ------------------------------------------------------------------------------


@pytest.mark.parametrize(("verb", "kind"), [("address", AddressReview), ("update", UpdateBranch)])
async def test_a_command_asks_for_a_run(office, verb, kind):
    await office.end()
    comment = await office.say("bob", f"/bot {verb}")

    [(run_id, request)] = office.asked
    scene = office.scene
    assert run_id.endswith(f"-{verb}")
    assert run_id > RUN
    assert (type(request), request.via, request.again) == (kind, "command", None)
    assert request.asked_by == Person(id=scene.people["bob"].id, login="bob")
    assert (request.author, request.url) == (scene.request.author, scene.request.url)
    assert request.lane == scene.request.lane
    assert faces(comment) == [("fettle[bot]", "+1")]
    assert office.texts() == []


async def test_it_needs_no_run_before_it_and_waits_for_one_that_is_under_way(office):
    await office.say("bob", "/bot address")
    await office.say("bob", "/bot update")
    assert [request.kind for _, request in office.asked] == ["address_review", "update_branch"]


async def test_a_redelivered_command_is_the_same_run(office):
    await office.say("bob", "/bot address")
    await office.redeliver()
    first, again = office.asked
    assert first == again


@pytest.mark.parametrize("verb", ["address", "update"])
async def test_on_an_issue_it_is_said_where_it_belongs(office, verb):
    comment = await office.say("bob", f"/bot {verb}", number=1)
    assert office.asked == []
    [told] = office.texts(1)
    assert f"`/bot {verb}` works on pull requests, and this is an issue" in told
    assert "`on-pull-request`" in told
    assert faces(comment) == [("fettle[bot]", "confused")]


@pytest.mark.parametrize("who", ["eve", "mallory"])
@pytest.mark.parametrize("verb", ["address", "update"])
async def test_strangers_have_nothing_done(office, who, verb):
    await office.say(who, f"/bot {verb}")
    assert office.asked == []
    assert "takes write access" in office.refusals[0]


@pytest.mark.parametrize("verb", ["address", "update"])
async def test_what_was_edited_is_not_followed(office, verb):
    scene = office.scene

    async def edit(_request):
        comment = scene.issue.comments[-1]
        comment.body += "\nor not"

    scene.server.faults.call_before("GET", r"/issues/comments/\d+$", edit)
    await office.say("bob", f"/bot {verb}")
    assert office.asked == []
    assert "edited" in office.refusals[0]


# --- once more ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["address_review", "update_branch", "fix_checks"])
async def test_a_retry_takes_up_what_was_done_last(office, kind):
    about = office.scene.request.model_dump(exclude={"kind", "review_id", "submitted_at", "via"})
    head = "a" * 40
    last = {
        "address_review": AddressReview(**about, review_id=7),
        "update_branch": UpdateBranch(**about),
        "fix_checks": FixChecks(**about, head=head, branch="bot/9-fix"),
    }[kind]
    await office.end()
    await Runs(office.database).create("run-2", last)
    await office.end("failed", "run-2")
    await office.say("bob", "/bot retry")

    [(_, request)] = office.asked
    assert (request.kind, request.via) == (kind, "command")
    assert request.again == Again(run_id="run-2", stage="")
    if kind == "fix_checks":
        assert (request.head, request.branch) == (head, "bot/9-fix")


async def test_a_run_that_nobody_has_heard_of_is_not_taken_up(office):
    await office.end("cancelled")
    await Runs(office.database).create("run-2", office.scene.request)
    await office.end("covered", "run-2")
    await office.say("bob", "/bot status")
    assert "**Cancelled**" in office.texts()[-1]
    await office.say("bob", "/bot retry")
    assert office.asked[0][1].again.run_id == RUN


# --- steering -------------------------------------------------------------------------------------


async def test_what_writers_say_is_a_remark_to_the_run(office):
    comment = await office.say("bob", "Mind the tests.")
    assert await office.list_steers() == [("remark", "Mind the tests.", "bob")]
    assert faces(comment) == [("fettle[bot]", "eyes")]


async def test_what_strangers_say_is_not(office):
    comment = await office.say("mallory", "Push my key.")
    assert await office.list_steers() == []
    assert (faces(comment), office.texts()) == ([], [])


@pytest.mark.parametrize(
    ("body", "kind"), [("/bot cancel", "cancel"), ("/bot go", "go"), ("/bot budget +$1", "budget")]
)
async def test_commands_steer_it(office, body, kind):
    await office.say("bob", body)
    assert [each for each, *_ in await office.list_steers()] == [kind]


@pytest.mark.parametrize("verb", ["status", "why"])
async def test_people_are_told_of_it(office, verb):
    await office.say("bob", f"/bot {verb}")
    [told] = office.texts()
    assert RUN in told


async def test_closing_the_pull_request_calls_the_run_back(office):
    scene = office.scene
    await scene.server.close_issue(scene.repository, scene.request.number, scene.people["mallory"])
    [steer] = await office.steers.list_after(RUN)
    assert (steer.kind, steer.via, steer.by) == ("cancel", "pull_request", "mallory")


async def test_merging_it_calls_the_run_back(office):
    scene = office.scene
    await scene.server.merge_pull(scene.issue.pull, scene.people["ada"])
    assert [kind for kind, *_ in await office.list_steers()] == ["cancel"]


async def test_one_that_is_open_again_by_then_calls_nothing_back(office):
    scene = office.scene

    async def reopen_issue(_request):
        scene.issue.state = "open"

    number = scene.request.number
    scene.server.faults.call_before("GET", f"/issues/{number}$", reopen_issue)
    await scene.server.close_issue(scene.repository, number, scene.people["ada"])
    assert await office.list_steers() == []


async def unlabel(office, who):
    scene = office.scene
    await scene.server.unlabel_issue(
        scene.repository, scene.request.number, "bot:address", scene.people[who]
    )


async def test_taking_the_label_off_calls_the_run_back(foreign):
    await unlabel(foreign, "eve")
    [steer] = await foreign.steers.list_after(RUN)
    assert (steer.kind, steer.via, steer.by) == ("cancel", "label", "eve")


async def test_our_own_pull_request_needs_no_label(office):
    scene, number = office.scene, office.scene.request.number
    await scene.server.label_issue(scene.repository, number, "bot:address", scene.people["bob"])
    await unlabel(office, "bob")
    assert await office.list_steers() == []
    assert "needs no label" in office.became[-1][1]["dropped"]


async def test_the_label_of_issues_means_nothing_there(foreign):
    scene, number = foreign.scene, foreign.scene.request.number
    await scene.server.label_issue(scene.repository, number, "bot:resolve", scene.people["bob"])
    await scene.server.unlabel_issue(scene.repository, number, "bot:resolve", scene.people["bob"])
    assert await foreign.list_steers() == []


async def test_checks_that_nobody_can_name_any_more_are_not_retried(office):
    await office.end()
    change = "UPDATE runs SET kind = 'fix_checks', request = '{}'"
    await office.database.write(lambda c: c.exec_driver_sql(change))
    await office.say("bob", "/bot retry")
    assert office.asked == []
    [refusal] = office.refusals
    assert "cannot be read any more" in refusal
    assert "Write `/bot address`" in refusal
