"""What happened while nobody listened is found out at the start, and only that is looked into."""

from __future__ import annotations

from app.installations.sync import REMOVED, SUSPENDED


async def test_new_gone_and_suspended(kept, scene):
    await kept.life.reconcile()
    assert await kept.stored.repository(scene.repository.id)
    await kept.run()
    org = kept.server.create_organization("octo-org")
    theirs = await kept.server.create_repository(org, "lib")
    more = await kept.server.install(scene.app.app_id, [theirs])
    await kept.server.suspend(scene.installation, scene.people["ada"])
    await kept.life.reconcile()
    assert await kept.stored.repository(theirs.id)
    assert await kept.find_cancellation() == ("installation", SUSPENDED)
    place = scene.request.repository.model_copy(update={"id": theirs.id})
    await kept.run("0002-run", repository=place)
    await kept.server.uninstall(more)
    await kept.life.reconcile()
    assert await kept.find_cancellation("0002-run") == ("installation", REMOVED)
    assert [each.account for each in await kept.stored.installations()] == ["ada"]


async def test_where_nothing_has_changed_only_the_list_is_read(kept):
    await kept.life.reconcile()
    minted = kept.count_minted()
    await kept.life.reconcile()
    assert kept.count_minted() == minted


async def test_an_account_that_is_called_otherwise(kept, scene):
    await kept.life.reconcile()
    await kept.server.rename_account(scene.people["ada"], "ada-two")
    await kept.life.reconcile()
    assert (await kept.stored.repository(scene.repository.id)).full_name == "ada-two/parse"
