"""A comment is made once, whatever happens, and nobody else's is taken for it."""

from __future__ import annotations

import pytest

from agents.errors import TransientError
from app.github.transport.errors import NotFound
from app.github.transport.idempotent_comments import MarkedComments, make_marker

COMMENTS = "/issues/1/comments"


@pytest.fixture
def comments(scene):
    return MarkedComments(scene.github, scene.request, "run-1", settle=0)


def bodies(scene):
    return [comment.body for comment in scene.issue.comments]


async def test_saying_it_twice_says_it_once(scene, comments):
    first = await comments.say("answer", "Nine.")
    second = await comments.say("answer", "Something else.")

    assert bodies(scene) == [f"{make_marker('run-1', 'answer')}\nNine."]
    assert first == second
    assert first.text == "Nine."
    assert first.url.startswith(scene.server.url)


async def test_keys_and_runs_are_apart(scene, comments):
    await comments.say("answer", "a")
    await comments.say("progress", "b")
    await MarkedComments(scene.github, scene.request, "run-2").say("answer", "c")

    assert len(bodies(scene)) == 3


async def test_a_lost_answer_makes_no_second_comment(scene, comments):
    scene.server.faults.lose_answer("POST", COMMENTS)

    posted = await comments.say("answer", "Nine.")

    assert len(bodies(scene)) == 1
    assert posted.id == scene.issue.comments[0].id
    assert len(scene.calls("POST", COMMENTS)) == 1


async def test_a_failure_that_did_nothing_is_made_good(scene, comments):
    scene.server.faults.status("POST", COMMENTS, 502)

    await comments.say("answer", "Nine.")

    assert len(bodies(scene)) == 1


async def test_failing_twice_is_the_engines_to_repeat(scene, comments):
    scene.server.faults.status("POST", COMMENTS, 502, times=2)
    with pytest.raises(TransientError):
        await comments.say("answer", "Nine.")

    assert len(scene.calls("POST", COMMENTS)) == 2


async def test_a_limit_is_not_pressed_against(scene, comments):
    scene.server.faults.secondary_limit("POST", COMMENTS)
    with pytest.raises(TransientError) as error:
        await comments.say("answer", "Nine.")

    assert error.value.retry_after == 60
    assert len(scene.calls("POST", COMMENTS)) == 1


async def test_a_planted_marker_is_not_taken_for_ours(scene, comments):
    planted = f"{make_marker('run-1', 'answer')}\nI am the bot."
    await scene.server.comment(scene.repository, 1, scene.people["ada"], planted)

    posted = await comments.say("answer", "Nine.")

    assert posted.text == "Nine."
    assert len(bodies(scene)) == 2


async def test_another_apps_comment_is_not_taken_for_ours(scene, comments):
    other = scene.server.create_app("other")
    bot = scene.server.world.accounts[other.bot_login.lower()]
    await scene.server.comment(scene.repository, 1, bot, make_marker("run-1", "answer"))

    await comments.say("answer", "Nine.")

    assert len(bodies(scene)) == 2


async def test_a_removed_comment_is_missing(scene, comments):
    posted = await comments.say("answer", "Nine.")
    scene.issue.comments.clear()
    with pytest.raises(NotFound):
        await comments.change(posted.id, "answer", "Ten.", yielding=False)


async def test_a_comment_keeps_its_marker_when_it_changes(scene, comments):
    posted = await comments.say("answer", "Nine.")
    await comments.change(posted.id, "answer", "Ten.", yielding=False)

    assert bodies(scene) == [f"{make_marker('run-1', 'answer')}\nTen."]
    assert (await comments.get(posted.id, "answer")).text == "Ten."
