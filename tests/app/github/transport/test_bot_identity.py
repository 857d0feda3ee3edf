"""Fettle knows itself, and nobody else is taken for it."""

from __future__ import annotations

import asyncio

import pytest

from app.github.transport.tokens import Profile


@pytest.fixture
async def own(scene):
    client = await scene.github.installation(
        scene.installation.id, scene.repository.id, Profile.READ
    )
    return await scene.github.identity(client)


async def test_who_we_are(scene, own):
    assert (own.app_id, own.slug) == (scene.app.app_id, "fettle")
    assert (own.bot.id, own.bot.login) == (scene.app.bot_id, "fettle[bot]")


async def test_it_is_asked_once(scene, own):
    client = await scene.github.installation(
        scene.installation.id, scene.repository.id, Profile.REPORT
    )
    same = await asyncio.gather(*(scene.github.identity(client) for _ in range(3)))

    assert same == [own] * 3
    assert len(scene.calls("GET", "/app")) == 1


@pytest.mark.parametrize(
    ("user", "via", "ours"),
    [
        ("bot", "ours", True),
        ("bot", None, True),  # servers that do not say
        ("bot", "other", False),
        ("person", "ours", False),  # through our App, but in a person's name
        ("person", None, False),
        (None, None, False),  # the account is gone
    ],
)
def test_what_is_ours(own, user, via, ours):
    thing = {
        "user": {"bot": {"id": own.bot.id}, "person": {"id": 1}, None: None}[user],
        "performed_via_github_app": {"ours": {"id": own.app_id}, "other": {"id": 1}, None: None}[
            via
        ],
    }

    assert own.is_author(thing) is ours
