"""The dashboard issue: kept up to date once each, and ticked by those who may alone."""

from __future__ import annotations

import pytest

from app.store.boards import Boards
from app.store.runs import StoredApprovals

DECIDE, SHOW = "dashboard: decide\n", "dashboard: show\n"


async def test_it_lists_what_waits_and_what_became_of_alerts(board):
    await board.say_policy(DECIDE)
    asked = await board.ask()
    await board.store_fix("0002-fix")
    await board.upkeep.run()
    [issue] = board.issues

    assert issue.author.account.login == "fettle[bot]"
    assert f"- [ ] <!-- fettle:approve={asked.id} --> Approve `bash` for #1" in issue.body
    assert "/ada/parse/issues/1#issuecomment-77)" in issue.body
    assert "<!-- fettle:again=0002-fix --> Look again at `jinja2 in ada/parse`" in issue.body
    assert "there is no pull request" in issue.body


async def test_it_is_one_issue_however_often_it_is_looked_at(board):
    await board.say_policy(SHOW)
    await board.ask()
    await board.upkeep.run()
    wrote = len(board.scene.server.requests)
    await board.upkeep.run()  # nothing has moved: nothing is asked of GitHub
    assert len(board.scene.server.requests) == wrote
    place = {"number": 0, "digest": "", "at": 0.0}  # what was made before it could be kept
    await Boards(board.database).record(board.scene.repository.id, **place)
    await board.upkeep.run()

    [issue] = board.issues
    assert await Boards(board.database).find_number(board.scene.repository.id) == issue.number
    assert "[ ]" not in issue.body


async def test_without_a_wish_there_is_none_and_taken_back_it_is_closed(board):
    await board.upkeep.run()
    assert board.issues == []
    await board.say_policy(SHOW)
    await board.look()
    [issue] = board.issues
    assert issue.state == "open"
    await board.say_policy("dashboard: none\n")
    await board.look()

    assert issue.state == "closed"
    assert await Boards(board.database).find_number(board.scene.repository.id) == 0


async def test_of_a_public_repository_it_says_nothing_of_alerts(board):
    board.scene.repository.private = False
    await board.database.write(
        lambda c: c.exec_driver_sql("UPDATE repositories SET private = false")
    )
    await board.say_policy(SHOW)
    await board.store_fix("0002-fix")
    await board.upkeep.run()

    [issue] = board.issues
    assert "jinja2" not in issue.body


async def test_a_tick_of_who_may_write_approves_once(board):
    await board.say_policy(DECIDE)
    asked = await board.ask()
    await board.upkeep.run()
    done = await board.tick("bob", f"approve={asked.id}")
    stored = await StoredApprovals(board.database).get(asked.id)
    await board.upkeep.run()

    assert done == {asked.id: {"decided": "approved", "approval": asked.id}}
    assert (stored.state, stored.decided_by, stored.decided_via) == ("approved", "bob", "board")
    [issue] = board.issues
    assert "Nothing waits for anybody." in issue.body


@pytest.mark.parametrize("who", ["eve", "mallory"])
async def test_a_tick_of_who_may_not_write_does_nothing(board, who):
    await board.say_policy(DECIDE)
    asked = await board.ask()
    await board.store_fix("0002-fix")
    await board.upkeep.run()
    done = await board.tick(who, f"approve={asked.id}")
    await board.tick(who, "again=0002-fix")

    assert done[asked.id]["refused"] == "may-answer"
    assert (await StoredApprovals(board.database).get(asked.id)).state == "waiting"
    assert board.asked == []
    await board.upkeep.run()
    [issue] = board.issues
    assert "[x]" not in issue.body


async def test_where_the_policy_only_shows_a_made_up_box_decides_nothing(board):
    await board.say_policy(SHOW)
    asked = await board.ask()
    await board.upkeep.run()
    [issue] = board.issues
    issue.body += f"\n- [ ] <!-- fettle:approve={asked.id} -->"
    await board.tick("bob", f"approve={asked.id}")

    assert (await StoredApprovals(board.database).get(asked.id)).state == "waiting"


async def test_boxes_on_another_issue_count_for_nothing(board):
    await board.say_policy(DECIDE)
    asked = await board.ask()
    await board.upkeep.run()
    done = await board.tick("bob", f"approve={asked.id}", number=1)

    assert "no dashboard of Fettle's" in done["dropped"]
    assert (await StoredApprovals(board.database).get(asked.id)).state == "waiting"


async def test_alerts_are_looked_at_again_in_the_name_of_who_ticked(board):
    await board.say_policy(SHOW)
    await board.store_fix("0002-fix")
    await board.upkeep.run()
    await board.tick("bob", "again=0002-fix")
    [(_, request)] = board.asked

    assert (request.package, request.asked_by.login, request.via) == ("jinja2", "bob", "command")
    assert request.installation_id == board.scene.installation.id
