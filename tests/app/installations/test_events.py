"""Deliveries about an installation, taken: GitHub is asked how things stand by now."""

from __future__ import annotations

import asyncio

from handlers.notifications import InstallationChanged
from tests.patience import PATIENCE


def notice(kept, change):
    return InstallationChanged(
        installation_id=kept.scene.installation.id,
        change=change,
        account_id=kept.scene.people["ada"].id,
        account="ada",
    )


async def take(kept, change):
    taker = kept.life.takers[InstallationChanged]
    return await taker.take(notice(kept, change), "1")


async def test_installed_is_known_and_gets_its_labels_soon(kept, scene):
    labelling = asyncio.create_task(kept.life.labels.run())
    became = await take(kept, "created")
    assert (became["change"], became["new"]) == ("created", 1)
    async with asyncio.timeout(PATIENCE):
        while "bot:waiting" not in scene.repository.labels:
            await asyncio.sleep(0.02)
    labelling.cancel()
    await asyncio.wait([labelling])  # it gives its turn back, for which it needs the database


async def test_a_late_word_that_it_was_installed_does_not_bring_it_back(kept, scene):
    await take(kept, "created")
    await kept.server.uninstall(scene.installation)
    await take(kept, "deleted")
    assert (await take(kept, "created"))["removed"]
    assert await kept.stored.installations() == []


async def test_taken_twice_it_is_the_same(kept):
    first = await take(kept, "added")
    assert (await take(kept, "added")) == first | {"new": 0}
