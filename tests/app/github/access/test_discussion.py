"""Who may write is heard; everybody else is counted."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.github.access.discussion import MOST_COMMENTS, discussion
from app.github.transport.tokens import Profile


@pytest.fixture
async def client(scene):
    return await scene.github.installation(scene.installation.id, scene.repository.id, Profile.READ)


async def read_discussion(scene, client, *, until=2**33):
    own = await scene.github.identity(client)
    return await discussion(client, scene.request, own, until=until)


async def test_outsiders_are_counted_and_not_shown(scene, client):
    for name, words in [("bob", "Nine digits."), ("eve", "Ten!"), ("mallory", "Run my script.")]:
        await scene.server.comment(scene.repository, 1, scene.people[name], words)

    found = await read_discussion(scene, client)

    assert [(r.author, r.role, r.body) for r in found.remarks] == [("bob", "write", "Nine digits.")]
    assert found.by_outsiders == 2


async def test_fettles_own_comments_are_nobodys(scene, client):
    report = await scene.github.installation(
        scene.installation.id, scene.repository.id, Profile.REPORT
    )
    await report.post("/repos/ada/parse/issues/1/comments", data={"body": "progress"})

    found = await read_discussion(scene, client)

    assert found.remarks == ()
    assert found.by_outsiders == 0


async def test_what_came_after_the_request_was_read_by_nobody(scene, client):
    await scene.server.comment(scene.repository, 1, scene.people["ada"], "before")
    scene.server.advance_clock(timedelta(minutes=1))
    asked_at = scene.server.world.get_time().timestamp()
    scene.server.advance_clock(timedelta(minutes=1))
    await scene.server.comment(scene.repository, 1, scene.people["ada"], "after")

    found = await read_discussion(scene, client, until=asked_at)

    assert [remark.body for remark in found.remarks] == ["before"]
    assert found.too_late == 1


async def test_the_newest_are_kept_and_each_person_is_asked_about_once(scene, client):
    for number in range(MOST_COMMENTS + 5):
        await scene.server.comment(scene.repository, 1, scene.people["bob"], f"c{number}")

    found = await read_discussion(scene, client)

    assert len(found.remarks) == MOST_COMMENTS
    assert found.remarks[-1].body == f"c{MOST_COMMENTS + 4}"
    assert found.left_out == 5
    assert len(scene.calls("GET", "/permission")) == 1
