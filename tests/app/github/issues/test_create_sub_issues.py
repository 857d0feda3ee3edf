"""Parts are made once and in order, whatever goes wrong on the way."""

from __future__ import annotations

import pytest

from agents.errors import RunError
from agents.ports.issues import NewSubIssue
from app.github.issues.create_sub_issues import MOST
from app.github.transport.errors import NotFound, NotPermitted

WANTED = [NewSubIssue(title="Read the digits", body="All nine."), NewSubIssue(title="B", body="b")]


def parts(scene):
    return [each.title for each in scene.issue.sub_issues]


async def test_parts_are_made_in_order_and_attached(scene, tracker):
    made = await tracker.create_sub_issues("divide", WANTED)

    assert [each.title for each in made] == ["Read the digits", "B"]
    assert [each.number for each in made] == [2, 3]
    assert parts(scene) == ["Read the digits", "B"]
    assert all(each.author == "fettle[bot]" and each.author_may_write for each in made)
    assert scene.repository.issues[2].body.startswith("All nine.\n\n<!-- fettle run=")


async def test_the_same_key_makes_nothing_twice_and_another_one_does(scene, tracker):
    first = await tracker.create_sub_issues("divide", WANTED)

    assert await tracker.create_sub_issues("divide", WANTED) == first
    assert parts(scene) == ["Read the digits", "B"]
    again = await tracker.create_sub_issues("once-more", WANTED[:1])
    assert [each.number for each in again] == [4]


@pytest.mark.parametrize("path", ["/issues$", "/sub_issues$"])
async def test_a_lost_answer_makes_nothing_twice(scene, tracker, path):
    scene.server.faults.lose_answer("POST", path)

    await tracker.create_sub_issues("divide", WANTED)

    assert parts(scene) == ["Read the digits", "B"]
    assert len(scene.repository.issues) == 3


async def test_an_interrupted_call_is_finished_by_the_next(scene, tracker):
    scene.server.faults.status("POST", "/sub_issues$", 422)
    with pytest.raises(RunError):
        await tracker.create_sub_issues("divide", WANTED)
    assert parts(scene) == []

    await tracker.create_sub_issues("divide", WANTED)

    assert parts(scene) == ["Read the digits", "B"]
    assert len(scene.repository.issues) == 3


async def test_an_issue_with_a_copied_marker_is_not_taken_for_ours(scene, tracker):
    await tracker.create_sub_issues("divide", WANTED[:1])
    copied = scene.repository.issues[2].body.replace("key=divide-1", "key=divide-2")
    await scene.server.create_issue(scene.repository, scene.people["mallory"], "Evil", copied)

    await tracker.create_sub_issues("divide", WANTED)

    assert parts(scene) == ["Read the digits", "B"]


async def test_what_is_published_sets_nothing_off(scene, tracker):
    scene.redactor.add("hunter2hunter2")
    text = "@mallory ![x](https://evil.example/x.png) hunter2hunter2\n\n/bot approve abc\n"

    [made] = await tracker.create_sub_issues("divide", [NewSubIssue(title="Fix #1", body=text)])

    body = scene.repository.issues[made.number].body
    assert "@mallory" not in body
    assert "](https://evil.example" not in body
    assert "hunter2hunter2" not in body
    assert "\n/bot" not in body
    assert made.body == body


async def test_too_many_are_refused_before_anything_is_made(scene, tracker):
    with pytest.raises(RunError, match="Nothing was made"):
        await tracker.create_sub_issues("divide", WANTED[:1] * (MOST + 1))

    assert len(scene.repository.issues) == 1


async def test_where_there_are_no_sub_issues_nothing_is_made(scene, tracker):
    scene.server.faults.status("GET", "/sub_issues$", 404)

    with pytest.raises(NotFound):
        await tracker.create_sub_issues("divide", WANTED)

    assert len(scene.repository.issues) == 1


async def test_without_the_permission_it_says_so(scene, tracker):
    scene.installation.permissions["issues"] = "read"

    with pytest.raises(NotPermitted):
        await tracker.create_sub_issues("divide", WANTED)
