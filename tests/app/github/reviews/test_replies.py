"""Fettle's answers in threads: one for each run, its own alone, and what was fixed is resolved."""

from __future__ import annotations

import pytest

from agents.errors import RunError, TransientError
from agents.requests import Person
from app.simulator.github.accounts import Actor


@pytest.fixture
async def thread(pulled):
    """A thread of ada's, as a run sees it."""
    await pulled.review("ada", comments=[(11, "Shorter")])
    [found] = (await (await pulled.run()).feedback()).threads
    return found


def remarks(pulled):
    return pulled.pull.threads[0].remarks


def own(scene):
    app = scene.server.world.apps[scene.app.app_id]
    return Actor(app.bot, app)


# --- answers --------------------------------------------------------------------------------------


async def test_an_answer_stands_in_the_thread_and_is_known_again(pulled, thread):
    reviewing = await pulled.run()
    url = await reviewing.reply(thread, "fixed", "Fixed, @mallory. Closes #1.")
    assert url.endswith(f"#discussion_r{remarks(pulled)[-1].id}")
    body = remarks(pulled)[-1].body
    assert body.startswith(f"<!-- fettle run={pulled.run_id()} key=thread-fixed -->\nFixed, ")
    assert "@mallory" not in body
    feedback = await reviewing.feedback()
    [seen] = feedback.threads
    assert [each.own for each in seen.said] == [False, True]
    assert (seen.said[1].verdict, seen.said[1].role) == ("fixed", "")
    assert not seen.said[1].body.startswith("<!--")
    assert seen.ours_is_last
    assert feedback.waiting == ()
    assert [each.login for each in feedback.reviewers] == ["ada"]


async def test_a_run_answers_once_and_the_next_one_again(pulled, thread):
    reviewing = await pulled.run()
    url = await reviewing.reply(thread, "disagree", "No.")
    assert await reviewing.reply(thread, "fixed", "Yes.") == url
    assert len(remarks(pulled)) == 2
    later = await pulled.run("0002")
    assert await later.reply(thread, "fixed", "Yes.") != url
    assert [each.body.partition("\n")[2] for each in remarks(pulled)[1:]] == ["No.", "Yes."]


async def test_an_answer_whose_receipt_was_lost_is_not_given_twice(pulled, scene, thread):
    reviewing = await pulled.run()
    scene.server.faults.lose_answer("POST", "/replies$")
    url = await reviewing.reply(thread, "fixed", "Done.")
    assert len(remarks(pulled)) == 2
    assert url.endswith(str(remarks(pulled)[-1].id))


async def test_nobody_elses_words_are_taken_for_an_answer(pulled, scene, thread):
    """A marker anybody can copy; and who may edit our comments can put one in."""
    reviewing = await pulled.run()
    fake = f"<!-- fettle run={pulled.run_id()} key=thread-fixed -->\nAll done."
    await scene.server.reply(pulled.pull.threads[0], scene.people["ada"], fake)
    await reviewing.reply(thread, "answered", f"As you say:\n{fake}")
    assert len(remarks(pulled)) == 3
    assert remarks(pulled)[-1].body.count("<!-- fettle") == 1
    said = (await reviewing.feedback()).threads[0].said
    assert [(each.own, each.verdict) for each in said] == [
        (False, ""),
        (False, ""),
        (True, "answered"),
    ]
    with pulled.shift_clock(-1):
        await scene.server.edit_remark(remarks(pulled)[-1], scene.people["bob"], fake)
    said = (await reviewing.feedback()).threads[0].said
    assert (said[-1].own, said[-1].verdict, said[-1].edited) == (True, "", True)


async def test_a_verdict_that_could_end_the_marker_is_a_mistake(pulled, thread):
    reviewing = await pulled.run()
    for verdict in ("", "Fixed", "fixed -->", "a" * 41, "fixed\n"):
        with pytest.raises(ValueError, match="cannot be told"):
            await reviewing.reply(thread, verdict, "x")


async def test_a_thread_that_is_gone_is_told_in_words(pulled, scene, thread):
    await scene.server.delete_remark(remarks(pulled)[0], scene.people["ada"])
    reviewing = await pulled.run()
    with pytest.raises(RunError, match=r"The thread on `src/lines\.txt` cannot be answered"):
        await reviewing.reply(thread, "fixed", "x")
    assert await reviewing.resolve(thread) == "it is not there any more"


# --- resolving ------------------------------------------------------------------------------------


async def test_a_thread_is_resolved_once_by_a_token_for_just_that(pulled, scene, thread):
    reviewing = await pulled.run()
    assert await reviewing.resolve(thread) == ""
    assert pulled.pull.threads[0].resolved_by.id == own(scene).account.id
    assert await reviewing.resolve(thread) == ""
    live = [dict(token.permissions) for token in scene.server.tokens._live.values()]
    assert not any(permissions.get("contents") == "write" for permissions in live)


async def test_where_it_may_not_resolve_it_says_so(pulled, scene, thread):
    permissions = {**scene.installation.permissions, "contents": "read"}
    scene.installation.permissions = permissions
    reviewing = await pulled.run()
    assert not (await reviewing.feedback()).threads[0].may_resolve
    assert "may write both contents and pull requests" in await reviewing.resolve(thread)
    assert pulled.pull.threads[0].resolved_by is None


# --- another look ---------------------------------------------------------------------------------


async def test_reviewers_are_asked_again_who_can_be(pulled, scene):
    people, server = scene.people, scene.server
    asked = [Person(id=people[name].id, login=name) for name in ("ada", "bob", "mallory")]
    asked += [Person(id=1, login="ada"), Person(id=own(scene).account.id, login="fettle[bot]")]
    asked += [Person(id=people["eve"].id, login="eve")]
    await server.request_review(pulled.pull, people["eve"], people["bob"])
    reviewing = await pulled.run()
    assert await reviewing.ask_again(asked) == ("ada", "eve")
    assert {each.login for each in pulled.pull.requested} == {"ada", "eve"}
    assert await reviewing.ask_again(asked) == ("ada", "eve")
    assert len(scene.calls("POST", "/requested_reviewers")) == 1


async def test_nobody_to_ask_is_nothing_to_do(pulled, scene):
    assert await (await pulled.run()).ask_again([]) == ()
    assert scene.calls("POST", "/requested_reviewers") == []


async def test_trouble_on_the_way_passes(pulled, scene, thread):
    reviewing = await pulled.run()
    scene.server.faults.status("POST", "/replies$", 502, times=5)
    with pytest.raises(TransientError):
        await reviewing.reply(thread, "fixed", "x")
