"""A label is on or off afterwards, made once with its description."""

from __future__ import annotations

import pytest

from app.github.transport.errors import NotPermitted

WORDS = "Fettle waits for an answer"


def list_labels(scene):
    return [label.name for label in scene.issue.labels]


async def test_a_label_that_is_missing_is_made_with_its_description(scene, tracker):
    await tracker.label("bot:waiting", on=True, description=WORDS)

    assert list_labels(scene) == [scene.request.label, "bot:waiting"]
    assert scene.repository.labels["bot:waiting"].description == WORDS


async def test_a_label_that_people_made_stays_as_it_is(scene, tracker):
    scene.server.create_label(scene.repository, "Bot:Waiting", color="ff0000")

    await tracker.label("bot:waiting", on=True, description=WORDS)

    assert list_labels(scene) == [scene.request.label, "Bot:Waiting"]
    assert scene.repository.labels["bot:waiting"].color == "ff0000"
    assert scene.repository.labels["bot:waiting"].description is None


async def test_twice_is_once(scene, tracker):
    for _ in range(2):
        await tracker.label("bot:waiting", on=True)
    assert list_labels(scene).count("bot:waiting") == 1
    assert len(scene.calls("POST", "/issues/1/labels")) == 1

    for _ in range(2):
        await tracker.label("bot:waiting", on=False)
    assert list_labels(scene) == [scene.request.label]


async def test_somebody_else_makes_it_at_the_same_moment(scene, tracker):
    async def make(_request):
        scene.server.create_label(scene.repository, "bot:waiting")

    scene.server.faults.call_before("POST", "/labels$", make)

    await tracker.label("bot:waiting", on=True)

    assert "bot:waiting" in list_labels(scene)


async def test_a_name_is_never_a_path(scene, tracker):
    scene.server.create_label(scene.repository, "a/../b?c")
    await tracker.label("a/../b?c", on=True)
    assert "a/../b?c" in list_labels(scene)

    await tracker.label("a/../b?c", on=False)
    assert list_labels(scene) == [scene.request.label]


async def test_without_the_permission_it_says_so(scene, tracker):
    scene.installation.permissions["issues"] = "read"

    with pytest.raises(NotPermitted):
        await tracker.label("bot:waiting", on=True)
