"""`/bot undo`: what the last run did is taken back, once, and nobody else's work with it."""

from __future__ import annotations

import pytest

from agents.ports import PullRequest
from agents.run import Outcome
from app.simulator.github.accounts import Actor
from app.simulator.github.gitdir import GitDir
from app.store.audit import read_entries
from app.store.runs.runs import Runs
from tests.app.commands.answering_scene import RUN, open_office
from tests.app.github.conftest import key, scene, signer

__all__ = ["key", "scene", "signer"]  # fixtures
BRANCH = "bot/7-fix"


@pytest.fixture
async def office(scene, database, aiohttp_server):
    """At an issue whose run opened a pull request and has a comment there."""
    made = await open_office(scene, database, aiohttp_server)
    await push(made, "Fix it", bot(made).account)
    made.pull = await scene.server.parts.pulls.open(
        scene.repository, bot(made), title="Fix", body="", head=BRANCH, base="main"
    )
    said = await comment(made, f"<!-- fettle run={RUN} key=progress -->\n**Done.** It is fixed.")
    await Runs(database).record_comment(RUN, said.id)
    return made


def bot_app(office):
    return office.scene.server.world.apps[office.scene.app.app_id]


def bot(office):
    return Actor(bot_app(office).bot, bot_app(office))


async def comment(office, body):
    scene, own = office.scene, bot(office)
    return await scene.server.comment(
        scene.repository, scene.issue.number, own.account, body, through=bot_app(office)
    )


async def push(office, message, author):
    scene, files = office.scene, {"a.py": message}
    return await scene.server.commit(
        scene.repository, files, author=author, message=message, branch=BRANCH
    )


async def end(office, run_id=RUN):
    pull = office.pull
    made = PullRequest(
        number=pull.issue.number,
        url="https://example.org",
        branch=BRANCH,
        head=pull.head_sha,
        base="main",
        title="Fix",
        body="",
        draft=False,
    )
    outcome = Outcome(kind="pull_request", text="Opened.", pull_request=made)
    await Runs(office.database).record_end(run_id, outcome)


async def branches(office):
    return list(await GitDir(office.scene.repository.gitdir).refs("refs/heads/bot/"))


async def test_pull_request_branch_and_comment_are_taken_back_and_all_is_told_once(office):
    await end(office)
    asked = await office.say("bob", "/bot undo")
    assert [(f.user.login, f.content) for f in asked.reactions] == [("fettle[bot]", "+1")]
    assert office.pull.issue.state == "closed"
    assert await branches(office) == []
    struck, told = office.texts()
    assert "**Taken back**, as @bob asked." in struck
    assert "**Done.** It is fixed." in struck, "what it said stays to be read"
    number = office.pull.issue.number
    assert f"- #{number} is closed." in told
    assert f"- The branch `{BRANCH}` is deleted. Its commits stay" in told
    [entry] = [
        each
        for each in await office.database.read(lambda c: list(read_entries(c)))
        if each.kind == "run.undone"
    ]
    assert (entry.act["actor"], entry.act["run_id"]) == ("bob", RUN)
    await office.redeliver()
    assert office.texts() == [struck, told], "obeyed again, nothing is doubled"


async def test_half_done_by_a_process_that_died_it_is_done_to_its_end(office):
    await end(office)
    scene = office.scene
    scene.server.parts.issues.set_state(office.pull.issue, bot(office), "closed")
    await office.say("bob", "/bot undo")
    assert await branches(office) == []
    assert "is deleted" in office.texts()[-1]


async def test_what_others_put_on_the_branch_stays(office):
    await push(office, "More", office.scene.people["ada"])
    await end(office)
    await office.say("bob", "/bot undo")
    assert office.pull.issue.state == "closed"
    assert await branches(office) == [f"refs/heads/{BRANCH}"]
    assert f"The branch `{BRANCH}` stays: `ada` put commits on it." in office.texts()[-1]


async def test_sub_issues_that_the_run_made_are_closed_and_no_others(office):
    scene = office.scene
    own = f"One part.\n\n<!-- fettle run={RUN} key=divide-1 -->"
    made = [
        await scene.server.create_issue(scene.repository, bot(office).account, "Part", own),
        await scene.server.create_issue(scene.repository, scene.people["ada"], "Hers", own),
    ]
    made[0].author = bot(office)
    for each in made:
        await scene.server.add_sub_issue(scene.issue, each, scene.people["ada"])
    await end(office)
    await office.say("bob", "/bot undo")
    assert [each.state for each in made] == ["closed", "open"]
    assert f"Closed, which the run had made: #{made[0].number}." in office.texts()[-1]


