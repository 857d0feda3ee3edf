"""What GitHub says now is what the books say, and what has lost its ground ends without a word."""

from __future__ import annotations

import pytest

from app.github.transport.tokens import Profile, Scope, every_permission
from app.installations.sync import ARCHIVED, NOT_LISTED, OUT_OF_REACH, REMOVED, SUSPENDED


async def test_an_installation_is_known_with_all_that_it_reaches(kept, scene):
    became = await kept.follow()
    assert (became["new"], became["gone"], became["lacks"]) == (1, 0, [])
    known = await kept.stored.installation(scene.installation.id)
    assert (known.account, known.account_id) == ("ada", scene.people["ada"].id)
    assert dict(known.permissions) == scene.installation.permissions
    assert (await kept.stored.repository(scene.repository.id)).full_name == "ada/parse"
    assert await kept.due() == [scene.repository.id]
    assert (await kept.follow())["new"] == 0


async def test_a_suspension_ends_every_run_and_forgets_every_token(kept, scene):
    await kept.follow()
    await kept.run()
    scope = Scope.for_one(scene.installation.id, scene.repository.id, Profile.READ)
    token = await scene.github.broker.token(scope)
    await kept.server.suspend(scene.installation, scene.people["ada"])
    assert (await kept.follow())["cancelled"] == 1
    assert await kept.find_cancellation() == ("installation", SUSPENDED)
    await kept.server.unsuspend(scene.installation)
    assert (await kept.follow())["repositories"] == 1
    assert await scene.github.broker.token(scope) != token


async def test_a_late_word_of_a_suspension_that_is_over_changes_nothing(kept):
    await kept.follow()
    await kept.run()
    assert (await kept.follow())["cancelled"] == 0
    assert await kept.find_cancellation() is None


async def test_a_removed_installation_is_not_asked_about_any_more(kept, scene):
    await kept.follow()
    await kept.run()
    await kept.server.uninstall(scene.installation)
    asked = len(kept.server.requests)
    await kept.life.followed.record_removed(scene.installation.id)
    assert await kept.find_cancellation() == ("installation", REMOVED)
    scope = Scope.for_one(scene.installation.id, scene.repository.id, Profile.READ)
    with pytest.raises(Exception, match="not installed on `ada`"):
        await scene.github.broker.token(scope)
    assert len(kept.server.requests) == asked


async def test_what_was_taken_away_ends_and_the_rest_goes_on(kept, scene):
    other = await kept.server.create_repository(scene.people["ada"], "other")
    await kept.server.add_repositories(scene.installation, [other])
    await kept.follow()
    await kept.run()
    place = scene.request.repository.model_copy(update={"id": other.id, "name": "other"})
    await kept.run("0002-run", repository=place)
    await kept.server.remove_repositories(scene.installation, [other])
    assert (await kept.follow())["gone"] == 1
    assert await kept.find_cancellation() is None
    assert await kept.find_cancellation("0002-run") == ("installation", OUT_OF_REACH)


async def test_an_archived_repository_has_no_runs(kept, scene):
    await kept.follow()
    await kept.run()
    await kept.server.archive_repository(scene.repository)
    assert (await kept.follow())["cancelled"] == 1
    assert await kept.find_cancellation() == ("installation", ARCHIVED)
    assert (await kept.stored.repository(scene.repository.id)).removed_at is None


async def test_permissions_that_are_lacking_are_told_and_those_that_come_are_used(kept, scene):
    scene.installation.permissions = {"metadata": "read", "contents": "read"}
    assert "issues: write" in (await kept.follow())["lacks"]
    await kept.life.labels.run_pass()
    assert await kept.due() == []  # no labels may be made
    scene.installation.permissions = every_permission()
    assert (await kept.follow())["lacks"] == []
    assert await kept.due() == [scene.repository.id]


async def test_more_than_a_page_of_repositories(kept, scene):
    many = [await kept.server.create_repository(scene.people["ada"], f"r{n}") for n in range(101)]
    await kept.server.add_repositories(scene.installation, many)
    assert (await kept.follow())["repositories"] == 102
    assert len(await kept.due()) == 102


async def test_attack_for_who_is_not_listed_no_token_is_made_and_no_label(keep, scene):
    kept = keep("octo-org")
    await kept.run()
    assert (await kept.follow())["refused"] == NOT_LISTED
    assert await kept.find_cancellation() == ("installation", NOT_LISTED)
    await kept.life.labels.run_pass()
    await kept.life.reconcile()
    for profile in Profile:
        scope = Scope.for_one(scene.installation.id, scene.repository.id, profile)
        with pytest.raises(Exception, match="FETTLE_OWNERS"):
            await scene.github.broker.token(scope)
    with pytest.raises(Exception, match="FETTLE_OWNERS"):
        async with scene.github.open_installation_client(scene.installation.id, Profile.ISSUES):
            pass
    assert kept.count_minted() == 0


async def test_attack_a_login_that_its_owner_gave_up_opens_nothing_to_its_next_owner(keep, scene):
    kept = keep("ada")
    await kept.follow()
    await kept.server.rename_account(scene.people["ada"], "ada-two")
    assert (await kept.follow())["repositories"] == 1  # the same account by another name
    mallory = scene.people["mallory"]
    await kept.server.rename_account(mallory, "ada")
    theirs = await kept.server.create_repository(mallory, "parse")
    evil = await kept.server.install(scene.app.app_id, [theirs])
    assert (await kept.life.followed.installation(evil.id))["refused"] == NOT_LISTED
    again = keep("ada")  # another process, which has learned nothing yet
    await again.life.load_owners()
    with pytest.raises(Exception, match="FETTLE_OWNERS"):
        await scene.github.broker.token(Scope.for_one(evil.id, theirs.id, Profile.READ))


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