async def test_it_is_the_same_on_the_pull_request_whose_run_worked_on_the_issue(office):
    office.pull.issue.body = f"Because.\n\n<!-- fettle run={RUN} key=pull-request -->"
    await end(office)
    number = office.pull.issue.number
    await office.say("bob", "/bot undo", number=number)
    assert office.pull.issue.state == "closed"
    assert await branches(office) == []
    assert "what the last run did is taken back" in office.texts(number)[-1]
    assert "**Taken back**" in office.texts()[0]


async def test_a_pull_request_that_names_another_run_takes_back_nothing(office):
    """Whoever may write can edit what it says."""
    await end(office)
    other = office.pull
    await Runs(office.database).create("run-2", office.scene.request)
    await office.end(kind="comment", run_id="run-2")
    other.issue.body = "<!-- fettle run=run-2 key=pull-request -->"
    await office.say("bob", "/bot undo", number=other.issue.number)
    assert other.issue.state == "open"
    assert "no run has worked on this yet" in office.texts(other.issue.number)[-1]


async def test_while_a_run_is_under_way_nothing_is_taken_back(office):
    await office.say("bob", "/bot undo")
    assert "a run is under way. Write `/bot cancel` first" in office.texts()[-1]
    assert office.pull.issue.state == "open"


async def test_who_may_not_write_takes_nothing_back(office):
    await end(office)
    await office.say("mallory", "/bot undo")
    assert office.pull.issue.state == "open"
    assert await branches(office) == [f"refs/heads/{BRANCH}"]


async def test_what_is_merged_is_taken_back_by_a_pull_request_that_is_asked_for_once(office):
    await end(office)
    scene, number = office.scene, office.pull.issue.number
    merged = await scene.server.merge_pull(office.pull, scene.people["ada"])
    await office.say("bob", "/bot undo")
    [(run_id, asked)] = office.asked
    assert (asked.kind, asked.number, asked.merged) == ("revert_change", number, merged)
    assert (asked.base_branch, asked.asked_by.login, asked.title) == ("main", "bob", "Fix")
    assert f"@bob, #{number} is merged" in office.texts()[-1]
    [entry] = [
        each
        for each in await office.database.read(lambda c: list(read_entries(c)))
        if each.kind == "run.undone"
    ]
    assert entry.act["actor"] == "bob"
    told = office.texts()
    await office.redeliver()
    assert {ident for ident, _ in office.asked} == {run_id}, "the same run, which is there"
    assert office.texts() == told

    await Runs(office.database).create(run_id, asked)
    await office.say("ada", "/bot undo")
    assert f"that takes #{number} back is being made" in office.texts()[-1]
    await office.say("ada", "/bot undo", number=number)
    assert "a run is under way" in office.texts(number)[-1]
    assert len({ident for ident, _ in office.asked}) == 1


async def test_what_takes_it_back_is_named_and_not_taken_back_itself(office):
    await end(office)
    scene, number = office.scene, office.pull.issue.number
    office.pull.issue.body = f"Because.\n\n<!-- fettle run={RUN} key=pull-request -->"
    await scene.server.merge_pull(office.pull, scene.people["ada"])
    await office.say("bob", "/bot undo")
    [(run_id, asked)] = office.asked
    await Runs(office.database).create(run_id, asked)
    await scene.server.commit(
        scene.repository, {"a.py": None}, author=bot(office).account, message="x", branch="bot/r"
    )
    office.pull = await scene.server.parts.pulls.open(
        scene.repository, bot(office), title="Revert", body="", head="bot/r", base="main"
    )
    await Runs(office.database).record_stage(run_id, "take_back/1")
    await end(office, run_id)
    by = office.pull.issue.number
    for where in (None, number):
        await office.say("ada", "/bot undo", number=where)
        assert f"#{by} takes #{number} back. Merge it" in office.texts(where)[-1]
        assert office.pull.issue.state == "open"

    scene.server.parts.issues.set_state(office.pull.issue, bot(office), "closed")
    await office.say("ada", "/bot undo")
    assert len(office.asked) == 2, "nobody wanted that one: another is made"


async def test_a_run_that_left_only_words_says_so(office):
    await office.end(kind="comment", text="It is no bug.")
    await office.say("bob", "/bot undo")
    assert "left no pull request behind" in office.texts()[-1]
    assert office.pull.issue.state == "open"
